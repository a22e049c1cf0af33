//! The declared fields of a corpus: listed, added, set from outside, computed, dropped.

use super::{Corpus, CorpusWriter};
use crate::curate::{self, ComputedField, FieldReport, NewField};
use crate::decide::LoadedTokenizer;
use crate::epoch;
use crate::ingest::{self, IngestInput, JoinOptions, JoinReport};
use crate::input::Records;
use crate::model::{Context, Error, FieldDeclaration};
use crate::query::{self, FieldSummary};
use crate::store::EpochRecord;

impl Corpus {
    /// The declared fields: what each holds, how many documents have it, where its values are from.
    ///
    /// # Errors
    /// [`Error::Query`] when a column cannot be read.
    pub fn fields(&self) -> Result<Vec<FieldSummary>, Error> {
        Ok(query::fields(&self.view)?)
    }

    /// The stored plans whose recipes name a field.
    ///
    /// # Errors
    /// [`Error::Store`] when they cannot be read.
    pub fn plans_naming(&self, field: &str) -> Result<Vec<EpochRecord>, Error> {
        Ok(epoch::plans_naming(&self.view, field)?)
    }
}

impl CorpusWriter {
    /// Declares a field of a corpus that may hold documents, and indexes what their metadata have for it. It is seen
    /// from the last commit on; the same call goes on where an interrupt stopped.
    ///
    /// # Errors
    /// [`Error::Curate`] when the name is taken, or after an interrupt: what was committed before it stays.
    pub fn add_field(
        &mut self,
        field: &NewField,
        context: &Context<'_>,
    ) -> Result<FieldReport, Error> {
        let context = self.within(context);
        Ok(curate::add_field(&mut self.writer, field, &context)?)
    }

    /// Stores the values of a SQL expression over `documents` as a field, declaring it when it is not.
    ///
    /// # Errors
    /// [`Error::Query`] for an expression that cannot be planned; [`Error::Curate`] for one that is not the same each
    /// time, or after an interrupt: what was committed before it stays, and the same call goes on.
    pub fn compute_field(
        &mut self,
        field: &ComputedField,
        context: &Context<'_>,
    ) -> Result<FieldReport, Error> {
        let dependence = query::dependence(self.view(), &field.expression)?;
        let context = self.within(context);
        let tokenizers = self.encoders_if_ranked_by(&[&field.name])?;
        Ok(curate::compute_field(&mut self.writer, field, &dependence, &tokenizers, &context)?)
    }

    /// Gives a field up: no query sees it any more, and what is indexed of it is deleted; metadata stay as they are.
    /// Refused while the recipe of a stored plan names it, unless `force`. Answers those plans: they stay as they are.
    ///
    /// # Errors
    /// [`Error::Curate`] when there is no such field, or something depends on it.
    pub fn drop_field(
        &mut self,
        name: &str,
        force: bool,
        context: &Context<'_>,
    ) -> Result<Vec<EpochRecord>, Error> {
        let plans = epoch::plans_naming(self.view(), name)?;
        let numbers: Vec<u32> = plans.iter().map(|plan| plan.number).collect();
        let context = self.within(context);
        curate::drop_field(&mut self.writer, name, &numbers, force, &context)?;
        Ok(plans)
    }

    /// Sets declared fields of the documents that the records of some files (paths, patterns, `-`) name by id or key.
    /// Columns and postings follow, in commits of bounded size; the same again changes nothing.
    ///
    /// # Errors
    /// [`Error::Ingest`]; what was committed before it stays, and the same call goes on.
    pub fn set_field(
        &mut self,
        paths: &[String],
        options: &JoinOptions,
        context: &Context<'_>,
    ) -> Result<JoinReport, Error> {
        let inlets = ingest::expand_inputs(paths, &options.read, context.interrupt)?;
        let context = self.within(context);
        let tokenizers = self.encoders_of_join(options)?;
        Ok(ingest::join(&mut self.writer, inlets.list, options, &tokenizers, &context)?)
    }

    /// As [`CorpusWriter::set_field`], with records that the program has.
    ///
    /// # Errors
    /// As [`CorpusWriter::set_field`]; the error of an iterator, as
    /// [`ReadError::Records`](crate::ingest::ReadError::Records).
    pub fn set_field_records(
        &mut self,
        records: Records<'_>,
        options: &JoinOptions,
        context: &Context<'_>,
    ) -> Result<JoinReport, Error> {
        let inlets = vec![IngestInput::Memory(records)];
        let context = self.within(context);
        let tokenizers = self.encoders_of_join(options)?;
        Ok(ingest::join(&mut self.writer, inlets, options, &tokenizers, &context)?)
    }

    fn encoders_of_join(&mut self, options: &JoinOptions) -> Result<Vec<LoadedTokenizer>, Error> {
        let names: Vec<&str> = options.columns.iter().map(|column| column.field.as_str()).collect();
        self.encoders_if_ranked_by(&names)
    }

    /// The tokenizers, where one of these fields ranks documents: other values of it change what is kept.
    fn encoders_if_ranked_by(&mut self, names: &[&str]) -> Result<Vec<LoadedTokenizer>, Error> {
        let order = self.view().order_field();
        let is_order = |field: &FieldDeclaration| {
            Some(field.id) == order && names.contains(&field.name.as_str())
        };
        if !self.view().fields().iter().any(is_order) {
            return Ok(Vec::new());
        }
        Ok(curate::load_to_write(&mut self.writer)?)
    }
}
