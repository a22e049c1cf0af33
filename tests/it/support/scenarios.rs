//! Corpora made for one subject: families of duplicates, all tables, a border to a holdout, a secret to purge.

use crate::support::checker::corpus::plan;
use crate::support::{
    MEMORY, Page, Ran, Random, TestDir, WEB_BY_ID, corpusdb, crawl, declaring, fixture, ingest,
    init, init_with_tokenizer, lines, paths_below, prose, reader, sql, train, trained, with_corpus,
};
use corpusdb::dedup::{Fingerprint, Fingerprinter, KeepOrder, Profile, bands};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, DocId, IngestOptions, IngestReport, Policy,
};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

// ----
// A small corpus in which who duplicates whom, and by how much, is known.

/// 104 words, which make 100 shingles; those `at` the given places are others.
pub fn family_words(name: &str, at: &[usize]) -> String {
    let word = |place| {
        if at.contains(&place) { format!("other{place}") } else { format!("{name}{place}") }
    };
    (0..104).map(word).collect::<Vec<_>>().join(" ")
}

/// 13 documents of two sources, by id:
/// 0 a and 1 b of books; of web 2 a again, 3 a in other letters, 4 a but for its last word (99 shingles of
/// 101), 5 a but for a word in the middle (95 of 105), 6 b but for two (90 of 110), 7 c, 8 c but for its
/// first word, 9 three words, 10 none, 11 and 12 one key twice.
pub struct FamilyCorpus {
    pub scratch: TestDir,
    pub corpus: String,
}

impl FamilyCorpus {
    pub fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &[]);
        let books =
            [Page::keyed("a", family_words("a", &[])), Page::keyed("b", family_words("b", &[]))];
        let file = scratch.write("books.jsonl", lines(&books));
        ingest(&corpus, &[&file], &["--source", "books", "--id-field", "id"]);
        let web = [
            family_words("a", &[]),
            family_words("a", &[]).to_uppercase().replace(' ', ",  "),
            family_words("a", &[103]),
            family_words("a", &[50]),
            family_words("b", &[30, 60]),
            family_words("c", &[]),
            family_words("c", &[0]),
            "only three words".to_owned(),
            " \n\t".to_owned(),
            family_words("d", &[]),
        ];
        let web: Vec<Page> =
            (2..).zip(web).map(|(id, text)| Page::keyed(format!("w{id}"), text)).collect();
        scratch.ingest(&corpus, "web.jsonl", lines(&web), &WEB_BY_ID);
        let file = scratch.write("new.jsonl", Page::keyed("w11", family_words("e", &[])).line());
        ingest(&corpus, &[&file], &WEB_BY_ID);
        Self { scratch, corpus }
    }

    pub fn json(&self, arguments: &[&str]) -> Value {
        let all = [&arguments[..1], &[&self.corpus], &arguments[1..], &["--json"]].concat();
        corpusdb(&all).good().json()
    }
}

pub fn fingerprint(text: &str) -> Fingerprint {
    Fingerprinter::new(&Policy::of(Profile::Web)).fingerprint(text)
}

/// Numbers of the bands that two texts share.
pub fn common_bands(a: &str, b: &str) -> Vec<usize> {
    let of = |text: &str| bands(&fingerprint(text).sketch.unwrap(), &Policy::of(Profile::Web));
    let pairs = of(a).into_iter().zip(of(b)).enumerate();
    pairs.filter(|(_, (a, b))| a == b).map(|(band, _)| band).collect()
}

// ----
// A corpus that has something for every table of SQL.

/// A corpus of two sources with duplicates, changed keys, rejects, a tokenizer, a snapshot and a plan.
pub struct TabledCorpus {
    pub _scratch: TestDir,
    pub corpus: String,
    pub pages: Vec<Page>,
}

