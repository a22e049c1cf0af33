//! Sources get other names: everything that is hashed with the name, or spells it, goes along.

use crate::support::epochs::EpochCorpus;
use crate::support::{
    Page, Random, corpusdb, corpusdb_test, digest, ingest, init, lines, prose, sound, sql,
};
use serde_json::{Value, json};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

fn count(corpus: &str, condition: &str) -> u64 {
    let statement = format!("SELECT count(*) AS n FROM documents WHERE {condition}");
    sql(corpus, &statement)[0]["n"].as_u64().unwrap()
}

fn numbers(report: &Value, names: &[&str]) -> Vec<u64> {
    names.iter().map(|name| report[name].as_u64().unwrap_or_else(|| panic!("{report}"))).collect()
}

/// Ranked by the name, with versions, rejects, documents without keys, blocks by key, and a file whose name is no UTF-8.
fn fill(corpus: &str, folder: &Path, source: &str) {
    let order = format!("source-priority:{source},other");
    init(corpus, &["--keep", &order]);
    for (file, named) in [("first", true), ("second", true), ("plain", false)] {
        let path = folder.join(format!("{file}.jsonl"));
        let with_id: &[&str] = if named { &["--id-field", "id"] } else { &[] };
        let more = [&["--source", source], with_id].concat();
        ingest(corpus, &[path.to_str().unwrap()], &more);
    }
    let odd = folder.join("odd");
    ingest(corpus, &[odd.to_str().unwrap()], &["--source", source]);
    ingest(corpus, &[folder.join("first.jsonl").to_str().unwrap()], &["--source", "other"]);
    let condition = format!("source = '{}' AND key = 'k-7'", source.replace('\'', "''"));
    corpusdb(&["remove", corpus, "--where", &condition]).good();
}

fn write_files(folder: &Path) {
    std::fs::create_dir_all(folder.join("odd")).unwrap();
    let random = &mut Random::new(11);
    let page = |random: &mut Random, at: u64| Page::keyed(format!("k-{at}"), prose(random, 1, 60));
    let first: Vec<Page> = (0..30).map(|at| page(random, at)).collect();
    let second: Vec<Page> = (20..50).map(|at| page(random, at)).collect();
    let broken = |pages: &[Page]| lines(pages) + "{\"id\": \"bad\", \"text\": \n";
    std::fs::write(folder.join("first.jsonl"), broken(&first)).unwrap();
    std::fs::write(folder.join("second.jsonl"), broken(&second)).unwrap();
    let plain = (0..9).map(|_| json!({"text": prose(random, 1, 60)}).to_string() + "\n");
    std::fs::write(folder.join("plain.jsonl"), plain.collect::<String>()).unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"odd-\xff.jsonl");
    let text = json!({"text": prose(random, 1, 60)}).to_string() + "\nno json\n";
    std::fs::write(folder.join("odd").join(odd), text).unwrap();
}

// Identities are hashed with the name: without them all that comes again would be new, and what was removed would come in.
corpusdb_test!(a_renamed_source_is_as_if_it_came_so, |scratch| {
    let [renamed, named, folder] = ["renamed", "named", "in"].map(|name| scratch.arg(name));
    let folder = Path::new(&folder);
    write_files(folder);
    fill(&renamed, folder, "ann's blog");
    fill(&named, folder, "a blog");
    let before = digest(&renamed);
    let rename = ["source", "rename", &renamed, "ann's blog", "a blog"];
    let tried = corpusdb(&[&rename[..], &["--dry-run"]].concat()).good();
    tried.prints(&["the source would be renamed to a blog: 70 documents, 3 rejects"]);
    assert_eq!(digest(&renamed), before);
    let report = corpusdb(&[&rename[..], &["--json"]].concat()).good().json();
    assert_eq!(numbers(&report, &["documents", "rejects", "lifted"]), [70, 3, 0]);
    assert_eq!(digest(&renamed), digest(&named));
    sound(&renamed);
    // Nothing that a statement shows has the old name.
    for table in ["sources", "commits", "rejects", "removals"] {
        let rows = Value::Array(sql(&renamed, &format!("SELECT * FROM {table}")));
        assert!(!rows.to_string().contains("ann"), "{table}: {rows}");
    }
    let rejects = corpusdb(&["rejects", &renamed, "--list"]).good();
    assert_eq!(rejects.stdout, corpusdb(&["rejects", &named, "--list"]).good().stdout);
    assert!(!corpusdb(&["info", &renamed, "--json"]).good().stdout.contains("ann"));
    // What comes again is known, what was removed stays out.
    for corpus in [&renamed, &named] {
        for (file, with_id) in [("first", true), ("second", true), ("plain", false), ("odd", false)]
        {
            let path =
                folder.join(if file == "odd" { file.into() } else { format!("{file}.jsonl") });
            let with_id: &[&str] = if with_id { &["--id-field", "id"] } else { &[] };
            let more = [&["--source", "a blog", "--reread"], with_id].concat();
            let report = ingest(corpus, &[path.to_str().unwrap()], &more);
            let added = report["kept"].as_u64().unwrap();
            assert!(file != "plain" && file != "odd" || added == 0, "{file}: {report}");
        }
    }
    assert_eq!(digest(&renamed), digest(&named));
    sound(&renamed);
    let changed = scratch.write("changed.jsonl", "{\"id\": \"k-7\", \"text\": \"another text\"}\n");
    let more = ["--source", "a blog", "--id-field", "id"];
    let report = ingest(&renamed, &[&changed], &more);
    assert_eq!(report["kept"], 0, "blocked by key: {report}");
    // A source that takes the old name has none of it.
    let more = ["--source", "ann's blog", "--id-field", "id"];
    let report = ingest(&renamed, &[&changed], &more);
    assert_eq!(report["kept"], 1, "{report}");
    sound(&renamed);
});

