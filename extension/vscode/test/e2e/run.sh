#!/usr/bin/env bash
# The tests of the VS Code extension in a real VS Code, in a real browser. What they
# need is installed below test/e2e/installed. PICTURES=DIR keeps the pictures that
# docs/vscode.md shows.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

command -v node >/dev/null || { echo "SKIPPED: the tests of the VS Code extension in the real editor: there is no node" >&2; exit 0; }
status=0
node test/e2e/setup.mjs || status=$?
[ "$status" -eq 75 ] && exit 0
[ "$status" -eq 0 ] || exit "$status"
npm ci --no-audit --no-fund --loglevel=error
npm run --silent build
exec "${REWIND_EDITOR:-test/e2e/installed}/node_modules/node/bin/node" --test --test-reporter=../pi/test/reporter.mjs --test-concurrency=1 "${@:-test/e2e/*.test.mjs}"
