//! Proves an export against its plan and the store, from the files alone.
//!
//! Files are read by their formats; what a row must hold is decided here position by position (`row`, `columns`), its
//! ids document by document (`ids`), that every document comes as often as it should by `passes`; `audit` takes the
//! rows through all of these and compares them with the plan's. Each property is a named check; none stops the others.

mod audit;
mod checks;
mod columns;
mod ids;
mod passes;
mod row;

pub use checks::{PropertyCheck, Verification};

use crate::corpus::Corpora;
use crate::epoch::error::EpochError;
use crate::epoch::plan::{Plan, PlanHeader};
use crate::epoch::rows::OpenPurpose;
use crate::epoch::run::{BatchCursor, BatchSampler, EpochIndex, OpenPlan};
use crate::epoch::write::{Manifest, ManifestFile, row_spec};
use audit::Audit;
use checks::{CheckList, Property};
use files::output::{DirectoryReader, ShardReadError};
use model::{Context, Interrupt, IoError};
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read;
use std::path::Path;

/// Re-reads the export in `dir` and checks it against its plan and the store. Progress is counted in
/// tokens.
///
/// # Errors
/// [`EpochError::Files`] when no epoch was built in `dir`, [`EpochError::Io`] when it cannot be read,
/// [`EpochError::Stale`] when the store is not the plan's, [`EpochError::Store`]. Whatever is wrong with the export is
/// a failed check.
pub fn verify(
    corpora: &Corpora,
    planned: &Plan,
    dir: &Path,
    context: &Context<'_>,
) -> Result<Verification, EpochError> {
    let plan = &planned.plan;
    let Context { progress, interrupt, .. } = *context;
    let mut checks = CheckList::default();
    let manifest_path = Manifest::path(dir);
    let written = Manifest::read_bytes(dir, &manifest_path)?;
    let manifest = match parse_manifest(&written, plan) {
        Ok(manifest) => manifest,
        Err(why) => {
            checks.fail(Property::Manifest, why);
            return Ok(checks.verdict(0, 0));
        }
    };
    check_listing(dir, &manifest_path, &manifest, &mut checks)?;
    let mut files = hash_files(dir, &manifest, &mut checks, interrupt);
    interrupt.check()?;

    // What the files are compared with must follow from the plan alone.
    let opened =
        OpenPlan::open(corpora, &planned.without_checkpoints(), OpenPurpose::Give, interrupt)?;
    let sampler = BatchSampler::of(plan);
    let marks = EpochIndex::of(&opened, &sampler, manifest.epoch, interrupt)?;
    let mut rows = BatchCursor::at(&opened, &sampler, &marks, 0)?;
    let mut audit = Audit::new(&opened, &sampler, &marks)?;
    progress.begin("verify", Some(manifest.totals.tokens));
    let format = plan.recipe.output.file_format();
    match format.open(&row_spec(&opened, 0), dir) {
        Ok(reader) => {
            read_shards(dir, &*reader, &mut audit, (&mut rows, &mut files), &mut checks, context)?;
        }
        Err(error) => checks.fail(Property::Files, why(error)),
    }
    let mut missing = 0_u64;
    while rows.next_row()?.is_some() {
        missing += 1;
    }
    if missing > 0 {
        checks.fail(Property::Order, format!("{missing} rows of the plan are not in the files"));
    }
    audit.finish(&mut checks)?;
    if !marks.ends_where_next_begins(&opened, &sampler)? {
        let why = "the epoch does not end where the next one begins: rows between them are lost";
        checks.fail(Property::Conservation, why.to_owned());
    }
    let recomputed = Manifest::new(plan, &marks, &audit.counts, files).to_json();
    checks.note(Property::Manifest, 1);
    if recomputed.as_bytes() != written {
        checks.fail(
            Property::Manifest,
            first_difference(&recomputed, &String::from_utf8_lossy(&written)),
        );
    }
    Ok(checks.verdict(audit.rows, audit.tokens))
}

/// Why files could not be read.
fn why(error: ShardReadError) -> String {
    match error {
        ShardReadError::Malformed(why) => why,
        ShardReadError::Failed(error) => error.to_string(),
    }
}

