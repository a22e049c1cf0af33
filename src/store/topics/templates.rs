//! Chat templates: which one wrote the texts of a commit, and each of them verbatim.

use crate::model::CommitSeq;
use crate::store::batch::Batch;
use crate::store::columns::{Meta, corrupt};
use crate::store::error::{Malformed, StoreError};
use crate::store::rows::keys::{Key, NameKey};
use crate::store::view::View;

/// The chat template that wrote the texts of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRecord {
    /// blake3 of the template, in hexadecimal.
    pub hash: String,
    /// The values that it could name, as a JSON object.
    pub variables: String,
}

fn source_key(hash: &str) -> NameKey {
    NameKey(format!("template {hash}"))
}

fn commit_key(commit: CommitSeq) -> NameKey {
    NameKey(format!("chat {:020}", commit.0))
}

impl View {
    /// The chat template that wrote the texts of a commit; none: they came as text.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn template_of(&self, commit: CommitSeq) -> Result<Option<TemplateRecord>, StoreError> {
        let Some(text) = self.meta_text(&commit_key(commit))? else { return Ok(None) };
        let (hash, variables) = text.split_once(' ').unwrap_or((&text, "{}"));
        Ok(Some(TemplateRecord { hash: hash.to_owned(), variables: variables.to_owned() }))
    }

    /// The chat template whose blake3 is `hash` in hexadecimal, verbatim.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn template_source(&self, hash: &str) -> Result<String, StoreError> {
        let found = self.meta_text(&source_key(hash))?;
        found.ok_or(StoreError::Missing {
            what: "chat template",
            family: "meta",
            key: hash.to_owned(),
        })
    }

    /// All chat templates that wrote texts, verbatim, in the order of their hashes.
    ///
    /// # Errors
    /// [`StoreError`] when a row cannot be read.
    pub fn templates(&self) -> Result<Vec<String>, StoreError> {
        let mut rows = self.pinned().scan_prefix::<Meta>(b"template ")?;
        let mut found = Vec::new();
        while let Some((key, bytes)) = rows.next_as("chat template", |bytes| Ok(bytes.to_vec()))? {
            let text = String::from_utf8(bytes).map_err(|error| {
                let at = error.utf8_error().valid_up_to();
                corrupt::<Meta>("chat template", &key.to_bytes(), Malformed::at(at, "not UTF-8"))
            })?;
            found.push(text);
        }
        Ok(found)
    }

    fn meta_text(&self, key: &NameKey) -> Result<Option<String>, StoreError> {
        let Some(bytes) = self.pinned().get::<Meta>(key)? else { return Ok(None) };
        let text = String::from_utf8(bytes.to_vec()).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            corrupt::<Meta>("chat template", &key.to_bytes(), Malformed::at(at, "not UTF-8"))
        })?;
        Ok(Some(text))
    }
}

impl Batch<'_> {
    /// Stores which chat template writes the texts of this commit, and the template itself.
    ///
    /// # Errors
    /// [`StoreError`] when the family is absent.
    pub fn template(&mut self, source: &str, variables: &str) -> Result<(), StoreError> {
        let hash = blake3::hash(source.as_bytes()).to_hex();
        let commit = commit_key(self.commit_seq());
        self.put::<Meta>(&source_key(&hash), source.as_bytes())?;
        self.put::<Meta>(&commit, format!("{hash} {variables}").as_bytes())
    }
}
