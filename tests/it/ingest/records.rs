//! Records handed over by a program come to what the same records come to in a file.

use crate::support::{
    MEMORY, Page, Random, corpusdb_test, crawl, keyed_options, lines, make, pour, prose, reader,
    sound_digest, writer,
};
use arrow::array::{
    ArrayRef, BinaryArray, DictionaryArray, Int64Array, LargeStringArray, RecordBatch,
    RecordBatchIterator, StringArray, StringViewArray,
};
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use arrow::error::ArrowError;
use corpusdb::ingest::{
    ChatOptions, ChatTemplate, JoinBy, JoinColumn, JoinOptions, ReadError, ReadOptions, Record,
    RecordForm, Records,
};
use corpusdb::{
    Context, Corpus, CorpusWriter, DedupMode, DocId, Error, ErrorKind, FieldKind, IngestOptions,
    IngestReport, Interrupt, Policy, Progress, ProgressTally,
};
use serde_json::{Map, Value, json};
use std::convert::Infallible;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

// ----
// Ingest from memory: records one by one and Arrow batches come to what the same records come to in a file.

fn record(page: &Page) -> Record {
    let fields = page.fields.as_object().unwrap().clone();
    Record { key: page.id.clone(), text: page.text.clone(), fields }
}

fn records(pages: &[Page]) -> impl Iterator<Item = Record> + Send + '_ {
    pages.iter().map(record)
}

/// Batches of so many rows each, with all other fields as columns of strings and numbers.
fn batches(pages: &[Page], rows: usize) -> (Arc<Schema>, Vec<RecordBatch>) {
    let schema = Arc::new(Schema::new(vec![
        Field::new("id", DataType::Utf8, true),
        Field::new("text", DataType::Utf8, true),
        Field::new("url", DataType::Utf8, true),
        Field::new("year", DataType::Int64, true),
    ]));
    let batch = |pages: &[Page]| {
        let url = |page: &Page| page.fields["url"].as_str().map(str::to_owned);
        let columns: Vec<ArrayRef> = vec![
            Arc::new(pages.iter().map(|page| page.id.clone()).collect::<StringArray>()),
            Arc::new(pages.iter().map(|page| Some(page.text.clone())).collect::<StringArray>()),
            Arc::new(pages.iter().map(url).collect::<StringArray>()),
            Arc::new(pages.iter().map(|page| page.fields["year"].as_i64()).collect::<Int64Array>()),
        ];
        RecordBatch::try_new(Arc::clone(&schema), columns).unwrap()
    };
    let all = pages.chunks(rows).map(batch).collect();
    (schema, all)
}

fn table(
    schema: &Arc<Schema>,
    batches: Vec<RecordBatch>,
) -> RecordBatchIterator<std::vec::IntoIter<Result<RecordBatch, ArrowError>>> {
    let batches: Vec<_> = batches.into_iter().map(Ok).collect();
    let batches = batches.into_iter();
    RecordBatchIterator::new(batches, Arc::clone(schema))
}

fn hand_over(
    writer: &mut CorpusWriter,
    records: Records<'_>,
    options: &IngestOptions,
) -> Result<IngestReport, Error> {
    writer.ingest(records, options, &Context::new())
}

fn made(path: &Path) -> CorpusWriter {
    make(path, DedupMode::Witness, 0.8);
    writer(path)
}

/// What a report says but for times and the number of commits.
fn told(report: &IngestReport) -> Value {
    let mut told = serde_json::to_value(report).unwrap();
    // Records of a program come from no file.
    for of_the_run in ["seconds", "stages", "commits", "files"] {
        told.as_object_mut().unwrap().remove(of_the_run);
    }
    told
}

/// The documents with all that is known of them.
fn documents(corpus: &Corpus) -> Vec<String> {
    let shown = |id| {
        let mut shown = serde_json::to_value(corpus.show(DocId(id)).unwrap()).unwrap();
        // The number of a commit depends on how the input is cut.
        shown.as_object_mut().unwrap().remove("commit");
        shown.to_string()
    };
    corpus.select(None).unwrap().iter().map(shown).collect()
}

corpusdb_test!(records_from_memory_are_those_of_a_file_however_they_are_cut, |scratch| {
    let pages = crawl(41, 500, true);
    let file = scratch.write("a.jsonl", lines(&pages));
    let mut of_file = made(&scratch.path("file"));
    let expected = pour(&mut of_file, std::slice::from_ref(&file), &keyed_options(16 << 20));
    drop(of_file);
    let of_file = reader(&scratch.path("file"));
    for (at, (batch_bytes, threads)) in [(16 << 20, 1), (3 << 10, 3)].into_iter().enumerate() {
        let path = scratch.path(&format!("memory-{at}"));
        make(&path, DedupMode::Witness, 0.8);
        let mut writer =
            Corpus::options().memory(MEMORY).threads(threads).open_writer(&path).unwrap();
        let options = keyed_options(batch_bytes);
        let report =
            hand_over(&mut writer, Records::new(&*file, records(&pages)), &options).unwrap();
        assert_eq!(report.commits > 20, batch_bytes < 10 << 10);
        if at == 0 {
            assert_eq!(told(&report), told(&expected));
        }
        assert_eq!(told(&report)["added"], told(&expected)["added"]);
        drop(writer);
        assert_eq!(sound_digest(&reader(&path)), sound_digest(&of_file));
        assert!(documents(&reader(&path)) == documents(&of_file), "other documents");
    }
});

