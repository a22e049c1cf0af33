//! Suites of evaluation items with their n-grams, and what stored texts have of them.

use crate::model::{DocId, Sightings, SuiteGram, SuiteId, SuiteItem};
use crate::store::batch::Batch;
use crate::store::columns::{Contamination, SuiteGrams, Suites, Verdicts};
use crate::store::error::StoreError;
use crate::store::rows::codec;
use crate::store::rows::keys::{ContaminationKey, Key, SuiteGramKey, SuiteKey, after_prefix};
use crate::store::rows::parts::Part;
use crate::store::rows::suites::{SuiteRecord, encode_gram, encode_item};
use crate::store::rows::{sightings, suites::SuiteRow};
use crate::store::view::View;

/// Longest name of a suite, in bytes.
const LONGEST_NAME: usize = 200;

impl View {
    /// The suite of that name.
    ///
    /// # Errors
    /// [`StoreError`] when a record cannot be read.
    pub fn suite(&self, name: &str) -> Result<Option<&(SuiteId, SuiteRecord)>, StoreError> {
        Ok(self.suites()?.iter().find(|(_, record)| record.name == name))
    }

    /// The suite of that name, which must be there.
    ///
    /// # Errors
    /// [`StoreError::Name`], with those that there are.
    pub(crate) fn expect_suite(&self, name: &str) -> Result<(SuiteId, SuiteRecord), StoreError> {
        if let Some(found) = self.suite(name)? {
            return Ok(found.clone());
        }
        let known: Vec<&str> =
            self.suites()?.iter().map(|(_, suite)| suite.name.as_str()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        Err(StoreError::Name(format!("no suite `{name}`: there is {known}")))
    }

    /// An item of a suite, counted from 0.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn suite_item(&self, suite: SuiteId, item: u32) -> Result<Option<SuiteItem>, StoreError> {
        let Some(row) = item.checked_add(1) else { return Ok(None) };
        let key = SuiteKey { suite, row };
        self.pinned().read_with::<Suites, _>("item of a suite", &key, SuiteRow::item)
    }

    /// The items of a suite, in their order.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn suite_items(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<SuiteItem, StoreError>>, StoreError> {
        let from = SuiteKey { suite, row: 1 }.to_bytes();
        let rows = self.pinned().scan::<Suites>(&from, after_prefix(&prefix(suite)))?;
        Ok(rows.taken("item of a suite", |_, row| row.item().map(Some)))
    }

    /// What a suite has under each hash, ascending by hash.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub(crate) fn suite_grams(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<(u64, SuiteGram), StoreError>>, StoreError> {
        let rows = self.pinned().scan_prefix::<SuiteGrams>(&prefix(suite))?;
        Ok(rows.taken("n-gram of a suite", |key, gram| Ok(Some((hash_of(key.hash), gram)))))
    }

    /// What a stored text has of a suite; none where it has nothing.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub(crate) fn sightings(
        &self,
        suite: SuiteId,
        document: DocId,
    ) -> Result<Option<Sightings>, StoreError> {
        let key = ContaminationKey { suite, document };
        self.pinned().read::<Contamination, _>("contamination", &key)
    }

    /// The documents whose texts have something of a suite, ascending, each with that.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub(crate) fn all_sightings(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<(DocId, Sightings), StoreError>>, StoreError> {
        let rows = self.pinned().scan_prefix::<Contamination>(&prefix(suite))?;
        Ok(rows.taken("contamination", |key, found| Ok(Some((key.document, found)))))
    }

    /// The first document of a suite that is stored in no row of `suites`, or does not exist: neither is written.
    ///
    /// # Errors
    /// [`StoreError`] when the families cannot be read.
    pub(in crate::store) fn stray_sighting(&self) -> Result<Option<(SuiteId, DocId)>, StoreError> {
        let known: Vec<SuiteId> = self.suites()?.iter().map(|(suite, _)| *suite).collect();
        let mut rows = self.pinned().scan::<Contamination>(&[], None)?;
        while let Some((key, _)) = rows.next("contamination")? {
            if !known.contains(&key.suite) || key.document.0 >= self.documents() {
                return Ok(Some((key.suite, key.document)));
            }
        }
        Ok(None)
    }
}

