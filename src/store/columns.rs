//! The column families, declared once: this table feeds opening, tuning, check, statistics and
//! docs/reference/format.md.

use crate::model::{DocId, Match, Sightings, SuiteGram, SuiteVerdict};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::header::Header;
use crate::store::rows::keys::Key;
use crate::store::rows::records::{CommitRecord, FileRecord, RejectRecord};
use crate::store::rows::values::ColumnValues;
use crate::store::rows::{
    band_firsts, band_runs, bitmap, codec, ids, keys, loss, matches, meta, named, plain, removals,
    sightings, suites, terms, texts, verdicts,
};
use roaring::RoaringBitmap;

/// One column family: a unit struct whose doc gives key, value, writer and readers.
pub trait Column {
    /// Name on disk; never renamed.
    const NAME: &'static str;
    /// Its key.
    type Key: Key;
    /// Its value, decoded: one type, or an enum where the key says which row it is.
    type Value<'v>;

    /// Reads the value of the row of `key`. The one decoder of the family: readers go through it, and `check`
    /// asks it about every row.
    ///
    /// # Errors
    /// `Malformed` with the offset where the bytes stop making sense.
    fn decode<'v>(key: &Self::Key, value: &'v [u8]) -> Result<Self::Value<'v>, Malformed>;
}

/// What is done with every family.
pub(super) trait EachColumn {
    /// Does it with one.
    fn column<C: Column>(&mut self);
}

/// How a family is used, which decides its tuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Few small rows.
    Small,
    /// Rows in id order, scanned in ranges and looked up by existing id.
    Dense,
    /// As `Dense`, with values that are compressed or random already.
    DensePacked,
    /// Point look-ups by hash, mostly misses.
    Hashed,
    /// As `Hashed`, with many small rows, read by a writer that has its own filter, and in whole by scans.
    Buckets,
    /// Ranges under a fixed-width prefix.
    Ranged,
    /// Block values changed by merge operands.
    Bitmaps,
    /// Block values changed by merge operands.
    Numbers,
}

/// One row of the table of families.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Name on disk.
    pub name: &'static str,
    /// How it is used.
    pub shape: Shape,
    /// Its key, in words.
    pub key: &'static str,
    /// Its value, in words.
    pub value: &'static str,
}

