#!/bin/sh
# Installs Adjutant from a release: install.sh [--from FOLDER-OR-ADDRESS] [--to FOLDER]
# Without --from: the folder that this script lies in. Without --to: /usr/local as root, else ~/.local. Nothing is
# installed unless its checksum is the one in SHA256SUMS.
set -eu

say() { printf '%s\n' "$*"; }
fail() { say "$*" >&2; exit 1; }

from=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
if [ "$(id -u)" -eq 0 ]; then to=/usr/local; else to=${HOME:?HOME is not set}/.local; fi
while [ $# -gt 0 ]; do
    case $1 in
    --from) from=${2:?--from needs a folder or an address} ;;
    --to) to=${2:?--to needs a folder} ;;
    *) fail "Usage: install.sh [--from FOLDER-OR-ADDRESS] [--to FOLDER]" ;;
    esac
    shift 2
done

[ "$(uname -s) $(uname -m)" = "Linux x86_64" ] ||
    fail "This release is for Linux on x86-64, and this is $(uname -s) on $(uname -m). Build it from source: see README.md."
libc=$(ldd --version 2>&1 | sed -n '1s/.* \([0-9]*\.[0-9]*\).*/\1/p')
case $libc in
2.[0-9] | 2.[12][0-9] | 2.30) fail "Adjutant needs glibc 2.31 or newer, and this machine has $libc. Build it from source: see README.md." ;;
'') fail "Adjutant needs glibc 2.31 or newer, and I found none. Build it from source: see README.md." ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
fetch() {
    case $from in
    http://* | https://*)
        if command -v curl >/dev/null; then
            curl -fsSL --retry 3 --max-time 600 -o "$work/$1" "$from/$1"
        elif command -v wget >/dev/null; then
            wget -q --tries=3 --timeout=60 -O "$work/$1" "$from/$1"
        else
            fail "I need curl or wget to download anything."
        fi ;;
    *) cp -- "$from/$1" "$work/$1" ;;
    esac || fail "I couldn't get $1 from $from. Nothing was installed."
}

fetch SHA256SUMS
archive=$(sed -n 's/^[0-9a-f]*  \(adjutant-[^ ]*-x86_64-unknown-linux-gnu\.tar\.gz\)$/\1/p' "$work/SHA256SUMS" | head -n 1)
[ -n "$archive" ] || fail "SHA256SUMS at $from names no archive. Nothing was installed."
fetch "$archive"
(cd "$work" && grep -F "  $archive" SHA256SUMS | sha256sum -c - >/dev/null 2>&1) ||
    fail "The checksum of $archive is wrong: the download was cut short or changed. Nothing was installed."
tar -xzf "$work/$archive" -C "$work"
folder=$work/${archive%.tar.gz}

{
    mkdir -p "$to/bin" "$to/share/man/man1" "$to/share/bash-completion/completions" "$to/share/adjutant" &&
        # Renamed into place: a running program keeps the one it was started from.
        cp "$folder/adjutant" "$to/bin/.adjutant.new" && chmod 755 "$to/bin/.adjutant.new" &&
        mv "$to/bin/.adjutant.new" "$to/bin/adjutant" &&
        cp "$folder"/man1/*.1 "$to/share/man/man1/" &&
        cp "$folder/completions/bash" "$to/share/bash-completion/completions/adjutant" &&
        cp -r "$folder/docs" "$folder/skills" "$folder/config.example.toml" "$to/share/adjutant/"
} || fail "I couldn't write to $to. Choose another folder with --to."

say "$("$to/bin/adjutant" --version) is in $to/bin."
case :$PATH: in
*:"$to/bin":*) say "Next step: adjutant init" ;;
*) say "Next step: $to/bin/adjutant init    (and add $to/bin to your PATH)" ;;
esac
