//! Files beside the corpus: `read_csv`, `read_json` and `read_parquet` read what an ingest reads, and DuckDB agrees.

use crate::support::{
    TestDir, WEB_BY_ID, corpusdb, corpusdb_test, gzip, ingest, init, json_lines, python, python_has,
};
use arrow::array::{
    ArrayRef, BinaryArray, Float64Array, Int32Array, Int64Array, ListArray, RecordBatch,
    StringArray, StructArray, TimestampMicrosecondArray,
};
use arrow::datatypes::{DataType, Field, Int64Type};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// Rows as a statement prints them.
fn rows(corpus: &str, statement: &str) -> Vec<Value> {
    json_lines(&corpusdb(&["sql", corpus, statement, "--format", "json"]).good().stdout)
}

/// What a statement fails with.
fn refused(corpus: &str, statement: &str, words: &[&str]) {
    corpusdb(&["sql", corpus, statement]).fails(words);
}

/// A Parquet file of columns, so many rows a row group.
fn parquet(columns: Vec<(&str, ArrayRef)>, group: usize) -> Vec<u8> {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(group)).build();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn texts(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

/// Columns `id` and `text` of a Parquet file.
fn documents(ids: &[&str]) -> Vec<(&'static str, ArrayRef)> {
    let long: Vec<String> = ids.iter().map(|id| format!("what {id} says of harbours")).collect();
    let long: Vec<&str> = long.iter().map(String::as_str).collect();
    vec![("id", texts(ids)), ("text", texts(&long))]
}

/// Name, function, files.
type OddTable = (&'static str, &'static str, Vec<(&'static str, Vec<u8>)>);

/// Odd tables. Each has columns `id` and `text`, and ids that are texts.
fn tables() -> Vec<OddTable> {
    let csv = |text: &str| text.as_bytes().to_vec();
    let list = ListArray::from_iter_primitive::<Int64Type, _, _>([
        Some(vec![Some(1), None]),
        None,
        Some(vec![]),
    ]);
    let pair = |a: &[i64]| -> ArrayRef {
        let field = Arc::new(Field::new("a", DataType::Int64, true));
        Arc::new(StructArray::from(vec![(
            field,
            Arc::new(Int64Array::from(a.to_vec())) as ArrayRef,
        )]))
    };
    let with = |ids: &[&str], more: Vec<(&'static str, ArrayRef)>| {
        parquet(documents(ids).into_iter().chain(more).collect(), 100)
    };
    vec![
        (
            "semicolons",
            "read_csv",
            vec![("a.csv", csv("id;text;n\nx1;one, two;1\nx2;\"a;b\";2\n"))],
        ),
        ("bars", "read_csv", vec![("a.csv", csv("id|text|n\nx1|one|1\nx2||2.50\nx3|\"\"|-0\n"))]),
        ("tabs", "read_csv", vec![("a.tsv", csv("id\ttext\tn\nx1\tone, two\t007\nx2\tb\t12\n"))]),
        (
            "crlf and mark",
            "read_csv",
            vec![("a.csv", csv("\u{feff}id,text,n\r\nx1,\"a\r\nb\",1\r\nx2,c,\r\n"))],
        ),
        ("pandas", "read_csv", vec![("a.csv", csv(",id,text,n\n0,x1,a,1\n1,x2,b,2\n"))]),
        ("doubled names", "read_csv", vec![("a.csv", csv("id,text,n,n\nx1,a,1,2\nx2,b,3,true\n"))]),
        ("nothing below", "read_csv", vec![("a.csv", csv("id,text,n\n"))]),
        (
            "orders",
            "read_csv",
            vec![
                ("a.csv", csv("id,text,n,only\nx1,a,10,99\n")),
                ("b.csv", csv("n,more,text,id\n20,z,b,x2\n")),
                ("c.csv.gz", gzip(b"text,id\nc,x3\n")),
                (
                    "deep/d.csv.zst",
                    zstd::encode_all("id,n,text\nx4,2.5,d\n".as_bytes(), 1).unwrap(),
                ),
            ],
        ),
        (
            "numbers and words",
            "read_csv",
            vec![
                (
                    "a.csv",
                    csv(
                        "id,text,n,z,long,cell\nx1,a,1,001,1,1.50\nx2,b,,7,9223372036854775807,2\n",
                    ),
                ),
                ("b.csv", csv("id,text,n,z,long,cell\nx3,c,2.5,01,9223372036854775808,1e3\n")),
                ("c.csv", csv("id,text,n,z,long,cell\nx4,d,3,+5,-1,\"7\"\n")),
            ],
        ),
        (
            "lines",
            "read_json",
            vec![
                (
                    "a.jsonl",
                    csv(
                        "{\"id\":\"x1\",\"text\":\"a\",\"n\":1,\"o\":{\"b\":[1,null]},\"t\":true}\n\n{\"id\":\"x2\",\"text\":\"b\",\"n\":null}\n",
                    ),
                ),
                (
                    "b.ndjson",
                    csv(
                        "{\"o\":{\"c\":\"x\"},\"n\":2.5,\"text\":\"c\",\"id\":\"x3\",\"late\":[{\"a\":1}]}\n",
                    ),
                ),
                (
                    "c.json",
                    csv(
                        "[\n {\"id\":\"x4\",\"text\":\"d\",\"n\":4},\n {\"id\":\"x5\",\"text\":\"e\",\"t\":false}\n]\n",
                    ),
                ),
                ("d.jsonl.gz", gzip(b"{\"id\":\"x6\",\"text\":\"f\",\"n\":\"\\u00e9\"}\n")),
            ],
        ),
        (
            "nested beside plain",
            "read_json",
            vec![
                (
                    "a.jsonl",
                    csv(
                        "{\"id\":\"x1\",\"text\":\"a\",\"v\":1,\"w\":[1]}\n{\"id\":\"x2\",\"text\":\"b\",\"v\":{\"a\":1.50}}\n",
                    ),
                ),
                (
                    "b.jsonl",
                    csv(
                        "{\"id\":\"x3\",\"text\":\"c\",\"v\":\"q\\\"s\",\"w\":[\"x\",{}]}\n{\"id\":\"x4\",\"text\":\"d\",\"v\":true,\"w\":[]}\n",
                    ),
                ),
                (
                    "c.jsonl",
                    csv(
                        "{\"id\":\"x5\",\"text\":\"e\",\"v\":9007199254740993}\n{\"id\":\"x6\",\"text\":\"f\",\"v\":1.5}\n",
                    ),
                ),
            ],
        ),
        (
            "shards",
            "read_parquet",
            vec![
                (
                    "a.parquet",
                    with(
                        &["x1", "x2", "x3"],
                        vec![
                            ("n", Arc::new(Int32Array::from(vec![Some(1), None, Some(-3)]))),
                            ("z", Arc::new(Int64Array::from(vec![1, 2, 3]))),
                            ("l", Arc::new(list)),
                            ("o", pair(&[1, 2, 3])),
                            ("bytes", Arc::new(BinaryArray::from(vec![&b"ab"[..], b"\xff", b""]))),
                        ],
                    ),
                ),
                (
                    "b.parquet",
                    with(
                        &["x4"],
                        vec![
                            ("z", texts(&["001"])),
                            ("n", Arc::new(Float64Array::from(vec![2.5]))),
                            ("o", texts(&["plain"])),
                            ("more", Arc::new(Int64Array::from(vec![7]))),
                        ],
                    ),
                ),
            ],
        ),
    ]
}

/// Whether a value of a statement is what an ingest stored: a column of texts has the spelling of other values.
fn is_same(found: &Value, stored: &Value) -> bool {
    match (found, stored) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let (one, other) = (without_nulls(one), without_nulls(other));
            one.len() == other.len()
                && one.iter().all(|(name, one)| other.get(name).is_some_and(|o| is_same(one, o)))
        }
        (Value::String(one), Value::String(other)) => one == other,
        // An ingest keeps a cell as it was written, whatever its column is.
        (Value::Number(one), Value::String(other)) => other.parse::<f64>().ok() == one.as_f64(),
        // The cell of a CSV file stands as it was written.
        (Value::String(one), Value::Number(other)) => {
            one.parse::<f64>().ok() == other.as_f64() || *one == other.to_string()
        }
        (Value::String(one), other) => {
            serde_json::from_str::<Value>(one).is_ok_and(|one| is_same(&one, other))
        }
        (one, other) => one == other,
    }
}

fn without_nulls(object: &Map<String, Value>) -> Map<String, Value> {
    let there = object.iter().filter(|(_, value)| !value.is_null());
    there.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// Columns of nested types are printed as text: taken back.
fn taken_back(row: &Value, stored: &Map<String, Value>) -> Map<String, Value> {
    let mut row = without_nulls(row.as_object().unwrap());
    for (name, value) in &mut row {
        let is_nested =
            stored.get(name).is_some_and(|stored| stored.is_array() || stored.is_object());
        if let (true, Value::String(text)) = (is_nested, &*value) {
            *value = serde_json::from_str(text).unwrap_or_else(|_| value.clone());
        }
    }
    row
}

corpusdb_test!(a_statement_reads_files_as_an_ingest_does, |scratch| {
    for (number, (name, function, files)) in tables().into_iter().enumerate() {
        let folder = format!("t{number}");
        for (file, bytes) in &files {
            scratch.write(&format!("{folder}/{file}"), bytes);
        }
        let (corpus, folder) = (scratch.arg(&format!("c{number}")), scratch.arg(&folder));
        init(&corpus, &["--mode", "none"]);
        corpusdb(&["ingest", &corpus, &folder, "--source", "web", "--id-field", "id"]);
        let stored = rows(&corpus, "SELECT key, text, meta FROM documents ORDER BY key");
        let found = rows(&corpus, &format!("SELECT * FROM {function}('{folder}') ORDER BY id"));
        let found: Vec<Value> = found.into_iter().filter(|row| !row["text"].is_null()).collect();
        assert_eq!(found.len(), stored.len(), "{name}: {found:?}");
        for (found, stored) in found.iter().zip(&stored) {
            let fields = stored["meta"].as_str().unwrap_or("{}");
            let mut fields: Map<String, Value> = serde_json::from_str(fields).unwrap();
            fields.insert("id".into(), stored["key"].clone());
            fields.insert("text".into(), stored["text"].clone());
            if name == "pandas" {
                // An ingest leaves the numbers of rows.
                fields.insert("column_1".into(), found["column_1"].clone());
            }
            let found = Value::Object(taken_back(found, &fields));
            assert!(
                is_same(&found, &Value::Object(fields.clone())),
                "{name}: {found} and {fields:?}"
            );
        }
    }
});

/// DuckDB is asked for the same rows.
#[test]
fn duckdb_reads_the_same_rows_of_the_same_files() {
    python_has("duckdb");
    let scratch = TestDir::new();
    let corpus = scratch.arg("corpus");
    init(&corpus, &[]);
    let script = r#"
import duckdb, json, sys
corpus_rows, function, files = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
more = {"read_csv": ", all_varchar=true, header=true, allow_quoted_nulls=false", "read_json": ", maximum_depth=1", "read_parquet": ""}[function]
found = duckdb.sql(f"SELECT COLUMNS(*)::VARCHAR FROM {function}({files}, union_by_name=true{more}) ORDER BY id")
names = [name for name, *_ in found.description]
theirs = [dict(zip(names, row)) for row in found.fetchall()]
ours = [json.loads(line) for line in open(corpus_rows)]
def plain(value):
    """Without nulls in objects, and whatever a text spells as that: a column of texts has the spelling of others."""
    if isinstance(value, list): return [plain(one) for one in value]
    if isinstance(value, dict): return {name: plain(one) for name, one in value.items() if one is not None}
    if not isinstance(value, str): return value
    try: return plain(json.loads(value))
    except ValueError: return value
def same(one, other):
    if isinstance(one, str) and isinstance(other, str) and function == "read_csv":
        return one == other
    return plain(one) == plain(other)
if sorted(names) != sorted(ours[0] if ours else names): sys.exit(f"columns {names} and {list(ours[0])}")
if len(ours) != len(theirs): sys.exit(f"{len(ours)} rows and {len(theirs)}")
for one, other in zip(ours, theirs):
    for name in names:
        if not same(one[name], other[name]): sys.exit(f"{name}: {one[name]!r} and {other[name]!r}")
"#;
    let mut judged = 0;
    for (number, (name, function, files)) in tables().into_iter().enumerate() {
        // Rules of our own: the numbers of rows, names that come twice, bytes, and what is empty.
        if ["pandas", "doubled names", "nothing below", "shards"].contains(&name) {
            continue;
        }
        let (mut paths, folder) = (Vec::new(), format!("t{number}"));
        for (file, bytes) in &files {
            paths.push(scratch.write(&format!("{folder}/{file}"), bytes));
        }
        let statement = format!("SELECT * FROM {function}('{}') ORDER BY id", scratch.arg(&folder));
        let ours = corpusdb(&["sql", &corpus, &statement, "--format", "json"]).good().stdout;
        let ours = scratch.write("ours.jsonl", ours);
        let paths = json!(paths).to_string();
        let ran = python(script).args([ours.as_str(), function, &paths]).output().unwrap();
        let words = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.success(), "{name}: {words}");
        judged += 1;
    }
    println!("judged by DuckDB: {judged} tables");
    assert!(judged > 5);
}

corpusdb_test!(leading_zeros_join_with_keys_as_texts, |scratch, corpus| {
    let lines = ["1", "01", "001", "2"].map(|key| {
        format!(
            "{}\n",
            json!({ "id": key, "text": format!("{key} ropes lie on the quay of {key}") })
        )
    });
    scratch.ingest(&corpus, "in.jsonl", lines.concat(), &WEB_BY_ID);
    scratch.write("w.csv", "key,score\n001,5\n");
    let joined = format!(
        "SELECT d.key, s.score FROM documents d JOIN read_csv('{}') s ON d.key = s.key",
        scratch.arg("w.csv")
    );
    assert_eq!(rows(&corpus, &joined), [json!({ "key": "001", "score": 5 })]);
    scratch.write("n.csv", "key\n1\n2\n");
    let numbers = joined.replace("w.csv", "n.csv").replace(", s.score", "");
    refused(&corpus, &numbers, &["`key` is text", "CAST(s.key AS VARCHAR)"]);
});

corpusdb_test!(a_value_of_another_type_ends_the_statement_with_its_place, |scratch, corpus| {
    // Longer than what is looked at of the beginning.
    let many = 5 << 20;
    let csv = |row: &str| row.repeat(many / row.len());
    let rows_of = |row: &str| many / row.len();
    let filler = "x".repeat(200);
    let row = format!("1,{filler}\n");
    scratch.write("n.csv", format!("n,pad\n{}2.5,late\n3,end\n", csv(&row)));
    let path = scratch.arg("n.csv");
    let place = format!("row {}, on line {}", rows_of(&row) + 1, rows_of(&row) + 2);
    let all = format!("SELECT sum(n) AS n FROM read_csv('{path}')");
    let words = ["n.csv", &place, "column `n`", "found 2.5", "expected a whole number"];
    refused(&corpus, &all, &words);
    // What is not asked for is not decoded, and a limit ends the reading.
    let others = format!("SELECT count(pad) AS n FROM read_csv('{path}')");
    assert_eq!(rows(&corpus, &others)[0]["n"], json!(rows_of(&row) + 2));
    assert_eq!(rows(&corpus, &format!("SELECT n FROM read_csv('{path}') LIMIT 2")).len(), 2);
    let line = format!("{{\"n\":1,\"o\":{{\"a\":[1]}},\"pad\":\"{filler}\"}}\n");
    scratch.write(
        "n.jsonl",
        format!("{}{{\"o\":{{\"a\":[2],\"b\":3}}}}\n{{\"n\":\"z\"}}\n", csv(&line)),
    );
    let path = scratch.arg("n.jsonl");
    for (column, place, words) in [
        ("o", 1, ["column `o`", "found member `b`, 3", "expected an object with `a`"]),
        ("n", 2, ["column `n`", "found \"z\"", "expected a whole number"]),
    ] {
        let statement = format!("SELECT count({column}) FROM read_json('{path}')");
        let place = format!("row {}", rows_of(&line) + place);
        refused(&corpus, &statement, &[&[place.as_str()][..], &words].concat());
    }
    for (function, name, bytes, words) in [
        (
            "read_csv",
            "ragged.csv",
            "a,b\n1,2\n1,2,3\n",
            "row 2, on line 3: the row on line 3 has 3 values",
        ),
        ("read_csv", "open.csv", "a,b\n1,\"2\n", "a quote that opens on line 2"),
        ("read_json", "scalar.json", "[1, 2]", "row 1"),
        ("read_json", "half.jsonl", "{\"a\":\"\\ud83d\"}\n", "row 1: field `a`"),
    ] {
        let path = scratch.write(name, bytes);
        refused(&corpus, &format!("SELECT * FROM {function}('{path}')"), &[name, words]);
    }
    let (a, b) = (Int64Array::from(vec![9_007_199_254_740_993]), Float64Array::from(vec![0.5]));
    scratch.write("p/a.parquet", parquet(vec![("n", Arc::new(a))], 10));
    scratch.write("p/b.parquet", parquet(vec![("n", Arc::new(b))], 10));
    let statement = format!("SELECT n FROM read_parquet('{}')", scratch.arg("p"));
    refused(&corpus, &statement, &["a.parquet", "column `n`", "9007199254740993"]);
});

corpusdb_test!(directories_of_a_partitioned_export_are_columns, |scratch| {
    let corpus = scratch.arg("corpus");
    init(&corpus, &["--mode", "none", "--field", "lang:keyword", "--field", "kind:keyword"]);
    let kinds = [json!("a/b=c"), json!("07"), json!(null), json!("é %25"), json!("..")];
    let lines: String = kinds
        .iter()
        .enumerate()
        .map(|(at, kind)| {
            let lang = ["de", "fr"][at % 2];
            format!("{}\n", json!({ "id": format!("x{at}"), "text": format!("page {at}"), "lang": lang, "kind": kind }))
        })
        .collect();
    let file = scratch.write("in.jsonl", lines);
    ingest(&corpus, &[&file], &WEB_BY_ID);
    let expected = rows(&corpus, "SELECT key, lang, kind FROM documents ORDER BY key");
    for (format, function) in [("parquet", "read_parquet"), ("jsonl", "read_json")] {
        let out = scratch.arg(format);
        let by = ["--partition-by", "lang", "--partition-by", "kind"];
        corpusdb(&[&["export", &corpus, "--to", &out, "--format", format], &by[..]].concat())
            .good();
        for path in [out.clone(), format!("{out}/**/*.{format}*")] {
            let statement =
                format!("SELECT key, lang, kind FROM {function}('{path}') ORDER BY key");
            assert_eq!(rows(&corpus, &statement), expected, "{path}");
        }
        let part =
            format!("SELECT count(*) AS n FROM {function}('{out}/lang=de') WHERE lang = 'de'");
        assert_eq!(rows(&corpus, &part), [json!({ "n": 3 })]);
    }
    // What the file says counts, and a file without the directory has nothing there.
    scratch.write("p/lang=de/a.csv", "key,lang\na,fr\n");
    scratch.write("p/lang=007/b.csv", "key\nb\n");
    scratch.write("p/c.csv", "key\nc\n");
    let statement = format!("SELECT * FROM read_csv('{}') ORDER BY key", scratch.arg("p"));
    let expected = [("a", json!("fr")), ("b", json!("007")), ("c", json!(null))];
    let expected = expected.map(|(key, lang)| json!({ "key": key, "lang": lang }));
    assert_eq!(rows(&corpus, &statement), expected);
});

corpusdb_test!(floats_of_files_have_one_zero_and_one_nan, |scratch, corpus| {
    // They were compared, joined and grouped by their bits, and a row group with a NaN was passed over.
    let floats = [0.0, -0.0, 1.5, f64::NAN, -f64::NAN, 2.5];
    let places: ArrayRef = Arc::new(Int64Array::from_iter_values(0..6));
    let bytes =
        parquet(vec![("i", places), ("x", Arc::new(Float64Array::from(floats.to_vec())))], 2);
    scratch.write("f.parquet", bytes);
    scratch.write("f.csv", "i,x\n0,0.0\n1,-0.0\n2,1.5\n");
    let places = |file: &str, condition: &str| {
        let path = scratch.arg(&format!("f.{file}"));
        let sql = format!("SELECT i FROM read_{file}('{path}') WHERE {condition} ORDER BY i");
        let found = rows(&corpus, &sql);
        found.iter().filter_map(|row| row["i"].as_i64()).collect::<Vec<_>>()
    };
    for (condition, expected) in [
        ("x = 0", vec![0, 1]),
        ("x IN (SELECT DISTINCT y.x FROM FILE y WHERE y.i = 1)", vec![0, 1]),
        ("x > 1", vec![2, 3, 4, 5]),
        ("x IN (SELECT max(y.x) FROM FILE y)", vec![3, 4]),
        ("x > 2.5", vec![3, 4]),
    ] {
        let call = format!("read_parquet('{}')", scratch.arg("f.parquet"));
        assert_eq!(places("parquet", &condition.replace("FILE", &call)), expected, "{condition}");
    }
    assert_eq!(places("csv", "x = 0"), [0, 1]);
    let call = format!("read_parquet('{}')", scratch.arg("f.parquet"));
    let grouped = format!("SELECT count(*) AS n FROM {call} GROUP BY x ORDER BY x");
    let counts: Vec<_> = rows(&corpus, &grouped).iter().map(|row| row["n"].clone()).collect();
    assert_eq!(counts, [json!(2), json!(1), json!(1), json!(2)]);
});

corpusdb_test!(row_groups_that_a_condition_excludes_are_not_read, |scratch, corpus| {
    let numbers: Vec<i32> = (0..4000).collect();
    let moments: Vec<i64> = (0..4000).map(|n| 1_700_000_000_000_000 + n * 1_000_000).collect();
    let words: Vec<String> = (0..4000).map(|n| format!("word {n} of many")).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut bytes = parquet(
        vec![
            ("n", Arc::new(Int32Array::from(numbers))),
            ("t", Arc::new(TimestampMicrosecondArray::from(moments))),
            ("w", texts(&words)),
        ],
        1000,
    );
    scratch.write("whole/a.parquet", &bytes);
    // The first row group is damaged where its values stand.
    bytes[8..3000].fill(0xff);
    scratch.write("bad/a.parquet", &bytes);
    // In another file the column is one of fractions.
    let wide = parquet(vec![("n", Arc::new(Float64Array::from(vec![5000.5])))], 10);
    scratch.write("bad/b.parquet", &wide);
    scratch.write("whole/b.parquet", &wide);
    for condition in [
        "n >= 3000",
        "n = 2500",
        "n BETWEEN 1500 AND 1700",
        "t > '2023-11-14T22:50:00'",
        "w = 'word 3500 of many' AND n > 1000",
    ] {
        let counted = |folder: &str| {
            let path = scratch.arg(folder);
            let sql = format!(
                "SELECT count(*) AS n, sum(n) AS s FROM read_parquet('{path}') WHERE {condition}"
            );
            rows(&corpus, &sql)
        };
        assert_eq!(counted("bad"), counted("whole"), "{condition}");
    }
    // So are the files of a directory.
    scratch.write("parts/lang=de/a.parquet", &bytes);
    scratch.write("parts/lang=fr/b.parquet", &wide);
    for condition in ["lang = 'fr'", "lang IN ('fr', 'it')", "lang > 'e'"] {
        let sql = format!(
            "SELECT count(n) AS n FROM read_parquet('{}') WHERE {condition}",
            scratch.arg("parts")
        );
        assert_eq!(rows(&corpus, &sql), [json!({ "n": 1 })], "{condition}");
    }
    let all = format!("SELECT sum(n) FROM read_parquet('{}')", scratch.arg("bad"));
    refused(&corpus, &all, &["a.parquet", "rows from 1 on"]);
});
