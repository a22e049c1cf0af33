//! Rejects: records that cannot be read are set aside once and settled later; damaged files are errors.

use crate::support::{
    MEMORY, Page, Random, TestDir, WEB_BY_ID, command, corpusdb, corpusdb_reading, corpusdb_test,
    crawl, digest, gzip, ingest, init, lines, numbers, parquet_of_pages, ran, reader, repository,
    seeds, sound, sound_digest, sql, zstd,
};
use corpusdb::ingest::ReadOptions;
use corpusdb::{Context, Corpus, DedupMode, IngestOptions, IngestReport, Policy};
use serde_json::Value;
use std::path::Path;

// ----
// Rejects: set aside once, settled when their record can be read, and the accounts of what was read.

/// Every stored reject as source, path, number, offset, reason and raw bytes, in order.
type Told = (String, String, u64, u64, String, Vec<u8>);

fn rejects(corpus: &Corpus) -> Vec<Told> {
    let all = corpus.rejects(usize::MAX).unwrap().map(Result::unwrap);
    all.map(|it| (it.source, it.path, it.number, it.offset, it.reason, it.raw)).collect()
}

fn listed(corpus: &str) -> Vec<Value> {
    corpusdb(&["rejects", corpus, "--json"]).good().json_lines()
}

const COUNTS: [&str; 5] = ["added", "unchanged", "rejected", "rejected_before", "rejects_settled"];

/// A record `number` with enough words of its own.
fn record(number: u64) -> String {
    let words: Vec<String> = (0..12).map(|at| format!("w{}", number * 7919 + at * at)).collect();
    format!("{{\"id\":\"k{number}\",\"text\":\"{}\"}}\n", words.join(" "))
}

// ---- settling ----

/// The words of a reason are those of the reader: each that does not say the way out gets one.
#[test]
fn reasons_are_counted_and_get_a_way_out() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let long = record(9).replace("k9", &"k".repeat(9000));
    let mut bytes: Vec<u8> =
        (0..3).flat_map(|at| format!("{{\"id\": 1{at}}}\n").into_bytes()).collect();
    let lines = ["{\"id\":1,\"text\":5}", "{\"text\":\"no id\"}", "cut", "\"cut", long.trim_end()];
    bytes.extend(lines.join("\n").bytes());
    bytes.extend(b"\n{\"id\":2,\"text\":\"a\xff\"}\n{\"id\":3,\"text\":\"ab\xff\"}\n");
    scratch.write("a.jsonl", bytes);
    let with = ["ingest", &corpus, "a.jsonl", "--source", "web", "--id-field", "id"];
    let with = [&with[..], &["--max-doc-bytes", "2kB"]].concat();
    command(&with).current_dir(&scratch.root).output().unwrap();
    let asked = ["rejects", &corpus];
    let shown = command(&asked).current_dir(&scratch.root).output().unwrap();
    let shown = ran(&asked, shown).good().stdout;
    let blocks: Vec<&str> = shown.split("\n\n").collect();
    let head = "10 rejected records, 7 reasons; `--list` shows each record";
    assert_eq!(blocks[0], head, "{shown}");
    assert!(blocks[1..].iter().all(|block| block.trim_end().lines().count() == 3), "{shown}");
    assert!(blocks[1].starts_with("3  no text: field `text` is absent or null\n"), "{shown}");
    let first = "   a.jsonl: record 0 (counted from 0, byte 0, source web): {\"id\": 10}\n";
    assert!(blocks[1].contains(first) && blocks[1].contains("--text-field"), "{shown}");
    assert!(blocks[2].starts_with("2  invalid UTF-8 at byte N of the record\n"), "{shown}");
    for way in ["--id-field", "iconv", "--format", "--max-doc-bytes"] {
        assert!(shown.contains(way), "{way}: {shown}");
    }
    let every = corpusdb(&["rejects", &corpus, "--list"]).good().stdout;
    assert_eq!(every.lines().count(), 10, "{every}");
    assert_eq!(corpusdb(&["rejects", &corpus, "--limit", "2"]).good().stdout.lines().count(), 2);
}

