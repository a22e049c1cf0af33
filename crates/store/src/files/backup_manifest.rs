//! The manifest of a backup: which moment of a corpus it is, and its files by the hash of their content.

use roaring::RoaringTreemap;
use serde::{Deserialize, Serialize};

/// Below which the files of all backups are.
pub(crate) const FILES: &str = "files/";

/// One moment of a corpus, as its backup has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupRecord {
    /// The commit that it ends with, which names it.
    pub commit: u64,
    /// Documents of the corpus then, of every standing.
    pub documents: u64,
    /// Store format of the corpus then.
    pub format: u32,
    /// The release that took it.
    pub release: String,
    /// Bytes of its files.
    pub bytes: u64,
    /// Documents that were purged by then: first and last number of each run of them, ascending.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub purged: Vec<(u64, u64)>,
    /// Its files, in order of their names.
    pub files: Vec<BackupFile>,
}

impl BackupRecord {
    /// Documents of this backup that `others` of the place say were purged since: a corpus restored of it has them again.
    #[must_use]
    pub fn purged_since(&self, others: &[Self]) -> RoaringTreemap {
        let purged = |of: &Self| {
            let mut documents = RoaringTreemap::new();
            for (first, last) in &of.purged {
                documents.insert_range(*first..=*last);
            }
            documents
        };
        let later = others.iter().filter(|other| other.commit > self.commit);
        let mut all = later.fold(RoaringTreemap::new(), |all, other| all | purged(other));
        all -= purged(self);
        all.remove_range(self.documents..);
        all
    }
}

/// The runs of documents, as a manifest has them.
pub(crate) fn runs(documents: &RoaringTreemap) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for document in documents {
        match runs.last_mut().filter(|(_, last)| *last + 1 == document) {
            Some((_, last)) => *last = document,
            None => runs.push((document, document)),
        }
    }
    runs
}

/// A file of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupFile {
    /// Its path in the corpus.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// blake3 of its bytes, in hexadecimal.
    pub blake3: String,
    /// blake3 of the end of a table, which names it: one that ends the same is not read again.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub tail: Option<String>,
}

/// What is wrong with a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
pub struct BackupFault {
    /// The commit that names it.
    pub commit: u64,
    /// The file, by its path in the corpus; `N.json` where it is the manifest.
    pub file: String,
    /// What is wrong with it, in words.
    pub what: String,
}

/// A manifest with its check sum.
#[derive(Serialize, Deserialize)]
struct SealedManifest {
    backup: BackupRecord,
    /// blake3 of `backup` as it is spelled here, without spaces.
    blake3: String,
}

/// The bytes of a manifest.
pub(crate) fn spelled(backup: BackupRecord) -> Vec<u8> {
    serde_json::to_vec_pretty(&SealedManifest::of(backup)).unwrap_or_default()
}

/// The manifest of a commit, or what is wrong with it.
pub(crate) fn parsed(bytes: &[u8], commit: u64) -> Result<BackupRecord, String> {
    let sealed: SealedManifest = serde_json::from_slice(bytes)
        .map_err(|error| format!("is not a manifest of a backup: {error}"))?;
    if SealedManifest::sum(&sealed.backup) != sealed.blake3 {
        return Err("was changed after it was written".to_owned());
    }
    if sealed.backup.commit != commit {
        return Err(format!("is that of commit {}", sealed.backup.commit));
    }
    match sealed.backup.files.iter().find(|file| !is_within(&file.name)) {
        Some(file) => Err(format!("names `{}`, which is not a path within a corpus", file.name)),
        None => Ok(sealed.backup),
    }
}

impl SealedManifest {
    fn of(backup: BackupRecord) -> Self {
        Self { blake3: Self::sum(&backup), backup }
    }

    fn sum(backup: &BackupRecord) -> String {
        blake3::hash(&serde_json::to_vec(backup).unwrap_or_default()).to_hex().to_string()
    }
}

/// Where the bytes of that hash stand.
pub(crate) fn place_of(blake3: &str) -> String {
    format!("{FILES}{}/{blake3}", blake3.get(..2).unwrap_or("00"))
}

/// Whether a name leads nowhere but into the corpus: `NAME`, or `db/NAME`.
fn is_within(name: &str) -> bool {
    let plain = |part: &str| {
        !part.is_empty() && part != "." && part != ".." && !part.contains(['/', '\\', '\0'])
    };
    plain(name.strip_prefix("db/").unwrap_or(name))
}
