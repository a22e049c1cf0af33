//! However an input is cut, conditioned or only tried: the same records come to the same corpus.

use crate::support::{
    MEMORY, Page, Random, TestDir, WEB_BY_ID, command, corpusdb, corpusdb_test, crawl, file_names,
    fixture, gzip, ingest, init, interrupt, json_lines, lines, make, numbers, reader, seeds, sound,
    sound_digest, trained, writer,
};
use corpusdb::ingest::{OnError, ReadOptions};
use corpusdb::store::CheckDepth;
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, IngestReport};
use serde_json::{Value, json};
use std::process::Stdio;
use std::time::Duration;

// ----
// However the same input is cut into ingests, batches and threads: the same corpus.

/// One way to ingest the same files.
#[derive(Clone, Copy, Debug)]
struct Way {
    batch_bytes: u64,
    threads: usize,
    /// An ingest a file, each file first in part and then grown, or all at once.
    cut: Cut,
    /// The tokenizer is registered after this many ingests.
    tokenizer_after: usize,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    All,
    Files,
    Growing,
}

struct Input {
    /// Bytes of each file.
    files: Vec<Vec<u8>>,
    keyed: bool,
}

impl Input {
    /// Several files of a crawl with bad lines in them.
    fn new(seed: u64, count: usize, keyed: bool) -> Self {
        let mut random = Random::new(seed);
        let pages = crawl(seed, count, keyed);
        let mut files = Vec::new();
        let mut rest: &[Page] = &pages;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(random.between(1, count / 3).min(rest.len()));
            let mut bytes = Vec::new();
            for page in part {
                bytes.extend(page.line().into_bytes());
                if random.chance(4) {
                    let bad = [
                        &b"{\"text\":"[..],
                        b"null",
                        b"{\"id\":\"x\",\"text\":7}",
                        b"\xff\xfe",
                        b"{\"id\":\"x\",\"txt\":\"\"}",
                    ];
                    bytes.extend_from_slice(bad[random.below(bad.len())]);
                    bytes.push(b'\n');
                }
            }
            files.push(bytes);
            rest = after;
        }
        Self { files, keyed }
    }

    /// Ingests in this way into a new corpus; answers the sums of the reports and the digest.
    fn pour(&self, scratch: &TestDir, name: &str, tokenizer: &[u8], way: Way) -> (Sums, String) {
        let path = scratch.path(name);
        if way.tokenizer_after == 0 {
            fixture("splits: an empty corpus with a tokenizer", &path, |path| {
                make(path, DedupMode::Witness, 0.7);
                register(&mut writer(path), tokenizer);
            });
        } else {
            make(&path, DedupMode::Witness, 0.7);
        }
        let mut writer =
            Corpus::options().memory(MEMORY).threads(way.threads).open_writer(&path).unwrap();
        let read =
            ReadOptions { id_field: self.keyed.then(|| "id".to_owned()), ..ReadOptions::default() };
        let options =
            IngestOptions { batch_bytes: way.batch_bytes, read, ..IngestOptions::new("web") };
        let mut sums = Sums::default();
        let mut ingests = 0;
        let mut ingest = |writer: &mut CorpusWriter, paths: &[String]| {
            if ingests == way.tokenizer_after && ingests > 0 {
                register(writer, tokenizer);
            }
            ingests += 1;
            sums.add(&writer.ingest(paths, &options, &Context::new()).unwrap());
        };
        let files = (0..self.files.len()).map(|at| format!("{at:03}.jsonl"));
        match way.cut {
            Cut::All => {
                let paths: Vec<String> = files
                    .zip(&self.files)
                    .map(|(name, bytes)| scratch.write(&name, bytes))
                    .collect();
                ingest(&mut writer, &paths);
            }
            Cut::Files => {
                for (name, bytes) in files.zip(&self.files) {
                    ingest(&mut writer, &[scratch.write(&name, bytes)]);
                }
            }
            Cut::Growing => {
                for (name, bytes) in files.zip(&self.files) {
                    // Not in the middle of a line, which would be a bad record of its own.
                    let half = bytes[..bytes.len() / 2].iter().rposition(|byte| *byte == b'\n');
                    let half = half.map_or(0, |at| at + 1);
                    for part in [&bytes[..half], bytes] {
                        if !part.is_empty() {
                            ingest(&mut writer, &[scratch.write(&name, part)]);
                        }
                    }
                }
            }
        }
        if way.tokenizer_after >= ingests && way.tokenizer_after > 0 {
            register(&mut writer, tokenizer);
        }
        drop(writer);
        let digest = sound_digest(&reader(&path));
        (sums, digest)
    }
}

