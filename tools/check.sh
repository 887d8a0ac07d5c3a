#!/usr/bin/env bash
# Runs the Go tests of the packages that are named (default: all), and counts them: under
# the race detector those in which goroutines meet; of large packages that is some tests,
# which run once more.
#   RACE=all     all run under it, and only so
#   TIMEOUT=20m  how long the tests of one package may take
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- ./...

# Those whose tests take longest begin, or one of them would be left over at the end, and
# a processor with nothing to do.
longest=$(go list ./fuzz ./fuzz/exact ./engine ./cmd/internal/command ./fuzz/hostile ./cas ./internal/worktree ./engine/internal/watched ./remote/restic)
ordered() { grep -Fx "$longest" <<< "$1" || true; grep -vFx "$longest" <<< "$1" || true; }
wanted=$(ordered "$(go list "$@")")

# The race detector takes three to ten times as long, and finds something only where
# goroutines meet: in packages that start some, or lock. Where most tests have nothing to
# do with it, their names tell those that have. Its own memory is none of the program's.
meet='AtOnce|Beside|While|During|Race|Goroutine|Concurrent|Parallel|Share|Early|Together'
large='/(cas|engine|worktree|attr|apply|gitbridge|gitodb|ui|change|record|show|setup)$'
met=$(go list -f '{{.Dir}} {{.ImportPath}}' "$@" | grep -v '/fuzz\b\|/bench\b\|/internal/tidy' | while read -r dir package; do
	code=$(ls "$dir"/*.go | grep -v '_test\.go$' || true)
	[ -z "$code" ] || ! grep -qE '^\s*"sync(/atomic)?"$|^\s*go func' $code || echo "$package"
done)
some=$(grep -E "$large" <<< "$met" || true)
whole=$(ordered "$(grep -vE "$large" <<< "$met" || true)")
[ "${RACE:-}" != all ] || { some=; whole=$wanted wanted=; }

# Whose tests all run under it need not run without, but for those that are skipped there.
spared=$(grep -rl --include='*_test.go' 'func Test.*TakeSoMuchMemory' . | xargs -rn1 dirname | sort -u | xargs -r go list)
wanted=$(grep -vFx "$(grep -vFx "$spared" <<< "$whole")" <<< "$wanted" || true)

# Vet is a step of its own. Half of the tests wait for processes and clocks, so more
# packages are tested at once than there are processors.
tests=(-vet=off -count=1 -p 3 "-timeout=${TIMEOUT:-20m}" -json)

# With the race detector a process sleeps for a second before it exits, and the tests
# start thousands.
export GORACE="atexit_sleep_ms=0 ${GORACE:-}"

# It needs C. What the tests themselves build, as servers of S3, does not, and is built once.
export CGO_ENABLED=0
race() { CGO_ENABLED=1 go test -race -exec 'env CGO_ENABLED=0' "${tests[@]}" "$@"; }
{
	failed=0
	[ -z "$wanted" ] || go test "${tests[@]}" $wanted || failed=1
	[ -z "$some" ] || race -run "$meet" $some || failed=1
	[ -z "$whole" ] || race -skip 'TakeSoMuchMemory' $whole || failed=1
	exit $failed
} | go run -C tools ./testsum
