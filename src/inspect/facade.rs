//! Methods of `Corpus` that report: documents, duplicates, contamination, snapshots.

use super::contamination::{
    self as suites, ReviewOptions, ReviewPair, SuiteContamination, SuiteSummary,
};
use super::{
    ChangedDocuments, CorpusInfo, DedupExplanation, DiffPart, DocumentDetails, DocumentDetailsIter,
    DocumentDuplicates, DuplicatesMatrix, DuplicatesOptions, DuplicatesSummary, FieldSummary,
    Forecast, QualityOptions, QualityReport, RejectReasonGroup, Selection, SignalSummary,
    SimilarOptions, SimilarReport, SimilarTo, SnapshotDetails, SnapshotDiff, Stats,
};
use crate::corpus::Corpus;
use crate::inspect;
use crate::sql::DocumentFilter;
use model::{Context, DocId, Error, Policy};
use text::contamination::{ContaminationRule, SuiteItem};

/// Documents and their columns.
impl Corpus {
    /// Policy, counts, sources, tokenizers, fields, commits, snapshots and epochs.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when a record cannot be read.
    pub fn info(&self) -> Result<CorpusInfo, Error> {
        Ok(inspect::info(self.view())?)
    }

    /// What a corpus with `bytes` of text in all would need, if all of it were as what is stored here: bytes of each
    /// family, memory and hours. At its own size that is what it has.
    ///
    /// # Errors
    /// [`Error`] when no text is stored; [`InspectError`](crate::inspect::InspectError) when a record cannot be read.
    pub fn forecast(&self, bytes: u64) -> Result<Forecast, Error> {
        inspect::forecast(&self.info()?, bytes, self.memory())
    }

    /// Documents, bytes and tokens by source and language, quantiles of lengths and declared numbers, why documents are
    /// not kept and records not read. Exact; no text is read. With a snapshot it is about all that was stored when that
    /// was made, and kept where it keeps them.
    ///
    /// ```
    /// use corpusdb::inspect::StatsValue;
    /// use corpusdb::sql::DocumentFilter;
    ///
    /// # use corpusdb::ingest::{Record, Records};
    /// # use corpusdb::{Context, Corpus, DedupMode, IngestOptions, Policy};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let mut writer = Corpus::options().memory(64 << 20).threads(1).open_writer(&path)?;
    /// # let page = |n: u32| Record::new(format!("page {n} of {n} pages")).with_key(n.to_string());
    /// # let (pages, options) = (Records::new("pages", (0..3).map(page)), IngestOptions::new("web"));
    /// # writer.ingest(pages, &options, &Context::new())?;
    /// let stats = writer.corpus().stats(DocumentFilter::default())?;
    /// assert_eq!((stats.groups[0].source.as_str(), stats.kept.documents), ("web", 3));
    /// let bytes = stats.columns.iter().find(|it| it.column == "bytes" && it.of_kept).unwrap();
    /// assert_eq!(bytes.p50, Some(StatsValue::Int(17)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a condition, source or snapshot that cannot be used.
    pub fn stats(&self, filter: impl Into<DocumentFilter>) -> Result<Stats, Error> {
        Ok(inspect::stats(self.view(), &filter.into())?)
    }

    /// Why records could not be read: each reason with the number of its records, most first, and its first record.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when they cannot be read, or after the stop.
    pub fn reject_reasons(&self, context: &Context<'_>) -> Result<Vec<RejectReasonGroup>, Error> {
        Ok(inspect::reject_reasons(self.view(), context)?)
    }

    /// What a filter selects: the ids, the number of each standing, and how many documents are left out because its
    /// condition is null for them.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a condition, source or snapshot that cannot be used.
    pub fn selection(&self, filter: impl Into<DocumentFilter>) -> Result<Selection, Error> {
        Ok(inspect::selection(self.view(), &filter.into())?)
    }

    /// Everything known about each document that a filter means, ascending by id; about all stored ones by default.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a condition, source or snapshot that cannot be used.
    pub fn documents(
        &self,
        filter: impl Into<DocumentFilter>,
    ) -> Result<DocumentDetailsIter<'_>, Error> {
        Ok(inspect::documents(self.view(), &filter.into())?)
    }

    /// `n` of the documents that a filter means, uniform without replacement; a function of these, n and seed.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a condition, source or snapshot that cannot be used.
    pub fn sample(
        &self,
        filter: impl Into<DocumentFilter>,
        n: u64,
        seed: u64,
    ) -> Result<Vec<DocId>, Error> {
        Ok(inspect::sample_of(&filter.into().select(self.view())?, n, seed))
    }

    /// Everything known about one document.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when there is no such document.
    pub fn show(&self, document: DocId) -> Result<DocumentDetails, Error> {
        Ok(inspect::show(self.view(), document)?)
    }

    /// The declared fields: what each holds, how many documents have it, where its values are from.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when a column cannot be read.
    pub fn fields(&self) -> Result<Vec<FieldSummary>, Error> {
        Ok(inspect::fields(self.view())?)
    }

    /// Every signal that can be stored, and what of it this corpus has.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when a column cannot be read.
    pub fn signals(&self) -> Result<Vec<SignalSummary>, Error> {
        Ok(inspect::signals(self.view())?)
    }

    /// What published rules would remove of the kept documents, how the scores are spread by source, and which
    /// documents stand at each threshold. Scores that are stored are read of their columns; for the others every text
    /// is read, once. It holds some 40 kB a score and source, and the scores of 4,096 documents. Nothing is removed.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a condition or source that cannot be used, when rows cannot be
    /// read, or after the stop.
    pub fn signals_report(
        &self,
        options: &QualityOptions,
        context: &Context<'_>,
    ) -> Result<QualityReport, Error> {
        Ok(inspect::quality(self.view(), options, context)?)
    }
}

