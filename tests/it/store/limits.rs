//! Limits: of files and directories, memory of verbs and control groups, room on a disk.

use crate::support::{
    HELD, Page, Ran, Random, TestDir, copy, corpusdb, corpusdb_test, corpusdb_within, crawl,
    digest, file_names, ingest, init, lines, numbers, prose, ran, repository, sound, writer,
};
use arrow::array::{ArrayRef, RecordBatch, StringArray};
use corpusdb::ingest::Records;
use corpusdb::store::DryRunCorpus;
use corpusdb::{Context, Corpus, IngestOptions};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use roaring::RoaringTreemap;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

// ----
// Limits of the process and of the corpus directory: trials that leave nothing, low limits that are raised or named.

/// The command under a limit that the shell sets.
fn limited(limit: &str, arguments: &[&str]) -> Ran {
    let script = format!("ulimit {limit}; exec \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_corpusdb")]).args(arguments);
    ran(arguments, command.output().unwrap())
}

fn tables(corpus: &str) -> usize {
    let names = file_names(Path::new(corpus).join("db")).into_iter();
    names.filter(|name| name.ends_with(".sst")).count()
}

corpusdb_test!(many_tables_raise_the_soft_limit_of_open_files, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "url:keyword", "--field", "year:int"]);
    for part in 0..3 {
        let file = scratch.write(&format!("{part}.jsonl"), lines(&crawl(part, 20, false)));
        ingest(&corpus, &[&file], &["--source", "web"]);
    }
    let tables = tables(&corpus);
    assert!(tables > 40, "{tables} tables");
    let limit = tables / 2;
    limited(&format!("-Sn {limit}"), &["count", &corpus]).good();
    limited(&format!("-n {limit}"), &["count", &corpus]).fails(&["open files", "ulimit -n"]);
    let file = scratch.write("more.jsonl", lines(&crawl(9, 20, false)));
    let more = ["ingest", &corpus, &file, "--source", "web"];
    limited(&format!("-n {limit}"), &more).fails(&["open files", "ulimit -n"]);
    sound(&corpus);
});

corpusdb_test!(an_ingest_resumes_after_a_file_size_limit, |scratch| {
    let (corpus, whole) = (scratch.arg("corpus"), scratch.arg("whole"));
    let file = scratch.write("a.jsonl", lines(&crawl(5, 900, true)));
    let arguments = |corpus: &str| {
        ["ingest", corpus, &file, "--source", "web", "--id-field", "id", "--batch-bytes", "64kB"]
            .map(str::to_owned)
    };
    for corpus in [&corpus, &whole] {
        init(corpus, &[]);
    }
    corpusdb(&arguments(&whole)).good();
    let words = arguments(&corpus);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    // In blocks of 512 or of 1,024 bytes, as shells differ.
    limited("-f 200", &words).fails(&["too large", "ulimit -f"]);
    sound(&corpus);
    corpusdb(&words).good();
    assert_eq!(digest(&corpus), digest(&whole));
});

/// Names the corpus to the process that writes to it where no file may be large.
const REFUSED: &str = "CORPUSDB_TEST_REFUSED";

/// A program whose writes are refused. Each further call on its handle is refused too, and it lives.
fn write_beyond_a_limit(path: &Path) {
    let mut writer = writer(path);
    let records = (0..6_000).map(|at| {
        let text = prose(&mut Random::new(at), 1, 60);
        Ok::<_, std::io::Error>(Ok(format!("{{\"text\":\"{at} {text}\"}}")))
    });
    let context = Context::new();
    let options = IngestOptions::new("web");
    let mut refused = Vec::new();
    let records = Records::objects("records", records);
    refused.extend(writer.ingest(records, &options, &context).map(drop).err());
    let first: RoaringTreemap = (0..1).collect();
    refused.extend(writer.remove(&first, true, &context).map(drop).err());
    refused.extend(writer.compact(&context).map(drop).err());
    // A thread of RocksDB waited for room behind a refused write, and closing waited for the thread.
    drop(writer);
    let words: Vec<String> = refused.iter().map(ToString::to_string).collect();
    println!("refused {}: {words:?}", refused.len());
}