macro_rules! columns {
    ($($(#[$doc:meta])* $name:ident = $label:literal, $shape:ident, $key:ty, $key_doc:literal => $value:ty, $decode:expr, $value_doc:literal;)*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;
        impl Column for $name {
            const NAME: &'static str = $label;
            type Key = $key;
            type Value<'v> = $value;
            fn decode<'v>(key: &$key, value: &'v [u8]) -> Result<$value, Malformed> {
                let decode: fn(&$key, &'v [u8]) -> Result<$value, Malformed> = $decode;
                decode(key, value)
            }
        })*

        /// Calls [`EachColumn::column`] with every family, in the order of docs/FORMAT.md.
        pub(super) fn for_each_column(each: &mut impl EachColumn) {
            $(each.column::<$name>();)*
        }

        /// Every column family, in the order of docs/reference/format.md.
        pub const FAMILIES: &[Family] = &[
            $(Family { name: $label, shape: Shape::$shape, key: $key_doc, value: $value_doc }),*
        ];
    };
}

columns! {
    /// Format version, charter (policy, fields), state. Written by every commit.
    Meta = "meta", Small, meta::MetaKey, "name" => meta::MetaRow<'v>, meta::MetaRow::decode, "`format`: u32 LE and the release that wrote it; `charter`: policy and declared fields; `state`: high-water marks and counters; `redo`: a re-decision under way (records); `template HASH`: a chat template, verbatim; `chat COMMIT` (20 digits): HASH of the template that wrote its texts, a space, the values it could name in JSON; `field ID` (5 digits): record of a field that was added, is being filled, or is going; `overtaken SOURCE FILE BY` (10 digits each), empty: records of file BY superseded documents of FILE since FILE was last read from its start";
    /// The audit log. Written by every commit; read by queries and check.
    Commits = "commits", Small, keys::CommitKey, "commit u64" => CommitRecord, |_, bytes| codec::decode(bytes), "record: what the commit did";
    /// Which documents were removed, restored and purged by a commit. Written by these; read by queries and `purge`.
    Removals = "removals", Small, keys::RemovalKey, "commit u64, part u8" => removals::RemovalRow, removals::RemovalRow::decode, "part 0: the documents it was about, roaring treemap; 1: what is left to know of those it purged, see below; 2, while a purge has not ended: u8 (what is blocked: 0 nothing, 1 equal texts and keys, 2 also normalised texts, 3 also similar ones), all its documents, roaring treemap";
    /// Sources with counters, and the paths of their files.
    Sources = "sources", Small, keys::SourceKey, "source u32, file u32" => named::SourceRow<'v>, named::source, "file 0: record of the source with its counters; else the file's absolute path";
    /// What was read of each file. Written by ingest, read by the next one.
    Files = "files", Small, keys::FileKey, "source u32, path bytes" => FileRecord, |_, bytes| codec::decode(bytes), "record: size, mtime, resume point";
    /// Tokenizers with their files.
    Tokenizers = "tokenizers", Small, keys::TokenizerKey, "tokenizer u16, part u8" => named::TokenizerRow<'v>, named::tokenizer, "part 0: record; 1: `tokenizer.json`; 2: how it was made, JSON; from 16: the files it was made of, verbatim";
    /// Named snapshots and the kept bitmap each one pins.
    Snapshots = "snapshots", Small, keys::NameKey, "name" => named::SnapshotRow, named::snapshot, "`NAME`: record; `NAME` 0x00 `kept`: roaring treemap, portable 64-bit format";
    /// Epoch plans, the selections they pin, and marks along their epochs.
    Epochs = "epochs", Small, keys::NameKey, "name" => named::EpochRow<'v>, named::epoch, "`NUMBER` (10 digits): record; `NUMBER` 0x00 `SOURCE`: the documents of its passes (below); `NUMBER` 0x00 0x00 `marks` 0x00 `EPOCH` (20 digits): marks along the epoch (below)";
    /// Records that could not be read. Written by ingest, read by `rejects`.
    Rejects = "rejects", Hashed, keys::IdentityKey, "blake3-128 of source, path, number, raw bytes" => RejectRecord, |_, bytes| codec::decode(bytes), "record: reason, position, raw bytes";
    /// zstd dictionaries of the texts. Never deleted while a text uses one.
    Dictionaries = "dicts", Small, keys::NumberKey, "dictionary u32" => &'v [u8], |_, bytes| texts::decode_dictionary(bytes), "zstd dictionary";
    /// Document headers. Standing is not here: it lives in postings and matches.
    Documents = "documents", Dense, keys::DocumentKey, "document u64" => Header, |_, bytes| Header::decode(bytes), "header: hand-packed, see below";
    /// The user's other fields.
    Metadata = "metadata", Dense, keys::DocumentKey, "document u64" => &'v str, |_, bytes| plain::metadata(bytes), "one JSON object, as the user spelled it; absent for `{}`";
    /// Texts, compressed by us; absent where `text_of` names the owner.
    Texts = "texts", DensePacked, keys::DocumentKey, "document u64" => texts::StoredText<'v>, |_, bytes| texts::StoredText::read(bytes), "format u8, dictionary u16 LE, length u32 LE, zstd frame";
    /// Token ids of every document that is or was kept.
    Tokens = "tokens", DensePacked, keys::TokensKey, "tokenizer u16, document u64" => &'v [u8], |_, bytes| plain::tokens(bytes), "ids: u16 LE if the vocabulary has <= 65,536 ids, else u32 LE";
    /// What of a document is trained on. Written with its ids; read by epochs, `show` and check.
    Loss = "loss", Dense, keys::TokensKey, "tokenizer u16, document u64" => loss::LossRow, loss::LossRow::decode, "format u8 = 1, then spans of trained ids: start u32, end u32, weight f32, LE; tokenizer 0xffff: how the text is encoded, see below";
    /// Numeric columns: lengths, counts, term of each document, declared numbers.
    Columns = "columns", Numbers, keys::ColumnKey, "column u16, block u48" => ColumnValues<'v>, |_, bytes| ColumnValues::read(bytes), "up to 65,536 integers with nulls, min and max; merge operand: patch";
    /// Interned (field, value) pairs, both directions.
    Terms = "terms", Small, keys::TermKey, "0, field u16, value bytes; 1, term u32" => terms::TermRow, terms::TermRow::decode, "term u32 BE; field u16 BE, value bytes";
    /// Bitmaps: which documents of a block have a term.
    Postings = "postings", Bitmaps, keys::PostingKey, "term u32, block u48" => RoaringBitmap, |_, bytes| bitmap::decode(bytes), "roaring of one block (u16 list when <= 7); merge operand: (clear, set)";
    /// Best-ranked eligible document of each text.
    Exact = "exact", Hashed, keys::ExactKey, "generation u32, kind u8 (0 raw, 1 normalised), blake3-128 (in scope per source its first 4 bytes xor source u32 LE)" => DocId, |_, bytes| ids::decode_document(bytes), "document u64 BE";
    /// What the user's removals block. Written by `remove` and `restore`, read by ingest.
    Blocks = "blocks", Small, keys::BlockKey, "kind u8 (0 raw text, 1 identity, 2 normalised text, 3 four slots of the sketch), 16 bytes of hash" => Vec<DocId>, |_, bytes| ids::decode_documents(bytes), "removed documents, u64 BE each, ascending";
    /// Sketches of documents that store their own text.
    Sketches = "sketches", DensePacked, keys::DocumentKey, "document u64" => &'v [u8], |_, bytes| plain::sketch(bytes), "256 slots of 8 bits; with the signature `bigcode` u32 LE each";
    /// First member of each band bucket.
    Bands = "bands", Buckets, keys::BandKey, "generation u32, band u8, hash u40" => (DocId, bool), |_, bytes| band_firsts::decode_first(bytes), "document u40 BE; a sixth byte 1 when `bands_more` has further members";
    /// Further members of band buckets.
    BandsMore = "bands_more", Ranged, keys::BandMemberKey, "generation u32, band u8, hash u40, document u64" => (), |_, bytes| meta::empty(bytes), "empty";
    /// Entries of large commits, until they are folded into `bands` and `bands_more`; and counters of the index.
    BandRuns = "band_runs", DensePacked, keys::BandRunKey, "commit u64, part u32" => band_runs::BandRunRow, band_runs::BandRunRow::decode, "run: hand-packed, see below; commit 0: counters";
    /// Why a document is not kept; the newest row of a document counts.
    Matches = "matches", Ranged, keys::MatchKey, "generation u32, removed u64, commit u64" => Option<Match>, |_, bytes| matches::decode_match(bytes), "kind u8 (0: no longer), witness u64, shared u32, shingles u32 of both, LE";
    /// The documents a witness removed; the newest row of a pair counts.
    Members = "members", Ranged, keys::MemberKey, "generation u32, witness u64, removed u64, commit u64" => bool, |_, bytes| matches::decode_member(bytes), "u8: 1 joined, 0 left";
    /// The roots of documents that took the place of others. Written with decisions, read by holdouts.
    Lineage = "lineage", Ranged, keys::LineageKey, "generation u32, document u64, commit u64, root u64" => (), |_, bytes| meta::empty(bytes), "empty";
    /// Identity of records: re-ingest is idempotent.
    Keys = "keys", Hashed, keys::IdentityKey, "blake3-128 of source and key" => DocId, |_, bytes| ids::decode_document(bytes), "document u64 BE";
    /// Suites of evaluation items. Written by `contamination add`, read by reports and by whoever shows an item.
    Suites = "suites", Dense, keys::SuiteKey, "suite u32, row u32" => suites::SuiteRow, suites::SuiteRow::decode, "row 0: record; else an item, counted from 1: record of its id, question, answer and passage";
    /// The n-grams of suites. Written with them, held in memory by ingests and reports.
    SuiteGrams = "suite_ngrams", Dense, keys::SuiteGramKey, "suite u32, hash u64" => SuiteGram, |_, bytes| suites::decode_gram(bytes), "n-gram or short questions: hand-packed, see below";
    /// What texts have of suites. Written by ingest and `contamination add`, read by the table `contamination`.
    Contamination = "contamination", Dense, keys::ContaminationKey, "suite u32, document u64" => Sightings, |_, bytes| sightings::decode(bytes), "runs of n-grams and whole items: hand-packed, see below";
    /// What people decided about items and texts. Written by `contamination review`, read by whoever tells evidence.
    Verdicts = "verdicts", Small, keys::VerdictKey, "suite u32, blake3-128 of the text, item u32 counted from 0" => SuiteVerdict, |_, bytes| verdicts::decode(bytes), "u8: 0 rejected, 1 accepted";
}

/// The error for bytes of a family that do not decode.
pub(super) fn corrupt<C: Column>(
    what: &'static str,
    key: &[u8],
    malformed: Malformed,
) -> StoreError {
    StoreError::Corrupt {
        what,
        family: C::NAME,
        key: key.iter().map(|byte| format!("{byte:02x}")).collect(),
        offset: malformed.offset,
        why: malformed.why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct() {
        let mut names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), FAMILIES.len());
    }
}