impl TabledCorpus {
    pub fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        let pages = crawl(31, 420, true);
        fixture("two sources with a snapshot and a plan", Path::new(&corpus), |path| {
            Self::fill(&path.display().to_string(), &pages);
        });
        Self { _scratch: scratch, corpus, pages }
    }

    fn fill(corpus: &str, pages: &[Page]) {
        let scratch = TestDir::new();
        init(corpus, &declaring(&["url:keyword", "quality:float", "year:int"]));
        let (web, feed) = pages.split_at(300);
        let bad = "not json\n{\"id\":\"x\",\"text\":5}\n";
        scratch.ingest(corpus, "web.jsonl", format!("{}{bad}", lines(web)), &WEB_BY_ID);
        corpusdb(&["tokenizer", "train", corpus, "own", "--vocab-size", "400"]).good();
        corpusdb(&["snapshot", "create", corpus, "first"]).good();
        let feed = scratch.write("feed.jsonl", lines(feed));
        ingest(corpus, &[&feed], &["--source", "a feed", "--id-field", "id"]);
        let recipe = scratch.write("recipe.toml", "version = 1\n");
        corpusdb(&["epoch", "plan", corpus, &recipe]).good();
    }

    #[track_caller]
    pub fn sql(&self, statement: &str) -> Vec<Value> {
        sql(&self.corpus, statement)
    }

    pub fn all(&self) -> Vec<Value> {
        self.sql("SELECT * FROM documents ORDER BY id")
    }

    pub fn open(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.corpus).unwrap()
    }
}

// ----
// Pages on both sides of the border to a holdout, and those that cross it.

pub const SHARE: f64 = 0.3;

/// A corpus of pages under one source.
pub struct Pages {
    pub scratch: TestDir,
    pub path: PathBuf,
    pub poured: usize,
}

pub fn policy(keep: &KeepOrder, threshold: f64) -> Policy {
    Policy { keep: keep.clone(), ..Policy::new(DedupMode::Witness, threshold).unwrap() }
}

impl Pages {
    pub fn new(keep: &KeepOrder) -> Self {
        let scratch = TestDir::new();
        let path = scratch.path("corpus");
        Corpus::init(&path, &policy(keep, 0.7), &[]).unwrap();
        Self { scratch, path, poured: 0 }
    }

    pub fn writer(&self) -> CorpusWriter {
        Corpus::options().memory(MEMORY).threads(2).open_writer(&self.path).unwrap()
    }

    pub fn pour(&mut self, pages: &[Page]) -> IngestReport {
        self.poured += 1;
        let file = self.scratch.write(&format!("{}.jsonl", self.poured), lines(pages));
        let mut options = IngestOptions::new("web");
        options.read.id_field = Some("id".to_owned());
        let mut writer = self.writer();
        let told = writer.ingest(&[file], &options, &Context::new()).unwrap();
        if self.poured == 1 {
            let file = train(&writer, 420, &[]);
            writer.add_tokenizer("own", &file, "", &Context::new()).unwrap();
        }
        told
    }

    /// Documents on each side now: trained on, held out.
    pub fn sides(&self) -> (BTreeSet<u64>, BTreeSet<u64>) {
        let corpus = Corpus::options().memory(MEMORY).open(&self.path).unwrap();
        let side = |take: &str| -> BTreeSet<u64> {
            let text = format!("[select]\nholdout = {{ share = {SHARE}, take = \"{take}\" }}\n");
            let planned = plan(&corpus, &text).unwrap();
            planned.pinned.iter().flat_map(|of| of.documents()).collect()
        };
        (side("train"), side("holdout"))
    }

    pub fn text(&self, corpus: &Corpus, id: u64) -> String {
        corpus.show(DocId(id)).unwrap().text
    }
}

pub fn triples(text: &str) -> BTreeSet<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(3).map(|three| three.join(" ")).collect()
}

pub fn similarity(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    a.intersection(b).count() as f64 / a.union(b).count().max(1) as f64
}

