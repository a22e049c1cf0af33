//! The ways in: formats, resuming, rejects, damaged inputs, dry runs, decisions, keys.

use crate::support::{
    Page, Random, TestDir, command, corpusdb, corpusdb_reading, crawl, digest, edited, ingest,
    init, interrupt, json_lines, lines, numbers, prose, repository, sound,
};
use arrow::array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

const ADDED: [&str; 3] = ["added", "unchanged", "rejected"];

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 3).unwrap()
}

/// Writes pages as Parquet with 16 rows a row group.
fn parquet(path: &Path, pages: &[Page]) {
    let column = |of: fn(&Page) -> Option<String>| -> ArrayRef {
        Arc::new(pages.iter().map(of).collect::<StringArray>())
    };
    let years: Int64Array = pages.iter().map(|page| page.fields["year"].as_i64()).collect();
    let columns = [
        ("id", column(|page| page.id.clone())),
        ("text", column(|page| Some(page.text.clone()))),
        ("language", column(|page| page.fields["language"].as_str().map(str::to_owned))),
        ("year", Arc::new(years)),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.map(|(name, column)| (name, column, true)),
    )
    .unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(16)).build();
    let mut writer = ArrowWriter::try_new(
        std::fs::File::create(path).unwrap(),
        batch.schema(),
        Some(properties),
    )
    .unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

/// All texts, in the order of ids.
fn texts(corpus: &str) -> Vec<String> {
    let rows =
        corpusdb(&["sql", corpus, "SELECT text FROM documents ORDER BY id", "--format", "json"])
            .good();
    rows.json_lines().iter().map(|row| row["text"].as_str().unwrap().to_owned()).collect()
}

// ---- formats ----

#[test]
fn every_format_gives_the_same_texts_once() {
    let scratch = TestDir::new();
    let pages = crawl(21, 60, true);
    let jsonl = lines(&pages);
    let expected: Vec<String> = {
        let corpus = scratch.arg("plain");
        init(&corpus, &[]);
        ingest(&corpus, &[&scratch.write("plain.jsonl", &jsonl)], &["--source", "web"]);
        texts(&corpus)
    };
    assert_eq!(expected, pages.iter().map(|page| page.text.clone()).collect::<Vec<_>>());
    // Compression is told by content: the names say something else.
    scratch.write("gz/pages.jsonl", gzip(jsonl.as_bytes()));
    scratch.write("zst/pages.jsonl.gz", zstd(jsonl.as_bytes()));
    let (first, second) = jsonl.as_bytes().split_at(jsonl.len() / 3);
    scratch.write("members/pages.gz", [gzip(first), gzip(second)].concat());
    scratch.write("frames/pages.zst", [zstd(first), zstd(b""), zstd(second)].concat());
    parquet(Path::new(&scratch.write("parquet/pages", "")), &pages);
    for name in ["gz", "zst", "members", "frames", "parquet"] {
        let corpus = scratch.arg(&format!("{name}.corpus"));
        init(&corpus, &[]);
        let arguments = ["--source", "web", "--batch-bytes", "3kB"];
        let report = ingest(&corpus, &[&scratch.arg(name)], &arguments);
        assert_eq!(report["type"], "ingest");
        assert_eq!(
            numbers(&report, ["read", "added", "unchanged", "rejected"]),
            [60, 60, 0, 0],
            "{name}"
        );
        let sum: u64 =
            numbers(&report, ["kept", "exact_duplicates", "near_duplicates", "empty"]).iter().sum();
        assert_eq!(sum, 60, "{name}: {report}");
        assert_eq!(texts(&corpus), expected, "{name}");
        let before = digest(&corpus);
        // Unread, because size and time are the same; then read, and known record for record.
        let report = ingest(&corpus, &[&scratch.arg(name)], &arguments);
        assert_eq!(
            numbers(&report, ["read", "added", "unchanged", "commits"]),
            [0, 0, 60, 0],
            "{name}"
        );
        let report = ingest(&corpus, &[&scratch.arg(name)], &["--source", "web", "--reread"]);
        assert_eq!(numbers(&report, ["added", "unchanged", "rejected"]), [0, 60, 0], "{name}");
        assert_eq!(digest(&corpus), before, "{name}");
        sound(&corpus);
    }
}