corpusdb_test!(record_batches_equal_the_same_rows_one_by_one, |scratch| {
    let pages = crawl(42, 300, true);
    let plain = |page: &Page| {
        let fields = [("url", page.fields["url"].clone()), ("year", page.fields["year"].clone())];
        let fields = fields.into_iter().filter(|(name, value)| match *name {
            "year" => value.is_i64(),
            _ => !value.is_null(),
        });
        let fields = fields.map(|(name, value)| (name.to_owned(), value)).collect();
        Record { fields, ..record(page) }
    };
    let mut writer = made(&scratch.path("records"));
    let one_by_one = Records::new("crawl", pages.iter().map(plain));
    let expected = hand_over(&mut writer, one_by_one, &keyed_options(16 << 20)).unwrap();
    drop(writer);
    let digest = sound_digest(&reader(&scratch.path("records")));
    for rows in [1, 7, 300] {
        let path = scratch.path(&format!("rows-{rows}"));
        let mut writer = made(&path);
        let (schema, batches) = batches(&pages, rows);
        let records = Records::batches("crawl", table(&schema, batches));
        let report = hand_over(&mut writer, records, &keyed_options(4 << 10)).unwrap();
        assert_eq!(told(&report)["added"], told(&expected)["added"]);
        drop(writer);
        assert_eq!(sound_digest(&reader(&path)), digest, "{rows} rows a batch");
    }
});

corpusdb_test!(texts_of_every_column_of_strings_are_read, |scratch| {
    let mut writer = made(&scratch.path("corpus"));
    let texts = ["first text", "second text", "first text"];
    let columns: [ArrayRef; 5] = [
        Arc::new(StringArray::from(texts.to_vec())),
        Arc::new(LargeStringArray::from(texts.to_vec())),
        Arc::new(StringViewArray::from(texts.to_vec())),
        Arc::new(BinaryArray::from_vec(texts.iter().map(|text| text.as_bytes()).collect())),
        Arc::new(texts.into_iter().collect::<DictionaryArray<Int32Type>>()),
    ];
    let options = IngestOptions::new("web");
    for (at, column) in columns.into_iter().enumerate() {
        let kind = column.data_type().clone();
        let batch = RecordBatch::try_from_iter([("content", column)]).unwrap();
        // Slices share the buffers of the whole.
        let parts = vec![batch.slice(0, 0), batch.slice(0, 1), batch.slice(1, 2)];
        let records = Records::batches(format!("table {at}"), table(&batch.schema(), parts));
        let report = hand_over(&mut writer, records, &options).unwrap();
        assert_eq!((report.read, report.added), (3, 3), "{kind}");
    }
    drop(writer);
    let corpus = reader(&scratch.path("corpus"));
    assert_eq!(corpus.count("text = 'first text'").unwrap(), 10);
    assert_eq!(corpus.count("kept").unwrap(), 2);
    sound_digest(&corpus);
});

corpusdb_test!(an_ingest_resumes_behind_a_failed_iterator, |scratch| {
    let pages: Vec<Page> =
        (0..200).map(|n| Page::keyed(format!("page-{n}"), format!("text number {n}"))).collect();
    let mut whole = made(&scratch.path("whole"));
    hand_over(&mut whole, Records::new("crawl", records(&pages)), &keyed_options(1 << 20)).unwrap();
    drop(whole);
    let mut writer = made(&scratch.path("corpus"));
    let options = keyed_options(256);
    let fails_at = |end: usize| {
        let good = records(&pages[..end]).map(Ok);
        good.chain(std::iter::once_with(|| Err(std::io::Error::other("the line went dead"))))
    };
    let failed = hand_over(&mut writer, Records::fallible("crawl", fails_at(90)), &options);
    let error = failed.unwrap_err();
    assert_eq!(
        error.to_string(),
        "crawl: reading record 90 (counted from 0) failed; the records before were read"
    );
    assert_eq!(std::error::Error::source(&error).unwrap().to_string(), "the line went dead");
    assert_eq!(error.kind(), ErrorKind::BadInput);
    assert!(matches!(error.origin(), Some(ReadError::Records { .. })));
    assert_eq!(writer.view().documents(), 90);
    let report = hand_over(&mut writer, Records::new("crawl", records(&pages)), &options).unwrap();
    assert_eq!((report.unchanged, report.added), (90, 110));

    let (schema, batches) = batches(&pages, 50);
    let dead = || Err(ArrowError::ComputeError("no such row group".to_owned()));
    let broken = batches.into_iter().take(2).map(Ok).chain(std::iter::once_with(dead));
    let broken = Records::batches("table", RecordBatchIterator::new(broken, schema));
    let error = hand_over(&mut writer, broken, &options).unwrap_err();
    assert!(error.to_string().starts_with("table: reading record 100 "), "{error}");
    // The rows have a column `url` that is null, so they are the same records.
    assert_eq!(writer.view().documents(), 200);
    drop(writer);
    let digests = ["corpus", "whole"].map(|name| sound_digest(&reader(&scratch.path(name))));
    assert_eq!(digests[0], digests[1]);
});

