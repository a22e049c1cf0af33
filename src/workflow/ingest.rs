//! Ingests records, suites and values of fields, after finishing what an interrupted command left undone.

use crate::corpus::{Corpus, CorpusWriter};
use crate::curate::{self, NewSuite, SuiteReport};
use crate::decide::LoadedTokenizer;
use crate::ingest::{
    self, IngestOptions, IngestReport, IngestResources, Inputs, JoinOptions, JoinReport,
    LoadOptions, LoadReport,
};
use crate::inspect::contamination::{CheckedText, CheckedTexts, TextCheck};
use crate::sql::RecordCondition;
use files::input::ReadOptions;
use model::{Context, Error, IncomingFilter, Interrupted};
use std::sync::Arc;
use text::contamination::{ContaminationRule, ITEM_RULE, LayoutNotes, SeedIndex, SuiteFields};

impl Corpus {
    /// Asks of the records of some files (paths, patterns, `-`) what they have of the suites; nothing is stored. `each`
    /// gets every text.
    ///
    /// # Errors
    /// [`Error`] for a file or record that cannot be read;
    /// [`SqlError`](crate::sql::SqlError) when rows cannot be read.
    pub fn check_contamination(
        &self,
        paths: &[String],
        read: &ReadOptions,
        rule: &ContaminationRule,
        each: &mut dyn FnMut(&CheckedText),
        context: &Context<'_>,
    ) -> Result<CheckedTexts, Error> {
        let seeds = curate::load_seeds(self.view())?;
        let mut check = TextCheck::new(self.view(), seeds, *rule)?;
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
    /// Ingests files, or records that the program has, which take the same pipeline, batches, decisions and report as a
    /// file of them; [`Inputs`] says what there may be. Every tokenizer of the corpus encodes what is kept. After an
    /// error or an interrupt commits stay: hand the same over again, and what is stored is skipped.
    ///
    /// ```
    /// # use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, Policy};
    /// use corpusdb::ingest::{Record, Records};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let mut writer = CorpusWriter::open(&path)?;
    /// # let options = IngestOptions::new("web");
    /// let pages = (0..3).map(|n| Record::new(format!("page {n}")).with_key(format!("https://a.example/{n}")));
    /// let report = writer.ingest(Records::new("crawl", pages), &options, &Context::new())?;
    /// assert_eq!(report.added, 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`]: among them the error of an iterator, as
    /// [`ReadError::Records`](crate::ingest::ReadError::Records);
    /// [`TokenizerError::Unknown`](crate::tokenizer::TokenizerError::Unknown) for one of [`IngestOptions::tokenizers`]
    /// that the corpus has not. Earlier commits stay.
    pub fn ingest<'m>(
        &mut self,
        inputs: impl Into<Inputs<'m>>,
        options: &IngestOptions,
        context: &Context<'_>,
    ) -> Result<IngestReport, Error> {
        let inlets = inputs.into().expand(&options.read, context.interrupt)?;
        for name in &options.tokenizers {
            curate::find(self.view(), name)?;
        }
        let filter = match &options.condition {
            Some(sql) => Some(RecordCondition::new(sql)?),
            None => None,
        };
        let filter = filter.map(|filter| Arc::new(filter) as Arc<dyn IncomingFilter>);
        let context = self.within(context);
        let (loaded, seeds) = self.prepare_to_ingest(&context)?;
        let crafts = IngestResources { filter, tokenizers: &loaded, seeds, judge: None };
        ingest::ingest(self.store(), inlets, options, crafts, &context)
    }

    /// Brings in a directory of documents with the decisions that `corpusdb.spark` made about them, without deciding
    /// again: what is stored is what an ingest of the same files would have stored. What the rows say is checked, the
    /// similarity of removed documents to their witnesses of a sample of them. The corpus must have the policy that
    /// they were decided with, and of other documents none but those that they were decided against: of these, what the
    /// load supersedes goes, and what follows is decided. After an interrupt the same call continues.
    ///
    /// # Errors
    /// [`Error`]; earlier commits stay.
    pub fn bulk_load(
        &mut self,
        directory: &str,
        options: &LoadOptions,
        context: &Context<'_>,
    ) -> Result<LoadReport, Error> {
        let context = self.within(context);
        let (loaded, seeds) = self.prepare_to_ingest(&context)?;
        let crafts = IngestResources { filter: None, tokenizers: &loaded, seeds, judge: None };
        ingest::load(self.store(), directory, options, crafts, &context)
    }