/// Pairs of a document held out at one time and one trained on at another whose texts are
/// similar `above` that.
pub fn leaks(
    pages: &Pages,
    above: f64,
    before: &(BTreeSet<u64>, BTreeSet<u64>),
    after: &(BTreeSet<u64>, BTreeSet<u64>),
) -> usize {
    let corpus = Corpus::options().memory(MEMORY).open(&pages.path).unwrap();
    let texts = |ids: &BTreeSet<u64>| -> Vec<BTreeSet<String>> {
        ids.iter().map(|id| triples(&pages.text(&corpus, *id))).collect()
    };
    let mut found = 0;
    for (held, trained) in [(&before.1, &after.0), (&after.1, &before.0)] {
        let trained = texts(trained);
        let held = texts(held);
        let near =
            |one: &&BTreeSet<String>| trained.iter().any(|other| similarity(one, other) > above);
        found += held.iter().filter(near).count();
    }
    found
}

pub fn first_crawl(random: &mut Random, count: usize) -> Vec<Page> {
    let page = |number| Page::keyed(format!("page-{number}"), prose(random, 0, 60));
    (0..count).map(page).collect()
}

// ----
// A corpus with a document that is to be purged, and a search for its bytes in every file.

/// Every file below a directory with its bytes.
pub fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let read = |path: PathBuf| (path.display().to_string(), std::fs::read(&path).unwrap());
    paths_below(directory).into_iter().map(read).collect()
}

/// The files that have these bytes, by a search that knows nothing of the one that is tested.
pub fn having(corpus: &str, bytes: &[u8]) -> Vec<String> {
    assert!(!bytes.is_empty());
    let holds = |file: &[u8]| file.windows(bytes.len()).any(|window| window == bytes);
    let files = files(Path::new(corpus)).into_iter();
    files.filter(|(_, file)| holds(file)).map(|(path, _)| path).collect()
}

pub fn count(corpus: &str, condition: &str) -> u64 {
    let ran = corpusdb(&["count", corpus, "--where", condition, "--json"]).good().json();
    ran["documents"].as_u64().or_else(|| ran["count"].as_u64()).unwrap()
}

/// The ids of a document by a tokenizer, as the store lays them down.
pub fn token_bytes(corpus: &str, id: u64, tokenizer: &str) -> Vec<u8> {
    let opened = crate::support::reader(Path::new(corpus));
    let shown = opened.tokens_of(corpusdb::DocId(id), Some(tokenizer)).unwrap();
    shown.tokens.iter().flat_map(|token| (token.id as u16).to_le_bytes()).collect()
}

/// A corpus with two tokenizers, fields, a chat, twins, a superseded page and a rejected line, some of it to be purged.
pub struct Story {
    pub scratch: TestDir,
    pub corpus: String,
    pub secret: String,
    pub older: String,
    pub pages: Vec<Page>,
}

pub const KEY: &str = "https://victim.example/private/page";

pub const VALUE: &str = "victim-value-of-a-field-0123456789";

