#!/usr/bin/env bash
# Compiles RocksDB once for this machine, as a few large units instead of one a source file; prints the library's folder.
#
#   scripts/rocksdb.sh         compiles it unless it is there and whole; tells .cargo/local.toml of it
#   scripts/rocksdb.sh where   prints where it is or would be
#
# Cargo's own way (librocksdb-sys runs the compiler for each of 343 files, which all read the same headers) takes seven
# times the CPU time, and again in every target directory. The sources, the version and the features are those that
# Cargo.lock names; the flags are those of the package's build script. ROCKSDB_LIB_DIR or ROCKSDB_COMPILE, where set, mean
# what they mean to that build script, and nothing is compiled here. JOBS sets how many compilers run at once, CXX and
# CXXFLAGS what they are.
#
# The library is whole or absent: it is compiled in a folder of its own and renamed, and its checksum stands beside it.
set -euo pipefail
export LC_ALL=C

# The build script whose flags stand in `flags` below. Another release of it must be compared with them first.
BUILD_SCRIPT=2dbb97b102a2c13f0192ee75a49d4fc0f84fa0692ac9ffc84d364a7a28b472a3
CACHE=${CORPUSDB_CACHE:-$HOME/.cache/corpusdb}

say() { printf 'rocksdb: %s\n' "$*" >&2; }

way_out() { say 'without this step: make build ROCKSDB_COMPILE=1, by which cargo compiles RocksDB itself (15 minutes on two cores)'; }

fail() {
    say "$*"
    way_out
    exit 1
}

checksum() {
    if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi
}

has_feature() { case ",$features," in *",$1,"*) true ;; *) false ;; esac; }

# The folder of a package's sources, of the release that Cargo.lock names.
package() {
    local manifest
    manifest=$(grep -o "\"manifest_path\":\"[^\"]*/$1-[0-9][^\"/]*/Cargo.toml\"" <<<"$metadata" | head -n 1) || fail "cargo metadata does not name $1"
    manifest=${manifest#*:\"}
    printf '%s\n' "${manifest%/Cargo.toml\"}"
}

# The features of librocksdb-sys in this workspace, with commas between. The nodes of the graph that cargo resolved come
# behind the packages; in a node, `features` comes behind `id`.
feature_list() {
    awk '{
        rest = substr($0, index($0, "\"resolve\":"))
        while ((at = index(rest, "\"id\":\"")) > 0) {
            rest = substr(rest, at + 6)
            if (substr(rest, 1, index(rest, "\"")) !~ /#librocksdb-sys@/) continue
            rest = substr(rest, index(rest, "\"features\":[") + 12)
            rest = substr(rest, 1, index(rest, "]") - 1)
            gsub(/"/, "", rest)
            print rest
            exit
        }
    }' <<<"$metadata"
}

# What the build script gives the compiler, but for the folders of headers; warnings are the authors' affair.
flags() {
    local cfg target_os target_arch
    cfg=$(rustc --print cfg)
    target_os=$(sed -n 's/^target_os="\(.*\)"$/\1/p' <<<"$cfg")
    target_arch=$(sed -n 's/^target_arch="\(.*\)"$/\1/p' <<<"$cfg")
    has_target() { grep -q "^target_feature=\"$1\"$" <<<"$cfg"; }

    printf '%s\n' -O2 -ffunction-sections -fdata-sections -fPIC "${ROCKSDB_CXX_STD:--std=c++20}" -w -Wno-invalid-offsetof -include cstdint \
        -DNDEBUG=1 -DHAVE_ALIGNED_NEW -DHAVE_UINT128_EXTENSION -DROCKSDB_PLATFORM_POSIX -DROCKSDB_LIB_IO_POSIX
    case $target_os in
        linux) printf '%s\n' -DOS_LINUX -DROCKSDB_SCHED_GETCPU_PRESENT -DROCKSDB_AUXV_GETAUXVAL_PRESENT -DROCKSDB_FALLOCATE_PRESENT -DROCKSDB_RANGESYNC_PRESENT ;;
        macos) printf '%s\n' -DOS_MACOSX ;;
        *) fail "the flags for $target_os are not known here" ;;
    esac
    case $target_arch in
        x86_64)
            printf '%s\n' -m64
            local pair
            for pair in sse2:-msse2 sse4.1:-msse4.1 sse4.2:-msse4.2 avx2:-mavx2 bmi1:-mbmi lzcnt:-mlzcnt pclmulqdq:-mpclmul; do
                if has_target "${pair%%:*}"; then printf '%s\n' "${pair#*:}"; fi
            done ;;
        aarch64) if has_target crc && has_target aes; then printf '%s\n' -march=armv8-a+crc+aes+crypto; fi ;;
        *) fail "the flags for $target_arch are not known here" ;;
    esac
    local feature
    for feature in ${features//,/ }; do
        case $feature in
            lz4) printf '%s\n' -DLZ4=1 ;;
            zstd) printf '%s\n' -DZSTD=1 ;;
            # Of optional packages, and of what is not compiled here.
            lz4-sys | zstd-sys | bindgen-runtime | bindgen-static | static | default) ;;
            *) fail "the flags of the feature '$feature' of librocksdb-sys are not known here" ;;
        esac
    done
    if [ -n "${CXXFLAGS:-}" ]; then
        # Word splitting is wanted: they are arguments.
        # shellcheck disable=SC2086
        printf '%s\n' $CXXFLAGS
    fi
}

