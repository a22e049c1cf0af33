//! SentencePiece models: their ids, what is stored of them, and what becomes of those that older releases registered.

use crate::support::{
    MEMORY, Page, Ran, TestDir, corpusdb, crawl, ingest, init, lines, sound, writer,
};
use corpusdb::Corpus;
use corpusdb::tokenizer::{
    REFERENCE, SENTENCEPIECE, TokenizerInput, TokenizerRegistration, convert,
};
use serde_json::{Value, json};

/// Models that sentencepiece 0.2.3 trained, texts, and the ids that it gave.
const BPE: &[u8] = include_bytes!("../../../src/tokenizer/convert/vectors/bpe.model");
const UNIGRAM: &[u8] = include_bytes!("../../../src/tokenizer/convert/vectors/unigram.model");
const IDS: &str = include_str!("../../../src/tokenizer/convert/vectors/ids.json");

struct ModelCorpus {
    scratch: TestDir,
    corpus: String,
}

impl ModelCorpus {
    fn new(pages: &[Page]) -> Self {
        let scratch = TestDir::new();
        let corpus = scratch.arg("corpus");
        init(&corpus, &["--threshold", "0.7"]);
        let file = scratch.write("pages.jsonl", lines(pages));
        ingest(&corpus, &[&file], &["--source", "web"]);
        Self { scratch, corpus }
    }

    fn tokenizer(&self, verb: &str, more: &[&str]) -> Ran {
        corpusdb(&[&["tokenizer", verb, &self.corpus], more].concat())
    }

    fn open(&self) -> Corpus {
        Corpus::options().memory(MEMORY).open(&self.corpus).unwrap()
    }
}

#[test]
fn a_model_has_the_ids_of_sentencepiece() {
    let golden: Value = serde_json::from_str(IDS).unwrap();
    let home = ModelCorpus::new(&crawl(71, 40, true));
    for (name, model) in [("bpe", BPE), ("unigram", UNIGRAM)] {
        let file = home.scratch.write(&format!("{name}.model"), model);
        let added = home.tokenizer("add", &[name, &file, "--json"]).good().json();
        assert_eq!(
            (&added["backend"], &added["reference"]),
            (&json!("sentencepiece"), &json!(SENTENCEPIECE))
        );
        let engines = &added["engines"];
        assert_eq!((&engines["fast"], &engines["reference"]), (&json!(0), &json!(0)));
        assert_eq!(engines["sentencepiece"], added["encoded_documents"]);
        let check = home.tokenizer("check", &[name]).good().stdout;
        assert!(check.contains("the ids are those of SentencePiece's own algorithm"), "{check}");
        assert!(
            check.contains("stored ids: those of a sample equal those of the texts"),
            "{check}"
        );
        let corpus = home.open();
        let texts = golden["texts"].as_array().unwrap();
        for (text, ids) in texts.iter().zip(golden[name].as_array().unwrap()) {
            let tokens = corpus.encode(Some(name), text.as_str().unwrap(), false).unwrap();
            let found: Vec<u32> = tokens.iter().map(|token| token.id).collect();
            assert_eq!(json!(found), *ids, "{name} {text}");
        }
    }
    sound(&home.corpus);
}

#[test]
fn a_model_is_exported_as_it_was_and_is_no_tokenizer_json() {
    let home = ModelCorpus::new(&crawl(72, 20, true));
    let file = home.scratch.write("spiece.model", UNIGRAM);
    let added = home.tokenizer("add", &["piece", &file, "--json"]).good().json();
    let again = home.scratch.arg("again.model");
    home.tokenizer("export", &["piece", &again]).good();
    assert_eq!(std::fs::read(&again).unwrap(), UNIGRAM);
    // The file that was made of it decides other ids, and is another tokenizer.
    let json = home.scratch.arg("tokenizer.json");
    home.tokenizer("export", &["piece", &json]).good();
    let library = home.tokenizer("add", &["library", &json, "--json"]).good().json();
    assert_eq!(library["reference"], REFERENCE);
    assert_ne!(library["hash"], added["hash"]);
    // The same once more is the same; another one under the name is refused.
    let same = home.tokenizer("add", &["piece", &file, "--json"]).good().json();
    assert_eq!((&same["hash"], &same["encoded_tokens"]), (&added["hash"], &json!(0)));
    home.tokenizer("add", &["piece", &json]).fails(&["piece"]);
    sound(&home.corpus);
}

