#!/usr/bin/env bash
# Runs the Go tests of the packages that are named (default: all), and counts them. Those
# with goroutines run under the race detector.
#   RACE=all     the others too
#   TIMEOUT=15m  how long the tests of one package may take
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- ./...

# The tests of these run the program as processes beside git, or compute on one
# goroutine. The race detector finds nothing there that it does not find in the tests of
# the packages below them, and takes two to ten times as long.
plain=$(go list ./fuzz/... ./bench/... ./ledger ./internal/tidy ./engine/internal/textmerge ./internal/tree ./internal/ignore ./internal/wildmatch ./gitbridge/gitconf)
[ "${RACE:-}" != all ] || plain=

# Those whose tests take longest begin, or one of them would be left over at the end, and
# a processor with nothing to do.
longest=$(go list ./fuzz ./engine ./cmd/internal/command ./cas ./internal/worktree)

wanted=$(go list "$@")
first=$(grep -Fx "$longest" <<< "$wanted" || true)
wanted="$first"$'\n'"$(grep -vFx "$longest" <<< "$wanted" || true)"
raced=$(grep -vFx "${plain:-none}" <<< "$wanted" || true)
plain=$(grep -Fx "${plain:-none}" <<< "$wanted" || true)

# Vet is a step of its own. Half of the tests wait for processes and clocks, so more
# packages are tested at once than there are processors.
tests=(-vet=off -count=1 -p 3 "-timeout=${TIMEOUT:-15m}" -json)

# With the race detector a process sleeps for a second before it exits, and the tests
# start thousands.
export GORACE="atexit_sleep_ms=0 ${GORACE:-}"
{
	failed=0
	[ -z "$plain" ] || CGO_ENABLED=0 go test "${tests[@]}" $plain || failed=1
	[ -z "$raced" ] || go test -race "${tests[@]}" $raced || failed=1
	exit $failed
} | go run -C tools ./testsum
