//! Takedowns that are true: values in words, copies of a text, tables that were not rewritten, what the certificate searches.

use crate::support::epochs::EpochCorpus;
use crate::support::{
    Page, Random, WEB_BY_ID, assert_contains, corpusdb, corpusdb_test, digest, ingest, init, lines,
    numbers, prose, seeds, sound, sql,
};
use serde_json::{Value, json};
use std::process::Command;

/// Words of commits that have `what`.
fn words_with(corpus: &str, what: &str) -> u64 {
    let like = format!("reason ILIKE '%{what}%' OR condition ILIKE '%{what}%'");
    let rows = sql(corpus, &format!("SELECT count(*) AS n FROM commits WHERE {like}"));
    rows[0]["n"].as_u64().unwrap()
}

// The address stayed in reasons and conditions, and the certificate was clean.
corpusdb_test!(values_that_only_they_have_are_redacted_in_words, |scratch| {
    let who = "Rosalind.Plinkenburger@mail.example";
    let page = |at: usize, author: &str, city: &str| {
        let text = format!("page {at} tells of {} ships and ropes", at * 7919);
        json!({"id": format!("p{at}"), "text": text, "author": author, "of": {"city": city}, "phone": 4_915_112_345_678_u64 + at as u64}).to_string()
    };
    let pages = [
        page(0, who, "Oberursel-Nord"),
        page(1, "somebody@else.example", "Oberursel-Sued"),
        page(2, "somebody@else.example", "Ulm"),
    ];
    let file = scratch.write("pages.jsonl", pages.join("\n"));
    let ways: [(&str, &[&str], &str); 6] = [
        (
            "own condition",
            &["--where", "author = 'Rosalind.Plinkenburger@mail.example'"],
            "linkenburger",
        ),
        ("a part of it", &["--where", "author ILIKE '%plinkenburger%'"], "plinkenburger"),
        (
            "reason",
            &["p0", "--reason", "asked for by Rosalind.Plinkenburger@mail.example"],
            "linkenburger",
        ),
        ("earlier", &["p0"], "linkenburger"),
        ("nested", &["p0", "--reason", "of city 'Oberursel-Nord'"], "oberursel-nord"),
        ("number", &["p0", "--reason", "called from 4915112345678"], "4915112345678"),
    ];
    for (name, arguments, what) in &ways {
        let corpus = scratch.arg(&format!("corpus-{}", name.replace(' ', "-")));
        init(&corpus, &["--field", "author:keyword"]);
        ingest(&corpus, &[&file], &WEB_BY_ID);
        if *name == "earlier" {
            let condition = format!("author = '{who}'");
            corpusdb(&["remove", &corpus, "--where", &condition]).good();
            // Values that others have are nobody's secret.
            let reason = ["--reason", "asked for by somebody@else.example"];
            corpusdb(&[&["remove", &corpus, "p2"][..], &reason].concat()).good();
            corpusdb(&["restore", &corpus, "p2"]).good();
        }
        let proof = scratch.arg("proof.json");
        let purge = [&["purge", &corpus, "--force", "--prove", &proof][..], arguments].concat();
        corpusdb(&purge).good();
        assert_eq!(words_with(&corpus, what), 0, "{name}");
        assert_eq!(words_with(&corpus, "somebody@else"), u64::from(*name == "earlier"), "{name}");
        assert_eq!(sql(&corpus, "SELECT count(*) AS n FROM documents WHERE kept")[0]["n"], 2);
        sound(&corpus);
    }
});

corpusdb_test!(words_in_use_that_quote_a_value_are_named, EpochCorpus::holding(60), |place| {
    let corpus = place.corpus.clone();
    let line = json!({"id": "v", "text": "an unlike text of one author about harbours", "author": "rosalind@plinkenburger.example"});
    let file = place.scratch.write("v.jsonl", format!("{line}\n"));
    ingest(&corpus, &[&file], &WEB_BY_ID);
    corpusdb(&["field", "compute", &corpus, "is_hers", "meta LIKE '%rosalind@plinkenburger%'"])
        .good();
    corpusdb(&["purge", &corpus, "v"]).fails(&["the expression of field `is_hers`"]);
    corpusdb(&["purge", &corpus, "v", "--force"]).good();
    let fields = corpusdb(&["field", "show", &corpus, "--json"]).good();
    assert!(!fields.stdout.contains("rosalind"), "{fields}");
    sound(&corpus);
});