    /// Finishes interrupted work whose results newcomers need, and loads the tokenizers and suites for them.
    fn prepare_to_ingest(
        &mut self,
        context: &Context<'_>,
    ) -> Result<(Vec<LoadedTokenizer>, SeedIndex), Error> {
        let loaded = curate::load_to_write(self.store())?;
        for LoadedTokenizer { id, tokenizer, .. } in &loaded {
            // An interrupted `tokenizer add` is finished, since kept documents must have ids of every tokenizer.
            curate::encode_stored(self.store(), *id, tokenizer, context)?;
        }
        // An interrupted search for a suite is finished, too.
        curate::search_stored(self.store(), context, &mut SuiteReport::default())?;
        let seeds = curate::load_seeds(self.view())?;
        Ok((loaded, seeds))
    }

    /// Sets declared fields of the documents that the records of some files, or records that the program has, name by
    /// id or key. Columns and postings follow, in commits of bounded size; the same again changes nothing.
    ///
    /// # Errors
    /// As [`CorpusWriter::ingest`]; earlier commits stay, and the same call continues.
    pub fn set_field<'m>(
        &mut self,
        inputs: impl Into<Inputs<'m>>,
        options: &JoinOptions,
        context: &Context<'_>,
    ) -> Result<JoinReport, Error> {
        let inlets = inputs.into().expand(&options.read, context.interrupt)?;
        let context = self.within(context);
        let tokenizers = self.encoders_of_join(options)?;
        ingest::join(self.store(), inlets.list, options, &tokenizers, &context)
    }

    fn encoders_of_join(&mut self, options: &JoinOptions) -> Result<Vec<LoadedTokenizer>, Error> {
        let names: Vec<&str> = options.columns.iter().map(|column| column.field.as_str()).collect();
        self.encoders_if_ranked_by(&names)
    }

    /// Stores a suite, the items that the records of some files (paths, patterns, `-`) are, and searches all stored
    /// texts for it; from then on every ingest does. The same call continues where an interrupt stopped.
    ///
    /// ```
    /// # use corpusdb::ingest::{Record, Records};
    /// # use corpusdb::{Context, Corpus, CorpusWriter, DedupMode, IngestOptions, Policy};
    /// use corpusdb::contamination::{ContaminationRule, SuiteFields};
    /// use corpusdb::ingest::ReadOptions;
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let directory = tempfile::tempdir()?;
    /// # let path = directory.path().join("corpus");
    /// # Corpus::init(&path, &Policy::new(DedupMode::Witness, 0.8)?, &[])?;
    /// # let mut writer = CorpusWriter::open(&path)?;
    /// let question = "How many apples has Ann left when she gives three of her eleven apples to Ben?";
    /// # let page = Record::new(format!("Homework of today. {question} Hand it in by noon."));
    /// # let (pages, options) = (Records::new("pages", [page]), IngestOptions::new("web"));
    /// # writer.ingest(pages, &options, &Context::new())?;
    /// let file = directory.path().join("apples.jsonl");
    /// std::fs::write(&file, format!(r#"{{"id": "a1", "question": "{question}", "answer": "8"}}"#))?;
    ///
    /// let (read, fields) = (ReadOptions::default(), SuiteFields::default());
    /// let files = [file.display().to_string()];
    /// let told = (&Context::new());
    /// let report = writer.add_suite("apples", &files, &read, &fields, told)?;
    /// assert_eq!((report.items, report.searched, report.sighted), (1, 1, 1));
    ///
    /// let found = writer.corpus().suite_evidence("apples", &ContaminationRule::default(), 10)?;
    /// assert_eq!((found[0].item.as_str(), found[0].score, found[0].contaminated), ("a1", 1.0, true));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error`] for a file or record that is not an item;
    /// [`StoreError`](crate::store::StoreError) when another suite has the name;
    /// [`Error`] when it does not fit into memory, or after an interrupt: earlier
    /// commits stay.
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
        let suite = ingest::read_suite(inlets, read, fields, self.memory() / 8, &context)?;
        let new = NewSuite {
            name,
            items: &suite.items,
            files: &suite.files,
            normaliser: NewSuite::NORMALISER,
            rule: ITEM_RULE,
        };
        let report = curate::add_suite(self.store(), &new, &context)?;
        let LayoutNotes { unsearched, numbers_from } = suite.notes;
        Ok(SuiteReport { unsearched, numbers_from, ..report })
    }
}
