#!/bin/sh
# Finds the libclang that bindgen will load, and proves that bindgen can work with it.
#
#   scripts/libclang.sh [all]        find, then prove; prints the file
#   scripts/libclang.sh find [ROOT]  prints the file that will be loaded; ROOT stands before the system's folders
#   scripts/libclang.sh prove FILE   loads FILE and parses a header with it; needs a C compiler
#
# Exit code 1, and the reason on standard error, when there is none or it does not work.
#
# RocksDB's bindings are made while the build runs, by bindgen, minutes after its start. The search follows that of
# clang-sys, which bindgen loads the library with (build/common.rs and build/dynamic.rs in its sources): one folder too
# many here, and a build dies late; one too few, and a package is installed that nobody needed.
set -eu
LC_ALL=C
export LC_ALL

fail() {
    printf 'libclang: %s\n' "$*" >&2
    exit 1
}

# Whether a file name is one of libclang's. `libclang-cpp` is another library, with nothing of libclang in it.
is_name() {
    case $system in
        Darwin) [ "$1" = libclang.dylib ] ;;
        *)
            case $1 in
                *-cpp.*) return 1 ;;
                libclang.so | libclang.so.* | libclang-*.so | libclang-*.so.*) return 0 ;;
                *) return 1 ;;
            esac ;;
    esac
}

# Whether a file is a library for this machine's word size, by its ELF header. Elsewhere than on Linux, whether it is a file.
is_library() {
    [ -f "$1" ] || return 1
    [ "$system" = Linux ] || return 0
    case $(getconf LONG_BIT 2>/dev/null || echo 64) in
        32) class=01 ;;
        *) class=02 ;;
    esac
    [ "$(od -An -N5 -tx1 "$1" 2>/dev/null | tr -d ' \n')" = "7f454c46$class" ]
}

# The version in a file name, as numbers to sort by; -1 where a shorter version has none: 14 stands below 14.0.
version() {
    case $1 in
        libclang.so.*) number=${1#libclang.so.} ;;
        libclang-*)
            number=${1#libclang-}
            number=${number%???} ;;
        *) number= ;;
    esac
    printf '%s\n' "$number" | awk -F. '{
        for (i = 1; i <= 4; i++) printf "%s.", (i > NF ? -1 : ($i ~ /^[0-9]+$/ ? $i : 0))
    }'
}

