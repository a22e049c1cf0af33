//! The query layer on a real store: columns, push-down, refusals, and the law that indexes answer as the engine does.

use super::*;
use arrow::array::UInt64Array;
use arrow::record_batch::RecordBatch;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::session_state::SessionState;
use datafusion::prelude::SessionContext;
use model::{
    Context, DedupMode, DocId, FieldDeclaration, FieldId, FieldKind, FileId, Interrupt, Match,
    MatchKind, Policy, Standing, TokenizerId, key_identity,
};
use proptest::prelude::*;
use std::sync::OnceLock;
use store;
use store::{
    CommitRecord, DocumentPlace, DocumentPrint, DocumentRecord, FileRecord, MemoryBudget,
    NewDocument, StoreWriter, TokenizerFiles, TokenizerRecord, View,
};

/// A document to be stored.
#[derive(Clone, Debug)]
struct Sketch {
    source: &'static str,
    text: String,
    /// JSON object.
    metadata: String,
    key: Option<&'static str>,
    standing: Standing,
    witness: Option<u64>,
    tokens: Option<usize>,
}

fn kept(source: &'static str, text: &str, metadata: &str) -> Sketch {
    Sketch {
        source,
        text: text.to_owned(),
        metadata: metadata.to_owned(),
        key: None,
        standing: Standing::Kept,
        witness: None,
        tokens: Some(3),
    }
}

fn declared() -> Vec<FieldDeclaration> {
    let field = |id, name: &str, kind| FieldDeclaration {
        id: FieldId(id),
        name: name.to_owned(),
        kind,
        path: None,
        rule: kind.rule(),
    };
    vec![
        field(16, "url", FieldKind::Keyword),
        field(17, "quality", FieldKind::Float),
        field(18, "stars", FieldKind::Int),
    ]
}

/// A corpus of those documents, in one commit after the tokenizer's.
#[expect(clippy::too_many_lines, reason = "one document's rows, written by hand in one place")]
fn corpus(documents: &[Sketch]) -> (tempfile::TempDir, View) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("corpus");
    store::create(&path, &Policy::new(DedupMode::Witness, 0.8).unwrap(), &declared()).unwrap();
    let mut writer = StoreWriter::open(&path, MemoryBudget::within(64 << 20), 1).unwrap();
    let mut batch = writer.begin().unwrap();
    let tokenizer = TokenizerRecord {
        name: "words".to_owned(),
        hash: [7; 32],
        vocab_size: 100,
        lineage: "test".to_owned(),
        backend: "test".to_owned(),
        encoded_to: 0,
        ..TokenizerRecord::default()
    };
    batch
        .add_tokenizer(&tokenizer, TokenizerFiles { file: b"{}", ..TokenizerFiles::default() })
        .unwrap();
    batch.commit(&CommitRecord::about("tokenizer", "")).unwrap();

    let mut batch = writer.begin().unwrap();
    let file = FileRecord {
        file: 1,
        size: 1,
        modified: 0,
        single: false,
        whole: true,
        offset: 1,
        records: 1,
        rejected: 0,
        prefix: [0; 32],
        reading: String::new(),
    };
    for (number, sketch) in (0_u64..).zip(documents) {
        let source = batch.source(sketch.source).unwrap();
        assert_eq!(batch.file(source, b"/in/lines").unwrap(), FileId(1));
        let header = DocumentRecord {
            place: DocumentPlace {
                source,
                file: FileId(1),
                number,
                content: [0; 16],
                text_of: None,
            },
            print: DocumentPrint { raw: [0; 16], normalised: [0; 16], words: 3, shingles: 1 },
            commit: batch.commit_seq(),
            key: sketch.key.map(str::to_owned),
            bytes: sketch.text.len() as u64,
            chars: sketch.text.chars().count() as u64,
        };
        let identity = match sketch.key {
            Some(key) => key_identity(sketch.source, key),
            None => key_identity(sketch.source, &format!("/in/lines:{number}")),
        };
        let id = batch
            .add(NewDocument {
                header,
                identity,
                text: Some(sketch.text.clone()),
                sketch: None,
                metadata: sketch.metadata.clone(),
                indexed: store::indexed(&sketch.metadata, &declared()),
            })
            .unwrap();
        batch.set_standing(id, None, sketch.standing).unwrap();
        if let Some(count) = sketch.tokens {
            let count = batch.put_tokens(TokenizerId(0), id, &vec![1; count], 100).unwrap();
            batch.count_tokens(TokenizerId(0), source, count).unwrap();
        }
        if let Some(witness) = sketch.witness {
            let kind = match sketch.standing {
                Standing::Superseded => MatchKind::Superseded,
                _ => MatchKind::Near,
            };
            let witness = DocId(witness);
            let found =
                Match { kind, witness, shared: 9, removed_shingles: 10, witness_shingles: 10 };
            batch.record_match(id, None, Some(&found)).unwrap();
        }
    }
    let sources: Vec<_> = documents.iter().map(|sketch| sketch.source).collect();
    for name in sources {
        let source = batch.source(name).unwrap();
        batch.put_file(source, b"/in/lines", &file).unwrap();
    }
    batch.commit(&CommitRecord::about("ingest", "")).unwrap();
    (directory, writer.view().clone())
}

