//! Fills the projected columns of `documents` for some documents of one block.

use super::filter::{IndexBlock, StoredBlock};
use super::relations::{ClusterRelation, ClusterSizeCache};
use super::schema::{ColumnSource, DocumentColumn};
use crate::sql::engine::memory::QueryLimits;
use crate::sql::error::SqlError;
use crate::sql::evidence::verdicts;
use crate::sql::keys::KeyFormatter;
use arrow::array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, BooleanBuilder, Float64Array, Int64Array,
    PrimitiveArray, PrimitiveBuilder, StringArray, StringViewBuilder, UInt64Array,
};
use arrow::datatypes::{Float64Type, Int64Type, SchemaRef, TimestampMicrosecondType, UInt64Type};
use arrow::error::ArrowError;
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use model::{ColumnId, DocId, FieldId, SourceId, Standing, TermId, unsortable_float};
use roaring::RoaringBitmap;
use std::collections::HashMap;
use std::sync::Arc;
use store::{DocumentPlace, StoreError, View, system_fields};
use text::contamination::ContaminationRule;

/// Term values remembered: near-unique keywords would otherwise all be held.
const REMEMBERED: usize = 1 << 16;
/// Longest value remembered.
const REMEMBERED_BYTES: usize = 1024;

/// Fills batches of one partition.
pub(crate) struct ColumnReader<'a> {
    view: &'a View,
    wanted: &'a [DocumentColumn],
    schema: SchemaRef,
    standings: Vec<(Standing, TermId)>,
    /// The term of documents whose decision left candidates out, if there ever was one.
    crowded: Option<TermId>,
    keys: KeyFormatter,
    values: HashMap<TermId, Arc<str>>,
    sizes: ClusterSizeCache,
    /// Rows of a batch, at most. The engine would slice larger batches, and count for each slice what the whole batch
    /// holds.
    rows: usize,
    /// Bytes of text after which a batch ends.
    text_bytes: u64,
    /// Whether the standings of a block are read.
    by_standing: bool,
}

/// A block, and what its batches share.
pub(crate) struct ScanBlock<'a> {
    pub(crate) block: StoredBlock<'a>,
    /// Empty when no column needs standings.
    pub(crate) standings: Vec<(Standing, RoaringBitmap)>,
}

impl<'a> ColumnReader<'a> {
    pub(crate) fn new(
        view: &'a View,
        wanted: &'a [DocumentColumn],
        schema: SchemaRef,
        rows: usize,
    ) -> Result<Self, SqlError> {
        let mut standings = Vec::new();
        for standing in Standing::ALL {
            let value = system_fields::standing_value(view.generation(), standing);
            standings
                .extend(view.term(system_fields::STANDING, &value)?.map(|term| (standing, term)));
        }
        let crowded =
            view.term(system_fields::CROWDED, &system_fields::crowded_value(view.generation()))?;
        let limits = QueryLimits::of(view);
        let text_bytes = limits.texts as u64;
        let (keys, values, sizes) =
            (KeyFormatter::default(), HashMap::new(), ClusterSizeCache::default());
        let by_standing = needs_standings(wanted);
        Ok(Self {
            view,
            wanted,
            schema,
            standings,
            crowded,
            keys,
            values,
            sizes,
            rows,
            text_bytes,
            by_standing,
        })
    }

    /// Opens blocks for these columns too.
    pub(crate) fn also_for(mut self, columns: &[DocumentColumn]) -> Self {
        self.by_standing |= needs_standings(columns);
        self
    }

    fn wants(&self, test: impl Fn(ColumnSource) -> bool) -> bool {
        self.wanted.iter().any(|column| test(column.source))
    }

