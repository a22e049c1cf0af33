//! A corpus of three sources with a tokenizer, and what written epochs of it must hold.

use crate::support::outputs::{Row, files, manifest};
use crate::support::{
    MEMORY, Page, Ran, Random, TestDir, corpusdb, edited, fixture, ingest, init, lines, prose,
};
use corpusdb::store::TokenizerId;
use corpusdb::{Corpus, DocId};
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

pub const EOS: &str = "<|endoftext|>";

pub const SPECIALS: &str =
    "[tokenizer]\nspecials = { eos = \"<|endoftext|>\", pad = \"<|pad|>\" }\n";

/// A corpus of three sources with a tokenizer.
pub struct EpochCorpus {
    pub scratch: TestDir,
    pub corpus: String,
    pub pages: Vec<Page>,
}

impl EpochCorpus {
    pub fn new() -> Self {
        Self::holding(600)
    }

    /// With about so many documents: half of them `web`, keyed; a third `books`, longer; the rest `code`.
    pub fn holding(count: usize) -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        let mut random = Random::new(5);
        let (mut pages, mut files) = (Vec::new(), Vec::new());
        let sources = [("web", count / 2, 60), ("books", count / 3, 180), ("code", count / 6, 40)];
        for (source, count, longest) in sources {
            let mut own: Vec<Page> = (0..count)
                .map(|number| {
                    let words = random.between(5, longest);
                    let text = prose(&mut random, number, words);
                    let mut page = Page::keyed(format!("{source}-{number}"), text);
                    page.fields = json!({ "year": 2000 + number % 5 });
                    page
                })
                .collect();
            // Removed documents, which no epoch may hold.
            for number in 0..count / 20 {
                let text = edited(&mut random, &own[number * 4].text, 1);
                own.push(Page::keyed(format!("{source}-again-{number}"), text));
                own.push(Page::keyed(
                    format!("{source}-same-{number}"),
                    &*own[number].text.clone(),
                ));
            }
            files.push((source, scratch.write(&format!("{source}.jsonl"), lines(&own))));
            pages.extend(own);
        }
        fixture(&format!("three sources of {count} pages"), Path::new(&corpus), |path| {
            let corpus = path.display().to_string();
            init(&corpus, &["--field", "year:int"]);
            for (source, file) in &files {
                ingest(&corpus, &[file], &["--source", source, "--id-field", "id"]);
            }
            let train = ["tokenizer", "train", &corpus, "own", "--vocab-size", "600"];
            corpusdb(&[&train[..], &["--special", EOS, "--special", "<|pad|>"]].concat()).good();
        });
        Self { scratch, corpus, pages }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.scratch.path(name)
    }

    pub fn run(&self, verb: &str, what: &str, more: &[&str]) -> Ran {
        corpusdb(&[&["epoch", verb, &self.corpus, what][..], more].concat())
    }

    /// Runs a verb on a recipe of version 1.
    pub fn recipe(&self, verb: &str, recipe: &str, more: &[&str]) -> Ran {
        // Every recipe has a file of its own, so that tests may run side by side.
        let name = format!("{}.toml", blake3::hash(recipe.as_bytes()).to_hex());
        let file = self.scratch.write(&name, format!("version = 1\n{recipe}"));
        self.run(verb, &file, more)
    }

    #[track_caller]
    pub fn build(&self, recipe: &str, out: &str, more: &[&str]) -> PathBuf {
        let directory = self.scratch.arg(out);
        let arguments = [&["--out", &directory][..], more].concat();
        self.recipe("build", recipe, &arguments).good();
        self.path(out)
    }

    /// Verification as a report of its failed checks.
    #[track_caller]
    pub fn verified(&self, out: &str) {
        let report = self.run("verify", &self.scratch.arg(out), &["--json"]).good().json();
        assert_eq!(report["type"], "verification");
        assert!(report["rows"].as_u64().unwrap() > 0);
        for check in report["checks"].as_array().unwrap() {
            assert_eq!(check["passed"], true, "{check}");
        }
    }
}

/// Words that the tokenizer of a [`WordCorpus`] knows, `v0` and on.
const WORDS: usize = 300;

/// A corpus in which each word of a document is one token, so that documents are as long as a test asks; nothing is a
/// duplicate. Recipes and commands name it `corpus`.
pub struct WordCorpus {
    pub scratch: TestDir,
    /// Documents that it holds, and words of them.
    documents: usize,
    words: usize,
}

impl WordCorpus {
    /// Documents of these lengths, of the source `web`.
    pub fn of(lengths: &[usize]) -> Self {
        let scratch = TestDir::new();
        fixture("a tokenizer of words", &scratch.path("corpus"), |path| {
            let corpus = path.display().to_string();
            init(&corpus, &["--mode", "none", "--field", "n:int"]);
            let directory = TestDir::new();
            let file = directory.write("words.json", word_tokenizer());
            corpusdb(&["tokenizer", "add", &corpus, "words", &file]).good();
        });
        let mut made = Self { scratch, documents: 0, words: 0 };
        made.add("web", lengths);
        made
    }