corpusdb_test!(
    a_rename_that_something_hinders_changes_nothing,
    EpochCorpus::holding(60),
    |place| {
        let corpus = place.corpus.clone();
        let rename = |old: &str, new: &str| corpusdb(&["source", "rename", &corpus, old, new]);
        rename("boks", "b").fails(&["no source `boks`", "books"]);
        rename("books", "books").fails(&["source `books` exists already"]);
        rename("books", "").fails(&["source name \"\""]);
        rename("books", "a\nb").fails(&["control characters"]);
        let literal = "CASE WHEN source = 'books' THEN 1 ELSE 0 END";
        corpusdb(&["field", "compute", &corpus, "is_book", literal]).good();
        rename("books", "b").fails(&["the expression of field `is_book`", "field drop"]);
        corpusdb(&["field", "drop", &corpus, "is_book"]).good();
        let before = digest(&corpus);
        place.recipe("plan", "[[source]]\nname = \"mine\"\nfrom = \"b*\"\n", &[]).good();
        rename("books", "b").fails(&["plan 1 draws from source `books`", "epoch drop"]);
        corpusdb(&["epoch", "drop", &corpus, "1"]).good();
        assert_eq!(digest(&corpus), before);
        rename("books", "b").good();
        sound(&corpus);
        let ranked = place.scratch.arg("ranked");
        init(&ranked, &["--keep", "source-priority:a,b"]);
        let file = place.scratch.write("one.jsonl", "{\"id\": \"1\", \"text\": \"one text\"}\n");
        ingest(&ranked, &[&file], &["--source", "a", "--id-field", "id"]);
        corpusdb(&["source", "rename", &ranked, "a", "b"]).fails(&["another rank"]);
        corpusdb(&["source", "rename", &ranked, "a", "x,y"]).fails(&["without a comma"]);
        corpusdb(&["source", "rename", &ranked, "a", "x"]).good();
        let policy = corpusdb(&["info", &ranked, "--settings"]).good();
        assert!(policy.stdout.contains("source-priority:x,b"), "{policy}");
    }
);

// A key that was purged is nowhere: its block cannot follow, and nobody was to lose it without a word.
corpusdb_test!(purged_keys_block_under_the_new_name_or_refuse_it, |scratch| {
    let who = "ann.plinkenburger";
    let page = |at: u64| Page::keyed(format!("https://{who}/{at}"), format!("page {at} of {at}9"));
    let pages: Vec<Page> = (0..9).map(page).collect();
    let again = (0..9).map(|at| Page::keyed(format!("https://{who}/{at}"), format!("new {at}")));
    let again = scratch.write("again.jsonl", lines(&again.collect::<Vec<_>>()));
    let file = scratch.write("pages.jsonl", lines(&pages));
    let (early, late) = (scratch.arg("early"), scratch.arg("late"));
    for corpus in [&early, &late] {
        init(corpus, &[]);
        ingest(corpus, &[&file], &["--source", who, "--id-field", "id"]);
    }
    let proof = scratch.arg("proof.json");
    // Before the purge everything follows, and afterwards the name is nowhere on the disk.
    corpusdb(&["source", "rename", &early, who, "a"]).good();
    corpusdb(&["purge", &early, "1", "2"]).good();
    let report = ingest(&early, &[&again], &["--source", "a", "--id-field", "id"]);
    assert_eq!(report["kept"], 7, "{report}");
    assert_eq!(count(&early, "kept"), 7);
    corpusdb(&["purge", &early, "--where", "true"]).good();
    corpusdb(&["purge", &early, "--prove", &proof]).good();
    for path in crate::support::paths_below(Path::new(&early)) {
        let Ok(bytes) = std::fs::read(&path) else { continue };
        let has = bytes.windows(who.len()).any(|window| window == who.as_bytes());
        assert!(!has, "{}", path.display());
    }
    // Behind it: told, refused, given up by force; what blocks by text holds.
    corpusdb(&["purge", &late, "1", "2"]).good();
    let rename = ["source", "rename", &late, who, "a"];
    let told = ["2 purged documents block records of source", "before a purge", "--force"];
    corpusdb(&rename).fails(&told);
    corpusdb(&[&rename[..], &["--dry-run"]].concat()).fails(&told);
    let report = corpusdb(&[&rename[..], &["--force", "--json"]].concat()).good().json();
    assert_eq!(report["lifted"], 2);
    let report = ingest(&late, &[&file], &["--source", "a", "--id-field", "id", "--reread"]);
    assert_eq!(numbers(&report, &["kept", "purged"]), [0, 2], "by text: {report}");
    let report = ingest(&late, &[&again], &["--source", "a", "--id-field", "id"]);
    assert_eq!(report["kept"], 9, "{report}");
    sound(&late);
});

