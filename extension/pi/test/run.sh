#!/usr/bin/env bash
# All tests of the extension: types, units, and the real Pi. What they need is
# installed below this folder. Where that cannot be reached, they are skipped,
# and the last lines say so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
	echo "SKIPPED: the tests of the Pi extension: $1" >&2
	exit 0
}

command -v node >/dev/null || skip "there is no node"
command -v npm >/dev/null || skip "there is no npm"
command -v tmux >/dev/null || skip "there is no tmux"
echo "extension: npm ci, and both versions of Pi"
if ! npm ci --no-audit --no-fund --loglevel=error; then
	npm view typescript@5.9.3 version >/dev/null 2>&1 || skip "npm cannot reach its registry"
	exit 1
fi
status=0
node e2e/setup.mjs || status=$?
[ "$status" -eq 75 ] && skip "npm cannot reach the versions of Pi"
[ "$status" -eq 0 ] || exit "$status"
echo "extension: types, then each part by itself, then the real Pi"
exec npm test --silent