# How much memory compilers may take, in MiB: what is free, within the limit of a container.
free_memory() {
    local free limit
    if [ -r /proc/meminfo ]; then
        free=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
        for limit in /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory/memory.limit_in_bytes; do
            limit=$(cat "$limit" 2>/dev/null) || continue
            case $limit in
                '' | *[!0-9]*) ;;
                *) if [ "${#limit}" -lt 16 ] && [ $((limit / 1048576)) -lt "$free" ]; then free=$((limit / 1048576)); fi ;;
            esac
        done
    else
        free=$(($(sysctl -n hw.memsize 2>/dev/null || echo 8589934592) / 1048576))
    fi
    printf '%s\n' "$free"
}

# Sets `units` and `jobs`. The largest of 12 units takes a compiler to 2.05 GB, the largest of 16 to 1.4 GB; one file
# alone to 0.5 GB.
choose_units() {
    local free cores
    free=$(free_memory)
    cores=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
    if command -v nproc >/dev/null; then cores=$(nproc); fi
    jobs=${JOBS:-$cores}
    case $jobs in '' | *[!0-9]* | 0) fail "JOBS=$jobs is no number of compilers" ;; esac
    if [ $((jobs * 2150)) -le "$free" ]; then
        units=12
        if [ "$jobs" -gt 12 ]; then units=$((jobs < 48 ? jobs : 48)); fi
    else
        units=16
        if [ -z "${JOBS:-}" ] && [ $((jobs * 1500)) -gt "$free" ]; then
            jobs=$((free / 1500))
            if [ "$jobs" -lt 1 ]; then jobs=1 units=48; fi
        fi
    fi
}

# Whether the library in a folder is the one that was compiled there.
is_whole() {
    [ -f "$1/librocksdb.a" ] && [ -f "$1/checksum" ] && (cd "$1" && checksum -c checksum >/dev/null 2>&1)
}

# Compiles the units of the current folder, `jobs` at once; says how far it is.
compile_units() {
    local started=$SECONDS unit done_before=0 finished
    for unit in unit.*.cc build_version.cc; do
        while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
            wait -n 2>/dev/null || sleep 0.2
            tell_progress
        done
        [ ! -e failed ] || break
        # Without the lock, which ends with this script.
        compile "$unit" 9>&- &
    done
    while [ -n "$(jobs -rp)" ]; do
        wait -n 2>/dev/null || sleep 0.2
        tell_progress
    done
    if [ -t 2 ]; then printf '\n' >&2; fi
    [ ! -e failed ]
}

tell_progress() {
    finished=$(find . -name '*.o' | wc -l | tr -d ' ')
    [ "$finished" -ne "$done_before" ] || return 0
    done_before=$finished
    if [ -t 2 ]; then
        printf '\rrocksdb: %d of %d units compiled, %d s ' "$finished" $((units + 1)) $((SECONDS - started)) >&2
    else
        say "$finished of $((units + 1)) units compiled, $((SECONDS - started)) s"
    fi
}

compile() {
    local object=${1%.cc}.o
    if "${compiler[@]}" "${given[@]}" "${headers[@]}" -c "$1" -o "$object.part" 2>"$1.said"; then
        mv "$object.part" "$object"
    else
        printf '%s\n' "$1" >>failed
    fi
}

# Says which file did not compile, by the first place that the compiler's words name.
tell_failure() {
    local unit place
    unit=$(head -n 1 failed)
    place=$(grep -m 1 -E 'error|Killed|No space' "$unit.said" || head -n 1 "$unit.said")
    if grep -q -i -E 'killed|cannot allocate|out of memory' "$unit.said"; then
        say "the compiler was stopped while it compiled $(of_unit "$unit"), for want of memory: run again with JOBS=1"
    else
        say "${compiler[*]} does not compile ${place:-$(of_unit "$unit")}"
    fi
    say "all that it said is in $kept"
}

# The first file of a unit.
of_unit() { sed -n '1s/^#include "\(.*\)"$/\1/p' "$1"; }

