//! Reads RocksDB's record format, of its logs and list of tables, to tell whether a file is whole and its reader ends.
//!
//! ```text
//! file  := block*         of 32 KiB; less than a header at the end of one is padding
//! block := record*        checksum u32, length u16, type u8, bytes; within the block
//! ```
//!
//! A log that is gone, cut or empty has, for all RocksDB knows, never held more, and what it takes for a record that
//! was being written is the end. So a file is read here up to where it is known to go. A type of a recycled log, which
//! none of ours is, has its reader repeat itself for ever: such a file is refused before RocksDB sees it.
//!
//! Source: the page `Write Ahead Log File Format` of RocksDB's wiki, and its `db/log_format.h`.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::ops::{Range, RangeInclusive};
use std::path::Path;

/// Bytes of a block; no record crosses its end.
pub(crate) const BLOCK: u64 = 32 << 10;
/// Bytes of a record's header: checksum u32, length u16, type u8.
const HEADER: usize = 7;
/// Where in the header the type is.
const TYPE: u64 = 6;
/// A whole record, a first, a middle and a last part of one: all that a log has which is not recycled.
const TYPES: RangeInclusive<u8> = 1..=4;

/// What became of a file of records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RecordDamage {
    Gone,
    Short(u64),
    /// Where what is there is no record.
    Hole(u64),
    /// Where the record begins whose type or bytes are not what was written.
    Altered(u64),
}

impl RecordDamage {
    /// In words, of a file that had `end` bytes.
    pub(crate) fn words(&self, end: u64) -> String {
        match self {
            Self::Gone => "is gone".to_owned(),
            Self::Short(found) => format!("has {found} bytes of {end}"),
            Self::Hole(at) => format!("has a hole at byte {at} of {end}"),
            Self::Altered(at) => {
                format!("has other bytes than were written in its record at byte {at} of {end}")
            }
        }
    }
}

/// How much of a file is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogScan {
    /// Headers of records: RocksDB proves what they enclose.
    Headers,
    /// All bytes of the file.
    Bytes,
}

/// What is wrong with a file that has records up to `end` at least.
pub(crate) fn damage(
    path: &Path,
    end: u64,
    reading: LogScan,
) -> std::io::Result<Option<RecordDamage>> {
    damage_between(path, 0..end, reading)
}

/// The damage, as [`damage`] finds it, behind a place where a record begins.
pub(crate) fn damage_between(
    path: &Path,
    Range { start, end }: Range<u64>,
    reading: LogScan,
) -> std::io::Result<Option<RecordDamage>> {
    if end == 0 {
        return Ok(None);
    }
    let mut records = match LogRecords::open(path) {
        Ok(records) => records,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Some(RecordDamage::Gone)),
        Err(error) => return Err(error),
    };
    if records.length < end {
        return Ok(Some(RecordDamage::Short(records.length)));
    }
    records.go_to(start)?;
    while records.at < end {
        let Some(record) = records.header()? else { break };
        // What RocksDB takes for the end of a log, or passes over, is a header of zeros or one that reaches beyond
        // its block.
        if record.kind == 0 || !record.fits() || record.end() > end {
            return Ok(Some(RecordDamage::Hole(record.at)));
        }
        let is_altered = !TYPES.contains(&record.kind)
            || match reading {
                LogScan::Headers => {
                    records.pass(&record)?;
                    false
                }
                LogScan::Bytes => {
                    checksum(record.kind, &records.bytes(&record)?) != record.checksum
                }
            };
        if is_altered {
            return Ok(Some(RecordDamage::Altered(record.at)));
        }
    }
    // A header that the end of the file cuts.
    Ok((records.at < end).then_some(RecordDamage::Hole(records.at)))
}

/// Where the first record is that has RocksDB's reader repeat itself, wherever in the file, and how long that is; `None`
/// also of a file that is not there.
pub(crate) fn endless(path: &Path) -> std::io::Result<Option<(RecordDamage, u64)>> {
    let mut records = match LogRecords::open(path) {
        Ok(records) => records,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(records.foreign()?.map(|record| (RecordDamage::Altered(record.at), records.length)))
}

/// Writes again the types of records that have RocksDB's reader repeat itself: the one that fits the checksum, else one
/// that it passes over.
pub(crate) fn restore_types(path: &Path) -> std::io::Result<()> {
    let mut records = LogRecords::open(path)?;
    let mut types = Vec::new();
    while let Some(record) = records.foreign()? {
        let bytes = records.bytes(&record)?;
        let found = TYPES.into_iter().find(|kind| checksum(*kind, &bytes) == record.checksum);
        types.push((record.at + TYPE, found.unwrap_or(0)));
    }
    if types.is_empty() {
        return Ok(());
    }
    let mut file = File::options().write(true).open(path)?;
    for (at, kind) in types {
        file.seek(SeekFrom::Start(at))?;
        file.write_all(&[kind])?;
    }
    Ok(())
}

/// The header of a record, as it was found.
struct RecordHeader {
    at: u64,
    checksum: u32,
    length: u64,
    kind: u8,
}

impl RecordHeader {
    const fn end(&self) -> u64 {
        self.at + HEADER as u64 + self.length
    }

    /// Whether it is within its block.
    const fn fits(&self) -> bool {
        HEADER as u64 + self.length <= BLOCK - self.at % BLOCK
    }
}

/// The records of a file, read in order.
struct LogRecords {
    file: BufReader<File>,
    length: u64,
    at: u64,
}

impl LogRecords {
    fn open(path: &Path) -> std::io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self { file: BufReader::with_capacity(1 << 16, file), length, at: 0 })
    }

    fn go_to(&mut self, at: u64) -> std::io::Result<()> {
        self.at = at;
        self.file.seek(SeekFrom::Start(at)).map(drop)
    }

    /// The header of the next record, beyond padding; none where the file ends before it does.
    fn header(&mut self) -> std::io::Result<Option<RecordHeader>> {
        let left = BLOCK - self.at % BLOCK;
        if left < HEADER as u64 {
            self.file.seek_relative(left.cast_signed())?;
            self.at += left;
        }
        let mut header = [0; HEADER];
        match self.file.read_exact(&mut header) {
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
            read => read?,
        }
        let [a, b, c, d, low, high, kind] = header;
        let (checksum, length) =
            (u32::from_le_bytes([a, b, c, d]), u16::from_le_bytes([low, high]));
        Ok(Some(RecordHeader { at: self.at, checksum, length: length.into(), kind }))
    }

    /// Goes behind a record.
    fn pass(&mut self, record: &RecordHeader) -> std::io::Result<()> {
        self.file.seek_relative(record.length.cast_signed())?;
        self.at = record.end();
        Ok(())
    }

    /// What a record holds, fewer bytes where the file ends before; goes behind it.
    fn bytes(&mut self, record: &RecordHeader) -> std::io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file.by_ref().take(record.length).read_to_end(&mut bytes)?;
        self.at = record.end();
        Ok(bytes)
    }

    /// The next record of a type that no log of ours has. RocksDB goes on at the next block where a header is none.
    fn foreign(&mut self) -> std::io::Result<Option<RecordHeader>> {
        while let Some(record) = self.header()? {
            if record.kind > *TYPES.end() {
                return Ok(Some(record));
            }
            if record.kind == 0 || !record.fits() {
                self.go_to(record.at - record.at % BLOCK + BLOCK)?;
            } else {
                self.pass(&record)?;
            }
        }
        Ok(None)
    }
}