/// What dedup did.
impl Corpus {
    /// The duplicates that `options` ask for in numbers.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a source or field that there is not, or when rows cannot be read.
    pub fn duplicates_summary(
        &self,
        options: &DuplicatesOptions,
    ) -> Result<DuplicatesSummary, Error> {
        Ok(inspect::duplicates_summary(self.view(), options)?)
    }

    /// How many documents of each group were removed and which group their witnesses are in: groups by `source`, by
    /// `language`, by declared fields but floats, or by several of them; a timestamp may have a unit behind it, as in
    /// `published:month`. Of all documents, or of those of one source. No document is read.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a source or field that there is not, for more than 1,000 groups,
    /// or when rows cannot be
    /// read.
    pub fn duplicates_matrix(
        &self,
        by: &[String],
        source: Option<&str>,
    ) -> Result<DuplicatesMatrix, Error> {
        Ok(inspect::duplicates_matrix(self.view(), by, source)?)
    }

    /// A document among its duplicates, with at most `limit` members of its cluster; `with_diff` compares
    /// texts: of a removed document with its witness, of a kept one with every member listed.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when there is no such document.
    pub fn document_duplicates(
        &self,
        document: DocId,
        limit: u64,
        with_diff: bool,
    ) -> Result<DocumentDuplicates, Error> {
        Ok(inspect::document_duplicates(self.view(), document, limit, with_diff)?)
    }

    /// The stored documents most similar to a text or a document; nothing is ingested.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when there is no such document or source, or nothing to look for or in.
    pub fn similar(
        &self,
        to: SimilarTo<'_>,
        options: &SimilarOptions,
    ) -> Result<SimilarReport, Error> {
        self.view().policy().check()?;
        Ok(inspect::similar(self.view(), to, options)?)
    }

    /// What the dedup policy detects and costs, or another one that the stored sketches serve.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when `other` needs other sketches.
    pub fn explain_dedup(&self, other: Option<&Policy>) -> Result<DedupExplanation, Error> {
        Ok(inspect::explain_dedup(self.view(), other)?)
    }

    /// The texts of two documents, word by word.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when there is no such document.
    pub fn diff(&self, a: DocId, b: DocId) -> Result<Vec<DiffPart>, Error> {
        Ok(inspect::diff(self.view(), a, b)?)
    }
}

/// Contamination by items of evaluation suites.
impl Corpus {
    /// The suites of the corpus, by name.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) when a record cannot be read.
    pub fn suites(&self) -> Result<Vec<SuiteSummary>, Error> {
        Ok(suites::suites(self.view())?)
    }

    /// The item of a suite with that id; the first, where several have it.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there is no such suite, or rows cannot be read.
    pub fn suite_item(&self, suite: &str, id: &str) -> Result<Option<SuiteItem>, Error> {
        let (suite, _) = self.view().expect_suite(suite)?;
        for item in self.view().suite_items(suite)? {
            let item = item?;
            if item.id == id {
                return Ok(Some(item));
            }
        }
        Ok(None)
    }

    /// How much of each suite, or of the one named, is in the corpus by a rule, with at most `limit` examples of each.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there is no such suite; [`InspectError`](crate::inspect::InspectError)
    /// when rows cannot be read.
    pub fn contamination(
        &self,
        suite: Option<&str>,
        rule: &ContaminationRule,
        limit: usize,
    ) -> Result<Vec<SuiteContamination>, Error> {
        Ok(suites::contamination(self.view(), suite, rule, limit)?)
    }

    /// Pairs of an item and a kept document that a rule holds for, side by side, worst first, for a reviewer who
    /// decides what they are (`CorpusWriter::judge`).
    ///
    /// # Errors
    /// As [`Corpus::contamination`].
    pub fn review(&self, options: &ReviewOptions) -> Result<Vec<ReviewPair>, Error> {
        Ok(suites::review(self.view(), options)?)
    }
}

/// Named moments.
impl Corpus {
    /// What the snapshot of that name holds, by source, and the stored plans that draw from it.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a snapshot that there is not.
    pub fn show_snapshot(&self, name: &str) -> Result<SnapshotDetails, Error> {
        Ok(inspect::show_snapshot(self.view(), name)?)
    }

    /// What changed from the snapshot `from` to the snapshot `to`, in all and by group: by `source` (the default),
    /// `language`, or a declared field that is not a float. Without `to`, or where it is `now` and no snapshot is
    /// called so, it is the present moment. Only documents that differ are read.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a snapshot or field that there is not, a field with more than
    /// 1,000 values, or a `to`
    /// that is the earlier moment.
    pub fn snapshot_diff(
        &self,
        from: &str,
        to: Option<&str>,
        by: Option<&str>,
    ) -> Result<SnapshotDiff, Error> {
        Ok(inspect::snapshot_diff(self.view(), from, to, by)?)
    }

    /// Each document that [`Corpus::snapshot_diff`] counts, ascending by id.
    ///
    /// # Errors
    /// [`InspectError`](crate::inspect::InspectError) for a snapshot that there is not, or a `to` that is the earlier moment.
    pub fn snapshot_changes(
        &self,
        from: &str,
        to: Option<&str>,
    ) -> Result<ChangedDocuments<'_>, Error> {
        Ok(inspect::snapshot_changes(self.view(), from, to)?)
    }
}
