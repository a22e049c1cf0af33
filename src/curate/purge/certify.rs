//! The search that a certificate tells of: every row and every file of a corpus, for what was purged.

use super::RUN_BYTES;
use super::certificate::{Certificate, Finding, SearchedFamily, SearchedFile, Shared};
use super::search::{CARRIED, Search};
use super::spellings::{self, DECODINGS};
use crate::curate::error::CurateError;
use crate::model::{Context, DocId, Standing, shown_timestamp};
use crate::store::{HashedRun, RunOf, StoreError, StoredRow, View, format_version};
use roaring::RoaringTreemap;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Findings, and documents with what they share, that are listed; the rest is counted.
const LISTED: usize = 1000;
/// Families whose rows have words of users and records, which may quote in any spelling.
const SPELLED: [&str; 6] = ["meta", "commits", "snapshots", "rejects", "metadata", "terms"];
/// Bytes of a file that are read at a time.
const BLOCK: usize = 1 << 20;

const fn name(of: RunOf) -> &'static str {
    match of {
        RunOf::Text => "text",
        RunOf::Key => "key",
        RunOf::Tokens => "tokens",
        RunOf::Metadata => "metadata",
    }
}

/// What is searched for at a time.
struct Group {
    owners: Vec<(DocId, RunOf)>,
    search: Search,
    /// By place in the list of runs.
    met: BTreeMap<usize, TraceHits>,
}

/// Where a run was met.
#[derive(Default)]
struct TraceHits {
    /// A document that was not purged and has it.
    with: Option<DocId>,
    /// Whether an item of a suite has it.
    in_suite: bool,
    /// In rows of purged documents, which are nobody else's.
    own: HitPlaces,
    /// Elsewhere.
    others: HitPlaces,
}

/// How often a run was met, and where first.
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

/// Searches every row of `view` and every file below `root`, which nobody may write to meanwhile, for what was purged.
/// `twins` are directories below it that other processes write to.
///
/// # Errors
/// [`CurateError`] when rows or files cannot be read.
pub fn certify(
    view: &View,
    root: &Path,
    twins: Vec<String>,
    time: Option<i64>,
    context: &Context<'_>,
) -> Result<Certificate, CurateError> {
    let purged = view.documents_standing(Standing::Purged)?;
    let identity = root.join("db").join("IDENTITY");
    let corpus =
        std::fs::read_to_string(&identity).map_err(StoreError::io("reading", &identity))?;
    let mut certificate = Certificate {
        r#type: "purge-certificate",
        release: env!("CARGO_PKG_VERSION"),
        format: format_version(),
        corpus: corpus.trim().to_owned(),
        commit: view.commit().0,
        time: time.map(shown_timestamp),
        purged: purged.len(),
        decodings: &DECODINGS,
        sketches: sketches(view, &purged)?,
        twins,
        ..Certificate::default()
    };
    let most = (context.memory / 16 / RUN_BYTES).max(1 << 12) as usize;
    let mut groups = Groups { view, next: 0, most };
    let mut is_first = true;
    loop {
        let (runs, owners) = groups.next(&mut certificate)?;
        if runs.is_empty() && !is_first {
            break;
        }
        let mut group = Group { owners, search: Search::of(runs.iter()), met: BTreeMap::new() };
        let families = search_rows(view, &purged, &mut group, context)?;
        let files = search_files(root, &mut group, context)?;
        if std::mem::take(&mut is_first) {
            (certificate.families, certificate.files) = (families, files);
        }
        group.tell(&mut certificate);
    }
    certificate.digest = crate::store::digest(view, context.progress)?;
    context.progress.end();
    Ok(certificate)
}

/// Purged documents whose sketches stay.
fn sketches(view: &View, purged: &RoaringTreemap) -> Result<u64, CurateError> {
    let mut count = 0;
    for document in purged.iter().map(DocId) {
        count += u64::from(view.sketch_of_owner(document)?.is_some());
    }
    Ok(count)
}

/// Hands out the runs of purged documents, a bounded number at a time.
struct Groups<'a> {
    view: &'a View,
    /// Commits with traces that were handed out.
    next: usize,
    most: usize,
}

type Runs = (Vec<HashedRun>, Vec<(DocId, RunOf)>);

