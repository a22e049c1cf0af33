//! Bytes against the reference writers: tests/formats/epochs holds what they made of the same rows.

use super::*;
use crate::epoch::pack::Segment;
use crate::epoch::recipe::{Format as F, Unit};
use crate::epoch::views::Shape;
use crate::model::DocId;
use std::fs;

fn segment(document: u64, offset: u32, length: u32, document_length: u32) -> Segment {
    Segment { document: DocId(document), offset, length, document_length }
}

/// A row of segments end to end, pads after them.
fn row(source: usize, ids: Vec<u32>, segments: Vec<Segment>) -> FilledRow {
    let lengths: Vec<u32> = segments.iter().map(|segment| segment.length).collect();
    FilledRow {
        source,
        real: lengths.iter().sum::<u32>() as usize,
        shape: Shape::packed(lengths, ids.len() as u32),
        repeated: 0,
        ids,
        segments,
        trained: None,
        batch: None,
    }
}

/// The rows of tests/formats/epochs/make.py.
fn rows() -> Vec<FilledRow> {
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

/// The same tokens unpacked.
fn unpacked() -> Vec<FilledRow> {
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

fn options(dir: &Path, format: F, width: Width) -> Options {
    Options {
        dir: dir.to_path_buf(),
        sources: vec!["a".to_owned(), "b".to_owned()],
        width,
        format,
        compression: Compression::None,
        vocab: 50_257,
        tokenizer: "gpt2".to_owned(),
        unpacked: false,
        plan: "0123456789abcdef0123".to_owned(),
        columns: recipe::OutputRecipe { format, ..recipe::OutputRecipe::default() }
            .columns(false, false),
        said: false,
        ignore_loss: false,
    }
}

/// Writes `rows` in pieces of `piece` rows.
fn write(
    format: impl ShardFormat + 'static,
    shard_bytes: u64,
    rows: &[FilledRow],
    piece: usize,
) -> Vec<ManifestFile> {
    let mut shards =
        Shards::new(Box::new(format), shard_bytes, Unit::Tokens, ExportCounts::new(2), Vec::new());
    for rows in rows.chunks(piece) {
        shards.write(rows.to_vec(), |_| (), |_| Ok(())).unwrap();
    }
    shards.finish(|_| Ok(())).unwrap().files
}

fn golden(name: &str) -> Vec<u8> {
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
    for (width, name) in [(Width::U16, "u16"), (Width::I32, "i32")] {
        let dir = tempfile::tempdir().unwrap();
        write(megatron::format(options(dir.path(), F::Megatron, width)), 4096, &rows(), 3);
        same(dir.path(), "shard-00000.bin", &format!("megatron/{name}.bin"));
        same(dir.path(), "shard-00000.idx", &format!("megatron/{name}.idx"));
    }
    let dir = tempfile::tempdir().unwrap();
    let options = Options { unpacked: true, ..options(dir.path(), F::Megatron, Width::U16) };
    write(megatron::format(options), 4096, &unpacked(), 2);
    same(dir.path(), "shard-00000.bin", "megatron/unpacked.bin");
    same(dir.path(), "shard-00000.idx", "megatron/unpacked.idx");
}

#[test]
fn mds_is_that_of_mds_writer() {
    let dir = tempfile::tempdir().unwrap();
    write(mds::format(options(dir.path(), F::Mds, Width::I32), 4096), 4096, &rows(), 3);
    same(dir.path(), "shard.00000.mds", "mds/shard.00000.mds");
    same(dir.path(), "index.json", "mds/index.json");
    // Two of these samples fit this limit and the third begins a shard.
    let dir = tempfile::tempdir().unwrap();
    write(mds::format(options(dir.path(), F::Mds, Width::I32), 500), 500, &rows(), 3);
    for name in ["shard.00000.mds", "shard.00001.mds", "index.json"] {
        same(dir.path(), name, &format!("mds-split/{name}"));
    }
}

/// Ids had four bytes and shards were as they are, whatever was asked for.
#[test]
fn mds_has_narrow_ids_and_compressed_shards_as_mds_writer_has() {
    let dir = tempfile::tempdir().unwrap();
    let narrow = Options {
        compression: Compression::Zstd,
        columns: vec![Column::Labels, Column::PositionIds],
        ..options(dir.path(), F::Mds, Width::U16)
    };
    write(mds::format(narrow, 4096), 4096, &rows(), 3);
    same(dir.path(), "index.json", "mds-narrow/index.json");
    same(dir.path(), "shard.00000.mds.zstd", "mds-narrow/shard.00000.mds.zstd");
}

#[test]
fn litdata_is_that_of_binary_writer() {
    for (width, name) in [(Width::U16, "u16"), (Width::I32, "i32")] {
        let dir = tempfile::tempdir().unwrap();
        write(litdata::format(options(dir.path(), F::Litdata, width), 4096), 4096, &rows(), 3);
        same(dir.path(), "chunk-0-0.bin", &format!("litdata-{name}/chunk-0-0.bin"));
        let json =
            |bytes: Vec<u8>| -> serde_json::Value { serde_json::from_slice(&bytes).unwrap() };
        let mut theirs = json(golden(&format!("litdata-{name}/index.json")));
        // The time, where ours is the plan.
        theirs["updated_at"] = "0123456789abcdef0123".into();
        let ours = fs::read(dir.path().join("index.json")).unwrap();
        assert_eq!(String::from_utf8(ours).unwrap(), json::python(&theirs));
    }
}

#[test]
fn datatrove_is_that_of_tokenized_file() {
    for (width, name) in [(Width::U16, "u16"), (Width::U32, "u32")] {
        let dir = tempfile::tempdir().unwrap();
        write(datatrove::format(options(dir.path(), F::Raw, width)), 4096, &rows(), 3);
        for file in ["ds", "ds.index", "ds.metadata"] {
            let file = format!("00000_unshuffled.{file}");
            same(dir.path(), &file, &format!("datatrove-{name}/{file}"));
        }
    }
}

#[test]
fn bare_ids_are_those_of_numpy() {
    for (width, name) in [(Width::U16, "flat/u16.bin"), (Width::U32, "flat/u32.bin")] {
        let dir = tempfile::tempdir().unwrap();
        write(raw::format(options(dir.path(), F::Raw, width)), 4096, &rows(), 3);
        same(dir.path(), "shard-00000.bin", name);
        write(olmo::format(options(dir.path(), F::Raw, width)), 4096, &rows(), 3);
        same(dir.path(), "part-0-00000.npy", name);
    }
    let dir = tempfile::tempdir().unwrap();
    write(llmc::format(options(dir.path(), F::Raw, Width::U16)), 4096, &rows(), 3);
    same(dir.path(), "shard-00000.bin", "flat/llmc.bin");
}

#[test]
fn arrow_directories_describe_themselves_as_datasets_does() {
    let dir = tempfile::tempdir().unwrap();
    write(arrow::format(options(dir.path(), F::Arrow, Width::I32)), 4096, &rows(), 3);
    same(dir.path(), "state.json", "arrow/state.json");
    same(dir.path(), "dataset_info.json", "arrow/dataset_info.json");
    // The encoding of its messages is free; the batches are the same.
    let read = |bytes: Vec<u8>| {
        let reader = arrow_ipc::reader::StreamReader::try_new(std::io::Cursor::new(bytes), None);
        let mut reader = reader.unwrap();
        (reader.schema(), reader.next().unwrap().unwrap(), reader.next().is_none())
    };
    // It gets its last name with all others.
    let name = "data-00000-of-00001.arrow";
    let ours = fs::read(dir.path().join("data-00000.arrow")).unwrap();
    assert_eq!(read(ours), read(golden(&format!("arrow/{name}"))));
}

#[test]
fn bytes_do_not_depend_on_how_many_rows_come_at_a_time() {
    // Ids that do not compress.
    let mut state = 1_u32;
    let mut many: Vec<FilledRow> = (0..1500).flat_map(|_| rows()).collect();
    for id in many.iter_mut().flat_map(|row| &mut row.ids) {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        *id = state >> 16;
    }
    type Make = fn(&Path) -> Box<dyn ShardFormat>;
    let make: [(&str, Make); 6] = [
        ("megatron", |dir| Box::new(megatron::format(options(dir, F::Megatron, Width::U16)))),
        ("parquet", |dir| Box::new(parquet::format(options(dir, F::Parquet, Width::I32)))),
        ("arrow", |dir| Box::new(arrow::format(options(dir, F::Arrow, Width::I32)))),
        ("mds", |dir| Box::new(mds::format(options(dir, F::Mds, Width::I32), 20_000))),
        ("jsonl", |dir| {
            let options = options(dir, F::Jsonl, Width::I32);
            Box::new(jsonl::format(Options { compression: Compression::Zstd, ..options }))
        }),
        ("olmo", |dir| Box::new(olmo::format(options(dir, F::Raw, Width::U16)))),
    ];
    for (name, format) in make {
        let written = [1, 37, 1000, 5000].map(|piece| {
            let dir = tempfile::tempdir().unwrap();
            let counts = ExportCounts::new(2);
            let mut shards =
                Shards::new(format(dir.path()), 20_000, Unit::Tokens, counts, Vec::new());
            for rows in many.chunks(piece) {
                shards.write(rows.to_vec(), |_| (), |_| Ok(())).unwrap();
            }
            let finished = shards.finish(|_| Ok(())).unwrap();
            (finished.files, finished.counts)
        });
        assert!(written[0].0.len() > 2, "{name} has several shards");
        assert!(written.iter().all(|files| *files == written[0]), "{name}");
    }
}
