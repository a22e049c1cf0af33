//! Tests of Parquet and Arrow as other programs write them.
//!
//! They have checksums, texts that are no texts, UUIDs, moments without end, footers and dictionaries that leave
//! something out.

use super::format_tests::golden;
use super::tests::{Dir, drain, read, read_with, record, rejected, texts};
use super::{InputFormat, InputReader, ReadItem, ReadOptions};
use arrow::array::{
    Array, ArrayRef, AsArray, BinaryArray, Date32Array, DictionaryArray, DurationSecondArray,
    FixedSizeBinaryArray, Int32Array, Int64Array, LargeBinaryArray, ListArray, RecordBatch,
    StringArray, StructArray, Time64MicrosecondArray, TimestampMicrosecondArray,
    TimestampMillisecondArray, TimestampSecondArray,
};
use arrow::buffer::OffsetBuffer;
use arrow::compute::cast;
use arrow::compute::kernels::numeric::neg_wrapping;
use arrow::datatypes::{DataType, Field, Int32Type, Schema};
use model::{RecordKey, RejectReason};
use parquet::arrow::ArrowWriter;
use parquet::basic::{ConvertedType, LogicalType, Repetition, Type as PhysicalType};
use parquet::data_type::{
    ByteArray, ByteArrayType, DataType as ParquetType, FixedLenByteArray, FixedLenByteArrayType,
    Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::{Type, TypePtr};
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::Arc;

const UUID: [u8; 16] =
    [0x5f, 0x0c, 0x8c, 0x2e, 0x1d, 0x5b, 0x4b, 0x7e, 0x9f, 0x5a, 0, 1, 2, 3, 4, 5];
const UUID_TEXT: &str = "5f0c8c2e-1d5b-4b7e-9f5a-000102030405";

fn by_id() -> ReadOptions {
    ReadOptions { id_field: Some("id".into()), ..ReadOptions::default() }
}

fn metadata(items: &[ReadItem]) -> Vec<&str> {
    items.iter().map(|item| record(item).metadata.as_str()).collect()
}

/// A column of the writer of Parquet that knows nothing of Arrow.
enum PlainColumn {
    Texts(Vec<Vec<u8>>),
    Fixed(Vec<Vec<u8>>),
    Moments(Vec<Int96>),
}

fn plain_parquet(schema: Vec<TypePtr>, columns: Vec<PlainColumn>, dictionary: bool) -> Vec<u8> {
    let root = Type::group_type_builder("schema").with_fields(schema).build().expect("a schema");
    let properties = WriterProperties::builder()
        .set_dictionary_enabled(dictionary)
        .set_statistics_enabled(parquet::file::properties::EnabledStatistics::None);
    let mut file =
        SerializedFileWriter::new(Vec::new(), Arc::new(root), Arc::new(properties.build()))
            .expect("a writer");
    let mut group = file.next_row_group().expect("a group");
    for column in columns {
        let mut writer = group.next_column().expect("writes").expect("a column");
        fn put<T: ParquetType>(
            writer: &mut parquet::file::writer::SerializedColumnWriter<'_>,
            values: &[T::T],
        ) {
            writer.typed::<T>().write_batch(values, None, None).expect("writes");
        }
        match column {
            PlainColumn::Texts(values) => {
                let values: Vec<ByteArray> = values.into_iter().map(ByteArray::from).collect();
                put::<ByteArrayType>(&mut writer, &values);
            }
            PlainColumn::Fixed(values) => {
                let values: Vec<FixedLenByteArray> =
                    values.into_iter().map(FixedLenByteArray::from).collect();
                put::<FixedLenByteArrayType>(&mut writer, &values);
            }
            PlainColumn::Moments(values) => put::<Int96Type>(&mut writer, &values),
        }
        writer.close().expect("closes");
    }
    group.close().expect("closes");
    file.into_inner().expect("closes")
}

fn leaf(name: &str, physical: PhysicalType, logical: Option<LogicalType>) -> TypePtr {
    let leaf = Type::primitive_type_builder(name, physical)
        .with_repetition(Repetition::REQUIRED)
        .with_length(if physical == PhysicalType::FIXED_LEN_BYTE_ARRAY { 16 } else { -1 })
        .with_logical_type(logical);
    Arc::new(leaf.build().expect("a type"))
}

fn text_leaf(name: &str) -> TypePtr {
    leaf(name, PhysicalType::BYTE_ARRAY, Some(LogicalType::String))
}

fn words(texts: &[&str]) -> PlainColumn {
    PlainColumn::Texts(texts.iter().map(|text| text.as_bytes().to_vec()).collect())
}

fn arrow_file(batch: &RecordBatch, is_stream: bool) -> Vec<u8> {
    if is_stream {
        let mut out = arrow_ipc::writer::StreamWriter::try_new(Vec::new(), &batch.schema());
        let out = out.as_mut().expect("a writer");
        out.write(batch).expect("writes");
        out.finish().expect("ends");
        return out.get_ref().clone();
    }
    let mut out = arrow_ipc::writer::FileWriter::try_new(Vec::new(), &batch.schema());
    let out = out.as_mut().expect("a writer");
    out.write(batch).expect("writes");
    out.finish().expect("ends");
    out.get_ref().clone()
}

// ---- checksums ----

/// Regression: checksums of pages were not compared, so a flipped bit was a wrong text.
#[test]
fn a_page_with_another_checksum_damages_its_row_group() {
    let dir = Dir::new();
    let whole = std::fs::read(golden("checksums.parquet")[0].path.as_ref()).expect("reads");
    let expected = read(&dir.write("a.parquet", &whole));
    assert_eq!(expected.len(), 12);
    let file = SerializedFileReader::new(bytes::Bytes::from(whole.clone())).expect("opens");
    let drop_note = ReadOptions { drop_fields: vec!["note".into()], ..ReadOptions::default() };
    for (at, group) in file.metadata().row_groups().iter().enumerate() {
        for (name, chunk) in ["text", "note"].into_iter().zip(group.columns()) {
            let (start, bytes) = chunk.byte_range();
            let mut damaged = whole.clone();
            damaged[usize::try_from(start + bytes - 1).expect("a place")] ^= 1;
            let input = dir.write("a.parquet", &damaged);
            for skipped in [0, 1, 6, 11] {
                let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
                reader.skip_rows(skipped as u64).expect("skips");
                let first = (4 * at).max(skipped);
                if skipped >= 4 * (at + 1) {
                    assert_eq!(drain(&mut reader).expect("reads"), expected[skipped..]);
                    continue;
                }
                let (items, error) = drain(&mut reader).expect_err("damaged");
                assert_eq!(items, expected[skipped..first], "{at} {name} {skipped}");
                let words = error.to_string();
                let place = format!("row {first} or after it");
                for part in [&place, &format!("column `{name}`"), "checksum", "a.parquet"] {
                    assert!(words.contains(part), "{words}");
                }
                assert!(reader.next().is_err(), "the fault stays");
            }
            // Columns that no option asks for are not read.
            let mut reader = InputReader::open(&input, &drop_note).expect("opens");
            assert_eq!(drain(&mut reader).is_ok(), name == "note");
        }
    }
}

// ---- texts that are no texts ----

/// Regression: one text that is not UTF-8 cost the rest of its file.
#[test]
fn a_bad_text_of_parquet_costs_its_row_alone() {
    let dir = Dir::new();
    for dictionary in [false, true] {
        for bad in ["id", "text", "note"] {
            let column = |name: &str| {
                let value = |row: usize| match name == bad && row == 50 {
                    true => b"caf\xe9".to_vec(),
                    false => format!("{name} {row}").into_bytes(),
                };
                PlainColumn::Texts((0..100).map(value).collect())
            };
            let names = ["id", "text", "note"];
            let bytes = plain_parquet(
                names.map(text_leaf).to_vec(),
                names.map(column).into_iter().collect(),
                dictionary,
            );
            let input = dir.write("a.parquet", bytes);
            let items = read_with(&input, &by_id());
            assert_eq!(items.len(), 100);
            for (row, item) in items.iter().enumerate() {
                match (row, bad) {
                    (50, "text") => {
                        assert_eq!(rejected(item).reason, RejectReason::NotUtf8(3));
                        assert_eq!(rejected(item).origin.number, 50);
                    }
                    (50, "id") => {
                        assert_eq!(rejected(item).reason, RejectReason::BadId("id".into()))
                    }
                    _ => {
                        let note = match (row, bad) {
                            (50, "note") => "636166e9".to_owned(),
                            _ => format!("note {row}"),
                        };
                        let found = record(item);
                        assert_eq!(found.text, format!("text {row}"));
                        assert_eq!(found.key, RecordKey::Given(format!("id {row}")));
                        assert_eq!(found.metadata, format!("{{\"note\":\"{note}\"}}"));
                    }
                }
            }
            let without = ReadOptions { drop_fields: vec!["note".into()], ..by_id() };
            assert_eq!(read_with(&input, &without).len(), 100);
            let mut reader = InputReader::open(&input, &by_id()).expect("opens");
            reader.skip_rows(49).expect("skips");
            assert_eq!(drain(&mut reader).expect("reads"), items[49..]);
        }
    }
}

#[test]
fn a_bad_text_of_arrow_costs_its_row_alone() {
    let dir = Dir::new();
    // Bytes are written, and the description says that they are texts.
    let text = BinaryArray::from(vec![&b"one"[..], b"tw\xff", b"three"]);
    let list = ListArray::new(
        Arc::new(Field::new("item", DataType::Binary, true)),
        OffsetBuffer::from_lengths([1, 2, 0]),
        Arc::new(BinaryArray::from(vec![&b"a"[..], b"b", b"\xfe"])),
        None,
    );
    let large = LargeBinaryArray::from(vec![&b"x"[..], b"y", b"z\xc3"]);
    let coded = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![1, 0, 1]),
        Arc::new(BinaryArray::from(vec![&b"\xf0"[..], b"good"])),
    );
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", Arc::new(text)),
        ("list", Arc::new(list)),
        ("large", Arc::new(large)),
        ("coded", Arc::new(coded)),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    for is_stream in [false, true] {
        let bytes = arrow_file(&batch, is_stream);
        let items = read(&dir.write("a.arrow", said_to_be_texts(&bytes)));
        assert_eq!(rejected(&items[1]).reason, RejectReason::NotUtf8(2));
        let good = [items[0].clone(), items[2].clone()];
        assert_eq!(texts(&good), ["one", "three"]);
        let expected = [
            r#"{"list":["a"],"large":"x","coded":"good"}"#,
            r#"{"list":[],"large":"7ac3","coded":"good"}"#,
        ];
        assert_eq!(metadata(&good), expected);
        let raw = String::from_utf8_lossy(&rejected(&items[1]).raw).into_owned();
        assert!(raw.contains(r#""list":["b","fe"]"#) && raw.contains(r#""coded":"f0""#), "{raw}");
    }
}

/// The file with texts in the place of bytes, wherever its description has them.
fn said_to_be_texts(bytes: &[u8]) -> Vec<u8> {
    fn places(fields: Vec<arrow_ipc::Field<'_>>, from: usize, found: &mut Vec<(usize, u8)>) {
        use arrow_ipc::{Field, Type};
        for field in fields {
            let text = match field.type_type() {
                Type::Binary => Type::Utf8,
                Type::LargeBinary => Type::LargeUtf8,
                other => other,
            };
            let member = usize::from(field._tab.vtable().get(Field::VT_TYPE_TYPE));
            found.push((from + field._tab.loc() + member, text.0));
            places(field.children().into_iter().flatten().collect(), from, found);
        }
    }
    let mut changed = bytes.to_vec();
    let start = bytes.windows(4).position(|four| four == [0xff; 4]).expect("a message") + 4;
    let length = u32::from_le_bytes(bytes[start..start + 4].try_into().expect("four")) as usize;
    let message = arrow_ipc::root_as_message(&bytes[start + 4..start + 4 + length]).expect("read");
    let mut found = Vec::new();
    let fields = message.header_as_schema().and_then(|schema| schema.fields());
    places(fields.into_iter().flatten().collect(), start + 4, &mut found);
    found.into_iter().for_each(|(place, kind)| changed[place] = kind);
    changed
}

// ---- UUIDs ----

/// Regression: a UUID of Parquet was 32 digits, and no key.
#[test]
fn a_uuid_is_its_36_characters() {
    let dir = Dir::new();
    let uuid = |name| leaf(name, PhysicalType::FIXED_LEN_BYTE_ARRAY, Some(LogicalType::Uuid));
    let plain = leaf("hash", PhysicalType::FIXED_LEN_BYTE_ARRAY, None);
    let fixed = || PlainColumn::Fixed(vec![UUID.to_vec()]);
    let within = Type::group_type_builder("within")
        .with_repetition(Repetition::REQUIRED)
        .with_fields(vec![uuid("of")]);
    let within = Arc::new(within.build().expect("a group"));
    let schema = vec![uuid("id"), text_leaf("text"), within, plain];
    let bytes = plain_parquet(schema, vec![fixed(), words(&["one"]), fixed(), fixed()], false);
    let items = read_with(&dir.write("a.parquet", bytes), &by_id());
    let digits = UUID_TEXT.replace('-', "");
    assert_eq!(record(&items[0]).key, RecordKey::Given(UUID_TEXT.into()));
    let expected = format!(r#"{{"within":{{"of":"{UUID_TEXT}"}},"hash":"{digits}"}}"#);
    assert_eq!(metadata(&items), [expected]);

    let uuids = FixedSizeBinaryArray::try_from_iter([UUID, UUID].into_iter()).expect("uuids");
    let mark = |name: &str| {
        let extension = ("ARROW:extension:name".to_owned(), "arrow.uuid".to_owned());
        Field::new(name, DataType::FixedSizeBinary(16), true)
            .with_metadata(HashMap::from([extension]))
    };
    let item = Arc::new(mark("item"));
    let list =
        ListArray::new(item, OffsetBuffer::from_lengths([2, 0]), Arc::new(uuids.clone()), None);
    let keys = Int32Array::from(vec![0, 0]);
    let coded = DictionaryArray::<Int32Type>::new(keys, Arc::new(uuids.clone()));
    let coded_field = mark("coded").with_data_type(coded.data_type().clone());
    let schema = Schema::new(vec![
        mark("id"),
        Field::new("text", DataType::Utf8, true),
        Field::new("list", list.data_type().clone(), true),
        coded_field,
        Field::new("hash", DataType::FixedSizeBinary(16), true),
    ]);
    let text = Arc::new(StringArray::from(vec!["one", "two"]));
    let columns: Vec<ArrayRef> =
        vec![Arc::new(uuids.clone()), text, Arc::new(list), Arc::new(coded), Arc::new(uuids)];
    let batch = RecordBatch::try_new(Arc::new(schema), columns).expect("a batch");
    let expected = [
        format!(
            r#"{{"list":["{UUID_TEXT}","{UUID_TEXT}"],"coded":"{UUID_TEXT}","hash":"{digits}"}}"#
        ),
        format!(r#"{{"list":[],"coded":"{UUID_TEXT}","hash":"{digits}"}}"#),
    ];
    for is_stream in [false, true] {
        let items = read_with(&dir.write("a.arrow", arrow_file(&batch, is_stream)), &by_id());
        assert_eq!(record(&items[1]).key, RecordKey::Given(UUID_TEXT.into()));
        assert_eq!(metadata(&items), expected);
        // Bytes of a fixed size that are no UUID are digits as a key, too.
        let options = ReadOptions { id_field: Some("hash".into()), ..ReadOptions::default() };
        let items = read_with(&dir.write("a.arrow", arrow_file(&batch, is_stream)), &options);
        assert_eq!(record(&items[0]).key, RecordKey::Given(digits.clone()));
    }
}

// ---- moments ----

/// A column of each type of a moment with that number.
fn moments(number: i64) -> Vec<(&'static str, ArrayRef)> {
    let narrow = i32::try_from(number.rem_euclid(1 << 32) - (1 << 31)).expect("32 bits");
    let zoned = TimestampMicrosecondArray::from(vec![number]).with_timezone("Europe/Paris");
    let days = Arc::new(Date32Array::from(vec![narrow])) as ArrayRef;
    let day = Arc::new(Field::new("day", DataType::Date32, true));
    vec![
        ("day", Arc::clone(&days)),
        ("clock", Arc::new(Time64MicrosecondArray::from(vec![number]))),
        ("span", Arc::new(DurationSecondArray::from(vec![number]))),
        ("second", Arc::new(TimestampSecondArray::from(vec![number]))),
        ("milli", Arc::new(TimestampMillisecondArray::from(vec![number]).with_timezone("UTC"))),
        ("zoned", Arc::new(zoned)),
        ("within", Arc::new(StructArray::from(vec![(day, days)]))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(testing::cases(48)))]

    /// Regression: the words of an error were stored in the place of a moment that no calendar has.
    #[test]
    fn a_moment_is_its_text_or_null_and_counted(
        number in prop_oneof![
            any::<i64>(),
            -1_000_000_000_000_000_i64..1_000_000_000_000_000,
            Just(i64::MAX), Just(i64::MIN), Just(-i64::MAX),
        ],
        is_arrow in any::<bool>(),
    ) {
        let mut columns = moments(number);
        columns.push(("text", Arc::new(StringArray::from(vec!["one"]))));
        let batch = RecordBatch::try_from_iter(columns).expect("a batch");
        let bytes = match is_arrow {
            true => arrow_file(&batch, true),
            false => {
                let mut out = ArrowWriter::try_new(Vec::new(), batch.schema(), None).expect("out");
                out.write(&batch).expect("writes");
                out.into_inner().expect("closes")
            }
        };
        let dir = Dir::new();
        let items = read(&dir.write("a.bin", bytes));
        let found = record(&items[0]);
        let fields: Value = serde_json::from_str(&found.metadata).expect("JSON");
        let mut nulls = 0;
        for (name, value) in fields.as_object().expect("an object") {
            let value = if name == "within" { &value["day"] } else { value };
            nulls += u64::from(value.is_null());
            if let Some(text) = value.as_str() {
                let ascii = |c: char| c.is_ascii_digit() || "-+:.TZPS".contains(c);
                prop_assert!(text.chars().all(ascii), "{name}: {text}");
            }
        }
        prop_assert_eq!(nulls, found.not_finite.count);
    }
}

/// Regression: moments of 96 bits beyond the range of nanoseconds wrapped into it.
#[test]
fn far_moments_of_96_bits_are_read_in_a_coarser_unit() {
    let dir = Dir::new();
    let moment = |days: i64, nanoseconds: u64| {
        let mut value = Int96::new();
        let days = u32::try_from(2_440_588 + days).expect("days");
        let halves = (nanoseconds as u32, (nanoseconds >> 32) as u32);
        value.set_data(halves.0, halves.1, days);
        value
    };
    let near = moment(19_813, 5_400_000_123_456);
    let file = |moments: Vec<Int96>| {
        let texts: Vec<&str> = ["one", "two"][..moments.len()].to_vec();
        let schema = vec![text_leaf("text"), leaf("at", PhysicalType::INT96, None)];
        plain_parquet(schema, vec![words(&texts), PlainColumn::Moments(moments)], true)
    };
    let items = read(&dir.write("a.parquet", file(vec![near])));
    assert_eq!(metadata(&items), [r#"{"at":"2024-03-31T01:30:00.000123456"}"#]);
    // 9999-12-31T03:00 of Spark.
    let items =
        read(&dir.write("a.parquet", file(vec![near, moment(2_932_896, 10_800_000_000_000)])));
    let expected = [r#"{"at":"2024-03-31T01:30:00.000123"}"#, r#"{"at":"9999-12-31T03:00:00"}"#];
    assert_eq!(metadata(&items), expected);
    let items = read(&dir.write("a.parquet", file(vec![near, moment(2_000_000_000, 0)])));
    assert_eq!(metadata(&items), [r#"{"at":"2024-03-31T01:30:00.000123"}"#, r#"{"at":null}"#]);
    assert_eq!(record(&items[1]).not_finite.count, 1);
}

// ---- footers and dictionaries ----

/// Regression: a footer that counts no rows hid those of its row groups.
#[test]
fn a_footer_without_rows_hides_none() {
    let dir = Dir::new();
    let texts: Vec<String> = (0..6).map(|row| format!("row {row}")).collect();
    let columns: Vec<&str> = texts.iter().map(String::as_str).collect();
    let mut bytes = plain_parquet(vec![text_leaf("text")], vec![words(&columns)], false);
    let count = bytes.windows(3).rposition(|three| three == [0x16, 12, 0x19]).expect("the count");
    bytes[count + 1] = 0;
    let items = read(&dir.write("a.parquet", bytes));
    assert_eq!(super::tests::texts(&items), columns);
}

/// Regression: a group without columns moved those behind it.
#[test]
fn an_empty_group_moves_no_column() {
    let dir = Dir::new();
    let empty = Type::group_type_builder("empty").with_repetition(Repetition::OPTIONAL);
    let empty = Arc::new(empty.with_converted_type(ConvertedType::NONE).build().expect("a group"));
    let schema = vec![empty, text_leaf("text"), text_leaf("note")];
    let bytes = plain_parquet(schema, vec![words(&["one"]), words(&["behind"])], false);
    let items = read(&dir.write("a.parquet", bytes));
    assert_eq!(texts(&items), ["one"]);
    assert_eq!(metadata(&items), [r#"{"note":"behind"}"#]);
}

/// Regression: a null among the values of a dictionary was an empty text.
#[test]
fn a_null_in_a_dictionary_is_null() {
    let dir = Dir::new();
    let keys = || Int32Array::from(vec![Some(0), Some(1), None]);
    let values = Arc::new(StringArray::from(vec![Some("x"), None]));
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(1)]), None]);
    let coded = Arc::new(DictionaryArray::<Int32Type>::new(keys(), values)) as ArrayRef;
    let item = Arc::new(Field::new("item", coded.data_type().clone(), true));
    let within =
        ListArray::new(item, OffsetBuffer::from_lengths([3, 0, 0]), Arc::clone(&coded), None);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("text", Arc::new(StringArray::from(vec!["one", "two", "three"]))),
        ("d", coded),
        ("lists", Arc::new(DictionaryArray::<Int32Type>::new(keys(), Arc::new(lists)))),
        ("within", Arc::new(within)),
    ];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let items = read(&dir.write("a.arrow", arrow_file(&batch, false)));
    let expected = [
        r#"{"d":"x","lists":[1],"within":["x",null,null]}"#,
        r#"{"within":[]}"#,
        r#"{"within":[]}"#,
    ];
    assert_eq!(metadata(&items), expected);
}

/// Regression: a big-endian file was called damaged, and one of a later version was no rows.
#[test]
fn arrow_of_other_versions_is_refused_by_its_name() {
    let dir = Dir::new();
    for (version, endianness, words) in [(4, 1, "big-endian"), (5, 0, "later version than 5")] {
        // A message with the description of no columns.
        let mut message = vec![16, 0, 0, 0, 10, 0, 12, 0, 8, 0, 10, 0, 4, 0, 0, 0];
        message.extend([12, 0, 0, 0, 16, 0, 0, 0, version, 0, 1, 0]);
        message.extend([8, 0, 10, 0, 8, 0, 4, 0, 8, 0, 0, 0, 8, 0, 0, 0, endianness, 0, 0, 0]);
        message.extend([0; 8]);
        let length = u32::try_from(message.len()).expect("short").to_le_bytes();
        let bytes = [&[0xff; 4][..], &length, &message, &[0xff; 4], &[0; 4]].concat();
        let options = ReadOptions { format: InputFormat::Arrow, ..ReadOptions::default() };
        for options in [options, ReadOptions::default()] {
            let mut reader =
                InputReader::open(&dir.write("a.arrows", &bytes), &options).expect("opens");
            let (items, error) = drain(&mut reader).expect_err("refused");
            assert!(items.is_empty() && error.to_string().contains(words), "{error}");
        }
    }
}

/// Regression: a half lost its sign, and of two members of one name the first stayed where the last was null.
#[test]
fn halves_keep_their_sign_and_doubled_members_are_left() {
    let zero = cast(&Int32Array::from(vec![0]), &DataType::Float16).expect("a half");
    let half = neg_wrapping(&zero).expect("a half");
    let member = |array: ArrayRef| (Arc::new(Field::new("a", DataType::Int32, true)), array);
    let one: ArrayRef = Arc::new(Int32Array::from(vec![93]));
    let none: ArrayRef = Arc::new(Int32Array::from(vec![None]));
    let doubled: ArrayRef = Arc::new(StructArray::from(vec![member(one), member(none)]));
    let text: ArrayRef = Arc::new(StringArray::from(vec!["gulls"]));
    let columns = [("text", text), ("half", half), ("doubled", doubled)];
    let batch = RecordBatch::try_from_iter(columns).expect("a batch");
    let dir = Dir::new();
    let input = dir.write("a.arrow", arrow_file(&batch, false));
    let mut reader = InputReader::open(&input, &ReadOptions::default()).expect("opens");
    let items = drain(&mut reader).expect("reads");
    assert_eq!(metadata(&items), [r#"{"half":-0.0}"#]);
    assert!(reader.left_columns()[0].starts_with("doubled (Struct"), "{:?}", reader.left_columns());
}

/// What is nested and holds no UUID, no text and no moment is not copied for them.
#[test]
fn numbers_keep_their_arrays() {
    let numbers = Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef;
    let same = super::as_type(&numbers, &DataType::Int64).expect("a type");
    assert!(Arc::ptr_eq(&numbers, &same));
    assert!(super::as_type(&numbers, &DataType::Utf8).is_err());
    let bytes = Arc::new(BinaryArray::from(vec![&b"a"[..], b"\xff"])) as ArrayRef;
    assert!(super::as_type(&bytes, &DataType::Utf8).is_err());
    let texts = super::as_type(&bytes.slice(0, 1), &DataType::Utf8).expect("texts");
    assert_eq!(texts.as_string::<i32>().value(0), "a");
}