fn register(writer: &mut CorpusWriter, tokenizer: &[u8]) {
    writer.add_tokenizer("own", tokenizer, "trained on a test's crawl", &Context::new()).unwrap();
}

/// What reports add up to, whatever the way.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Sums {
    added: u64,
    updated: u64,
    rejected: u64,
}

impl Sums {
    fn add(&mut self, report: &IngestReport) {
        self.added += report.added;
        self.updated += report.updated;
        self.rejected += report.rejected;
    }
}

const WHOLE: Way = Way { batch_bytes: 64 << 20, threads: 2, cut: Cut::All, tokenizer_after: 0 };

#[test]
fn any_batches_and_threads_make_the_same_corpus() {
    let tokenizer = trained();
    let (mut updated, mut rejected) = (0, 0);
    for seed in 500..500 + seeds(2) {
        let scratch = TestDir::new();
        let input = Input::new(seed, 220, seed % 2 == 0);
        let (sums, digest) = input.pour(&scratch, "whole", tokenizer, WHOLE);
        let random = &mut Random::new(seed);
        let mut ways = vec![
            Way { batch_bytes: 2 << 10, threads: 1, ..WHOLE },
            Way { batch_bytes: 2 << 10, threads: 2, cut: Cut::Files, tokenizer_after: 2 },
            Way { batch_bytes: 700, threads: 2, cut: Cut::Growing, tokenizer_after: 1 },
            Way { cut: Cut::Growing, threads: 1, tokenizer_after: 100, ..WHOLE },
        ];
        ways.push(Way {
            batch_bytes: random.between(1, 40_000) as u64,
            threads: random.between(1, 4),
            cut: *random.pick(&[Cut::All, Cut::Files, Cut::Growing]),
            tokenizer_after: random.below(4),
        });
        for (at, way) in ways.into_iter().enumerate() {
            let (other_sums, other) = input.pour(&scratch, &format!("way-{at}"), tokenizer, way);
            assert_eq!(other_sums, sums, "seed {seed}, {way:?}");
            assert_eq!(other, digest, "seed {seed}, {way:?}");
            let rejects = |name: &str| {
                reader(&scratch.path(name))
                    .rejects(1000)
                    .unwrap()
                    .collect::<Result<Vec<_>, _>>()
                    .unwrap()
            };
            assert_eq!(rejects(&format!("way-{at}")), rejects("whole"), "seed {seed}, {way:?}");
        }
        updated += sums.updated;
        rejected += sums.rejected;
    }
    assert!(
        updated > 25 && rejected > 7,
        "{updated} updates and {rejected} rejects are too few to mean anything"
    );
}

// A dictionary is trained on the first commit with 1,000 texts and 880 KiB: here the whole has
// one and the parts have none, or one from other texts.
corpusdb_test!(any_batches_make_the_same_corpus_with_a_dictionary, |scratch| {
    let tokenizer = trained();
    let input = Input { files: vec![lines(&crawl(41, 4200, true)).into_bytes()], keyed: true };
    let (sums, digest) = input.pour(&scratch, "whole", tokenizer, WHOLE);
    for (name, batch_bytes) in [("few", 950 << 10), ("many", 40 << 10)] {
        let way = Way { batch_bytes, threads: 1, ..WHOLE };
        assert_eq!(input.pour(&scratch, name, tokenizer, way), (sums, digest.clone()), "{name}");
    }
});

