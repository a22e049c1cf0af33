//! Damage on disk: every answer is the right one or an error, never a shorter one, never a panic.

use crate::support::{
    Random, TestDir, command, copy, corpusdb, corpusdb_test, crawl, kill, lines, make, paths_below,
    trained, writer,
};
use corpusdb::ingest::ReadOptions;
use corpusdb::store::CheckDepth;
use corpusdb::{Context, Corpus, DedupMode, DocId, Error, IngestOptions};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// Small, so that the files are read and not remembered.
const MEMORY: u64 = 16 << 20;

/// A corpus with rows in every family: all standings, tokens, fields, rejects, snapshots, members.
fn make_corpus(path: &Path, scratch: &TestDir) {
    make(path, DedupMode::Witness, 0.7);
    let mut writer = writer(path);
    let pages = crawl(91, 160, true);
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    let options = IngestOptions { batch_bytes: 8 << 10, read, ..IngestOptions::new("web") };
    for (at, part) in pages.chunks(80).enumerate() {
        let file = scratch.write(&format!("{at}.jsonl"), format!("{}bad line\n", lines(part)));
        writer.ingest(&[file], &options, &Context::new()).unwrap();
        if at == 0 {
            writer.add_tokenizer("own", trained(), "", &Context::new()).unwrap();
        }
    }
    writer.create_snapshot("now").unwrap();
}

type Question = (&'static str, fn(&Corpus) -> Result<String, Error>);

/// What is asked of a damaged corpus; each answer is complete or an error.
const QUESTIONS: [Question; 9] = [
    ("info", |corpus| Ok(serde_json::to_string(&corpus.info()?).unwrap())),
    ("count", |corpus| Ok(format!("{} {}", corpus.count(None)?, corpus.count("kept")?))),
    ("count by field", |corpus| {
        Ok(format!(
            "{} {}",
            corpus.count("language = 'ru' AND year > 2000")?,
            corpus.count("url < 'https://example.org/3'")?
        ))
    }),
    ("select", |corpus| rows(corpus, "SELECT * FROM documents")),
    ("group", |corpus| {
        rows(
            corpus,
            "SELECT source, standing, count(*), sum(tokens), sum(bytes) FROM documents GROUP BY source, standing ORDER BY source, standing",
        )
    }),
    ("duplicates", |corpus| {
        let pairs = corpus.duplicates(None)?.collect::<Result<Vec<_>, _>>()?;
        Ok(format!("{pairs:?}"))
    }),
    ("show", |corpus| {
        (0..corpus.view().documents())
            .map(|id| Ok(serde_json::to_string(&corpus.show(DocId(id))?).unwrap()))
            .collect()
    }),
    ("rejects", |corpus| {
        Ok(format!(
            "{:?} {:?} {:?}",
            corpus.rejects(100)?.collect::<Result<Vec<_>, _>>()?,
            corpus.view().commits()?,
            corpus.view().snapshots()?
        ))
    }),
    ("digest", |corpus| corpus.digest(&Context::new())),
];

fn rows(corpus: &Corpus, statement: &str) -> Result<String, Error> {
    let mut all = String::new();
    for batch in corpus.sql(statement)? {
        let batch = arrow::util::pretty::pretty_format_batches(&[batch?]);
        all += &batch.unwrap().to_string();
    }
    Ok(all)
}

/// What a corpus answers: to each question a text or an error; or that it cannot be opened.
struct Answers {
    opened: Result<(), String>,
    answers: Vec<Result<String, String>>,
    /// Faults found by the deepest check, and whether it could be done.
    faults: Result<usize, String>,
}

fn ask(path: &Path) -> Answers {
    let words = |error: Error| {
        let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
        format!("{error}{}", source.unwrap_or_default())
    };
    match Corpus::options().memory(MEMORY).open(path) {
        Err(error) => Answers { opened: Err(words(error)), answers: Vec::new(), faults: Ok(0) },
        Ok(corpus) => Answers {
            opened: Ok(()),
            answers: QUESTIONS.iter().map(|(_, ask)| ask(&corpus).map_err(words)).collect(),
            faults: corpus
                .check(CheckDepth::Deep, &Context::new())
                .map(|faults| faults.len())
                .map_err(words),
        },
    }
}

/// Expects that nothing the damaged corpus says is wrong; answers whether the damage was noticed.
fn honest(whole: &Answers, damaged: &Path, what: &str, faults: &mut Vec<String>) -> bool {
    let Ok(found) = catch_unwind(AssertUnwindSafe(|| ask(damaged))) else {
        faults.push(format!("{what}: panic"));
        return true;
    };
    if let Err(error) = &found.opened {
        assert!(!error.is_empty(), "{what}: an error without words");
        return true;
    }
    let mut wrong = Vec::new();
    for (((name, _), whole), found) in QUESTIONS.iter().zip(&whole.answers).zip(&found.answers) {
        if found.is_ok() && found != whole {
            wrong.push(*name);
        }
    }
    let noticed = !matches!(found.faults, Ok(0));
    if !wrong.is_empty() {
        faults.push(format!(
            "{what}: wrong answers to {}; the check {}",
            wrong.join(", "),
            if noticed { "notices" } else { "finds nothing" }
        ));
    }
    let failed = found.answers.iter().any(Result::is_err);
    if failed && !noticed {
        faults.push(format!("{what}: a question failed and the check finds nothing"));
    }
    noticed || failed
}

/// Files of the database that hold data: not its diary, nor what it wrote for people.
fn data_files(corpus: &Path) -> Vec<PathBuf> {
    let mut files = paths_below(&corpus.join("db"));
    files.retain(|path| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.ends_with(".sst")
            || name.ends_with(".log")
            || name.starts_with("MANIFEST")
            || name == "CURRENT"
    });
    files
}

