//! The certificate of a purge: searches every row and every file for erased bytes, and reports what it found.

use super::TOUCHED;
use super::spellings::{self, DECODINGS};
use super::traces::{CARRIED, TraceSearch};
use files::output::{OutputError, OutputFile};
use model::invariant::part;
use model::{
    Context, DocId, Error, ErrorKind, FileId, Interrupted, IoError, SourceId, Standing,
    hexadecimal, shown_timestamp,
};
use roaring::RoaringTreemap;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use store::{LiveTable, OutputKind, StoredRow, TracePart, TraceRun, View, format_version};

/// Findings, and documents with what they share, that are listed; the rest is counted.
const LISTED: usize = 1000;
/// Families whose rows have words of users and records, which may quote in any spelling.
const SPELLED: [&str; 8] =
    ["meta", "commits", "tokenizers", "snapshots", "epochs", "rejects", "metadata_pages", "terms"];
/// Bytes of a file that are read at a time.
const BLOCK: usize = 1 << 20;

/// The result of a search for purged documents. `clean` is the answer.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Certificate {
    /// `purge-certificate`.
    pub r#type: &'static str,
    /// The release that searched.
    pub release: &'static str,
    /// The store format.
    pub format: u32,
    /// The identity of the database, which never changes.
    pub corpus: String,
    /// The commit that was searched.
    pub commit: u64,
    /// `check --digest` of it.
    pub digest: String,
    /// The time in UTC, by the caller's clock.
    pub time: Option<String>,
    /// Purged documents.
    pub purged: u64,
    /// Runs of 32, 16 or 8 bytes of their texts, keys, fields and stored token ids that were searched for.
    pub runs: u64,
    /// Purged documents too short for a run that is not chance: they were not searched for.
    pub without_runs: u64,
    /// Rows that were read through the database, unpacked, by family.
    pub families: Vec<SearchedFamily>,
    /// Files of the corpus directory that were searched as raw bytes.
    pub files: Vec<SearchedFile>,
    /// The spellings in which runs were searched for in words of users and records: metadata, rejected records, values
    /// of fields, records of commits. Texts and files were searched without decoding.
    pub decodings: &'static [&'static str],
    /// Sketches of purged documents that stay, of 256 bytes each, to block similar texts.
    pub sketches: u64,
    /// The present normaliser of the corpus. A sketch that stays has the version at the purge, and blocks texts that
    /// are similar by that version.
    pub normaliser: String,
    /// Paths of files from which purged documents without a key were read: the place of such a document stays stored.
    pub kept_paths: u64,
    /// The first of these.
    pub paths: Vec<String>,
    /// Directories of dry runs, openings and backups in progress, which have an earlier state: their tables are not
    /// searched.
    pub twins: Vec<String>,
    /// Tables below the directory that are none of the database's: their rows are not searched.
    pub other_tables: Vec<String>,
    /// Outputs on record that had a purged document, or may have had: what left the corpus is not erased with it.
    pub outputs: Vec<CertifiedOutput>,
    /// Documents that hold a purged text byte for byte, of every standing: a purge of all copies takes these too.
    pub copies_left: u64,
    /// The first of these.
    pub copies: Vec<u64>,
    /// Runs that also occur in documents that were not purged; they are ignored, except in the purged document's own
    /// rows.
    pub shared_runs: u64,
    /// The first of these.
    pub shared: Vec<SharedTrace>,
    /// Runs that also occur in items of suites, and in no stored document; they are ignored everywhere.
    pub suite_runs: u64,
    /// Places where a run was found that no stored document has.
    pub found: u64,
    /// The first of these.
    pub findings: Vec<Finding>,
    /// The answer: all was searched, and nothing of the purged documents was found that is not of others too.
    pub clean: bool,
    /// Verbs that mend names, and records, in which some of these are.
    pub mended_by: Vec<&'static str>,
}

