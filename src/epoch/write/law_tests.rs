//! Tests that every format reads back what was written, and that what no format writes is refused.

use super::columns::token_batch;
use super::format_tests::{
    context, every_format, golden, of, rows as golden_rows, segment, unpacked, with_spec,
};
use super::shards::Shards;
use super::spec::RowContext;
use crate::epoch::recipe::{Format as F, Layout, MixUnit, OutputRecipe, PadView, RowColumn};
use crate::epoch::stream::{EpochRow, NO_SOURCE};
use crate::epoch::views::{RowShape, Span};
use arrow::datatypes::{DataType, Field as ArrowField};
use arrow_ipc::reader::StreamReader;
use files::output::{
    IdType, OutputCompression, RowFormat, RowSpec, ShardReadError, TokenBatch, TokenRow,
};
use model::LossSpan;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn save(format: &'static dyn RowFormat, context: &RowContext, dir: &Path, rows: &[EpochRow]) {
    let (path, context) = (dir.to_path_buf(), context.clone());
    let mut shards =
        Shards::new(format, context, path.clone(), MixUnit::Tokens, Vec::new(), 1 << 20);
    shards.write(rows.to_vec(), |_| (), |_| Ok(())).unwrap();
    for rename in shards.finish(|_| Ok(())).unwrap().renames {
        fs::rename(path.join(rename.from), path.join(rename.to)).unwrap();
    }
}

/// All values of rows, row by row, but the number of a row.
fn values(batch: &TokenBatch) -> Vec<String> {
    let row = |row: TokenRow<'_>| {
        let trained: Option<Vec<_>> = row.trained().map(Iterator::collect);
        format!(
            "{:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?} {:?}",
            row.ids(),
            row.source(),
            row.seq_lengths(),
            row.doc_ids(),
            row.doc_offsets(),
            row.views().collect::<Vec<_>>(),
            trained,
            row.run_ends(),
            row.trained_tokens(),
            row.label_mask(),
        )
    };
    batch.rows().map(row).collect()
}

/// The rows of a directory: their numbers, where it has them, and their values.
fn load(
    format: &'static dyn RowFormat,
    spec: &RowSpec,
    dir: &Path,
) -> Result<(Vec<u64>, Vec<String>), ShardReadError> {
    let reader = format.open(spec, dir)?;
    let (mut numbers, mut found) = (Vec::new(), Vec::new());
    for number in 0.. {
        if !reader.shard_files(number).iter().any(|name| dir.join(name).exists()) {
            break;
        }
        let mut shard = reader.open_shard(number)?;
        while let Some(batch) = shard.next_batch()? {
            numbers.extend(batch.rows().filter_map(|row| row.number()));
            found.extend(values(&batch));
        }
    }
    Ok((numbers, found))
}

/// What must be read: the rows in the columns of the format.
fn expected(format: &dyn RowFormat, context: &RowContext, rows: &[EpochRow]) -> Vec<String> {
    let rows: Vec<&EpochRow> = rows.iter().collect();
    values(&token_batch(&rows, &format.columns(&context.spec), 0, context).unwrap())
}

/// A row of segments of these lengths, each behind a gap, in a row of `width`; of pads, if there is none.
fn made(seed: u32, pieces: &[(u32, u32)], behind: u32, each: bool, is_masked: bool) -> EpochRow {
    let (mut spans, mut segments, mut at) = (Vec::new(), Vec::new(), 0);
    for (number, (gap, length)) in pieces.iter().enumerate() {
        at += gap;
        spans.push(Span { start: at, length: *length });
        let offset = seed % 5 * number as u32;
        segments.push(segment(
            u64::from(seed) * 7 + number as u64,
            offset,
            *length,
            offset + length,
        ));
        at += length;
    }
    let width = at + behind;
    let ids = (0..width).map(|token| (seed.wrapping_mul(2_654_435_761) ^ (token * 97)) % 50_257);
    let trained = || {
        let spans = spans.iter().filter(|span| span.length > 1).enumerate();
        spans.map(|(number, span)| LossSpan {
            start: span.start + number as u32 % 2,
            end: span.end(),
            weight: [1.0, 0.5, 0.0][number % 3],
        })
    };
    EpochRow {
        source: if segments.is_empty() { NO_SOURCE } else { seed as usize % 2 },
        real: segments.iter().map(|segment| segment.length as usize).sum(),
        ids: ids.collect(),
        trained: is_masked.then(|| trained().collect()),
        segments,
        shape: RowShape {
            width,
            spans: spans.clone(),
            pads: if each { PadView::Each } else { PadView::Suffix },
        },
        ..EpochRow::none()
    }
}