#[test]
fn digests_differ_for_different_corpora() {
    let tokenizer = trained();
    let scratch = TestDir::new();
    let input = Input::new(600, 60, true);
    let (_, digest) = input.pour(&scratch, "whole", tokenizer, WHOLE);
    let mut digests = vec![digest];
    // Any line left out is told.
    for line in [0, 7, 31] {
        let mut fewer = Input { files: input.files.clone(), keyed: true };
        let text = String::from_utf8_lossy(&fewer.files[0]).into_owned();
        let line = line % text.lines().count();
        let left: Vec<&str> =
            text.lines().enumerate().filter(|(at, _)| *at != line).map(|(_, line)| line).collect();
        fewer.files[0] = (left.join("\n") + "\n").into_bytes();
        digests.push(fewer.pour(&scratch, &format!("without-{line}"), tokenizer, WHOLE).1);
    }
    digests.sort();
    digests.dedup();
    assert!(digests.len() >= 3, "{digests:?}");
    assert!(
        reader(&scratch.path("whole")).check(CheckDepth::Full, &Context::new()).unwrap().is_empty()
    );
}

// ----
// `ingest --where`: which records come in, however the input is cut, and what an ingest with another condition does.

const COUNTS: [&str; 4] = ["read", "added", "filtered", "rejected"];

/// Records with scores of every spelling, keyed; some are `strange`, and no numbers.
fn scored(count: usize, strange: bool) -> String {
    let line = |n: usize| {
        let score = match n % 7 {
            0 => json!(n),
            1 => json!(0.25),
            2 => json!(0.75),
            3 => Value::Null,
            4 => json!(-3),
            5 if strange => json!("much"),
            _ => json!(1.0),
        };
        let lang = ["de", "en"][n % 2];
        let text = format!("record {n} {}", "of many words ".repeat(n % 13));
        let mut record = json!({"id": format!("k{n}"), "text": text, "lang": lang});
        if !n.is_multiple_of(11) {
            record["score"] = score;
        }
        format!("{record}\n")
    };
    (0..count).map(line).collect()
}

corpusdb_test!(only_records_for_which_the_condition_is_true_come_in, |scratch| {
    let (sifted, expected) = (scratch.arg("sifted"), scratch.arg("expected"));
    let all = scored(700, false);
    let is_in = |line: &&str| {
        let record: Value = serde_json::from_str(line).unwrap();
        record["score"].as_f64().is_some_and(|score| score > 0.5) && record["lang"] == "de"
    };
    let chosen: Vec<&str> = all.lines().filter(is_in).collect();
    assert!(chosen.len() > 100, "{}", chosen.len());
    let (file, few) = (scratch.write("all.jsonl", &all), chosen.join("\n"));
    let few = scratch.write("few.jsonl", few);
    for corpus in [&sifted, &expected] {
        init(corpus, &["--field", "score:float"]);
    }
    let condition = "score > 0.5 AND lang = 'de'";
    let report = ingest(&sifted, &[&file], &[&WEB_BY_ID[..], &["--where", condition]].concat());
    let counts = numbers(&report, COUNTS);
    assert_eq!(counts, [700, chosen.len() as u64, 700 - chosen.len() as u64, 0], "{report}");
    ingest(&expected, &[&few], &WEB_BY_ID);
    // Not the digests: a document's place in its file is in them.
    let rows = "SELECT id, key, source, text, meta, standing, score FROM documents ORDER BY id";
    let rows = |corpus: &str| corpusdb(&["sql", corpus, rows, "--format", "csv"]).good().stdout;
    assert_eq!(rows(&sifted), rows(&expected));
    sound(&sifted);
    let again = ingest(&sifted, &[&file], &[&WEB_BY_ID[..], &["--where", condition]].concat());
    assert_eq!(numbers(&again, ["added", "commits", "filtered"]), [0, 0, 0], "read again: {again}");
    // Another condition: from the start, and what is stored stays.
    let wider = ingest(&sifted, &[&file], &[&WEB_BY_ID[..], &["--where", "lang = 'de'"]].concat());
    let stored = chosen.len() as u64;
    assert_eq!(numbers(&wider, ["read", "unchanged", "filtered"]), [700, stored, 350], "{wider}");
    let none = ingest(&sifted, &[&file], &[&WEB_BY_ID[..], &["--where", "1 = 2"]].concat());
    assert_eq!(numbers(&none, ["added", "filtered"]), [0, 700], "{none}");
    assert_eq!(corpusdb(&["count", &sifted]).good().stdout.trim(), "350");
    sound(&sifted);
});