impl Certificate {
    fn is_clean(&self) -> bool {
        let has_hidden = |family: &SearchedFamily| {
            let is_word = TOUCHED.contains(&family.name.as_str());
            self.purged > 0 && is_word && family.entries > family.rows
        };
        self.found == 0
            && self.twins.is_empty()
            && self.other_tables.is_empty()
            && !self.families.iter().any(has_hidden)
    }
}

/// An output that had purged documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct CertifiedOutput {
    /// Its number in the table `outputs`.
    pub number: u32,
    /// `export`, `epoch`, `stream` or `backup`.
    pub kind: OutputKind,
    /// Where it went.
    pub destination: String,
    /// How many purged documents it had, or may have had.
    pub documents: u64,
    /// Whether it had them; otherwise it may have had them.
    pub certain: bool,
}

/// A family whose rows were searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SearchedFamily {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Entries of its tables: more than rows where newer ones hide some, or deletions are among them.
    pub entries: u64,
    /// Bytes of their keys and values; of texts, unpacked.
    pub bytes: u64,
}

/// A file that was searched.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SearchedFile {
    /// Its path within the corpus directory.
    pub path: String,
    /// Its length.
    pub bytes: u64,
    /// blake3 of its bytes, in hexadecimal.
    pub blake3: String,
}

/// A run of a purged document that another document has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SharedTrace {
    /// The purged document.
    pub document: u64,
    /// The part of it: `text`, `key`, `tokens` or `metadata`.
    pub of: &'static str,
    /// A document that also has it and was not purged.
    pub with: u64,
}

/// A run of a purged document that no stored document has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// The purged document.
    pub document: u64,
    /// The part of it: `text`, `key`, `tokens` or `metadata`.
    pub of: &'static str,
    /// Where: a family and a key in hexadecimal, or a file and an offset.
    pub place: String,
}

impl Certificate {
    fn find(&mut self, document: u64, of: &'static str, places: HitPlaces) {
        self.found += places.times;
        for place in places.first {
            if self.findings.len() < LISTED {
                self.findings.push(Finding { document, of, place });
            }
        }
    }
}

/// A purged document, as a certificate names it.
#[derive(Serialize)]
struct CertifiedDocument<'a> {
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
/// [`Error`] when rows cannot be read or the file cannot be written.
pub fn write_certificate(view: &View, certificate: &Certificate, path: &Path) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from(IoError::of("writing", path)(error));
    let refused = |error: OutputError| Error::new(ErrorKind::Failed, error);
    let json = |error: serde_json::Error| failed(error.into());
    let mut out = OutputFile::judge(path).and_then(OutputFile::create).map_err(refused)?;
    let head = serde_json::to_string_pretty(certificate).map_err(json)?;
    let head = head.strip_suffix("\n}").unwrap_or(&head);
    write!(out, "{head},\n  \"documents\": [").map_err(failed)?;
    let mut separator = "\n    ";
    for traces in view.traces()? {
        let (commit, traces) = traces?;
        let record = view.commit_record(commit)?.unwrap_or_default();
        for trace in traces {
            let told = CertifiedDocument {
                id: trace.document.0,
                commit: commit.0,
                time: record.time.map(shown_timestamp),
                reason: record.reason.as_deref(),
                text_hash: hexadecimal(&trace.raw),
                key_hash: trace.identity.as_ref().map(|hash| hexadecimal(hash)),
                runs: trace.runs.len(),
            };
            let line = serde_json::to_string(&told).map_err(json)?;
            write!(out, "{separator}{line}").map_err(failed)?;
            separator = ",\n    ";
        }
    }
    writeln!(out, "\n  ]\n}}").map_err(failed)?;
    out.finish().map_err(refused)
}

const fn name(of: TracePart) -> &'static str {
    match of {
        TracePart::Text => "text",
        TracePart::Key => "key",
        TracePart::Tokens => "tokens",
        TracePart::Metadata => "metadata",
    }
}