#[test]
fn a_model_that_an_older_release_registered_keeps_its_ids() {
    let home = ModelCorpus::new(&crawl(73, 20, true));
    let mut json: Value =
        serde_json::from_slice(&convert(TokenizerInput::SentencePiece(UNIGRAM)).unwrap().json)
            .unwrap();
    // As if that release had numbered two letters otherwise.
    for entry in json["model"]["vocab"].as_array_mut().unwrap() {
        let other = match entry[0].as_str() {
            Some("e") => "a",
            Some("a") => "e",
            _ => continue,
        };
        entry[0] = json!(other);
    }
    let json = json.to_string();
    let originals = [("tokenizer.model".to_owned(), UNIGRAM.to_vec())];
    let registration = TokenizerRegistration {
        name: "old",
        json: json.as_bytes(),
        originals: &originals,
        ..TokenizerRegistration::default()
    };
    let record = writer(home.corpus.as_ref()).register(&registration).unwrap();
    assert_eq!(record.reference, REFERENCE);
    home.tokenizer("backfill", &["old"]).good();
    let check = home.tokenizer("check", &["old", "--json"]).json();
    let cases = check["check"]["cases"].as_array().unwrap();
    let case = cases.iter().find(|case| case["name"] == "ids of SentencePiece").unwrap();
    let what = case["what"].as_str().unwrap();
    assert_eq!(case["verdict"], "fault", "{what}");
    assert!(
        what.starts_with(&format!("its ids are those of {REFERENCE}; SentencePiece gives")),
        "{what}"
    );
    assert!(what.ends_with("register the .model under a new name"), "{what}");
    let file = home.scratch.write("spiece.model", UNIGRAM);
    let new = home.tokenizer("add", &["new", &file, "--json"]).good().json();
    assert_eq!(new["reference"], SENTENCEPIECE);
    sound(&home.corpus);
}

#[test]
fn an_extension_of_a_model_takes_over_no_ids() {
    let home = ModelCorpus::new(&crawl(74, 20, true));
    let file = home.scratch.write("spiece.model", BPE);
    let added = home.tokenizer("add", &["piece", &file, "--json"]).good().json();
    let terms = home.scratch.write("terms.txt", "zyzzyva\n");
    let out = home.scratch.arg("more");
    let more = home
        .tokenizer("extend", &["piece", "more", "--terms", &terms, "--out", &out, "--json"])
        .good()
        .json();
    assert_eq!((&more["copied_documents"], &more["reference"]), (&json!(0), &json!(REFERENCE)));
    assert_eq!(more["encoded_documents"], added["encoded_documents"]);
    sound(&home.corpus);
}

#[test]
fn no_vocabulary_with_marks_for_spaces_has_a_nul() {
    let mut pages = crawl(75, 40, true);
    pages.iter_mut().for_each(|page| page.text.push_str(" end\0of\0text"));
    let home = ModelCorpus::new(&pages);
    for model in ["unigram", "bpe"] {
        let options = ["--vocab-size", "500", "--byte-fallback", "--character-coverage", "1"];
        home.tokenizer("train", &[&[model, "--model", model], &options[..]].concat()).good();
        let (corpus, model_file) = (home.open(), home.scratch.arg("own.model"));
        let json: Value = serde_json::from_slice(&corpus.tokenizer_json(model).unwrap()).unwrap();
        assert!(!json["model"]["vocab"].to_string().contains("\\u0000"), "{model}");
        drop(corpus);
        home.tokenizer("export", &[model, &model_file]).good();
        // What was exported gives the ids that are stored here.
        home.tokenizer("add", &[&format!("{model}-back"), &model_file]).good();
        let corpus = home.open();
        let (own, back) = (
            corpus.tokenizer(Some(model)).unwrap(),
            corpus.tokenizer(Some(&format!("{model}-back"))).unwrap(),
        );
        let (mut own_encoder, mut back_encoder) =
            (own.tokenizer.encoder(), back.tokenizer.encoder());
        for page in &pages {
            let (mut own_ids, mut back_ids) = (Vec::new(), Vec::new());
            own_encoder.encode(&page.text, &mut own_ids).unwrap();
            back_encoder.encode(&page.text, &mut back_ids).unwrap();
            assert_eq!(own_ids, back_ids, "{model} {:?}", page.text);
        }
    }
}