// A takedown asks for a text to be gone: others had it, and nobody was told.
corpusdb_test!(copies_of_a_text_are_counted_and_taken, |scratch, corpus| {
    let random = &mut Random::new(5);
    let text = prose(random, 1, 200);
    let mut near = text.clone();
    near.push_str(" and one more word");
    let mut pages = vec![
        Page::keyed("it", text.clone()),
        Page::keyed("same", text.clone()),
        Page::keyed("loud", text.to_uppercase()),
        Page::keyed("near", near),
    ];
    pages.extend((0..30).map(|at| Page::keyed(format!("other-{at}"), prose(random, 10 + at, 120))));
    let file = scratch.write("pages.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &WEB_BY_ID);
    let copies = |report: &Value| {
        let left = &report["copies_left"];
        ["same_bytes", "normalised", "near"].map(|name| left[name].as_u64().unwrap())
    };
    let tried = corpusdb(&["purge", &corpus, "it", "--dry-run", "--json"]).good().json();
    assert_eq!(copies(&tried), [1, 1, 1], "{tried}");
    assert_eq!(tried["copies_left"]["documents"], json!([1, 2, 3]));
    corpusdb(&["snapshot", "create", &corpus, "then"]).good();
    corpusdb(&["purge", &corpus, "it"])
        .fails(&["snapshot", "3 other documents hold their text too"]);
    let proof = scratch.arg("proof.json");
    let arguments = ["purge", &corpus, "it", "--no-block", "--force", "--prove", &proof];
    let first = corpusdb(&arguments).good();
    let line = first.stdout.lines().next().unwrap();
    assert_contains(
        line,
        &[
            "purged 1 document; 3 other documents hold their text or a near copy",
            "1 of the same bytes",
            "--copies",
        ],
    );
    let certificate: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    assert_eq!((&certificate["clean"], &certificate["copies_left"]), (&json!(true), &json!(1)));
    assert_eq!(certificate["copies"], json!([1]));
    let all =
        corpusdb(&["purge", &corpus, "same", "--copies", "--force", "--prove", &proof, "--json"]);
    let all = all.good();
    assert_contains(&all.stderr, &["--copies adds 2 documents: loud, near"]);
    let all = all.json();
    assert_eq!((all["purged"].as_u64(), copies(&all)), (Some(3), [0, 0, 0]), "{all}");
    let certificate: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    assert_eq!(certificate["copies_left"], 0);
    let losses = corpusdb(&["stats", &corpus, "--json"]).good().json()["losses"].clone();
    assert_eq!(numbers(&losses[0], ["purged", "unknown"]), [4, 0], "{losses}");
    assert_eq!(sql(&corpus, "SELECT count(*) AS n FROM documents WHERE kept")[0]["n"], 30);
    sound(&corpus);
});

/// Runs a script with a disk of its own, of 64 MB, at its first argument; none where that is not allowed.
fn on_disk(script: &str, arguments: &[&str]) -> Option<std::process::Output> {
    let mounted = format!("mount -t tmpfs -o size=64m none \"$1\" || exit 77\n{script}");
    let mut command = Command::new("unshare");
    let output = command.args(["-m", "sh", "-c", &mounted, "sh"]).args(arguments).output().ok()?;
    let words = String::from_utf8_lossy(&output.stderr);
    (output.status.code() != Some(77) && !words.contains("unshare")).then_some(output)
}

/// Purges two documents with little room, and once more with enough. Prints of both the exit status, whether the largest
/// table from before is there still, and whether the certificate is clean.
const PURGES: &str = r#"
cp -a "$2" "$1/c"
old=$(cd "$1/c/db" && ls -S *.sst | head -1); of=$(stat -c '%i %s' "$1/c/db/$old")
state() {
    left=no; [ -e "$1/c/db/$old" ] && [ "$(stat -c '%i %s' "$1/c/db/$old")" = "$of" ] && left=yes
    clean=no; grep -q '"clean": true' "$1/proof.json" 2>/dev/null && clean=yes; rm -f "$1/proof.json"
    echo "$2 $left $clean"
}
[ "$3" = 0 ] || dd if=/dev/zero of="$1/filler" bs=1024 count=$(( $(stat -f -c '%a * %S' "$1") / 1024 - $3 )) 2>/dev/null
( [ "$4" = 0 ] || ulimit -f "$4"; exec "$5" purge "$1/c" page-17 page-1017 --force --prove "$1/proof.json" ) >"$1/out" 2>&1
rc=$?; rm -f "$1/filler"; cat "$1/out" >&2
state "$1" $rc
"$5" purge "$1/c" page-17 page-1017 --force --prove "$1/proof.json" >"$1/out" 2>&1; rc=$?; cat "$1/out" >&2
state "$1" $rc
"#;

// RocksDB gives a compaction up for want of room and says nothing: the purge was clean, and the text lay in its table.
corpusdb_test!(a_purge_without_room_ends_when_it_has_some, |scratch, corpus| {
    let random = &mut Random::new(3);
    let text = |random: &mut Random, at: usize| {
        let words = (0..60).map(|_| format!("{:x}", random.between(0, usize::MAX >> 1)));
        format!("canary {at} {}", words.collect::<Vec<_>>().join(" "))
    };
    let pages: Vec<Page> =
        (0..1500).map(|at| Page::keyed(format!("page-{at}"), text(random, at))).collect();
    let file = scratch.write("pages.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &WEB_BY_ID);
    corpusdb(&["compact", &corpus]).good();
    let binary = env!("CARGO_BIN_EXE_corpusdb");
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let (disk, mut failed) = (scratch.arg("disk"), 0);
    let mut check = |output: std::process::Output| {
        let states = String::from_utf8_lossy(&output.stdout).into_owned();
        let words = String::from_utf8_lossy(&output.stderr);
        let (first, second) = states.trim().split_once('\n').unwrap_or_else(|| panic!("{words}"));
        // Either it says that it could not, or the table is gone.
        assert!(
            first == "0 no yes" || first.starts_with("2 ") && first.ends_with(" no"),
            "{first}: {words}"
        );
        failed += u32::from(first.starts_with('2'));
        assert_eq!(second, "0 no yes", "{words}");
    };
    let mut is_mounted = true;
    let few = [400, 900, 1500, 2500, 6000];
    let more = (few.len() as u64..seeds(few.len() as u64)).map(|at| 100 + at * 37 % 3000);
    let rooms = few.into_iter().chain(more);
    for room in rooms {
        let Some(output) = on_disk(PURGES, &[&disk, &corpus, &room.to_string(), "0", binary])
        else {
            is_mounted = false;
            break;
        };
        check(output);
    }
    println!("a disk of its own could be mounted: {is_mounted}");
    for limit in ["300", "900", "1500"] {
        let there = scratch.arg(&format!("limit-{limit}"));
        std::fs::create_dir(&there).unwrap();
        let mut command = Command::new("sh");
        command.args(["-c", PURGES, "sh", &there, &corpus, "0", limit, binary]);
        check(command.output().unwrap());
    }
    assert!(failed >= 2, "there was room always");
});

corpusdb_test!(a_certificate_searches_the_tables_that_are_there, |scratch, corpus| {
    let pages: Vec<Page> = (0..40)
        .map(|at| Page::keyed(format!("page-{at}"), prose(&mut Random::new(at), 1, 60)))
        .collect();
    let file = scratch.write("pages.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &WEB_BY_ID);
    corpusdb(&["compact", &corpus]).good();
    // A copy that somebody left below the corpus.
    let table = crate::support::paths_below(std::path::Path::new(&corpus));
    let table = table.iter().find(|path| path.extension().is_some_and(|end| end == "sst")).unwrap();
    let other = std::path::Path::new(&corpus).join("kept-000001.sst");
    std::fs::copy(table, &other).unwrap();
    let proof = scratch.arg("proof.json");
    let prove = |arguments: &[&str]| {
        let all = [&["purge", &corpus][..], arguments, &["--prove", &proof, "--json"]].concat();
        let ran = corpusdb(&all);
        let found: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
        (ran.code, found)
    };
    let (code, found) = prove(&["page-3"]);
    assert_eq!((code, &found["other_tables"]), (Some(1), &json!(["kept-000001.sst"])), "{found}");
    std::fs::remove_file(other).unwrap();
    let (code, found) = prove(&[]);
    assert_eq!((code, &found["clean"]), (Some(0), &json!(true)));
    // What came since hides nothing from it.
    let more: Vec<Page> = (0..40)
        .map(|at| Page::keyed(format!("page-{at}"), format!("new {at} {}", at * 77)))
        .collect();
    let file = scratch.write("more.jsonl", lines(&more));
    ingest(&corpus, &[&file], &WEB_BY_ID);
    let (code, found) = prove(&[]);
    assert_eq!(code, Some(0));
    let texts = found["families"].as_array().unwrap();
    for family in
        texts.iter().filter(|family| family["name"] == "text_pages" || family["name"] == "keys")
    {
        assert_eq!(family["rows"], family["entries"], "{family}");
    }
    // Of a restored corpus it names that one.
    let (backups, again) = (scratch.arg("backups"), scratch.arg("again"));
    corpusdb(&["backup", "create", &corpus, &backups]).good();
    corpusdb(&["backup", "restore", &backups, &again]).good();
    assert_eq!(digest(&again), digest(&corpus));
    corpusdb(&["purge", &again, "--prove", &proof]).good();
    let restored: Value = serde_json::from_slice(&std::fs::read(&proof).unwrap()).unwrap();
    assert!(restored["corpus"] != found["corpus"] && restored["corpus"].is_string());
    sound(&again);
});

// Nobody could tell which backups still had what was purged, and a restored one brought it back in silence.
corpusdb_test!(backups_from_before_a_purge_say_so, |scratch, corpus| {
    let pages: Vec<Page> = (0..9)
        .map(|at| Page::keyed(format!("page-{at}"), format!("page {at} of {}", at * 7919)))
        .collect();
    let file = scratch.write("pages.jsonl", lines(&pages));
    ingest(&corpus, &[&file], &WEB_BY_ID);
    let (backups, early) = (scratch.arg("backups"), scratch.arg("early"));
    let create = || corpusdb(&["backup", "create", &corpus, &backups, "--json"]).good().json();
    let first = create()["commit"].as_u64().unwrap().to_string();
    let since = || {
        let list = corpusdb(&["backup", "show", &backups, "--json"]).good().json_lines();
        list.iter().map(|backup| backup["purged_since"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    corpusdb(&["purge", &corpus, "3", "4", "7"]).good();
    // The place knows of it with the next backup.
    assert_eq!(since(), [0]);
    create();
    corpusdb(&["purge", &corpus, "1"]).good();
    create();
    assert_eq!(since(), [4, 1, 0]);
    corpusdb(&["backup", "show", &backups]).good().prints(&["purged since"]);
    let restore = ["backup", "restore", &backups, &early, "--id", &first];
    let noted = corpusdb(&restore).good();
    assert_contains(&noted.stderr, &["4 documents are there again", "(ids 1, 3, 4, 7)"]);
    let again = scratch.arg("again");
    let repeat = ["backup", "restore", &backups, &again, "--id", &first, "--repeat-purges"];
    corpusdb(&repeat).good().prints(&["4 documents are purged again"]);
    let purged = |corpus: &str| sql(corpus, "SELECT id FROM documents WHERE standing = 'purged'");
    assert_eq!((purged(&early).len(), purged(&again)), (0, purged(&corpus)));
    sound(&again);
    // The newest has nothing to repeat.
    let newest = scratch.arg("newest");
    let ran = corpusdb(&["backup", "restore", &backups, &newest, "--repeat-purges"]).good();
    assert!(!ran.stdout.contains("purged again") && ran.stderr.is_empty(), "{ran}");
    assert_eq!(digest(&newest), digest(&corpus));
});
