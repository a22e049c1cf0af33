//! Small corpora of several sources, and what they hold.

use crate::support::writer as writer_of;
use crate::support::{MEMORY, Page, Random, TestDir, fixture, lines, prose, train};
use corpusdb::epoch::{BuildJob, Epoch, EpochRow, Planned, StreamOptions};
use corpusdb::store::{LossSpan, TokenizerId};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, DocId, Error, FieldKind, IngestOptions, Policy,
    Recipe,
};
use serde_json::json;
use std::path::{Path, PathBuf};

pub const BOS: &str = "<|bos|>";
pub const EOS: &str = "<|eos|>";
pub const PAD: &str = "<|pad|>";

/// A corpus in a scratch directory.
pub struct CheckedCorpus {
    pub scratch: TestDir,
    pub path: PathBuf,
}

/// (name, documents, fewest words, most words)
pub type SourceSizes = (&'static str, usize, usize, usize);

/// Sources of very different lengths, some documents longer than any row of the tests.
pub const THREE: [SourceSizes; 3] =
    [("web", 90, 2, 30), ("books", 16, 30, 160), ("code", 60, 1, 8)];

impl CheckedCorpus {
    /// A corpus with a tokenizer of its own.
    pub fn of(seed: u64, sources: &[SourceSizes]) -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        fixture("an empty corpus with a tokenizer of three specials", &path, Self::empty);
        let place = Self { scratch, path };
        let mut writer = place.writer();
        let mut random = Random::new(seed);
        for (name, count, fewest, most) in sources {
            let pages = pages(&mut random, name, *count, (*fewest, *most));
            place.pour(&mut writer, name, &pages);
        }
        drop(writer);
        place
    }

    /// A corpus without a document whose tokenizer was trained on pages like those that come.
    fn empty(path: &Path) {
        let fields = [
            ("year".to_owned(), FieldKind::Int),
            ("quality".to_owned(), FieldKind::Float),
            ("site".to_owned(), FieldKind::Keyword),
        ];
        let policy = Policy::new(DedupMode::Witness, 0.8).unwrap();
        let directory = TestDir::new();
        let like = Self { path: directory.path("like"), scratch: directory };
        Corpus::init(&like.path, &policy, &fields).unwrap();
        let mut writer = like.writer();
        let mut random = Random::new(420);
        for (name, count, fewest, most) in THREE {
            like.pour(&mut writer, name, &pages(&mut random, name, count, (fewest, most)));
        }
        let file = train(&writer, 420, &[BOS, EOS, PAD]);
        Corpus::init(path, &policy, &fields).unwrap();
        let mut writer = writer_of(path);
        writer.add_tokenizer("own", &file, "of a test", &Context::new()).unwrap();
    }

    pub fn writer(&self) -> CorpusWriter {
        writer_of(&self.path)
    }

    pub fn reader(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.path).unwrap()
    }

    /// Ingests pages under a source.
    pub fn pour(&self, writer: &mut CorpusWriter, source: &str, pages: &[Page]) {
        let text = lines(pages);
        let name = format!("{source}-{}.jsonl", blake3::hash(text.as_bytes()).to_hex());
        let file = self.scratch.write(&name, text);
        let mut options = IngestOptions::new(source);
        options.read.id_field = Some("id".to_owned());
        writer.ingest(&[file], &options, &Context::new()).unwrap();
    }
}

/// Fresh texts of lines and paragraphs, with fields.
pub fn pages(random: &mut Random, name: &str, count: usize, words: (usize, usize)) -> Vec<Page> {
    let stamp = random.next();
    (0..count)
        .map(|number| {
            let mut left = random.between(words.0, words.1 + 1);
            let mut text = String::new();
            while left > 0 {
                let some = random.between(1, 30).min(left);
                left -= some;
                if !text.is_empty() {
                    text.push_str(["\n", "\n\n", " ", "\n\n\n"][random.below(4)]);
                }
                text.push_str(&prose(random, number % 3, some));
            }
            let mut page = Page::keyed(format!("{name}-{stamp}-{number}"), text);
            page.fields = json!({
                "year": 2000 + number % 5,
                "quality": random.below(1000) as f64 / 1000.0,
                "site": format!("site-{}", random.below(12)),
            });
            page
        })
        .collect()
}

/// A document as it is stored.
pub struct CheckedDocument {
    pub source: String,
    pub kept: bool,
    /// Ids of the first tokenizer; none when it is not encoded.
    pub ids: Option<Vec<u32>>,
    /// Trained stored tokens; none: all.
    pub loss: Option<Vec<LossSpan>>,
}

/// All documents, by their id.
pub fn stored(corpus: &Corpus) -> Vec<CheckedDocument> {
    let view = corpus.view();
    let kept = corpus.select("kept").unwrap();
    (0..view.documents())
        .map(|id| {
            let header = view.header(DocId(id)).unwrap().unwrap();
            let mut ids = Vec::new();
            let found = view.tokens(TokenizerId(0), DocId(id), &mut ids).unwrap();
            CheckedDocument {
                source: view.source_name(header.source).to_owned(),
                kept: kept.contains(id),
                ids: found.then_some(ids),
                loss: view.loss(TokenizerId(0), DocId(id)).unwrap(),
            }
        })
        .collect()
}

/// Parses a recipe of version 1.
#[track_caller]
pub fn recipe(text: &str) -> Recipe {
    Recipe::parse(&format!("version = 1\n{text}")).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Plans without storing.
pub fn plan(corpus: &Corpus, text: &str) -> Result<Planned, Error> {
    corpus.plan(&recipe(text), &Context::new())
}

pub fn open(corpus: &Corpus, planned: &Planned, epoch: u64) -> Epoch {
    corpus.epoch(planned, epoch, &Context::new()).unwrap()
}

/// The part of a reader from a batch on, also where batches do not divide evenly.
pub fn part(from_batch: u64, rank: u64, world: u64) -> StreamOptions {
    StreamOptions { from_batch, uneven: true, ..StreamOptions::of_rank(rank, world) }
}

/// All rows of an epoch, by one stream.
pub fn rows(epoch: &Epoch) -> Vec<EpochRow> {
    epoch.stream(&StreamOptions::default()).unwrap().flat_map(|batch| batch.unwrap().rows).collect()
}

/// A row by what is in it.
pub type Content = (Option<String>, Vec<(u64, u32, u32)>);

pub fn content(row: &EpochRow) -> Content {
    let segments = row.segments().iter().map(|s| (s.document.0, s.offset, s.length));
    (row.source().map(str::to_owned), segments.collect())
}

/// Builds an epoch and has it verified.
#[track_caller]
pub fn built(
    place: &CheckedCorpus,
    corpus: &Corpus,
    planned: &Planned,
    epoch: u64,
    name: &str,
    threads: usize,
) -> PathBuf {
    let out = place.scratch.path(name);
    let job = BuildJob { epoch, out: &out };
    corpus
        .build(planned, &job, &Context::new().with_threads(threads))
        .unwrap_or_else(|error| panic!("{error}\n{:?}", planned.plan.recipe));
    let found = corpus.verify(planned, &out, &Context::new()).unwrap();
    for check in &found.checks {
        assert!(check.passed, "{check:?}\n{:#?}", planned.plan.recipe);
    }
    out
}
