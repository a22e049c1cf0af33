//! The family `commits`, the audit log; and the chat templates that wrote the texts of a commit, each verbatim.

use crate::batch::CommitBatch;
use crate::bytes::key::{CommitKey, StoreKey};
use crate::bytes::record::{self, CommitRecord, VerbRecord};
use crate::database::family::{StoreFamily, store_family};
use crate::error::StoreError;
use crate::meta::{Meta, MetaChat, MetaKey, MetaTemplate, MetaVerb};
use crate::system_fields;
use crate::view::View;
use model::{CommitSeq, DocId, SourceId};
use roaring::RoaringTreemap;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

store_family! {
    /// The audit log. Written by every commit; read by queries and check.
    Commits = "commits", Small,
    CommitKey, "commit u64"
    => "commit": CommitRecord, |_, bytes| record::decode(bytes),
    "record: what the commit did"
}

impl View {
    /// Commits, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn commits(&self) -> Result<Vec<(CommitSeq, CommitRecord)>, StoreError> {
        let mut rows = self.pinned().scan::<Commits>(&[], None)?;
        let mut found = Vec::new();
        while let Some((key, record)) = rows.next()? {
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
            self.pinned().scan::<Commits>(&CommitKey { commit: first }.to_bytes(), None)?;
        let mut found = Vec::new();
        while let Some((key, record)) = rows.next()? {
            found.push((key.commit, record));
        }
        Ok(found)
    }

    /// The record of a commit: what made it, and what it changed.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn commit_record(&self, commit: CommitSeq) -> Result<Option<CommitRecord>, StoreError> {
        self.pinned().read::<Commits, _>(&CommitKey { commit })
    }

    /// What undoing needs to know of commits, where there is something to know. Commits of earlier releases have none.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn verbs(&self) -> Result<BTreeMap<CommitSeq, VerbRecord>, StoreError> {
        let rows = self.pinned().scan_prefix::<MetaVerb>(MetaKey::verbs())?;
        rows.filter_map(|commit, record| Some((commit, record))).collect()
    }

    /// The chat template that wrote the texts of a commit; none: they came as text.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn template_of(&self, commit: CommitSeq) -> Result<Option<TemplateRecord>, StoreError> {
        let found = self.pinned().read::<MetaChat, _>(&commit)?;
        Ok(found.map(|(hash, variables)| TemplateRecord { hash, variables }))
    }

    /// The chat templates that wrote the texts of `documents`, by the names of their sources; nothing is looked up where one
    /// template with the same values wrote all chats.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn templates_of(
        &self,
        documents: impl FnOnce() -> Result<RoaringTreemap, StoreError>,
    ) -> Result<BTreeMap<String, BTreeSet<TemplateRecord>>, StoreError> {
        let rows = self.pinned().scan_prefix::<MetaChat>(MetaKey::chats())?;
        let record = |commit, (hash, variables)| Some((commit, TemplateRecord { hash, variables }));
        let chats: Vec<(CommitSeq, TemplateRecord)> =
            rows.filter_map(record).collect::<Result<_, _>>()?;
        let mut found: BTreeMap<String, BTreeSet<TemplateRecord>> = BTreeMap::new();
        if chats.iter().all(|(_, template)| chats.first().is_some_and(|(_, one)| one == template)) {
            return Ok(found);
        }
        let documents = documents()?;
        let mut of_sources: BTreeMap<SourceId, RoaringTreemap> = BTreeMap::new();
        for (commit, template) in chats {
            let Some(record) = self.commit_record(commit)? else { continue };
            // The documents of a commit have numbers in a row.
            let mut left = RoaringTreemap::new();
            left.insert_range(record.first..record.first.saturating_add(record.added));
            left &= &documents;
            while let Some(document) = left.min() {
                let source = self.place(DocId(document))?.source;
                let of_source = match of_sources.entry(source) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => {
                        let value = system_fields::source_value(source);
                        new.insert(self.documents_with(system_fields::SOURCE, &value)?)
                    }
                };
                left -= &*of_source;
                left.remove(document);
                let name = self.source_name(source)?.to_owned();
                found.entry(name).or_default().insert(template.clone());
            }
        }
        Ok(found)
    }

    /// The chat template whose blake3 is `hash` in hexadecimal, verbatim.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn template_source(&self, hash: &str) -> Result<String, StoreError> {
        let found = self.pinned().read_copy::<MetaTemplate, _>(&hash.to_owned())?;
        found.ok_or(StoreError::Missing {
            what: "chat template",
            family: Meta::NAME,
            key: hash.to_owned(),
        })
    }

    /// All chat templates that wrote texts, verbatim, in the order of their hashes.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn templates(&self) -> Result<Vec<String>, StoreError> {
        let rows = self.pinned().scan_prefix::<MetaTemplate>(MetaKey::templates())?;
        rows.filter_map(|_, text| Some(text.to_owned())).collect()
    }
}

impl CommitBatch<'_> {
    /// Writes what this commit did.
    pub(crate) fn write_record(&mut self, record: &CommitRecord) -> Result<(), StoreError> {
        let key = CommitKey { commit: self.commit_seq() };
        self.put::<Commits>(&key, &record::encode("commit", record)?)
    }

    /// Notes what was before this commit and is in no row after it, for who undoes it.
    pub fn note_before(&mut self, before: impl Into<String>) {
        self.before = Some(before.into());
    }

    /// Writes what undoing needs to know of this commit.
    pub(crate) fn write_verb(&mut self) -> Result<(), StoreError> {
        let begins = self.writer.begins_verb && !self.writer.goes_on;
        let undoes = self.writer.undoes.filter(|_| begins).map(|commit| commit.0);
        let record = VerbRecord { begins, undoes, before: self.before.take() };
        if record == VerbRecord::default() {
            return Ok(());
        }
        self.put::<Meta>(&MetaKey::Verb(self.commit_seq()), &record::encode("verb", &record)?)
    }

    /// Writes the record of an earlier commit again, without what it quoted.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn rewrite_commit(
        &mut self,
        commit: CommitSeq,
        record: &CommitRecord,
    ) -> Result<(), StoreError> {
        self.put::<Commits>(&CommitKey { commit }, &record::encode("commit", record)?)
    }

    /// Writes what undoing needs to know of an earlier commit again, without what it quoted.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn rewrite_verb(
        &mut self,
        commit: CommitSeq,
        record: &VerbRecord,
    ) -> Result<(), StoreError> {
        self.put::<Meta>(&MetaKey::Verb(commit), &record::encode("verb", record)?)
    }

    /// Stores which chat template writes the texts of this commit, and the template itself.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn template(&mut self, source: &str, variables: &str) -> Result<(), StoreError> {
        let hash = blake3::hash(source.as_bytes()).to_hex();
        let commit = MetaKey::Chat(self.commit_seq());
        self.put::<Meta>(&MetaKey::Template(hash.to_string()), source.as_bytes())?;
        self.put::<Meta>(&commit, format!("{hash} {variables}").as_bytes())
    }
}

/// The chat template that wrote the texts of a commit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TemplateRecord {
    /// blake3 of the template, in hexadecimal.
    pub hash: String,
    /// The values that it could name, as a JSON object.
    pub variables: String,
}