/// Takes the rows of all shards through the checks, and counts them in `files`.
fn read_shards(
    dir: &Path,
    reader: &dyn DirectoryReader,
    audit: &mut Audit<'_>,
    (rows, files): (&mut BatchCursor, &mut [ManifestFile]),
    checks: &mut CheckList,
    context: &Context<'_>,
) -> Result<(), EpochError> {
    let places = files.iter().enumerate().map(|(at, file)| (file.name.clone(), at));
    let places: BTreeMap<String, usize> = places.collect();
    for shard in 0.. {
        let names = reader.shard_files(shard);
        if !names.iter().any(|name| dir.join(name).exists()) {
            break;
        }
        let before = audit.rows;
        match reader.open_shard(shard) {
            Ok(mut shard) => {
                if let Some(error) = audit.read_shard(&mut *shard, rows, checks, context)? {
                    checks.fail(Property::Files, why(error));
                }
            }
            Err(error) => checks.fail(Property::Files, why(error)),
        }
        for place in names.iter().filter_map(|name| places.get(name)) {
            if let Some(file) = files.get_mut(*place) {
                file.rows = audit.rows - before;
            }
        }
    }
    Ok(())
}

fn parse_manifest(bytes: &[u8], plan: &PlanHeader) -> Result<Manifest, String> {
    let text = std::str::from_utf8(bytes)
        .map_err(|error| format!("the manifest is not UTF-8: {error}"))?;
    let manifest = Manifest::from_json(text).map_err(|error| error.to_string())?;
    if manifest.plan != plan.hash_hex() {
        return Err(format!(
            "was written from plan {}, this is plan {}",
            manifest.plan,
            plan.hash_hex()
        ));
    }
    plan.check_feasible(manifest.epoch)
        .map_err(|_| format!("the plan has no epoch {}", manifest.epoch))?;
    Ok(manifest)
}

fn check_listing(
    dir: &Path,
    manifest_path: &Path,
    manifest: &Manifest,
    checks: &mut CheckList,
) -> Result<(), EpochError> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(dir).map_err(IoError::of("reading", dir))? {
        let entry = entry.map_err(IoError::of("reading", dir))?;
        found.insert(entry.file_name().to_string_lossy().into_owned());
    }
    let listed: BTreeSet<&str> = manifest.files.iter().map(|file| file.name.as_str()).collect();
    // Earlier releases wrote it into the directory.
    for name in found.iter().filter(|name| dir.join(name) != manifest_path) {
        if !listed.contains(name.as_str()) {
            checks.fail(Property::Files, format!("{name} is not in the manifest"));
        }
    }
    for file in &manifest.files {
        checks.note(Property::Files, 1);
        if !found.contains(&file.name) {
            checks.fail(Property::Files, format!("{} is missing", file.name));
        }
    }
    Ok(())
}

/// Hashes the files of the manifest; those that can be read, with no rows yet.
fn hash_files(
    dir: &Path,
    manifest: &Manifest,
    checks: &mut CheckList,
    interrupt: &Interrupt,
) -> Vec<ManifestFile> {
    let hash = |file: &ManifestFile| {
        let mut hasher = blake3::Hasher::new();
        let bytes = fs::File::open(dir.join(&file.name))
            .and_then(|file| hasher.update_reader(StoppableRead { file, interrupt }))
            .map(|hasher| hasher.count())?;
        let blake3 = hasher.finalize().to_hex().to_string();
        Ok::<_, std::io::Error>(ManifestFile { name: file.name.clone(), bytes, rows: 0, blake3 })
    };
    let hashed: Vec<_> = manifest.files.par_iter().map(hash).collect();
    let mut files = Vec::new();
    for (file, hashed) in manifest.files.iter().zip(hashed) {
        checks.note(Property::Hashes, 1);
        match hashed {
            Ok(hashed) => {
                if hashed.blake3 != file.blake3 || hashed.bytes != file.bytes {
                    checks.fail(
                        Property::Hashes,
                        format!("{} was changed after it was written", file.name),
                    );
                }
                files.push(hashed);
            }
            Err(error) => checks.fail(Property::Hashes, format!("{}: {error}", file.name)),
        }
    }
    files
}

/// A file whose reading ends with an error after a request to stop.
struct StoppableRead<'a> {
    file: fs::File,
    interrupt: &'a Interrupt,
}

impl Read for StoppableRead<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.interrupt.check().map_err(std::io::Error::other)?;
        self.file.read(buffer)
    }
}

fn first_difference(recomputed: &str, written: &str) -> String {
    let mut lines = recomputed.lines().zip(written.lines()).zip(1..);
    match lines.find(|((recomputed, written), _)| recomputed != written) {
        Some(((recomputed, written), line)) => {
            format!("line {line} is `{}`, the files say `{}`", written.trim(), recomputed.trim())
        }
        None => "differs from what the files say in its length".to_owned(),
    }
}