/// The rows with pads behind them up to `width`, which formats of rows of one length need.
fn padded(rows: &[EpochRow], width: u32) -> Vec<EpochRow> {
    let pad = |row: &EpochRow| {
        let mut row = row.clone();
        row.ids.resize(width as usize, 0);
        row.shape.width = width;
        row
    };
    rows.iter().map(pad).collect()
}

fn check_law(rows: &[EpochRow], is_masked: bool, columns: &[RowColumn], shard_bytes: u64) {
    let capacity = rows.iter().map(|row| row.ids.len() as u32).max().unwrap_or(0).max(1);
    for (name, format, context) in every_format() {
        let has_columns = format.default_columns(false).is_some();
        let context = with_spec(context, |spec| {
            spec.capacity = capacity;
            spec.shard_bytes = shard_bytes;
            spec.has_loss_spans = is_masked;
            spec.has_loss_masks = is_masked;
            // Rows of bare ids have one length, or no pads.
            spec.is_packed = format.needs_equal_rows();
            spec.columns = if has_columns { columns.to_vec() } else { Vec::new() };
        });
        let rows = match format.needs_equal_rows() {
            true => padded(rows, capacity),
            false => rows.to_vec(),
        };
        let dir = tempfile::tempdir().unwrap();
        save(format, &context, dir.path(), &rows);
        let (numbers, found) = match load(format, &context.spec, dir.path()) {
            Ok(loaded) => loaded,
            Err(error) => panic!("{name}: {error:?}"),
        };
        let expected = expected(format, &context, &rows);
        assert_eq!(found.len(), expected.len(), "{name}");
        for (row, (found, expected)) in found.iter().zip(&expected).enumerate() {
            assert_eq!(found, expected, "row {row} of {name}");
        }
        if !numbers.is_empty() {
            assert!(numbers.into_iter().eq(0..rows.len() as u64), "numbers of {name}");
        }
    }
}

/// A format, and a file of it in tests/formats/epochs with the name that it has in a directory of ours.
type ReferenceFiles<'a> = (F, Option<Layout>, IdType, &'a str, &'a [(&'a str, &'a str)]);

