//! Proves an export against its plan and the store, from the files alone.
//!
//! Files are read by `read`, which shares no code with the writers; what a row must hold is decided
//! here position by position (`row`), that every document comes as often as it should by `coverage`.
//! Each property is a named check; none stops the others.

mod checks;
mod coverage;
mod row;

pub use checks::{Check, Verification};

use super::error::EpochError;
use super::ids::TokenReader;
use super::manifest::{Counts, MANIFEST_FILE, Manifest, ManifestFile};
use super::mix::Scheduler;
use super::open::{Opened, Purpose, open};
use super::plan::Plan;
use super::read::{self, Layout, ReadError, ReadRow};
use super::recipe::Format;
use super::stream::{Stream, StreamRow};
use super::width::Width;
use crate::model::Progress;
use crate::store::View;
use checks::{Checks, Property};
use coverage::Coverage;
use rayon::prelude::*;
use roaring::RoaringTreemap;
use row::{Findings, RowChecker};
use std::fs;
use std::path::Path;

/// Re-reads the export in `dir` and checks it against `plan` and the store. Progress is counted in
/// tokens.
///
/// # Errors
/// [`EpochError::Io`] when `dir` or its manifest cannot be read, [`EpochError::Stale`] when the store
/// is not the plan's, [`EpochError::Store`]. Whatever is wrong with the export is a failed check.
pub fn verify(
    view: &View,
    plan: &Plan,
    selections: &[(String, RoaringTreemap)],
    dir: &Path,
    progress: &dyn Progress,
) -> Result<Verification, EpochError> {
    let mut checks = Checks::default();
    let path = dir.join(MANIFEST_FILE);
    let written = fs::read(&path).map_err(EpochError::io("reading", &path))?;
    let manifest = match parse_manifest(&written, plan) {
        Ok(manifest) => manifest,
        Err(why) => {
            checks.fail(Property::Manifest, why);
            return Ok(checks.verdict(0, 0));
        }
    };
    check_listing(dir, &manifest, &mut checks)?;
    let mut files = hash_files(dir, &manifest, &mut checks);

    let opened = open(view, plan, selections, Purpose::Give)?;
    let mut stream = Stream::open(plan, &opened.sources, manifest.epoch)?;
    let mut audit = Audit::new(plan, &opened, stream.started());
    progress.begin("verify", Some(manifest.totals.tokens));
    let format = plan.recipe.output.format;
    for shard in 0.. {
        let names = read::shard_files(format, shard);
        if !names.iter().any(|name| dir.join(name).exists()) {
            break;
        }
        let before = audit.rows;
        if let Err(error) = audit.read_shard(view, dir, shard, &mut stream, &mut checks, progress) {
            match error {
                ReadError::Malformed(why) => checks.fail(Property::Files, why),
                ReadError::Failed(error @ (EpochError::Io { .. } | EpochError::Parquet { .. })) => {
                    checks.fail(Property::Files, error.to_string());
                }
                ReadError::Failed(error) => return Err(error),
            }
        }
        for file in files.iter_mut().filter(|file| names.contains(&file.name)) {
            file.rows = audit.rows - before;
        }
    }
    let mut missing = 0_u64;
    while stream.next_row()?.is_some() {
        missing += 1;
    }
    if missing > 0 {
        checks.fail(Property::Order, format!("{missing} rows of the plan are not in the files"));
    }
    audit.finish(&stream, &mut checks)?;
    let recomputed = Manifest::new(plan, manifest.epoch, stream.started().emitted(), &audit.counts, files).to_json();
    checks.note(Property::Manifest, 1);
    if recomputed.as_bytes() != written {
        checks.fail(Property::Manifest, first_difference(&recomputed, &String::from_utf8_lossy(&written)));
    }
    Ok(checks.verdict(audit.rows, audit.mix.total() - stream.started().total()))
}

