#!/bin/sh
# The whole path, from raw text to packed training rows, as commands that can be copied one by one.
#
#     sh demo.sh [PATH..]
#
# works on PATHs, each a source of its own; or on the sources of the crates that cargo has unpacked for the project
# here; or else on the texts in $DIR/crawl-1 and $DIR/crawl-2. `corpusdb demo` puts texts there, and runs this.
set -eu
: "${CORPUSDB:=corpusdb}"    # the command, in words of the shell
: "${DIR:=corpusdb-demo}"    # where everything goes
: "${TEXT_FIELD:=}"          # the field with the text, in files that PATHs name
: "${JSON:=}"                # --json: the commands answer with JSON, and nothing else is said
BEGUN=$(date +%s)

# ---- how it speaks ----

corpusdb() { eval "$CORPUSDB \"\$@\""; }
say() { if [ -z "$JSON" ]; then printf '%s\n' "$*"; fi; }
step() { say; say "$1"; }
# A word as a shell reads it back.
quoted() {
    case $1 in
    '' | *[\"\$\`\\!]*) printf "'%s'" "$(printf %s "$1" | sed "s/'/'\\\\''/g")" ;;
    *[!A-Za-z0-9_./:=,+@%-]*) printf '"%s"' "$1" ;;
    *) printf %s "$1" ;;
    esac
}
show() {
    line='  $ corpusdb'
    for word in "$@"; do line="$line $(quoted "$word")"; done
    say "$line"
}
again() { corpusdb "$@" $JSON; }
# Shows a command, and runs it.
run() { show "$@"; again "$@"; }
# Likewise, with the last line of its answer alone; if it fails, with all.
brief() {
    show "$@"
    answer=$(again "$@") || { code=$?; printf '%s\n' "$answer"; exit $code; }
    printf '%s\n' "$answer" | tail -n 1
}
# One value that a statement answers.
value() { corpusdb sql corpus "$1" --format csv | sed 1d; }

# ---- what goes in ----

# The files of the crates of Cargo.lock that are unpacked: "SOURCE BYTES PATH", below the directory that is printed first.
# Larger files of code are left out: they are tables that programs made.
crate_files() {
    cargo=${CARGO:-cargo}
    command -v "$cargo" >/dev/null || { echo "cannot run $cargo" >&2; return 1; }
    project=$("$cargo" locate-project --workspace --message-format plain) || return 1
    lock=${project%Cargo.toml}Cargo.lock
    cd "$(ls -d "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/ | head -n 1)" && [ -f "$lock" ] ||
        { echo "cargo has unpacked no crates for this project; \`cargo fetch\` does" >&2; return 1; }
    pwd
    awk -F'"' '/^name = /{n = $2} /^version = /{v = $2} /^source = /{print n "-" v}' "$lock" |
        while read -r crate; do if [ -d "$crate" ]; then echo "$crate"; fi; done |
        xargs -I@ find @ -name '.?*' -prune -o -type f \( -name '*.rs' -size -513 -o -name '*.md' -o -iname 'readme*' \
            -o -iname 'licen[sc]e*' -o -iname 'unlicense*' -o -iname 'copying*' -o -iname 'notice*' \) -exec wc -c {} + |
        awk '{bytes = $1; path = $0; sub(/^ *[0-9]+ /, "", path); file = tolower(path); sub(/.*\//, "", file)}
            file ~ /\.rs$/ {print "code", bytes, path; next}
            file ~ /^(licen[sc]e|unlicense|copying|notice)/ {print "licenses", bytes, path; next}
            path ~ /\// {print "docs", bytes, path}'
}