/// The traces that are searched for at a time.
struct TraceGroup {
    owners: Vec<(DocId, TracePart)>,
    search: TraceSearch,
    /// Hits by place in the list of runs.
    met: BTreeMap<usize, TraceHits>,
}

/// The places where a run was found.
#[derive(Default)]
struct TraceHits {
    /// A document that was not purged and has it.
    with: Option<DocId>,
    /// Whether an item of a suite has it.
    in_suite: bool,
    /// Hits in rows of purged documents, which belong to no other document.
    own: HitPlaces,
    /// Hits in all other places.
    others: HitPlaces,
}

/// How often a run was found, and where first.
#[derive(Default)]
struct HitPlaces {
    times: u64,
    first: Vec<String>,
}

impl HitPlaces {
    fn at(&mut self, place: impl FnOnce() -> String) {
        self.times += 1;
        if self.first.len() < 3 {
            self.first.push(place());
        }
    }
}

/// Where a certificate searches.
pub struct SearchPlace {
    /// The directory of the corpus.
    pub root: PathBuf,
    /// The identity of the corpus.
    pub corpus: String,
    /// The tables of the database.
    pub tables: Vec<LiveTable>,
    /// Directories below it that other processes write to.
    pub twins: Vec<String>,
    /// Outputs on record that had purged documents.
    pub outputs: Vec<CertifiedOutput>,
}

/// Searches every row of `view` and every file below `root`, which nobody may write to meanwhile, for what was purged.
/// Families of numbers and hashes may have entries that newer ones hide.
///
/// # Errors
/// [`Error`] when rows or files cannot be read.
pub fn certify(
    view: &View,
    place: SearchPlace,
    time: Option<i64>,
    context: &Context<'_>,
) -> Result<Certificate, Error> {
    let purged = view.documents_standing(Standing::Purged)?;
    let SearchPlace { root, corpus, tables, twins, outputs } = place;
    let mut certificate = Certificate {
        r#type: "purge-certificate",
        release: env!("CARGO_PKG_VERSION"),
        format: format_version(),
        corpus,
        commit: view.commit().0,
        time: time.map(shown_timestamp),
        purged: purged.len(),
        decodings: &DECODINGS,
        sketches: sketches(view, &purged)?,
        normaliser: view.policy().normaliser.name().to_owned(),
        twins,
        outputs,
        ..Certificate::default()
    };
    let most = TraceSearch::capacity(context.memory);
    let mut groups =
        TraceGroups { view, next: 0, most, files: BTreeSet::new(), texts: BTreeSet::new() };
    let mut is_first = true;
    loop {
        let (runs, owners) = groups.next(&mut certificate)?;
        if runs.is_empty() && !is_first {
            break;
        }
        groups.copies(&purged, &mut certificate)?;
        let mut group =
            TraceGroup { owners, search: TraceSearch::of(runs.iter()), met: BTreeMap::new() };
        let mut families = search_rows(view, &purged, &mut group, context)?;
        let files = search_files(&root, &mut group, context)?;
        if std::mem::take(&mut is_first) {
            for family in &mut families {
                let own = tables.iter().filter(|table| table.family == family.name);
                family.entries = own.map(|table| table.entries).sum();
            }
            let is_live = |file: &&SearchedFile| tables.iter().any(|table| table.path == file.path);
            let others = files.iter().filter(|file| file.path.ends_with(".sst") && !is_live(file));
            certificate.other_tables = others.map(|file| file.path.clone()).collect();
            (certificate.families, certificate.files) = (families, files);
        }
        group.tell(&mut certificate);
    }
    certificate.mended_by = mended_by(&certificate.findings);
    certificate.kept_paths = groups.files.len() as u64;
    for (source, file) in groups.files.into_iter().take(LISTED) {
        certificate.paths.extend(view.file_path(source, file)?);
    }
    certificate.digest = store::digest(view, context)?;
    certificate.clean = certificate.is_clean();
    context.progress.end();
    Ok(certificate)
}