#[test]
fn files_made_by_other_tools_are_read() {
    let scratch = TestDir::new();
    let corpora = repository("tests/corpora");
    let path = |name: &str| corpora.join(name).display().to_string();
    let expected: Vec<String> = json_lines(&std::fs::read_to_string(path("pages.jsonl")).unwrap())
        .iter()
        .map(|page| page["text"].as_str().unwrap().to_owned())
        .collect();
    for name in ["pages.jsonl", "pages-members.gz", "pages-frames.zst"] {
        let corpus = scratch.arg(name);
        init(&corpus, &[]);
        ingest(&corpus, &[&path(name)], &["--source", "web", "--id-field", "id"]);
        assert_eq!(texts(&corpus), expected, "{name}");
        let shown = corpusdb(&["show", &corpus, "--key", "7", "--json"]).good().json();
        assert_eq!(
            (shown["id"].as_u64(), shown["metadata"]["year"].as_u64()),
            (Some(7), Some(2007)),
            "{name}"
        );
    }
}

#[test]
fn text_files_and_directories_are_read_in_byte_order_of_path() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let prose = repository("tests/corpora/prose").display().to_string();
    let report = ingest(&corpus, &[&prose], &["--source", "rights", "--format", "text"]);
    assert_eq!(numbers(&report, ["added", "kept"]), [4, 4]);
    let rows = corpusdb(&[
        "sql",
        &corpus,
        "SELECT id, key FROM documents ORDER BY id",
        "--format",
        "json",
    ])
    .good()
    .json_lines();
    let names: Vec<_> = rows
        .iter()
        .map(|row| row["key"].as_str().unwrap().strip_prefix(&prose).unwrap().to_owned())
        .collect();
    assert_eq!(names, ["/asia/hi.txt@0", "/asia/zh.txt@1", "/de.txt@2", "/ru.txt@3"]);
    let read = |name: &str| std::fs::read_to_string(format!("{prose}/{name}")).unwrap();
    assert_eq!(texts(&corpus), ["asia/hi.txt", "asia/zh.txt", "de.txt", "ru.txt"].map(read));

    // The same by pattern and one by one, in the order given; a file reached twice is read once.
    let other = scratch.arg("other");
    init(&other, &[]);
    let pattern = format!("{prose}/**/*.txt");
    ingest(&other, &[&pattern, &format!("{prose}/de.txt"), &prose], &["--source", "rights"]);
    assert_eq!(digest(&other), digest(&corpus));

    scratch.write("hidden/.secret", "not for reading");
    corpusdb(&["ingest", &corpus, &scratch.arg("hidden"), "--source", "x"])
        .fails(&["no files in this directory", "hidden"]);
    corpusdb(&["ingest", &corpus, &scratch.arg("nowhere"), "--source", "x"])
        .fails(&["nowhere", "no such file"]);
    corpusdb(&["ingest", &corpus, &scratch.arg("*.nothing"), "--source", "x"])
        .fails(&["*.nothing", "no file matches"]);
}

#[test]
fn standard_input_is_read_to_its_end_and_again_adds_nothing() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let jsonl = lines(&crawl(22, 40, false));
    for (round, input) in
        [jsonl.as_bytes().to_vec(), gzip(jsonl.as_bytes()), zstd(jsonl.as_bytes())]
            .iter()
            .enumerate()
    {
        let ran =
            corpusdb_reading(&["ingest", &corpus, "-", "--source", "pipe", "--json"], input).good();
        let expected = if round == 0 { [40, 0, 0] } else { [0, 40, 0] };
        assert_eq!(numbers(&ran.json(), ADDED), expected, "round {round}");
    }
    sound(&corpus);
}