/// Files of the reference writers, under the names that they have in a directory of ours; where a format has bare ids,
/// the table of segments beside them is ours.
#[test]
fn files_of_the_reference_writers_are_read() {
    let index = |name: &'static str| (name, "index.json");
    let cases: [ReferenceFiles<'_>; 12] = [
        (
            F::Megatron,
            None,
            IdType::U16,
            "megatron",
            &[("u16.bin", "shard-00000.bin"), ("u16.idx", "shard-00000.idx")],
        ),
        (
            F::Megatron,
            None,
            IdType::I32,
            "megatron",
            &[("i32.bin", "shard-00000.bin"), ("i32.idx", "shard-00000.idx")],
        ),
        (
            F::Arrow,
            None,
            IdType::I32,
            "arrow",
            &[
                ("data-00000-of-00001.arrow", "data-00000-of-00001.arrow"),
                ("state.json", "state.json"),
                ("dataset_info.json", "dataset_info.json"),
            ],
        ),
        (
            F::Mds,
            None,
            IdType::I32,
            "mds",
            &[("shard.00000.mds", "shard.00000.mds"), index("index.json")],
        ),
        (
            F::Litdata,
            None,
            IdType::U16,
            "litdata-u16",
            &[("chunk-0-0.bin", "chunk-0-0.bin"), index("index.json")],
        ),
        (
            F::Litdata,
            None,
            IdType::I32,
            "litdata-i32",
            &[("chunk-0-0.bin", "chunk-0-0.bin"), index("index.json")],
        ),
        (F::Raw, Some(Layout::Plain), IdType::U16, "flat", &[("u16.bin", "shard-00000.bin")]),
        (F::Raw, Some(Layout::Plain), IdType::U32, "flat", &[("u32.bin", "shard-00000.bin")]),
        (F::Raw, Some(Layout::LlmC), IdType::U16, "flat", &[("llmc.bin", "shard-00000.bin")]),
        (F::Raw, Some(Layout::Olmo), IdType::U16, "flat", &[("u16.bin", "part-0-00000.npy")]),
        (F::Raw, Some(Layout::Datatrove), IdType::U16, "datatrove-u16", &DATATROVE),
        (F::Raw, Some(Layout::Datatrove), IdType::U32, "datatrove-u32", &DATATROVE),
    ];
    for (name, layout, id_type, folder, files) in cases {
        check_golden(of(name, layout), &context(name, id_type), folder, files, &golden_rows());
    }
    let split = with_spec(context(F::Mds, IdType::I32), |spec| spec.shard_bytes = 500);
    let shards = ["shard.00000.mds", "shard.00001.mds", "index.json"].map(|name| (name, name));
    check_golden(of(F::Mds, None), &split, "mds-split", &shards, &golden_rows());
    let narrow = with_spec(context(F::Mds, IdType::U16), |spec| {
        spec.compression = OutputCompression::Zstd;
        spec.columns = vec![RowColumn::Labels, RowColumn::PositionIds];
    });
    let shards = ["shard.00000.mds.zstd", "index.json"].map(|name| (name, name));
    check_golden(of(F::Mds, None), &narrow, "mds-narrow", &shards, &golden_rows());
    let unpacked_rows = with_spec(context(F::Megatron, IdType::U16), |spec| spec.is_packed = false);
    let shards = [("unpacked.bin", "shard-00000.bin"), ("unpacked.idx", "shard-00000.idx")];
    check_golden(of(F::Megatron, None), &unpacked_rows, "megatron", &shards, &unpacked());
}

/// Bytes that this thread has read so far.
fn bytes_read() -> u64 {
    let told = fs::read_to_string("/proc/thread-self/io").unwrap();
    let line = told.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap();
    line.parse().unwrap()
}

/// Indexes and listings were read for every shard again.
#[test]
fn a_directory_of_twice_the_shards_takes_twice_the_reading() {
    // Ids that do not compress.
    let mut state = 1_u32;
    let mut many = |count: usize| -> Vec<EpochRow> {
        let mut rows: Vec<EpochRow> = (0..count).flat_map(|_| golden_rows()).collect();
        for id in rows.iter_mut().flat_map(|row| &mut row.ids) {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *id = state >> 16;
        }
        rows
    };
    for (name, format, context) in every_format() {
        let context = with_spec(context, |spec| spec.shard_bytes = 4096);
        let read = [5000, 10_000].map(|count| {
            let dir = tempfile::tempdir().unwrap();
            save(format, &context, dir.path(), &many(count));
            let before = bytes_read();
            let (_, found) = load(format, &context.spec, dir.path()).unwrap();
            assert_eq!(found.len(), 3 * count);
            bytes_read() - before
        });
        let [once, twice] = read;
        assert!(once > 100_000 && twice < once * 9 / 4, "{name}: {once}, {twice} bytes");
    }
}

const DATATROVE: [(&str, &str); 3] = [
    ("00000_unshuffled.ds", "00000_unshuffled.ds"),
    ("00000_unshuffled.ds.index", "00000_unshuffled.ds.index"),
    ("00000_unshuffled.ds.metadata", "00000_unshuffled.ds.metadata"),
];

