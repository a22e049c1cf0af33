//! Puts outputs on record: whatever takes documents out of a corpus leaves an entry in it, even a reader.

use super::Corpus;
use files::remote::{is_remote, without_secrets};
use model::Error;
use std::path::Path;
use store::{BackupReport, OutputKind, OutputRecord};

impl Corpus {
    /// Puts an output on record: as a file of the corpus, which the next writer takes in. Answers its number in the table
    /// `outputs`.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) where nobody may write to the corpus: the output is not on record.
    pub(crate) fn put_on_record(&self, record: &OutputRecord) -> Result<u32, Error> {
        Ok(self.view().leave_output(record)?)
    }

    /// Puts a backup on record that was taken of this corpus: where it lies, and the commit that names it. `time` is in
    /// microseconds since 1970. Answers its number in the table `outputs`.
    ///
    /// # Errors
    /// [`StoreError`](crate::store::StoreError) where nobody may write to the corpus: the backup is not on record.
    pub fn record_backup(
        &self,
        place: &Path,
        report: &BackupReport,
        time: Option<i64>,
    ) -> Result<u32, Error> {
        self.put_on_record(&OutputRecord {
            kind: OutputKind::Backup,
            destination: shown_destination(place),
            commit: report.commit,
            time,
            ..OutputRecord::default()
        })
    }
}

/// Where an output goes, for readers elsewhere: an absolute path, or an address without its secrets.
pub(crate) fn shown_destination(to: &Path) -> String {
    let given = to.to_string_lossy();
    if is_remote(&given) {
        return without_secrets(&given);
    }
    std::path::absolute(to).map_or_else(|_| given.into_owned(), |path| path.display().to_string())
}