#[test]
fn only_changed_files_are_read_again() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let pages = crawl(23, 90, false);
    for (at, part) in pages.chunks(30).enumerate() {
        scratch.write(&format!("crawl/{at}.jsonl"), lines(part));
    }
    let crawl_directory = scratch.arg("crawl");
    let again =
        || ingest(&corpus, &[&crawl_directory], &["--source", "web", "--batch-bytes", "2kB"]);
    assert_eq!(numbers(&again(), ADDED), [90, 0, 0]);
    assert_eq!(numbers(&again(), ["read", "added", "unchanged"]), [0, 0, 90]);
    // Lines appended: only they are new. A file rewritten: what stands where it stood is known.
    let grown =
        format!("{}{}", lines(&pages[30..60]), Page::new("appended to the second file").line());
    scratch.write("crawl/1.jsonl", grown);
    assert_eq!(numbers(&again(), ["read", "added", "unchanged"]), [1, 1, 90]);
    let mut changed = pages[..30].to_vec();
    changed[4].text = "another text at the same place".to_owned();
    scratch.write("crawl/0.jsonl", lines(&changed));
    assert_eq!(numbers(&again(), ["read", "added", "unchanged"]), [30, 1, 90]);
    assert_eq!(numbers(&again(), ["read", "added", "unchanged"]), [0, 0, 91]);
    sound(&corpus);
}

#[test]
fn the_text_field_is_guessed_in_order_named_or_asked_for() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let file = scratch.write(
        "a.jsonl",
        "{\"body\":\"the body\",\"document\":\"the document\",\"raw_content\":\"raw\"}\n",
    );
    ingest(&corpus, &[&file], &["--source", "guessed"]);
    ingest(&corpus, &[&file], &["--source", "named", "--text-field", "body"]);
    assert_eq!(texts(&corpus), ["raw", "the body"]);
    let file = scratch.write("b.jsonl", "{\"titel\":\"x\",\"inhalt\":\"y\"}\n");
    corpusdb(&["ingest", &corpus, &file, "--source", "x"]).fails(&[
        "b.jsonl",
        "`titel`, `inhalt`",
        "--text-field",
    ]);
    parquet(&scratch.path("c.parquet"), &crawl(1, 3, true));
    corpusdb(&[
        "ingest",
        &corpus,
        &scratch.arg("c.parquet"),
        "--source",
        "x",
        "--text-field",
        "inhalt",
    ])
    .fails(&["c.parquet", "inhalt", "`id`, `text`, `language`, `year`"]);
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout, "2\n");
    sound(&corpus);
}

// ---- what cannot be read ----

#[test]
fn bad_records_become_rejects_once_with_reason_and_bytes() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let odd = repository("tests/corpora/odd.jsonl").display().to_string();
    let report = ingest(&corpus, &[&odd], &["--source", "odd"]);
    assert_eq!(numbers(&report, ["read", "added", "rejected"]), [12, 3, 9]);
    assert_eq!(texts(&corpus).len(), 3);
    let listed = || corpusdb(&["rejects", &corpus, "--json"]).good().json_lines();
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
        assert_eq!(
            (reject["number"].as_u64(), &reject["path"], &reject["source"]),
            (Some(number), &odd.clone().into(), &"odd".into())
        );
        assert!(reject["reason"].as_str().unwrap().contains(reason), "{reject}");
        let [offset, length] = numbers(reject, ["offset", "bytes"]).map(|number| number as usize);
        assert_eq!(
            reject["raw"],
            String::from_utf8_lossy(&bytes[offset..offset + length]).as_ref(),
            "{reject}"
        );
    }
    // Neither a run that reads again nor one from standard input of the same lines doubles them.
    let before = digest(&corpus);
    for more in [&["--source", "odd"][..], &["--source", "odd", "--reread"]] {
        let report = ingest(&corpus, &[&odd], more);
        assert_eq!(numbers(&report, ADDED), [0, 3, 0], "{more:?}");
    }
    assert_eq!((listed(), digest(&corpus)), (rejects, before));
    let info = corpusdb(&["info", &corpus, "--json"]).good().json();
    assert_eq!(info["rejects"], 9);
    sound(&corpus);
}

