//! Suites of evaluation items, and what of them is in a corpus.

use super::{Corpus, CorpusWriter};
use crate::contamination::{Rule, SuiteFields, SuiteItem};
use crate::curate::{self, JudgeReport, Judgement, SuiteReport};
use crate::ingest::{self, ReadOptions};
use crate::model::{Context, DocId, Error, Interrupted};
use crate::query::contamination::{
    self as evidence, CheckedText, CheckedTexts, ItemEvidence, ReviewOptions, ReviewPair,
    SuiteContamination, SuiteSummary, TextCheck,
};

impl Corpus {
    /// The suites of the corpus, by name.
    ///
    /// # Errors
    /// [`Error::Query`] when a record cannot be read.
    pub fn suites(&self) -> Result<Vec<SuiteSummary>, Error> {
        Ok(evidence::suites(&self.view)?)
    }

    /// The item of a suite with that id; the first, where several have it.
    ///
    /// # Errors
    /// [`Error::Store`] when there is no such suite, or rows cannot be read.
    pub fn suite_item(&self, suite: &str, id: &str) -> Result<Option<SuiteItem>, Error> {
        let (suite, _) = self.view.expect_suite(suite)?;
        for item in self.view.suite_items(suite)? {
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
    /// [`Error::Store`] when there is no such suite; [`Error::Query`] when rows cannot be read.
    pub fn contamination(
        &self,
        suite: Option<&str>,
        rule: &Rule,
        limit: usize,
    ) -> Result<Vec<SuiteContamination>, Error> {
        Ok(evidence::contamination(&self.view, suite, rule, limit)?)
    }

    /// The evidence of a suite that is worst, at most so many, with what stands in the documents.
    ///
    /// # Errors
    /// As [`Corpus::contamination`].
    pub fn suite_evidence(
        &self,
        suite: &str,
        rule: &Rule,
        limit: usize,
    ) -> Result<Vec<ItemEvidence>, Error> {
        Ok(evidence::suite_evidence(&self.view, suite, rule, limit)?)
    }

    /// What a document has of all suites, worst first, with what stands in it.
    ///
    /// # Errors
    /// [`Error::Query`] when there is no such document, or rows cannot be read.
    pub fn document_evidence(
        &self,
        document: DocId,
        rule: &Rule,
    ) -> Result<Vec<ItemEvidence>, Error> {
        Ok(evidence::document_evidence(&self.view, document, rule)?)
    }

    /// Pairs of an item and a kept document that a rule holds of, side by side, worst first, for somebody who is to
    /// decide what they are ([`CorpusWriter::judge`]).
    ///
    /// # Errors
    /// As [`Corpus::contamination`].
    pub fn review(&self, options: &ReviewOptions) -> Result<Vec<ReviewPair>, Error> {
        Ok(evidence::review(&self.view, options)?)
    }

    /// Asks of the records of some files (paths, patterns, `-`) what they have of the suites; nothing is stored. `each`
    /// is told of every text.
    ///
    /// # Errors
    /// [`Error::Ingest`] for a file or record that cannot be read; [`Error::Query`] when rows cannot be read.
    pub fn check_contamination(
        &self,
        paths: &[String],
        read: &ReadOptions,
        rule: &Rule,
        context: &Context<'_>,
        each: &mut dyn FnMut(&CheckedText),
    ) -> Result<CheckedTexts, Error> {
        let seeds = curate::load_seeds(&self.view)?;
        let mut check = TextCheck::new(&self.view, seeds, *rule)?;
        let inlets = ingest::expand_inputs(paths, read, context.interrupt)?.list;
        let context = self.within(context);
        let mut failed = None;
        let done = ingest::each_text(inlets, read, &context, &mut |name, text| {
            match check.text(name, text) {
                Ok(checked) => each(&checked),
                Err(error) => {
                    failed = Some(error);
                    return Err(Interrupted::default().into());
                }
            }
            Ok(())
        });
        if let Some(error) = failed {
            return Err(error.into());
        }
        done?;
        Ok(check.counts)
    }
}

impl CorpusWriter {
    /// Stores a suite, the items that the records of some files (paths, patterns, `-`) are, and searches all stored
    /// texts for it; from then on every ingest does. The same call goes on where an interrupt stopped.
    ///
    /// ```
    /// # use corpusdb::ingest::{Record, Records};
    /// # use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, Policy};
    /// use corpusdb::contamination::{Rule, SuiteFields};
    /// use corpusdb::ingest::ReadOptions;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let mut writer = CorpusWriter::open(&path)?;
    /// let question = "How many apples has Ann left when she gives three of her eleven apples to Ben?";
    /// # let page = Record::new(format!("Homework of today. {question} Hand it in by noon."));
    /// # let (pages, options) = (Records::new("pages", [page]), IngestOptions::new("web"));
    /// # writer.ingest_records(pages, &options, &[], &Context::new())?;
    /// let file = directory.path().join("apples.jsonl");
    /// std::fs::write(&file, format!(r#"{{"id": "a1", "question": "{question}", "answer": "8"}}"#))?;
    ///
    /// let (read, fields) = (ReadOptions::default(), SuiteFields::default());
    /// let files = [file.display().to_string()];
    /// let told = (&Context::new());
    /// let report = writer.add_suite("apples", &files, &read, &fields, told)?;
    /// assert_eq!((report.items, report.searched, report.sighted), (1, 1, 1));
    ///
    /// let found = writer.corpus().suite_evidence("apples", &Rule::default(), 10)?;
    /// assert_eq!((found[0].item.as_str(), found[0].score, found[0].contaminated), ("a1", 1.0, true));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Ingest`] for a file or record that is no item; [`Error::Store`] when another suite has the name;
    /// [`Error::Curate`] when it does not fit into memory, or after an interrupt: what was committed before it stays.
    pub fn add_suite(
        &mut self,
        name: &str,
        paths: &[String],
        read: &ReadOptions,
        fields: &SuiteFields,
        context: &Context<'_>,
    ) -> Result<SuiteReport, Error> {
        let inlets = ingest::expand_inputs(paths, read, context.interrupt)?.list;
        let context = self.within(context);
        let suite = ingest::read_suite(inlets, read, fields, self.memory / 8, &context)?;
        self.add_suite_items(name, &suite.items, &suite.files, &context)
    }

    /// As [`CorpusWriter::add_suite`], of items that were read already.
    pub(super) fn add_suite_items(
        &mut self,
        name: &str,
        items: &[SuiteItem],
        files: &[String],
        context: &Context<'_>,
    ) -> Result<SuiteReport, Error> {
        Ok(curate::add_suite(&mut self.writer, name, items, files, context)?)
    }

    /// Stores what somebody decided about items and documents, all or nothing. A verdict is of a text: every document
    /// with the same text has it, whenever it comes; one with another text under the same key does not. What is
    /// rejected counts as contaminated nowhere.
    ///
    /// # Errors
    /// [`Error::Store`] when there is no such suite; [`Error::Curate`] for an item or a document that there is not, or
    /// that have nothing in common.
    pub fn judge(&mut self, judgements: &[Judgement]) -> Result<JudgeReport, Error> {
        Ok(curate::judge(&mut self.writer, judgements)?)
    }

    /// Forgets a suite, what stored texts have of it, and what was decided about that.
    ///
    /// # Errors
    /// [`Error::Store`] when there is no such suite.
    pub fn drop_suite(&mut self, name: &str) -> Result<(), Error> {
        Ok(curate::drop_suite(&mut self.writer, name)?)
    }
}
