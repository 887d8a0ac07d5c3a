#!/bin/sh
# Installs rewind for whoever runs this, without root, into ~/.local/bin:
#
#     curl -fsSL https://github.com/seed-82afce7a/rewind/releases/latest/download/install.sh | sh
#
#   REWIND_VERSION=v0.1.0    this release, in place of the latest
#   REWIND_INSTALL_DIR=DIR   into this directory
#   REWIND_BASE_URL=URL      from a copy of a release elsewhere
#
# What does not have the sum that the release names is not installed, and what was there
# before stays as it was. To remove it again: rm ~/.local/bin/rewind
set -eu

fail() {
	echo "rewind was not installed: $*" >&2
	exit 1
}

has() { command -v "$1" >/dev/null 2>&1; }

fetch() {
	if has curl; then
		curl -fsSL -o "$2" "$1"
	elif has wget; then
		wget -q -t 1 -O "$2" "$1" # GNU's tries twenty times otherwise
	else
		fail "there is neither curl nor wget"
	fi || fail "$1 could not be fetched"
}

sum() {
	if has sha256sum; then
		sha256sum "$1"
	elif has shasum; then
		shasum -a 256 "$1"
	else
		openssl dgst -sha256 -r "$1"
	fi
}

system() {
	case $(uname -s) in
	Linux) os=linux ;;
	Darwin) os=darwin ;;
	MINGW* | MSYS* | CYGWIN*) fail "on Windows use: npm install -g @seed-82afce7a/rewind" ;;
	*) fail "there is no build for $(uname -s); with Go: go install github.com/seed-82afce7a/rewind/cmd/rewind@latest" ;;
	esac
	case $(uname -m) in
	x86_64 | amd64) arch=amd64 ;;
	aarch64 | arm64) arch=arm64 ;;
	*) fail "there is no build for the processor $(uname -m); with Go: go install github.com/seed-82afce7a/rewind/cmd/rewind@latest" ;;
	esac
	# A shell that Rosetta runs takes the machine for an Intel one.
	if [ $os = darwin ] && [ "$(sysctl -n sysctl.proc_translated 2>/dev/null)" = 1 ]; then arch=arm64; fi
}

# path says what is to be done so that the shell finds the program.
path() {
	case ":$PATH:" in
	*":$dir:"*)
		found=$(command -v rewind || true)
		[ "$found" = "$dir/rewind" ] || echo "Another rewind stands before it in your PATH: $found"
		return
		;;
	esac
	echo "$dir is not in your PATH. To add it, run this, and open a new terminal:"
	case ${SHELL:-} in
	*/fish) echo "    fish_add_path '$dir'" ;;
	*/zsh) echo "    echo 'export PATH=\"$dir:\$PATH\"' >>~/.zshrc" ;;
	*/bash) echo "    echo 'export PATH=\"$dir:\$PATH\"' >>~/.bashrc" ;;
	*) echo "    echo 'export PATH=\"$dir:\$PATH\"' >>~/.profile" ;;
	esac
}

main() {
	base=https://github.com/seed-82afce7a/rewind/releases/latest/download
	[ -z "${REWIND_VERSION:-}" ] || base=https://github.com/seed-82afce7a/rewind/releases/download/$REWIND_VERSION
	base=${REWIND_BASE_URL:-$base}
	[ -n "${REWIND_INSTALL_DIR:-${HOME:-}}" ] || fail "HOME is not set; say where to in REWIND_INSTALL_DIR"
	dir=${REWIND_INSTALL_DIR:-$HOME/.local/bin}
	case $dir in /*) ;; *) dir=$PWD/$dir ;; esac
	system
	has sha256sum || has shasum || has openssl || fail "there is no sha256sum, shasum or openssl to check what was fetched"
	file=rewind_${os}_$arch.tar.gz

	work=$(mktemp -d "${TMPDIR:-/tmp}/rewind.XXXXXX") || fail "there is no room for temporary files"
	new=
	trap 'rm -rf "$work"; [ -z "$new" ] || rm -f "$new"' EXIT
	trap 'exit 1' HUP INT TERM
	fetch "$base/checksums.txt" "$work/sums"
	fetch "$base/$file" "$work/$file"
	want=
	while read -r value name; do
		[ "$name" != "$file" ] || want=$value
	done <"$work/sums"
	[ -n "$want" ] || fail "$base/checksums.txt does not name $file"
	got=$(sum "$work/$file")
	got=${got%% *}
	[ "$got" = "$want" ] || fail "$file has the sum $got, and should have $want: it was cut off or changed on the way"
	tar -xzf "$work/$file" -C "$work" rewind || fail "$file cannot be unpacked"

	# Beside its place, so that one step puts it there; it has to run before.
	mkdir -p "$dir" || fail "$dir cannot be made"
	new=$dir/.rewind.$$
	cp "$work/rewind" "$new" && chmod 755 "$new" || fail "$dir cannot be written to"
	said=$("$new" --version) || fail "the program does not run on this machine"
	mv -f "$new" "$dir/rewind" || fail "$dir/rewind cannot be replaced"
	new=
	echo "$said is now $dir/rewind"
	path
}

# At the end, so that half of this script does nothing.
main