fn parse_manifest(bytes: &[u8], plan: &Plan) -> Result<Manifest, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| format!("{MANIFEST_FILE} is not UTF-8: {error}"))?;
    let manifest = Manifest::from_json(text).map_err(|error| error.to_string())?;
    if manifest.plan != plan.hash_hex() {
        return Err(format!("was written from plan {}, this is plan {}", manifest.plan, plan.hash_hex()));
    }
    plan.check_feasible(manifest.epoch).map_err(|_| format!("epoch {} is not one of the plan", manifest.epoch))?;
    Ok(manifest)
}

fn check_listing(dir: &Path, manifest: &Manifest, checks: &mut Checks) -> Result<(), EpochError> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir).map_err(EpochError::io("reading", dir))? {
        let entry = entry.map_err(EpochError::io("reading", dir))?;
        found.push(entry.file_name().to_string_lossy().into_owned());
    }
    found.sort();
    for name in found.iter().filter(|name| *name != MANIFEST_FILE) {
        if !manifest.files.iter().any(|file| file.name == *name) {
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
fn hash_files(dir: &Path, manifest: &Manifest, checks: &mut Checks) -> Vec<ManifestFile> {
    let hash = |file: &ManifestFile| {
        let mut hasher = blake3::Hasher::new();
        let bytes = fs::File::open(dir.join(&file.name)).and_then(|found| hasher.update_reader(found).map(|h| h.count()))?;
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
                    checks.fail(Property::Hashes, format!("{} is not the file that was written", file.name));
                }
                files.push(hashed);
            }
            Err(error) => checks.fail(Property::Hashes, format!("{}: {error}", file.name)),
        }
    }
    files
}

/// Everything that is counted while the rows of the files go by.
struct Audit<'a> {
    plan: &'a Plan,
    opened: &'a Opened<'a>,
    checker: RowChecker<'a>,
    coverage: Vec<Coverage>,
    /// The interleaving as the files have it.
    mix: Scheduler,
    counts: Counts,
    rows: u64,
}

impl<'a> Audit<'a> {
    fn new(plan: &'a Plan, opened: &'a Opened<'a>, started: &Scheduler) -> Self {
        let coverage = plan.sources.iter().zip(started.emitted());
        Self {
            plan,
            opened,
            checker: RowChecker::new(plan, opened),
            coverage: coverage.map(|(source, started)| Coverage::new(*started, source.packed_tokens)).collect(),
            mix: started.clone(),
            counts: Counts::new(plan.sources.len()),
            rows: 0,
        }
    }

    fn read_shard(
        &mut self,
        view: &View,
        dir: &Path,
        shard: usize,
        stream: &mut Stream<'_>,
        checks: &mut Checks,
        progress: &dyn Progress,
    ) -> Result<(), ReadError> {
        let format = self.plan.recipe.output.format;
        let layout = Layout {
            format,
            row_tokens: Some(self.plan.capacity as usize).filter(|_| self.plan.fixed_length() && format == Format::Raw),
            id_bytes: Width::of(format, self.plan.tokenizer.vocab_size).bytes(),
        };
        let mut reader = read::open(dir, shard, layout)?;
        loop {
            let rows = reader.next_rows()?;
            if rows.is_empty() {
                return Ok(());
            }
            let expected = stream.next_rows(rows.len(), u64::MAX)?;
            let findings = self.check_rows(view, &rows, &expected)?;
            for (at, (row, findings)) in rows.iter().zip(findings).enumerate() {
                self.account(row, expected.get(at), findings, checks);
            }
            progress.advance(self.mix.total() - stream.started().total());
        }
    }