build() {
    local sources=$root/rocksdb
    headers=(-I "$sources/include" -I "$sources" -I "$sources/third-party/gtest-1.8.1/fused-src" -I "$root")
    if has_feature lz4; then headers+=(-I "$(package lz4-sys)/liblz4/lib"); fi
    if has_feature zstd; then headers+=(-I "$(package zstd-sys)/zstd/lib"); fi
    choose_units
    # Not local: the trap runs when this function is over.
    work=$(mktemp -d "$CACHE/rocksdb-building.XXXXXX")
    trap 'kill $(jobs -p) 2>/dev/null || :; rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM HUP
    kept=$CACHE/rocksdb-failure.log
    cd "$work"

    grep -v -e 'util/build_version.cc' -e '^[[:space:]]*$' "$root/rocksdb_lib_sources.txt" >list
    awk -v folder="$sources" -v units="$units" -v count="$(wc -l <list)" \
        '{ printf "#include \"%s/%s\"\n", folder, $1 > sprintf("unit.%02d.cc", int((NR - 1) * units / count)) }' list
    cp "$root/build_version.cc" .
    say "compiling $version as $units units, $jobs at once, with ${compiler[*]}; once for this machine"
    if ! compile_units; then
        cat "$(head -n 1 failed).said" >"$kept"
        tell_failure
        way_out
        exit 1
    fi
    ar crs librocksdb.a ./*.o || fail "ar made no library in $work"
    checksum librocksdb.a >checksum
    rm -f ./*.o ./*.cc ./*.said list
    cd /
    # Another make may have been first: then its library stays.
    if is_whole "$library"; then return; fi
    rm -rf "$library"
    mv "$work" "$library" 2>/dev/null || is_whole "$library" || fail "$work could not become $library"
    say "$(du -h "$library/librocksdb.a" | cut -f1) in $library, ${SECONDS} s"
}

# Plain cargo in this clone then links the same library, in the same target directory. Where no library is given, cargo
# does what its own environment says.
tell_cargo() {
    local file=$clone/.cargo/local.toml
    {
        printf '# Written by scripts/rocksdb.sh for this clone; without it cargo compiles RocksDB itself, in the folder target.\n'
        printf "[build]\ntarget-dir = '%s'\n" "${CARGO_TARGET_DIR:-$CACHE/target}"
        if [ -n "${1:-}" ]; then printf "\n[env]\nROCKSDB_LIB_DIR = '%s'\nROCKSDB_STATIC = '1'\n" "$1"; fi
    } >"$file.$$"
    # Unchanged, it keeps its time.
    if cmp -s "$file.$$" "$file"; then rm -f "$file.$$"; else mv "$file.$$" "$file"; fi
}

case ${1:-} in '' | where) ;; *) say 'usage: scripts/rocksdb.sh [where]'; exit 2 ;; esac

cd "$(dirname "${BASH_SOURCE[0]}")/.."
clone=$PWD
is_elsewhere=${ROCKSDB_LIB_DIR:-}
case ${ROCKSDB_COMPILE:-} in 1 | [Tt][Rr][Uu][Ee]) is_elsewhere='compiled by cargo' ;; esac
if [ -n "$is_elsewhere" ]; then
    [ "${1:-}" = where ] || tell_cargo
    printf '%s\n' "$is_elsewhere"
    exit 0
fi

metadata=$(cargo metadata --locked --format-version 1) || fail 'cargo metadata failed'
root=$(package librocksdb-sys)
version=${root##*/}
features=$(feature_list)
script=$(checksum <"$root/build.rs" | cut -d' ' -f1)
[ "$script" = "$BUILD_SCRIPT" ] || fail "$root/build.rs is not the build script whose flags stand in scripts/rocksdb.sh (its checksum is $script): compare them"

read -r -a compiler <<<"${CXX:-c++}"
command -v "${compiler[0]}" >/dev/null || fail "there is no C++ compiler ${compiler[0]}: run scripts/setup.sh"
# One a line, so that a failure within ends the script.
lines=$(flags)
given=()
while IFS= read -r flag; do given+=("$flag"); done <<<"$lines"
identity=$(printf '%s\n' "$version" "$features" "$("${compiler[@]}" --version | head -n 1)" "${compiler[*]}" "${given[@]}" | checksum | cut -c 1-12)
library=$CACHE/rocksdb-${version#librocksdb-sys-}-$identity

if [ "${1:-}" != where ] && ! is_whole "$library"; then
    mkdir -p "$CACHE"
    # One of several makes compiles; the others wait, where the system has flock.
    if command -v flock >/dev/null; then
        exec 9>"$CACHE/rocksdb.lock"
        flock -n 9 || { say 'another make compiles RocksDB: waiting for it'; flock 9; }
        # What a killed one left.
        rm -rf "$CACHE"/rocksdb-building.*
    fi
    if ! is_whole "$library"; then
        [ ! -e "$library" ] || say "$library is damaged and is compiled again"
        build
    fi
fi
[ "${1:-}" = where ] || tell_cargo "$library"
printf '%s\n' "$library"
