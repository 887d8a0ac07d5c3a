#!/usr/bin/env bash
# Runs the tests of the packages that are named as programs for Windows:
# here under Wine, on Windows itself as they are. Then cmd/internal/command's test of the
# main job makes sure that git of this system sees what the program for Windows wrote.
# Without a name all run but fuzz, bench, extension and internal/tidy, which were not tried,
# or are about nothing that Windows does otherwise.
# What a single test lacks it says itself, after SKIPPED.
#   TIMEOUT=60m  how long the tests of one package may take
#   EVENTS=FILE  keeps what "go test -json" says
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
[ $# -gt 0 ] || set -- $(go list ./... | grep -vE '/rewind/(fuzz(/.*)?|bench(/.*)?|extension(/.*)?|internal/tidy)$')
tests=(-vet=off -count=1 -p 4 "-timeout=${TIMEOUT:-60m}" -json)
export CGO_ENABLED=0

if [ "$(go env GOHOSTOS)" = windows ]; then
	go test "${tests[@]}" "$@" | tee "${EVENTS:-/dev/null}" | go run -C tools ./testsum
	exit
fi

missing=()
for need in wine:wine x86_64-w64-mingw32-gcc:gcc-mingw-w64-x86-64 git:git; do
	command -v "${need%%:*}" >/dev/null || missing+=("${need%%:*} (Debian's package ${need##*:})")
done
for need in ${missing[@]+"${missing[@]}"}; do
	echo "MISSING: $need" >&2
done
[ ${#missing[@]} -eq 0 ] || exit 1

# Wine shows nothing of /dev, and its own home must not be the user's.
at=$(mktemp -d "${TMPDIR:-/tmp}/rewind-windows.XXXXXX")
case $(realpath "$at") in /dev/*) echo "TMPDIR must not lie below /dev: Wine hides that" >&2; exit 1 ;; esac
# In memory where this user may mount: what is tested syncs many thousand files.
mount -t tmpfs -o mode=700 rewind-windows "$at" 2>/dev/null && mounted=$at || mounted=
export WINEPREFIX=$at/wine WINEDEBUG=-all TMPDIR=$at # Wine leaves the place of its sockets there
host=
trap 'wineserver=$(command -v wineserver || echo /usr/lib/wine/wineserver); "$wineserver" -k || true; [ -z "$host" ] || kill $host || true; [ -z "$mounted" ] || umount -l "$at"; rm -rf "$at"' EXIT
mkdir "$at/bin" "$at/tmp"
echo "== Wine: $(wine --version)"
for _ in 1 2 3; do # under load its services may not come in time
	wine wineboot -i >"$at/boot" 2>&1 && break
done || { cat "$at/boot" >&2; echo "wineboot failed" >&2; exit 1; }
# One program stays: else Wine's services begin anew with a test, and hold its output open.
mkfifo "$at/idle"
wine cmd <>"$at/idle" >/dev/null 2>&1 &
for name in TEMP TMP; do # on the drive that is this machine's "/": then git's paths mean the same to both
	wine reg add 'HKCU\Environment' /v $name /d "Z:${at//\//\\}\\tmp" /f >/dev/null
done

# What that Wine lacks: see bcryptprimitives.c. Go's RemoveAll falls back to another call
# on Windows versions that lack a newer one, but not by the error that this Wine gives.
system=$WINEPREFIX/drive_c/windows/system32
[ -e "$system/bcryptprimitives.dll" ] || x86_64-w64-mingw32-gcc -O1 -s -shared -o "$system/bcryptprimitives.dll" tools/wine/bcryptprimitives.c -ladvapi32
# Under load that Wine fails to start one program in hundreds, with ERROR_INTERNAL_ERROR.
src=$(go env GOROOT)/src
lib=$src/internal/syscall/windows/at_windows.go exec=$src/syscall/exec_windows.go
sed 's/^var TestDeleteatFallback bool$/var TestDeleteatFallback = true/' "$lib" > "$at/at_windows.go"
grep -q 'TestDeleteatFallback = true' "$at/at_windows.go"
sed 's/^\t\terr = CreateProcess(.*$/\t\tfor try := 0; try == 0 || try < 20 \&\& err == Errno(1359); try++ {\n&\n\t\t}/' "$exec" > "$at/exec_windows.go"
grep -q 'Errno(1359)' "$at/exec_windows.go"
echo "{\"Replace\":{\"$lib\":\"$at/at_windows.go\",\"$exec\":\"$at/exec_windows.go\"}}" > "$at/overlay.json"

# git and sh of this machine, for programs under Wine.
go build -o "$at/host" ./internal/gittest/winehost/host
GOOS=windows go build -o "$at/bin/git.exe" ./internal/gittest/winehost/host
cp "$at/bin/git.exe" "$at/bin/sh.exe"
"$at/host" serve "$at/bin" &
host=$!
while [ ! -e "$at/bin/address" ]; do sleep 0.1; done

export WINEPATH at
WINEPATH=Z:${at//\//\\}\\bin
if [ "$1" = -- ]; then
	shift
	"$@" # a command that wants Wine as the tests have it
	exit
fi
GOOS=windows go test -short -overlay "$at/overlay.json" -exec wine "${tests[@]}" "$@" | tee "${EVENTS:-/dev/null}" | go run -C tools ./testsum
