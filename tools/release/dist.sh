#!/usr/bin/env bash
# Checks how a release is made, makes one of the last commit without publishing it, twice,
# each time in a clone of its own, and tests what came of it. It is in dist afterwards.
#   SIGNING_KEY=FILE   sign with this key of ssh; else with one made for this once
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
root=$PWD
[ -z "$(git status --porcelain)" ] || echo "dist: what is not committed is not in this release" >&2

work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
export REWIND_SIGNING_KEY=${SIGNING_KEY:-$work/key}
[ -n "${SIGNING_KEY:-}" ] || ssh-keygen -q -t ed25519 -N '' -C release -f "$work/key"

go tool -modfile=tools/release/go.mod actionlint
goreleaser=$(go tool -modfile=tools/release/go.mod -n goreleaser)
for clone in one a/second; do # the second has a longer name
	echo "== dist: a release in a clone ($clone)"
	git clone -q "$root" "$work/$clone"
	cd "$work/$clone"
	git checkout -q --detach "$(git -C "$root" rev-parse HEAD)"
	git remote set-url origin https://github.com/seed-82afce7a/rewind
	if [ $clone = one ]; then
		"$goreleaser" check
	else # one program by a compiler that remembers nothing
		GOCACHE=$work/cache GOOS=linux GOARCH=amd64 "$goreleaser" build --snapshot --single-target --output "$work/anew"
	fi
	"$goreleaser" release --snapshot --clean --skip=docker
done

cd "$root"
echo "== dist: packages for npm"
node tools/npm/pack.mjs "$work/one/dist"
echo "== dist: what is in them, and whether they can be installed"
REWIND_DIST=$work/one/dist REWIND_DIST_AGAIN=$work/a/second/dist REWIND_ANEW=$work/anew go test -C tools/release -json -count=1 . | go run -C tools ./testsum
rm -rf dist
cp -a "$work/one/dist" dist