// What RocksDB did not write it went on without.
corpusdb_test!(a_handle_whose_write_was_refused_is_dead, |scratch| {
    if let Some(path) = std::env::var_os(REFUSED) {
        return write_beyond_a_limit(Path::new(&path));
    }
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let file = scratch.write("a.jsonl", lines(&crawl(5, 40, true)));
    ingest(&corpus, &[&file], &["--source", "web"]);
    let test = "store::limits::a_handle_whose_write_was_refused_is_dead";
    // In blocks of 512 or of 1,024 bytes: opening writes some 400 kB of options.
    for limit in ["1000", "2000", "3000"] {
        let script = format!("trap '' XFSZ; ulimit -f {limit}; exec \"$@\"");
        let mut command = Command::new("timeout");
        command.args(["120", "sh", "-c", &script, "sh"]);
        command.arg(std::env::current_exe().unwrap()).args(["--exact", test, "--nocapture"]);
        let output = command.env(REFUSED, &corpus).output().unwrap();
        let words = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{limit}: {output:?}");
        assert!(words.contains("refused 3: "), "{limit}: {words}");
    }
    ingest(&corpus, &[&file], &["--source", "again"]);
    sound(&corpus);
});

corpusdb_test!(a_trial_on_a_corpus_of_an_older_format_does_not_migrate_it, |scratch| {
    let path = scratch.path("corpus");
    copy(&repository("tests/formats/v8/corpus"), &path);
    let format = std::fs::read(path.join("FORMAT")).unwrap();
    let before = file_names(&path);
    let file = scratch.write("a.jsonl", lines(&[Page::keyed("new", "a page that is new to it")]));
    let corpus = scratch.arg("corpus");
    let words =
        ["ingest", &corpus, &file, "--source", "web", "--id-field", "id", "--dry-run", "--json"];
    assert_eq!(corpusdb(&words).good().json()["added"], 1);
    assert_eq!(std::fs::read(path.join("FORMAT")).unwrap(), format);
    let after = file_names(&path).into_iter().filter(|name| name != "writer.lock");
    assert_eq!(
        after.collect::<Vec<_>>(),
        before.into_iter().filter(|n| n != "writer.lock").collect::<Vec<_>>()
    );
    let golden = std::fs::read_to_string(repository("tests/formats/v8/digest")).unwrap();
    drop(writer(&path));
    assert_eq!(digest(&corpus), golden.trim());
});

corpusdb_test!(the_next_writer_removes_the_twin_of_a_killed_process, |scratch| {
    let path = scratch.path("corpus");
    init(&scratch.arg("corpus"), &[]);
    let stale = [
        format!("dry-run-{}-0", std::process::id()),
        "dry-run-999999-0".to_owned(),
        "opening-999999-3".to_owned(),
    ];
    let leave = || {
        for name in &stale {
            std::fs::create_dir_all(path.join(name).join("db")).unwrap();
            std::fs::write(path.join(name).join("alive"), "").unwrap();
        }
        // As earlier releases made them.
        std::fs::create_dir_all(path.join("dry-run-77-0/db")).unwrap();
    };
    let litter = || {
        file_names(&path)
            .into_iter()
            .filter(|n| n.starts_with("dry-run") || n.starts_with("opening"))
            .count()
    };
    leave();
    drop(writer(&path));
    assert_eq!(litter(), 0);
    leave();
    let trial = DryRunCorpus::make(&path).unwrap();
    assert_eq!(litter(), 1, "its own");
    // A writer beside it leaves it alone; it goes with its owner.
    drop(writer(&path));
    assert!(trial.path().join("FORMAT").exists());
    drop(trial);
    assert_eq!(litter(), 0);
    // The user's own directories are nobody's litter.
    std::fs::create_dir(path.join("dry-runs")).unwrap();
    drop(writer(&path));
    assert!(path.join("dry-runs").exists());
});

// ----
// What the machine gives: memory of a control group, and room on a disk that is known to be too little.

/// Says to this binary that it runs within a control group.
const WITHIN: &str = "CORPUSDB_TEST_WITHIN_GROUP";
const LIMIT: u64 = 768 << 20;

/// A control group made below that of this process; none where the machine does not let it.
struct Group(PathBuf);

