# shellcheck shell=bash disable=SC2034
# What the scripts share: where the tree is, and installing what a build needs. Sourced, never run.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '%s\n' "$*"; }
die() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 2
}

# Debian 12's names. What a build needs; what the tests need besides; what `scripts/test --all` and `--full` do.
packages_build=(gcc libc6-dev meson ninja-build pkg-config python3 libgmp-dev libpcre2-dev libsqlite3-dev libssl-dev
    libxxhash-dev libzstd-dev)
packages_test=(g++ binutils libcmocka-dev shellcheck python3-dev python3-venv redis-server)
packages_all=(clang libclang-rt-14-dev valgrind)
packages_full=(clang-tidy cppcheck)

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# On systems without dpkg: the programs and libraries that the packages stand for, as far as a build needs them.
require_without_dpkg() {
    local missing=() program library
    for program in cc meson ninja pkg-config python3; do
        command -v "$program" >/dev/null || missing+=("$program")
    done
    if command -v pkg-config >/dev/null; then
        for library in gmp libpcre2-8 sqlite3 libcrypto libxxhash libzstd; do
            pkg-config --exists "$library" || missing+=("$library")
        done
    fi
    [ ${#missing[@]} -eq 0 ] ||
        die "this isn't Debian, so please install by hand: ${missing[*]} (on Debian 12: $*)"
}

# require PACKAGE...: installs what isn't there. Nothing is downloaded when all is.
require() {
    local missing=() package sudo=()
    if ! command -v dpkg-query >/dev/null; then
        require_without_dpkg "$@"
        return
    fi
    for package in "$@"; do
        installed "$package" || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || die "neither root nor sudo; please install: ${missing[*]}"
        sudo=(sudo)
    fi
    say "installing ${missing[*]}"
    "${sudo[@]}" apt-get update -qq || say "apt-get update failed; trying with the lists that are here"
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" \
        >/dev/null || die "apt-get could not install: ${missing[*]}"
}

# newest_clang: the newest clang that Debian's lists know, installed; nothing where there is none.
newest_clang() {
    local newest
    command -v apt-cache >/dev/null || return 0
    newest=$(apt-cache pkgnames clang- | grep -E '^clang-[0-9]+$' | sort -V | tail -n 1)
    [ -n "$newest" ] || return 0
    require "$newest" >&2
    printf '%s\n' "$newest"
}

# The system's own meson, whatever else is in PATH: it is the one the build files are written for.
meson() {
    if [ -x /usr/bin/meson ]; then
        /usr/bin/meson "$@"
    else
        command meson "$@"
    fi
}

# configure FOLDER [OPTION]...: sets a build directory up, once.
configure() {
    local folder=$1
    shift
    [ -f "$top/$folder/build.ninja" ] || meson setup "$top/$folder" "$top" "$@"
}
