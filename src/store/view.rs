//! A consistent moment of the store: the only way to read.

use super::bands::{BandIndex, Bucket};
use super::bitmap;
use super::codec;
use super::columns::{
    Columns, Commits, Dictionaries, Documents, Exact, Files, Keys, Matches, Members, Meta,
    Metadata, Postings, Rejects, Sketches, Snapshots, Sources, Terms, Texts, Tokenizers, Tokens,
    corrupt,
};
use super::db::Pinned;
use super::error::{Malformed, StoreError};
use super::fields;
use super::header::Header;
use super::keys::{
    Block, ColumnKey, CommitKey, DocumentKey, ExactKey, FileKey, IdentityKey, Key, MatchKey,
    MemberKey, NameKey, NumberKey, PostingKey, SourceKey, TermKey, TokenizerKey, TokensKey,
};
use super::matching::{decode_match, decode_member};
use super::numbers::{self, ColumnBlock};
use super::records::{
    Charter, CommitRecord, FileRecord, SnapshotRecord, SourceRecord, State, TokenizerRecord,
};
use super::texts::TextDecoder;
use super::tuning::Memory;
use super::values::ColumnValues;
use crate::model::{
    BLOCK_SIZE, ColumnId, CommitSeq, DocId, FieldDeclaration, FieldId, FileId, Generation, Match,
    Policy, SourceId, Standing, TermId, TokenizerId,
};
use roaring::{RoaringBitmap, RoaringTreemap};
use rocksdb::DB;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// One committed moment of a corpus. Cheap to clone; holds its moment alive as long as it lives.
#[derive(Clone)]
pub struct View(Arc<Inner>, Option<Arc<Lens>>);

/// Another policy generation than the current one, seen through the same moment.
struct Lens {
    policy: Policy,
    generation: Generation,
}

struct Inner {
    pinned: Pinned,
    state: State,
    policy: Policy,
    fields: Vec<FieldDeclaration>,
    sources: Vec<SourceRecord>,
    tokenizers: Vec<TokenizerRecord>,
    decoder: TextDecoder,
    bands: BandIndex,
    queries: usize,
}

impl View {
    pub(super) fn at_now(
        db: &Arc<DB>,
        bands: BandIndex,
        memory: Memory,
    ) -> Result<Self, StoreError> {
        let pinned = Pinned::at_now(db);
        let missing =
            |key: &str| StoreError::Missing { what: "record", family: "meta", key: key.to_owned() };
        let state: State = pinned
            .read::<Meta, _>("state", &NameKey("state".to_owned()), codec::decode)?
            .ok_or_else(|| missing("state"))?;
        let (policy, fields) = pinned
            .read::<Meta, _>("charter", &NameKey("charter".to_owned()), |bytes| {
                codec::decode::<Charter>(bytes)?.read()
            })?
            .ok_or_else(|| missing("charter"))?;
        let mut sources = Vec::new();
        for id in 0..state.next_source {
            let key = SourceKey { source: SourceId(id), file: FileId(0) };
            let record = pinned.read::<Sources, _>("source", &key, codec::decode)?;
            sources.push(record.ok_or(StoreError::Missing {
                what: "source",
                family: "sources",
                key: id.to_string(),
            })?);
        }
        let mut tokenizers = Vec::new();
        for id in 0..state.next_tokenizer {
            let key = TokenizerKey { tokenizer: TokenizerId(id), part: 0 };
            let record = pinned.read::<Tokenizers, _>("tokenizer", &key, codec::decode)?;
            tokenizers.push(record.ok_or(StoreError::Missing {
                what: "tokenizer",
                family: "tokenizers",
                key: id.to_string(),
            })?);
        }
        let decoder = TextDecoder::default();
        let queries = memory.queries;
        let inner =
            Inner { pinned, state, policy, fields, sources, tokenizers, decoder, bands, queries };
        Ok(Self(Arc::new(inner), None))
    }

    /// Records of tokenizers by id, dropped ones included.
    pub(super) fn all_tokenizers(&self) -> &[TokenizerRecord] {
        &self.0.tokenizers
    }

    pub(super) fn pinned(&self) -> &Pinned {
        &self.0.pinned
    }

    /// Bytes that a query over this view may hold before it spills or is refused.
    #[must_use]
    pub fn query_memory(&self) -> usize {
        self.0.queries
    }