    /// Reads what the batches of a block share.
    pub(crate) fn open(&self, block: StoredBlock<'a>) -> Result<ScanBlock<'a>, SqlError> {
        let mut standings = Vec::new();
        if self.by_standing {
            for (standing, term) in &self.standings {
                standings.push((*standing, block.posting(*term)?));
            }
        }
        Ok(ScanBlock { block, standings })
    }

    /// How many of `slots` the next batch takes: bounded in rows, and in bytes of text.
    pub(crate) fn take(&self, open: &ScanBlock<'_>, slots: &[u16]) -> Result<usize, SqlError> {
        let rows = self.rows.min(slots.len());
        if !self.wants(|source| source == ColumnSource::Text) {
            return Ok(rows);
        }
        let bytes = open.block.column(system_fields::BYTES)?;
        let bytes = bytes.values()?.unwrap_or_default();
        let mut sum = 0_u64;
        for (taken, slot) in slots.iter().take(rows).enumerate() {
            let document = open.block.document(*slot);
            sum = sum.saturating_add(bytes.expect(system_fields::BYTES, document)?);
            if sum > self.text_bytes {
                return Ok(taken.max(1));
            }
        }
        Ok(rows)
    }

    /// The batch of `slots`, ascending.
    pub(crate) fn batch(
        &mut self,
        open: &ScanBlock<'a>,
        slots: &[u16],
    ) -> Result<RecordBatch, SqlError> {
        let relations = self.relations(open, slots)?;
        let (mut keys, mut places) = (Vec::new(), Vec::new());
        let documents: Vec<DocId> = slots.iter().map(|slot| open.block.document(*slot)).collect();
        if self.wants(|source| source == ColumnSource::Key) {
            keys = self.view.keys_of(&documents)?;
        }
        // A key is given, or else it is shown by the place.
        if self.wants(|source| source == ColumnSource::Text) || keys.iter().any(Option::is_none) {
            places = self.view.places_of(&documents)?;
        }
        let keys = self.shown_keys(&documents, keys, &places)?;
        let rows = ScanRows { open, slots, documents, keys, places, relations };
        let mut arrays = Vec::with_capacity(self.wanted.len());
        for column in self.wanted {
            arrays.push(match column.source {
                ColumnSource::ContaminatedBy => self.contaminated_by(&rows, column)?,
                source => self.array(&rows, source)?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(slots.len()));
        RecordBatch::try_new_with_options(Arc::clone(&self.schema), arrays, &options)
            .map_err(SqlError::arrow)
    }

    /// Keys as they are shown: those given, the others by the places of all.
    fn shown_keys(
        &mut self,
        documents: &[DocId],
        keys: Vec<Option<String>>,
        places: &[DocumentPlace],
    ) -> Result<Vec<String>, SqlError> {
        let (view, shown) = (self.view, &mut self.keys);
        let rows = documents.iter().zip(keys).enumerate();
        let key = |(at, (document, key)): (usize, (&DocId, Option<String>))| match key {
            Some(key) => Ok(key),
            None => match places.get(at) {
                Some(place) => shown.at(view, *document, place),
                None => shown.shown(view, *document),
            },
        };
        rows.map(key).collect()
    }

    fn relations(
        &self,
        open: &ScanBlock<'_>,
        slots: &[u16],
    ) -> Result<Vec<ClusterRelation>, SqlError> {
        if !self.wants(is_relation) {
            return Ok(Vec::new());
        }
        let relation = |slot: &u16| match open.standing(*slot) {
            Some(standing) => ClusterRelation::of(self.view, open.block.document(*slot), standing),
            None => Ok(ClusterRelation::default()),
        };
        slots.iter().map(relation).collect()
    }

    fn array(
        &mut self,
        rows: &ScanRows<'_, '_>,
        source: ColumnSource,
    ) -> Result<ArrayRef, SqlError> {
        let open = rows.open;
        let slots = rows.slots.iter();
        Ok(match source {
            ColumnSource::Id => {
                Arc::new(UInt64Array::from_iter_values(rows.documents.iter().map(|id| id.0)))
            }
            ColumnSource::Integer { column, unsigned: true, .. } => {
                Arc::new(stored::<UInt64Type>(rows, column, |value| u64::try_from(value).ok())?)
            }
            ColumnSource::Integer { column, .. } => {
                Arc::new(stored::<Int64Type>(rows, column, Some)?)
            }
            ColumnSource::Float(column) => {
                let float = |value| Some(unsortable_float(value));
                Arc::new(stored::<Float64Type>(rows, column, float)?)
            }
            ColumnSource::Bool(column) => {
                let mut truths = BooleanBuilder::with_capacity(rows.slots.len());
                rows.values(column, |value| truths.append_option(value.map(|value| value != 0)))?;
                Arc::new(truths.finish())
            }
            ColumnSource::Timestamp(column) => {
                Arc::new(stored::<TimestampMicrosecondType>(rows, column, Some)?)
            }
            ColumnSource::SourceName => self.source_names(rows)?,
            ColumnSource::Keyword(field) => self.keywords(rows, field)?,
            ColumnSource::Kept => {
                let kept = |slot: &u16| open.standing(*slot) == Some(Standing::Kept);
                Arc::new(slots.map(|slot| Some(kept(slot))).collect::<BooleanArray>())
            }
            ColumnSource::Crowded => self.crowded(rows)?,
            ColumnSource::Standing => {
                let name = |slot: &u16| open.standing(*slot).map(Standing::name);
                Arc::new(slots.map(name).collect::<StringArray>())
            }
            ColumnSource::DuplicateOf => {
                let witness =
                    |relation: &ClusterRelation| relation.duplicate.map(|found| found.witness.0);
                Arc::new(rows.relations.iter().map(witness).collect::<UInt64Array>())
            }
            ColumnSource::Jaccard => {
                let jaccard =
                    |relation: &ClusterRelation| relation.duplicate.map(|found| found.jaccard());
                Arc::new(rows.relations.iter().map(jaccard).collect::<Float64Array>())
            }
            ColumnSource::Cluster => {
                let cluster =
                    |relation: &ClusterRelation| relation.cluster.map(|cluster| cluster.0);
                Arc::new(rows.relations.iter().map(cluster).collect::<UInt64Array>())
            }
            ColumnSource::ClusterSize => self.cluster_sizes(rows)?,
            ColumnSource::Key => Arc::new(StringArray::from_iter_values(&rows.keys)),
            ColumnSource::ContaminatedBy => Arc::new(StringArray::new_null(rows.slots.len())),
            ColumnSource::Text => self.texts(rows)?,
            ColumnSource::Meta => self.metadata(rows)?,
        })
    }

    fn crowded(&self, rows: &ScanRows<'_, '_>) -> Result<ArrayRef, SqlError> {
        let crowded = match self.crowded {
            Some(term) => rows.open.block.posting(term)?,
            None => RoaringBitmap::new(),
        };
        let is_crowded = |slot: &u16| Some(crowded.contains(u32::from(*slot)));
        Ok(Arc::new(rows.slots.iter().map(is_crowded).collect::<BooleanArray>()))
    }

    /// The first caller finds the verdicts of all documents; the other columns of the table share them.
    fn contaminated_by(
        &self,
        rows: &ScanRows<'_, '_>,
        column: &DocumentColumn,
    ) -> Result<ArrayRef, SqlError> {
        let found = match column.shared.get() {
            Some(found) => found,
            None => {
                let found = verdicts(self.view, &ContaminationRule::default())?;
                column.shared.get_or_init(|| found)
            }
        };
        let names = |document: &DocId| {
            let tainted = found.iter().filter(|(_, documents)| documents.contains(document.0));
            let names: Vec<&str> = tainted.map(|(name, _)| name.as_str()).collect();
            (!names.is_empty()).then(|| names.join(", "))
        };
        Ok(Arc::new(rows.documents.iter().map(names).collect::<StringArray>()))
    }

    fn cluster_sizes(&mut self, rows: &ScanRows<'_, '_>) -> Result<ArrayRef, SqlError> {
        let (view, sizes) = (self.view, &mut self.sizes);
        let size = |relation: &ClusterRelation| {
            let members = |cluster| move || Ok(view.members(cluster)?.len());
            relation.cluster.map(|cluster| sizes.of(cluster, members(cluster))).transpose()
        };
        let sizes: Result<Int64Array, SqlError> = rows.relations.iter().map(size).collect();
        Ok(Arc::new(sizes?))
    }

    fn texts(&self, rows: &ScanRows<'_, '_>) -> Result<ArrayRef, SqlError> {
        let mut texts = StringViewBuilder::with_capacity(rows.slots.len());
        for (document, place) in rows.documents.iter().zip(&rows.places) {
            append(&mut texts, &self.view.text_of_owner(place.text_owner(*document))?)?;
        }
        Ok(Arc::new(texts.finish()))
    }

    fn metadata(&self, rows: &ScanRows<'_, '_>) -> Result<ArrayRef, SqlError> {
        let mut objects = StringViewBuilder::with_capacity(rows.slots.len());
        for document in &rows.documents {
            append(&mut objects, &self.view.metadata(*document)?)?;
        }
        Ok(Arc::new(objects.finish()))
    }

    fn source_names(&self, rows: &ScanRows<'_, '_>) -> Result<ArrayRef, SqlError> {
        let mut names = Vec::with_capacity(rows.slots.len());
        rows.values(system_fields::SOURCE_OF, |source| {
            let source = source.and_then(|id| u32::try_from(id).ok());
            names.push(source.map(|id| self.view.source_name(SourceId(id))).transpose());
        })?;
        Ok(Arc::new(names.into_iter().collect::<Result<StringArray, StoreError>>()?))
    }

    fn keywords(&mut self, rows: &ScanRows<'_, '_>, field: FieldId) -> Result<ArrayRef, SqlError> {
        let column: ColumnId = system_fields::column_of(field);
        let terms = rows.open.block.column(column)?;
        let terms = terms.values()?.unwrap_or_default();
        let mut values: Vec<Option<Arc<str>>> = Vec::with_capacity(rows.slots.len());
        for slot in rows.slots {
            let term = terms.get(*slot).and_then(|term| u32::try_from(term).ok());
            let document = rows.open.block.document(*slot);
            let value = term.map(|term| self.value(document, field, TermId(term)));
            values.push(value.transpose()?.flatten());
        }
        Ok(Arc::new(strings(&values)?))
    }

    pub(crate) fn value(
        &mut self,
        document: DocId,
        field: FieldId,
        term: TermId,
    ) -> Result<Option<Arc<str>>, SqlError> {
        if let Some(known) = self.values.get(&term) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(value) = self.view.keyword(document, field, term)? else { return Ok(None) };
        let value: Arc<str> = value.into();
        if value.len() > REMEMBERED_BYTES {
            return Ok(Some(value));
        }
        if self.values.len() >= REMEMBERED {
            self.values.clear();
        }
        self.values.insert(term, Arc::clone(&value));
        Ok(Some(value))
    }
}

pub(crate) fn strings(values: &[Option<Arc<str>>]) -> Result<StringArray, SqlError> {
    let bytes: usize = values.iter().flatten().map(|value| value.len()).sum();
    if i32::try_from(bytes).is_err() {
        return Err(SqlError::arrow(ArrowError::OffsetOverflowError(bytes)));
    }
    Ok(values.iter().map(Option::as_deref).collect())
}

/// An array of the values of a stored column, each converted by `of`.
fn stored<T: ArrowPrimitiveType>(
    rows: &ScanRows<'_, '_>,
    column: ColumnId,
    of: impl Fn(i64) -> Option<T::Native>,
) -> Result<PrimitiveArray<T>, SqlError> {
    let mut array = PrimitiveBuilder::<T>::with_capacity(rows.slots.len());
    rows.values(column, |value| array.append_option(value.and_then(&of)))?;
    Ok(array.finish())
}

/// The documents of one batch, and what several columns need of them.
struct ScanRows<'r, 'a> {
    open: &'r ScanBlock<'a>,
    slots: &'r [u16],
    documents: Vec<DocId>,
    /// Empty when no column shows keys.
    keys: Vec<String>,
    /// Empty when no column needs them.
    places: Vec<DocumentPlace>,
    /// Empty when no column needs relations.
    relations: Vec<ClusterRelation>,
}

impl ScanRows<'_, '_> {
    /// Calls `each` with every row's value of a stored column.
    fn values(&self, column: ColumnId, each: impl FnMut(Option<i64>)) -> Result<(), SqlError> {
        let stored = self.open.block.column(column)?;
        stored.values()?.unwrap_or_default().values_of(self.slots, each);
        Ok(())
    }
}

impl ScanBlock<'_> {
    fn standing(&self, slot: u16) -> Option<Standing> {
        let found = self.standings.iter().find(|(_, slots)| slots.contains(slot.into()));
        found.map(|(standing, _)| *standing)
    }
}

fn needs_standings(columns: &[DocumentColumn]) -> bool {
    let needs = |source| {
        matches!(source, ColumnSource::Kept | ColumnSource::Standing) || is_relation(source)
    };
    columns.iter().any(|column| needs(column.source))
}

const fn is_relation(source: ColumnSource) -> bool {
    matches!(
        source,
        ColumnSource::DuplicateOf
            | ColumnSource::Jaccard
            | ColumnSource::Cluster
            | ColumnSource::ClusterSize
    )
}

fn append(to: &mut StringViewBuilder, value: &str) -> Result<(), SqlError> {
    to.try_append_value(value).map_err(SqlError::arrow)
}