corpusdb_test!(records_without_an_answer_become_rejects, |scratch, corpus| {
    let file = scratch.write("a.jsonl", scored(70, true));
    let with = |condition: &'static str| ["--source", "web", "--where", condition];
    let report = ingest(&corpus, &[&file], &with("CAST(score AS DOUBLE) > 0.5"));
    let rejected = report["rejected"].as_u64().unwrap();
    assert!((5..=10).contains(&rejected), "{report}");
    corpusdb(&["rejects", &corpus, "--json"]).good().prints(&["no answer", "much"]);
    let fail =
        [&["ingest", &corpus, &file, "--on-error", "fail"], &with("CAST(score AS DOUBLE) > 0")[..]];
    corpusdb(&fail.concat()).fails(&["record 5", "no answer", "much"]);
    let typo = ingest(&corpus, &[&file], &with("scroe > 0.5 OR lang = 'fr'"));
    assert_eq!(typo["alarms"][0], json!({"kind": "unknown-fields", "fields": ["scroe"]}), "{typo}");
    let wrong = |condition: &str, words: &[&str]| {
        corpusdb(&["ingest", &corpus, &file, "--source", "web", "--where", condition]).fails(words);
    };
    wrong("score >", &["cannot use the condition `score >`"]);
    wrong("random() > 0.5", &["another value each time"]);
    wrong("score > (SELECT max(id) FROM documents)", &["a subquery"]);
    sound(&corpus);
});

corpusdb_test!(the_condition_sees_fields_as_they_are_kept_of_every_format, |scratch| {
    let table =
        scratch.write("a.csv", "text,lang,n\nfirst one,de,1\nsecond one,en,2\nthird one,de,\n");
    let list = scratch.write(
        "b.json",
        json!([{"text": "x one", "lang": "de", "n": 1}, {"text": "y one", "lang": "en"}])
            .to_string(),
    );
    let chats = scratch.write(
        "c.jsonl",
        "{\"prompt\":\"a\",\"completion\":\" b\",\"n\":1}\n{\"prompt\":\"c\",\"n\":2}\n",
    );
    let case = |name: &str, file: &str, condition: &str, more: &[&str], expected: [u64; 4]| {
        let corpus = scratch.arg(name);
        init(&corpus, &["--mode", "none"]);
        let base = ["--source", "web", "--where", condition];
        let report = ingest(&corpus, &[file], &[&base[..], more].concat());
        assert_eq!(numbers(&report, COUNTS), expected, "{name}: {report}");
    };
    case("table", &table, "n >= 1 AND lang = 'de'", &[], [3, 1, 2, 0]);
    case("renamed", &table, "language = 'de'", &["--map", "language=lang"], [3, 2, 1, 0]);
    case("dropped", &table, "lang IS NULL", &["--drop-fields", "lang"], [3, 3, 0, 0]);
    case("by-source", &table, "source = 'de'", &["--source-from", "lang"], [3, 2, 1, 0]);
    case("text", &table, "chars < 10 AND text LIKE 'f%'", &[], [3, 1, 2, 0]);
    case("list", &list, "n = 1", &[], [2, 1, 1, 0]);
    // One that is not of the form asked for is no reject where it does not come in.
    let fail = ["--chat", "prompt-completion", "--on-error", "fail"];
    case("chat", &chats, "n = 1", &fail, [2, 1, 1, 0]);
});

// However it is cut, read and resumed: the same corpus.
corpusdb_test!(no_cut_of_the_input_changes_the_selection, |scratch| {
    let mut random = Random::new(7);
    let pages: Vec<Page> = crawl(7, 600, true);
    let mut all = lines(&pages);
    for at in 0..20 {
        all.push_str(&format!("{{\"id\":\"bad{at}\",\"text\":{at}}}\n"));
    }
    let half: usize = all.lines().take(250).map(|line| line.len() + 1).sum();
    let mut digests = Vec::new();
    for (batch_bytes, threads, grown) in
        [(1 << 24, 2, false), (2_000, 1, false), (20_000, 2, true), (1 << 24, 1, true)]
    {
        let path = scratch.path(&format!("corpus{}", random.next()));
        make(&path, DedupMode::Witness, 0.7);
        let mut writer =
            Corpus::options().memory(MEMORY).threads(threads).open_writer(&path).unwrap();
        let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
        let options = IngestOptions {
            batch_bytes,
            read,
            condition: Some("chars % 3 <> 1 AND key NOT LIKE '%7'".to_owned()),
            ..IngestOptions::new("web")
        };
        let mut sums = [0; 3];
        let parts = if grown { vec![&all[..half], &all[..]] } else { vec![&all[..]] };
        for part in parts {
            let file = scratch.write("a.jsonl", part);
            let report = writer.ingest(&[file], &options, &Context::new()).unwrap();
            sums[0] += report.added;
            sums[1] += report.filtered;
            sums[2] += report.rejected;
        }
        assert!(sums[0] > 100 && sums[1] > 100 && sums[2] == 20, "{sums:?}");
        digests.push((sums, sound_digest(&writer.corpus())));
    }
    assert!(digests.windows(2).all(|pair| pair[0] == pair[1]), "{digests:?}");
});

