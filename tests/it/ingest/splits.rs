//! However the same input is cut into ingests, batches and threads: the same corpus.

use crate::support::corpus::trained;
use crate::support::{
    MEMORY, Page, Random, TestDir, crawl, fixture, lines, make, reader, seeds, sound_digest, writer,
};
use corpusdb::ingest::ReadOptions;
use corpusdb::store::CheckDepth;
use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, IngestReport};

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
                    let half = bytes[..bytes.len() / 2]
                        .iter()
                        .rposition(|byte| *byte == b'\n')
                        .map_or(0, |at| at + 1);
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

#[test]
fn any_batches_make_the_same_corpus_with_a_dictionary() {
    // A dictionary is trained on the first commit with 1,000 texts and 880 KiB: here the whole has
    // one and the parts have none, or one from other texts.
    let scratch = TestDir::new();
    let tokenizer = trained();
    let input = Input { files: vec![lines(&crawl(41, 4200, true)).into_bytes()], keyed: true };
    let (sums, digest) = input.pour(&scratch, "whole", tokenizer, WHOLE);
    for (name, batch_bytes) in [("few", 950 << 10), ("many", 40 << 10)] {
        let way = Way { batch_bytes, threads: 1, ..WHOLE };
        assert_eq!(input.pour(&scratch, name, tokenizer, way), (sums, digest.clone()), "{name}");
    }
}

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
