//! A corpus with a document that is to be purged, and a search for its bytes in every file.

use crate::support::corpus::trained;
use crate::support::{
    Page, Random, TestDir, corpusdb, fixture, ingest, init_with_tokenizer, lines, prose, sql,
};
use serde_json::{Value, json};
use std::path::Path;

/// Every file below a directory with its bytes.
pub fn files(directory: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.push((path.display().to_string(), std::fs::read(&path).unwrap()));
        }
    }
    found
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
