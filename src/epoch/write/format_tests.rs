//! Tests of written bytes against those that reference writers made of the same rows (`tests/formats/epochs`).

use super::shards::Shards;
use super::spec::RowContext;
use crate::epoch::pack::Segment;
use crate::epoch::recipe::{Format as F, Layout, MixUnit, OutputRecipe, RowColumn};
use crate::epoch::stream::EpochRow;
use crate::epoch::views::RowShape;
use files::output::{IdType, ManifestFile, OutputCompression, RowFormat, RowSpec, python_json};
use model::DocId;
use std::fs;
use std::path::Path;

pub(super) fn segment(document: u64, offset: u32, length: u32, document_length: u32) -> Segment {
    Segment { document: DocId(document), offset, length, document_length }
}

/// A row of segments end to end, pads after them.
fn row(source: usize, ids: Vec<u32>, segments: Vec<Segment>) -> EpochRow {
    let lengths: Vec<u32> = segments.iter().map(|segment| segment.length).collect();
    EpochRow {
        source,
        real: lengths.iter().sum::<u32>() as usize,
        shape: RowShape::packed(lengths, ids.len() as u32),
        ids,
        segments,
        ..EpochRow::none()
    }
}

/// The rows of tests/formats/epochs/make.py.
pub(super) fn rows() -> Vec<EpochRow> {
    vec![
        row(
            0,
            vec![11, 12, 13, 14, 50256, 21, 22, 50256],
            vec![segment(7, 0, 5, 5), segment(300, 0, 3, 3)],
        ),
        row(1, vec![31, 32, 33, 34, 35, 36, 37, 38], vec![segment(2, 0, 8, 11)]),
        row(1, vec![39, 40, 50256, 0, 0, 0, 0, 0], vec![segment(2, 8, 3, 11)]),
    ]
}

/// The tokens of [`rows`] unpacked.
pub(super) fn unpacked() -> Vec<EpochRow> {
    let mut found = Vec::new();
    for packed in rows() {
        let mut start = 0;
        for segment in packed.segments {
            let end = start + segment.length as usize;
            found.push(row(packed.source, packed.ids[start..end].to_vec(), vec![segment]));
            start = end;
        }
    }
    found
}

pub(super) fn context(format: F, id_type: IdType) -> RowContext {
    let output = OutputRecipe { format, ..OutputRecipe::default() };
    let spec = RowSpec {
        columns: output.columns(false, false),
        compression: OutputCompression::None,
        content_defined_chunks: false,
        shard_bytes: 4096,
        id_type,
        vocab: 50_257,
        tokenizer: "gpt2".to_owned(),
        plan: "0123456789abcdef0123".to_owned(),
        capacity: 8,
        is_packed: true,
        has_loss_spans: false,
        has_loss_masks: false,
        memory: 1 << 20,
    };
    let sources = vec!["a".to_owned(), "b".to_owned()];
    RowContext { spec, sources, format: format.name(), ignore_loss: false }
}

pub(super) fn with_spec(context: RowContext, change: impl FnOnce(&mut RowSpec)) -> RowContext {
    let mut context = context;
    change(&mut context.spec);
    context
}

pub(super) fn of(format: F, layout: Option<Layout>) -> &'static dyn RowFormat {
    OutputRecipe { format, layout, ..OutputRecipe::default() }.file_format()
}

/// Writes `rows` in pieces of `piece` rows.
fn write(
    format: &'static dyn RowFormat,
    context: RowContext,
    dir: &Path,
    rows: &[EpochRow],
    piece: usize,
) -> Vec<ManifestFile> {
    let dir = dir.to_path_buf();
    let mut shards = Shards::new(format, context, dir, MixUnit::Tokens, Vec::new(), 1 << 20);
    for rows in rows.chunks(piece) {
        shards.write(rows.to_vec(), |_| (), |_| Ok(())).unwrap();
    }
    shards.finish(|_| Ok(())).unwrap().files
}

