//! Fields by name, handed over by a program: they come to what the lines of a JSON file come to; values are joined
//! alike.

use crate::support::{TestDir, crawl, lines, make, pour, reader, sound_digest, writer};
use corpusdb::ingest::{JoinBy, JoinColumn, JoinOptions, ReadOptions, Records};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, Error, FieldKind, IngestOptions, IngestReport, Policy,
};
use serde_json::{Map, Value, json};
use std::convert::Infallible;

type Given = Result<Result<Map<String, Value>, String>, Infallible>;

fn fields(line: &str) -> Map<String, Value> {
    serde_json::from_str(line).unwrap()
}

fn good(fields: Map<String, Value>) -> Given {
    Ok(Ok(fields))
}

fn hand_over(
    writer: &mut CorpusWriter,
    given: Vec<Given>,
    options: &IngestOptions,
) -> Result<IngestReport, Error> {
    let records = Records::mappings("crawl", given);
    writer.ingest(records, options, &Context::new())
}

fn by_id() -> IngestOptions {
    let read = ReadOptions { id_field: Some("id".to_owned()), ..ReadOptions::default() };
    IngestOptions { read, ..IngestOptions::new("web") }
}

/// Which record has no text was not said.
#[test]
fn a_record_without_a_text_is_refused_by_its_number() {
    let scratch = TestDir::new();
    make(&scratch.path("corpus"), DedupMode::None, 0.8);
    let mut writer = writer(&scratch.path("corpus"));
    let given = vec![Ok(Err("no mapping".to_owned())), good(fields(r#"{"title":"x"}"#))];
    let error = hand_over(&mut writer, given, &by_id()).unwrap_err();
    let told = "crawl: record 1 (counted from 0): no text field among `title`; name one";
    assert!(error.to_string().starts_with(told), "{error}");
    let details = error.details().unwrap();
    assert_eq!((details.file.as_deref(), details.record), (Some("crawl"), Some(1)));
}

#[test]
fn mappings_equal_the_lines_of_a_file() {
    let scratch = TestDir::new();
    let text = lines(&crawl(43, 200, true));
    let file = scratch.write("crawl", &text);
    let options = IngestOptions {
        read: ReadOptions { format: corpusdb::ingest::InputFormat::Jsonl, ..by_id().read },
        ..by_id()
    };
    for name in ["file", "mappings"] {
        make(&scratch.path(name), DedupMode::Witness, 0.8);
    }
    let of_file = pour(&mut writer(&scratch.path("file")), &[file], &options);
    let given = text.lines().map(|line| good(fields(line))).collect();
    let report = hand_over(&mut writer(&scratch.path("mappings")), given, &options).unwrap();
    let counts = |report: &IngestReport| (report.read, report.added, report.kept, report.rejected);
    assert_eq!(counts(&report), counts(&of_file));
    let shown = |name: &str| -> Vec<(String, String, String)> {
        let corpus = reader(&scratch.path(name));
        sound_digest(&corpus);
        let shown = corpus.documents(None).unwrap().map(Result::unwrap);
        shown.map(|it| (it.key.clone(), it.text, it.metadata.get().to_owned())).collect()
    };
    assert!(shown("file") == shown("mappings"), "other documents");
}

#[test]
fn non_records_become_rejects() {
    let scratch = TestDir::new();
    make(&scratch.path("corpus"), DedupMode::Witness, 0.8);
    let mut writer = writer(&scratch.path("corpus"));
    let given = vec![
        good(fields(r#"{"id":"a","body":"not the text","content":"a text"}"#)),
        Ok(Err("field `x`: no form in JSON".to_owned())),
        good(fields(r#"{"id":"b","content":null}"#)),
        good(fields(r#"{"id":"c","content":7}"#)),
        good(fields(r#"{"id":[],"content":"a text of its own"}"#)),
        good(fields(r#"{"id":9,"content":"another text"}"#)),
    ];
    let report = hand_over(&mut writer, given, &by_id()).unwrap();
    assert_eq!((report.added, report.rejected), (2, 4));
    let error = hand_over(&mut writer, vec![good(fields(r#"{"title":"x"}"#))], &by_id());
    let error = error.unwrap_err().to_string();
    assert!(error.contains("no text field among `title`"), "{error}");
    drop(writer);
    let corpus = reader(&scratch.path("corpus"));
    let rejects = corpus.rejects(10).unwrap().map(Result::unwrap);
    let reasons: Vec<(u64, String)> = rejects.map(|it| (it.number, it.reason)).collect();
    let told = [
        (1, "field `x`: no form in JSON"),
        (2, "no text: field `content` is absent or null"),
        (3, "text field `content` is not a string"),
        (4, "id field `id` is absent, blank, or neither a string nor an integer"),
    ];
    assert_eq!(reasons, told.map(|(number, why)| (number, why.to_owned())));
}

#[test]
fn values_from_a_program_are_joined_as_those_of_a_file() {
    let scratch = TestDir::new();
    let path = scratch.path("corpus");
    let declared = [("quality".to_owned(), FieldKind::Float)];
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &declared).unwrap();
    let mut writer = writer(&path);
    let pages = (0..5).map(|n| good(fields(&format!(r#"{{"id":"k{n}","text":"page {n}"}}"#))));
    hand_over(&mut writer, pages.collect(), &by_id()).unwrap();
    let column = JoinColumn { field: "quality".to_owned(), column: "score".to_owned() };
    let by = JoinBy::Key("id".to_owned());
    let options = JoinOptions { columns: vec![column], ..JoinOptions::of("quality", by) };
    let scores = [("k1", json!(1.5)), ("k9", json!(2)), ("k2", json!(null))];
    let scores =
        scores.map(|(key, score)| good(fields(&json!({ "id": key, "score": score }).to_string())));
    let records = Records::mappings("scores", scores);
    let report = writer.set_field(records, &options, &Context::new()).unwrap();
    assert_eq!((report.records, report.changed, report.unknown), (3, 1, 1));
    assert_eq!(writer.corpus().count("quality = 1.5").unwrap(), 1);
    sound_digest(&writer.corpus());
}
