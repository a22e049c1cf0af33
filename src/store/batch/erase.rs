//! Erasing documents: their rows go, what they lent to others moves on, and what quotes them is taken away.

use super::Batch;
use crate::model::{CommitSeq, DocId, Standing, TokenizerId};
use crate::store::columns::{
    Commits, Documents, Keys, Loss, Metadata, Rejects, Sketches, Snapshots, Texts, Tokens,
};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::codec;
use crate::store::rows::header::Header;
use crate::store::rows::indexed::{Indexed, indexed};
use crate::store::rows::keys::{CommitKey, DocumentKey, IdentityKey, NameKey, TokensKey};
use crate::store::rows::loss::TEXT;
use crate::store::rows::records::{CommitRecord, SnapshotRecord};
use crate::store::rows::texts::TextEncoder;
use roaring::RoaringTreemap;

/// A document that is to be erased.
pub struct Erased<'a> {
    /// Its id.
    pub document: DocId,
    /// Its header.
    pub header: &'a Header,
    /// The header that takes its place: that of an empty document.
    pub stub: &'a Header,
    /// The identity under which a later ingest would recognise it.
    pub identity: [u8; 16],
    /// What stays of its sketch: all, where what is similar is blocked on.
    pub sketch: Option<&'a [u8]>,
}

impl Batch<'_> {
    /// Erases a removed document: an empty one without fields and key, of which nothing is known, stands in its place.
    /// Its text must have moved to those that it lends it to ([`Batch::inherit`]).
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read or encoded.
    pub fn erase(&mut self, erased: &Erased<'_>) -> Result<(), StoreError> {
        let Erased { document, header, stub, identity, sketch } = *erased;
        // What is remembered of equal texts may be of this one.
        self.aside.replace(None);
        let view = self.view().clone();
        let key = DocumentKey { document };
        let declared = view.indexed_fields()?;
        let indexed = indexed(&view.metadata(document)?, &declared);
        self.index_again(document, &indexed, &Indexed::default())?;
        self.put::<Documents>(&key, &stub.encode())?;
        self.put::<Texts>(&key, &TextEncoder::new(None).encode("")?)?;
        match sketch {
            Some(sketch) => self.put::<Sketches>(&key, sketch)?,
            None => self.delete::<Sketches>(&key)?,
        }
        self.delete::<Metadata>(&key)?;
        self.forget_sightings(document)?;
        for (tokenizer, record) in (0..).map(TokenizerId).zip(view.all_tokenizers()) {
            self.delete::<Tokens>(&TokensKey { tokenizer, document })?;
            self.delete::<Loss>(&TokensKey { tokenizer, document })?;
            if !record.dropped {
                self.number_or_null(fields::tokens_of(tokenizer), document, None);
            }
        }
        self.delete::<Loss>(&TokensKey { tokenizer: TEXT, document })?;
        if view.identities(&[identity])?.first() == Some(&Some(document)) {
            self.delete::<Keys>(&IdentityKey { hash: identity })?;
        }
        self.number(fields::BYTES, document, 0);
        self.number(fields::CHARS, document, 0);
        let record = self.source_record(header.source)?;
        record.bytes = record.bytes.saturating_sub(header.bytes);
        self.stand(document, header, Some(Standing::Removed), Standing::Purged)
    }

    /// Has a borrower store the text and sketch itself that `owner` has lent it; answers their bytes.
    ///
    /// # Errors
    /// [`StoreError`] when rows cannot be read.
    pub fn inherit(
        &mut self,
        owner: DocId,
        heir: DocId,
        header: &Header,
    ) -> Result<u64, StoreError> {
        let (from, to) = (DocumentKey { document: owner }, DocumentKey { document: heir });
        let view = self.view().clone();
        let missing =
            || StoreError::Missing { what: "text", family: "texts", key: owner.to_string() };
        let text = view.pinned().get::<Texts>(&from)?.ok_or_else(missing)?.to_vec();
        self.put::<Texts>(&to, &text)?;
        let mut bytes = text.len();
        if let Some(sketch) = view.sketch_of_owner(owner)? {
            self.put::<Sketches>(&to, &sketch)?;
            bytes += sketch.len();
        }
        let header = Header { text_of: None, ..header.clone() };
        self.put::<Documents>(&to, &header.encode())?;
        Ok(bytes as u64)
    }

    /// Has a borrower borrow text and sketch from another document.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn borrow_from(
        &mut self,
        document: DocId,
        header: &Header,
        owner: DocId,
    ) -> Result<(), StoreError> {
        let header = Header { text_of: Some(owner), ..header.clone() };
        self.put::<Documents>(&DocumentKey { document }, &header.encode())
    }

    /// Takes purged documents out of what a snapshot shows as kept, and counts them in its record.
    ///
    /// # Errors
    /// [`StoreError`] when the snapshot cannot be read or encoded.
    pub fn purge_from_snapshot(
        &mut self,
        record: SnapshotRecord,
        purged: &RoaringTreemap,
    ) -> Result<(), StoreError> {
        let kept = self.view().snapshot_kept(&record.name)? - purged;
        let bytes = super::records::treemap_bytes(&kept)?;
        let lost = record.kept.saturating_sub(kept.len());
        let record = SnapshotRecord {
            kept: kept.len(),
            kept_hash: *blake3::hash(&bytes).as_bytes(),
            purged: record.purged + lost,
            ..record
        };
        let name = &record.name;
        self.put::<Snapshots>(&NameKey(name.clone()), &codec::encode("snapshot", &record)?)?;
        self.put::<Snapshots>(&NameKey(format!("{name}\0kept")), &bytes)
    }

    /// Forgets a rejected record.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn forget_reject(&mut self, hash: [u8; 16]) -> Result<(), StoreError> {
        self.state.rejects = self.state.rejects.saturating_sub(1);
        self.delete::<Rejects>(&IdentityKey { hash })
    }

    /// Writes the record of an earlier commit anew, without what it quoted.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn redact(&mut self, commit: CommitSeq, record: &CommitRecord) -> Result<(), StoreError> {
        self.put::<Commits>(&CommitKey { commit }, &codec::encode("commit", record)?)
    }
}