# Of the files in $DIR/files those of crates with some 64 MB of code: first crates of several versions, which are much
# alike, then small ones before large ones; every other crate is of the second crawl. Answers "CRAWL SOURCE PATH".
chosen_files() {
    awk '{crate = $3; sub(/\/.*/, "", crate); name = crate; sub(/-[0-9]+\..*/, "", name)}
        !(crate in code) {code[crate] = 0; named[crate] = name; versions[name]++}
        $1 == "code" {code[crate] += $2}
        END {for (crate in code) print (versions[named[crate]] < 2), code[crate], crate}' "$DIR/files" |
        LC_ALL=C sort -k1,1n -k2,2n -k3,3 |
        awk -v budget=64000000 'sum + $2 <= budget {sum += $2; print $3}' |
        LC_ALL=C sort | awk '{print 2 - NR % 2, $0}' > "$DIR/crates"
    awk 'NR == FNR {crawl[$2] = $1; next}
        {crate = $3; sub(/\/.*/, "", crate); path = $0; sub(/^[a-z]+ [0-9]+ /, "", path)}
        crate in crawl {print crawl[crate], $1, path}' "$DIR/crates" "$DIR/files"
}

# Copies files of crates into crawl-1 and crawl-2, a directory a source. Where there are none, nothing changes.
gather_crates() {
    found=$(crate_files) || return 1
    registry=$(printf '%s\n' "$found" | head -n 1)
    printf '%s\n' "$found" | sed 1d > "$DIR/files"
    chosen_files > "$DIR/chosen"
    [ -s "$DIR/chosen" ] || { echo "cargo has unpacked no crates for this project; \`cargo fetch\` does" >&2; return 1; }
    rm -rf "$DIR/crawl-1" "$DIR/crawl-2"
    for crawl in 1 2; do
        for source in code docs licenses; do
            to=$DIR/crawl-$crawl/$source
            grep -q "^$crawl $source " "$DIR/chosen" || continue
            mkdir -p "$to"
            sed -n "s/^$crawl $source //p" "$DIR/chosen" | tar -C "$registry" -cf - -T - | tar -C "$to" -xf -
        done
    done
}

# A name up to its first dot; of a pattern, that of the directory it is in.
source_name() {
    printf '%s\n' "$1" | tr / '\n' | grep -v '[*?[]' | grep -vx '[.-]*' | tail -n 1 | sed 's/^\.*//; s/\..*//'
}