/// The verbs that mend the names, and records, in which something was found. The paths of files have none.
fn mended_by(findings: &[Finding]) -> Vec<&'static str> {
    let verbs = [
        // The key ends with the file, of which a source has number 0.
        ("00000000 of sources", "source rename"),
        (" of snapshots", "snapshot rename"),
        (" of suites", "contamination drop"),
        (" of rejects", "rejects"),
    ];
    let is_there = |place: &str| findings.iter().any(|finding| finding.place.ends_with(place));
    verbs.iter().filter(|(place, _)| is_there(place)).map(|(_, verb)| *verb).collect()
}

/// Purged documents whose sketches stay.
fn sketches(view: &View, purged: &RoaringTreemap) -> Result<u64, Error> {
    let mut count = 0;
    for document in purged.iter().map(DocId) {
        count += u64::from(view.sketch_of_owner(document)?.is_some());
    }
    Ok(count)
}

/// Hands out the runs of purged documents, a bounded number at a time.
struct TraceGroups<'a> {
    view: &'a View,
    /// Commits with traces that were handed out.
    next: usize,
    most: usize,
    /// Files that documents without a key were read from.
    files: BTreeSet<(SourceId, FileId)>,
    /// Hashes of the texts whose runs were handed out last.
    texts: BTreeSet<[u8; 16]>,
}

type OwnedTraceRuns = (Vec<TraceRun>, Vec<(DocId, TracePart)>);

impl TraceGroups<'_> {
    fn next(&mut self, certificate: &mut Certificate) -> Result<OwnedTraceRuns, Error> {
        let (mut runs, mut owners) = (Vec::new(), Vec::new());
        for traces in self.view.traces()?.skip(self.next) {
            if runs.len() >= self.most {
                break;
            }
            self.next += 1;
            for trace in traces?.1 {
                if trace.identity.is_none() {
                    let place = self.view.place(trace.document)?;
                    self.files.insert((place.source, place.file));
                }
                self.texts.insert(trace.raw);
                certificate.without_runs += u64::from(trace.runs.is_empty());
                certificate.runs += trace.runs.len() as u64;
                owners.extend(trace.runs.iter().map(|run| (trace.document, run.of)));
                runs.extend(trace.runs);
            }
        }
        Ok((runs, owners))
    }

    /// Counts the documents that hold one of these texts.
    fn copies(
        &mut self,
        purged: &RoaringTreemap,
        certificate: &mut Certificate,
    ) -> Result<(), Error> {
        let texts = std::mem::take(&mut self.texts);
        if texts.is_empty() {
            return Ok(());
        }
        for row in self.view.prints(0..self.view.documents())? {
            let (document, print) = row?;
            if texts.contains(&print.raw)
                && !purged.contains(document.0)
                && self.view.text_bytes(document)? > 0
            {
                certificate.copies_left += 1;
                if certificate.copies.len() < LISTED {
                    certificate.copies.push(document.0);
                }
            }
        }
        Ok(())
    }
}

impl TraceGroup {
    fn tell(self, certificate: &mut Certificate) {
        for (run, met) in self.met {
            let Some((document, of)) = self.owners.get(run) else { continue };
            let (document, of) = (document.0, name(*of));
            certificate.find(document, of, met.own);
            if let Some(with) = met.with {
                certificate.shared_runs += 1;
                if certificate.shared.len() < LISTED {
                    certificate.shared.push(SharedTrace { document, of, with: with.0 });
                }
                continue;
            }
            if met.in_suite {
                certificate.suite_runs += 1;
                continue;
            }
            certificate.find(document, of, met.others);
        }
    }
}

