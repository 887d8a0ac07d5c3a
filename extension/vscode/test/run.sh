#!/usr/bin/env bash
# The tests of the VS Code extension that need no editor: types and units. What
# they need is installed below this folder. Where that cannot be reached, they are
# skipped, and the last line says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

skip() {
	echo "SKIPPED: the tests of the VS Code extension: $1" >&2
	exit 0
}

command -v node >/dev/null || skip "there is no node"
command -v npm >/dev/null || skip "there is no npm"
if ! npm ci --no-audit --no-fund --loglevel=error; then
	npm view typescript@5.9.3 version >/dev/null 2>&1 || skip "npm cannot reach its registry"
	exit 1
fi
exec npm test --silent