# The commands that ingest a crawl, or the PATHs; $1 runs them.
ingest_crawl() {
    for input in "$2"/*; do
        source=$(basename "$input" .jsonl)
        case $input in
        *.jsonl) "$1" ingest corpus "$input" --source "$source" --id-field id ;;
        *) "$1" ingest corpus "$input" --source "$source" --format text ;;
        esac
    done
}
ingest_paths() {
    runs=$1 names=' '
    shift
    for path in "$@"; do
        name=$(source_name "$path") number=1
        name=${name:-input} source=${name:-input}
        while [ "${names#* "$source" }" != "$names" ]; do number=$((number + 1)); source=$name-$number; done
        names="$names$source "
        # The demo works in its directory.
        case $path in /* | - | *://*) ;; *) path=$HERE/$path ;; esac
        "$runs" ingest corpus "$path" --source "$source" ${TEXT_FIELD:+--text-field "$TEXT_FIELD"}
    done
}
ingest_all() {
    runs=$1
    shift
    if [ "$KIND" = paths ]; then
        ingest_paths "$runs" "$@"
    else
        ingest_crawl "$runs" crawl-1
        ingest_crawl "$runs" crawl-2
    fi
}
# Ingests, and shows the command of the first alone: the others are alike.
first() { if [ -z "$SHOWN" ]; then show "$@"; fi; SHOWN=yes; again "$@"; }
# Ingests without a word.
silent() { if [ -n "$JSON" ]; then again "$@"; else again "$@" > /dev/null; fi; }

# ---- the story ----

say "From raw text to packed training rows; all of it is in $DIR."
HERE=$PWD SHOWN='' TOKENIZER=bpe-8k VOCABULARY=8192 ROW=2048 KIND=paths
mkdir -p "$DIR"
rm -rf "$DIR/corpus" "$DIR/epoch-0" "$DIR/recipe.toml"
if [ $# = 0 ]; then
    if why=$(gather_crates 2>&1); then
        KIND=crates
        say 'The text: code, documentation and licences of the crates of this project.'
    else
        # Half a megabyte of short documents.
        KIND=texts TOKENIZER=bpe-4k VOCABULARY=4096 ROW=512
        say 'The text: articles of the Declaration of Human Rights, in 23 languages.'
        say "Not on crates here: $(printf '%s' "$why" | head -n 1)"
    fi
    rm -f "$DIR/files" "$DIR/crates" "$DIR/chosen"
    [ -d "$DIR/crawl-1" ] || { echo "no texts in $DIR/crawl-1: \`corpusdb demo\` puts some there" >&2; exit 2; }
fi
say; say "  \$ cd $(quoted "$DIR")"
cd "$DIR"
run init corpus

step 'Each new text is compared with all that is stored: of alike ones one is kept.'
ingest_all first "$@"
BEFORE=$(value 'SELECT count(*) FROM documents')
ingest_all silent "$@"
AFTER=$(value 'SELECT count(*) FROM documents')
if [ "$AFTER" != "$BEFORE" ]; then
    echo "FAILED: ingesting the same again changed the documents: $BEFORE before, $AFTER now" >&2
    exit 1
fi
say "All of it once more adds nothing: $AFTER documents."

# A difference that fits a screen says most.
NEAR=$(value "SELECT r.id FROM duplicates r JOIN documents d ON d.id = r.id WHERE r.kind = 'near' AND r.jaccard < 1 \
ORDER BY d.bytes, r.id LIMIT 1")
if [ -n "$NEAR" ]; then
    step 'Why one was removed: [-only the kept one has this-], {+only the removed one+}.'
    show duplicates corpus "$NEAR" --diff
    again duplicates corpus "$NEAR" --diff | grep -e '^document' -e witness -e '[[{][-+]' -e '^{"'
fi

step 'A tokenizer is trained on what was kept, and every text has its tokens.'
brief tokenizer train corpus "$TOKENIZER" --model bpe --vocab-size "$VOCABULARY" --pattern o200k
SAMPLE=$(value "SELECT id FROM documents WHERE kept AND tokens BETWEEN 30 AND 100 ORDER BY bytes, id LIMIT 1")
if [ -n "$SAMPLE" ]; then run show corpus "$SAMPLE" --tokens; fi

{
    printf 'version = 1\nseed = 42\n\n[tokenizer]\nname = "%s"\n' "$TOKENIZER"
    printf 'specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" }\n\n'
    if [ "$KIND" = crates ]; then
        # Mostly code, and licences a little although there are few of them: share of all tokens, most passes.
        while read -r source weight passes; do
            if [ -d "crawl-1/$source" ] || [ -d "crawl-2/$source" ]; then
                printf '[[source]]\nname = "%s"\nweight = %s\nmax_repeats = %s\n\n' "$source" "$weight" "$passes"
            fi
        done <<SOURCES
code 0.90 1
docs 0.09 2
licenses 0.01 4
SOURCES
    else
        printf '[mix]\nmethod = "natural"    # every source as much as it holds\n\n'
    fi
    printf '[pack]\nkind = "best-fit"     # documents are combined so that rows are full\n'
    printf 'length = %s          # tokens in a row\n\n[output]\nformat = "parquet"\n' "$ROW"
} > recipe.toml
step "An epoch by recipe.toml: rows of $ROW tokens, as full as they can be."
run epoch build corpus recipe.toml --out epoch-0
brief epoch verify corpus epoch-0

step "Done in $(($(date +%s) - BEGUN)) s; demo.sh has each command. What is next:"
show info corpus
show stats corpus
show epoch explain corpus recipe.toml
show demo pages.jsonl.zst notes/ --dir my-demo
