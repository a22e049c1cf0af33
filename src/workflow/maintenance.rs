//! Checks a corpus, purges documents and proves it, renames sources, and drops fields and signals.

use crate::corpus::{Corpus, CorpusWriter};
use crate::curate::{
    self, Certificate, CertifiedOutput, ErasedName, NewSignals, PurgeReport, PurgeSelection,
    RemovalRequest, SearchPlace, SignalsReport, SourceRenameReport,
};
use crate::epoch;
use model::show::count;
use model::{Context, Error, ErrorKind, Hint, Standing};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use store::{self, CheckDepth, CheckFault, EpochRecord, View};
use text::signals::Signal;

/// Snapshots and plans that have documents, and expressions that quote them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Dependents {
    /// Names of snapshots, and how many of the documents each one shows as kept.
    pub snapshots: Vec<(String, u64)>,
    /// Numbers of stored plans, and how many of the documents each one draws.
    pub plans: Vec<(u32, u64)>,
    /// What quotes a text or a key of one: expressions of fields, recipes of plans, records of how tokenizers were
    /// made.
    pub quoted_by: Vec<String>,
}

impl Corpus {
    /// What is not as it must be; empty when all is well.
    ///
    /// # Errors
    /// [`Error`] when the check itself cannot run.
    pub fn check(
        &self,
        depth: CheckDepth,
        context: &Context<'_>,
    ) -> Result<Vec<CheckFault>, Error> {
        let mut faults = store::check(self.view(), (self.journal(), self.path()), depth, context)?;
        if depth == CheckDepth::Deep {
            match self.check_crafts(context) {
                Err(error) if error.is_interrupt() => return Err(error),
                Err(error) => {
                    let place = curate::family(&error).unwrap_or("check").to_owned();
                    faults.push(CheckFault { place, what: error.to_string() });
                }
                Ok(found) => faults.extend(found),
            }
            match epoch::check_marks(self.corpora()) {
                Ok(found) => faults.extend(found),
                Err(error) => {
                    let place = "epochs".to_owned();
                    faults.push(CheckFault { place, what: error.to_string() });
                }
            }
        }
        context.progress.end();
        Ok(faults)
    }

    /// What needs the crafts: of tokenizers and suites that cannot be loaded nothing can be compared.
    fn check_crafts(&self, context: &Context<'_>) -> Result<Vec<CheckFault>, Error> {
        let loaded = curate::load_all(self.view())?;
        let tokenizers: Vec<_> =
            loaded.iter().map(|loaded| (loaded.id, loaded.tokenizer.as_ref())).collect();
        curate::check(self.view(), &tokenizers, context)
    }

    /// The snapshots and stored plans that show any of these documents: what a purge of them takes something from.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) or [`EpochError`](crate::epoch::EpochError) when they cannot be read.
    pub fn shown_by(&self, documents: &RoaringTreemap) -> Result<Dependents, Error> {
        let quoted_by = curate::quoting(self.view(), documents, self.memory())?;
        Ok(Dependents { quoted_by, ..shown_by(self.view(), documents)? })
    }
}