#[test]
fn records_over_the_limit_are_set_aside() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let pages = [
        "short enough".to_owned(),
        "long ".repeat(100),
        "l".repeat(5000),
        "short again".to_owned(),
    ]
    .map(Page::new);
    let file = scratch.write("a.jsonl", lines(&pages));
    let report = ingest(&corpus, &[&file], &["--source", "web", "--max-doc-bytes", "400"]);
    assert_eq!(numbers(&report, ADDED), [2, 0, 2]);
    let listed = corpusdb(&["rejects", &corpus]).good().stdout;
    assert!(listed.contains("500 bytes, over the limit of 400 (--max-doc-bytes)"), "{listed}");
    assert_eq!(texts(&corpus), ["short enough", "short again"]);
}

#[test]
fn on_error_fail_stops_there_and_keeps_earlier_records() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let pages = crawl(24, 30, false);
    let bad = format!("{}oops\n{}", lines(&pages[..20]), lines(&pages[20..]));
    let file = scratch.write("a.jsonl", &bad);
    let arguments =
        ["ingest", &corpus, &file, "--source", "web", "--batch-bytes", "1kB", "--on-error", "fail"];
    let offset = lines(&pages[..20]).len();
    corpusdb(&arguments).fails(&[
        "a.jsonl",
        "record 20",
        &format!("byte {offset}"),
        "--on-error reject",
    ]);
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout, "20\n");
    assert_eq!(corpusdb(&["rejects", &corpus, "--json"]).good().stdout, "");
    corpusdb(&arguments).fails(&["record 20"]);
    // Set aside, or mended: it goes on from there.
    let report = ingest(&corpus, &[&file], &["--source", "web"]);
    assert_eq!(numbers(&report, ADDED), [10, 20, 1]);
    let plain = scratch.arg("plain");
    init(&plain, &[]);
    ingest(&plain, &[&file], &["--source", "web"]);
    assert_eq!(digest(&plain), digest(&corpus));
    sound(&corpus);
}

#[test]
fn a_truncated_file_keeps_whole_records_and_can_be_mended() {
    let jsonl = lines(&crawl(25, 300, false));
    for (name, bytes) in
        [("a.jsonl.gz", gzip(jsonl.as_bytes())), ("a.jsonl.zst", zstd(jsonl.as_bytes()))]
    {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        let file = scratch.write(name, &bytes[..bytes.len() * 2 / 3]);
        let ran = corpusdb(&["ingest", &corpus, &file, "--source", "web", "--batch-bytes", "4kB"]);
        let ran = ran.fails(&[&file, "at byte ", "truncated or damaged"]);
        let (_, offset) = ran.stderr.split_once("at byte ").unwrap();
        let offset: usize = offset.split(' ').next().unwrap().parse().unwrap();
        assert!(
            offset > bytes.len() / 2 && offset <= bytes.len() * 2 / 3,
            "{offset} of {}\n{ran}",
            bytes.len() * 2 / 3
        );
        let kept: u64 = corpusdb(&["count", &corpus]).good().stdout.trim().parse().unwrap();
        // A block of zstd is decoded whole: what is cut off may be all there is.
        assert!(kept > 20 || name.ends_with("zst"), "{kept}");
        sound(&corpus);
        scratch.write(name, &bytes);
        let report = ingest(&corpus, &[&file], &["--source", "web"]);
        assert_eq!(numbers(&report, ADDED), [300 - kept, kept, 0], "{name}");
        let whole = scratch.arg("whole");
        init(&whole, &[]);
        ingest(&whole, &[&file], &["--source", "web"]);
        assert_eq!(digest(&corpus), digest(&whole), "{name}");
    }
}

#[test]
fn errors_of_damaged_parquet_and_streams_name_the_file() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let pages = crawl(26, 200, true);
    let path = scratch.path("whole.parquet");
    parquet(&path, &pages);
    let whole = std::fs::read(&path).unwrap();
    for (name, bytes) in [
        ("cut.parquet", &whole[..whole.len() / 2]),
        ("no-end.parquet", &whole[..whole.len() - 1]),
        ("empty.parquet", b""),
    ] {
        let file = scratch.write(name, bytes);
        corpusdb(&["ingest", &corpus, &file, "--source", "web"]).fails(&[name, "byte"]);
    }
    let jsonl = lines(&pages);
    let mut random = Random::new(5);
    for (name, whole) in [
        ("flip.gz", gzip(jsonl.as_bytes())),
        ("flip.zst", zstd(jsonl.as_bytes())),
        ("flip.parquet", whole),
    ] {
        for _ in 0..8 {
            let mut bytes = whole.clone();
            let at = random.between(12, bytes.len() - 8);
            bytes[at] ^= 1 << random.below(8);
            let file = scratch.write(name, &bytes);
            let ran =
                corpusdb(&["ingest", &corpus, &file, "--source", name, "--batch-bytes", "8kB"]);
            // Parquet pages carry no checksum here: a flipped bit in a value cannot be noticed.
            assert!(
                ran.code == Some(2) && ran.stderr.contains(name)
                    || ran.code == Some(0) && name != "flip.gz",
                "byte {at}: {ran}"
            );
        }
    }
    sound(&corpus);
}