pub(crate) fn small() -> (tempfile::TempDir, View) {
    let mut documents = vec![
        kept("web", "one two three", r#"{"language":"en","quality":0.5,"url":"http://a"}"#),
        kept("web", "one two four", r#"{"language":"en"}"#),
        kept("code", "let x = 1;", r#"{"language":"de","quality":-1,"stars":-5}"#),
        kept("web", "", "{}"),
        kept("code", "old", "{}"),
        kept("code", "new", r#"{"stars":12,"b":[1.50]}"#),
    ];
    let removed = [
        (1, Standing::Near, Some(0)),
        (3, Standing::Empty, None),
        (4, Standing::Superseded, Some(5)),
    ];
    for (at, standing, witness) in removed {
        let document: &mut Sketch = &mut documents[at];
        (document.standing, document.witness, document.tokens) = (standing, witness, None);
    }
    (documents[4].key, documents[5].key) = (Some("k"), Some("k"));
    corpus(&documents)
}

fn printed(view: &View, statement: &str, format: PrintFormat) -> String {
    let mut out = Vec::new();
    let mut printer = RowPrinter::new(format, &mut out);
    printer.rows(sql(view, statement).unwrap()).unwrap();
    printer.finish().unwrap();
    String::from_utf8(out).unwrap()
}

fn csv(view: &View, statement: &str) -> String {
    printed(view, statement, PrintFormat::Csv)
}

fn ids(view: &View, expression: &str) -> Vec<u64> {
    DocumentFilter::from(expression).select(view).unwrap().iter().collect()
}

fn count<'e>(view: &View, expression: impl Into<Option<&'e str>>) -> Result<u64, SqlError> {
    DocumentFilter::from(expression.into()).count(view)
}

#[test]
fn every_column_has_its_value() {
    let (_directory, view) = small();
    let text = printed(&view, "SELECT * FROM documents ORDER BY id", PrintFormat::Json);
    let lines: Vec<&str> = text.lines().collect();
    let expected = [
        r#"{"id":0,"key":"/in/lines:0@0","source":"web","language":"en","commit":3,"bytes":13,"chars":13,"tokens":3,"tokens_words":3,"kept":true,"standing":"kept","dup_of":null,"jaccard":null,"cluster":0,"cluster_size":2,"crowded":false,"text":"one two three","meta":"{\"language\":\"en\",\"quality\":0.5,\"url\":\"http://a\"}","url":"http://a","quality":0.5,"stars":null}"#,
        r#"{"id":1,"key":"/in/lines:1@1","source":"web","language":"en","commit":3,"bytes":12,"chars":12,"tokens":null,"tokens_words":null,"kept":false,"standing":"near","dup_of":0,"jaccard":0.8181818181818182,"cluster":0,"cluster_size":2,"crowded":false,"text":"one two four","meta":"{\"language\":\"en\"}","url":null,"quality":null,"stars":null}"#,
    ];
    assert_eq!(lines[..2], expected);
    assert!(lines[4].contains(r#""key":"k","source":"code","language":null"#), "{}", lines[4]);
    assert!(lines[4].contains(
        r#""standing":"superseded","dup_of":null,"jaccard":null,"cluster":null,"cluster_size":null"#
    ));
    assert!(lines[5].contains(r#""stars":12"#) && lines[5].contains(r#"[1.50]"#), "{}", lines[5]);
}

#[test]
fn aggregates_joins_and_small_tables() {
    let (_directory, view) = small();
    let per_source = "SELECT source, count(*) AS n, sum(tokens) AS t FROM documents WHERE kept GROUP BY source ORDER BY 2 DESC";
    assert_eq!(csv(&view, per_source), "source,n,t\ncode,2,6\nweb,1,3\n");
    let joined = "SELECT d.id, w.source FROM duplicates d JOIN documents w ON d.witness = w.id";
    assert_eq!(csv(&view, joined), "id,source\n1,web\n");
    assert_eq!(
        csv(&view, "SELECT name, documents, kept, tokens_words FROM sources"),
        "name,documents,kept,tokens_words\nweb,3,1,3\ncode,3,2,6\n"
    );
    assert_eq!(
        csv(&view, "SELECT kind FROM commits LIMIT 2 OFFSET 1"),
        "kind\ntokenizer\ningest\n"
    );
    assert_eq!(csv(&view, "SELECT id, name FROM tokenizers"), "id,name\n0,words\n");
    for table in ["epochs", "rejects", "snapshots"] {
        assert_eq!(csv(&view, &format!("SELECT count(*) AS n FROM {table}")), "n\n0\n");
    }
    assert_eq!(csv(&view, "SELECT id, text FROM documents WHERE false"), "id,text\n");
}

#[test]
fn indexed_filters_are_pushed_down_and_others_are_not() {
    let (_directory, view) = small();
    let pushed = [
        "source = 'web' AND bytes > 3 AND language IS NOT NULL",
        "kept = true AND bytes BETWEEN 1 AND 5.5",
        "tokens > -1 AND quality < 1 AND stars >= 2 AND id < 4 AND commit = 2",
        "(source = 'web' OR language IN ('en','de','fr','it','es')) IS NOT TRUE",
        "quality <> 0.5 OR NOT url = 'http://a'",
    ];
    for expression in pushed {
        let plan =
            csv(&view, &format!("EXPLAIN SELECT count(*) FROM documents WHERE {expression}"));
        assert!(plan.contains("columns=[]") && !plan.contains("FilterExec"), "{plan}");
    }
    let plan = csv(&view, "EXPLAIN SELECT id FROM documents WHERE kept AND text LIKE '%one%'");
    assert!(plan.contains("FilterExec: text") && plan.contains("index=kept"), "{plan}");
    let plan = csv(&view, "EXPLAIN SELECT id FROM documents LIMIT 3");
    assert!(plan.contains("columns=[id], index=all, limit=3"), "{plan}");
}

#[test]
fn selections_by_index_and_by_engine() {
    let (_directory, view) = small();
    assert_eq!(ids(&view, "text LIKE '%one%'"), [0, 1]);
    assert_eq!(ids(&view, "kept AND text LIKE '%one%'"), [0]);
    assert_eq!(ids(&view, "cluster_size > 1"), [0, 1]);
    assert_eq!(ids(&view, "key = 'k' -- a comment"), [4, 5]);
    assert_eq!(ids(&view, "source IN (SELECT name FROM sources WHERE kept = 2)"), [2, 4, 5]);
    assert_eq!(ids(&view, "1 = 2"), [] as [u64; 0]);
    assert_eq!(ids(&view, "language <> 'en'"), [2]);
    assert_eq!(ids(&view, "tokens IS NULL"), [1, 3, 4]);
    assert_eq!(DocumentFilter::default().select(&view).unwrap().len(), 6);
    assert_eq!(count(&view, None).unwrap(), 6);
    assert_eq!(count(&view, "kept AND length(text) > 3").unwrap(), 2);
    assert_eq!(count(&view, "source <> 'web' OR standing IN ('near', 'empty')").unwrap(), 5);
}

#[test]
fn expressions_that_are_none_are_refused_with_the_columns() {
    let (_directory, view) = small();
    let bad = [
        "",
        "1 = 1) UNION SELECT id FROM documents WHERE (1=1",
        "kept; DROP TABLE documents",
        "kept AND",
        "kept AS x",
        "kept) --",
        "true) OR (true",
        "bytes",
        "absent = 1",
        "absent(text)",
    ];
    for expression in bad {
        let error = count(&view, expression).unwrap_err();
        assert!(
            matches!(&error, SqlError::Where { expression: shown, columns, .. } if shown == expression && columns.contains("cluster_size")),
            "{error}"
        );
    }
}

#[test]
fn an_interrupt_ends_all_that_asks_a_condition() {
    let (_directory, view) = small();
    let interrupt = Interrupt::default();
    interrupt.raise();
    let context = Context::new().with_interrupt(&interrupt);
    let stopped = |answer: Result<(), SqlError>| {
        let error = answer.expect_err("it is stopped");
        assert!(matches!(error, SqlError::Interrupted(_)), "{error}");
    };
    for condition in ["kept", "upper(text) = 'X'", "id IN (SELECT witness FROM duplicates)"] {
        let filter = DocumentFilter::from(condition).with_interrupt(&interrupt);
        stopped(filter.count(&view).map(drop));
        stopped(filter.select(&view).map(drop));
        stopped(filter.select_nulls(&view).map(drop));
        stopped(number_values(&view, condition, |_, _| (), &context));
        stopped(text_values(&view, condition, |_, _| (), &context));
        let column = computed_column(&view, condition, FieldKind::Bool).unwrap();
        stopped(column.values(0..6, |_, _| (), &context));
    }
}

#[test]
fn only_reading_statements_run() {
    let (_directory, view) = small();
    let bad = [
        "DROP TABLE documents",
        "INSERT INTO sources VALUES (1)",
        "SELECT 1; SELECT 2",
        "COPY (SELECT 1) TO 'x.csv'",
        "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '/etc/passwd'",
        "EXPLAIN DROP TABLE documents",
        "CREATE TABLE t AS SELECT 1",
        "SELECT * INTO t FROM sources",
        "SHOW ALL",
        "SET a = 1",
        "",
    ];
    for statement in bad {
        let error = sql(&view, statement).unwrap_err();
        assert!(matches!(error, SqlError::NotAQuery { .. }), "{statement}: {error}");
    }
    for statement in ["SELECT absent FROM documents", "SELECT * FROM '/etc/passwd'", "SELEC 1"] {
        let error = sql(&view, statement).unwrap_err();
        assert!(matches!(error, SqlError::Statement { .. }), "{statement}: {error}");
    }
}

#[test]
fn tables_and_columns_say_what_they_are() {
    // DESCRIBE and SHOW TABLES were refused, though the help showed them.
    let (_directory, view) = small();
    let tables = csv(&view, "SHOW TABLES");
    let names: Vec<&str> =
        tables.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(names.len(), 11);
    for table in &names {
        let described = csv(&view, &format!("DESCRIBE {table}"));
        assert_eq!(csv(&view, &format!("show columns from {table}")), described);
        let header = csv(&view, &format!("SELECT * FROM {table} LIMIT 0"));
        let columns: Vec<&str> =
            described.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
        assert_eq!(columns.join(","), header.trim_end(), "{table}");
        for line in printed(&view, &format!("DESCRIBE {table}"), PrintFormat::Json).lines() {
            let told: serde_json::Value = serde_json::from_str(line).unwrap();
            assert!(told["meaning"].as_str().is_some_and(|meaning| meaning.len() > 5), "{line}");
        }
    }
    let documents = csv(&view, "DESC documents");
    assert!(
        documents.contains("tokens_words,BIGINT,true,length in tokens of the tokenizer `words`")
    );
    assert!(documents.contains("quality,DOUBLE,true,\"a declared field"));
    let way_out = |table: &str| {
        let error = sql(&view, format!("DESCRIBE {table}")).unwrap_err();
        assert_eq!(error.to_string(), format!("no table `{table}`"));
        error.hint().unwrap().to_string()
    };
    assert!(way_out("pages").starts_with("there are `documents`, `duplicates`"));
    assert_eq!(way_out("documents2"), "did you mean `documents`?");
    assert_eq!(csv(&view, "SELECT (array_agg(id ORDER BY id))[1] AS a FROM documents"), "a\n0\n");
}

#[test]
fn a_cast_to_doubles_compares_as_doubles() {
    // The cast was dropped: integers beyond 2^53 that are the same double were distinguished.
    let big = 9_007_199_254_740_990_i64;
    let documents: Vec<Sketch> =
        (0..8).map(|n| kept("web", "x", &format!(r#"{{"stars":{}}}"#, big + n))).collect();
    let (_directory, view) = corpus(&documents);
    assert_eq!(ids(&view, "CAST(stars AS DOUBLE) = 9007199254740993.0"), [2, 3]);
    assert_eq!(ids(&view, "CAST(stars AS DOUBLE) = 9007199254740996.0"), [5, 6, 7]);
    assert_eq!(ids(&view, "CAST(stars AS DOUBLE) > 9007199254740992.0"), [4, 5, 6, 7]);
    assert_eq!(ids(&view, "stars = 9007199254740993"), [3]);
    assert_eq!(ids(&view, "CAST(stars AS BIGINT) = 9007199254740993"), [3]);
    let plan = csv(
        &view,
        "EXPLAIN SELECT id FROM documents WHERE CAST(stars AS DOUBLE) = 9007199254740993.0",
    );
    assert!(!plan.contains("FilterExec"), "{plan}");
}

#[test]
fn joined_texts_are_what_the_engine_joins() {
    let (_directory, view) = small();
    let json = |statement: &str| printed(&view, statement, PrintFormat::Json);
    assert_eq!(csv(&view, "SELECT name || 'x' FROM sources LIMIT 0").matches("||").count(), 1);
    assert_eq!(
        json(
            "SELECT source || '-' || id AS a, 'a' || NULL AS b, 1 || 'x' AS c FROM documents WHERE id = 0"
        ),
        "{\"a\":\"web-0\",\"b\":null,\"c\":\"1x\"}\n"
    );
    assert_eq!(
        json("SELECT text || url AS t FROM documents WHERE id IN (0, 1) ORDER BY id"),
        "{\"t\":\"one two threehttp://a\"}\n{\"t\":null}\n"
    );
    assert_eq!(ids(&view, "text || '!' LIKE '%four!'"), [1]);
}

/// An output that refuses.
struct Refusing(usize);

impl std::io::Write for Refusing {
    fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
        self.0 += 1;
        Err(std::io::ErrorKind::BrokenPipe.into())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_output_that_refuses_ends_a_query_with_its_own_error() {
    let (_directory, view) = small();
    let mut out = Refusing(0);
    let rows = sql(&view, "SELECT id FROM documents").unwrap();
    let stopped = RowPrinter::new(PrintFormat::Csv, &mut out).rows(rows);
    assert!(matches!(stopped, Err(SqlError::Write(_))));
    assert_eq!(out.0, 1);
}

#[test]
fn documents_of_a_key_and_pairs_of_duplicates() {
    let (_directory, view) = small();
    assert_eq!(find_key(&view, "k").unwrap(), [DocId(4), DocId(5)]);
    assert_eq!(find_key(&view, "/in/lines:2").unwrap(), [DocId(2)]);
    assert_eq!(find_key(&view, "/in/lines:4").unwrap(), []);

    let pairs = |document| -> Vec<_> {
        duplicates(&view, document).unwrap().collect::<Result<_, _>>().unwrap()
    };
    let all = pairs(None);
    assert_eq!((all.len(), all[0].id, all[0].witness), (1, 1, 0));
    assert_eq!(pairs(Some(DocId(0))), all);
    assert_eq!(pairs(Some(DocId(1))), all);
    assert!(duplicates(&view, Some(DocId(6))).is_err());
}

#[test]
fn rows_of_several_blocks_come_in_the_order_of_their_ids() {
    let documents: Vec<Sketch> = (0..70_000)
        .map(|n| kept(if n % 2 == 0 { "web" } else { "code" }, "x", &format!(r#"{{"stars":{n}}}"#)))
        .collect();
    let (_directory, view) = corpus(&documents);
    let mut next = 0;
    for batch in sql(&view, "SELECT id, text, key FROM documents").unwrap() {
        let batch = batch.unwrap();
        let ids = batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap();
        assert!(ids.len() <= 8192);
        for id in ids.values() {
            assert_eq!(*id, next);
            next += 1;
        }
    }
    assert_eq!(next, 70_000);
    assert_eq!(count(&view, "stars >= 65000 AND source = 'web'").unwrap(), 2500);
    assert_eq!(ids(&view, "stars BETWEEN 65535 AND 65537"), [65_535, 65_536, 65_537]);
    assert_eq!(csv(&view, "SELECT id FROM documents WHERE source = 'code' LIMIT 2"), "id\n1\n3\n");
    assert_eq!(
        csv(&view, "SELECT id FROM documents ORDER BY stars DESC LIMIT 2"),
        "id\n69999\n69998\n"
    );
}

#[test]
fn the_engine_is_made_once_for_a_moment() {
    let (_directory, view) = small();
    assert_eq!(csv(&view, "SELECT count(*) AS n FROM documents").lines().count(), 2);
    let engine = || view.cached::<SessionState, SqlError>(|| panic!("made again"));
    let made = engine().unwrap();
    count(&view, "upper(text) = 'X'").unwrap();
    assert!(std::sync::Arc::ptr_eq(&made, &engine().unwrap()));
    assert!(made.catalog_list().catalog("datafusion").is_some_and(|it| {
        it.schema("public").is_some_and(|schema| schema.table_names().is_empty())
    }));
}

// ---- the law: indexes answer as the engine does on plain arrays ----

struct Both {
    _directory: tempfile::TempDir,
    view: View,
    plain: RecordBatch,
}

/// Documents of all standings, with and without every value.
fn both() -> &'static Both {
    static BOTH: OnceLock<Both> = OnceLock::new();
    BOTH.get_or_init(|| {
        let documents: Vec<Sketch> = (0..600_usize)
            .map(|n| {
                let hash = blake3::hash(&n.to_le_bytes());
                let pick = |at: usize, of: usize| usize::from(hash.as_bytes()[at]) % of;
                let language =
                    ["", r#","language":"en""#, r#","language":"de""#, r#","language":"fr""#]
                        [pick(0, 4)];
                let quality = [
                    "",
                    ",\"quality\":-0.0",
                    ",\"quality\":0.5",
                    ",\"quality\":-1",
                    ",\"quality\":2",
                ][pick(1, 5)];
                let stars = if pick(2, 4) == 0 {
                    String::new()
                } else {
                    format!(",\"stars\":{}", pick(3, 7) as i64 - 3)
                };
                let metadata = format!(r#"{{"n":{n}{language}{quality}{stars}}}"#);
                let source = ["web", "code", "books"][pick(4, 3)];
                let mut sketch = kept(source, "abcd".get(..pick(5, 5)).unwrap(), &metadata);
                sketch.standing = Standing::ALL[pick(6, 8)];
                sketch.tokens = (pick(7, 3) > 0).then(|| pick(8, 5));
                sketch
            })
            .collect();
        let (directory, view) = corpus(&documents);
        let rows = sql(&view, "SELECT * FROM documents").unwrap();
        let schema = rows.schema();
        let batches = rows.collect::<Result<Vec<_>, _>>().unwrap();
        let plain = arrow::compute::concat_batches(&schema, &batches).unwrap();
        Both { _directory: directory, view, plain }
    })
}

/// The engine's rows of `statement` over all documents as a table. It optimises nothing: its simplifier
/// loses nulls where lists of one column meet.
fn unoptimised(plain: &RecordBatch, statement: &str) -> Vec<RecordBatch> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let state =
            SessionStateBuilder::new_with_default_features().with_optimizer_rules(Vec::new());
        let context = SessionContext::new_with_state(state.build());
        context.register_batch("documents", plain.clone()).unwrap();
        context.sql(statement).await.unwrap().collect().await.unwrap()
    })
}

fn plainly(plain: &RecordBatch, expression: &str) -> Vec<u64> {
    let statement = format!("SELECT id FROM documents WHERE {expression} ORDER BY id");
    let column = |batch: &RecordBatch| {
        batch.column(0).as_any().downcast_ref::<UInt64Array>().unwrap().values().to_vec()
    };
    unoptimised(plain, &statement).iter().flat_map(column).collect()
}

fn leaf() -> impl Strategy<Value = String> {
    let operator = proptest::sample::select(vec!["=", "<>", "<", "<=", ">", ">="]);
    let number = proptest::sample::select(vec![
        "-4", "-1", "0", "1", "2", "3", "300", "1.5", "-0.5", "NULL",
    ]);
    let column =
        proptest::sample::select(vec!["stars", "tokens", "bytes", "id", "commit", "tokens_words"]);
    let word =
        proptest::sample::select(vec!["'en'", "'de'", "'web'", "'near'", "'absent'", "NULL"]);
    let words = proptest::sample::select(vec!["language", "standing", "source", "url"]);
    let not = proptest::sample::select(vec!["", "NOT "]);
    let fixed = proptest::sample::select(vec![
        "CAST(stars AS DOUBLE) > 1.5",
        "CAST(stars AS DOUBLE) IN (1.0, 2.0, NULL)",
        "CAST(tokens AS DOUBLE) NOT BETWEEN 0.5 AND 2.0",
        "CAST(id AS DOUBLE) <= 299.5",
        "CAST(bytes AS BIGINT) <> 2",
        "TRY_CAST(stars AS DOUBLE) = -1.0",
        "quality < 0.5",
        "quality = -1",
        "quality >= 1",
        "quality IN (0.5, 2)",
        "quality <> 2",
        "kept",
        "kept = false",
        "kept <> true",
        "kept IS NOT FALSE",
        "language IS NULL",
        "stars IS NOT NULL",
        "source IS NULL",
        "quality IS NULL",
        "standing = 'near'",
        "standing <> 'kept'",
        "1.5 > stars",
        "key = '/in/lines:7@7'",
        "key <> '/in/lines:7@7'",
        "key IN ('absent', NULL)",
        "NOT (key = NULL)",
    ]);
    prop_oneof![
        (column.clone(), operator.clone(), number.clone())
            .prop_map(|(c, o, n)| format!("{c} {o} {n}")),
        (number.clone(), operator, column.clone()).prop_map(|(n, o, c)| format!("{n} {o} {c}")),
        (column.clone(), not.clone(), number.clone(), number.clone())
            .prop_map(|(c, not, low, high)| format!("{c} {not}BETWEEN {low} AND {high}")),
        (column, not.clone(), proptest::collection::vec(number, 1..5))
            .prop_map(|(c, not, list)| format!("{c} {not}IN ({})", list.join(","))),
        (words.clone(), proptest::sample::select(vec!["=", "<>"]), word.clone())
            .prop_map(|(c, o, w)| format!("{c} {o} {w}")),
        (words, not, proptest::collection::vec(word, 1..5))
            .prop_map(|(c, not, list)| format!("{c} {not}IN ({})", list.join(","))),
        fixed.prop_map(str::to_owned),
    ]
}

fn expression() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 12, 2, |inner| {
        let truth = proptest::sample::select(vec!["TRUE", "FALSE", "NOT TRUE", "NOT FALSE"]);
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) AND ({b})")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("({a}) OR ({b})")),
            inner.clone().prop_map(|a| format!("NOT ({a})")),
            (inner, truth).prop_map(|(a, truth)| format!("({a}) IS {truth}")),
        ]
    })
}

proptest! {
    #[test]
    fn indexes_answer_as_the_engine_does(expression in expression()) {
        let Both { view, plain, .. } = both();
        let expected = plainly(plain, &expression);
        prop_assert_eq!(&ids(view, &expression), &expected, "{}", &expression);
        prop_assert_eq!(count(view, expression.as_str()).unwrap(), expected.len() as u64);
        let plan = csv(view, &format!("EXPLAIN SELECT id FROM documents WHERE {expression}"));
        prop_assert!(!plan.contains("FilterExec"), "{}: {}", &expression, plan);
    }
}

/// SELECT, FROM and GROUP BY of a statement whose groups the store has codes for.
fn grouping() -> impl Strategy<Value = String> {
    let by = proptest::sample::subsequence(
        vec!["source", "language", "kept", "standing", "stars", "commit", "url"],
        1..4,
    );
    let of = proptest::sample::subsequence(
        vec![
            "count(*)",
            "count(stars)",
            "sum(tokens)",
            "min(quality)",
            "max(id)",
            "avg(stars)",
            "sum(bytes) FILTER (WHERE kept)",
            "count(*) FILTER (WHERE stars > 0)",
            "bool_or(kept)",
            "min(stars + bytes)",
            "stddev(stars)",
        ],
        0..5,
    );
    (by, of, expression(), any::<bool>()).prop_map(|(by, of, condition, all)| {
        let columns: Vec<&str> = by.iter().chain(&of).copied().collect();
        let (columns, by) = (columns.join(", "), by.join(", "));
        let condition = if all { "true".to_owned() } else { condition };
        format!("SELECT {columns} FROM documents WHERE {condition} GROUP BY {by} ORDER BY {by}")
    })
}

proptest! {
    #[test]
    fn groups_by_code_are_those_of_the_engine(statement in grouping()) {
        let Both { view, plain, .. } = both();
        let rows = sql(view, &statement).unwrap();
        let found: Vec<String> = rows
            .map(|batch| arrow::util::pretty::pretty_format_batches(&[batch.unwrap()]).unwrap().to_string())
            .collect();
        let expected: Vec<String> = unoptimised(plain, &statement)
            .iter()
            .filter(|batch| batch.num_rows() > 0)
            .map(|batch| arrow::util::pretty::pretty_format_batches(std::slice::from_ref(batch)).unwrap().to_string())
            .collect();
        prop_assert_eq!(found, expected, "{}", &statement);
        let plan = csv(view, &format!("EXPLAIN {statement}"));
        prop_assert!(plan.contains("by code") || plan.contains("EmptyExec"), "{}: {}", &statement, plan);
    }
}