    fn check_rows(&self, view: &View, rows: &[ReadRow], expected: &[StreamRow]) -> Result<Vec<Findings>, EpochError> {
        let tokenizer = &self.plan.tokenizer;
        let reader = || TokenReader::new(view, self.opened.tokenizer, &tokenizer.name, tokenizer.specials);
        let check = |reader: &mut TokenReader<'_>, (at, row): (usize, &ReadRow)| {
            let mut findings = self.checker.check(reader, row)?;
            self.compare(row, expected.get(at), self.rows + at as u64, &mut findings)?;
            Ok(findings)
        };
        rows.par_iter().enumerate().map_init(reader, check).collect()
    }

    /// Whether a row is the one the plan has there.
    fn compare(
        &self,
        row: &ReadRow,
        expected: Option<&StreamRow>,
        number: u64,
        findings: &mut Findings,
    ) -> Result<(), EpochError> {
        if row.number.is_some_and(|found| found != number) {
            findings.fail(Property::Order, format!("is numbered {}", row.number.unwrap_or_default()));
        }
        let Some(expected) = expected else {
            findings.fail(Property::Order, "is beyond the last row of the plan".to_owned());
            return Ok(());
        };
        let source = self.opened.sources.get(expected.source);
        let source = source.ok_or_else(|| EpochError::bug("a row of no source"))?;
        let segments = source.segments(&expected.row)?;
        let same = source.rules().name == row.source
            && segments.len() == row.doc_ids.len()
            && segments.iter().zip(&row.doc_ids).all(|(segment, id)| u64::try_from(*id) == Ok(segment.document.0))
            && segments.iter().zip(&row.doc_offsets).all(|(segment, offset)| i64::from(segment.offset) == *offset)
            && segments.iter().zip(&row.seq_lengths).all(|(segment, length)| i64::from(segment.length) == i64::from(*length));
        if !same {
            findings.fail(Property::Order, format!("is not the row of source `{}` that the plan has there", source.rules().name));
        }
        Ok(())
    }

    fn account(&mut self, row: &ReadRow, expected: Option<&StreamRow>, findings: Findings, checks: &mut Checks) {
        let number = self.rows;
        self.rows += 1;
        for property in [Property::Order, Property::Boundaries, Property::Mix] {
            checks.note(property, 1);
        }
        for property in [Property::Ids, Property::Integrity, Property::Conservation] {
            checks.note(property, row.doc_ids.len() as u64);
        }
        if row.views.is_some() {
            checks.note(Property::Positions, 1);
            checks.note(Property::Labels, 1);
        }
        for (property, why) in findings.failures {
            checks.fail(property, format!("row {number} {why}"));
        }
        let Some(source) = self.plan.sources.iter().position(|source| source.name == row.source) else {
            return;
        };
        let documents = row.doc_offsets.iter().filter(|offset| **offset == 0).count();
        self.counts.add(source, findings.real, row.ids.len().saturating_sub(findings.real), documents);
        self.mix.record(source, u32::try_from(findings.real).unwrap_or(u32::MAX));
        if self.mix.deviation() > u64::from(self.plan.capacity) {
            let why = format!("leaves a source {} tokens from its share", self.mix.deviation());
            checks.fail(Property::Mix, format!("row {number} {why}"));
        }
        let pass = expected.filter(|expected| expected.source == source).map(|expected| expected.row.pass);
        if let (Some(coverage), Some(rows)) = (self.coverage.get_mut(source), self.opened.sources.get(source)) {
            let found = coverage.enter(pass, rows).and_then(|()| {
                findings.segments.iter().try_for_each(|segment| coverage.add(segment))
            });
            if let Err(why) = found {
                checks.fail(Property::Conservation, format!("row {number}: {why}"));
            }
        }
    }

    fn finish(&mut self, stream: &Stream<'_>, checks: &mut Checks) -> Result<(), EpochError> {
        let ended = stream.scheduler().emitted();
        for (((coverage, rows), source), ended) in
            self.coverage.iter_mut().zip(&self.opened.sources).zip(&self.plan.sources).zip(ended)
        {
            if ended % source.packed_tokens == 0
                && let Err(why) = coverage.end_pass(rows)
            {
                checks.fail(Property::Conservation, format!("source `{}`: {why}", source.name));
            }
        }
        Ok(())
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