// One typo in `--id-field` left a reject a record for ever.
corpusdb_test!(a_right_ingest_of_a_file_settles_the_rejects_of_a_wrong_one, |scratch, corpus| {
    let file = scratch.write("a.jsonl", (0..300).map(record).collect::<String>());
    let other = scratch.write("b.jsonl", "bad\n");
    let wrong = |field: &str| {
        let with = ["--source", "web", "--id-field", field, "--batch-bytes", "2kB", "--json"];
        let ran = corpusdb(&[&["ingest", &corpus, &file][..], &with].concat());
        assert_eq!(ran.code, Some(1), "{ran}");
        ran.json()
    };
    corpusdb(&["ingest", &corpus, &other, "--source", "web", "--json"]);
    assert_eq!(numbers(&wrong("doc_id"), COUNTS), [0, 0, 300, 0, 0]);
    // Another mistake has another reason, and is no other reject.
    assert_eq!(numbers(&wrong("idd"), COUNTS), [0, 0, 0, 300, 0]);
    assert!(listed(&corpus)[7]["reason"].as_str().unwrap().contains("`idd`"));
    // The same file under another source has rejects of its own.
    let with = ["--source", "books", "--id-field", "doc_id"];
    corpusdb(&[&["ingest", &corpus, &file][..], &with].concat());
    assert_eq!(listed(&corpus).len(), 601);
    let right = ["--source", "web", "--id-field", "id", "--batch-bytes", "2kB"];
    let report = ingest(&corpus, &[&file], &right);
    assert_eq!(numbers(&report, COUNTS), [300, 0, 0, 0, 300]);
    assert!(report["commits"].as_u64().unwrap() > 3);
    let left = listed(&corpus);
    let of = |source: &str| left.iter().filter(|it| it["source"] == source).count();
    let found = (of("web"), of("books"));
    assert_eq!(found, (1, 300), "the reject of the other file, and those of the other source");
    assert_eq!(corpusdb(&["info", &corpus, "--json"]).good().json()["rejects"], 301);
    sound(&corpus);
});

corpusdb_test!(torn_records_of_a_growing_file_are_settled_when_whole, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let whole: String = (0..5).map(record).collect();
    let first = record(0).len();
    // The last line is torn at three places, then whole, then one behind it is torn.
    for (to, rejected) in [(first + 20, 1), (first + 40, 1), (first * 2 + 10, 1), (whole.len(), 0)]
    {
        scratch.ingest(&corpus, "log.jsonl", &whole[..to], &WEB_BY_ID);
        let left = listed(&corpus);
        assert!(left.len() <= rejected, "{left:?} of {to} bytes");
        let torn = whole[..to].rfind('\n').map_or(0, |at| at + 1);
        assert!(left.iter().all(|it| it["raw"] == whole[torn..to]), "{left:?} of {to} bytes");
    }
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout, "5\n");
    sound(&corpus);
});

corpusdb_test!(rejects_are_settled_by_their_own_file_alone, |scratch, corpus| {
    let with = ["--source", "web"];
    let bad = format!("{}bad one\n{}bad two\nbad three\n", record(1), record(2));
    let file = scratch.write("a.jsonl", &bad);
    assert_eq!(numbers(&ingest(&corpus, &[&file], &with), COUNTS), [2, 0, 3, 0, 0]);
    // Mended in place: the others come again, each as one row.
    let mended = bad.replace("bad one\n", &record(3));
    scratch.write("a.jsonl", &mended);
    assert_eq!(numbers(&ingest(&corpus, &[&file], &with), COUNTS), [1, 2, 0, 2, 1]);
    // Read again as it is, nothing happens.
    let report = ingest(&corpus, &[&file], &["--source", "web", "--reread"]);
    assert_eq!(numbers(&report, COUNTS), [0, 3, 0, 2, 0]);
    // One becomes a record that does not come in; with another condition the file is read from its start.
    scratch.write("a.jsonl", mended.replace("bad two\n", "{\"text\":\"out\",\"n\":1}\n"));
    let report = ingest(&corpus, &[&file], &["--source", "web", "--where", "text <> 'out'"]);
    assert_eq!(numbers(&report, COUNTS), [0, 3, 0, 1, 1]);
    assert_eq!(report["filtered"], 1);
    // What comes by a pipe is no file that was replaced.
    corpusdb_reading(&["ingest", &corpus, "-", "--source", "web"], b"{\"text\":5}\n");
    corpusdb_reading(&["ingest", &corpus, "-", "--source", "web"], record(8).as_bytes()).good();
    let reasons = |raw: &str| listed(&corpus).iter().filter(|it| it["raw"] == raw).count();
    assert_eq!((reasons("bad three"), reasons("{\"text\":5}"), listed(&corpus).len()), (1, 1, 2));
    // The file shrinks, and is empty at last.
    scratch.write("a.jsonl", record(1));
    assert_eq!(numbers(&ingest(&corpus, &[&file], &with), COUNTS), [0, 1, 0, 0, 1]);
    scratch.write("a.jsonl", format!("{}worse\n", record(1)));
    ingest(&corpus, &[&file], &with);
    scratch.write("a.jsonl", "");
    assert_eq!(numbers(&ingest(&corpus, &[&file], &with), COUNTS), [0, 0, 0, 0, 1]);
    assert_eq!(listed(&corpus).len(), 1);
    let before = digest(&corpus);
    assert_eq!(ingest(&corpus, &[&file], &with)["commits"], 0);
    assert_eq!(digest(&corpus), before);
    sound(&corpus);
});