impl Group {
    fn make() -> Option<Self> {
        let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
        groups.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':').skip(1);
            let (controllers, group) = (parts.next()?, parts.next()?.trim_start_matches('/'));
            let (top, limit) = match controllers {
                "" => ("/sys/fs/cgroup", "memory.max"),
                "memory" => ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
                _ => return None,
            };
            let name = format!("corpusdb-test-{}", std::process::id());
            let path = Path::new(top).join(group).join(name);
            std::fs::create_dir(&path).ok()?;
            let made = Self(path);
            std::fs::write(made.0.join(limit), LIMIT.to_string()).ok()?;
            Some(made)
        })
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A container of 4 GB on a large host was killed: by default a quarter of the host's memory was taken.
#[test]
fn the_default_memory_is_a_quarter_of_the_control_group() {
    if std::env::var_os(WITHIN).is_some() {
        println!("it takes {}", Corpus::options().memory_bytes());
        return;
    }
    let Some(group) = Group::make() else {
        println!("left out: no control group can be made here");
        return;
    };
    let script = "echo $$ > \"$1/cgroup.procs\" || exit 77; shift; exec \"$@\"";
    let test = "store::limits::the_default_memory_is_a_quarter_of_the_control_group";
    let output = Command::new("sh")
        .args(["-c", script, "sh"])
        .args([group.0.as_os_str(), std::env::current_exe().unwrap().as_os_str()])
        .args(["--exact", test, "--nocapture"])
        .env(WITHIN, "1")
        .output()
        .unwrap();
    if output.status.code() == Some(77) {
        println!("left out: no process may be put into the group");
        return;
    }
    let answer = String::from_utf8_lossy(&output.stdout);
    assert!(answer.contains(&format!("it takes {}\n", LIMIT / 4)), "{answer}");
}

/// The command, with a disk of 1 MB mounted at `disk` for it alone; none where that is not allowed.
fn with_small_disk(disk: &str, arguments: &[&str]) -> Option<Ran> {
    with_disk("1m", disk, arguments)
}

/// The same, with a disk of that size.
fn with_disk(size: &str, disk: &str, arguments: &[&str]) -> Option<Ran> {
    let script = "mount -t tmpfs -o size=$1 none \"$2\" || exit 77; shift 2; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", script, "sh", size, disk]);
    command.arg(env!("CARGO_BIN_EXE_corpusdb")).args(arguments);
    let output = command.output().ok()?;
    let words = String::from_utf8_lossy(&output.stderr);
    let is_refused = output.status.code() == Some(77) || words.contains("unshare");
    if is_refused {
        println!("left out: no disk can be mounted here: {words}");
        return None;
    }
    Some(ran(arguments, output))
}

// Each of them wrote until the disk was full.
corpusdb_test!(writes_without_room_are_refused_before_they_begin, |scratch, corpus| {
    let random = &mut Random::new(9);
    let pages: Vec<Page> = (0..150).map(|at| Page::new(prose(random, at, 6_000))).collect();
    scratch.ingest(&corpus, "pages.jsonl", lines(&pages), &["--source", "web"]);
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
    let (backups, disk) = (scratch.arg("backups"), scratch.arg("disk"));
    corpusdb(&["backup", "create", &corpus, &backups]).good();
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let recipe = "version = 1\n[pack]\nkind = \"concat\"\nlength = 256\n[output]\nformat = \"raw\"";
    let recipe = scratch.write("recipe.toml", recipe);
    let (plain, packed) = (scratch.arg("disk/all.jsonl"), scratch.arg("disk/all.jsonl.zst"));
    let (again, epoch) = (scratch.arg("disk/again"), scratch.arg("disk/epoch"));
    let needs = ["at least", "MB free", "free space"];
    for (arguments, words) in [
        (vec!["export", &corpus, "--to", &plain], "exporting to"),
        (vec!["backup", "restore", &backups, &again], "restoring to"),
        (vec!["epoch", "build", &corpus, &recipe, "--out", &epoch], "building"),
    ] {
        let Some(ran) = with_small_disk(&disk, &arguments) else { return };
        ran.fails(&needs).fails(&[words]);
    }
    // How large these become nobody knows before: they go on until the disk says no.
    let Some(ran) = with_small_disk(&disk, &["export", &corpus, "--to", &packed]) else { return };
    assert!(!ran.stderr.contains("at least"), "{}", ran.stderr);
    sound(&corpus);
    // With room they are done.
    corpusdb(&["export", &corpus, "--to", &plain]).good();
    corpusdb(&["backup", "restore", &backups, &again]).good();
    corpusdb(&["epoch", "build", &corpus, &recipe, "--out", &epoch]).good();
});