/// The tables among them.
fn tables(corpus: &Path) -> Vec<PathBuf> {
    let mut files = data_files(corpus);
    files.retain(|path| path.extension().is_some_and(|end| end == "sst"));
    files
}

/// Does something to one file of a corpus, asks, and puts the file back.
struct Bench {
    corpus: PathBuf,
    whole: Answers,
    faults: Vec<String>,
    tried: usize,
    noticed: usize,
}

impl Bench {
    fn new(corpus: &Path) -> Self {
        let whole = ask(corpus);
        assert!(
            whole.opened.is_ok() && whole.answers.iter().all(Result::is_ok),
            "{:?}",
            whole.answers
        );
        assert_eq!(whole.faults, Ok(0));
        Self { corpus: corpus.to_path_buf(), whole, faults: Vec::new(), tried: 0, noticed: 0 }
    }

    /// `None` deletes the file.
    fn try_with(&mut self, file: &Path, bytes: Option<&[u8]>, what: &str) -> bool {
        let before = std::fs::read(file).unwrap();
        match bytes {
            Some(bytes) => std::fs::write(file, bytes).unwrap(),
            None => std::fs::remove_file(file).unwrap(),
        }
        let what = format!("{} {what}", file.file_name().unwrap().to_string_lossy());
        let noticed = honest(&self.whole, &self.corpus, &what, &mut self.faults);
        std::fs::write(file, before).unwrap();
        self.tried += 1;
        self.noticed += usize::from(noticed);
        noticed
    }

    fn flip(&mut self, file: &Path, at: usize, bit: usize) -> bool {
        let mut bytes = std::fs::read(file).unwrap();
        bytes[at] ^= 1 << bit;
        self.try_with(
            file,
            Some(&bytes),
            &format!("of {} bytes, bit {bit} of byte {at} flipped", bytes.len()),
        )
    }