/// Names that are no UTF-8 look alike among rejects.
#[test]
#[cfg(target_os = "linux")]
fn files_whose_names_look_alike_settle_their_own_rejects() {
    use std::os::unix::ffi::OsStringExt;
    let scratch = TestDir::new();
    let corpus = scratch.path("corpus");
    let names = [b"a\xff.jsonl".to_vec(), b"a\xfe.jsonl".to_vec()];
    let files = names.map(|name| scratch.path("in").join(std::ffi::OsString::from_vec(name)));
    std::fs::create_dir(scratch.path("in")).unwrap();
    for file in &files {
        std::fs::write(file, format!("bad {}\n{}", file.as_os_str().len(), record(1))).unwrap();
    }
    Corpus::init(&corpus, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
    let mut writer = Corpus::options().memory(MEMORY).threads(1).open_writer(&corpus).unwrap();
    let mut pour = || {
        let paths = [scratch.arg("in")];
        let options = IngestOptions { ..IngestOptions::new("web") };
        writer.ingest(&paths, &options, &Context::new()).unwrap()
    };
    assert_eq!(pour().rejected, 2);
    std::fs::write(&files[0], format!("{}{}", record(2), record(1))).unwrap();
    let report = pour();
    assert_eq!((report.rejects_settled, report.rejected), (1, 0));
    assert_eq!(rejects(&reader(&corpus)).len(), 1);
    std::fs::write(&files[1], format!("{}{}", record(2), record(1))).unwrap();
    assert_eq!(pour().rejects_settled, 1);
    assert!(rejects(&reader(&corpus)).is_empty());
}

// ---- laws over histories ----

/// A record that can be read in some way or other, or not.
fn some_line(random: &mut Random) -> String {
    match random.below(10) {
        0 => format!("torn {}\n", random.below(3)),
        1 => format!("{{\"id\":\"\",\"text\":\"without id {}\"}}\n", random.below(4)),
        2 => format!("{{\"id\":\"k{}\"}}\n", random.below(20)),
        3 => format!("{{\"id\":\"f{}\",\"text\":\"left out\",\"out\":1}}\n", random.below(9)),
        _ => record(random.below(30) as u64),
    }
}

/// What a file says next: more, less, something else in one place, or the same.
fn change(random: &mut Random, lines: &mut Vec<String>) {
    match random.below(6) {
        0 => lines.truncate(random.below(lines.len() + 1)),
        1 => *lines = (0..random.below(30)).map(|_| some_line(random)).collect(),
        2 | 3 if !lines.is_empty() => {
            let at = random.below(lines.len());
            lines[at] = some_line(random);
        }
        4 => {}
        _ => lines.extend((0..random.between(1, 12)).map(|_| some_line(random))),
    }
}

fn assert_balance(report: &IngestReport, told: &str) {
    let IngestReport { read, added, unchanged, unchanged_unread, .. } = report;
    let IngestReport { purged, rejected, rejected_before, filtered, .. } = report;
    let counted =
        added + (unchanged - unchanged_unread) + purged + rejected + rejected_before + filtered;
    assert_eq!(*read, counted, "{told}: {report:?}");
}

fn corpus_at(path: &Path) -> corpusdb::CorpusWriter {
    Corpus::init(path, &Policy::new(DedupMode::Exact, 0.8).unwrap(), &[]).unwrap();
    Corpus::options().memory(MEMORY).threads(1).open_writer(path).unwrap()
}

/// Whatever files said before: the rejects are those of their last states, and every record read is counted once.
#[test]
fn rejects_are_those_of_the_last_read_after_any_history() {
    for seed in 0..seeds(5) {
        let mut random = Random::new(seed + 1);
        let scratch = TestDir::new();
        let mut writer = corpus_at(&scratch.path("corpus"));
        let mut files: Vec<Vec<String>> = vec![Vec::new(); 4];
        // How each file was read last, and what it said then.
        let mut last: Vec<Option<(IngestOptions, String)>> = vec![None; 4];
        for step in 0..8 {
            let which: Vec<usize> = (0..4).filter(|_| random.chance(60)).collect();
            for at in &which {
                change(&mut random, &mut files[*at]);
                let torn = random.chance(20);
                let mut text = files[*at].concat();
                text.truncate(
                    text.len() - usize::from(torn && !text.is_empty()) * 3.min(text.len()),
                );
                scratch.write(&format!("in/{at}.jsonl"), &text);
            }
            let id_field =
                random.chance(70).then(|| random.pick(&["id", "id", "id", "key"]).to_string());
            let text_field = Some("text".to_owned());
            let options = IngestOptions {
                read: ReadOptions { id_field, text_field, ..ReadOptions::default() },
                batch_bytes: *random.pick(&[1, 300, 1 << 20]),
                reread: random.chance(20),
                condition: random.chance(40).then(|| "text <> 'left out'".to_owned()),
                ..IngestOptions::new("web")
            };
            let paths: Vec<String> =
                which.iter().map(|at| scratch.arg(&format!("in/{at}.jsonl"))).collect();
            let told = format!("seed {seed}, step {step}");
            let report = writer.ingest(&paths, &options, &Context::new()).unwrap();
            assert_balance(&report, &told);
            for (at, path) in which.iter().zip(&paths) {
                last[*at] = Some((options.clone(), std::fs::read_to_string(path).unwrap()));
            }
            if step % 4 != 3 {
                continue;
            }
            // A fresh ingest of every file, as it was read last.
            let mut again = corpus_at(&scratch.path(&format!("fresh-{step}")));
            for (at, state) in last.iter().enumerate() {
                let Some((options, text)) = state else { continue };
                let path = scratch.write(&format!("in/{at}.jsonl"), text);
                let report = again.ingest(&[path], options, &Context::new()).unwrap();
                assert_balance(&report, &told);
            }
            let corpus = writer.corpus();
            assert_eq!(rejects(&corpus), rejects(&again.corpus()), "{told}");
            assert_eq!(corpus.view().state().rejects, rejects(&corpus).len() as u64, "{told}");
        }
        drop(writer);
        sound_digest(&reader(&scratch.path("corpus")));
    }
}

// ---- too many ----

/// Records of which every `nth` is bad in that way.
fn with_every(nth: u64, bad: &str, count: u64) -> String {
    (0..count).map(|at| if at % nth == 0 { format!("{bad}\n") } else { record(at) }).collect()
}

corpusdb_test!(a_batch_with_which_too_many_records_are_rejected_is_refused, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    let many = scratch.write("many.jsonl", with_every(5, "{\"text\":\"no id\",\"uid\":7}", 3000));
    let few = scratch.write("few.jsonl", with_every(5, "bad", 20));
    let with = ["--source", "web", "--id-field", "id", "--batch-bytes", "4kB"];
    let limited = |file: &str, share: &str| {
        corpusdb(&[&["ingest", &corpus, file][..], &with, &["--max-rejected", share]].concat())
    };
    // All are read before there are a thousand.
    limited(&few, "0.1").fails(&["4 of 20 records", "not a JSON object", "nothing of this ingest"]);
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout, "0\n");
    assert!(listed(&corpus).is_empty());
    let ran = limited(&many, "0.1").fails(&[
        "more than the share of 0.1",
        "id field `id` is missing in",
        "is it one of `uid`?",
        "corpusdb remove CORPUS --where",
    ]);
    let stored: u64 = corpusdb(&["count", &corpus]).good().stdout.trim().parse().unwrap();
    assert!((1..1000).contains(&stored), "{stored} documents of earlier batches stay: {ran}");
    limited(&many, "0.21").good();
    assert_eq!(listed(&corpus).len(), 600);
    corpusdb(&["ingest", &corpus, &few, "--source", "web", "--max-rejected", "1.2"])
        .fails(&["not between 0 and 1"]);
    sound(&corpus);
});

