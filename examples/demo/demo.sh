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
CORPUS=$DIR/corpus
STEP=0
BEGUN=$(date +%s)

# ---- how it speaks ----

corpusdb() { eval "$CORPUSDB \"\$@\""; }
say() { if [ -z "$JSON" ]; then printf '%s\n' "$*"; fi; }
step() {
    STEP=$((STEP + 1))
    say; say "$STEP. $1"; say "$STEP. $1" | sed 's/./-/g'
}
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
# One value that a statement answers.
value() { corpusdb sql "$CORPUS" "$1" --format csv | sed 1d; }

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
    for input in "$DIR/$2"/*; do
        source=$(basename "$input" .jsonl)
        case $input in
        *.jsonl) "$1" ingest "$CORPUS" "$input" --source "$source" --id-field id ;;
        *) "$1" ingest "$CORPUS" "$input" --source "$source" --format text ;;
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
        "$runs" ingest "$CORPUS" "$path" --source "$source" ${TEXT_FIELD:+--text-field "$TEXT_FIELD"}
    done
}

# ---- the story ----

say 'corpusdb demo: from raw text to packed training rows, with the commands.'
say "Everything stays in $DIR."
mkdir -p "$DIR"
rm -rf "$CORPUS" "$DIR/epoch-0" "$DIR/recipe.toml"
TOKENIZER=bpe-8k VOCABULARY=8192 ROW=2048 KIND=paths
if [ $# = 0 ]; then
    if why=$(gather_crates 2>&1); then
        KIND=crates
        step 'Gather real text'
        say '  The source code, documentation and licences of the crates that cargo has unpacked for this'
        say '  project, copied into two "crawls", every other crate to each. They are full of near duplicates:'
        say '  licences, READMEs, generated code, several versions of one crate.'
    else
        # Half a megabyte of short documents.
        KIND=texts TOKENIZER=bpe-4k VOCABULARY=4096 ROW=512
        step 'Take a real text'
        say '  The Universal Declaration of Human Rights, an article a document, in 23 languages, two of them'
        say '  in several versions: the command carries it. In a Rust project the demo works on the crates that'
        say '  cargo has unpacked, some 70 MB; and on PATHs that you give it.'
        say "  Not on crates here: $(printf '%s' "$why" | head -n 1)"
    fi
    rm -f "$DIR/files" "$DIR/crates" "$DIR/chosen"
    [ -d "$DIR/crawl-1" ] || { echo "no texts in $DIR/crawl-1: \`corpusdb demo\` puts some there" >&2; exit 2; }
    say; for directory in "$DIR/crawl-1" "$DIR/crawl-2"; do say "  $directory: $(ls "$directory" | tr '\n' ' ')"; done
fi

step 'Make a corpus'
run init "$CORPUS"
say '  An empty corpus and its policy: of texts that are at least 80 % similar, one is kept.'

step 'Ingest a crawl'
say '  Each new document is compared with the stored ones whose sketch (a hash of its words) is alike,'
say '  and kept only if it is similar to none of them.'
if [ "$KIND" = paths ]; then
    ingest_paths run "$@"
else
    ingest_crawl run crawl-1
    step 'Ingest the next crawl, against all that is there'
    ingest_crawl run crawl-2
fi

step 'See what was removed, and in favour of what'
say '  Every removed document names the kept one it matched, and their exact similarity (Jaccard, over runs'
say '  of five words). Those of equal bytes (exact), and near duplicates:'
run sql "$CORPUS" "SELECT kind, count(*) AS removed, count(DISTINCT witness) AS in_favour_of, round(min(jaccard), 3) AS \
least_similar FROM duplicates GROUP BY kind ORDER BY kind"
say; say '  The texts with most copies of equal bytes:'
run sql "$CORPUS" "SELECT witness, count(*) AS copies FROM duplicates WHERE kind = 'exact' GROUP BY witness \
ORDER BY copies DESC, witness LIMIT 3"
say; say '  Where near duplicates differ: [-what only the kept one has-], {+what only the removed one has+}.'
# A difference that fits a screen says most.
NEAR=$(value "SELECT r.id FROM duplicates r JOIN documents d ON d.id = r.id WHERE r.kind = 'near' AND r.jaccard < 1 \
ORDER BY d.bytes, r.id LIMIT 3")
for document in $NEAR; do run duplicates "$CORPUS" "$document" --diff; done

step 'Ingest the same again: nothing is added'
BEFORE=$(value 'SELECT count(*) FROM documents')
say '  The ingest commands above once more, all of them:'
if [ "$KIND" = paths ]; then
    ingest_paths again "$@"
else
    ingest_crawl again crawl-1
    ingest_crawl again crawl-2
fi
AFTER=$(value 'SELECT count(*) FROM documents')
if [ "$AFTER" != "$BEFORE" ]; then
    echo "FAILED: ingesting the same again changed the documents: $BEFORE before, $AFTER now" >&2
    exit 1
fi

step 'Train a tokenizer on what was kept'
run tokenizer train "$CORPUS" "$TOKENIZER" --model bpe --vocab-size "$VOCABULARY"
say; say '  A document, tokens set apart by |:'
SAMPLE=$(value "SELECT id FROM documents WHERE kept AND tokens BETWEEN 60 AND 200 ORDER BY id LIMIT 1")
if [ -n "$SAMPLE" ]; then run show "$CORPUS" "$SAMPLE" --tokens; fi

step 'Ask questions'
run sql "$CORPUS" "SELECT source, count(*) AS documents, count(*) FILTER (WHERE kept) AS kept, sum(tokens) AS tokens \
FROM documents GROUP BY source ORDER BY source"
run count "$CORPUS" --where "kept AND tokens > $ROW"
run sql "$CORPUS" "SELECT cluster_size AS copies, source, id, key FROM documents WHERE kept ORDER BY copies DESC, id LIMIT 5"

step 'Plan an epoch: which documents, in which mix, packed how'
RECIPE=$DIR/recipe.toml
{
    printf 'version = 1\nseed = 42\n\n[tokenizer]\nname = "%s"\n' "$TOKENIZER"
    printf 'specials = { eos = "<|endoftext|>", pad = "<|endoftext|>" }\n\n'
    if [ "$KIND" = crates ]; then
        # Mostly code, and licences a little although there are few of them: share of all tokens, most passes.
        while read -r source weight passes; do
            if [ -d "$DIR/crawl-1/$source" ] || [ -d "$DIR/crawl-2/$source" ]; then
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
} > "$RECIPE"
say "  \$ cat $(quoted "$RECIPE")"
if [ -z "$JSON" ]; then sed 's/^/  /' "$RECIPE"; fi
run epoch plan "$CORPUS" "$RECIPE"

step 'Build it'
run epoch build "$CORPUS" "$RECIPE" --out "$DIR/epoch-0"

step 'Verify it: read the files back and compare them with the corpus'
run epoch verify "$CORPUS" "$DIR/epoch-0"

say; say "Done in $(($(date +%s) - BEGUN)) s. The corpus stays in $CORPUS. Try next:"; say
say '  # what the corpus holds'; show info "$CORPUS"
for document in $NEAR; do
    say '  # why one document was removed'; show show "$CORPUS" "$document"
    break
done
say '  # three short documents, the same three every time'
show sample "$CORPUS" -n 3 --seed 7 --where 'kept AND tokens < 300'
say '  # anything else, in SQL'; show sql "$CORPUS" 'SELECT standing, count(*) AS n FROM documents GROUP BY standing'
say '  # every setting and figure of the plan'; show epoch explain "$CORPUS" "$RECIPE" --settings
say '  # recompute everything that was derived from the documents, and compare'; show check "$CORPUS" --deep
say '  # the same with your own text'; show demo pages.jsonl.zst notes/ --dir my-demo
say; say "These commands stand in $DIR/demo.sh. To remove it all: rm -r $(quoted "$DIR")"
