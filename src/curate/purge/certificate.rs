//! The certificate of a purge: what was searched and found, and the file that says so.

use crate::curate::error::CurateError;
use crate::model::shown_timestamp;
use crate::output::OutputFile;
use crate::store::{StoreError, View};
use serde::Serialize;
use std::io::Write;
use std::path::Path;

/// What a search for purged documents came to. [`Certificate::is_clean`] is the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Certificate {
    /// `purge-certificate`.
    pub r#type: &'static str,
    /// The release that searched.
    pub release: &'static str,
    /// The store format.
    pub format: u32,
    /// The identity of the database, which it has from its making on.
    pub corpus: String,
    /// The commit that was searched.
    pub commit: u64,
    /// `check --digest` of it.
    pub digest: String,
    /// When, in UTC, as the program said that asked for it.
    pub time: Option<String>,
    /// Purged documents.
    pub purged: u64,
    /// Runs of 32, 16 or 8 bytes of their texts, keys, fields and stored token ids that were searched for.
    pub runs: u64,
    /// Purged documents of which nothing is long enough to be told from chance: no run of them was searched for.
    pub without_runs: u64,
    /// Rows that were read through the database, unpacked, by family.
    pub families: Vec<SearchedFamily>,
    /// Files of the corpus directory that were searched as they lie there.
    pub files: Vec<SearchedFile>,
    /// The spellings in which runs were searched for in words of users and records: metadata, rejected records, values
    /// of fields, records of commits. Texts and files were searched as they are.
    pub decodings: &'static [&'static str],
    /// Sketches of purged documents that stay, of 256 bytes each: what is similar to these documents is blocked.
    pub sketches: u64,
    /// Directories of dry runs under way, which show an earlier moment: their tables are not searched.
    pub twins: Vec<String>,
    /// Runs that stored documents have too, which were not purged: they are theirs, but where they were found in what
    /// is a purged document's own.
    pub shared_runs: u64,
    /// The first of these.
    pub shared: Vec<Shared>,
    /// Runs that items of suites have too, and no stored document: they are the suites', wherever they were found.
    pub suite_runs: u64,
    /// Places where a run was found that no stored document has.
    pub found: u64,
    /// The first of these.
    pub findings: Vec<Finding>,
}

impl Certificate {
    /// Whether all was searched, and nothing of the purged documents was found that is not of others too.
    #[must_use]
    pub const fn is_clean(&self) -> bool {
        self.found == 0 && self.twins.is_empty()
    }
}

/// A family whose rows were searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SearchedFamily {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Bytes of their keys and values; of texts, unpacked.
    pub bytes: u64,
}

/// A file that was searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SearchedFile {
    /// Its path within the corpus directory.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// blake3 of its bytes, in hexadecimal.
    pub blake3: String,
}

/// A run of a purged document that another one has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Shared {
    /// The purged document.
    pub document: u64,
    /// What of it: `text`, `key`, `tokens` or `metadata`.
    pub of: &'static str,
    /// A document that has it too, and was not purged.
    pub with: u64,
}

/// A run of a purged document that no stored document has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The purged document.
    pub document: u64,
    /// What of it: `text`, `key`, `tokens` or `metadata`.
    pub of: &'static str,
    /// Where: a family and a key in hexadecimal, or a file and an offset.
    pub place: String,
}

/// A purged document, as a certificate names it.
#[derive(Serialize)]
struct Told<'a> {
    id: u64,
    commit: u64,
    time: Option<String>,
    reason: Option<&'a str>,
    text_hash: String,
    key_hash: Option<String>,
    runs: usize,
}

/// Writes a certificate with every purged document: under another name first, so that a file of that name is whole.
///
/// # Errors
/// [`CurateError`] when rows cannot be read or the file cannot be written.
pub fn write_certificate(
    view: &View,
    certificate: &Certificate,
    path: &Path,
) -> Result<(), CurateError> {
    let failed = || StoreError::io("writing", path);
    let json = |error: serde_json::Error| failed()(std::io::Error::from(error));
    let mut out = OutputFile::judge(path)?.create()?;
    let head = serde_json::to_string_pretty(certificate).map_err(json)?;
    let head = head.strip_suffix("\n}").unwrap_or(&head);
    write!(out, "{head},\n  \"clean\": {},\n  \"documents\": [", certificate.is_clean())
        .map_err(failed())?;
    let mut separator = "\n    ";
    for traces in view.traces()? {
        let (commit, traces) = traces?;
        let record = view.commit_record(commit)?.unwrap_or_default();
        for trace in traces {
            let told = Told {
                id: trace.document.0,
                commit: commit.0,
                time: record.time.map(shown_timestamp),
                reason: record.reason.as_deref(),
                text_hash: hexadecimal(&trace.raw),
                key_hash: trace.identity.as_ref().map(|hash| hexadecimal(hash)),
                runs: trace.runs.len(),
            };
            let line = serde_json::to_string(&told).map_err(json)?;
            write!(out, "{separator}{line}").map_err(failed())?;
            separator = ",\n    ";
        }
    }
    writeln!(out, "\n  ]\n}}").map_err(failed())?;
    Ok(out.finish()?)
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
