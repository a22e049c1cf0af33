//! A small corpus in which who duplicates whom, and by how much, is known.

use crate::support::{Page, TestDir, corpusdb, ingest, init, lines};
use corpusdb::Policy;
use corpusdb::dedup::Profile;
use corpusdb::dedup::{Fingerprint, Fingerprinter, bands};
use serde_json::Value;

/// 104 words, which make 100 shingles; those `at` the given places are others.
pub fn words(name: &str, at: &[usize]) -> String {
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
        let books = [Page::keyed("a", words("a", &[])), Page::keyed("b", words("b", &[]))];
        let file = scratch.write("books.jsonl", lines(&books));
        ingest(&corpus, &[&file], &["--source", "books", "--id-field", "id"]);
        let web = [
            words("a", &[]),
            words("a", &[]).to_uppercase().replace(' ', ",  "),
            words("a", &[103]),
            words("a", &[50]),
            words("b", &[30, 60]),
            words("c", &[]),
            words("c", &[0]),
            "only three words".to_owned(),
            " \n\t".to_owned(),
            words("d", &[]),
        ];
        let web: Vec<Page> =
            (2..).zip(web).map(|(id, text)| Page::keyed(format!("w{id}"), text)).collect();
        let file = scratch.write("web.jsonl", lines(&web));
        ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
        let file = scratch.write("new.jsonl", Page::keyed("w11", words("e", &[])).line());
        ingest(&corpus, &[&file], &["--source", "web", "--id-field", "id"]);
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