// ---- dry runs and decisions ----

#[test]
fn a_dry_run_reports_the_same_and_changes_nothing() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let pages = crawl(27, 120, true);
    let first = scratch.write("first.jsonl", lines(&pages[..60]));
    let second = scratch.write("second.jsonl", format!("{}broken\n", lines(&pages[60..])));
    let arguments = ["--source", "web", "--id-field", "id", "--batch-bytes", "2kB"];
    ingest(&corpus, &[&first], &arguments);
    let state = || {
        let mut entries: Vec<_> =
            std::fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        entries.sort();
        let sql =
            corpusdb(&["sql", &corpus, "SELECT * FROM commits", "--format", "csv"]).good().stdout;
        (digest(&corpus), entries, sql, corpusdb(&["rejects", &corpus, "--json"]).good().stdout)
    };
    let before = state();
    let decisions = scratch.arg("decisions.jsonl");
    let dry = ingest(
        &corpus,
        &[&second],
        &[&arguments[..], &["--dry-run", "--decisions", &decisions]].concat(),
    );
    assert_eq!(dry["dry_run"], true);
    // Those who read the lines of a log by their beginning find the verb there.
    let again = [&["ingest", &corpus, &second][..], &arguments[..], &["--dry-run", "--json"]];
    let told = corpusdb(&again.concat()).good().stdout;
    assert!(told.starts_with(r#"{"type":"ingest","source":"web","read":61,"#), "{told}");
    assert!(told.ends_with(",\"dry_run\":true}\n"), "{told}");
    assert_eq!(state(), before);
    let told = std::fs::read_to_string(&decisions).unwrap();
    let wet = ingest(&corpus, &[&second], &[&arguments[..], &["--decisions", &decisions]].concat());
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
    assert_eq!(
        told,
        std::fs::read_to_string(&decisions).unwrap(),
        "the decisions foretold are those taken"
    );
    assert_ne!(state(), before);
    sound(&corpus);
}

/// Expects a line a record, in order, that says what the corpus says. Meant for inputs without ids.
fn decisions_are_those_of(corpus: &str, decisions: &str, records: usize) {
    let lines = json_lines(&std::fs::read_to_string(decisions).unwrap());
    assert_eq!(lines.len(), records);
    let mut next = 0;
    for line in &lines {
        if line["standing"] == "rejected" {
            assert!(line["id"].is_null() && line["reason"].is_string(), "{line}");
            continue;
        }
        let shown = corpusdb(&["show", corpus, &line["id"].to_string(), "--json"]).good().json();
        assert_eq!(line["id"], next, "{line}");
        assert_eq!(
            (&line["key"], &line["standing"]),
            (&shown["key"], &shown["standing"]),
            "{line}"
        );
        let found = &shown["match"];
        for (name, of) in [
            ("kind", "kind"),
            ("witness", "witness"),
            ("witness_key", "witness_key"),
            ("witness_source", "witness_source"),
            ("jaccard", "jaccard"),
        ] {
            assert_eq!(line[name], found[of], "{name} of {line}");
        }
        next += 1;
    }
}

#[test]
fn decisions_name_every_record_also_after_a_resume() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let pages = crawl(28, 50, false);
    let whole = format!("{}bad\n{}", lines(&pages[..30]), lines(&pages[30..]));
    let bytes = gzip(whole.as_bytes());
    let file = scratch.write("a.jsonl.gz", &bytes[..bytes.len() / 2]);
    let decisions = scratch.arg("decisions.jsonl");
    let arguments = ["--source", "web", "--batch-bytes", "1kB", "--decisions", &decisions];
    // Interrupted: no file that looks complete.
    corpusdb(&[&["ingest", &corpus, &file], &arguments[..]].concat()).fails(&["a.jsonl.gz"]);
    assert!(!Path::new(&decisions).exists());
    let done: u64 = corpusdb(&["count", &corpus]).good().stdout.trim().parse().unwrap();
    assert!(done > 0 && done < 50, "{done}");
    scratch.write("a.jsonl.gz", &bytes);
    // Resumed, then all over again: whole each time.
    for expected in [[50 - done, done], [0, 50]] {
        let report = ingest(&corpus, &[&file], &arguments);
        assert_eq!(numbers(&report, ["added", "unchanged"]), expected);
        decisions_are_those_of(&corpus, &decisions, 51);
        std::fs::remove_file(&decisions).unwrap();
    }
    sound(&corpus);
}

