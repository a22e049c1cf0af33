//! Pairs of documents: close sketches, exact similarity, and connected components.

use super::columns::{KernelColumns, batch, ranks, required};
use super::{BatchSource, KernelResult, answer, each, worded};
use crate::policy::PolicyKeywords;
use corpusdb::Policy;
use corpusdb::arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, LargeBinaryArray, UInt32Array,
};
use corpusdb::arrow::compute::filter_record_batch;
use corpusdb::dedup::{Rank, Sketch, estimate_floor};
use corpusdb::kernel::{
    BucketMember, Overlap, TextComparer, components, near_in_bucket, similar_in_bucket,
};
use pyo3::prelude::*;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Replaces the texts `left_text` and `right_text` of each row by their exact overlap.
#[pyfunction]
pub(crate) fn kernel_verify(
    py: Python<'_>,
    batches: PyRecordBatchReader,
    settings: PolicyKeywords,
) -> PyResult<PyRecordBatch> {
    let policy = settings.policy(py)?;
    let mut overlaps = TextComparer::new(&policy);
    each(py, batches, move |batch| {
        let columns = KernelColumns(batch);
        let (left, right) = (columns.strings("left_text")?, columns.strings("right_text")?);
        let mut found: Vec<Option<Overlap>> = Vec::with_capacity(left.len());
        for row in 0..left.len() {
            let is_whole = left.is_valid(row) && right.is_valid(row);
            found.push(is_whole.then(|| overlaps.of(left.value(row), right.value(row))));
        }
        let mut new = count_columns(&found, ["left_shingles", "right_shingles"]);
        new.push(("jaccard", jaccard_column(&found)));
        let similar = found.iter().map(|found| found.map(|one| one.reaches(policy.threshold)));
        new.push(("similar", Arc::new(similar.collect::<BooleanArray>())));
        columns.replaced(&["left_text", "right_text"], new)
    })
}

fn jaccard_column(found: &[Option<Overlap>]) -> ArrayRef {
    Arc::new(found.iter().map(|found| found.map(Overlap::jaccard)).collect::<Float64Array>())
}

/// Columns of overlaps: the shared shingles, and the shingles of each side under these names.
pub(super) fn count_columns<'n>(
    found: &[Option<Overlap>],
    [left, right]: [&'n str; 2],
) -> Vec<(&'n str, ArrayRef)> {
    let count = |of: fn(Overlap) -> u32| -> ArrayRef {
        Arc::new(found.iter().map(|found| found.map(of)).collect::<UInt32Array>())
    };
    vec![
        ("shared", count(|one| one.shared)),
        (left, count(|one| one.left)),
        (right, count(|one| one.right)),
    ]
}

/// The rows whose sketches `left_sketch` and `right_sketch` are close enough to compare the texts, without the
/// sketches.
#[pyfunction]
pub(crate) fn kernel_close(
    py: Python<'_>,
    batches: PyRecordBatchReader,
    settings: PolicyKeywords,
) -> PyResult<PyRecordBatch> {
    let policy = settings.policy(py)?;
    let floor = estimate_floor(&policy);
    each(py, batches, move |batch| {
        let columns = KernelColumns(batch);
        let (left, right) = (columns.bytes("left_sketch")?, columns.bytes("right_sketch")?);
        let mut is_close = Vec::with_capacity(left.len());
        for row in 0..left.len() {
            let one = sketch_at(&left, row, &policy, "left_sketch")?;
            let other = sketch_at(&right, row, &policy, "right_sketch")?;
            is_close.push(one.estimate(&other) >= floor);
        }
        let close = filter_record_batch(batch, &BooleanArray::from(is_close)).map_err(worded)?;
        KernelColumns(&close).replaced(&["left_sketch", "right_sketch"], Vec::new())
    })
}

fn sketch_at(
    column: &LargeBinaryArray,
    row: usize,
    policy: &Policy,
    name: &str,
) -> KernelResult<Sketch> {
    let bytes = if column.is_valid(row) { column.value(row) } else { &[] };
    Sketch::from_bytes(bytes, policy).ok_or_else(|| {
        let bytes = bytes.len();
        format!("column `{name}`, row {row}: {bytes} bytes are not a sketch of this policy")
    })
}

/// For each bucket, pairs of its first `most` live members with the members that they matter to. Then, as rows without
/// `right`, the members that a further live member matters to.
#[pyfunction]
pub(crate) fn kernel_near(
    py: Python<'_>,
    batches: PyRecordBatchReader,
    settings: PolicyKeywords,
    most: usize,
) -> PyResult<PyRecordBatch> {
    let policy = settings.policy(py)?;
    let reading = BatchSource::of(batches)?;
    answer(py, move || {
        let mut buckets: BTreeMap<Vec<u8>, Vec<BucketMember>> = BTreeMap::new();
        for batch in reading.batches()? {
            for (bucket, seat) in seated(&KernelColumns(&batch), &policy)? {
                buckets.entry(bucket).or_default().push(seat);
            }
        }
        let mut sides = KernelPairColumns::default();
        for seats in buckets.values() {
            let (pairs, open) = near_in_bucket(seats, &policy, most);
            sides.add(pairs, open);
        }
        batch(sides.columns()?)
    })
}