corpusdb_test!(records_without_a_key_are_known_by_number_and_content, |scratch| {
    let mut writer = made(&scratch.path("corpus"));
    let keyless = IngestOptions::new("web");
    let texts = || (0..3).map(|n| Record::new(format!("page {n}")));
    let mut added = |name: &str, records: Vec<Record>, options: &IngestOptions| {
        let report = hand_over(&mut writer, Records::new(name, records), options).unwrap();
        (report.added, report.unchanged, report.updated, report.rejected)
    };
    assert_eq!(added("a", texts().collect(), &keyless), (3, 0, 0, 0));
    assert_eq!(added("a", texts().collect(), &keyless), (0, 3, 0, 0));
    assert_eq!(added("a", texts().rev().collect(), &keyless), (2, 1, 0, 0));
    assert_eq!(added("b", texts().collect(), &keyless), (3, 0, 0, 0));
    // By a field, as in a file; one that has neither, and one that is too long, are set aside.
    let mut by_field = keyed_options(1 << 20);
    by_field.read.max_doc_bytes = 20;
    let mixed = vec![
        Record::new("with a field").with_field("id", "k").with_field("year", 2001),
        Record::new("with a number").with_field("id", 17),
        Record::new("with a key").with_key("k"),
        Record::new("with neither").with_field("id", true),
        Record::new("longer than is allowed here").with_key("long"),
    ];
    assert_eq!(added("c", mixed, &by_field), (3, 0, 1, 2));
    drop(writer);
    let corpus = reader(&scratch.path("corpus"));
    assert_eq!(corpus.find_key("k").unwrap().len(), 2);
    assert_eq!(corpus.find_key("17").unwrap().len(), 1);
    let rejects = corpus.rejects(10).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
    let told: Vec<_> = rejects.iter().map(|it| (&*it.path, it.number, &*it.reason)).collect();
    let long = "27 bytes, over the limit of 20 (--max-doc-bytes)";
    let bad = "id field `id` is absent, blank, or neither a string nor an integer";
    assert_eq!(told, [("c", 3, bad), ("c", 4, long)]);
    assert_eq!(rejects[1].raw, b"longer than is allowed here");
    sound_digest(&corpus);
});

corpusdb_test!(records_without_a_name_or_batches_without_a_text_are_refused, |scratch| {
    let mut writer = made(&scratch.path("corpus"));
    let options = IngestOptions::new("web");
    let nameless = hand_over(&mut writer, Records::new("", [Record::new("x")]), &options);
    assert!(nameless.unwrap_err().to_string().contains("need a name"));
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["a text", "another text"]));
    let wrong = RecordBatch::try_from_iter([("n", Arc::clone(&numbers))]).unwrap();
    let right = RecordBatch::try_from_iter([("n", numbers), ("text", texts)]).unwrap();
    let refused = Records::batches("t", table(&wrong.schema(), vec![wrong.clone()]));
    let error = hand_over(&mut writer, refused, &options).unwrap_err();
    assert!(error.to_string().starts_with("t: no text field among `n`"), "{error}");
    // A reader that promises other columns than it gives.
    let lying = Records::batches("t", table(&right.schema(), vec![right.clone(), wrong]));
    let error = hand_over(&mut writer, lying, &options).unwrap_err();
    assert!(error.to_string().starts_with("t: no text field among `n`"), "{error}");
    assert_eq!(writer.view().documents(), 2);
});