#[test]
fn decisions_are_final_in_any_batches() {
    let scratch = TestDir::new();
    let common: String = (0..30).map(|at| format!("word{at} ")).collect();
    let pages: String = ["a", "a b", "a b c"]
        .map(|own| format!("{common}{own}"))
        .map(|text| format!("{}\n", serde_json::json!({ "text": text })))
        .concat();
    let pages = scratch.write("pages.jsonl", pages);
    let mut told = Vec::new();
    for bytes in ["1", "1MB"] {
        let corpus = scratch.arg(&format!("cut-{bytes}"));
        init(&corpus, &["--threshold", "0.5", "--keep", "longest"]);
        let decisions = scratch.arg(&format!("{bytes}.jsonl"));
        let arguments = ["--source", "web", "--batch-bytes", bytes, "--decisions", &decisions];
        ingest(&corpus, &[&pages], &arguments);
        decisions_are_those_of(&corpus, &decisions, 3);
        told.push(std::fs::read_to_string(&decisions).unwrap());
    }
    assert_eq!(told[0], told[1]);
    let kept = json_lines(&told[0]).iter().filter(|line| line["standing"] == "kept").count();
    assert_eq!(kept, 1, "{}", told[0]);

    // Stopped between two commits: all that was read is stored, and no file looks complete.
    let corpus = scratch.arg("stopped");
    init(&corpus, &[]);
    let many: String = lines(&crawl(29, 4000, false));
    let many = scratch.write("many.jsonl", many);
    let decisions = scratch.arg("stopped.jsonl");
    let arguments = [
        "ingest",
        &corpus,
        &many,
        "--source",
        "web",
        "--batch-bytes",
        "1",
        "--decisions",
        &decisions,
    ];
    let child = command(&arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let committed = || corpusdb(&["count", &corpus]).stdout.trim().parse().unwrap_or(0_u64) > 0;
    while !committed() {
        std::thread::sleep(Duration::from_millis(20));
    }
    interrupt(&child);
    let ended = child.wait_with_output().unwrap();
    assert!(!ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    for ending in ["", ".noted", ".partial"] {
        assert!(!Path::new(&format!("{decisions}{ending}")).exists(), "{ending}");
    }
}

// ---- keys ----

#[test]
fn a_repeated_key_supersedes_and_keeps_its_generations() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "year:int"]);
    let mut random = Random::new(29);
    let text = prose(&mut random, 0, 60);
    let page = |text: &str, year: u32| Page {
        fields: serde_json::json!({ "year": year }),
        ..Page::keyed("home", text)
    };
    let generations = [
        page(&text, 2001),
        page(&text, 2002),
        page(&edited(&mut random, &text, 2), 2003),
        page(&prose(&mut random, 1, 60), 2004),
    ];
    let file = scratch.write("a.jsonl", lines(&generations[..3]));
    let keyed = ["--source", "web", "--id-field", "id"];
    let report = ingest(&corpus, &[&file], &keyed);
    // Counts are of what the ingest came to: two of the three were superseded before its end.
    assert_eq!(numbers(&report, ["read", "added", "kept", "updated"]), [3, 3, 1, 2]);
    let file = scratch.write("b.jsonl", lines(&generations[2..]));
    let report = ingest(&corpus, &[&file], &keyed);
    assert_eq!(
        numbers(&report, ["read", "added", "kept", "unchanged", "updated"]),
        [2, 1, 1, 1, 1]
    );
    let shown = corpusdb(&["show", &corpus, "--key", "home", "--json"]).good().json_lines();
    let told: Vec<_> = shown
        .iter()
        .map(|one| {
            (
                one["standing"].as_str().unwrap(),
                one["match"]["witness"].as_u64(),
                one["fields"]["year"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("superseded", Some(1), Some(2001)),
            ("superseded", Some(2), Some(2002)),
            ("superseded", Some(3), Some(2003)),
            ("kept", None, Some(2004))
        ]
    );
    // An older state of the page that comes back is a new document too: keys say what is newest, not what is best.
    let report = ingest(&corpus, &[&scratch.write("c.jsonl", generations[0].line())], &keyed);
    assert_eq!(numbers(&report, ["added", "kept", "updated"]), [1, 1, 1]);
    // The same key in another source is another document.
    let report = ingest(&corpus, &[&file], &["--source", "mirror", "--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "updated"]), [2, 1]);
    assert_eq!(corpusdb(&["show", &corpus, "--key", "away"]).code, Some(1));
    sound(&corpus);
}

#[test]
fn ids_may_be_numbers_and_records_without_one_are_set_aside() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let file = scratch.write("a.jsonl", "{\"id\":7,\"text\":\"seven\"}\n{\"text\":\"none\"}\n{\"id\":[1],\"text\":\"a list\"}\n{\"id\":\"7\",\"text\":\"seven again\"}\n");
    let report = ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "updated", "rejected"]), [2, 1, 2]);
    let listed = corpusdb(&["rejects", &corpus]).good().stdout;
    assert_eq!(
        listed
            .matches("id field `id` is absent, blank, or neither a string nor an integer")
            .count(),
        2,
        "{listed}"
    );
    // Another reading of the same file is another reading: nothing is skipped, and without keys all is new.
    let report = ingest(&corpus, &[&file], &["--source", "web"]);
    assert_eq!(numbers(&report, ["read", "added"]), [4, 4]);
    sound(&corpus);
}

