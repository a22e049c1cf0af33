//! Chat templates: which one wrote the texts of a commit, and each of them verbatim.

use crate::model::CommitSeq;
use crate::store::batch::Batch;
use crate::store::columns::Meta;
use crate::store::error::StoreError;
use crate::store::rows::meta::MetaKey;
use crate::store::view::View;

/// The chat template that wrote the texts of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateRecord {
    /// blake3 of the template, in hexadecimal.
    pub hash: String,
    /// The values that it could name, as a JSON object.
    pub variables: String,
}

impl View {
    /// The chat template that wrote the texts of a commit; none: they came as text.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn template_of(&self, commit: CommitSeq) -> Result<Option<TemplateRecord>, StoreError> {
        self.pinned().read_with::<Meta, _>("chat template", &MetaKey::Chat(commit), |row| {
            let (hash, variables) = row.chat()?;
            Ok(TemplateRecord { hash: hash.to_owned(), variables: variables.to_owned() })
        })
    }

    /// The chat template whose blake3 is `hash` in hexadecimal, verbatim.
    ///
    /// # Errors
    /// [`StoreError`] when the row is absent or cannot be read.
    pub fn template_source(&self, hash: &str) -> Result<String, StoreError> {
        let key = MetaKey::Template(hash.to_owned());
        let found =
            self.pinned().read_with::<Meta, _>("chat template", &key, |row| row.template())?;
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
        let mut rows = self.pinned().scan_prefix::<Meta>(MetaKey::templates())?;
        let mut found = Vec::new();
        while let Some((_, text)) = rows.next_with("chat template", |row| row.template())? {
            found.push(text);
        }
        Ok(found)
    }
}

impl Batch<'_> {
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