impl Story {
    pub fn new() -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        fixture("an empty corpus with two tokenizers", Path::new(&corpus), |path| {
            let corpus = path.display().to_string();
            let fields = ["--field", "url:keyword", "--field", "score:float"];
            init_with_tokenizer(&corpus, &[&["--threshold", "0.7"], &fields[..]].concat());
            let tokenizer = scratch.write("tokenizer.json", trained());
            corpusdb(&["tokenizer", "add", &corpus, "other", &tokenizer]).good();
        });
        let mut random = Random::new(5);
        let secret = format!("the secret of nobody else {}", prose(&mut random, 0, 90));
        let older = format!("an older secret it was {}", prose(&mut random, 1, 80));
        let field =
            |url: &str| json!({ "url": url, "language": "en", "note": format!("{url} noted") });
        let mut pages: Vec<Page> = (0..30)
            .map(|n| Page {
                fields: field(&format!("https://example.org/{}", n % 7)),
                ..Page::keyed(format!("page-{n}"), prose(&mut random, n, 60))
            })
            .collect();
        pages.insert(9, Page { fields: field(VALUE), ..Page::keyed(KEY, older.clone()) });
        let story = Self { scratch, corpus, secret, older, pages };
        let first =
            format!("{}{{\"id\": \"bad\", \"text\": \"{}\", \n", lines(&story.pages), story.secret);
        story.pour("first.jsonl", &first, "web");
        let newer = Page { fields: field(VALUE), ..Page::keyed(KEY, story.secret.clone()) };
        story.pour("newer.jsonl", &lines(&[newer]), "web");
        story
    }

    pub fn pour(&self, name: &str, text: &str, source: &str) -> Value {
        let path = self.scratch.write(name, text);
        ingest(&self.corpus, &[&path], &["--source", source, "--id-field", "id"])
    }

    pub fn twin(&self) -> Page {
        Page::keyed("twin-of-it", self.secret.clone())
    }

    /// Everything that is to be found nowhere.
    pub fn needles(&self, with_text: bool) -> Vec<Vec<u8>> {
        let mut needles = vec![KEY.as_bytes().to_vec(), VALUE.as_bytes().to_vec()];
        let newest = self.newest();
        for id in if with_text { vec![9, newest] } else { vec![9] } {
            for tokenizer in ["own", "other"] {
                let bytes = token_bytes(&self.corpus, id, tokenizer);
                needles.extend([8, bytes.len() / 2].map(|at| bytes[at..at + 32].to_vec()));
            }
        }
        needles
    }

    pub fn newest(&self) -> u64 {
        let row =
            &sql(&self.corpus, &format!("SELECT max(id) AS id FROM documents WHERE key = '{KEY}'"))
                [0];
        row["id"].as_u64().unwrap()
    }

    pub fn purge(&self, more: &[&str]) -> Value {
        let proof = self.scratch.arg("proof.json");
        let asked =
            ["purge", &self.corpus, KEY, "--reason", "request 7", "--prove", &proof, "--json"];
        corpusdb(&[&asked[..], more].concat()).good().json()
    }

    pub fn proof(&self) -> Value {
        serde_json::from_slice(&std::fs::read(self.scratch.path("proof.json")).unwrap()).unwrap()
    }
}

/// A corpus of pages to which tokenizers come.
pub struct TokenizerCorpus {
    pub scratch: TestDir,
    pub corpus: String,
}

impl TokenizerCorpus {
    pub fn new() -> Self {
        let (scratch, corpus) = with_corpus(&[]);
        Self { scratch, corpus }
    }

    /// With pages, of which few are duplicates of others.
    pub fn of(pages: &[Page]) -> Self {
        let (scratch, corpus) = with_corpus(&["--threshold", "0.7"]);
        let place = Self { scratch, corpus };
        place.pour("pages.jsonl", pages, &[]);
        place
    }

    pub fn crawl(seed: u64, count: usize) -> Self {
        Self::of(&crawl(seed, count, true))
    }

    pub fn pour(&self, name: &str, pages: &[Page], more: &[&str]) -> Value {
        self.scratch.ingest(&self.corpus, name, lines(pages), &[&WEB_BY_ID, more].concat())
    }

    /// Runs a verb of `tokenizer` on the corpus.
    pub fn tokenizer(&self, verb: &str, more: &[&str]) -> Ran {
        corpusdb(&[&["tokenizer", verb, &self.corpus], more].concat())
    }

    pub fn train(&self, name: &str, more: &[&str]) -> Value {
        self.tokenizer("train", &[&[name, "--json"], more].concat()).good().json()
    }

    pub fn listed(&self) -> Vec<Value> {
        self.tokenizer("show", &["--json"]).good().json_lines()
    }

    pub fn open(&self) -> Corpus {
        reader(Path::new(&self.corpus))
    }

    /// A tokenizer's `tokenizer.json`, out of the corpus.
    pub fn file(&self, name: &str) -> Vec<u8> {
        let corpus = self.open();
        let (id, _) = corpus.view().tokenizer_named(name).unwrap();
        corpus.view().tokenizer_file(id).unwrap()
    }

    /// Plans an epoch.
    pub fn plan(&self, recipe: &str) -> Ran {
        let file = self.scratch.write("recipe.toml", format!("version = 1\n{recipe}"));
        corpusdb(&["epoch", "plan", &self.corpus, &file, "--json"])
    }
}