#[test]
fn empty_keys_are_refused_in_every_format() {
    // Each blank id superseded the record before, and a double was another key than the number that it is.
    let scratch = TestDir::new();
    let texts: ArrayRef = Arc::new(StringArray::from_iter_values([
        "first", "second", "third", "fourth", "fifth", "sixth",
    ]));
    let table = |ids: ArrayRef| {
        let batch =
            RecordBatch::try_from_iter([("id", ids), ("text", Arc::clone(&texts))]).unwrap();
        let mut bytes = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        bytes
    };
    let strings = [Some(""), Some("  "), None, Some("007"), Some("a"), Some("NaN")];
    let doubles = [1001.0, f64::NAN, 1.5, 9_007_199_254_740_992.0, -7.0, f64::INFINITY];
    let whole = [7, 0, -1, 9_007_199_254_740_993, i64::MAX, 1001];
    let json = |ids: &[&str]| -> String {
        let line = |(at, id): (usize, &&str)| format!("{{\"id\":{id},\"text\":\"text {at}\"}}\n");
        ids.iter().enumerate().map(line).collect()
    };
    let csv = "id,text\n,a 1\n\"  \",a 2\n007,a 3\n1001.0,a 4\n\"1001.0\",a 5\n1.10,a 6\n";
    let cases: [(&str, Vec<u8>, &[&str]); 5] = [
        ("strings.parquet", table(Arc::new(StringArray::from_iter(strings))), &["007", "a", "NaN"]),
        (
            "doubles.parquet",
            table(Arc::new(Float64Array::from_iter_values(doubles))),
            &["1001", "-7"],
        ),
        (
            "whole.parquet",
            table(Arc::new(Int64Array::from_iter_values(whole))),
            &["7", "0", "-1", "9007199254740993", "9223372036854775807", "1001"],
        ),
        (
            "lines.jsonl",
            json(&[
                "\"\"", "\" \"", "null", "\"007\"", "1001.0", "1.5", "1e3", "-0", "1e400", "true",
            ])
            .into(),
            &["007", "1001", "1000", "0"],
        ),
        ("table.csv", csv.into(), &["007", "1001", "1001.0", "1.10"]),
    ];
    for (name, bytes, expected) in cases {
        let corpus = scratch.arg(&format!("corpus of {name}"));
        init(&corpus, &["--mode", "none"]);
        let file = scratch.write(name, bytes);
        let report = ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
        let sql = ["sql", &corpus, "SELECT key FROM documents ORDER BY id", "--format", "json"];
        let keys = corpusdb(&sql).good().json_lines();
        let keys: Vec<&str> = keys.iter().map(|row| row["key"].as_str().unwrap()).collect();
        assert_eq!(keys, expected, "{name}");
        let [read, rejected, updated] = numbers(&report, ["read", "rejected", "updated"]);
        assert_eq!((read - rejected, updated), (expected.len() as u64, 0), "{name}");
    }
}

