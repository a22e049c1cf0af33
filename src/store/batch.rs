//! One commit: the only way to write. Rows, bitmaps, columns, counters and resume points become
//! durable together or not at all.

#[cfg(any(test, feature = "generated"))]
#[path = "generated.rs"]
mod generated;

use super::aside::Aside;
use super::bands::BandChanges;
use super::bitmap::Delta;
use super::codec;
use super::columns::{
    Bands, BandsMore, Column, Columns, Commits, Dictionaries, Documents, Epochs, Exact, Files,
    Keys, Matches, Members, Meta, Metadata, Postings, Rejects, Sketches, Snapshots, Sources, Terms,
    Texts, Tokens,
};
use super::db;
use super::error::StoreError;
use super::fields;
use super::header::Header;
use super::ids;
use super::indexed::Indexed;
use super::journal::Entry;
use super::keys::{
    Block, ColumnKey, CommitKey, DocumentKey, ExactKey, FileKey, IdentityKey, Key, MatchKey,
    MemberKey, NameKey, NumberKey, PostingKey, SourceKey, TermKey, TokensKey,
};
use super::matching::{encode_match, encode_member};
use super::numbers::{ColumnBlock, Patch, encode_patch};
use super::open::{Writer, synced};
use super::records::{
    CommitRecord, EpochRecord, FileRecord, RejectRecord, SnapshotRecord, SourceRecord, State,
};
use super::sorted_rows::SortedRows;
use super::terms;
use super::texts::{self, TextEncoder};
use super::view::View;
use crate::model::{
    ColumnId, CommitSeq, DocId, FieldId, FileId, Generation, Match, MatchKind, Policy, SourceId,
    Standing, TermId, TokenizerId,
};
use roaring::RoaringTreemap;
use rocksdb::WriteBatch;
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// A document about to be stored.
#[derive(Clone, Debug)]
pub struct NewDocument {
    /// Its header; `commit` is filled in by the batch.
    pub header: Header,
    /// Identity under which a later ingest recognises it.
    pub identity: [u8; 16],
    /// Its text, from [`Batch::encoder`]; none when the header names an owner.
    pub text: Option<Vec<u8>>,
    /// Its sketch; none when too short for one or when the header names an owner.
    pub sketch: Option<Vec<u8>>,
    /// The user's other fields as one JSON object.
    pub metadata: String,
    /// Its indexed values, from [`super::indexed`].
    pub indexed: Indexed,
}

/// One commit in the making. Dropped without [`Batch::commit`], it changes nothing.
pub struct Batch<'w> {
    writer: &'w mut Writer,
    view: View,
    rows: WriteBatch,
    pub(super) bands: BandChanges,
    /// Generations of which no band entry is to be left.
    forgotten: Vec<Range<u32>>,
    identities: SortedRows,
    state: State,
    sources: BTreeMap<SourceId, SourceRecord>,
    names: HashMap<String, SourceId>,
    files: HashMap<(SourceId, Vec<u8>), FileId>,
    pub(super) postings: BTreeMap<(TermId, u64), Delta>,
    patches: BTreeMap<(ColumnId, u64), Patch>,
    new_terms: HashMap<(FieldId, Vec<u8>), TermId>,
    rejects: HashSet<[u8; 16]>,
    kept: HashMap<DocId, bool>,
    /// Kept documents before this batch, in the generation that it writes to.
    kept_before: Arc<RoaringTreemap>,
    /// The first document that the generation has not decided.
    undecided_from: DocId,
    /// Kept documents afterwards, when this batch makes another generation current.
    switched: Option<Arc<RoaringTreemap>>,
    encoder: Option<Arc<TextEncoder>>,
    /// What the layers above keep between commits, and what they leave with this one.
    pub(super) aside: Aside,
    pub(super) left: Option<Box<dyn Any + Send>>,
    pub(super) memory_aside: usize,
    /// The block of token counts read last, as stored before this batch.
    counts: RefCell<Option<((TokenizerId, u64), ColumnBlock)>>,
}