/// Reads golden files in the place of those that are written of the same rows.
fn check_golden(
    format: &'static dyn RowFormat,
    context: &RowContext,
    folder: &str,
    files: &[(&str, &str)],
    rows: &[EpochRow],
) {
    let dir = tempfile::tempdir().unwrap();
    save(format, context, dir.path(), rows);
    for (theirs, ours) in files {
        assert!(dir.path().join(ours).exists(), "{folder}: {ours}");
        let mut bytes = golden(&format!("{folder}/{theirs}"));
        if let Ok(Value::Object(mut index)) = serde_json::from_slice(&bytes)
            && let Some(time) = index.get_mut("updated_at")
        {
            // The time, where ours is the plan.
            *time = context.spec.plan.as_str().into();
            bytes = serde_json::to_vec(&index).unwrap();
        }
        fs::write(dir.path().join(ours), bytes).unwrap();
    }
    match load(format, &context.spec, dir.path()) {
        Ok((_, found)) => assert_eq!(found, expected(format, context, rows), "{folder}"),
        Err(error) => panic!("{folder}: {error:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(16), ..ProptestConfig::default() })]

    /// MDS gave rows without tokens back with a value in every column.
    #[test]
    fn rows_written_are_the_rows_read_in_every_format(
        shapes in proptest::collection::vec(
            (proptest::collection::vec((0_u32..3, 1_u32..400), 0..4), 0_u32..4),
            1..40,
        ),
        each: bool,
        is_masked: bool,
        subset in proptest::sample::subsequence(RowColumn::ALL.to_vec(), 0..=10),
        shard_bytes in 4096_u64..40_000,
    ) {
        let rows: Vec<EpochRow> = (1..).zip(&shapes).map(|(seed, (pieces, behind))| {
            made(seed, pieces, *behind, each, is_masked)
        }).collect();
        check_law(&rows, is_masked, &subset, shard_bytes);
    }
}

#[test]
fn seventy_thousand_short_rows_are_read_back_in_every_format() {
    let pieces =
        |seed: u32| if seed.is_multiple_of(3) { vec![] } else { vec![(seed % 2, 1 + seed % 3)] };
    let rows: Vec<EpochRow> =
        (0..70_000).map(|seed| made(seed, &pieces(seed), seed % 2, seed % 2 == 0, true)).collect();
    check_law(&rows, true, &[RowColumn::Labels, RowColumn::SeqStartId], 1 << 20);
}

fn few_rows() -> Vec<EpochRow> {
    (1..40).map(|seed| made(seed, &[(0, 5), (1, 1 + seed % 9)], seed % 3, false, false)).collect()
}

/// What a directory of MDS, LitData or Arrow says once for all shards was read once for each of them.
#[test]
fn listing_and_index_are_read_once_for_all_shards() {
    for (name, format, context) in every_format() {
        let context = with_spec(context, |spec| {
            spec.capacity = 20;
            spec.is_packed = format.needs_equal_rows();
            spec.shard_bytes = 200;
        });
        let rows = if format.needs_equal_rows() { padded(&few_rows(), 20) } else { few_rows() };
        let dir = tempfile::tempdir().unwrap();
        save(format, &context, dir.path(), &rows);
        let reader = format.open(&context.spec, dir.path()).unwrap();
        // Whoever asks for them again does not find them.
        for once in ["index.json", "state.json", "dataset_info.json"] {
            let _ = fs::remove_file(dir.path().join(once));
        }
        let mut rows = 0;
        for shard in 0.. {
            if !reader.shard_files(shard).iter().any(|file| dir.path().join(file).exists()) {
                break;
            }
            let mut shard =
                reader.open_shard(shard).unwrap_or_else(|error| panic!("{name}: {error:?}"));
            while let Some(batch) = shard.next_batch().unwrap() {
                rows += batch.len();
            }
        }
        assert_eq!(rows, few_rows().len(), "{name}");
    }
}

/// The type of a column that `datasets` makes of a feature.
fn feature_type(feature: &Value) -> DataType {
    match (feature["_type"].as_str().unwrap(), feature["dtype"].as_str()) {
        ("List", None) => {
            let item = feature_type(&feature["feature"]);
            DataType::List(Arc::new(ArrowField::new("item", item, true)))
        }
        ("Value", Some("string")) => DataType::Utf8,
        ("Value", Some("int32")) => DataType::Int32,
        ("Value", Some("int64")) => DataType::Int64,
        ("Value", Some("uint8")) => DataType::UInt8,
        ("Value", Some("int8")) => DataType::Int8,
        ("Value", Some("float32")) => DataType::Float32,
        other => panic!("{other:?}"),
    }
}

/// `load_from_disk` opens the files that `state.json` names, in its order, and takes fingerprint, split and format from
/// there; the features of `dataset_info.json` have to be those of every file.
#[test]
fn arrow_folders_have_what_load_from_disk_reads() {
    let columns = [
        RowColumn::AttentionMask,
        RowColumn::Labels,
        RowColumn::LossMask,
        RowColumn::LossWeights,
        RowColumn::PositionIds,
        RowColumn::SeqStartId,
    ];
    for (columns, is_masked, shard_bytes) in
        [(&columns[..0], false, 1 << 20), (&columns, true, 2000)]
    {
        let context = with_spec(context(F::Arrow, IdType::I32), |spec| {
            spec.capacity = 20;
            spec.is_packed = false;
            spec.columns = columns.to_vec();
            spec.shard_bytes = shard_bytes;
            spec.has_loss_spans = is_masked;
            spec.has_loss_masks = is_masked;
        });
        // A shard ends between groups of 1,000 rows.
        let rows: Vec<EpochRow> = (1..4000)
            .map(|seed| made(seed, &[(0, 5), (1, 1 + seed % 9)], seed % 3, false, is_masked))
            .collect();
        let dir = tempfile::tempdir().unwrap();
        save(of(F::Arrow, None), &context, dir.path(), &rows);
        let json = |name: &str| -> Value {
            serde_json::from_slice(&fs::read(dir.path().join(name)).unwrap()).unwrap()
        };
        let (state, info) = (json("state.json"), json("dataset_info.json"));
        let names = state["_data_files"].as_array().unwrap().iter();
        let names: Vec<&str> = names.map(|file| file["filename"].as_str().unwrap()).collect();
        assert_eq!(names.len() > 1, shard_bytes == 2000, "{names:?}");
        let numbered = |at: usize| format!("data-{at:05}-of-{:05}.arrow", names.len());
        assert!(names.iter().copied().eq((0..names.len()).map(numbered)), "{names:?}");
        let whole = json!({
            "_data_files": names.iter().map(|name| json!({ "filename": name })).collect::<Vec<_>>(),
            "_fingerprint": "0123456789abcdef",
            "_format_columns": null,
            "_format_kwargs": {},
            "_format_type": null,
            "_output_all_columns": false,
            "_split": null,
        });
        assert_eq!(state, whole);
        let mut there: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        there.sort_unstable();
        assert_eq!(there, [&names[..], &["dataset_info.json", "state.json"]].concat());

        // All else of it that `DatasetInfo` has may be left out.
        let known = ["citation", "description", "features", "homepage", "license"];
        assert!(info.as_object().unwrap().keys().eq(known), "{info}");
        let features = info["features"].as_object().unwrap();
        let mut found = Vec::new();
        for name in &names {
            let file = fs::File::open(dir.path().join(name)).unwrap();
            let reader = StreamReader::try_new(file, None).unwrap();
            let schema = reader.schema();
            let of_file = schema.fields().iter().map(|field| (field.name(), field.data_type()));
            let of_file: Vec<(&String, DataType)> =
                of_file.map(|(column, kind)| (column, kind.clone())).collect();
            let of_info = features.iter().map(|(column, feature)| (column, feature_type(feature)));
            assert_eq!(of_file, of_info.collect::<Vec<_>>(), "{name}");
            let about: Value = serde_json::from_str(&schema.metadata()["huggingface"]).unwrap();
            assert_eq!(about, json!({ "info": { "features": features } }), "{name}");
            found.extend(reader.map(|batch| batch.unwrap().num_rows()));
        }
        assert_eq!(found.iter().sum::<usize>(), rows.len());
    }
}

fn malformed(found: Result<(Vec<u64>, Vec<String>), ShardReadError>) -> String {
    match found {
        Err(ShardReadError::Malformed(why)) => why,
        other => panic!("{other:?}"),
    }
}

/// One number in `seq_lengths` took 51 GB: positions were laid out by it.
#[test]
fn segments_longer_than_their_row_are_refused() {
    let context = with_spec(context(F::Jsonl, IdType::I32), |spec| spec.capacity = 20);
    let format = OutputRecipe { format: F::Jsonl, ..OutputRecipe::default() }.file_format();
    let dir = tempfile::tempdir().unwrap();
    save(format, &context, dir.path(), &few_rows());
    let path = dir.path().join("shard-00000.jsonl");
    let text = fs::read_to_string(&path).unwrap();
    let text = text.replacen("\"seq_lengths\":[5,", "\"seq_lengths\":[2147483647,", 1);
    fs::write(&path, text).unwrap();
    let why = malformed(load(format, &context.spec, dir.path()));
    assert!(why.contains("row 0 has segments of 21474836"), "{why}");
}

/// What is compressed may be of any length: a line, a table of offsets, what a frame says that it holds.
#[test]
fn decompressed_bytes_are_read_up_to_what_rows_can_take() {
    let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 3).unwrap();
    let spec = |format, id_type| {
        with_spec(context(format, id_type), |spec| {
            spec.compression = OutputCompression::Zstd;
        })
        .spec
    };
    let of = |format| OutputRecipe { format, ..OutputRecipe::default() }.file_format();
    // 64 MiB of one line are a few kilobytes.
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("shard-00000.jsonl.zst"), zstd(&vec![b'1'; 64 << 20])).unwrap();
    let why = malformed(load(of(F::Jsonl), &spec(F::Jsonl, IdType::I32), dir.path()));
    assert!(why.contains("a line of more than"), "{why}");
    // A table of as many samples as a number can say, in a frame that says it holds them.
    let spec = spec(F::Mds, IdType::I32);
    for said in [u64::from(u32::MAX), 4096] {
        let dir = tempfile::tempdir().unwrap();
        let mut shard = u32::MAX.to_le_bytes().to_vec();
        shard.resize(64 << 20, 0);
        fs::write(dir.path().join("shard.00000.mds.zstd"), zstd(&shard)).unwrap();
        let index = serde_json::json!({
            "shards": [{ "raw_data": { "bytes": said } }], "version": 2,
        });
        fs::write(dir.path().join("index.json"), index.to_string()).unwrap();
        let why = malformed(load(of(F::Mds), &spec, dir.path()));
        assert!(why.contains("holds 4294967295 bytes") || why.contains("no table"), "{why}");
    }
}