    /// High-water marks and counters.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.0.state
    }

    /// The commit this view shows.
    #[must_use]
    pub fn commit(&self) -> CommitSeq {
        CommitSeq(self.0.state.commit)
    }

    /// The policy generation this view shows.
    #[must_use]
    pub fn generation(&self) -> Generation {
        self.1.as_ref().map_or(Generation(self.0.state.generation), |lens| lens.generation)
    }

    /// The same moment under another policy and its generation.
    #[must_use]
    pub fn under(&self, policy: Policy, generation: Generation) -> Self {
        Self(Arc::clone(&self.0), Some(Arc::new(Lens { policy, generation })))
    }

    /// The dedup policy.
    #[must_use]
    pub fn policy(&self) -> &Policy {
        self.1.as_ref().map_or(&self.0.policy, |lens| &lens.policy)
    }

    /// Declared fields, ascending by id.
    #[must_use]
    pub fn fields(&self) -> &[FieldDeclaration] {
        &self.0.fields
    }

    /// Documents stored; ids are below this.
    #[must_use]
    pub fn documents(&self) -> u64 {
        self.0.state.documents
    }

    /// Blocks that hold documents.
    #[must_use]
    pub fn blocks(&self) -> Range<u64> {
        0..self.documents().div_ceil(BLOCK_SIZE)
    }

    /// Bytes of the tables of each column family, in the order of docs/reference/format.md; rows still in the
    /// log are not counted.
    ///
    /// # Errors
    /// [`StoreError`] when RocksDB does not say.
    pub fn disk_usage(&self) -> Result<Vec<(&'static str, u64)>, StoreError> {
        self.0.pinned.table_bytes()
    }

    // ---- sources and the other records ----

    /// Sources, ascending by id.
    pub fn sources(&self) -> impl Iterator<Item = (SourceId, &SourceRecord)> {
        (0..).map(SourceId).zip(&self.0.sources)
    }

    /// The source of that name.
    #[must_use]
    pub fn source_named(&self, name: &str) -> Option<(SourceId, &SourceRecord)> {
        self.sources().find(|(_, record)| record.name == name)
    }

    /// The name of a source; `?` for an id that was never given.
    #[must_use]
    pub fn source_name(&self, source: SourceId) -> &str {
        self.0.sources.get(source.0 as usize).map_or("?", |record| &record.name)
    }

    /// What was read of a file.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn file(&self, source: SourceId, path: &[u8]) -> Result<Option<FileRecord>, StoreError> {
        let key = FileKey { source, path: path.to_vec() };
        self.0.pinned.read::<Files, _>("file", &key, codec::decode)
    }

    /// The absolute path of a file of a source, lossily decoded.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn file_path(&self, source: SourceId, file: FileId) -> Result<Option<String>, StoreError> {
        let path = self.0.pinned.get::<Sources>(&SourceKey { source, file })?;
        Ok(path.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Commits, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn commits(&self) -> Result<Vec<(CommitSeq, CommitRecord)>, StoreError> {
        let mut rows = self.0.pinned.scan::<Commits>(&[], None)?;
        let mut found = Vec::new();
        while let Some((key, record)) = rows.next_as("commit", codec::decode)? {
            found.push((key.commit, record));
        }
        Ok(found)
    }

    /// The newest `limit` commits, oldest first; the others are not read.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn last_commits(&self, limit: u64) -> Result<Vec<(CommitSeq, CommitRecord)>, StoreError> {
        // Commits are numbered without gaps.
        let first = CommitSeq((self.commit().0 + 1).saturating_sub(limit));
        let mut rows =
            self.0.pinned.scan::<Commits>(&CommitKey { commit: first }.to_bytes(), None)?;
        let mut found = Vec::new();
        while let Some((key, record)) = rows.next_as("commit", codec::decode)? {
            found.push((key.commit, record));
        }
        Ok(found)
    }

    /// One commit.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn commit_record(&self, commit: CommitSeq) -> Result<Option<CommitRecord>, StoreError> {
        self.0.pinned.read::<Commits, _>("commit", &CommitKey { commit }, codec::decode)
    }

    pub(super) fn has_reject(&self, hash: [u8; 16]) -> Result<bool, StoreError> {
        Ok(self.0.pinned.get::<Rejects>(&IdentityKey { hash })?.is_some())
    }

    /// The snapshot of that name.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn snapshot(&self, name: &str) -> Result<Option<SnapshotRecord>, StoreError> {
        self.0.pinned.read::<Snapshots, _>("snapshot", &NameKey(name.to_owned()), codec::decode)
    }

    /// The documents a snapshot has as kept.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn snapshot_kept(&self, name: &str) -> Result<RoaringTreemap, StoreError> {
        self.treemap::<Snapshots>("snapshot", NameKey(format!("{name}\0kept")))
    }

    fn treemap<C: super::columns::Column<Key = NameKey>>(
        &self,
        what: &'static str,
        key: NameKey,
    ) -> Result<RoaringTreemap, StoreError> {
        let found = self.0.pinned.read::<C, _>(what, &key, |bytes| {
            RoaringTreemap::deserialize_from(bytes)
                .map_err(|error| Malformed::at(0, error.to_string()))
        })?;
        found.ok_or(StoreError::Missing { what, family: C::NAME, key: key.0.replace('\0', " ") })
    }

    // ---- documents ----

    /// A document's header.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn header(&self, document: DocId) -> Result<Option<Header>, StoreError> {
        self.0.pinned.read::<Documents, _>("header", &DocumentKey { document }, Header::decode)
    }

    /// A document's header, which must be there.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn expect_header(&self, document: DocId) -> Result<Header, StoreError> {
        self.header(document)?.ok_or(StoreError::Missing {
            what: "document",
            family: "documents",
            key: document.to_string(),
        })
    }

    /// The key a user sees: the given one; else the path, with the record's number unless the file
    /// was read as one text.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn display_key(&self, header: &Header) -> Result<String, StoreError> {
        if let Some(key) = &header.key {
            return Ok(key.clone());
        }
        let key = SourceKey { source: header.source, file: header.file };
        let Some(path) = self.0.pinned.get::<Sources>(&key)? else {
            return Ok(format!("?:{}", header.number));
        };
        let shown = String::from_utf8_lossy(&path).into_owned();
        let is_text = self.file(header.source, &path)?.is_some_and(|record| record.single);
        Ok(if is_text { shown } else { format!("{shown}:{}", header.number) })
    }

    /// Calls `each` with the headers of `range`, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row is absent or cannot be read, or what `each` returns.
    pub fn for_each_header<E: From<StoreError>>(
        &self,
        range: Range<u64>,
        mut each: impl FnMut(DocId, Header) -> Result<(), E>,
    ) -> Result<(), E> {
        let end = DocumentKey { document: DocId(range.end) }.to_bytes();
        let start = DocumentKey { document: DocId(range.start) }.to_bytes();
        let mut rows = self.0.pinned.scan::<Documents>(&start, Some(end))?;
        let mut expected = range.start;
        while let Some((key, header)) = rows.next_as("header", Header::decode)? {
            if key.document.0 != expected {
                break;
            }
            expected += 1;
            each(key.document, header)?;
        }
        if expected < range.end {
            return Err(StoreError::Missing {
                what: "document",
                family: "documents",
                key: expected.to_string(),
            }
            .into());
        }
        Ok(())
    }

    /// A document's text.
    ///
    /// # Errors
    /// [`StoreError`] when a row is absent or cannot be read.
    pub fn text(&self, document: DocId) -> Result<String, StoreError> {
        let header = self.expect_header(document)?;
        self.text_of_owner(header.text_owner(document))
    }

    /// The text a document stores itself ([`Header::text_owner`]).
    ///
    /// # Errors
    /// [`StoreError`] when a row is absent or cannot be read.
    pub fn text_of_owner(&self, owner: DocId) -> Result<String, StoreError> {
        let key = DocumentKey { document: owner };
        let stored = self.0.pinned.get::<Texts>(&key)?.ok_or(StoreError::Missing {
            what: "text",
            family: "texts",
            key: owner.to_string(),
        })?;
        self.0
            .decoder
            .decode(&stored, |id| self.dictionary(id))?
            .map_err(|why| corrupt::<Texts>("text", &key.to_bytes(), why))
    }

    pub(super) fn dictionary(&self, id: u16) -> Result<Vec<u8>, StoreError> {
        let found = self.0.pinned.get::<Dictionaries>(&NumberKey { number: FileId(id.into()) })?;
        found.map(|bytes| bytes.to_vec()).ok_or(StoreError::Missing {
            what: "zstd dictionary",
            family: "dicts",
            key: id.to_string(),
        })
    }

    /// A document's other fields as a JSON object.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn metadata(&self, document: DocId) -> Result<String, StoreError> {
        let found =
            self.0.pinned.read::<Metadata, _>("metadata", &DocumentKey { document }, |bytes| {
                std::str::from_utf8(bytes)
                    .map(str::to_owned)
                    .map_err(|error| Malformed::at(error.valid_up_to(), "metadata is not UTF-8"))
            })?;
        Ok(found.unwrap_or_else(|| "{}".to_owned()))
    }

    /// Appends a document's token ids to `out`; false when it was never encoded.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn tokens(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
        out: &mut Vec<u32>,
    ) -> Result<bool, StoreError> {
        let wide = self.tokens_are_wide(tokenizer)?;
        let key = TokensKey { tokenizer, document };
        let Some(bytes) = self.0.pinned.get::<Tokens>(&key)? else {
            return Ok(false);
        };
        super::ids::decode(&bytes, wide, out)
            .map_err(|why| corrupt::<Tokens>("token ids", &key.to_bytes(), why))?;
        Ok(true)
    }

    pub(super) fn tokens_are_wide(&self, tokenizer: TokenizerId) -> Result<bool, StoreError> {
        let record = self.0.tokenizers.get(usize::from(tokenizer.0));
        let record = record.ok_or(StoreError::Missing {
            what: "tokenizer",
            family: "tokenizers",
            key: tokenizer.to_string(),
        })?;
        Ok(super::ids::is_wide(record.vocab_size))
    }

    /// The sketch a document stores itself ([`Header::text_owner`]); none when it has too few tokens.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn sketch_of_owner(&self, owner: DocId) -> Result<Option<Vec<u8>>, StoreError> {
        let found = self.0.pinned.get::<Sketches>(&DocumentKey { document: owner })?;
        Ok(found.map(|bytes| bytes.to_vec()))
    }

    // ---- indexes ----

    /// The term of a value; none when no document has it.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn term(&self, field: FieldId, value: &[u8]) -> Result<Option<TermId>, StoreError> {
        let key = TermKey::Value(field, value.to_vec());
        self.0.pinned.read::<Terms, _>("term", &key, super::terms::decode_id)
    }

    /// The value of a term.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn term_value(&self, term: TermId) -> Result<Option<(FieldId, Vec<u8>)>, StoreError> {
        self.0.pinned.read::<Terms, _>("term", &TermKey::Id(term), super::terms::decode_value)
    }

    /// All values of a field with their terms, in byte order of the values.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn terms(&self, field: FieldId) -> Result<Vec<(Vec<u8>, TermId)>, StoreError> {
        let prefix = TermKey::Value(field, Vec::new()).to_bytes();
        let mut rows = self.0.pinned.scan_prefix::<Terms>(&prefix)?;
        let mut found = Vec::new();
        while let Some((key, term)) = rows.next_as("term", super::terms::decode_id)? {
            if let TermKey::Value(_, value) = key {
                found.push((value, term));
            }
        }
        Ok(found)
    }

    /// Slots of one block that have a term.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn posting_block(&self, term: TermId, block: u64) -> Result<RoaringBitmap, StoreError> {
        let key = PostingKey { term, block: Block(block) };
        let found = self.0.pinned.read::<Postings, _>("bitmap", &key, bitmap::decode)?;
        Ok(found.unwrap_or_default())
    }

    /// All documents that have a term.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn posting(&self, term: TermId) -> Result<RoaringTreemap, StoreError> {
        let prefix = term_prefix(term);
        let mut rows = self.0.pinned.scan_prefix::<Postings>(&prefix)?;
        let mut parts: BTreeMap<u32, RoaringBitmap> = BTreeMap::new();
        while let Some((key, value)) = rows.advance()? {
            let decoded = PostingKey::decode(key).and_then(|of| {
                let Block(block) = of.block;
                Ok((block, bitmap::decode_at(value, (block & 0xffff) as u16)?))
            });
            let (block, slots) = decoded.map_err(|why| corrupt::<Postings>("bitmap", key, why))?;
            if !slots.is_empty() {
                // A block is 48 bits wide.
                *parts.entry((block >> 16) as u32).or_default() |= slots;
            }
        }
        Ok(RoaringTreemap::from_bitmaps(parts))
    }

    /// All documents whose `field` has `value`.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn documents_with(
        &self,
        field: FieldId,
        value: &[u8],
    ) -> Result<RoaringTreemap, StoreError> {
        match self.term(field, value)? {
            Some(term) => self.posting(term),
            None => Ok(RoaringTreemap::new()),
        }
    }

    /// All documents of a standing.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn documents_standing(&self, standing: Standing) -> Result<RoaringTreemap, StoreError> {
        self.documents_with(fields::STANDING, &fields::standing_value(self.generation(), standing))
    }

    /// All kept documents.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn kept(&self) -> Result<RoaringTreemap, StoreError> {
        self.documents_standing(Standing::Kept)
    }

    /// A document's standing.
    ///
    /// # Errors
    /// [`StoreError`] when no bitmap has the document or a row cannot be read.
    pub fn standing(&self, document: DocId) -> Result<Standing, StoreError> {
        for standing in Standing::ALL {
            let value = fields::standing_value(self.generation(), standing);
            if let Some(term) = self.term(fields::STANDING, &value)?
                && self.posting_block(term, document.block())?.contains(document.slot().into())
            {
                return Ok(standing);
            }
        }
        Err(StoreError::Missing { what: "standing", family: "postings", key: document.to_string() })
    }

    /// One block of a column; empty where nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_block(&self, column: ColumnId, block: u64) -> Result<ColumnBlock, StoreError> {
        let key = ColumnKey { column, block: Block(block) };
        let found = self.0.pinned.read::<Columns, _>("column block", &key, ColumnBlock::decode)?;
        Ok(found.unwrap_or_default())
    }

    /// What `read` makes of one block of a column, given as it lies in memory: no value is copied. None
    /// where nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_values<T>(
        &self,
        column: ColumnId,
        block: u64,
        read: impl FnOnce(&ColumnValues<'_>) -> T,
    ) -> Result<Option<T>, StoreError> {
        let key = ColumnKey { column, block: Block(block) };
        self.0.pinned.read::<Columns, _>("column block", &key, |bytes| {
            ColumnValues::read(bytes).map(|values| read(&values))
        })
    }

    /// Smallest and largest value of one block of a column, cheaper than its values; none where
    /// nothing was ever set.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn column_range(
        &self,
        column: ColumnId,
        block: u64,
    ) -> Result<Option<(i64, i64)>, StoreError> {
        let key = ColumnKey { column, block: Block(block) };
        self.0.pinned.read::<Columns, _>("column block", &key, numbers::stored_range)
    }

    // ---- dedup ----

    /// Why a document is not kept, when another document is the reason.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn match_of(&self, removed: DocId) -> Result<Option<Match>, StoreError> {
        let from =
            MatchKey { generation: self.generation(), removed, commit: CommitSeq(0) }.to_bytes();
        let prefix = from.get(..12).unwrap_or_default();
        let mut rows = self.0.pinned.scan_prefix::<Matches>(prefix)?;
        let mut newest = None;
        while let Some((_, found)) = rows.next_as("match", decode_match)? {
            newest = found;
        }
        Ok(newest)
    }

    /// Calls `each` with the newest match of every document that has one, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read, or what `each` returns.
    pub fn for_each_match<E: From<StoreError>>(
        &self,
        mut each: impl FnMut(DocId, CommitSeq, Match) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut rows = self
            .0
            .pinned
            .scan_prefix::<Matches>(&super::matching::generation_prefix(self.generation()))?;
        let mut newest: Option<(MatchKey, Option<Match>)> = None;
        while let Some((key, found)) = rows.next_as("match", decode_match)? {
            if let Some((before, Some(done))) = newest.take()
                && before.removed != key.removed
            {
                each(before.removed, before.commit, done)?;
            }
            newest = Some((key, found));
        }
        if let Some((key, Some(done))) = newest {
            each(key.removed, key.commit, done)?;
        }
        Ok(())
    }

    /// The documents whose witness this document is now, ascending.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn members(&self, witness: DocId) -> Result<Vec<DocId>, StoreError> {
        let key = MemberKey {
            generation: self.generation(),
            witness,
            removed: DocId(0),
            commit: CommitSeq(0),
        };
        let key = key.to_bytes();
        let mut rows = self.0.pinned.scan_prefix::<Members>(key.get(..12).unwrap_or_default())?;
        let mut found: Vec<DocId> = Vec::new();
        while let Some((key, joined)) = rows.next_as("member", decode_member)? {
            // Rows of a pair are in commit order: the last one counts.
            if found.last() == Some(&key.removed) {
                found.pop();
            }
            if joined {
                found.push(key.removed);
            }
        }
        Ok(found)
    }

    /// Best-ranked eligible document with that raw (`kind` 0) or normalised (1) text hash.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn exact(&self, kind: u8, hash: [u8; 16]) -> Result<Option<DocId>, StoreError> {
        self.0.pinned.read::<Exact, _>(
            "exact row",
            &ExactKey { generation: self.generation(), kind, hash },
            super::ids::decode_document,
        )
    }

    /// The documents stored under identity hashes; `hashes` in any order, answers in theirs.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn identities(&self, hashes: &[[u8; 16]]) -> Result<Vec<Option<DocId>>, StoreError> {
        self.sorted_lookup::<Keys>(
            hashes.iter().map(|hash| IdentityKey { hash: *hash }.to_bytes()).collect(),
        )
    }

    /// As [`View::exact`] for many hashes of one kind; answers in their order.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn exacts(&self, kind: u8, hashes: &[[u8; 16]]) -> Result<Vec<Option<DocId>>, StoreError> {
        self.sorted_lookup::<Exact>(
            hashes
                .iter()
                .map(|hash| {
                    ExactKey { generation: self.generation(), kind, hash: *hash }.to_bytes()
                })
                .collect(),
        )
    }

    fn sorted_lookup<C: super::columns::Column>(
        &self,
        keys: Vec<Vec<u8>>,
    ) -> Result<Vec<Option<DocId>>, StoreError> {
        let mut order: Vec<usize> = (0..keys.len()).collect();
        order.sort_by(|a, b| keys.get(*a).cmp(&keys.get(*b)));
        let sorted: Vec<Vec<u8>> = order.iter().filter_map(|at| keys.get(*at).cloned()).collect();
        let mut answers = vec![None; keys.len()];
        for ((at, key), found) in
            order.iter().zip(&sorted).zip(self.0.pinned.multi_get::<C>(&sorted)?)
        {
            if let (Some(answer), Some(bytes)) = (answers.get_mut(*at), found) {
                let document = super::ids::decode_document(&bytes)
                    .map_err(|why| corrupt::<C>("document id", key, why))?;
                *answer = Some(document);
            }
        }
        Ok(answers)
    }

    /// Members of band buckets: for every key of `sorted` (ascending), whether the bucket exists and
    /// at most `cap` documents in rank order that `keep` admits, with whether more were passed over.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn buckets(
        &self,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: impl Fn(DocId) -> bool,
    ) -> Result<Vec<Option<Bucket>>, StoreError> {
        self.0.bands.buckets(&self.0.pinned, self.generation(), sorted, cap, keep)
    }

    /// As [`View::buckets`] for all keys of a batch at once, in parallel: what is known of the whole
    /// batch decides whether the filter is worth having.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn buckets_bulk(
        &self,
        sorted: &[(u8, u64)],
        cap: usize,
        keep: &(dyn Fn(DocId) -> bool + Sync),
    ) -> Result<Vec<Option<Bucket>>, StoreError> {
        self.0.bands.buckets_bulk(&self.0.pinned, self.generation(), sorted, cap, keep)
    }

    /// For every key of `sorted` (ascending) the first member of its bucket and whether it has more; none
    /// when nobody is in it. However crowded a bucket is, one entry of it is read.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn bucket_firsts(
        &self,
        sorted: &[(u8, u64)],
    ) -> Result<Vec<Option<(DocId, bool)>>, StoreError> {
        self.0.bands.firsts(&self.0.pinned, self.generation(), sorted)
    }

    /// Members of buckets that were looked at through this view so far, admitted or not.
    #[must_use]
    pub fn bucket_members_read(&self) -> u64 {
        self.0.bands.members_read()
    }

    pub(super) fn misses_folded_bands(&self) -> Result<bool, StoreError> {
        self.0.bands.misses_folded(&self.0.pinned)
    }
}

fn term_prefix(term: TermId) -> Vec<u8> {
    let key = PostingKey { term, block: Block(0) }.to_bytes();
    key.get(..4).unwrap_or_default().to_vec()
}
