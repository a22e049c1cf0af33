//! The families of format 8 that format 9 does not have, and how their rows are read.

use super::text::{StoredText, decode_dictionary};
use crate::bytes::cursor::ByteCursor;
use crate::bytes::grid_rows::{DocumentPlace, DocumentPrint};
use crate::bytes::key::{DocumentKey, NumberKey};
use crate::bytes::record;
use crate::database::family::{FamilyInfo, StoreFamily, store_family};
use crate::documents::grid::{PlacePages, PrintPages, SketchPages};
use crate::documents::pages::{KeyPages, MetadataPages, TextPages};
use crate::error::DecodeError;
use crate::table::FAMILIES;
use bincode::Decode;
use model::{DocId, FileId, SourceId};

/// The format that is converted.
pub(crate) const FROM: u32 = 8;

/// The families that hold documents in pages.
const PAGES: [&str; 6] = [
    PlacePages::NAME,
    PrintPages::NAME,
    SketchPages::NAME,
    KeyPages::NAME,
    MetadataPages::NAME,
    TextPages::NAME,
];

/// Whether a family is of both formats.
pub(super) fn is_kept(family: &str) -> bool {
    !PAGES.contains(&family)
}

/// The families of format 8.
pub(super) fn old_families() -> Vec<FamilyInfo> {
    let kept = FAMILIES.iter().filter(|family| is_kept(family.name)).copied();
    let old =
        [Headers::INFO, OldTexts::INFO, Dictionaries::INFO, OldSketches::INFO, OldMetadata::INFO];
    kept.chain(old).collect()
}

/// The state of format 8.
#[derive(Decode)]
pub(super) struct OldState {
    pub(super) commit: u64,
    pub(super) documents: u64,
    pub(super) kept: u64,
    pub(super) generation: u32,
    pub(super) next_term: u32,
    pub(super) next_source: u32,
    pub(super) next_tokenizer: u16,
    _next_dictionary: u16,
    pub(super) next_epoch: u32,
    pub(super) rejects: u64,
}

impl OldState {
    pub(super) fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        record::decode(bytes)
    }
}

/// What a header of format 8 says that is not in columns, too.
pub struct Header {
    pub(super) place: DocumentPlace,
    pub(super) print: DocumentPrint,
    pub(super) key: Option<String>,
}

impl Header {
    const HAS_OWNER: u8 = 1;
    const HAS_KEY: u8 = 2;

    fn read(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut cursor = ByteCursor::new(bytes);
        let format = cursor.u8()?;
        if format != 1 {
            return Err(DecodeError::at(0, format!("header format {format}, not 1")));
        }
        let flags = cursor.u8()?;
        let (source, file) = (SourceId(cursor.varint_u32()?), FileId(cursor.varint_u32()?));
        let number = cursor.varint()?;
        // Commit, bytes and characters.
        for _ in 0..3 {
            cursor.varint()?;
        }
        let (words, shingles) = (cursor.varint_u32()?, cursor.varint_u32()?);
        let (raw, normalised, content) = (cursor.array()?, cursor.array()?, cursor.array()?);
        let text_of = match flags & Self::HAS_OWNER {
            0 => None,
            _ => Some(DocId(cursor.varint()?)),
        };
        let at = cursor.offset();
        let key = match flags & Self::HAS_KEY {
            0 => None,
            _ => Some(String::from_utf8(cursor.rest().to_vec()).map_err(|error| {
                DecodeError::at(at + error.utf8_error().valid_up_to(), "key is not UTF-8")
            })?),
        };
        cursor.end()?;
        let place = DocumentPlace { source, file, number, content, text_of };
        Ok(Self { place, print: DocumentPrint { raw, normalised, words, shingles }, key })
    }
}

fn read_metadata(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes)
        .map_err(|error| DecodeError::at(error.valid_up_to(), "metadata is not UTF-8"))
}

store_family! {
    /// Headers of documents.
    Headers = "documents", Dense,
    DocumentKey, "document u64"
    => "header": Header, |_, bytes| Header::read(bytes),
    "hand-packed"
}

store_family! {
    /// Texts, each a zstd frame.
    OldTexts = "texts", DensePacked,
    DocumentKey, "document u64"
    => "text": StoredText<'v>, |_, bytes| StoredText::read(bytes),
    "format u8, dictionary u16 LE, length u32 LE, zstd frame"
}

store_family! {
    /// zstd dictionaries of the texts.
    Dictionaries = "dicts", Small,
    NumberKey, "dictionary u32"
    => "zstd dictionary": &'v [u8], |_, bytes| decode_dictionary(bytes),
    "zstd dictionary"
}

store_family! {
    /// Sketches of documents that store their own text.
    OldSketches = "sketches", DensePacked,
    DocumentKey, "document u64"
    => "sketch": &'v [u8], |_, bytes| Ok(bytes),
    "slots"
}

store_family! {
    /// The user's other fields.
    OldMetadata = "metadata", Dense,
    DocumentKey, "document u64"
    => "metadata": &'v str, |_, bytes| read_metadata(bytes),
    "one JSON object; absent for `{}`"
}