// With `--json` and with `--no-progress` it was not said.
corpusdb_test!(a_possible_lack_of_room_is_noted_also_under_json, |scratch, corpus| {
    let random = &mut Random::new(11);
    let pages: Vec<Page> = (0..150).map(|at| Page::new(prose(random, at, 6_000))).collect();
    scratch.ingest(&corpus, "pages.jsonl", lines(&pages), &["--source", "web"]);
    corpusdb(&["compact", &corpus]).good();
    std::fs::create_dir(scratch.path("disk")).unwrap();
    let (disk, new) = (scratch.arg("disk"), scratch.arg("disk/new"));
    for more in [&[][..], &["--no-progress"], &["--json"]] {
        let arguments = [&["check", &corpus, "--salvage", &new], more].concat();
        let Some(ran) = with_disk("100k", &disk, &arguments) else { return };
        let note = ran.stderr.lines().find(|line| line.contains("may need up to"));
        let note = note.unwrap_or_else(|| panic!("{ran}"));
        if more.contains(&"--json") {
            let note: serde_json::Value = serde_json::from_str(note).unwrap();
            assert_eq!(note["type"], "note");
            assert!(note["message"].as_str().unwrap().contains("kB free"), "{note}");
        } else {
            assert!(note.starts_with("the copy may need up to"), "{note}");
        }
    }
});

// ----
// Memory of the verbs, with records that are very long, or of very different lengths.

/// Documents added under `--memory 256MB`, in a process that is not to hold more than [`HELD`].
fn ingest_within(scratch: &TestDir, path: &str) -> u64 {
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let ingest = ["ingest", &corpus, path, "--source", "main", "--memory", "256MB", "--json"];
    let (ran, _) = corpusdb_within(&ingest, HELD);
    ran.good().json()["added"].as_u64().unwrap()
}

// Rows were decoded many at a time by their average length: 1.5 GB of the long ones among short ones.
corpusdb_test!(parquet_rows_of_very_different_length_stay_within_memory, |scratch| {
    let path = scratch.path("skewed.parquet");
    let short = (0..20_000).map(|n| format!("a short text, number {n}"));
    let long = (0..500).map(|n| format!("{n} {}", "x".repeat(1 << 20)));
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1).unwrap()))
        .set_max_row_group_row_count(Some(1 << 20))
        .build();
    let batch = |texts: Vec<String>| {
        let texts: ArrayRef = Arc::new(StringArray::from(texts));
        RecordBatch::try_from_iter([("text", texts)]).unwrap()
    };
    let first = batch(short.collect());
    let file = std::fs::File::create(&path).unwrap();
    let mut writer = ArrowWriter::try_new(file, first.schema(), Some(properties)).unwrap();
    writer.write(&first).unwrap();
    for text in long {
        writer.write(&batch(vec![text])).unwrap();
    }
    writer.close().unwrap();
    assert_eq!(ingest_within(&scratch, &path.display().to_string()), 20_500);
});

// Verification read 512 rows at a time, whatever their length: 2.29 GB of rows of 262,144 tokens.
corpusdb_test!(epochs_of_very_long_rows_stay_within_memory, |scratch, corpus| {
    let text = prose(&mut Random::new(3), 0, 130_000);
    let file = scratch.write("long.jsonl", lines(&[Page::new(text), Page::new("a few words")]));
    corpusdb(&["ingest", &corpus, &file, "--source", "main"]).good();
    corpusdb(&["tokenizer", "train", &corpus, "own", "--vocab-size", "300"]).good();
    let recipe = "version = 1\n[select]\nmin_tokens = 1000\nrepeat = \"48\"\n[pack]\nkind = \"greedy\"\nlength = 262144\n\
         options = { long = \"truncate\" }\n[output]\ncolumns = [\"labels\", \"position_ids\", \"segment_ids\", \"seq_idx\"]\n";
    let recipe = scratch.write("recipe.toml", recipe);
    let out = scratch.arg("out");
    let within = |arguments: &[&str]| {
        let all = [&["epoch"], arguments, &["--memory", "256MB"]].concat();
        corpusdb_within(&all, HELD).0.good()
    };
    within(&["build", &corpus, &recipe, "--out", &out]);
    let verified = within(&["verify", &corpus, &out]);
    assert!(verified.stdout.contains("48 segments"), "{}", verified.stdout);
    within(&["stream", &corpus, "1", "--batches", "12", "--format", "arrow"]);
    within(&["row", &corpus, "1", "40"]);
});