pub(super) fn golden(name: &str) -> Vec<u8> {
    // Unit tests run in the package's directory, which is not always the one they were compiled in.
    let path = Path::new("tests/formats/epochs").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[track_caller]
fn same(dir: &Path, ours: &str, theirs: &str) {
    let found = fs::read(dir.join(ours)).unwrap();
    assert!(found == golden(theirs), "{ours} is not {theirs}: {}", String::from_utf8_lossy(&found));
}

#[test]
fn megatron_is_that_of_indexed_dataset_builder() {
    let megatron = of(F::Megatron, None);
    for (id_type, name) in [(IdType::U16, "u16"), (IdType::I32, "i32")] {
        let dir = tempfile::tempdir().unwrap();
        write(megatron, context(F::Megatron, id_type), dir.path(), &rows(), 3);
        same(dir.path(), "shard-00000.bin", &format!("megatron/{name}.bin"));
        same(dir.path(), "shard-00000.idx", &format!("megatron/{name}.idx"));
    }
    let dir = tempfile::tempdir().unwrap();
    let unpacked_rows = with_spec(context(F::Megatron, IdType::U16), |spec| spec.is_packed = false);
    write(megatron, unpacked_rows, dir.path(), &unpacked(), 2);
    same(dir.path(), "shard-00000.bin", "megatron/unpacked.bin");
    same(dir.path(), "shard-00000.idx", "megatron/unpacked.idx");
}

#[test]
fn mds_is_that_of_mds_writer() {
    let dir = tempfile::tempdir().unwrap();
    write(of(F::Mds, None), context(F::Mds, IdType::I32), dir.path(), &rows(), 3);
    same(dir.path(), "shard.00000.mds", "mds/shard.00000.mds");
    same(dir.path(), "index.json", "mds/index.json");
    // Two of these samples fit this limit and the third begins a shard.
    let dir = tempfile::tempdir().unwrap();
    let split = with_spec(context(F::Mds, IdType::I32), |spec| spec.shard_bytes = 500);
    write(of(F::Mds, None), split, dir.path(), &rows(), 3);
    for name in ["shard.00000.mds", "shard.00001.mds", "index.json"] {
        same(dir.path(), name, &format!("mds-split/{name}"));
    }
}

/// Ids had four bytes and shards were as they are, whatever was asked for.
#[test]
fn mds_has_narrow_ids_and_compressed_shards_as_mds_writer_has() {
    let dir = tempfile::tempdir().unwrap();
    let narrow = with_spec(context(F::Mds, IdType::U16), |spec| {
        spec.compression = OutputCompression::Zstd;
        spec.columns = vec![RowColumn::Labels, RowColumn::PositionIds];
    });
    write(of(F::Mds, None), narrow, dir.path(), &rows(), 3);
    same(dir.path(), "index.json", "mds-narrow/index.json");
    same(dir.path(), "shard.00000.mds.zstd", "mds-narrow/shard.00000.mds.zstd");
}

/// A whole shard was in memory until it was complete, whatever memory there was.
#[test]
fn samples_beyond_the_memory_given_wait_in_a_file() {
    for (format, name) in [(F::Mds, "shard.00000.mds"), (F::Litdata, "chunk-0-0.bin")] {
        let many: Vec<EpochRow> = (0..4000).flat_map(|_| rows()).collect();
        let [held, spilled] = [1 << 30, 1 << 14].map(|memory| {
            let dir = tempfile::tempdir().unwrap();
            let context = with_spec(context(format, IdType::I32), |spec| {
                spec.memory = memory;
                spec.shard_bytes = 1 << 30;
            });
            let path = dir.path().to_path_buf();
            let mut shards =
                Shards::new(of(format, None), context, path, MixUnit::Tokens, Vec::new(), 1 << 20);
            shards.write(many.clone(), |_| (), |_| Ok(())).unwrap();
            let waiting = dir.path().join(format!("{name}.samples"));
            assert_eq!(waiting.exists(), memory < 1 << 20, "{name}");
            let files = shards.finish(|_| Ok(())).unwrap().files;
            assert!(!waiting.exists(), "{name}");
            (files, fs::read(dir.path().join(name)).unwrap())
        });
        assert!(held == spilled, "{name}");
    }
}

#[test]
fn litdata_is_that_of_binary_writer() {
    for (id_type, name) in [(IdType::U16, "u16"), (IdType::I32, "i32")] {
        let dir = tempfile::tempdir().unwrap();
        write(of(F::Litdata, None), context(F::Litdata, id_type), dir.path(), &rows(), 3);
        same(dir.path(), "chunk-0-0.bin", &format!("litdata-{name}/chunk-0-0.bin"));
        let json =
            |bytes: Vec<u8>| -> serde_json::Value { serde_json::from_slice(&bytes).unwrap() };
        let mut theirs = json(golden(&format!("litdata-{name}/index.json")));
        // The time, where ours is the plan.
        theirs["updated_at"] = "0123456789abcdef0123".into();
        let ours = fs::read(dir.path().join("index.json")).unwrap();
        assert_eq!(String::from_utf8(ours).unwrap(), python_json(&theirs));
    }
}

#[test]
fn datatrove_is_that_of_tokenized_file() {
    for (id_type, name) in [(IdType::U16, "u16"), (IdType::U32, "u32")] {
        let dir = tempfile::tempdir().unwrap();
        let format = of(F::Raw, Some(Layout::Datatrove));
        write(format, context(F::Raw, id_type), dir.path(), &rows(), 3);
        for file in ["ds", "ds.index", "ds.metadata"] {
            let file = format!("00000_unshuffled.{file}");
            same(dir.path(), &file, &format!("datatrove-{name}/{file}"));
        }
    }
}

#[test]
fn bare_ids_are_those_of_numpy() {
    for (id_type, name) in [(IdType::U16, "flat/u16.bin"), (IdType::U32, "flat/u32.bin")] {
        let dir = tempfile::tempdir().unwrap();
        let plain = of(F::Raw, Some(Layout::Plain));
        write(plain, context(F::Raw, id_type), dir.path(), &rows(), 3);
        same(dir.path(), "shard-00000.bin", name);
        let olmo = of(F::Raw, Some(Layout::Olmo));
        write(olmo, context(F::Raw, id_type), dir.path(), &rows(), 3);
        same(dir.path(), "part-0-00000.npy", name);
    }
    let dir = tempfile::tempdir().unwrap();
    let llmc = of(F::Raw, Some(Layout::LlmC));
    write(llmc, context(F::Raw, IdType::U16), dir.path(), &rows(), 3);
    same(dir.path(), "shard-00000.bin", "flat/llmc.bin");
}

#[test]
fn arrow_directories_describe_themselves_as_datasets_does() {
    let dir = tempfile::tempdir().unwrap();
    write(of(F::Arrow, None), context(F::Arrow, IdType::I32), dir.path(), &rows(), 3);
    same(dir.path(), "state.json", "arrow/state.json");
    same(dir.path(), "dataset_info.json", "arrow/dataset_info.json");
    // The encoding of its messages is free; the batches are the same.
    let read = |bytes: Vec<u8>| {
        let reader = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(bytes), None);
        let mut reader = reader.unwrap();
        (reader.schema(), reader.next().unwrap().unwrap(), reader.next().is_none())
    };
    // A file gets its last name with all others.
    let name = "data-00000-of-00001.arrow";
    let ours = fs::read(dir.path().join("data-00000.arrow")).unwrap();
    assert_eq!(read(ours), read(golden(&format!("arrow/{name}"))));
}

