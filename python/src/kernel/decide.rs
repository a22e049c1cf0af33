//! Decides which documents are kept, given their similar pairs.

use super::columns::{KernelColumns, batch, ranks, required};
use super::pairs::count_columns;
use super::{BatchSource, KernelResult, answer};
use crate::error::named;
use crate::policy::PolicyKeywords;
use corpusdb::DocId;
use corpusdb::arrow::array::{Array, Float64Array, RecordBatch, StringArray};
use corpusdb::arrow::datatypes::{Int64Type, UInt32Type};
use corpusdb::dedup::{MatchKind, Standing, StandingsDigest};
use corpusdb::kernel::{Edge, GraphDecision, GraphMember, Overlap, Witness, decide};
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
use std::sync::Arc;

/// Decides members, given all their similar pairs.
#[pyfunction]
pub(crate) fn kernel_decide(
    py: Python<'_>,
    members: PyRecordBatchReader,
    edges: PyRecordBatchReader,
    settings: PolicyKeywords,
) -> PyResult<PyRecordBatch> {
    let policy = settings.policy(py)?;
    let (members, edges) = (BatchSource::of(members)?, BatchSource::of(edges)?);
    answer(py, move || {
        let members = read_members(&KernelColumns(&members.rows()?))?;
        let edges = read_edges(&KernelColumns(&edges.rows()?))?;
        told(&decide(&members, &edges, &policy))
    })
}

/// The digest of the documents that take part in decisions, from the columns `id` and `standing`.
#[pyfunction]
pub(crate) fn standings_digest(py: Python<'_>, documents: PyRecordBatchReader) -> PyResult<u64> {
    let reading = BatchSource::of(documents)?;
    let digest = py.detach(move || {
        let mut digest = StandingsDigest::default();
        for batch in reading.batches()? {
            let columns = KernelColumns(&batch);
            let (ids, names) = (columns.numbers::<Int64Type>("id")?, columns.strings("standing")?);
            for row in 0..batch.num_rows() {
                let id = required(ids.is_valid(row).then(|| ids.value(row)), "id", row)?;
                let id = u64::try_from(id)
                    .map_err(|_| format!("column `id`, row {row}: {id} is negative"))?;
                let name =
                    required(names.is_valid(row).then(|| names.value(row)), "standing", row)?;
                let standing = Standing::from_name(name).ok_or_else(|| {
                    format!("column `standing`, row {row}: {name:?} is not a standing")
                })?;
                digest.add(DocId(id), standing);
            }
        }
        Ok(digest.number())
    });
    digest.map_err(|why: String| named(py, "BadInput", &why))
}

fn read_members(columns: &KernelColumns<'_>) -> KernelResult<Vec<GraphMember>> {
    let (texts, raws) = (columns.hashes("text_hash")?, columns.hashes("raw_hash")?);
    let tokens = columns.numbers::<UInt32Type>("tokens")?;
    let shingles = columns.numbers::<UInt32Type>("shingles")?;
    let open = if columns.has("open") { Some(columns.booleans("open")?) } else { None };
    let rows = columns.ranks("rank")?.into_iter().zip(texts).zip(raws).enumerate();
    let member = |(row, ((rank, text), raw))| GraphMember {
        rank,
        text,
        raw,
        tokens: tokens.value(row),
        shingles: shingles.value(row),
        is_open: open.as_ref().is_some_and(|open| open.is_valid(row) && open.value(row)),
    };
    Ok(rows.map(member).collect())
}

fn read_edges(columns: &KernelColumns<'_>) -> KernelResult<Vec<Edge>> {
    let names = ["shared", "left_shingles", "right_shingles"];
    let [shared, left, right] = names.map(|name| columns.numbers::<UInt32Type>(name));
    let (shared, left, right) = (shared?, left?, right?);
    let ends = columns.ranks("left")?.into_iter().zip(columns.ranks("right")?).enumerate();
    let edge = |(row, (from, to))| {
        // An unverified link has no overlap.
        let count = |of: &corpusdb::arrow::array::UInt32Array| {
            if of.is_null(row) { 0 } else { of.value(row) }
        };
        let (shared, left, right) = (count(&shared), count(&left), count(&right));
        Edge { left: from, right: to, overlap: Overlap { shared, left, right } }
    };
    Ok(ends.map(edge).collect())
}

fn told(outcomes: &[GraphDecision]) -> KernelResult<RecordBatch> {
    let witnesses: Vec<Option<Witness>> = outcomes.iter().map(|one| one.witness).collect();
    let overlaps: Vec<Option<Overlap>> =
        witnesses.iter().map(|one| one.and_then(|one| one.overlap)).collect();
    let standing = outcomes.iter().map(|one| one.standing.map(|one| one.name()));
    let kind = witnesses.iter().map(|one| one.map(|one| MatchKind::name(one.kind)));
    let mut columns = vec![
        ("rank", ranks(outcomes.iter().map(|one| Some(one.rank)))?),
        ("standing", Arc::new(standing.collect::<StringArray>()) as _),
        ("kind", Arc::new(kind.collect::<StringArray>()) as _),
        ("witness", ranks(witnesses.iter().map(|one| one.map(|one| one.rank)))?),
    ];
    columns.extend(count_columns(&overlaps, ["removed_shingles", "witness_shingles"]));
    let jaccard = witnesses.iter().map(|one| one.and_then(|one| one.jaccard()));
    columns.push(("jaccard", Arc::new(jaccard.collect::<Float64Array>())));
    columns.push(("cluster", ranks(outcomes.iter().map(GraphDecision::cluster))?));
    batch(columns)
}