// MDS and LitData held a whole shard, of up to 4 GiB, whatever memory there was.
corpusdb_test!(a_shard_larger_than_memory_is_built_within_it, |scratch, corpus| {
    let text = prose(&mut Random::new(3), 0, 130_000);
    let file = scratch.write("long.jsonl", lines(&[Page::new(text), Page::new("a few words")]));
    corpusdb(&["ingest", &corpus, &file, "--source", "main"]).good();
    let train =
        ["tokenizer", "train", &corpus, "own", "--vocab-size", "300", "--special", "<|pad|>"];
    corpusdb(&train).good();
    let columns =
        "columns = [\"labels\", \"position_ids\", \"segment_ids\", \"seq_idx\", \"loss_weights\"]";
    let mds = format!("\"mds\"\n{columns}");
    let outputs = [
        &*mds,
        "\"litdata\"",
        "\"jsonl\"",
        "\"arrow\"",
        "\"megatron\"",
        "\"raw\"\nlayout = \"olmo\"",
    ];
    for (number, output) in outputs.into_iter().enumerate() {
        let recipe = format!(
            "version = 1\n[tokenizer]\nspecials = {{ pad = \"<|pad|>\" }}\n[select]\nmin_tokens = 1000\nrepeat = \"96\"\n\
             [pack]\nkind = \"greedy\"\nlength = 262144\noptions = {{ long = \"truncate\" }}\n[output]\n\
             shard_bytes = 1073741824\nformat = {output}\n"
        );
        let recipe = scratch.write("recipe.toml", recipe);
        let out = scratch.arg(&format!("out-{number}"));
        let build = ["epoch", "build", &corpus, &recipe, "--out", &out, "--memory", "256MB"];
        corpusdb_within(&build, HELD).0.good();
        std::fs::remove_dir_all(&out).unwrap();
    }
});

/// What a command with `--memory 64MB` may hold: the least that its parts take, the program with its threads,
/// and a few texts of a megabyte.
const SMALL: u64 = 320 << 20;

/// A corpus of 120 texts of a megabyte among short ones, more than a command may hold, with a tokenizer and
/// 120 rejects as long.
fn long_texts(scratch: &TestDir) -> String {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--field", "quality:float"]);
    let mut lines = String::new();
    for n in 0..1000 {
        let text = format!("a short text, the number {n} of them, of a few words {}", n * 7);
        writeln!(lines, "{}", json!({ "id": n.to_string(), "text": text })).unwrap();
    }
    let short = scratch.write("short.jsonl", &lines);
    within(&["ingest", &corpus, &short, "--source", "short", "--id-field", "id"]);
    within(&["tokenizer", "train", &corpus, "own", "--model", "bpe", "--vocab-size", "300"]);
    lines.clear();
    for n in 0..120 {
        let text = format!("long{n} of word{n} and term{n} ").repeat(40_000);
        writeln!(lines, "{}", json!({ "id": format!("L{n}"), "text": text })).unwrap();
        writeln!(lines, "no JSON {n} {}", "raw bytes ".repeat(100_000)).unwrap();
    }
    let long = scratch.write("long.jsonl", lines);
    let ingest = ["ingest", &corpus, &long, "--source", "long", "--id-field", "id"];
    let ran = within(&[&ingest[..], &["--on-error", "reject", "--json"]].concat());
    assert_eq!(numbers(&ran.json(), ["added", "rejected"]), [120, 120]);
    corpus
}

/// Runs a command under `--memory 64MB`, which is not to hold more than [`SMALL`].
#[track_caller]
fn within(arguments: &[&str]) -> Ran {
    let (ran, peak) = corpusdb_within(&[arguments, &["--memory", "64MB"]].concat(), SMALL);
    // The figures are shown with --nocapture. What finds nothing similar ends with 1.
    eprintln!("{} MiB: {}", peak >> 20, arguments.join(" "));
    assert!(matches!(ran.code, Some(0 | 1)), "{ran}");
    ran
}

