//! Columns of Parquet that are shown otherwise than Arrow shows them, in a statement and by an ingest: moments that no
//! calendar has, UUIDs, maps whose keys are not texts.

use crate::support::{corpusdb, corpusdb_test, json_lines};
use arrow::array::{
    ArrayRef, Date32Array, DurationSecondArray, FixedSizeBinaryArray, Int32Array, Int32Builder,
    ListArray, MapBuilder, RecordBatch, StringArray, TimestampMicrosecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::datatypes::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

fn parquet(columns: Vec<(Field, ArrayRef)>) -> Vec<u8> {
    let (fields, columns): (Vec<Field>, Vec<ArrayRef>) = columns.into_iter().unzip();
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let mut bytes = Vec::new();
    let mut writer = ArrowWriter::try_new(&mut bytes, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    bytes
}

fn column(name: &str, array: impl arrow::array::Array + 'static) -> (Field, ArrayRef) {
    (Field::new(name, array.data_type().clone(), true), Arc::new(array))
}

fn rows(corpus: &str, statement: &str) -> Vec<Value> {
    json_lines(&corpusdb(&["sql", corpus, statement, "--format", "json"]).good().stdout)
}

// Regression: the words of an error stood in the place of such a value, in what is stored, printed and exported.
corpusdb_test!(moments_beyond_the_calendar_are_null_everywhere, |scratch, corpus| {
    let days = || Date32Array::from(vec![0, i32::MAX, 19_813]);
    let item = Arc::new(Field::new("item", DataType::Date32, true));
    let lists = ListArray::new(item, OffsetBuffer::from_lengths([1, 2, 0]), Arc::new(days()), None);
    let moments = || TimestampMicrosecondArray::from(vec![0, i64::MAX, -i64::MAX]);
    let bytes = parquet(vec![
        column("id", StringArray::from(vec!["a", "b", "c"])),
        column(
            "text",
            StringArray::from(vec!["gulls and ropes", "nets and tar", "boats on a quay"]),
        ),
        column("day", days()),
        column("days", lists),
        column("moment", moments()),
        column("zoned", moments().with_timezone("UTC")),
        column("span", DurationSecondArray::from(vec![60, i64::MAX, 0])),
    ]);
    let path = scratch.write("a.parquet", bytes);
    let all = format!("SELECT * FROM read_parquet('{path}') ORDER BY id");
    let found = rows(&corpus, &all);
    let of = |row: usize| {
        ["day", "days", "moment", "zoned", "span"].map(|name| found[row][name].clone()).to_vec()
    };
    let first = json!([
        "1970-01-01",
        ["1970-01-01"],
        "1970-01-01T00:00:00Z",
        "1970-01-01T00:00:00Z",
        "PT60S"
    ]);
    assert_eq!(json!(of(0)), first);
    assert_eq!(json!(of(1)), json!([null, [null, "2024-03-31"], null, null, null]));
    assert_eq!(json!(of(2)), json!(["2024-03-31", [], null, null, "P0D"]));
    for format in ["table", "line", "csv", "markdown", "json"] {
        let shown = corpusdb(&["sql", &corpus, &all, "--format", format]).good().stdout;
        for word in ["ERROR", "invalid", "Failed", "294247"] {
            assert!(!shown.contains(word), "{format}: {shown}");
        }
    }
    // As a value it is what it was: later than any day.
    let later =
        format!("SELECT count(*) AS n FROM read_parquet('{path}') WHERE day > DATE '2100-01-01'");
    assert_eq!(rows(&corpus, &later), [json!({ "n": 1 })]);

    let report =
        scratch.ingest(&corpus, "b.parquet", std::fs::read(&path).unwrap(), &["--source", "web"]);
    assert_eq!(report["not_finite"], json!(7), "{report}");
    let out = scratch.arg("out.jsonl");
    corpusdb(&["export", &corpus, "--to", &out]).good();
    let exported = json_lines(&std::fs::read_to_string(&out).unwrap());
    let second = exported.iter().find(|line| line["id"] == "b").unwrap();
    assert_eq!(second["days"], json!([null, "2024-03-31"]));
    assert!(second.get("zoned").is_none_or(Value::is_null), "{second}");
});

corpusdb_test!(uuids_and_maps_of_numbers_are_shown_as_people_do, |scratch, corpus| {
    let uuid = [0x5f, 0x0c, 0x8c, 0x2e, 0x1d, 0x5b, 0x4b, 0x7e, 0x9f, 0x5a, 0, 1, 2, 3, 4, 5];
    let text = "5f0c8c2e-1d5b-4b7e-9f5a-000102030405";
    let uuids = || FixedSizeBinaryArray::try_from_iter([uuid; 2].into_iter()).unwrap();
    let mark = |name: &str| {
        let extension = ("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
        Field::new(name, DataType::FixedSizeBinary(16), true)
            .with_metadata(HashMap::from([extension]))
    };
    let offsets = OffsetBuffer::from_lengths([2, 0]);
    let list = ListArray::new(Arc::new(mark("item")), offsets, Arc::new(uuids()), None);
    let mut maps = MapBuilder::new(None, Int32Builder::new(), Int32Builder::new());
    maps.keys().append_slice(&[1, 2]);
    maps.values().append_slice(&[7]);
    maps.values().append_null();
    maps.append(true).unwrap();
    maps.append(false).unwrap();
    let bytes = parquet(vec![
        (mark("id"), Arc::new(uuids())),
        column("text", StringArray::from(vec!["gulls and ropes", "nets and tar"])),
        column("list", list),
        column("map", maps.finish()),
        column("n", Int32Array::from(vec![1, 2])),
    ]);
    let path = scratch.write("a.parquet", bytes);
    let found =
        rows(&corpus, &format!("SELECT id, list, map FROM read_parquet('{path}') ORDER BY n"));
    let expected = [
        json!({ "id": text, "list": [text, text], "map": { "1": 7, "2": null } }),
        json!({ "id": text, "list": [], "map": null }),
    ];
    assert_eq!(found, expected);
    let one = format!("SELECT count(*) AS n FROM read_parquet('{path}') WHERE id = '{text}'");
    assert_eq!(rows(&corpus, &one), [json!({ "n": 2 })]);
});

// Regression: `count(*)` was 6, and there was no row.
corpusdb_test!(a_footer_without_rows_hides_none_in_sql, |scratch, corpus| {
    let numbers: Vec<i32> = (0..6).collect();
    let mut bytes = parquet(vec![column("n", Int32Array::from(numbers))]);
    let count = bytes.windows(3).rposition(|three| three == [0x16, 12, 0x19]).unwrap();
    bytes[count + 1] = 0;
    let path = scratch.write("a.parquet", bytes);
    let sums =
        format!("SELECT count(*) AS n, count(n) AS m, sum(n) AS s FROM read_parquet('{path}')");
    assert_eq!(rows(&corpus, &sums), [json!({ "n": 6, "m": 6, "s": 15 })]);
});

// Regression: a statement gave the first of two columns of one name for both, and an ingest one of them.
corpusdb_test!(columns_of_one_name_have_their_numbers, |scratch, corpus| {
    let bytes = parquet(vec![
        column("text", StringArray::from(vec!["gulls and ropes", "nets and tar"])),
        column("views", Int32Array::from(vec![1, 2])),
        column("views", StringArray::from(vec![Some("many"), None])),
    ]);
    let path = scratch.write("a.parquet", bytes);
    let found = rows(&corpus, &format!("SELECT * FROM read_parquet('{path}')"));
    let first = json!({ "text": "gulls and ropes", "views": 1, "views_3": "many" });
    let second = json!({ "text": "nets and tar", "views": 2, "views_3": null });
    assert_eq!(found, [first, second]);
    let one = format!("SELECT views_3 FROM read_parquet('{path}') WHERE views = 1");
    assert_eq!(rows(&corpus, &one), [json!({ "views_3": "many" })]);
    corpusdb(&["ingest", &corpus, &path, "--source", "web"]).good();
    let meta = rows(&corpus, "SELECT meta FROM documents ORDER BY id");
    let expected = [r#"{"views":1,"views_3":"many"}"#, r#"{"views":2}"#];
    assert_eq!(meta, expected.map(|meta| json!({ "meta": meta })));
});