/// Like [`kernel_near`], but compares texts: only pairs that reach the threshold, with their overlaps.
#[pyfunction]
pub(crate) fn kernel_similar(
    py: Python<'_>,
    batches: PyRecordBatchReader,
    settings: PolicyKeywords,
    most: usize,
) -> PyResult<PyRecordBatch> {
    let policy = settings.policy(py)?;
    let reading = BatchSource::of(batches)?;
    answer(py, move || {
        let read = reading.batches()?;
        let texts = read.iter().map(|batch| KernelColumns(batch).strings("text"));
        let texts = texts.collect::<KernelResult<Vec<_>>>()?;
        let mut buckets: BTreeMap<Vec<u8>, Vec<(BucketMember, &str)>> = BTreeMap::new();
        for (batch, texts) in read.iter().zip(&texts) {
            for (row, (bucket, seat)) in
                seated(&KernelColumns(batch), &policy)?.into_iter().enumerate()
            {
                let text = texts.is_valid(row).then(|| texts.value(row));
                buckets.entry(bucket).or_default().push((seat, required(text, "text", row)?));
            }
        }
        let (mut sides, mut overlaps) = (KernelPairColumns::default(), Vec::new());
        for seats in buckets.values() {
            let (edges, open) = similar_in_bucket(seats, &policy, most);
            sides.add(edges.iter().map(|edge| (edge.left, edge.right)), open);
            overlaps.extend(edges.iter().map(|edge| Some(edge.overlap)));
            overlaps.resize(sides.left.len(), None);
        }
        let mut columns = sides.columns()?;
        columns.extend(count_columns(&overlaps, ["left_shingles", "right_shingles"]));
        columns.push(("jaccard", jaccard_column(&overlaps)));
        batch(columns)
    })
}

/// Pairs; behind the pairs of each bucket, its open members as rows without `right`.
#[derive(Default)]
struct KernelPairColumns {
    left: Vec<Option<Rank>>,
    right: Vec<Option<Rank>>,
}

impl KernelPairColumns {
    fn add(&mut self, pairs: impl IntoIterator<Item = (Rank, Rank)>, open: Vec<Rank>) {
        for (left, right) in pairs {
            self.left.push(Some(left));
            self.right.push(Some(right));
        }
        self.left.extend(open.into_iter().map(Some));
        self.right.resize(self.left.len(), None);
    }

    fn columns(self) -> KernelResult<Vec<(&'static str, ArrayRef)>> {
        Ok(vec![("left", ranks(self.left)?), ("right", ranks(self.right)?)])
    }
}

/// The rows of a batch as members of buckets.
fn seated(
    columns: &KernelColumns<'_>,
    policy: &Policy,
) -> KernelResult<Vec<(Vec<u8>, BucketMember)>> {
    let (bucket, sketches) = (columns.bytes("bucket")?, columns.bytes("sketch")?);
    let (bounds, clusters) = (columns.ranks_if("bound")?, columns.ranks_if("cluster")?);
    let live = if columns.has("live") { Some(columns.booleans("live")?) } else { None };
    let rows = columns.ranks("rank")?.into_iter().zip(bounds).zip(clusters).enumerate();
    rows.map(|(row, ((rank, bound), cluster))| {
        let is_live = live.as_ref().is_none_or(|live| live.is_null(row) || live.value(row));
        let sketch = sketch_at(&sketches, row, policy, "sketch")?;
        let seat = BucketMember { rank, sketch, bound: bound.unwrap_or(rank), is_live, cluster };
        Ok((bucket.value(row).to_vec(), seat))
    })
    .collect()
}

/// Each rank in the pairs `left` and `right` as `node`, with the best rank of its component as `component`.
#[pyfunction]
pub(crate) fn kernel_components(
    py: Python<'_>,
    batches: PyRecordBatchReader,
) -> PyResult<PyRecordBatch> {
    let reading = BatchSource::of(batches)?;
    answer(py, move || {
        let mut links = Vec::new();
        for batch in reading.batches()? {
            let columns = KernelColumns(&batch);
            links.extend(columns.ranks("left")?.into_iter().zip(columns.ranks("right")?));
        }
        let (nodes, roots): (Vec<_>, Vec<_>) = components(&links).into_iter().unzip();
        let column = |found: Vec<_>| ranks(found.into_iter().map(Some));
        batch(vec![("node", column(nodes)?), ("component", column(roots)?)])
    })
}
