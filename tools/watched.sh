#!/usr/bin/env bash
# The table of what is asked of a watched worktree and of the ways back, each verb by each
# contender, beside "git status" and "rewind version", in one run a size: in memory, and on an
# ext4 with a journal in a loop-mounted file (as root; else that is left out).
#
#   CORPUS   a directory with a repository, in place of the first size
#   SIZES    how many files are generated (78311 1000000)
#   BEFORE   a commit of this repository to compare with
#   ROUNDS   measured rounds (11)
#   MEMORY   a directory in memory (/dev/shm); DISK: one on a disk (the one for temporary files)
#   OUT      where reports go: JSON, and the page of each (watched-bench)
set -euo pipefail
cd "$(dirname "$0")/.."
sizes=(${SIZES:-78311 1000000}) rounds=${ROUNDS:-11} memory=${MEMORY:-/dev/shm} disk=${DISK:-${TMPDIR:-/tmp}} out=${OUT:-watched-bench}
large=300000 # from so many files on there is room for few copies, and for small files alone

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d "$disk/rewind-watched-XXXXXX")
here=$(mktemp -d "$memory/rewind-watched-XXXXXX")
clean() {
  if mountpoint -q "$work/ext4"; then umount "$work/ext4"; fi
  rm -rf "$work" "$here"
}
trap clean EXIT

before=()
if [ -n "${BEFORE:-}" ]; then
  mkdir "$work/before"
  git archive "$BEFORE" | tar x -C "$work/before"
  (cd "$work/before" && CGO_ENABLED=0 go build -trimpath -buildvcs=false -o "$work/rewind-before" ./cmd/rewind)
  rm -rf "$work/before"
  before=(--before "$work/rewind-before")
fi

# measure PLACE DIR MOST: all sizes in one directory. From $large files on only MOST take part.
measure() {
  local place=$1 dir=$2 most=$3 first=1 size name what
  for size in "${sizes[@]}"; do
    what=(--files "$size" --contenders "$all") name=$place-$size
    if [ -n "$first" ] && [ -n "${CORPUS:-}" ]; then
      what=(--corpus "$CORPUS" --contenders "$all") name=$place-corpus
    elif [ "$size" -ge $large ]; then
      what=(--files "$size" --bytes 1000 --contenders "$most")
    fi
    first=
    bin/rewind bench --workloads watched-questions,watched-back --rounds "$rounds" --dir "$dir" --json "${before[@]}" "${what[@]}" >"$out/$name.json"
    go run -C bench/page . -tables <"$out/$name.json"
    go run -C bench/page . <"$out/$name.json" >"$out/$name.html"
  done
}

ours=rewind-watched,rewind-beside-watch,git-status
all=$ours,before-watched,before-beside-watch,opencode,git-stash
measure memory "$here" $ours
if [ "$(id -u)" != 0 ]; then
  echo "SKIPPED: only root can mount a file system in a file"
  exit
fi
truncate -s 64G "$work/ext4.img"
mkfs.ext4 -q -F -i 4096 -O has_journal -E lazy_itable_init=0,lazy_journal_init=0 "$work/ext4.img"
mkdir "$work/ext4"
mount -o loop "$work/ext4.img" "$work/ext4"
measure ext4 "$work/ext4" $ours,opencode,before-watched,before-beside-watch
