//! Writes an epoch: rows in order, ids read in parallel, files complete or absent.

use super::error::EpochError;
use super::ids::{Row, TokenReader};
use super::manifest::{Counts, MANIFEST_FILE, Manifest};
use super::open::{Opened, Purpose, open};
use super::plan::Plan;
use super::stream::{Stream, StreamRow};
use super::write::writer;
use crate::model::{Interrupt, Progress};
use crate::store::View;
use rayon::prelude::*;
use roaring::RoaringTreemap;
use std::fs;
use std::path::{Path, PathBuf};

/// Rows in flight at a time, and the most of one Parquet row group.
const CHUNK_ROWS: usize = 1000;
/// Tokens in flight at a time, a row more at most.
const CHUNK_TOKENS: u64 = 1 << 20;

/// Writes epoch `epoch` of `plan` into the directory `out`: shards and `manifest.json`. The files are
/// made in `OUT.tmp-HASH` beside it and appear by one rename. Memory is bounded by the rows in flight;
/// bytes do not depend on `threads` (0: all cores). Progress is counted in tokens.
///
/// # Errors
/// [`EpochError::OutputExists`], [`EpochError::OutputUnnamed`], [`EpochError::Infeasible`], [`EpochError::Stale`],
/// [`EpochError::IdTooLarge`], [`EpochError::PadNeeded`], [`EpochError::Interrupted`],
/// [`EpochError::Io`], [`EpochError::Parquet`], [`EpochError::Store`]. Nothing is left behind.
#[expect(
    clippy::too_many_arguments,
    reason = "what is built, from what, where to, and how to run it"
)]
pub fn build(
    view: &View,
    plan: &Plan,
    selections: &[(String, RoaringTreemap)],
    epoch: u64,
    out: &Path,
    threads: usize,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Manifest, EpochError> {
    refuse_taken(out)?;
    plan.check_feasible(epoch)?;
    let staging = staging(out, plan);
    clear(&staging)?;
    fs::create_dir_all(&staging).map_err(EpochError::io("creating", &staging))?;
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| EpochError::Threads { threads, why: error.to_string() })?;
    let built = pool
        .install(|| write_all(view, plan, selections, epoch, &staging, progress, interrupt))
        .and_then(|manifest| publish(&staging, out).map(|()| manifest));
    if built.is_err() {
        // The first error is the one to tell.
        let _ = clear(&staging);
    }
    built
}

fn refuse_taken(out: &Path) -> Result<(), EpochError> {
    if out.file_name().is_none() {
        return Err(EpochError::OutputUnnamed { path: out.to_path_buf() });
    }
    match fs::symlink_metadata(out) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(EpochError::io("reading", out)(error)),
        Ok(found) if !found.is_dir() => {
            return Err(EpochError::OutputExists { path: out.to_path_buf() });
        }
        Ok(_) => {}
    }
    let mut entries = fs::read_dir(out).map_err(EpochError::io("reading", out))?;
    if entries.next().is_some() {
        Err(EpochError::OutputExists { path: out.to_path_buf() })
    } else {
        Ok(())
    }
}

fn staging(out: &Path, plan: &Plan) -> PathBuf {
    let mut name = out.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".tmp-{}", plan.hash_hex().get(..12).unwrap_or_default()));
    out.with_file_name(name)
}

/// Removes what an interrupted build left.
fn clear(staging: &Path) -> Result<(), EpochError> {
    match fs::remove_dir_all(staging) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(EpochError::io("removing", staging)(error))
        }
        _ => Ok(()),
    }
}

fn publish(staging: &Path, out: &Path) -> Result<(), EpochError> {
    if out.exists() {
        // Empty, as checked at the start; if it has been filled since, this fails and nothing is lost.
        fs::remove_dir(out).map_err(EpochError::io("replacing", out))?;
    }
    // The name appears only when every byte under it is on disk.
    for entry in fs::read_dir(staging).map_err(EpochError::io("reading", staging))? {
        let path = entry.map_err(EpochError::io("reading", staging))?.path();
        sync(&path)?;
    }
    sync(staging)?;
    fs::rename(staging, out).map_err(EpochError::io("renaming to", out))?;
    match out.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => sync(parent),
        _ => sync(Path::new(".")),
    }
}

fn sync(path: &Path) -> Result<(), EpochError> {
    fs::File::open(path).and_then(|file| file.sync_all()).map_err(EpochError::io("syncing", path))
}

fn write_all(
    view: &View,
    plan: &Plan,
    selections: &[(String, RoaringTreemap)],
    epoch: u64,
    staging: &Path,
    progress: &dyn Progress,
    interrupt: &Interrupt,
) -> Result<Manifest, EpochError> {
    progress.begin("lengths", None);
    let opened = open(view, plan, selections, Purpose::Give)?;
    let mut stream = Stream::open(plan, &opened.sources, epoch)?;
    let started = stream.started().emitted().to_vec();
    progress.begin("rows", Some(plan.budget));
    let mut counts = Counts::new(plan.sources.len());
    let mut writer = writer(plan, staging);
    let mut done = 0;
    let mut rows = read_rows(view, plan, &opened, &stream.next_rows(CHUNK_ROWS, CHUNK_TOKENS)?)?;
    while !rows.is_empty() {
        if interrupt.is_raised() {
            return Err(EpochError::Interrupted);
        }
        // The next chunk is read while this one is written.
        let following = stream.next_rows(CHUNK_ROWS, CHUNK_TOKENS)?;
        let (written, read) =
            rayon::join(|| writer.write(&rows), || read_rows(view, plan, &opened, &following));
        written?;
        for row in &rows {
            let documents = row.segments.iter().filter(|segment| segment.offset == 0).count();
            counts.add(row.source, row.real, row.ids.len() - row.real, documents);
            done += row.real as u64;
        }
        progress.advance(done);
        rows = read?;
    }
    let files = writer.finish()?;
    let manifest = Manifest::new(plan, epoch, &started, &counts, files);
    let path = staging.join(MANIFEST_FILE);
    fs::write(&path, manifest.to_json()).map_err(EpochError::io("writing", &path))?;
    Ok(manifest)
}

fn read_rows(
    view: &View,
    plan: &Plan,
    opened: &Opened<'_>,
    rows: &[StreamRow],
) -> Result<Vec<Row>, EpochError> {
    let tokenizer = &plan.tokenizer;
    let reader = || TokenReader::new(view, opened.tokenizer, &tokenizer.name, tokenizer.specials);
    rows.par_iter().map_init(reader, |reader, row| read_row(reader, plan, opened, row)).collect()
}

fn read_row(
    reader: &mut TokenReader<'_>,
    plan: &Plan,
    opened: &Opened<'_>,
    row: &StreamRow,
) -> Result<Row, EpochError> {
    let source =
        opened.sources.get(row.source).ok_or_else(|| EpochError::bug("a row of no source"))?;
    let segments = source.segments(&row.row)?;
    let mut ids = Vec::with_capacity(plan.capacity.min(1 << 16) as usize);
    for segment in &segments {
        reader.append(segment, &mut ids)?;
    }
    let real = ids.len();
    if let Some(pad) = plan.pad() {
        ids.resize(plan.capacity as usize, pad);
    } else if plan.fixed_length()
        && real < plan.capacity as usize
        && plan.recipe.output.format != super::recipe::Format::Parquet
    {
        // Rows of later passes may fall otherwise than those of the first, which planning checked.
        let name = source.rules().name.to_owned();
        return Err(EpochError::PadNeeded {
            format: plan.recipe.output.format.name(),
            name,
            rows: 1,
        });
    }
    Ok(Row { source: row.source, ids, real, segments })
}