    /// Ingests documents of these lengths; document `i` of the corpus has the key `ki`, and no word stands in it twice.
    pub fn add(&mut self, source: &str, lengths: &[usize]) {
        let first = self.documents;
        let pages: Vec<Page> = lengths
            .iter()
            .map(|length| {
                let words: Vec<String> =
                    (0..*length).map(|at| format!("v{}", (self.words + at) % WORDS)).collect();
                let key = format!("k{}", self.documents);
                self.documents += 1;
                self.words += length;
                Page::keyed(key, words.join(" "))
            })
            .collect();
        let options = ["--source", source, "--id-field", "id"];
        let name = format!("{first}.jsonl");
        self.scratch.ingest(&self.scratch.arg("corpus"), &name, lines(&pages), &options);
    }

    /// Writes a recipe of version 1.
    pub fn recipe(&self, name: &str, recipe: &str) {
        self.scratch.write(name, format!("version = 1\n{recipe}"));
    }

    /// How often each token of each document comes in the rows of `epoch stream corpus WHAT`.
    #[track_caller]
    pub fn tokens(&self, what: &str) -> BTreeMap<(u64, u64), u64> {
        let rows = self.scratch.run(&format!("epoch stream corpus {what}")).json_lines();
        let mut tokens = BTreeMap::new();
        for row in rows {
            let list =
                |name: &str| -> Vec<u64> { serde_json::from_value(row[name].clone()).unwrap() };
            let (documents, lengths) = (list("doc_ids"), list("seq_lengths"));
            for ((document, offset), length) in
                documents.into_iter().zip(list("doc_offsets")).zip(lengths)
            {
                for token in offset..offset + length {
                    *tokens.entry((document, token)).or_default() += 1;
                }
            }
        }
        tokens
    }

    /// Builds what `epoch build corpus WHAT` says, and expects that it is verified.
    #[track_caller]
    pub fn verified(&self, what: &str) {
        let out = blake3::hash(what.as_bytes()).to_hex();
        self.scratch.run(&format!("epoch build corpus {what} --out {out}"));
        self.scratch.run(&format!("epoch verify corpus {out}")).prints(&["verified"]);
    }
}

/// A tokenizer.json with `<pad>`, `<bos>` and `<eos>`, and a token for each of [`WORDS`].
pub fn word_tokenizer() -> String {
    let specials = ["<pad>", "<bos>", "<eos>"];
    let mut vocabulary = serde_json::Map::new();
    for token in specials.iter().map(|token| (*token).to_owned()).chain(["<unk>".to_owned()]) {
        vocabulary.insert(token, json!(vocabulary.len()));
    }
    for word in 0..WORDS {
        vocabulary.insert(format!("v{word}"), json!(vocabulary.len()));
    }
    let added: Vec<_> = (0..)
        .zip(specials)
        .map(|(id, content): (u32, _)| {
            json!({
                "id": id, "content": content, "special": true, "single_word": false, "lstrip": false,
                "rstrip": false, "normalized": false,
            })
        })
        .collect();
    let model = json!({ "type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>" });
    json!({
        "version": "1.0", "added_tokens": added, "pre_tokenizer": { "type": "WhitespaceSplit" }, "model": model,
    })
    .to_string()
}

/// What the store holds, through the public view.
pub struct Stored {
    pub source: Vec<String>,
    pub kept: Vec<bool>,
    /// Ids of tokenizer 0.
    pub ids: Vec<Option<Vec<i64>>>,
}

impl Stored {
    pub fn of(corpus: &str) -> Self {
        let corpus = Corpus::options().memory(MEMORY).open(corpus).unwrap();
        let view = corpus.view();
        let kept = corpus.select("kept").unwrap();
        let mut stored = Self { source: Vec::new(), kept: Vec::new(), ids: Vec::new() };
        for document in 0..view.documents() {
            let source = view.source_of(DocId(document)).unwrap();
            stored.source.push(view.source_name(source).unwrap().to_owned());
            stored.kept.push(kept.contains(document));
            let mut ids = Vec::new();
            let found = view.tokens(TokenizerId(0), DocId(document), &mut ids).unwrap();
            stored.ids.push(found.then(|| ids.into_iter().map(i64::from).collect()));
        }
        stored
    }

    /// Kept documents of a source.
    pub fn of_source(&self, source: &str) -> Vec<u64> {
        (0..self.source.len())
            .filter(|at| self.kept[*at] && self.source[*at] == source)
            .map(|at| at as u64)
            .collect()
    }