    fn cut(&mut self, file: &Path, at: usize) -> bool {
        let bytes = std::fs::read(file).unwrap();
        self.try_with(file, Some(&bytes[..at]), &format!("of {} bytes cut at {at}", bytes.len()))
    }

    /// Expects that no answer was wrong.
    #[track_caller]
    fn done(self) {
        assert!(
            ask(&self.corpus).answers == self.whole.answers,
            "the bench itself damaged the corpus"
        );
        assert!(
            self.faults.is_empty(),
            "{} of {}:\n{}",
            self.faults.len(),
            self.tried,
            self.faults.join("\n")
        );
        // Bytes that are padding, names or hints may go unnoticed, but most bytes are data.
        assert!(
            self.noticed * 10 >= self.tried * 8,
            "{} of {} damages were noticed",
            self.noticed,
            self.tried
        );
    }
}

corpusdb_test!(a_flipped_bit_in_any_file_is_an_error_or_harmless, |scratch| {
    let corpus = scratch.path("corpus");
    make_corpus(&corpus, &scratch);
    let mut bench = Bench::new(&corpus);
    let mut random = Random::new(1);
    for file in data_files(&corpus) {
        let length = std::fs::metadata(&file).unwrap().len() as usize;
        if length > 0 {
            bench.flip(&file, random.below(length), random.below(8));
        }
    }
    bench.done();
});

corpusdb_test!(a_damaged_band_run_is_an_error_or_harmless, |scratch| {
    let corpus = scratch.path("corpus");
    make(&corpus, DedupMode::Witness, 0.7);
    let file = scratch.write("a.jsonl", lines(&crawl(95, 500, true)));
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    let options = IngestOptions { read, ..IngestOptions::new("web") };
    {
        let mut writer = writer(&corpus);
        writer.add_tokenizer("own", trained(), "", &Context::new()).unwrap();
        writer.ingest(&[file], &options, &Context::new()).unwrap();
    }
    let bytes_of = |family: &str| {
        let corpus = Corpus::options().memory(MEMORY).open(&corpus).unwrap();
        let found = corpus.view().disk_usage().unwrap();
        found.into_iter().find(|(name, _)| *name == family).unwrap().1
    };
    assert!(bytes_of("band_runs") > 40_000, "the commit wrote no run");
    assert_eq!(bytes_of("bands"), 0);
    let mut bench = Bench::new(&corpus);
    let mut random = Random::new(7);
    for file in tables(&corpus) {
        let length = std::fs::metadata(&file).unwrap().len() as usize;
        for _ in 0..if length > 40_000 { 6 } else { 1 } {
            bench.flip(&file, random.below(length), random.below(8));
        }
    }
    bench.done();
});

corpusdb_test!(a_file_cut_or_gone_is_an_error_or_harmless, |scratch| {
    let corpus = scratch.path("corpus");
    make_corpus(&corpus, &scratch);
    let mut bench = Bench::new(&corpus);
    let mut random = Random::new(2);
    for file in data_files(&corpus) {
        let length = std::fs::metadata(&file).unwrap().len() as usize;
        // An empty log is none.
        if length > 0 {
            bench.try_with(&file, None, "gone");
            // The very last byte of a table, or anywhere.
            let at = if random.chance(50) { length - 1 } else { random.below(length) };
            bench.cut(&file, at);
        }
    }
    bench.done();
});

corpusdb_test!(a_manifest_cut_anywhere_is_an_error_or_harmless, |scratch| {
    let corpus = scratch.path("corpus");
    make_corpus(&corpus, &scratch);
    let mut bench = Bench::new(&corpus);
    let manifest = data_files(&corpus)
        .into_iter()
        .find(|path| path.to_string_lossy().contains("MANIFEST"))
        .unwrap();
    let length = std::fs::metadata(&manifest).unwrap().len() as usize;
    // The last records are those that name the newest tables.
    for at in (length.saturating_sub(1200)..length).step_by(40).chain((0..length).step_by(700)) {
        bench.cut(&manifest, at);
    }
    bench.done();
});