corpusdb_test!(many_rejects_and_missing_ids_raise_an_alarm, |scratch| {
    let alarms = |name: &str, lines: String, id_field: &str| {
        let corpus = scratch.arg(&format!("{name}.corpus"));
        init(&corpus, &["--mode", "none"]);
        let file = scratch.write(&format!("{name}.jsonl"), lines);
        let with = ["--source", "web", "--id-field", id_field];
        let ran = corpusdb(&[&["ingest", &corpus, &file, "--json"][..], &with].concat());
        let told = corpusdb(&[&["ingest", &corpus, &file, "--reread"][..], &with].concat()).stderr;
        (ran.json()["alarms"].as_array().unwrap().clone(), told)
    };
    let of = |name: &str, lines: String, id_field: &str, kind: &str, words: &[&str]| {
        let (found, told) = alarms(name, lines, id_field);
        let kinds: Vec<_> = found.iter().map(|alarm| alarm["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, if kind.is_empty() { vec![] } else { vec![kind] }, "{name}: {found:?}");
        for word in words {
            assert!(told.contains(word), "{name}: no `{word}` in {told}");
        }
    };
    let typo = ["id field `uid` is missing in 200 of 200 records: is it one of `id`?"];
    of("typo", (0..200).map(record).collect(), "uid", "all-rejected", &typo);
    let no_id = "{\"url\":\"u\",\"text\":\"t\",\"n\":1}";
    let mend = ["40 of 200 records were rejected", "is it one of `url`, `n`?"];
    of("fifth", with_every(5, no_id, 200), "id", "rejected-share", &mend);
    let rare = ["4 of 200 records have no id", "is it one of `url`, `n`?"];
    of("rare", with_every(50, no_id, 200), "id", "missing-ids", &rare);
    let blank = "{\"id\":\"\",\"text\":\"t\"}";
    let no_value = ["id field `id` has no usable value in 4 of 200 records"];
    of("blank", with_every(50, blank, 200), "id", "missing-ids", &no_value);
    of("bad", with_every(5, "bad", 200), "id", "rejected-share", &["not a JSON object"]);
    // Bad lines are most, and ids are missing too often beside them.
    let both = format!("{}{}", with_every(5, "bad", 200), with_every(50, no_id, 200));
    let (found, told) = alarms("both", both, "id");
    assert_eq!((&found[0]["alike"], &found[1]["kind"]), (&40.into(), &"missing-ids".into()));
    assert!(told.contains("44 of 400"), "{told}");
    for (name, lines) in [
        ("few", with_every(50, "bad", 200)),
        ("tenth", with_every(10, "bad", 200)),
        ("small", with_every(5, "bad", 99)),
    ] {
        of(name, lines, "id", "", &[]);
    }
});

// ---- forgetting ----

corpusdb_test!(rejects_are_dropped_by_source_and_path, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none"]);
    for (name, source) in [("in/a", "web"), ("in/b", "web"), ("in-c", "web"), ("d", "books")] {
        let file = scratch.write(&format!("{name}.jsonl"), format!("bad\nworse\n{}", record(1)));
        ingest(&corpus, &[&file], &["--source", source]);
    }
    corpusdb(&["snapshot", "create", &corpus, "then"]).good();
    let documents = digest(&corpus);
    let dropped = |more: &[&str]| {
        let given = [&["rejects", &corpus, "--drop", "--json"], more].concat();
        let report = corpusdb(&given).good().json();
        assert_eq!(report["type"], "rejects_drop");
        numbers(&report, ["dropped", "bytes", "left", "commits"])
    };
    assert_eq!(dropped(&["--dry-run"]), [8, 32, 0, 1]);
    assert_eq!(listed(&corpus).len(), 8);
    corpusdb(&["rejects", &corpus, "--drop", "--source", "wbe"])
        .fails(&["no source `wbe`", "`web`"]);
    // A directory, and not what begins as its name does.
    assert_eq!(dropped(&["--path", &scratch.arg("in")]), [4, 16, 4, 1]);
    assert_eq!(dropped(&["--path", &scratch.arg("in/")]), [0, 0, 4, 0]);
    // A path of the directory where the command runs, which `.` and what leads back to it are too.
    let forgotten = |directory: &str, path: &str| {
        let asked = ["rejects", &corpus, "--drop", "--dry-run", "--json", "--path", path];
        let output = command(&asked).current_dir(scratch.path(directory)).output().unwrap();
        ran(&asked, output).good().json()["dropped"].as_u64().unwrap()
    };
    let found = ["d.jsonl", "./d.jsonl", ".", "in/.."].map(|path| forgotten("", path));
    assert_eq!(found, [2, 2, 4, 4]);
    assert_eq!(["..", "../in-c.jsonl", "."].map(|path| forgotten("in", path)), [4, 2, 0]);
    assert_eq!(dropped(&["--path", &scratch.arg("d.jsonl"), "--source", "web"]), [0, 0, 4, 0]);
    let told = corpusdb(&["rejects", &corpus, "--drop", "--source", "books"]).good().stdout;
    assert_eq!(told, "forgot 2 rejected records (8 B); 2 are left\n");
    assert_eq!(dropped(&[]), [2, 8, 0, 1]);
    assert_eq!(corpusdb(&["info", &corpus, "--json"]).good().json()["rejects"], 0);
    let commits = "SELECT subject, condition IS NULL AS whole FROM commits WHERE kind = 'rejects'";
    let rows = sql(&corpus, commits);
    let told: Vec<_> = rows.iter().map(|row| (&row["subject"], &row["whole"])).collect();
    let [web, books] = ["", "books"].map(Value::from);
    assert_eq!(told, [(&web, &false.into()), (&books, &true.into()), (&web, &true.into())]);
    assert_eq!(digest(&corpus), documents, "documents are what they were");
    // What the files still give comes back.
    let report = ingest(&corpus, &[&scratch.arg("in-c.jsonl")], &["--source", "web"]);
    assert_eq!(numbers(&report, ["read", "rejected"]), [0, 0]);
    let again = ["--source", "web", "--reread"];
    let report = ingest(&corpus, &[&scratch.arg("in-c.jsonl")], &again);
    assert_eq!(numbers(&report, ["read", "rejected", "rejected_before"]), [3, 2, 0]);
    sound(&corpus);
});

// ----
// What cannot be read: bad records become rejects, and damaged files are errors that name them.

corpusdb_test!(bad_records_become_rejects_once_with_reason_and_bytes, |t| {
    let odd = repository("tests/corpora/odd.jsonl").display().to_string();
    let ingest = format!("ingest c '{odd}' --source odd --json");
    t.run("init c");
    t.run(&ingest).counts("read 12, added 3, rejected 9");
    t.run("count c").is("3");
    let listed = || t.run("rejects c --json").json_lines();
    let rejects = listed();
    let bytes = std::fs::read(&odd).unwrap();
    let reasons = [
        (1, "not a JSON object"),
        (2, "text field `text` is not a string"),
        (3, "field `text` is absent or null"),
        (4, "field `text` is absent or null"),
        (5, "invalid UTF-8 at byte 13 of the record"),
        (6, "not a JSON object"),
        (7, "not a JSON object"),
        (8, "not a JSON object"),
        (9, "not a JSON object"),
    ];
    assert_eq!(rejects.len(), reasons.len());
    for (reject, (number, reason)) in rejects.iter().zip(reasons) {
        let found = (reject["number"].as_u64(), &reject["path"], &reject["source"]);
        assert_eq!(found, (Some(number), &odd.clone().into(), &"odd".into()));
        assert!(reject["reason"].as_str().unwrap().contains(reason), "{reject}");
        let [offset, length] = numbers(reject, ["offset", "bytes"]).map(|number| number as usize);
        let raw = String::from_utf8_lossy(&bytes[offset..offset + length]);
        assert_eq!(reject["raw"], raw.as_ref(), "{reject}");
    }
    // Neither a run that reads again nor one from standard input of the same lines doubles them.
    let before = t.run("check c --digest").stdout;
    t.run(&ingest).counts("added 0, unchanged 3, rejected 0");
    t.run(&format!("{ingest} --reread")).counts("added 0, unchanged 3, rejected 0");
    assert_eq!((listed(), t.run("check c --digest").stdout), (rejects, before));
    t.run("info c --json").counts("rejects 9");
    t.sound("c");
});

corpusdb_test!(records_over_the_limit_are_set_aside, |t| {
    t.run("init c");
    let texts = ["short enough", &"long ".repeat(100), &"l".repeat(5000), "short again"];
    t.write("a.jsonl", lines(&texts.map(Page::new)));
    t.run("ingest c a.jsonl --source web --max-doc-bytes 400 --json")
        .counts("added 2, unchanged 0, rejected 2");
    t.run("rejects c").prints(&["500 bytes, over the limit of 400 (--max-doc-bytes)"]);
    let kept = t.column("c", "SELECT text FROM documents ORDER BY id");
    assert_eq!(kept, ["short enough", "short again"]);
});

corpusdb_test!(on_error_fail_stops_there_and_keeps_earlier_records, |t| {
    t.run("init c");
    let pages = crawl(24, 30, false);
    let first = lines(&pages[..20]);
    t.write("a.jsonl", format!("{first}oops\n{}", lines(&pages[20..])));
    let strict = "ingest c a.jsonl --source web --batch-bytes 1kB --on-error fail";
    let place = format!("byte {}", first.len());
    t.ran(strict).fails(&["a.jsonl", "record 20", &place, "--on-error reject"]);
    t.run("count c").is("20");
    t.run("rejects c --json").is("");
    t.ran(strict).fails(&["record 20"]);
    // Set aside, or mended: it goes on from there.
    t.run("ingest c a.jsonl --source web --json").counts("added 10, unchanged 20, rejected 1");
    t.run("init plain");
    t.run("ingest plain a.jsonl --source web");
    t.same("plain", "c");
    t.sound("c");
});

corpusdb_test!(a_truncated_file_keeps_whole_records_and_can_be_mended, |t| {
    let jsonl = lines(&crawl(25, 300, false)).into_bytes();
    for (name, bytes) in [("a.jsonl.gz", gzip(&jsonl)), ("a.jsonl.zst", zstd(&jsonl))] {
        let (corpus, whole) = (format!("{name}.corpus"), format!("{name}.whole"));
        let ingest = |corpus: &str| format!("ingest {corpus} {name} --source web --json");
        let end = bytes.len() * 2 / 3;
        t.write(name, &bytes[..end]);
        t.run(&format!("init {corpus}"));
        let ran = t.ran(&format!("{} --batch-bytes 4kB", ingest(&corpus)));
        let ran = ran.fails(&[name, "at byte ", "truncated or damaged"]);
        let (_, offset) = ran.stderr.split_once("at byte ").unwrap();
        let offset: usize = offset.split(' ').next().unwrap().parse().unwrap();
        assert!(offset > bytes.len() / 2 && offset <= end, "{offset} of {end}\n{ran}");
        let kept: u64 = t.run(&format!("count {corpus}")).stdout.trim().parse().unwrap();
        // A block of zstd is decoded whole: what is cut off may be all there is.
        assert!(kept > 20 || name.ends_with("zst"), "{kept}");
        t.sound(&corpus);
        t.write(name, &bytes);
        let rest = format!("added {}, unchanged {kept}, rejected 0", 300 - kept);
        t.run(&ingest(&corpus)).counts(&rest);
        t.run(&format!("init {whole}"));
        t.run(&ingest(&whole));
        t.same(&corpus, &whole);
    }
});

corpusdb_test!(errors_of_damaged_parquet_and_streams_name_the_file, |t| {
    t.run("init c");
    let pages = crawl(26, 200, true);
    parquet_of_pages(&t.path("whole.parquet"), &pages);
    let whole = std::fs::read(t.path("whole.parquet")).unwrap();
    for (name, bytes) in [
        ("cut.parquet", &whole[..whole.len() / 2]),
        ("no-end.parquet", &whole[..whole.len() - 1]),
        ("empty.parquet", b""),
    ] {
        t.write(name, bytes);
        t.ran(&format!("ingest c {name} --source web")).fails(&[name, "byte"]);
    }
    let jsonl = lines(&pages).into_bytes();
    let mut random = Random::new(5);
    for (name, whole) in
        [("flip.gz", gzip(&jsonl)), ("flip.zst", zstd(&jsonl)), ("flip.parquet", whole)]
    {
        for _ in 0..8 {
            let mut bytes = whole.clone();
            let at = random.between(12, bytes.len() - 8);
            bytes[at] ^= 1 << random.below(8);
            t.write(name, &bytes);
            let ran = t.ran(&format!("ingest c {name} --source {name} --batch-bytes 8kB"));
            // Parquet pages carry no checksum here: a flipped bit in a value cannot be noticed.
            assert!(
                ran.code == Some(2) && ran.stderr.contains(name)
                    || ran.code == Some(0) && name != "flip.gz",
                "byte {at}: {ran}"
            );
        }
    }
    t.sound("c");
});