corpusdb_test!(conversations_come_from_the_fields_of_records, |scratch| {
    let mut writer = made(&scratch.path("corpus"));
    let template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}";
    let chat = ChatOptions {
        template: Some(ChatTemplate::new(template).unwrap().into()),
        ..ChatOptions::default()
    };
    let options = IngestOptions { form: RecordForm::Chat(chat), ..IngestOptions::new("chats") };
    let turns = json!([{ "role": "user", "content": "hello" }]);
    let chats = vec![
        Record::default().with_key("1").with_field("messages", turns.clone()),
        Record::new("a text").with_key("2").with_field("messages", turns),
    ];
    let report = hand_over(&mut writer, Records::new("chats", chats), &options).unwrap();
    assert_eq!((report.added, report.rejected), (1, 1));
    assert_eq!(writer.view().text(DocId(0)).unwrap(), "user: hello\n");
});

/// Asks for a stop when the first batch is committed.
struct StopAtOnce<'a>(&'a Interrupt);

impl Progress for StopAtOnce<'_> {
    fn begin(&self, _stage: &str, _total: Option<u64>) {}
    fn advance(&self, _done: u64) {}
    fn tally(&self, _tally: &ProgressTally) {
        self.0.raise();
    }
    fn end(&self) {}
    fn note(&self, _message: &str) {}
}

corpusdb_test!(records_are_asked_for_when_there_is_room_for_them, |scratch| {
    let text = prose(&mut Random::new(1), 0, 20);
    for given in [2_000, 4_000] {
        let mut writer = made(&scratch.path(&format!("corpus-{given}")));
        let (asked, interrupt) = (AtomicU64::new(0), Interrupt::default());
        let pages = (0..given).map(|n| {
            asked.fetch_add(1, Ordering::SeqCst);
            Record::new(format!("{text} {n}"))
        });
        let options = options_of(text.len() as u64 * 10);
        let stopped = writer.ingest(
            Records::new("crawl", pages),
            &options,
            &Context::new().with_progress(&StopAtOnce(&interrupt)).with_interrupt(&interrupt),
        );
        assert!(stopped.unwrap_err().is_interrupt());
        // Ten a batch, and as many batches as the stages hold at once.
        let asked = asked.into_inner();
        assert!(asked <= 10 * 12, "{asked} of {given} records");
    }
});

fn options_of(batch_bytes: u64) -> IngestOptions {
    IngestOptions { batch_bytes, ..IngestOptions::new("web") }
}

// ----
// Fields by name, handed over by a program: they come to what the lines of a JSON file come to; values are joined
// alike.

type Given = Result<Result<Map<String, Value>, String>, Infallible>;

fn fields(line: &str) -> Map<String, Value> {
    serde_json::from_str(line).unwrap()
}

fn good(fields: Map<String, Value>) -> Given {
    Ok(Ok(fields))
}

fn hand_over_mappings(
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

// Which record has no text was not said.
corpusdb_test!(a_record_without_a_text_is_refused_by_its_number, |scratch| {
    make(&scratch.path("corpus"), DedupMode::None, 0.8);
    let mut writer = writer(&scratch.path("corpus"));
    let given = vec![Ok(Err("no mapping".to_owned())), good(fields(r#"{"title":"x"}"#))];
    let error = hand_over_mappings(&mut writer, given, &by_id()).unwrap_err();
    let told = "crawl: record 1 (counted from 0): no text field among `title`; name one";
    assert!(error.to_string().starts_with(told), "{error}");
    let details = error.details().unwrap();
    assert_eq!((details.file.as_deref(), details.record), (Some("crawl"), Some(1)));
});

corpusdb_test!(mappings_equal_the_lines_of_a_file, |scratch| {
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
    let report =
        hand_over_mappings(&mut writer(&scratch.path("mappings")), given, &options).unwrap();
    let counts = |report: &IngestReport| (report.read, report.added, report.kept, report.rejected);
    assert_eq!(counts(&report), counts(&of_file));
    let shown = |name: &str| -> Vec<(String, String, String)> {
        let corpus = reader(&scratch.path(name));
        sound_digest(&corpus);
        let shown = corpus.documents(None).unwrap().map(Result::unwrap);
        shown.map(|it| (it.key.clone(), it.text, it.metadata.get().to_owned())).collect()
    };
    assert!(shown("file") == shown("mappings"), "other documents");
});

corpusdb_test!(non_records_become_rejects, |scratch| {
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
    let report = hand_over_mappings(&mut writer, given, &by_id()).unwrap();
    assert_eq!((report.added, report.rejected), (2, 4));
    let error = hand_over_mappings(&mut writer, vec![good(fields(r#"{"title":"x"}"#))], &by_id());
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
});

corpusdb_test!(values_from_a_program_are_joined_as_those_of_a_file, |scratch| {
    let path = scratch.path("corpus");
    let declared = [("quality".to_owned(), FieldKind::Float)];
    Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &declared).unwrap();
    let mut writer = writer(&path);
    let pages = (0..5).map(|n| good(fields(&format!(r#"{{"id":"k{n}","text":"page {n}"}}"#))));
    hand_over_mappings(&mut writer, pages.collect(), &by_id()).unwrap();
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
});
