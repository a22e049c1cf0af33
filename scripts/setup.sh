#!/bin/sh
# Makes sure that this machine can build corpusdb: a C++ compiler, make, pkg-config, libclang, Rust.
# Installs what is missing on Debian and Ubuntu; elsewhere it says what to install.
# Safe to run again: with everything in place it changes nothing and says nothing.
set -eu

say() { printf 'setup: %s\n' "$*" >&2; }

has() { command -v "$1" >/dev/null 2>&1; }

here=$(dirname "$0")

# Bindgen, which RocksDB's bindings are made with, loads libclang when the build has run for minutes: it is tried here.
# Without a compiler it can only be found; it is tried when the compiler is there.
libclang_works() {
    found=$("$here/libclang.sh" find 2>/dev/null) || return 1
    ! has cc || "$here/libclang.sh" prove "$found" 2>/dev/null
}

# The Debian packages of what is missing. Cargo calls `cc` to link, and RocksDB's build calls `c++`.
missing_packages() {
    { has c++ && has cc; } || printf ' g++'
    has make || printf ' make'
    has pkg-config || printf ' pkg-config'
    libclang_works || printf ' libclang-dev'
}

install_packages() {
    as_root=''
    if [ "$(id -u)" -ne 0 ]; then
        if ! has sudo; then
            say "missing:$1"
            say "run this as root, or have an administrator run: apt-get install$1"
            exit 1
        fi
        # sudo clears the environment unless told otherwise.
        as_root='sudo env DEBIAN_FRONTEND=noninteractive'
    fi
    say "installing$1"
    export DEBIAN_FRONTEND=noninteractive
    # Word splitting is wanted: one word a package.
    # shellcheck disable=SC2086
    if ! $as_root apt-get install --yes --no-install-recommends $1 >/dev/null 2>&1; then
        # Package lists are absent on a fresh image and stale on an old one.
        $as_root apt-get update >&2
        $as_root apt-get install --yes --no-install-recommends $1 >&2
    fi
}

# Where LIBCLANG_PATH is set, nothing else is searched: no package would help.
if [ -n "${LIBCLANG_PATH+set}" ] && ! "$here/libclang.sh" find >/dev/null; then
    exit 1
fi

missing=$(missing_packages)
if [ -n "$missing" ] && has apt-get; then
    install_packages "$missing"
    missing=$(missing_packages)
    # With the compiler that has just come, a libclang that was there may have been found not to work.
    if [ "$missing" = ' libclang-dev' ]; then
        install_packages "$missing"
        missing=$(missing_packages)
    fi
    if [ -n "$missing" ]; then
        say "still missing after installing:$missing"
        "$here/libclang.sh" >/dev/null || :
        exit 1
    fi
elif [ -n "$missing" ]; then
    say "missing (by their Debian names):$missing"
    case $(uname -s) in
        Darwin) say 'run: xcode-select --install   (and for pkg-config: brew install pkgconf)' ;;
        *)
            if has dnf; then say 'run: sudo dnf install gcc-c++ make pkgconf clang-devel'
            elif has pacman; then say 'run: sudo pacman -S --needed gcc make pkgconf clang'
            elif has zypper; then say 'run: sudo zypper install gcc-c++ make pkg-config clang-devel'
            elif has apk; then say 'run: apk add g++ make pkgconf clang-dev'
            else say 'install a C++17 compiler, make, pkg-config and libclang with your package manager'
            fi ;;
    esac
    libclang_works || say 'if libclang is somewhere else, set LIBCLANG_PATH to its directory'
    exit 1
fi

if ! has cargo || ! has rustc; then
    if [ -x "$HOME/.cargo/bin/cargo" ]; then
        say "cargo is in $HOME/.cargo/bin, which is not in PATH; run: . \"\$HOME/.cargo/env\""
    else
        say 'Rust is missing; install rustup (https://rustup.rs), which brings the toolchain that rust-toolchain.toml names'
    fi
    exit 1
fi