impl<'w> Batch<'w> {
    fn new(writer: &'w mut Writer) -> Result<Self, StoreError> {
        if writer.is_torn {
            return Err(StoreError::Torn);
        }
        let view = writer.view().clone();
        let mut state = view.state().clone();
        state.commit += 1;
        let kept_before = Arc::clone(&writer.kept);
        let undecided_from = DocId(view.documents());
        let names = view.sources().map(|(id, record)| (record.name.clone(), id)).collect();
        let (aside, memory_aside) = (writer.aside.clone(), writer.memory_aside);
        Ok(Self {
            writer,
            view,
            rows: WriteBatch::default(),
            bands: BandChanges::default(),
            forgotten: Vec::new(),
            identities: SortedRows::default(),
            state,
            sources: BTreeMap::new(),
            names,
            files: HashMap::new(),
            postings: BTreeMap::new(),
            patches: BTreeMap::new(),
            new_terms: HashMap::new(),
            rejects: HashSet::new(),
            kept: HashMap::new(),
            kept_before,
            undecided_from,
            switched: None,
            encoder: None,
            aside,
            left: None,
            memory_aside,
            counts: RefCell::new(None),
        })
    }

    /// The moment before this batch.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// The number this batch will have once committed.
    #[must_use]
    pub fn commit_seq(&self) -> CommitSeq {
        CommitSeq(self.state.commit)
    }

    /// The id the next added document will get.
    #[must_use]
    pub fn next_document(&self) -> DocId {
        DocId(self.state.documents)
    }

    /// Whether a document is kept, this batch's changes included.
    #[must_use]
    pub fn is_kept(&self, document: DocId) -> bool {
        let before = || self.kept_before.contains(document.0);
        self.kept.get(&document).copied().unwrap_or_else(before)
    }

    /// Documents kept before this batch.
    #[must_use]
    pub fn kept_before(&self) -> Arc<RoaringTreemap> {
        Arc::clone(&self.kept_before)
    }

    /// The first document that has no standing yet.
    #[must_use]
    pub fn undecided_from(&self) -> DocId {
        self.undecided_from
    }

