//! The signals of a corpus: stored as fields, listed, dropped.

use super::{Corpus, CorpusWriter};
use crate::curate::{self, NewSignals, SignalsReport};
use crate::epoch;
use crate::model::{Context, Error};
use crate::query::{self, QualityOptions, QualityReport, SignalSummary};
use crate::signals::Signal;
use crate::store::EpochRecord;
use std::collections::BTreeMap;

impl Corpus {
    /// Every signal that can be stored, and what of it this corpus has.
    ///
    /// # Errors
    /// [`Error::Query`] when a column cannot be read.
    pub fn signals(&self) -> Result<Vec<SignalSummary>, Error> {
        Ok(query::signals(&self.view)?)
    }

    /// What published rules would remove of the kept documents, how the scores are spread by source, and which
    /// documents stand at each threshold. Scores that are stored are read of their columns; for the others every text
    /// is read, once. It holds some 40 kB a score and source, and the scores of 4,096 documents. Nothing is removed.
    ///
    /// # Errors
    /// [`Error::Query`] for a condition or source that cannot be used, when rows cannot be read, or after the stop.
    pub fn signals_report(
        &self,
        options: &QualityOptions,
        context: &Context<'_>,
    ) -> Result<QualityReport, Error> {
        Ok(query::quality(&self.view, options, context)?)
    }
}

impl CorpusWriter {
    /// Stores signals as fields: those of all stored documents now, and those of every document that comes from then
    /// on. They are seen from the last commit on; the same call goes on where an interrupt stopped.
    ///
    /// # Errors
    /// [`Error::Curate`] when a field of the name is something else, or after an interrupt: what was committed before
    /// it stays.
    pub fn add_signals(
        &mut self,
        new: &NewSignals,
        context: &Context<'_>,
    ) -> Result<SignalsReport, Error> {
        let context = self.within(context);
        Ok(curate::add_signals(&mut self.writer, new, &context)?)
    }

    /// Gives stored signals up: documents that come get them no more, and what is indexed of them is deleted; metadata
    /// stay as they are. Refused while the recipe of a stored plan names one, unless `force`. Answers those plans.
    ///
    /// # Errors
    /// [`Error::Curate`] when one is not stored, or something depends on it.
    pub fn drop_signals(
        &mut self,
        signals: &[Signal],
        force: bool,
        context: &Context<'_>,
    ) -> Result<Vec<EpochRecord>, Error> {
        let named = |signal: &Signal| Ok((*signal, epoch::plans_naming(self.view(), signal.name)?));
        let named = signals.iter().map(named).collect::<Result<Vec<_>, Error>>()?;
        let numbers = |plans: &[EpochRecord]| plans.iter().map(|plan| plan.number).collect();
        let dropped: Vec<(Signal, Vec<u32>)> =
            named.iter().map(|(signal, plans)| (*signal, numbers(plans))).collect();
        let context = self.within(context);
        curate::drop_signals(&mut self.writer, &dropped, force, &context)?;
        let plans = named.into_iter().flat_map(|(_, plans)| plans);
        let once: BTreeMap<u32, EpochRecord> = plans.map(|plan| (plan.number, plan)).collect();
        Ok(once.into_values().collect())
    }
}