/// A corpus whose newest commits are in the log only: its writer was killed.
fn killed(scratch: &TestDir, corpus: &Path) {
    make(corpus, DedupMode::Witness, 0.7);
    writer(corpus).add_tokenizer("own", trained(), "", &Context::new()).unwrap();
    let file = scratch.write("a.jsonl", lines(&crawl(92, 700, true)));
    let arguments = [
        "ingest",
        &corpus.display().to_string(),
        &file,
        "--source",
        "web",
        "--id-field",
        "id",
        "--batch-bytes",
        "2kB",
    ]
    .map(str::to_owned);
    let mut child = command(&arguments)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    while std::fs::metadata(corpus.join("journal")).unwrap().len() < 48 * 20 {
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    kill(&mut child);
}

corpusdb_test!(a_damaged_log_loses_no_acknowledged_commit_in_silence, |scratch| {
    let corpus = scratch.path("corpus");
    killed(&scratch, &corpus);
    let log = data_files(&corpus)
        .into_iter()
        .filter(|path| path.extension().is_some_and(|end| end == "log"));
    let log = log.max_by_key(|path| std::fs::metadata(path).unwrap().len()).unwrap();
    let length = std::fs::metadata(&log).unwrap().len() as usize;
    assert!(length > 50_000, "the log is {length} bytes");
    let records = std::fs::read(corpus.join("journal")).unwrap().len() / 48;
    let commit = Corpus::options().memory(MEMORY).open(&corpus).unwrap().view().commit().0;
    if commit > records as u64 {
        // The kill came between the two writes: a commit that was never acknowledged may be lost.
        return;
    }
    let mut bench = Bench::new(&corpus);
    let mut random = Random::new(3);
    for _ in 0..8 {
        bench.flip(&log, random.below(length), random.below(8));
        bench.cut(&log, random.below(length));
    }
    bench.flip(&log, length - 1, 0);
    bench.cut(&log, length - 1);
    bench.try_with(&log, None, "gone");
    bench.done();
});

corpusdb_test!(a_damaged_journal_changes_no_answer, |scratch| {
    let corpus = scratch.path("corpus");
    make_corpus(&corpus, &scratch);
    let journal = corpus.join("journal");
    let bytes = std::fs::read(&journal).unwrap();
    let mut bench = Bench::new(&corpus);
    bench.try_with(&journal, None, "gone");
    bench.try_with(&journal, Some(b""), "empty");
    for at in [1, 23, 24, 47, 48, bytes.len() / 2, bytes.len() - 1] {
        bench.cut(&journal, at);
    }
    for at in [0, 9, 17, bytes.len() / 2, bytes.len() - 24, bytes.len() - 1] {
        bench.flip(&journal, at, 3);
    }
    assert!(bench.faults.is_empty(), "{}", bench.faults.join("\n"));

    // A database that stands before what the journal says: restored from an older copy.
    let older = scratch.path("older");
    copy(&corpus, &older);
    std::fs::write(older.join("journal"), std::fs::read(&journal).unwrap()).unwrap();
    let file = scratch.write("more.jsonl", lines(&crawl(93, 10, false)));
    corpusdb(&["ingest", &corpus.display().to_string(), &file, "--source", "web"]).good();
    std::fs::copy(&journal, older.join("journal")).unwrap();
    let older = older.display().to_string();
    for verb in [
        &["info", &older][..],
        &["count", &older],
        &["check", &older],
        &["ingest", &older, &file, "--source", "web"],
    ] {
        corpusdb(verb).fails(&["lost acknowledged commits", "restore a backup"]);
    }
});

corpusdb_test!(the_command_fails_loudly_on_damage_and_names_the_file, |scratch| {
    let corpus = scratch.path("corpus");
    make_corpus(&corpus, &scratch);
    let name = corpus.display().to_string();
    let verbs: [&[&str]; 6] = [
        &["info", &name],
        &["count", &name, "--where", "kept AND year > 1995"],
        &["sql", &name, "SELECT id, text, meta FROM documents ORDER BY id"],
        &["duplicates", &name],
        &["check", &name],
        &["check", &name, "--digest"],
    ];
    let whole: Vec<String> = verbs.iter().map(|verb| corpusdb(verb).good().stdout).collect();
    let (mut failed, mut tried, mut unnoticed) = (0, 0, 0);
    let mut random = Random::new(4);
    let tables = tables(&corpus);
    for file in tables.iter().step_by(5) {
        let before = std::fs::read(file).unwrap();
        let mut bytes = before.clone();
        // The data blocks come first in a table.
        let at = random.below(bytes.len().min(200));
        bytes[at] ^= 0x10;
        std::fs::write(file, bytes).unwrap();
        for (verb, whole) in verbs.iter().zip(&whole) {
            let ran = corpusdb(verb);
            tried += 1;
            match ran.code {
                Some(0) => assert_eq!(&ran.stdout, whole, "{}: {ran}", file.display()),
                Some(1) => assert!(verb[0] == "check" && ran.stdout.contains("faults"), "{ran}"),
                // Of a table that cannot even be opened RocksDB does not always name the file; its family is.
                Some(2) => {
                    let names_a_place = [".sst", "MANIFEST", "family "]
                        .iter()
                        .any(|place| ran.stderr.contains(place));
                    assert!(ran.stderr.contains("Corruption") && names_a_place, "{ran}");
                }
                _ => panic!("{ran}"),
            }
            failed += usize::from(ran.code != Some(0));
        }
        unnoticed += usize::from(corpusdb(&["check", &name]).code == Some(0));
        std::fs::write(file, before).unwrap();
    }
    assert!(failed > 5, "{failed} of {tried} runs failed");
    // A table that a compaction gave up at the end of the process belongs to nobody.
    assert!(
        unnoticed <= 1,
        "the check finds nothing in {unnoticed} of {} tables",
        tables.len() / 5
    );
    assert_eq!(corpusdb(verbs[0]).good().stdout, whole[0]);
});

corpusdb_test!(a_writer_refuses_a_damaged_corpus_or_writes_nothing_wrong, |scratch| {
    let corpus = scratch.path("corpus");
    make_corpus(&corpus, &scratch);
    let file = scratch.write("more.jsonl", lines(&crawl(94, 30, true)));
    let arguments = |corpus: &Path| {
        ["ingest", &corpus.display().to_string(), &file, "--source", "web", "--id-field", "id"]
            .map(str::to_owned)
    };
    let whole = scratch.path("whole");
    copy(&corpus, &whole);
    corpusdb(&arguments(&whole)).good();
    let expected = corpusdb(&["check", &whole.display().to_string(), "--digest"]).good().stdout;
    let mut random = Random::new(6);
    for table in tables(&corpus).iter().step_by(4) {
        let damaged = scratch.path("damaged");
        copy(&corpus, &damaged);
        let target = damaged.join("db").join(table.file_name().unwrap());
        let mut bytes = std::fs::read(&target).unwrap();
        let at = random.below(bytes.len().min(400));
        bytes[at] ^= 0x04;
        std::fs::write(&target, bytes).unwrap();
        let ran = corpusdb(&arguments(&damaged));
        assert!(matches!(ran.code, Some(0 | 2)), "{ran}");
        // What it could do without meeting the damage is right; the check still finds the damage.
        let damaged_name = damaged.display().to_string();
        let digest = corpusdb(&["check", &damaged_name, "--digest"]);
        if ran.code == Some(0) && digest.code == Some(0) {
            assert_eq!(digest.stdout, expected, "{} byte {at}", target.display());
        }
        std::fs::remove_dir_all(&damaged).unwrap();
    }
});