# A line `version path` for each library in the folders given, in their order.
libraries() {
    for folder in "$@"; do
        for file in "$folder"/libclang[-.]*; do
            if is_name "${file##*/}" && is_library "$file"; then
                printf '%s %s\n' "$(version "${file##*/}")" "$file"
            fi
        done
    done
}

# The libraries in a list of folders with colons between.
libraries_of() {
    printf '%s\n' "$1" | tr ':' '\n' | while IFS= read -r folder; do
        if [ -n "$folder" ]; then libraries "$folder"; fi
    done
}

candidates() {
    if [ -n "${LIBCLANG_PATH+set}" ]; then
        # Nothing else is searched then. It may be the library itself.
        if is_name "${LIBCLANG_PATH##*/}" && is_library "$LIBCLANG_PATH"; then
            printf '%s %s\n' "$(version "${LIBCLANG_PATH##*/}")" "$LIBCLANG_PATH"
        else
            libraries "$LIBCLANG_PATH"
        fi
        return
    fi
    if prefix=$("${LLVM_CONFIG_PATH:-llvm-config}" --prefix 2>/dev/null); then
        libraries "$prefix/bin" "$prefix/lib" "$prefix/lib64"
    fi
    if [ "$system" = Darwin ] && developer=$(xcode-select --print-path 2>/dev/null); then
        libraries "$developer/Toolchains/XcodeDefault.xctoolchain/usr/lib"
    fi
    libraries_of "${LD_LIBRARY_PATH:-}"
    libraries_of "${LIBRARY_PATH:-}"
    # The patterns are meant to be expanded; the root is quoted, the rest has no spaces.
    if [ "$system" = Darwin ]; then
        libraries "$root"/usr/local/opt/llvm*/lib/llvm*/lib "$root/Library/Developer/CommandLineTools/usr/lib" \
            "$root/Applications/Xcode.app/Contents/Developer/Toolchains/XcodeDefault.xctoolchain/usr/lib" \
            "$root"/usr/local/opt/llvm*/lib
    else
        libraries_matching "$root"/usr/local/llvm*/lib*
        libraries_matching "$root"/usr/local/lib*/*/* "$root"/usr/local/lib*/* "$root"/usr/local/lib* \
            "$root"/usr/lib*/*/* "$root"/usr/lib*/* "$root"/usr/lib*
    fi
}

# As `libraries`, quickly over thousands of folders: a folder without any file of the name costs one look.
libraries_matching() {
    for folder in "$@"; do
        for file in "$folder"/libclang[-.]*; do
            [ -e "$file" ] && libraries "$folder"
            break
        done
    done
}

find_library() {
    # The highest version; of equal ones the first found.
    found=$(candidates | sort -s -t. -k1,1nr -k2,2nr -k3,3nr -k4,4nr | sed -n '1s/^[^ ]* //p')
    if [ -z "$found" ]; then
        if [ -n "${LIBCLANG_PATH+set}" ]; then
            fail "no libclang at LIBCLANG_PATH=$LIBCLANG_PATH, and then nowhere else is searched; unset it, or set it to the folder of libclang.so"
        fi
        fail 'no libclang found; install it, or set LIBCLANG_PATH to its folder'
    fi
    printf '%s\n' "$found"
}

# Loads the library and lets it parse what RocksDB's header includes, as bindgen will. That tells a library of another
# name or machine, one whose own libraries are missing, and one without the headers of its compiler (stddef.h).
prove() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cat >"$work/prove.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
typedef struct { const void *data; unsigned flags; } String;
int main(int count, char **given) {
    void *library = dlopen(given[1], RTLD_NOW);
    if (!library) { fprintf(stderr, "%s\n", dlerror()); return 1; }
    void *(*create)(int, int) = (void *(*)(int, int)) dlsym(library, "clang_createIndex");
    void *(*parse)(void *, const char *, const char *const *, int, void *, unsigned, unsigned) =
        (void *(*)(void *, const char *, const char *const *, int, void *, unsigned, unsigned))
        dlsym(library, "clang_parseTranslationUnit");
    unsigned (*diagnostics)(void *) = (unsigned (*)(void *)) dlsym(library, "clang_getNumDiagnostics");
    void *(*diagnostic)(void *, unsigned) = (void *(*)(void *, unsigned)) dlsym(library, "clang_getDiagnostic");
    int (*severity)(void *) = (int (*)(void *)) dlsym(library, "clang_getDiagnosticSeverity");
    String (*format)(void *, unsigned) = (String (*)(void *, unsigned)) dlsym(library, "clang_formatDiagnostic");
    const char *(*text)(String) = (const char *(*)(String)) dlsym(library, "clang_getCString");
    if (!create || !parse || !diagnostics || !diagnostic || !severity || !format || !text) {
        fprintf(stderr, "%s has not the functions of libclang\n", given[1]);
        return 1;
    }
    void *unit = parse(create(0, 0), given[2], (const char *const *) given + 3, count - 3, 0, 0, 0);
    if (!unit) { fprintf(stderr, "%s parses nothing\n", given[1]); return 1; }
    for (unsigned i = 0; i < diagnostics(unit); i++)
        if (severity(diagnostic(unit, i)) >= 3) { fprintf(stderr, "%s\n", text(format(diagnostic(unit, i), 1))); return 1; }
    return 0;
}
END
    printf '#include <stdbool.h>\n#include <stddef.h>\n#include <stdint.h>\nsize_t f(bool a, uint64_t b);\n' >"$work/header.h"
    cc -o "$work/prove" "$work/prove.c" -ldl 2>"$work/said" || fail "cc compiles nothing: $(head -n 3 "$work/said")"
    # Where there is a clang, bindgen takes its folders of headers too.
    clang=${CLANG_PATH:-clang}
    set -- "$1" "$work/header.h"
    if command -v "$clang" >/dev/null 2>&1; then
        "$clang" -E -x c - -v </dev/null >/dev/null 2>"$work/clang" || :
        sed -n '/^#include </,/^End of search/s/^ \([^(]*\).*/\1/p' "$work/clang" >"$work/folders"
        while IFS= read -r folder; do set -- "$@" -isystem "$folder"; done <"$work/folders"
    fi
    # Word splitting is wanted: they are arguments.
    # shellcheck disable=SC2086
    "$work/prove" "$@" ${BINDGEN_EXTRA_CLANG_ARGS:-} 2>"$work/said" || fail "$1 cannot be used: $(head -n 3 "$work/said")"
}

system=$(uname -s)
root=
case ${1:-all} in
    find)
        root=${2:-}
        find_library ;;
    prove)
        [ -n "${2:-}" ] || fail 'prove which file?'
        prove "$2" ;;
    all)
        found=$(find_library)
        prove "$found"
        printf '%s\n' "$found" ;;
    *) fail 'usage: scripts/libclang.sh [all | find [ROOT] | prove FILE]' ;;
esac