impl Groups<'_> {
    fn next(&mut self, certificate: &mut Certificate) -> Result<Runs, CurateError> {
        let (mut runs, mut owners) = (Vec::new(), Vec::new());
        for traces in self.view.traces()?.skip(self.next) {
            if runs.len() >= self.most {
                break;
            }
            self.next += 1;
            for trace in traces?.1 {
                certificate.without_runs += u64::from(trace.runs.is_empty());
                certificate.runs += trace.runs.len() as u64;
                owners.extend(trace.runs.iter().map(|run| (trace.document, run.of)));
                runs.extend(trace.runs);
            }
        }
        Ok((runs, owners))
    }
}

impl Group {
    fn tell(self, certificate: &mut Certificate) {
        for (run, met) in self.met {
            let Some((document, of)) = self.owners.get(run) else { continue };
            let (document, of) = (document.0, name(*of));
            certificate.find(document, of, met.own);
            if let Some(with) = met.with {
                certificate.shared_runs += 1;
                if certificate.shared.len() < LISTED {
                    certificate.shared.push(Shared { document, of, with: with.0 });
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

/// Searches the rows of all families, unpacked.
fn search_rows(
    view: &View,
    purged: &RoaringTreemap,
    group: &mut Group,
    context: &Context<'_>,
) -> Result<Vec<SearchedFamily>, CurateError> {
    context.progress.begin("searching rows", None);
    let mut families: Vec<SearchedFamily> = Vec::new();
    let mut rows = 0_u64;
    view.for_each_stored(&mut |row: &StoredRow<'_>| {
        if families.last().is_none_or(|last| last.name != row.family) {
            let name = row.family.to_owned();
            families.push(SearchedFamily { name, ..SearchedFamily::default() });
        }
        if let Some(family) = families.last_mut() {
            family.rows += 1;
            family.bytes += (row.key.len() + row.value.len()) as u64;
        }
        rows += 1;
        if rows.is_multiple_of(1 << 14) && context.interrupt.is_raised() {
            return Err(StoreError::Interrupted);
        }
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
        let place = || {
            let key: String = row.key.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("row {key} of {}", row.family)
        };
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

/// Searches the files of the corpus directory, as they lie there.
fn search_files(
    root: &Path,
    group: &mut Group,
    context: &Context<'_>,
) -> Result<Vec<SearchedFile>, CurateError> {
    let mut paths = Vec::new();
    files_below(root, &mut paths)?;
    paths.sort_unstable();
    context.progress.begin("searching files", Some(paths.len() as u64));
    let mut files = Vec::new();
    for path in paths {
        files.push(search_file(root, &path, group, context)?);
        context.progress.advance(files.len() as u64);
    }
    Ok(files)
}

fn files_below(directory: &Path, paths: &mut Vec<PathBuf>) -> Result<(), CurateError> {
    let failed = || StoreError::io("reading", directory);
    for entry in std::fs::read_dir(directory).map_err(failed())? {
        let entry = entry.map_err(failed())?;
        let kind = entry.file_type().map_err(failed())?;
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
    group: &mut Group,
    context: &Context<'_>,
) -> Result<SearchedFile, CurateError> {
    let failed = || StoreError::io("reading", path);
    let shown = path.strip_prefix(root).unwrap_or(path).display().to_string();
    let mut file = File::open(path).map_err(failed())?;
    let mut hasher = blake3::Hasher::new();
    let mut buffer: Vec<u8> = Vec::with_capacity(BLOCK + CARRIED);
    let mut begins = 0_u64;
    loop {
        if context.interrupt.is_raised() {
            return Err(CurateError::Interrupted);
        }
        let carried = buffer.len().min(CARRIED);
        let dropped = buffer.len() - carried;
        buffer.drain(..dropped);
        begins += dropped as u64;
        let read = (&mut file).take(BLOCK as u64).read_to_end(&mut buffer).map_err(failed())?;
        if read == 0 {
            break;
        }
        hasher.update(buffer.get(carried..).unwrap_or_default());
        let Group { search, met, .. } = &mut *group;
        search.within(&buffer, carried, &mut |run, at| {
            let place = || format!("{shown} at byte {}", begins + at as u64);
            met.entry(run).or_default().others.at(place);
        });
    }
    let bytes = begins + buffer.len() as u64;
    Ok(SearchedFile { path: shown, bytes, blake3: hasher.finalize().to_hex().to_string() })
}