corpusdb_test!(an_ingest_resumes_behind_filtered_records, |scratch| {
    let path = scratch.path("corpus");
    make(&path, DedupMode::Witness, 0.7);
    let mut writer = Corpus::options().memory(MEMORY).threads(2).open_writer(&path).unwrap();
    let line = |n: usize| format!("{{\"text\":\"record {n}\",\"n\":{n}}}\n");
    let good: String = (0..20_000).map(line).collect();
    let more: String = (20_000..20_010).map(line).collect();
    let options = IngestOptions {
        on_error: OnError::Fail,
        condition: Some("n % 5000 = 4999 OR n = 20005".to_owned()),
        ..IngestOptions::new("web")
    };
    let ingest = |writer: &mut corpusdb::CorpusWriter, bytes: String| {
        let file = scratch.write("a.jsonl", bytes);
        writer.ingest(&[file], &options, &Context::new())
    };
    let error = ingest(&mut writer, format!("{good}broken\n{more}")).unwrap_err().to_string();
    assert!(error.contains("record 20000"), "{error}");
    assert_eq!(writer.corpus().count(None).unwrap(), 4);
    let mended = line(99).replace('\n', "");
    let report = ingest(&mut writer, format!("{good}{mended}\n{more}")).unwrap();
    assert_eq!((report.read, report.added, report.filtered), (11, 1, 10), "{report:?}");
    sound_digest(&writer.corpus());
});

// ----
// Dry runs, and files of decisions: what an ingest would do and has done, record by record.