impl Batch<'_> {
    /// Stores a suite with its items and n-grams, and gives it a number that no other has.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed; [`StoreError`] when rows cannot be encoded.
    pub fn add_suite<'i>(
        &mut self,
        record: &SuiteRecord,
        items: impl Iterator<Item = &'i SuiteItem>,
        grams: impl Iterator<Item = (u64, &'i SuiteGram)>,
    ) -> Result<SuiteId, StoreError> {
        let name = &record.name;
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(is_odd) {
            return Err(StoreError::Name(format!(
                "suite name {name:?} must have 1 to {LONGEST_NAME} bytes, without commas, spaces and control characters"
            )));
        }
        let known = self.view().suites()?;
        if known.iter().any(|(_, other)| other.name == *name) {
            return Err(StoreError::Name(format!(
                "suite `{name}` exists already; choose another name, or `corpusdb contamination drop` it first"
            )));
        }
        let suite = SuiteId(known.last().map_or(0, |(suite, _)| suite.0.saturating_add(1)));
        self.put_suite(suite, record)?;
        for (row, item) in (1..).zip(items) {
            self.put::<Suites>(&SuiteKey { suite, row }, &encode_item(item)?)?;
        }
        for (hash, gram) in grams {
            let key = SuiteGramKey { suite, hash: hash_bytes(hash) };
            self.put::<SuiteGrams>(&key, &encode_gram(gram))?;
        }
        Ok(suite)
    }

    /// Stores how far texts were searched for a suite.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_suite(&mut self, suite: SuiteId, record: &SuiteRecord) -> Result<(), StoreError> {
        self.put::<Suites>(&SuiteKey { suite, row: 0 }, &codec::encode("suite", record)?)
    }

    /// Stores what a text has of a suite.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn put_sightings(
        &mut self,
        suite: SuiteId,
        document: DocId,
        found: &Sightings,
    ) -> Result<(), StoreError> {
        self.put::<Contamination>(&ContaminationKey { suite, document }, &sightings::encode(found))
    }

    /// Forgets what the text of a document has of any suite.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub(in crate::store) fn forget_sightings(&mut self, document: DocId) -> Result<(), StoreError> {
        for (suite, _) in self.view().clone().suites()? {
            self.delete::<Contamination>(&ContaminationKey { suite: *suite, document })?;
        }
        Ok(())
    }

    /// Forgets a suite, what texts have of it, and what was decided about that.
    ///
    /// # Errors
    /// [`StoreError`] when a family is absent.
    pub fn drop_suite(&mut self, suite: SuiteId) -> Result<(), StoreError> {
        let from = prefix(suite);
        let to = after_prefix(&from).unwrap_or_default();
        self.delete_range::<Suites>(from.clone(), to.clone())?;
        self.delete_range::<SuiteGrams>(from.clone(), to.clone())?;
        self.delete_range::<Contamination>(from.clone(), to.clone())?;
        self.delete_range::<Verdicts>(from, to)
    }
}

/// What no name of a suite holds: lists of them are cut at commas and spaces.
fn is_odd(character: char) -> bool {
    character.is_control() || character.is_whitespace() || character == ','
}

/// How the keys of a suite begin.
pub(super) fn prefix(suite: SuiteId) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(4);
    suite.put(&mut bytes);
    bytes
}

#[expect(clippy::big_endian_bytes, reason = "a part of a key: byte order is value order")]
const fn hash_bytes(hash: u64) -> [u8; 8] {
    hash.to_be_bytes()
}

#[expect(clippy::big_endian_bytes, reason = "a part of a key: byte order is value order")]
const fn hash_of(bytes: [u8; 8]) -> u64 {
    u64::from_be_bytes(bytes)
}