// The name of a source was who asked to be erased: the certificate found it, and nobody said what mends it.
corpusdb_test!(names_that_hold_a_value_are_listed_with_a_verb, |scratch| {
    let (who, corpus) = ("ann.plinkenburger", scratch.arg("corpus"));
    let page = |at: u64| {
        let author =
            if at < 3 { format!("{who}@mail.example") } else { "others@mail.example".into() };
        json!({"id": format!("p-{at}"), "text": format!("page {at} of {at}7"), "author": author})
            .to_string()
    };
    let folder = scratch.path("others@mail.example");
    std::fs::create_dir(&folder).unwrap();
    let lines = |of: std::ops::Range<u64>| of.map(|at| page(at) + "\n").collect::<String>();
    init(&corpus, &[]);
    for (name, of) in [(who, 0..3), ("others@mail.example", 3..6)] {
        let file = folder.join(format!("{}@mail.example.jsonl", name.replace("@mail.example", "")));
        std::fs::write(&file, lines(of)).unwrap();
        ingest(&corpus, &[file.to_str().unwrap()], &["--source", name, "--id-field", "id"]);
    }
    corpusdb(&["snapshot", "create", &corpus, "before Ann.Plinkenburger@mail.example"]).good();
    let erase = ["purge", &corpus, "p-0", "p-1", "p-2"];
    corpusdb(&erase).fails(&["name of source `ann.plinkenburger`", "`corpusdb source rename`"]);
    let left = |ran: &Value| {
        let names = ran["names_left"].as_array().unwrap_or_else(|| panic!("{ran}"));
        names.iter().map(|name| name["of"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let tried = corpusdb(&[&erase[..], &["--force", "--dry-run", "--json"]].concat()).good().json();
    assert_eq!(left(&tried), ["source", "snapshot", "file"]);
    assert_eq!(tried["names_left"][0]["verb"], "source rename");
    // Of one of them alone others have the value.
    let one = ["purge", &corpus, "p-0", "--force", "--dry-run", "--json"];
    assert_eq!(left(&corpusdb(&one).good().json()), [""; 0]);
    corpusdb(&["source", "rename", &corpus, who, "a"]).good();
    let to = ["before Ann.Plinkenburger@mail.example", "before"];
    corpusdb(&[&["snapshot", "rename", &corpus][..], &to].concat()).good();
    let done = corpusdb(&[&erase[..], &["--force", "--json"]].concat()).good().json();
    assert_eq!(left(&done), ["file"]);
    sound(&corpus);
    // What the certificate finds in a name comes with its verb.
    let late = scratch.arg("late");
    init(&late, &[]);
    let file = scratch.write("late.jsonl", lines(0..3));
    ingest(&late, &[&file], &["--source", "ann.plinkenburger@mail.example", "--id-field", "id"]);
    let proof = scratch.arg("proof.json");
    let prove = ["purge", &late, "p-0", "p-1", "p-2", "--prove", &proof];
    let ran = corpusdb(&prove);
    assert_eq!(ran.code, Some(1), "{ran}");
    ran.prints(&["`corpusdb source rename` mends what holds some of these"]);
    let rename = ["source", "rename", &late, "ann.plinkenburger@mail.example", "a", "--force"];
    corpusdb(&rename).good();
    let ran = corpusdb(&["purge", &late, "--prove", &proof]).good();
    ran.prints(&["no trace of them is left"]);
});