/// Every format and layout, with the words of its options.
pub(super) fn every_format() -> Vec<(&'static str, &'static dyn RowFormat, RowContext)> {
    let raw = |layout| (of(F::Raw, Some(layout)), context(F::Raw, IdType::U16));
    let plain = |format, id_type| (of(format, None), context(format, id_type));
    let zstd = |(format, context): (&'static dyn RowFormat, RowContext)| {
        (format, with_spec(context, |spec| spec.compression = OutputCompression::Zstd))
    };
    let made = [
        ("megatron", plain(F::Megatron, IdType::U16)),
        ("parquet", zstd(plain(F::Parquet, IdType::I32))),
        ("arrow", plain(F::Arrow, IdType::I32)),
        ("mds", plain(F::Mds, IdType::I32)),
        ("mds, narrow and compressed", zstd(plain(F::Mds, IdType::U16))),
        ("litdata", plain(F::Litdata, IdType::U16)),
        ("jsonl", plain(F::Jsonl, IdType::I32)),
        ("jsonl, compressed", zstd(plain(F::Jsonl, IdType::I32))),
        ("plain", raw(Layout::Plain)),
        ("nanogpt", raw(Layout::Nanogpt)),
        ("llm.c", raw(Layout::LlmC)),
        ("datatrove", raw(Layout::Datatrove)),
        ("olmo", raw(Layout::Olmo)),
    ];
    made.into_iter().map(|(name, (format, context))| (name, format, context)).collect()
}

#[test]
fn bytes_do_not_depend_on_how_many_rows_come_at_a_time() {
    // Ids that do not compress.
    let mut state = 1_u32;
    let mut many: Vec<EpochRow> = (0..1500).flat_map(|_| rows()).collect();
    for id in many.iter_mut().flat_map(|row| &mut row.ids) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *id = state >> 16;
    }
    for (name, format, context) in every_format() {
        let context = with_spec(context, |spec| spec.shard_bytes = 20_000);
        let written = [1, 37, 1000, 5000].map(|piece| {
            let dir = tempfile::tempdir().unwrap();
            write(format, context.clone(), dir.path(), &many, piece)
        });
        assert!(written[0].len() > 2, "{name} has several shards");
        assert!(written.iter().all(|files| *files == written[0]), "{name}");
    }
}