/// Whatever stands in a file, it is refused or read: without a panic, and within the memory that it takes itself.
#[test]
fn spoiled_files_are_refused_without_a_panic() {
    let mut random = 7_u64;
    let mut below = |most: usize| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (random >> 33) as usize % most.max(1)
    };
    for (name, format, context) in every_format() {
        let context = with_spec(context, |spec| {
            spec.capacity = 20;
            spec.is_packed = format.needs_equal_rows();
            spec.shard_bytes = 400;
        });
        let rows = if format.needs_equal_rows() { padded(&few_rows(), 20) } else { few_rows() };
        let dir = tempfile::tempdir().unwrap();
        save(format, &context, dir.path(), &rows);
        let whole = load(format, &context.spec, dir.path()).unwrap();
        let files: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().path()).collect();
        for path in files.into_iter().take(4) {
            let bytes = fs::read(&path).unwrap();
            let mut spoiled: Vec<Vec<u8>> = (0..12)
                .map(|_| {
                    let (mut spoiled, at) = (bytes.clone(), below(bytes.len()));
                    spoiled[at] ^= 1 << below(8);
                    spoiled
                })
                .collect();
            let at = below(bytes.len());
            spoiled
                .extend([0, 1, bytes.len() / 2, bytes.len() - 1].map(|end| bytes[..end].to_vec()));
            spoiled.push([&bytes[..], &[0]].concat());
            spoiled.push([&bytes[..], &bytes[..]].concat());
            spoiled.push([&bytes[..at], &[0; 8], &bytes[at..]].concat());
            spoiled.push(bytes.iter().map(|byte| !byte).collect());
            for (kind, spoiled) in spoiled.into_iter().enumerate() {
                fs::write(&path, &spoiled).unwrap();
                // Bytes that readers skip are covered by the file's hash alone, but every reader sees that the file
                // ends too early.
                if let Ok(found) = load(format, &context.spec, dir.path()) {
                    let cut = (12..16).contains(&kind);
                    assert!(!cut || found != whole, "{name}: {} cut", path.display());
                }
            }
            fs::write(&path, &bytes).unwrap();
        }
        assert_eq!(load(format, &context.spec, dir.path()).unwrap(), whole, "{name}");
    }
}