#[test]
fn an_empty_cell_equals_a_null() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let file = scratch.write("a.csv", "id,text,n\n1,,1\n2,\"\",2\n3,three words here,3\n");
    let report = ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
    assert_eq!(numbers(&report, ["added", "empty", "rejected"]), [2, 1, 1]);
    let rejects = corpusdb(&["rejects", &corpus]).good().stdout;
    assert!(rejects.contains("no text: field `text` is absent or null"), "{rejects}");
    sound(&corpus);
}

#[test]
fn oversized_keys_and_fields_are_whole_rejects() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let key = |length: usize| "k".repeat(length);
    let page = |id: &str, body: &str, note: &str| {
        format!("{}\n", serde_json::json!({ "id": id, "body": body, "note": note }))
    };
    let lines = [
        page(&key(8 << 10), "a key that is as long as it may be", ""),
        page(&key((8 << 10) + 1), "a key that is longer", ""),
        page("long", "fields that are long", &"n".repeat(2000)),
        page("twice", "a field that may not be there twice", "x")
            .replace("\"note\"", "\"lang\":1,\"language\""),
    ];
    let file = scratch.write("a.jsonl", lines.concat());
    let arguments = [
        "--source",
        "web",
        "--id-field",
        "id",
        "--text-field",
        "body",
        "--max-meta-bytes",
        "1000",
        "--map",
        "language=lang",
    ];
    let report = ingest(&corpus, &[&file], &arguments);
    assert_eq!(numbers(&report, ["added", "rejected"]), [1, 3]);
    let rejects = corpusdb(&["rejects", &corpus, "--json"]).good().json_lines();
    for (reject, (line, reason)) in rejects.iter().zip(lines[1..].iter().zip([
        "its key has 8193 bytes, over the limit of 8192 (--max-key-bytes)",
        "its fields have 2011 bytes, over the limit of 1000 (--max-meta-bytes)",
        "field `lang` cannot be renamed to `language`",
    ])) {
        assert!(reject["reason"].as_str().unwrap().contains(reason), "{reject}");
        // What stands in the reject can be read again as it was.
        let raw: serde_json::Value = serde_json::from_str(reject["raw"].as_str().unwrap()).unwrap();
        assert_eq!(raw, serde_json::from_str::<serde_json::Value>(line).unwrap());
    }
    let more = [&arguments[..6], &["--max-key-bytes", "10kB"]].concat();
    assert_eq!(numbers(&ingest(&corpus, &[&file], &more), ["added", "rejected"]), [3, 0]);
    sound(&corpus);
}

#[test]
fn an_unknown_tokenizer_is_refused_before_anything_is_read() {
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let file = scratch.write("a.jsonl", lines(&crawl(30, 5, false)));
    corpusdb(&["ingest", &corpus, &file, "--source", "web", "--tokenizer", "gpt2"])
        .fails(&["no tokenizer `gpt2`", "tokenizer add"]);
    assert_eq!(corpusdb(&["count", &corpus]).good().stdout, "0\n");
}
