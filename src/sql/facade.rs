//! Methods of `Corpus` that answer statements and conditions, and name documents.

use super::{DocumentFilter, Duplicates, ItemEvidence, SqlNames, SqlQuery, SqlRows, SqlValues};
use crate::corpus::Corpus;
use crate::sql;
use model::{DocId, Error};
use roaring::RoaringTreemap;
use text::contamination::ContaminationRule;

impl Corpus {
    /// How many documents a filter means; all stored ones by default. Of a condition alone no document is examined
    /// where the indexes can answer.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) for a condition, source or snapshot that cannot be used.
    pub fn count(&self, filter: impl Into<DocumentFilter>) -> Result<u64, Error> {
        Ok(filter.into().count(self.view())?)
    }

    /// The ids of the documents that a filter means; of all stored ones by default.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) for a condition, source or snapshot that cannot be used.
    pub fn select(&self, filter: impl Into<DocumentFilter>) -> Result<RoaringTreemap, Error> {
        Ok(filter.into().select(self.view())?)
    }

    /// Runs one SELECT: its columns at once, its rows as record batches, one after another. Statements of a text come
    /// apart by [`SqlScript`](crate::sql::SqlScript).
    ///
    /// ```
    /// # use corpusdb::{Corpus, DedupMode, Policy};
    /// use corpusdb::sql::SqlQuery;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let corpus = Corpus::options().memory(64 << 20).open(&path)?;
    /// let scores = directory.path().join("scores.csv");
    /// std::fs::write(&scores, "key,score\na,0.5\n")?;
    /// let joined = format!(
    ///     "SELECT d.id, s.score FROM documents d JOIN read_csv('{}') s ON d.key = s.key",
    ///     scores.display()
    /// );
    /// assert!(corpus.sql(&joined).is_err());
    /// let rows = corpus.sql(SqlQuery::new(&joined).files(true))?;
    /// assert_eq!(rows.schema().fields().len(), 2);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) when the statement is wrong or no query, for a snapshot that there is not,
    /// with those that there are, and for a file that cannot be read; after a stop
    /// [`Interrupted`](crate::ErrorKind::Interrupted), as a row would come.
    pub fn sql(&self, query: impl Into<SqlQuery>) -> Result<SqlRows, Error> {
        Ok(sql::sql(self.view(), query)?)
    }

    /// The tables, columns and functions that statements can name, and the words of the language.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) when the engine gives no session.
    pub fn sql_names(&self) -> Result<SqlNames, Error> {
        Ok(sql::sql_names(self.view())?)
    }

    /// The documents that had a key, newest last.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) when rows cannot be read.
    pub fn find_key(&self, key: &str) -> Result<Vec<DocId>, Error> {
        Ok(sql::find_key(self.view(), key)?)
    }

    /// Removed duplicates with what they matched, ascending by id; of one document, its witness or its members.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) when there is no such document.
    pub fn duplicates(&self, document: Option<DocId>) -> Result<Duplicates<'_>, Error> {
        Ok(sql::duplicates(self.view(), document)?)
    }

    /// The worst evidence of a suite, at most `limit` pieces, with quotations of the documents.
    ///
    /// # Errors
    /// As [`Corpus::contamination`].
    pub fn suite_evidence(
        &self,
        suite: &str,
        rule: &ContaminationRule,
        limit: usize,
    ) -> Result<Vec<ItemEvidence>, Error> {
        Ok(sql::suite_evidence(self.view(), suite, rule, limit)?)
    }

    /// The evidence of a document from all suites, worst first, with quotations.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) when there is no such document, or rows cannot be read.
    pub fn document_evidence(
        &self,
        document: DocId,
        rule: &ContaminationRule,
    ) -> Result<Vec<ItemEvidence>, Error> {
        Ok(sql::document_evidence(self.view(), document, rule)?)
    }

    /// The values that conditions can compare with: of sources, standings and keywords, and names of snapshots.
    pub fn sql_values(&self) -> SqlValues {
        SqlValues::of(self.view())
    }
}