/// CRC-32C of a record's type and bytes, turned and shifted as RocksDB stores it. Bit by bit: it is reckoned only where
/// a file is searched for that is known to be damaged.
fn checksum(kind: u8, payload: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    const MASK: u32 = 0xa282_ead8;
    let mut crc = u32::MAX;
    for byte in std::iter::once(&kind).chain(payload) {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            let low = if crc & 1 == 1 { POLYNOMIAL } else { 0 };
            crc = crc >> 1 ^ low;
        }
    }
    (!crc).rotate_right(15).wrapping_add(MASK)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A log of three records; the second one ends 5 bytes before its block does.
    fn log() -> Vec<u8> {
        let mut bytes = Vec::new();
        for length in [100, BLOCK as usize - 107 - 7 - 5, 300] {
            if bytes.len() as u64 % BLOCK > BLOCK - 7 {
                bytes.resize(BLOCK as usize, 0);
            }
            bytes.extend(checksum(1, &vec![7; length]).to_le_bytes());
            bytes.extend((length as u16).to_le_bytes());
            bytes.push(1);
            bytes.extend(vec![7; length]);
        }
        bytes
    }

    #[test]
    fn a_log_is_whole_or_cut_or_has_a_hole() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("000009.log");
        let whole = log();
        let end = whole.len() as u64;
        let found = |bytes: &[u8], end: u64| {
            std::fs::write(&path, bytes).unwrap();
            damage(&path, end, LogScan::Headers).unwrap()
        };
        assert_eq!(damage(&path, 1, LogScan::Headers).unwrap(), Some(RecordDamage::Gone));
        assert_eq!(found(&whole, end), None);
        assert_eq!(damage(&path, end, LogScan::Bytes).unwrap(), None);
        assert_eq!(
            found(&[&whole[..], b"torn"].concat(), end),
            None,
            "what follows is not claimed"
        );
        assert_eq!(found(&whole[..whole.len() - 1], end), Some(RecordDamage::Short(end - 1)));
        assert_eq!(found(&[], end), Some(RecordDamage::Short(0)));
        assert_eq!(found(&vec![0; whole.len()], end), Some(RecordDamage::Hole(0)));
        let mut zeroed = whole.clone();
        zeroed[107..].fill(0);
        assert_eq!(found(&zeroed, end), Some(RecordDamage::Hole(107)));
        // A length with a flipped bit: RocksDB takes the record for one that was being written.
        let mut flipped = whole;
        flipped[BLOCK as usize + 5] ^= 0x40;
        assert_eq!(found(&flipped, end), Some(RecordDamage::Hole(BLOCK)));
    }

    #[test]
    fn types_of_recycled_logs_are_seen_and_written_again() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("000009.log");
        let whole = log();
        let end = whole.len() as u64;
        for at in [0, 107, BLOCK as usize] {
            for kind in 5..=u8::MAX {
                let mut bytes = whole.clone();
                bytes[at + 6] = kind;
                std::fs::write(&path, bytes).unwrap();
                let altered = RecordDamage::Altered(at as u64);
                assert_eq!(damage(&path, end, LogScan::Headers).unwrap(), Some(altered.clone()));
                assert_eq!(endless(&path).unwrap(), Some((altered, end)));
                restore_types(&path).unwrap();
                assert_eq!(std::fs::read(&path).unwrap(), whole, "{kind} at {at}");
                assert_eq!(endless(&path).unwrap(), None);
            }
        }
        // Whose bytes are others, too, is passed over; the records behind it stay.
        let mut bytes = whole.clone();
        bytes[6] = 5;
        bytes[50] ^= 1;
        std::fs::write(&path, &bytes).unwrap();
        restore_types(&path).unwrap();
        bytes[6] = 0;
        assert_eq!(std::fs::read(&path).unwrap(), bytes);
        // Behind a length that is none, RocksDB goes on at the next block.
        bytes[5] = 0xff;
        bytes[BLOCK as usize + 6] = 8;
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(endless(&path).unwrap(), Some((RecordDamage::Altered(BLOCK), end)));
    }
}