/// Searches the rows of all families, unpacked.
fn search_rows(
    view: &View,
    purged: &RoaringTreemap,
    group: &mut TraceGroup,
    context: &Context<'_>,
) -> Result<Vec<SearchedFamily>, Error> {
    context.progress.begin("searching rows", None);
    let mut families: Vec<SearchedFamily> = Vec::new();
    let mut rows = 0_u64;
    view.for_each_row(&mut |row: &StoredRow<'_>| {
        if families.last().is_none_or(|last| last.name != row.family) {
            let name = row.family.to_owned();
            families.push(SearchedFamily { name, ..SearchedFamily::default() });
        }
        if let Some(family) = families.last_mut() {
            family.rows += u64::from(row.is_stored);
            family.bytes += (row.key.len() + row.value.len()) as u64;
        }
        if rows.is_multiple_of(1 << 14) && context.interrupt.is_raised() {
            return Err(Interrupted::default().into());
        }
        rows += 1;
        let mut here = Vec::new();
        let mut find = |bytes: &[u8]| {
            group.search.within(bytes, 0, &mut |run, _| here.push(run));
            false
        };
        find(row.key);
        if SPELLED.contains(&row.family) {
            spellings::any(row.value, &mut find);
        } else {
            find(row.value);
        }
        if here.is_empty() {
            return Ok(());
        }
        let document = view.document_of(row)?;
        let place = || format!("row {} of {}", hexadecimal(row.key), row.family);
        for run in here {
            let met = group.met.entry(run).or_default();
            met.in_suite |= row.is_suite_item();
            match document {
                Some(document) if purged.contains(document.0) => met.own.at(place),
                Some(other) => met.with = met.with.or(Some(other)),
                None => met.others.at(place),
            }
        }
        Ok(())
    })?;
    Ok(families)
}

/// Searches the files of the corpus directory, as they are.
fn search_files(
    root: &Path,
    group: &mut TraceGroup,
    context: &Context<'_>,
) -> Result<Vec<SearchedFile>, Error> {
    let mut paths = Vec::new();
    files_below(root, &mut paths)?;
    paths.sort_unstable();
    context.progress.begin("searching files", Some(paths.len() as u64));
    let mut files = Vec::new();
    for path in paths {
        files.extend(search_file(root, &path, group, context)?);
        context.progress.advance(files.len() as u64);
    }
    Ok(files)
}

fn files_below(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<(), Error> {
    let failed = |error: io::Error| Error::from(IoError::of("reading", directory)(error));
    for entry in std::fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let kind = entry.file_type().map_err(failed)?;
        if kind.is_dir() {
            files_below(&entry.path(), paths)?;
        } else if kind.is_file() {
            paths.push(entry.path());
        }
    }
    Ok(())
}

fn search_file(
    root: &Path,
    path: &Path,
    group: &mut TraceGroup,
    context: &Context<'_>,
) -> Result<Option<SearchedFile>, Error> {
    let failed = |error: io::Error| Error::from(IoError::of("reading", path)(error));
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut file = match File::open(path) {
        Ok(file) => file,
        // RocksDB deletes a table that is none any more when it likes.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let mut hasher = blake3::Hasher::new();
    let mut buffer: Vec<u8> = Vec::with_capacity(BLOCK + CARRIED);
    let mut begins = 0_u64;
    loop {
        context.check_interrupt()?;
        let carried = buffer.len().min(CARRIED);
        let dropped = buffer.len() - carried;
        buffer.drain(..dropped);
        begins += dropped as u64;
        let read = (&mut file).take(BLOCK as u64).read_to_end(&mut buffer).map_err(failed)?;
        if read == 0 {
            break;
        }
        hasher.update(part(&buffer, carried..));
        let TraceGroup { search, met, .. } = &mut *group;
        search.within(&buffer, carried, &mut |run, at| {
            let place = || format!("{shown} at byte {}", begins + at as u64);
            met.entry(run).or_default().others.at(place);
        });
    }
    let bytes = begins + buffer.len() as u64;
    Ok(Some(SearchedFile { path: shown, bytes, blake3: hasher.finalize().to_hex().to_string() }))
}