corpusdb_test!(a_dry_run_reports_the_same_and_changes_nothing, |t| {
    t.run("init c");
    let pages = crawl(27, 120, true);
    t.write("first.jsonl", lines(&pages[..60]));
    t.write("second.jsonl", format!("{}broken\n", lines(&pages[60..])));
    let ingest =
        |file: &str| format!("ingest c {file} --source web --id-field id --batch-bytes 2kB --json");
    t.run(&ingest("first.jsonl"));
    let state = || {
        let shown =
            ["check c --digest", "sql c 'SELECT * FROM commits' --format csv", "rejects c --json"];
        (file_names(t.path("c")), shown.map(|line| t.run(line).stdout))
    };
    let before = state();
    let second = ingest("second.jsonl");
    let dry = t.run(&format!("{second} --dry-run --decisions decisions.jsonl")).json();
    assert_eq!(dry["dry_run"], true);
    // Those who read the lines of a log by their beginning find the verb there.
    let again = t.run(&format!("{second} --dry-run")).stdout;
    assert!(again.starts_with(r#"{"type":"ingest","source":"web","read":61,"#), "{again}");
    assert!(again.ends_with(",\"dry_run\":true}\n"), "{again}");
    assert_eq!(state(), before);
    let foretold = std::fs::read_to_string(t.path("decisions.jsonl")).unwrap();
    let wet = t.run(&format!("{second} --decisions decisions.jsonl")).json();
    let names = [
        "read",
        "added",
        "kept",
        "exact_duplicates",
        "near_duplicates",
        "empty",
        "unchanged",
        "updated",
        "rejected",
    ];
    assert_eq!(numbers(&dry, names), numbers(&wet, names));
    let taken = std::fs::read_to_string(t.path("decisions.jsonl")).unwrap();
    assert_eq!(foretold, taken, "the decisions foretold are those taken");
    assert_ne!(state(), before);
    t.sound("c");
});

/// Expects a line a record, in order, that says what the corpus says. Meant for inputs without ids.
fn decisions_are_those_of(t: &TestDir, corpus: &str, decisions: &str, records: usize) {
    let lines = json_lines(&std::fs::read_to_string(t.path(decisions)).unwrap());
    assert_eq!(lines.len(), records);
    let mut next = 0;
    for line in &lines {
        if line["standing"] == "rejected" {
            assert!(line["id"].is_null() && line["reason"].is_string(), "{line}");
            continue;
        }
        let shown = t.run(&format!("show {corpus} {} --json", line["id"])).json();
        assert_eq!(line["id"], next, "{line}");
        for name in ["key", "standing"] {
            assert_eq!(line[name], shown[name], "{name} of {line}");
        }
        for name in ["kind", "witness", "witness_key", "witness_source", "jaccard"] {
            assert_eq!(line[name], shown["match"][name], "{name} of {line}");
        }
        next += 1;
    }
}

corpusdb_test!(decisions_name_every_record_also_after_a_resume, |t| {
    t.run("init c");
    let pages = crawl(28, 50, false);
    let whole = format!("{}bad\n{}", lines(&pages[..30]), lines(&pages[30..]));
    let bytes = gzip(whole.as_bytes());
    t.write("a.jsonl.gz", &bytes[..bytes.len() / 2]);
    let ingest = "ingest c a.jsonl.gz --source web --batch-bytes 1kB --decisions d.jsonl --json";
    // Interrupted: no file that looks complete.
    t.ran(ingest).fails(&["a.jsonl.gz"]);
    assert!(!t.path("d.jsonl").exists());
    let done: u64 = t.run("count c").stdout.trim().parse().unwrap();
    assert!(done > 0 && done < 50, "{done}");
    t.write("a.jsonl.gz", &bytes);
    // Resumed, then all over again: whole each time.
    for (added, unchanged) in [(50 - done, done), (0, 50)] {
        t.run(ingest).counts(&format!("added {added}, unchanged {unchanged}"));
        decisions_are_those_of(&t, "c", "d.jsonl", 51);
        std::fs::remove_file(t.path("d.jsonl")).unwrap();
    }
    t.sound("c");
});

corpusdb_test!(decisions_are_final_in_any_batches, |t| {
    let common: String = (0..30).map(|at| format!("word{at} ")).collect();
    let page = |own: &str| format!("{{\"text\":\"{common}{own}\"}}\n");
    t.write("pages.jsonl", ["a", "a b", "a b c"].map(page).concat());
    let decided = ["1", "1MB"].map(|bytes| {
        let (corpus, decisions) = (format!("cut-{bytes}"), format!("{bytes}.jsonl"));
        t.run(&format!("init {corpus} --threshold 0.5 --keep longest"));
        t.run(&format!(
            "ingest {corpus} pages.jsonl --source web --batch-bytes {bytes} --decisions {decisions}"
        ));
        decisions_are_those_of(&t, &corpus, &decisions, 3);
        std::fs::read_to_string(t.path(&decisions)).unwrap()
    });
    assert_eq!(decided[0], decided[1]);
    let kept = json_lines(&decided[0]).iter().filter(|line| line["standing"] == "kept").count();
    assert_eq!(kept, 1, "{}", decided[0]);
});

corpusdb_test!(a_stopped_ingest_leaves_no_file_of_decisions, |t| {
    t.run("init c");
    let many = t.write("many.jsonl", lines(&crawl(29, 4000, false)));
    let (corpus, decisions) = (t.arg("c"), t.arg("stopped.jsonl"));
    let arguments = ["ingest", &corpus, &many, "--source", "web", "--batch-bytes", "1"];
    let arguments = [&arguments[..], &["--decisions", &decisions]].concat();
    let child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let committed = || corpusdb(&["count", &corpus]).stdout.trim().parse().unwrap_or(0_u64) > 0;
    while !committed() {
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(&child);
    let ended = child.wait_with_output().unwrap();
    assert!(!ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    // Stopped between two commits: all that was read is stored, and no file looks complete.
    for ending in ["", ".noted", ".partial"] {
        assert!(!t.path(&format!("stopped.jsonl{ending}")).exists(), "{ending}");
    }
});
