#!/usr/bin/env bash
# Proves the integrations on the real agents: run.sh [AGENT...]. Each is installed by
# npm below installed/ (ignored by git; some 2 GB for all), and asked by a scripted
# model on loopback. What cannot be installed is skipped, and the last lines say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
root=$(cd ../.. && pwd)
export REWIND_AGENTS="${*:-claude codex opencode gemini copilot qwen acp others}"
export REWIND_PROGRAM="${REWIND_PROGRAM:-$root/bin/rewind}"

skip() { echo "SKIPPED: the real agents: $1" >&2; exit 0; }
command -v node >/dev/null || skip "there is no node"
command -v npm >/dev/null || skip "there is no npm"
command -v git >/dev/null || skip "there is no git"

missing=()
for agent in $REWIND_AGENTS; do
	echo "agents: installing $agent"
	status=0
	node setup.mjs "$agent" || status=$?
	[ "$status" -eq 75 ] && missing+=("$agent")
	[ "$status" -eq 0 ] || [ "$status" -eq 75 ] || exit "$status"
done
tests=()
for agent in $REWIND_AGENTS; do
	case $agent in
	acp | others) tests+=("$agent.test.mjs") ;;
	*) [ "${tests[0]:-}" = prove.test.mjs ] || tests=(prove.test.mjs "${tests[@]}") ;;
	esac
done
status=0
"${REWIND_AGENTS_DIR:-installed}/node/node_modules/node/bin/node" --test --test-concurrency=1 --test-reporter=spec "${tests[@]}" || status=$?
for agent in "${missing[@]}"; do echo "SKIPPED: $agent: npm cannot reach it" >&2; done
[ $# -gt 0 ] || echo "SKIPPED: tallow: no registry has it" >&2
exit "$status"