    /// Whether the batch writes to the current generation, whose counters it keeps.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.view.generation().0 == self.state.generation
    }

    pub(super) fn look_under(
        &mut self,
        policy: &Policy,
        generation: Generation,
        kept: Arc<RoaringTreemap>,
        next: DocId,
    ) {
        self.view = self.view.under(policy.clone(), generation);
        self.kept_before = kept;
        self.undecided_from = next;
    }

    /// No run, row or counter of the band index is left of these generations.
    pub(super) fn forget_bands(&mut self, generations: Range<u32>) -> Result<(), StoreError> {
        let bound = |generation: u32| super::matching::generation_prefix(Generation(generation));
        let (from, to) = (bound(generations.start).to_vec(), bound(generations.end).to_vec());
        self.delete_range::<Bands>(from.clone(), to.clone())?;
        self.delete_range::<BandsMore>(from, to)?;
        self.forgotten.push(generations);
        Ok(())
    }

    pub(super) fn set_generation(&mut self, generation: Generation, kept: Arc<RoaringTreemap>) {
        self.state.generation = generation.0;
        self.state.kept = kept.len();
        self.switched = Some(kept);
    }

    // ---- names ----

    /// The source of that name; made if new.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn source(&mut self, name: &str) -> Result<SourceId, StoreError> {
        if let Some(id) = self.names.get(name) {
            return Ok(*id);
        }
        if name.is_empty() || name.len() > 200 || name.chars().any(char::is_control) {
            return Err(StoreError::Name(format!(
                "source name {name:?} must have 1 to 200 bytes and no control characters"
            )));
        }
        let id = SourceId(self.state.next_source);
        self.state.next_source += 1;
        self.names.insert(name.to_owned(), id);
        let record =
            SourceRecord { name: name.to_owned(), next_file: 1, ..SourceRecord::default() };
        self.sources.insert(id, record);
        Ok(id)
    }

    pub(super) fn source_record(
        &mut self,
        source: SourceId,
    ) -> Result<&mut SourceRecord, StoreError> {
        if let std::collections::btree_map::Entry::Vacant(slot) = self.sources.entry(source) {
            let found =
                self.view.sources().find(|(id, _)| *id == source).map(|(_, record)| record.clone());
            slot.insert(found.ok_or(StoreError::Missing {
                what: "source",
                family: Sources::NAME,
                key: source.to_string(),
            })?);
        }
        self.sources.get_mut(&source).ok_or(StoreError::Missing {
            what: "source",
            family: Sources::NAME,
            key: source.to_string(),
        })
    }

    /// The number of a file of a source; given if new.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn file(&mut self, source: SourceId, path: &[u8]) -> Result<FileId, StoreError> {
        if let Some(id) = self.files.get(&(source, path.to_vec())) {
            return Ok(*id);
        }
        let id = match self.view.file(source, path)? {
            Some(record) => FileId(record.file),
            None => {
                let record = self.source_record(source)?;
                let id = FileId(record.next_file);
                record.next_file += 1;
                self.put::<Sources>(&SourceKey { source, file: id }, path)?;
                id
            }
        };
        self.files.insert((source, path.to_vec()), id);
        Ok(id)
    }

    /// Stores how far a file was read.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_file(
        &mut self,
        source: SourceId,
        path: &[u8],
        record: &FileRecord,
    ) -> Result<(), StoreError> {
        self.put::<Files>(&FileKey { source, path: path.to_vec() }, &codec::encode("file", record)?)
    }

    pub(super) fn term(&mut self, field: FieldId, value: &[u8]) -> Result<TermId, StoreError> {
        let key = (field, value.to_vec());
        if let Some(term) = self.new_terms.get(&key).or_else(|| self.writer.terms.get(&key)) {
            return Ok(*term);
        }
        let term = match self.view.term(field, value)? {
            Some(term) => term,
            None => {
                let term = TermId(self.state.next_term);
                self.state.next_term = term.0.checked_add(1).ok_or_else(|| {
                    StoreError::Name(
                        "the corpus has 2^32 distinct indexed values; declare fewer keyword fields"
                            .to_owned(),
                    )
                })?;
                self.put::<Terms>(&TermKey::Value(field, value.to_vec()), &terms::encode_id(term))?;
                self.put::<Terms>(&TermKey::Id(term), &terms::encode_value(field, value))?;
                term
            }
        };
        self.new_terms.insert(key, term);
        Ok(term)
    }

    // ---- texts ----

    /// Compresses texts, from any thread, as this batch stores them. On a corpus without a
    /// dictionary, one is trained on `samples` if they are enough, and stored with this batch.
    ///
    /// # Errors
    /// [`StoreError`] when the dictionary row cannot be written.
    pub fn encoder<'a>(
        &mut self,
        samples: impl Iterator<Item = &'a str>,
    ) -> Result<Arc<TextEncoder>, StoreError> {
        if let Some(encoder) = &self.encoder {
            return Ok(Arc::clone(encoder));
        }
        let mut encoder = Arc::clone(&self.writer.encoder);
        if !encoder.has_dictionary()
            && let Some(dictionary) = texts::train(samples)
        {
            let id = self.state.next_dictionary;
            self.state.next_dictionary += 1;
            self.put::<Dictionaries>(&NumberKey { number: FileId(id.into()) }, &dictionary)?;
            encoder = Arc::new(TextEncoder::new(Some((id, dictionary))));
        }
        self.encoder = Some(Arc::clone(&encoder));
        Ok(encoder)
    }

    // ---- documents ----

    /// Stores a document, without a standing yet, and gives it the next id.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read or encoded.
    pub fn add(&mut self, document: NewDocument) -> Result<DocId, StoreError> {
        let id = self.next_document();
        if id.0 >> 40 != 0 {
            let full = "a corpus holds at most 2^40 documents; begin another one";
            return Err(StoreError::Name(full.to_owned()));
        }
        self.state.documents += 1;
        let key = DocumentKey { document: id };
        let header = Header { commit: self.commit_seq(), ..document.header };
        self.put::<Documents>(&key, &header.encode())?;
        if document.metadata != "{}" {
            self.put::<Metadata>(&key, document.metadata.as_bytes())?;
        }
        if let Some(text) = &document.text {
            self.put::<Texts>(&key, text)?;
        }
        if let Some(sketch) = &document.sketch {
            self.put::<Sketches>(&key, sketch)?;
        }
        self.identities
            .put(&IdentityKey { hash: document.identity }.to_bytes(), &ids::encode_document(id));
        let record = self.source_record(header.source)?;
        record.documents += 1;
        record.bytes += header.bytes;

        self.mark(fields::SOURCE, &fields::source_value(header.source), id)?;
        self.number(fields::SOURCE_OF, id, header.source.0.into());
        self.number(fields::COMMIT_OF, id, header.commit.0.cast_signed());
        self.number(fields::BYTES, id, header.bytes.cast_signed());
        self.number(fields::CHARS, id, header.chars.cast_signed());
        for (field, keyword) in &document.indexed.keywords {
            let term = self.mark(*field, &fields::keyword_value(keyword), id)?;
            self.number(fields::column_of(*field), id, term.0.into());
        }
        for (field, number) in &document.indexed.numbers {
            self.number(fields::column_of(*field), id, *number);
        }
        Ok(id)
    }

    pub(super) fn mark(
        &mut self,
        field: FieldId,
        value: &[u8],
        document: DocId,
    ) -> Result<TermId, StoreError> {
        let term = self.term(field, value)?;
        self.postings.entry((term, document.block())).or_default().set(document.slot());
        Ok(term)
    }

    /// Takes a document out of the postings of a value.
    pub(super) fn unmark(
        &mut self,
        field: FieldId,
        value: &[u8],
        document: DocId,
    ) -> Result<(), StoreError> {
        let term = self.term(field, value)?;
        self.postings.entry((term, document.block())).or_default().clear(document.slot());
        Ok(())
    }

    fn number(&mut self, column: ColumnId, document: DocId, value: i64) {
        self.number_or_null(column, document, Some(value));
    }

    pub(super) fn number_or_null(&mut self, column: ColumnId, document: DocId, value: Option<i64>) {
        let patch = self.patches.entry((column, document.block())).or_default();
        patch.insert(document.slot(), value);
    }

    /// Gives a document its standing; `before` is the one it had, none for one just added.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn stand(
        &mut self,
        document: DocId,
        header: &Header,
        before: Option<Standing>,
        now: Standing,
    ) -> Result<(), StoreError> {
        let generation = self.view.generation();
        if let Some(before) = before {
            let term = self.term(fields::STANDING, &fields::standing_value(generation, before))?;
            self.postings.entry((term, document.block())).or_default().clear(document.slot());
        }
        self.mark(fields::STANDING, &fields::standing_value(generation, now), document)?;
        let (was, is) = (before == Some(Standing::Kept), now == Standing::Kept);
        if was == is {
            return Ok(());
        }
        self.kept.insert(document, is);
        if !self.is_current() {
            return Ok(());
        }
        let counts = if was { self.stored_token_counts(document)? } else { Vec::new() };
        self.state.kept = if is { self.state.kept + 1 } else { self.state.kept.saturating_sub(1) };
        let record = self.source_record(header.source)?;
        if is {
            record.kept += 1;
            record.kept_bytes += header.bytes;
        } else {
            record.kept = record.kept.saturating_sub(1);
            record.kept_bytes = record.kept_bytes.saturating_sub(header.bytes);
            for (tokenizer, count) in counts {
                add_tokens(record, tokenizer, -count);
            }
        }
        Ok(())
    }

    /// Token counts the document has in the store; what this batch encodes is counted when encoded.
    fn stored_token_counts(&self, document: DocId) -> Result<Vec<(TokenizerId, i64)>, StoreError> {
        let mut counts = Vec::new();
        for (tokenizer, _) in self.view.tokenizers() {
            if let Some(count) = self.token_count(tokenizer, document)? {
                counts.push((tokenizer, count));
            }
        }
        Ok(counts)
    }

    /// Tokens of a document stored before this batch; none when it was never encoded.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn token_count(
        &self,
        tokenizer: TokenizerId,
        document: DocId,
    ) -> Result<Option<i64>, StoreError> {
        // Documents are asked about in order: the block of the last one is likely the next one's.
        let mut last = self.counts.borrow_mut();
        let wanted = (tokenizer, document.block());
        let block = match &mut *last {
            Some((held, block)) if *held == wanted => block,
            last => {
                let block = self.view.column_block(fields::tokens_of(tokenizer), wanted.1)?;
                &mut last.insert((wanted, block)).1
            }
        };
        Ok(block.get(document.slot()))
    }

    /// Records why a document is not kept (`now`; none when it is kept or alone), replacing `before`.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn explain(
        &mut self,
        removed: DocId,
        before: Option<&Match>,
        now: Option<&Match>,
    ) -> Result<(), StoreError> {
        if before == now {
            return Ok(());
        }
        let (generation, commit) = (self.view.generation(), self.commit_seq());
        self.put::<Matches>(&MatchKey { generation, removed, commit }, &encode_match(now))?;
        let in_cluster = |found: &&Match| found.kind != MatchKind::Superseded;
        let (left, joined) = (before.filter(in_cluster), now.filter(in_cluster));
        if left.map(|found| found.witness) != joined.map(|found| found.witness) {
            for (found, state) in [(left, false), (joined, true)] {
                if let Some(found) = found {
                    let key = MemberKey { generation, witness: found.witness, removed, commit };
                    self.put::<Members>(&key, &encode_member(state))?;
                }
            }
        }
        Ok(())
    }

    /// Names the best-ranked eligible document of a text; none forgets the text.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn exact(
        &mut self,
        kind: u8,
        hash: [u8; 16],
        document: Option<DocId>,
    ) -> Result<(), StoreError> {
        let key = ExactKey { generation: self.view.generation(), kind, hash };
        match document {
            Some(document) => self.put::<Exact>(&key, &ids::encode_document(document)),
            None => self.delete::<Exact>(&key),
        }
    }

    /// Stores the token ids of a document; answers how many. The tokens of kept documents are
    /// counted apart ([`Batch::count_tokens`]).
    ///
    /// # Errors
    /// [`StoreError::Encode`] when an id does not fit the tokenizer's width.
    pub fn put_tokens(
        &mut self,
        tokenizer: TokenizerId,
        document: DocId,
        tokens: &[u32],
        vocab_size: u32,
    ) -> Result<i64, StoreError> {
        let bytes = ids::encode(tokens, ids::is_wide(vocab_size)).ok_or_else(|| StoreError::Encode {
            what: "token ids",
            why: format!("an id of document {document} is over 65,535 but tokenizer {tokenizer} has {vocab_size} ids"),
        })?;
        self.put::<Tokens>(&TokensKey { tokenizer, document }, &bytes)?;
        let count = i64::try_from(tokens.len()).unwrap_or(i64::MAX);
        self.number(fields::tokens_of(tokenizer), document, count);
        Ok(count)
    }

    /// Adds to the tokens of kept documents of a source.
    ///
    /// # Errors
    /// [`StoreError`] when the source is unknown.
    pub fn count_tokens(
        &mut self,
        tokenizer: TokenizerId,
        source: SourceId,
        count: i64,
    ) -> Result<(), StoreError> {
        if self.is_current() {
            add_tokens(self.source_record(source)?, tokenizer, count);
        }
        Ok(())
    }

    // ---- other records ----

    /// Stores a rejected record once; false when it was stored before.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be read or encoded.
    pub fn reject(
        &mut self,
        identity: [u8; 16],
        record: &RejectRecord,
    ) -> Result<bool, StoreError> {
        if self.rejects.contains(&identity) || self.view.has_reject(identity)? {
            return Ok(false);
        }
        self.rejects.insert(identity);
        self.state.rejects += 1;
        self.put::<Rejects>(&IdentityKey { hash: identity }, &codec::encode("reject", record)?)?;
        Ok(true)
    }

    /// The next tokenizer's number, if there are fewer than `most`.
    pub(super) fn next_tokenizer(&mut self, most: u16) -> Option<TokenizerId> {
        let next = self.state.next_tokenizer;
        (next < most).then(|| {
            self.state.next_tokenizer += 1;
            TokenizerId(next)
        })
    }

    /// Stores a named snapshot of the moment before this batch.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed.
    pub fn add_snapshot(&mut self, name: &str) -> Result<SnapshotRecord, StoreError> {
        if name.is_empty() || name.len() > 200 || name.chars().any(char::is_control) {
            return Err(StoreError::Name(format!(
                "snapshot name {name:?} must have 1 to 200 bytes and no control characters"
            )));
        }
        if self.view.snapshot(name)?.is_some() {
            return Err(StoreError::Name(format!(
                "snapshot `{name}` exists already; choose another name"
            )));
        }
        let kept = treemap_bytes(&self.writer.kept)?;
        let record = SnapshotRecord {
            name: name.to_owned(),
            commit: self.view.commit().0,
            generation: self.view.generation().0,
            documents: self.view.documents(),
            kept: self.writer.kept.len(),
            kept_hash: *blake3::hash(&kept).as_bytes(),
        };
        self.put::<Snapshots>(&NameKey(name.to_owned()), &codec::encode("snapshot", &record)?)?;
        self.put::<Snapshots>(&NameKey(format!("{name}\0kept")), &kept)?;
        Ok(record)
    }

    /// Stores an epoch plan with what it pins, by name, and gives it the next number.
    ///
    /// # Errors
    /// [`StoreError`] when the plan cannot be encoded.
    pub fn add_epoch(
        &mut self,
        record: EpochRecord,
        parts: &[(String, Vec<u8>)],
    ) -> Result<EpochRecord, StoreError> {
        let record = EpochRecord { number: self.state.next_epoch, ..record };
        self.state.next_epoch += 1;
        let name = format!("{:010}", record.number);
        self.put::<Epochs>(&NameKey(name.clone()), &codec::encode("epoch", &record)?)?;
        for (part, bytes) in parts {
            self.put::<Epochs>(&NameKey(format!("{name}\0{part}")), bytes)?;
        }
        Ok(record)
    }

    /// Forgets an epoch plan with what it pins.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn drop_epoch(&mut self, number: u32) -> Result<(), StoreError> {
        let name = format!("{number:010}");
        let end = super::keys::after_prefix(format!("{name}\0").as_bytes());
        self.delete::<Epochs>(&NameKey(name.clone()))?;
        self.delete_range::<Epochs>(format!("{name}\0").into_bytes(), end.unwrap_or_default())
    }

    pub(super) fn put<C: Column>(&mut self, key: &C::Key, value: &[u8]) -> Result<(), StoreError> {
        self.rows.put_cf(&db::family::<C>(&self.writer.db)?, key.to_bytes(), value);
        Ok(())
    }

    pub(super) fn delete<C: Column>(&mut self, key: &C::Key) -> Result<(), StoreError> {
        self.rows.delete_cf(&db::family::<C>(&self.writer.db)?, key.to_bytes());
        Ok(())
    }

    pub(super) fn delete_range<C: Column>(
        &mut self,
        from: Vec<u8>,
        to: Vec<u8>,
    ) -> Result<(), StoreError> {
        self.rows.delete_range_cf(&db::family::<C>(&self.writer.db)?, from, to);
        Ok(())
    }

    // ---- the end ----

    /// Writes everything, synced; then the journal; then the writer's view moves on.
    ///
    /// # Errors
    /// [`StoreError`] when the disk refuses. The batch is then stored whole or not at all, and the
    /// writer refuses further ones: open the corpus again.
    pub fn commit(mut self, record: &CommitRecord) -> Result<CommitSeq, StoreError> {
        let commit = self.commit_seq();
        let (bands, generation) = (std::mem::take(&mut self.bands), self.view.generation());
        let bands = self.writer.bands.stage(bands, generation, commit, &mut self.rows)?;
        let forgotten = std::mem::take(&mut self.forgotten);
        let bands = self.writer.bands.forget(bands, forgotten, &mut self.rows)?;
        std::mem::take(&mut self.identities)
            .write(&db::family::<Keys>(&self.writer.db)?, &mut self.rows);
        let postings = db::family::<Postings>(&self.writer.db)?;
        for ((term, block), delta) in &self.postings {
            let key = PostingKey { term: *term, block: Block(*block) };
            self.rows.merge_cf(&postings, key.to_bytes(), delta.encode());
        }
        drop(postings);
        let columns = db::family::<Columns>(&self.writer.db)?;
        for ((column, block), patch) in &self.patches {
            let key = ColumnKey { column: *column, block: Block(*block) };
            self.rows.merge_cf(&columns, key.to_bytes(), encode_patch(patch));
        }
        drop(columns);
        for (source, record) in std::mem::take(&mut self.sources) {
            let key = SourceKey { source, file: FileId(0) };
            self.put::<Sources>(&key, &codec::encode("source", &record)?)?;
        }
        self.put::<Commits>(&CommitKey { commit }, &codec::encode("commit", record)?)?;
        let state = codec::encode("state", &self.state)?;
        self.put::<Meta>(&NameKey("state".to_owned()), &state)?;

        // From here until the end the writer's memory and the disk may differ.
        self.writer.is_torn = true;
        self.writer.db.write_opt(std::mem::take(&mut self.rows), &synced())?;
        self.writer.acknowledge(Entry { commit: commit.0, documents: self.state.documents })?;
        // Let go of, so that the writer's bitmap is changed in its place.
        self.kept_before = Arc::default();
        if let Some(kept) = self.switched.take() {
            self.writer.kept = kept;
        }
        let changes =
            if self.is_current() { std::mem::take(&mut self.kept) } else { HashMap::new() };
        let kept = Arc::make_mut(&mut self.writer.kept);
        for (document, is_kept) in &changes {
            if *is_kept {
                kept.insert(document.0)
            } else {
                kept.remove(document.0)
            };
        }
        self.writer.terms.extend(self.new_terms.drain());
        if self.writer.terms.len() > TERM_CACHE {
            self.writer.terms.clear();
        }
        if let Some(encoder) = self.encoder.take() {
            self.writer.encoder = encoder;
        }
        self.writer.bands.committed(bands)?;
        self.writer.committed()?;
        self.writer.keep_aside(self.left.take());
        self.writer.is_torn = false;
        Ok(commit)
    }
}

impl Writer {
    /// Begins the next commit.
    ///
    /// # Errors
    /// [`StoreError`] when the state cannot be read.
    pub fn begin(&mut self) -> Result<Batch<'_>, StoreError> {
        Batch::new(self)
    }
}

/// Terms remembered between commits; more are read again.
const TERM_CACHE: usize = 1 << 18;

fn add_tokens(record: &mut SourceRecord, tokenizer: TokenizerId, count: i64) {
    let at = match record.tokens.binary_search_by_key(&tokenizer.0, |(id, _)| *id) {
        Ok(at) => at,
        Err(at) => {
            record.tokens.insert(at, (tokenizer.0, 0));
            at
        }
    };
    if let Some((_, total)) = record.tokens.get_mut(at) {
        *total = total.saturating_add_signed(count);
    }
}

fn treemap_bytes(map: &RoaringTreemap) -> Result<Vec<u8>, StoreError> {
    let mut bytes = Vec::with_capacity(map.serialized_size());
    map.serialize_into(&mut bytes)
        .map_err(|error| StoreError::Encode { what: "bitmap", why: error.to_string() })?;
    Ok(bytes)
}