impl CorpusWriter {
    /// Erases documents: removed first, they are then gone from every row and, since the files are rewritten, from the
    /// disk; their numbers stay. Equal texts, and what comes under their keys, are not stored again, unless the removal
    /// reaches nothing. A purge that was stopped is finished first, whatever is selected: nothing needs to be.
    ///
    /// Snapshots lose the documents, plans that draw them cannot be opened any more, and words in use that quote them are
    /// redacted ([`Dependents`]): refused while there are any, unless `force`. Call [`CorpusWriter::reopen`] afterwards:
    /// until then RocksDB's list of files may have single values of fields.
    ///
    /// # Errors
    /// [`Error`]: among them that snapshots or plans show some. Earlier commits stay, and the same call continues from
    /// there.
    pub fn purge(
        &mut self,
        selection: impl Into<PurgeSelection>,
        removal: impl Into<RemovalRequest>,
        force: bool,
        context: &Context<'_>,
    ) -> Result<PurgeReport, Error> {
        let PurgeSelection { documents, purged_before } = selection.into();
        let selection = &documents;
        let purged = self.view().documents_standing(Standing::Purged)?;
        let context = self.within(context);
        let left = curate::copies(self.view(), selection, &context)?;
        let outputs = self.corpus().outputs_with(selection, &context)?.len() as u64;
        let Dependents { snapshots, plans, .. } = shown_by(self.view(), &(selection - purged))?;
        if !force {
            let quoted_by = curate::quoting(self.view(), selection, self.memory())?;
            if !(snapshots.is_empty() && plans.is_empty() && quoted_by.is_empty()) {
                let dependents = Dependents { snapshots, plans, quoted_by };
                let names = curate::naming(self.view(), selection)?;
                let message = shown_words(&dependents, left.count(), &names);
                return Err(Error::of(ErrorKind::Failed, message).with_hint(Hint::text(
                    "`force=` purges them anyway: the snapshots lose them, the plans can no longer be opened, and quotes of them are redacted",
                )));
            }
        }
        let names_left = curate::naming(self.view(), selection)?;
        let loaded = curate::load_to_write(self.store())?;
        let mut report =
            curate::purge(self.store(), &loaded, selection, &removal.into(), &context)?;
        report.selected += purged_before;
        report.unchanged += purged_before;
        (report.copies_left, report.names_left) = (left, names_left);
        report.outputs = outputs;
        Ok(report)
    }

    /// Gives a source another name, in one commit: readers see the old one or the new one. What is recognised by the old
    /// name is recognised by the new one: a file that is ingested again under it finds its documents.
    ///
    /// Refused while a stored plan draws from it, and unless `force` while purged documents of it block records by
    /// their keys, which are not stored any more.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) when there is no such source, or the new name is taken or malformed;
    /// [`Error`] when something depends on the name. Then nothing is changed.
    pub fn rename_source(
        &mut self,
        old: &str,
        new: &str,
        force: bool,
        context: &Context<'_>,
    ) -> Result<SourceRenameReport, Error> {
        self.view().expect_source(old)?;
        if let Some(plan) = epoch::plans_of_source(self.view(), old)?.first() {
            return Err(Error::bad_input(format!(
                "plan {plan} draws from source `{old}`, and the hash of a plan includes the name; drop the plan first (`corpusdb epoch drop`)"
            )));
        }
        let context = self.within(context);
        curate::rename_source(self.store(), old, new, force, &context)
    }

    /// Gives a field up: no query sees it any more, and what is indexed of it is deleted; metadata stay as they are.
    /// Refused while the recipe of a stored plan names it, unless `force`. Answers those plans: they stay as they are.
    ///
    /// # Errors
    /// [`Error`] when there is no such field, or something depends on it.
    pub fn drop_field(
        &mut self,
        name: &str,
        force: bool,
        context: &Context<'_>,
    ) -> Result<Vec<EpochRecord>, Error> {
        let plans = epoch::plans_naming(self.view(), name)?;
        let numbers: Vec<u32> = plans.iter().map(|plan| plan.number).collect();
        let context = self.within(context);
        curate::drop_field(self.store(), name, &numbers, force, &context)?;
        Ok(plans)
    }

    /// Stores signals as fields: those of all stored documents now, and those of every document that comes from then
    /// on. They are seen from the last commit on; the same call continues where an interrupt stopped. What is stored by
    /// an earlier version of its rule is given up and computed again, unless the recipe of a stored plan names it.
    ///
    /// # Errors
    /// [`Error`] when a field of the name is something else, or after an interrupt:
    /// earlier commits stay.
    pub fn add_signals(
        &mut self,
        new: &NewSignals,
        context: &Context<'_>,
    ) -> Result<SignalsReport, Error> {
        let outdated = curate::outdated_signals(self.view(), &new.signals)?;
        for signal in &outdated {
            let plans = epoch::plans_naming(self.view(), signal.name)?;
            if let Some(plan) = plans.first() {
                return Err(Error::bad_input(format!(
                    "signal `{name}` is stored by the rule of an earlier release, and the recipe of plan {} selects by it: `corpusdb signals drop CORPUS {name} --force`, then add it again, to have the values of this release",
                    plan.number,
                    name = signal.name
                )));
            }
        }
        self.drop_signals(&outdated, false, context)?;
        let context = self.within(context);
        let mut report = curate::add_signals(self.store(), new, &context)?;
        report.outdated = outdated.iter().map(|signal| signal.name).collect();
        Ok(report)
    }

