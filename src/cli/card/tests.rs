//! The card of a corpus whose names, keys and texts are written to break a page.

use super::page;
use crate::cli::page::tests::elements;
use corpusdb::ingest::{Record, Records};
use corpusdb::report::{CorpusReport, ReportOptions};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, FieldKind, IngestOptions, Policy, Recipe,
};

const HOSTILE: &str = "</title><script>alert('x')</script>&\"\u{202e}";

/// Words that no other document has.
fn words(of: u32) -> String {
    (0..30).map(|at| format!("w{of}x{at} ")).collect()
}

/// A corpus with a document of everything that a card tells, its names hostile.
struct Place {
    _directory: tempfile::TempDir,
    writer: CorpusWriter,
    plan: u32,
}

impl Place {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(HOSTILE.replace('/', "∕"));
        let fields = [("score".to_owned(), FieldKind::Float)];
        Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.5).unwrap(), &fields).unwrap();
        let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path).unwrap();
        for (source, first) in [("web", 0), (HOSTILE, 5)] {
            let record = |n: u32| {
                // Every third text is another one with a hostile word more.
                let text = format!(
                    "{} {}",
                    words(first + n / 3),
                    if n.is_multiple_of(3) { "" } else { HOSTILE }
                );
                let key =
                    format!("https://{}.example/{n}/{HOSTILE}", if n < 9 { "a" } else { "<b>" });
                let fields = serde_json::json!({
                    "score": f64::from(n) / 7.0, "language": if n.is_multiple_of(2) { "en" } else { HOSTILE },
                });
                let fields = fields.as_object().cloned().unwrap();
                fields.into_iter().fold(Record::new(text).with_key(key), |record, (name, value)| {
                    record.with_field(name, value)
                })
            };
            let records = Records::new(HOSTILE, (0..30).map(record));
            let options = IngestOptions::new(source);
            writer.ingest(records, &options, &Context::new()).unwrap();
        }
        let file = br#"{"version": "1.0", "added_tokens": [], "pre_tokenizer": {"type": "Whitespace"}, "model":
            {"type": "WordLevel", "vocab": {"<unk>": 0, "page": 1}, "unk_token": "<unk>"}}"#;
        writer.add_tokenizer("words", file, HOSTILE, &Context::new()).unwrap();
        let recipe = format!(
            "version = 1\n[[source]]\nname = \"web\"\nweight = 0.5\n[[source]]\nname = '''{HOSTILE}'''\n\
             weight = 0.5\n[pack]\nkind = \"concat\"\nlength = 8\n"
        );
        let (record, _) = writer.plan(&Recipe::parse(&recipe).unwrap(), &Context::new()).unwrap();
        Self { _directory: directory, plan: record.number, writer }
    }

    fn report(&self, texts: bool) -> CorpusReport {
        let options = ReportOptions { plan: Some(self.plan), texts, ..ReportOptions::default() };
        self.writer.corpus().report(&options, &Context::new()).unwrap()
    }
}

#[test]
fn the_card_is_well_formed_and_needs_nothing_from_outside() {
    let place = Place::new();
    let page = page(&place.report(true));
    let elements = elements(&page);
    let name = |element: &String| element.split(' ').next().unwrap_or("").to_owned();
    for element in &elements {
        assert!(!["script", "link", "img", "iframe", "object", "base"].contains(&&*name(element)));
        for attribute in ["src=", "onload", "onclick", "onerror", "url("] {
            assert!(!element.contains(attribute), "{element}");
        }
        // The only addresses are places of the page, which there are.
        if let Some((_, address)) = element.split_once("href=\"") {
            let id = address.strip_prefix('#').expect("a place of the page").trim_end_matches('"');
            let there = format!("section id=\"{id}\"");
            assert!(elements.iter().any(|element| element.starts_with(&there)), "{id}");
        }
    }
    assert!(!page.contains("@import") && !page.contains("url("));
    let count = |wanted: &str| elements.iter().filter(|element| name(element) == wanted).count();
    assert_eq!((count("html"), count("main"), count("h1"), count("nav")), (1, 1, 1, 1));
    assert_eq!((count("section"), count("a")), (11, 11));
    // Each drawing has a name for those who do not see it, each picture a sentence above it.
    assert!(count("svg") >= 6);
    assert_eq!(page.matches("role=\"img\">\n<title>").count(), count("svg"));
    assert_eq!(count("figure"), count("figcaption"));
    assert!(!page.contains("<figcaption></figcaption>"));
    assert!(!page.contains("NaN") && !page.contains("inf"));
}

#[test]
fn what_comes_from_the_corpus_cannot_become_html() {
    let place = Place::new();
    let report = place.report(true);
    let shown = serde_json::to_string(&report).unwrap();
    let page = page(&report);
    for (part, least) in [("<script", 0), ("</title><", 0), ("\u{202e}", 0), ("&lt;script&gt;", 12)]
    {
        let found = page.matches(part).count();
        assert!(if least == 0 { found == 0 } else { found >= least }, "{part}: {found}");
    }
    // It was there to be escaped: in names, keys, languages and texts.
    assert!(shown.matches("<script>").count() >= 12);
    assert!(page.contains("<ins>") && page.contains("class=\"diff\""));
}

#[test]
fn without_texts_no_text_is_shown() {
    let place = Place::new();
    let report = place.report(false);
    let (shown, page) = (serde_json::to_string(&report).unwrap(), page(&report));
    for place in [&shown, &page] {
        assert!(!place.contains("x29"), "{place}");
    }
    assert!(page.contains("documents around") && !page.contains("class=\"diff\""));
    let with = place.report(true);
    assert!(serde_json::to_string(&with).unwrap().contains("x29"));
}

#[test]
fn the_card_is_the_same_each_time() {
    let place = Place::new();
    assert_eq!(page(&place.report(true)), page(&place.report(true)));
}

#[test]
fn a_corpus_of_nothing_has_a_card_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("empty");
    Corpus::init(&path, &Policy::new(DedupMode::Exact, 1.0).unwrap(), &[]).unwrap();
    let corpus = Corpus::options().memory(64 << 20).open(&path).unwrap();
    let report = corpus.report(&ReportOptions::default(), &Context::new()).unwrap();
    let page = page(&report);
    elements(&page);
    assert!(page.contains("Nothing has come in yet.") && page.contains("No duplicate was found."));
    assert!(!page.contains("NaN"));
}
