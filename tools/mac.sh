#!/usr/bin/env bash
# The tests of what reads and writes files, on a file system that takes names as those of
# macOS do (tools/macfs). It needs FUSE, and to be root or to have fusermount.
#
#   tools/mac.sh [PACKAGE...]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

[ -c /dev/fuse ] || { echo "SKIPPED: make mac: there is no /dev/fuse" >&2; exit 0; }
work=$(mktemp -d)
chmod 755 "$work" # some tests become another user
mkdir "$work/backing" "$work/mac"
CGO_ENABLED=0 go build -C tools/macfs -o "$work/macfs" .
"$work/macfs" "$work/backing" "$work/mac" &
server=$!
trap 'kill $server 2>/dev/null; wait $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
	[ "$(stat -f -c %T "$work/mac")" = fuseblk ] || mountpoint -q "$work/mac" && break
	kill -0 $server 2>/dev/null || { echo "SKIPPED: make mac: the file system cannot be mounted" >&2; exit 0; }
	sleep 0.1
done
mkdir -m 1777 "$work/mac/tmp"
touch "$work/mac/tmp/Case" && [ -e "$work/mac/tmp/cASE" ] || { echo "make mac: names are told apart by case" >&2; exit 1; }

# What is skipped asks for what FUSE has not: longer paths than PATH_MAX, mapped memory that
# tells of each store, times by the kernel's own clock, a look that no other disturbs, and
# changes that are told of (engine/internal/watch is left out for that). 1,500 levels take a quarter of an hour.
skip='ATreeOfManyLevels|AWatchTakesAPoint|AWatchOnAFullDisk|AServerOffersTheSocket|OffersToWatchLarge|ThousandsDeep|LongerThanTheSystem|Mapp|CleanCheckoutIsNotRead|IDOfTheIndexIsNotTaken|WhereALinkIsPut|CostsFewSystemCalls|Crash|Kill|TakenAlongIsAsItWas|NotReadIntoMemory'
if [ $# -eq 0 ]; then
	set -- ./internal/worktree ./internal/apply ./internal/dirfd ./internal/fork ./gitbridge/... ./cas \
		$(go list ./engine/... | grep -v '/engine/internal/watch$') ./cmd/internal/command ./fuzz/exact
fi
go test -count=1 -timeout 30m -p 1 -skip "$skip" -exec "env -u GOTMPDIR TMPDIR=$work/mac/tmp" "$@"
