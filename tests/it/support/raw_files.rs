//! Table files and logs of RocksDB, read without RocksDB: every entry of every one that lies there, live or not, hidden by
//! newer ones or deleted. The layout is that of block-based tables of format version 6
//! (table/format.cc, table/block_based/block.cc, db/log_format.h of RocksDB).

use crate::support::paths_below;
use std::io::Read;
use std::path::Path;

const MAGIC: u64 = 0x88e2_41b7_85f4_cff7;
const FOOTER: usize = 53;
/// The type of compression and a checksum stand behind every block.
const TRAILER: usize = 5;
const ZSTD_FRAME: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What all tables and logs below a directory hold: the name of each, with the bytes of its entries, and behind these what
/// the zstd frames among them spell.
pub fn raw_files(root: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for path in paths_below(root) {
        let read = match path.extension().and_then(|end| end.to_str()) {
            Some("sst") => table(&std::fs::read(&path).unwrap()),
            Some("log") => log(&std::fs::read(&path).unwrap()),
            _ => continue,
        };
        let name = path.strip_prefix(root).unwrap().display().to_string();
        found.push((name, with_frames(read)));
    }
    found
}

/// All bytes, and behind them what is compressed among them.
fn with_frames(mut bytes: Vec<u8>) -> Vec<u8> {
    let starts = bytes.windows(4).enumerate().filter(|(_, four)| *four == ZSTD_FRAME);
    let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
    for start in starts {
        let mut text = Vec::new();
        // One that needs a dictionary, or only looks like a frame, spells nothing.
        let frame = zstd::Decoder::new(&bytes[start..]);
        if frame.is_ok_and(|frame| frame.single_frame().read_to_end(&mut text).is_ok()) {
            bytes.push(b'\n');
            bytes.extend(text);
        }
    }
    bytes
}

struct Cursor<'b>(&'b [u8]);

impl Cursor<'_> {
    fn varint(&mut self) -> usize {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.0[0];
            self.0 = &self.0[1..];
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return value;
            }
            shift += 7;
        }
    }

    fn take(&mut self, count: usize) -> &[u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    /// The place of a block: offset and size.
    fn handle(&mut self) -> (usize, usize) {
        (self.varint(), self.varint())
    }
}

fn u32_at(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize
}

/// The entries of a table's data blocks.
fn table(bytes: &[u8]) -> Vec<u8> {
    let footer = &bytes[bytes.len() - FOOTER..];
    assert_eq!(u64::from_le_bytes(footer[45..].try_into().unwrap()), MAGIC);
    assert!(u32_at(footer, 41) >= 6, "format version {}", u32_at(footer, 41));
    let size = u32_at(footer, 13);
    let metaindex = block(bytes, (bytes.len() - FOOTER - TRAILER - size, size));
    let named = |name: &str| {
        let entries = entries(&metaindex);
        let found = entries.into_iter().find(|(key, _)| key == name.as_bytes());
        found.map(|(_, handle)| block(bytes, Cursor(&handle).handle()))
    };
    let properties = entries(&named("rocksdb.properties").unwrap());
    let property = |name: &str| properties.iter().find(|(key, _)| key == name.as_bytes());
    let (_, kind) = property("rocksdb.block.based.table.index.type").unwrap();
    let mut handles = index(&named("rocksdb.index").unwrap());
    if u32_at(kind, 0) == 2 {
        // Of two levels: the first one leads to parts of the second.
        handles = handles.into_iter().flat_map(|part| index(&block(bytes, part))).collect();
    }
    let mut held = Vec::new();
    let mut count = 0;
    for handle in handles {
        for (key, value) in entries(&block(bytes, handle)) {
            held.extend(key);
            held.extend(value);
            held.push(b'\n');
            count += 1;
        }
    }
    let (_, expected) = property("rocksdb.num.entries").unwrap();
    let ranges = property("rocksdb.num.range-deletions").map_or(0, |(_, n)| Cursor(n).varint());
    assert_eq!(count + ranges, Cursor(expected).varint(), "entries of a table");
    held
}

/// A block as it was before compression.
fn block(bytes: &[u8], (offset, size): (usize, usize)) -> Vec<u8> {
    let stored = &bytes[offset..offset + size];
    let mut cursor = Cursor(stored);
    match bytes[offset + size] {
        0 => stored.to_vec(),
        4 => {
            let length = cursor.varint();
            lz4_flex::block::decompress(cursor.0, length).unwrap()
        }
        7 => {
            let length = cursor.varint();
            zstd::bulk::decompress(cursor.0, length).unwrap()
        }
        other => panic!("compression {other}"),
    }
}

/// Where the entries of a block end: before its restarts, and the hash index of some.
fn end_of_entries(block: &[u8]) -> usize {
    let last = u32_at(block, block.len() - 4);
    let mut end = block.len() - 4;
    if last >> 31 == 1 {
        let buckets = u16::from_le_bytes(block[end - 2..end].try_into().unwrap());
        end -= 2 + usize::from(buckets);
    }
    end - (last & 0x0fff_ffff) * 4
}

/// Keys and values of a block.
fn entries(block: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut cursor = Cursor(&block[..end_of_entries(block)]);
    let (mut found, mut key) = (Vec::new(), Vec::new());
    while !cursor.0.is_empty() {
        let (shared, own, length) = (cursor.varint(), cursor.varint(), cursor.varint());
        key.truncate(shared);
        key.extend_from_slice(cursor.take(own));
        found.push((key.clone(), cursor.take(length).to_vec()));
    }
    found
}

/// The places that an index block leads to: values without a length, each whole.
fn index(block: &[u8]) -> Vec<(usize, usize)> {
    let mut cursor = Cursor(&block[..end_of_entries(block)]);
    let mut found = Vec::new();
    while !cursor.0.is_empty() {
        let (shared, own) = (cursor.varint(), cursor.varint());
        assert_eq!(shared, 0, "an index entry that is a difference");
        cursor.take(own);
        found.push(cursor.handle());
    }
    found
}

/// What the records of a log hold, put together again.
fn log(bytes: &[u8]) -> Vec<u8> {
    let mut held = Vec::new();
    for part in bytes.chunks(1 << 15) {
        let mut rest = part;
        while rest.len() >= 7 {
            let length = usize::from(u16::from_le_bytes([rest[4], rest[5]]));
            // Records of logs that are used again have the number of theirs, too.
            let head = if (5..=8).contains(&rest[6]) { 11 } else { 7 };
            if rest[6] == 0 || rest.len() < head + length {
                break;
            }
            held.extend_from_slice(&rest[head..head + length]);
            rest = &rest[head + length..];
        }
    }
    held
}