// Most verbs were never measured: one that held what it goes through would have gone unseen.
corpusdb_test!(verbs_that_read_long_texts_stay_within_the_memory_given, |scratch| {
    let corpus = long_texts(&scratch);
    let page = scratch.write("page.txt", "long3 of word3 and term3 ".repeat(40_000));
    let all = "SELECT id, text FROM documents";
    for arguments in [
        &["info", &corpus][..],
        &["rejects", &corpus, "--limit", "200", "--json"],
        &["sql", &corpus, all, "--format", "csv"],
        &["sql", &corpus, "SELECT sum(length(raw)) FROM rejects"],
        &["sql", &corpus, "SELECT max(text) FROM documents GROUP BY source"],
        &["count", &corpus, "--where", "length(text) > 1000"],
        &["sample", &corpus, "-n", "20", "--where", "source = 'long'"],
        &["show", &corpus, "L7"],
        &["show", &corpus, "L7", "--tokens", "--json"],
        &["similar", &corpus, "--file", &page],
        &["similar", &corpus, "L5", "--all"],
        &["duplicates", &corpus, "--list"],
        &["dedup", "explain", &corpus],
        &["tokenizer", "analyse", &corpus, "own"],
        &["tokenizer", "check", &corpus, "own"],
        &["tokenizer", "backfill", &corpus, "own"],
        &["check", &corpus, "--deep"],
        &["check", &corpus, "--digest"],
    ] {
        within(arguments);
    }
});

corpusdb_test!(changes_of_long_texts_stay_within_memory, |scratch| {
    let corpus = long_texts(&scratch);
    let file = scratch.arg("tokenizer.json");
    within(&["tokenizer", "export", &corpus, "own", &file]);
    let scores: String =
        (0..1000).map(|n| format!("{{\"id\":\"{n}\",\"quality\":0.5}}\n")).collect();
    let scores = scratch.write("scores.jsonl", scores);
    let recipe = scratch.write(
        "recipe.toml",
        "version = 1\nseed = 1\n[tokenizer]\nname = \"own\"\n[[source]]\nname = \"long\"\nweight = 1.0\n[pack]\nkind = \"best-fit\"\nlength = 512\n[output]\nformat = \"jsonl\"\n",
    );
    let out = scratch.arg("epoch");
    for arguments in [
        &["tokenizer", "add", &corpus, "again", &file][..],
        &["field", "set", &corpus, "quality", "--from", &scores, "--key", "id"],
        &["snapshot", "create", &corpus, "now"],
        &["epoch", "build", &corpus, &recipe, "--out", &out],
        &["dedup", "redo", &corpus, "--threshold", "0.7"],
        &["dedup", "settle", &corpus],
        &["remove", &corpus, "--where", "source = 'long'", "--block", "similar"],
        &["restore", &corpus, "--where", "source = 'long'"],
        &["compact", &corpus],
    ] {
        within(arguments);
    }
});

// A Unigram looked at all of a text at once, and the other models listed all of its words: 1.4 GB and 0.6 GB of
// 60 MB under `--memory 256MB`.
corpusdb_test!(one_very_long_text_is_encoded_within_the_memory_given, |scratch, corpus| {
    let mut random = Random::new(11);
    let page = |random: &mut Random| Page::new(prose(random, 0, 300));
    let short: Vec<Page> = (0..100).map(|_| page(&mut random)).collect();
    let short = scratch.write("short.jsonl", lines(&short));
    within(&["ingest", &corpus, &short, "--source", "main"]);
    for model in ["bpe", "unigram", "wordpiece"] {
        within(&["tokenizer", "train", &corpus, model, "--model", model, "--vocab-size", "300"]);
    }
    let words: Vec<String> = (0..997).map(|n| format!("w{}", n * n % 1009)).collect();
    let text = words.join(" ").repeat(12_000_000 / words.concat().len());
    let long = scratch.write("long.jsonl", format!("{}\n", json!({ "text": text })));
    within(&["ingest", &corpus, &long, "--source", "main"]);
});
