#!/usr/bin/env bash
# Says what `make test` needs, and stops at once if a part of it is missing
# without which nothing can be tested. What only the extension needs may be
# missing: its tests are skipped then, and this says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

has() { command -v "$1" >/dev/null; }

go=$(sed -n 's/^go //p' go.mod)
echo "make test needs Go $go, git, and a C compiler (for the race detector)."
echo "The tests of the extensions of Pi and VS Code need node, npm and tmux as well, and a network for npm. Single tests use git-lfs, curl, wget, dash, busybox, restic, nvim, and servers of S3 that tools/s3 builds."

missing=()
has git || missing+=("git: the tests compare with it. Install the package git.")
if ! has go; then
	missing+=("Go $go or newer: https://go.dev/doc/install")
else
	version=$(go version 2>&1) || missing+=("Go $go or newer. go says: $version")
	cc=$(go env CC 2>/dev/null || true)
	has "${cc%% *}" || missing+=("a C compiler ($cc): go test -race needs one. Install gcc or clang, or name yours in CC.")
fi
for need in ${missing[@]+"${missing[@]}"}; do
	echo "MISSING: $need" >&2
done
[ ${#missing[@]} -eq 0 ] || exit 1

for name in node npm tmux; do
	has "$name" || echo "MISSING: $name. The tests of the extensions will be SKIPPED." >&2
done
for name in git-lfs curl wget dash busybox restic nvim; do
	has "$name" || echo "MISSING: $name. A test will be SKIPPED."
done
echo "Found: ${version#go version }, $(git --version). All of it takes some twenty minutes on two processors, and more where nothing is built yet; each step says what it does."
