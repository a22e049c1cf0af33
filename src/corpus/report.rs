//! The corpus as a data card tells it.

use super::Corpus;
use crate::model::{Context, Error};
use crate::report::{self, CorpusReport, DuplicatesReport, ReportOptions};

impl Corpus {
    /// Everything that a data card says of this corpus: sizes before and after dedup, lengths, duplicates, rejects,
    /// spreads of declared numbers, domains, commits, snapshots, and what a stored plan makes of it. A function of the
    /// commit and the options. Beside bitmaps of documents it holds some tens of MB, whatever the corpus holds; columns
    /// are read, the keys of kept documents, and the texts of two documents for each cluster shown.
    ///
    /// # Errors
    /// [`Error::Epoch`] for a plan that there is not, or that does not fit the corpus any more; [`Error::Query`] when
    /// rows cannot be read, or after the stop.
    pub fn report(
        &self,
        options: &ReportOptions,
        context: &Context<'_>,
    ) -> Result<CorpusReport, Error> {
        let path = std::path::absolute(self.path()).unwrap_or_else(|_| self.path().to_path_buf());
        let name = path.file_name().unwrap_or(path.as_os_str());
        Ok(report::report(self.corpora(), &name.to_string_lossy(), options, context.interrupt)?)
    }

    /// What dedup took away, as [`Corpus::report`] tells it: the same part alone.
    ///
    /// # Errors
    /// [`Error::Query`] for sources by the thousand that have duplicates of each other, or when rows cannot be read.
    pub fn report_duplicates(&self, options: &ReportOptions) -> Result<DuplicatesReport, Error> {
        Ok(report::duplicates(self.view(), options)?)
    }
}