    /// Stored ids and the EOS.
    pub fn sequence(&self, document: u64, eos: Option<i64>) -> Vec<i64> {
        let mut ids = self.ids[document as usize].clone().expect("a document with ids");
        ids.extend(eos);
        ids
    }
}

/// Every row holds what the store holds, and is laid out as the packing promises.
pub fn check_rows(directory: &Path, rows: &[Row], stored: &Stored, pack: &str) {
    let manifest = manifest(directory);
    let capacity = manifest["capacity"].as_u64().unwrap() as usize;
    let special = |name: &str| manifest["tokenizer"]["specials"][name].as_i64();
    let (eos, pad) = (special("eos"), special("pad"));
    for (number, row) in rows.iter().enumerate() {
        let real = row.real();
        assert!(row.lengths.iter().all(|length| *length > 0), "row {number}");
        assert!(!row.lengths.is_empty() && real <= capacity, "row {number} of {real} tokens");
        let expected = if pack != "none" && pad.is_some() { capacity } else { real };
        assert_eq!(row.ids.len(), expected, "row {number}");
        assert!(row.ids[real..].iter().all(|id| Some(*id) == pad), "row {number}");
        for (at, (document, offset, ids)) in row.segments().into_iter().enumerate() {
            assert_eq!(stored.source[document as usize], row.source);
            let sequence = stored.sequence(document, eos);
            assert_eq!(ids, &sequence[offset..offset + ids.len()], "document {document}");
            let end = offset + ids.len();
            if pack == "concat" {
                // Cut only by the ends of rows.
                assert!(offset == 0 || at == 0);
                assert!(end == sequence.len() || at + 1 == row.lengths.len());
            } else {
                assert_eq!(offset % capacity, 0, "document {document} cut at {offset}");
                let lone_eos = end + 1 == sequence.len() && end.is_multiple_of(capacity);
                assert!(end == sequence.len() || ids.len() == capacity || lone_eos);
            }
        }
        if pack == "none" {
            assert_eq!(row.lengths.len(), 1);
        }
        check_views(row);
    }
}

/// Labels, mask, positions and starts, by their definitions in docs/reference/outputs.md.
pub fn check_views(row: &Row) {
    let Some(views) = &row.views else { return };
    let mut segment_of = Vec::new();
    let mut positions = Vec::new();
    let mut starts = Vec::new();
    for (segment, length) in row.lengths.iter().enumerate() {
        starts.push(segment_of.len() as i64);
        segment_of.extend(vec![Some(segment); *length as usize]);
        positions.extend(0..*length);
    }
    let pads = row.ids.len() - segment_of.len();
    segment_of.extend(vec![None; pads]);
    positions.extend(0..pads as i64);
    assert_eq!(views.seq_start_id, starts);
    assert_eq!(views.position_ids, positions);
    let width = row.ids.len();
    assert_eq!((views.labels.len(), views.loss_mask.len()), (width, width));
    for at in 0..width {
        let predicts = segment_of[at].is_some() && segment_of.get(at + 1) == Some(&segment_of[at]);
        assert_eq!(views.loss_mask[at], i64::from(predicts), "position {at}");
        let target = segment_of[at].is_some() && positions[at] > 0;
        assert_eq!(views.labels[at], if target { row.ids[at] } else { -100 }, "position {at}");
    }
}

/// Every document of `expected` is in the rows `times` times, whole, but for a tail that is only an EOS.
pub fn check_conservation(rows: &[Row], stored: &Stored, eos: bool, capacity: usize, times: usize) {
    let mut pieces: BTreeMap<u64, Vec<(usize, usize)>> = BTreeMap::new();
    for row in rows {
        for (document, offset, ids) in row.segments() {
            pieces.entry(document).or_default().push((offset, ids.len()));
        }
    }
    let selected: Vec<u64> = (0..).zip(&stored.kept).filter(|(_, k)| **k).map(|(d, _)| d).collect();
    assert_eq!(pieces.keys().copied().collect::<Vec<_>>(), selected);
    for (document, mut pieces) in pieces {
        pieces.sort_unstable();
        let length = stored.ids[document as usize].as_ref().unwrap().len() + usize::from(eos);
        let mut end = 0;
        for copies in pieces.chunks(times) {
            assert_eq!(copies, vec![(end, copies[0].1); times], "document {document}");
            end += copies[0].1;
        }
        let lone_eos = eos && end + 1 == length && end.is_multiple_of(capacity);
        assert!(end == length || lone_eos, "document {document}: {end} of {length}");
    }
}

#[track_caller]
pub fn same_files(a: &Path, b: &Path) {
    let (a, b) = (files(a), files(b));
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|f| f.0.clone()).collect::<Vec<_>>();
    assert_eq!(names(&a), names(&b));
    for (a, b) in a.iter().zip(&b) {
        assert!(a.1 == b.1, "{} differs", a.0);
    }
}