    /// Gives stored signals up: documents that come get them no more, and what is indexed of them is deleted; metadata
    /// stay as they are. Refused while the recipe of a stored plan names one, unless `force`. Answers those plans.
    ///
    /// # Errors
    /// [`Error`] when one is not stored, or something depends on it.
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
        curate::drop_signals(self.store(), &dropped, force, &context)?;
        let plans = named.into_iter().flat_map(|(_, plans)| plans);
        let once: BTreeMap<u32, EpochRecord> = plans.map(|plan| (plan.number, plan)).collect();
        Ok(once.into_values().collect())
    }
}

impl CorpusWriter {
    /// Proves what was purged of the corpus, ever: every row is read through the database, unpacked, and every file of
    /// the directory as it lies there, and searched for runs of the texts, keys, fields and token ids. Who writes is
    /// alone, so no file changes meanwhile. Writes the certificate to `file`, with every purged document; `time`
    /// (microseconds since 1970) goes into it. A purge must have been followed by [`CorpusWriter::reopen`], or by
    /// another opening.
    ///
    /// # Errors
    /// [`Error`] when rows or files cannot be read; what is found is in the answer.
    pub fn prove_purge(
        &mut self,
        file: Option<&Path>,
        time: Option<i64>,
        context: &Context<'_>,
    ) -> Result<Certificate, Error> {
        let context = self.within(context);
        // Entries beside the store are searched as files; once taken in, they no longer name what was purged.
        self.store().take_in_outputs()?;
        curate::rewrite_hidden(self.store(), &context)?;
        self.store().remove_old_reports();
        let root = self.path().to_owned();
        let store = self.store();
        let (corpus, twins) = (store.identity()?, store.living_copies()?);
        let tables = store.live_tables()?;
        let purged = self.view().documents_standing(Standing::Purged)?;
        let outputs = self.corpus().outputs_with(&purged, &context)?.into_iter();
        let outputs = outputs.map(CertifiedOutput::from).collect();
        let place = SearchPlace { root, corpus, tables, twins, outputs };
        let certificate = curate::certify(self.view(), place, time, &context)?;
        // Files are searched by path: those of another corpus would prove nothing.
        self.store().refuse_exchanged()?;
        if let Some(file) = file {
            curate::write_certificate(self.view(), &certificate, file)?;
        }
        Ok(certificate)
    }
}

/// Snapshots, plans and words that an error names; the rest is counted.
const NAMED: usize = 20;

/// What shows documents that are to be purged, which other documents hold the text of one, and which names hold a key or
/// a value.
fn shown_words(shown: &Dependents, copies: u64, names: &[ErasedName]) -> String {
    let Dependents { snapshots, plans, quoted_by } = shown;
    let mut what: Vec<String> = Vec::new();
    let named = snapshots.iter().take(NAMED);
    what.extend(named.map(|(name, documents)| format!("snapshot `{name}` keeps {documents}")));
    let named = plans.iter().take(NAMED);
    what.extend(named.map(|(number, documents)| format!("plan {number} draws {documents}")));
    let named = quoted_by.iter().take(NAMED);
    what.extend(named.map(|words| format!("{words} quotes one")));
    let more = (snapshots.len() + plans.len() + quoted_by.len()).saturating_sub(what.len());
    if more > 0 {
        what.push(format!("{more} more show some"));
    }
    let held = match copies {
        0 => String::new(),
        _ => format!(
            "; {} their text too (`copies=` takes these)",
            count(copies, "other document holds", "other documents hold")
        ),
    };
    let names: String = names.iter().take(NAMED).map(|name| format!("; {name}")).collect();
    format!("of these documents {}{held}{names}", what.join(", "))
}

/// Snapshots and plans alone.
fn shown_by(view: &View, documents: &RoaringTreemap) -> Result<Dependents, Error> {
    let mut shown =
        Dependents { plans: epoch::plans_drawing(view, documents)?, ..Dependents::default() };
    for snapshot in view.snapshots()? {
        let kept = view.snapshot_kept(&snapshot.name)?.intersection_len(documents);
        if kept > 0 {
            shown.snapshots.push((snapshot.name, kept));
        }
    }
    Ok(shown)
}
