#!/usr/bin/env bash
# Runs a command whose temporary files lie in memory, where the system has room there, and removes what it leaves.
#
#   scripts/in-memory.sh COMMAND [ARGUMENT..]
#
# Tests make thousands of small corpora and wait for the disk at each commit: in memory they take two thirds of the time.
# No test loses power, so none needs a disk. Without /dev/shm, or with less than 4 GB there, TMPDIR stays what it is.
set -euo pipefail

free=$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 { print $4 }') || free=0
if [ "${free:-0}" -ge 4194304 ] && folder=$(mktemp -d /dev/shm/corpusdb.XXXXXX 2>/dev/null); then
    trap 'rm -rf "$folder"' EXIT
    trap 'exit 130' INT TERM HUP
    export TMPDIR=$folder
fi
"$@"
