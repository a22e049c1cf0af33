//! Rows of an epoch in columns: the form in which they enter a file and come out of it.
//!
//! Formats give and take a `RecordBatch`; a [`TokenBatch`] is its view with types, by borrowed slices, and a
//! [`TokenBatchBuilder`] makes one row by row.

use super::rows::{BatchColumn, RowColumn, list_column, list_of, row_schema, unsigned_ids};
use arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Int32Array, RecordBatch, StringArray, UInt64Array,
};
use arrow::buffer::{OffsetBuffer, ScalarBuffer};
use arrow::datatypes::{
    DataType, Float32Type, Int8Type, Int32Type, Int64Type, UInt8Type, UInt32Type, UInt64Type,
};
use std::sync::Arc;

/// Rows that are read at a time, at most.
pub(crate) const BATCH_ROWS: usize = 512;
/// Tokens of rows read at a time, about, unless a row has more: what a row is read into and compared with
/// takes some hundred bytes a token.
pub(crate) const BATCH_TOKENS: usize = 1 << 19;

/// A list for each row.
#[derive(Debug)]
pub(crate) struct RowLists<T: ArrowPrimitiveType> {
    offsets: OffsetBuffer<i32>,
    values: ScalarBuffer<T::Native>,
}

impl<T: ArrowPrimitiveType> RowLists<T> {
    /// The lists of a column.
    ///
    /// # Errors
    /// In words, why it is no list of such values without nulls.
    pub fn of(column: &ArrayRef, name: &str) -> Result<Self, String> {
        let lists = column.as_list_opt::<i32>().filter(|lists| lists.null_count() == 0);
        let lists = lists.ok_or_else(|| format!("column {name} is not a list without nulls"))?;
        let values = lists.values().as_primitive_opt::<T>();
        let values = values.filter(|values| values.null_count() == 0).ok_or_else(|| {
            format!("column {name} has other values than {}, or nulls", T::DATA_TYPE)
        })?;
        Ok(Self { offsets: lists.offsets().clone(), values: values.values().clone() })
    }

    /// The values of a row; nothing of a row that is not there.
    pub fn row(&self, row: usize) -> &[T::Native] {
        let bounds = self.offsets.get(row..).and_then(|rest| rest.first().zip(rest.get(1)));
        let bounds = bounds.and_then(|(start, end)| {
            Some(usize::try_from(*start).ok()?..usize::try_from(*end).ok()?)
        });
        bounds.and_then(|bounds| self.values.get(bounds)).unwrap_or_default()
    }

    /// The values of all rows, end to end.
    pub fn all(&self) -> ScalarBuffer<T::Native> {
        let bound = |offset: Option<&i32>| {
            offset.and_then(|offset| usize::try_from(*offset).ok()).unwrap_or_default()
        };
        let (start, end) = (bound(self.offsets.first()), bound(self.offsets.last()));
        self.values.slice(start, end.saturating_sub(start))
    }
}

/// A column of rows that recipes name.
#[derive(Debug)]
enum ViewLists {
    I8(RowLists<Int8Type>),
    I32(RowLists<Int32Type>),
    F32(RowLists<Float32Type>),
    Scalar(ScalarBuffer<i32>),
}

/// Spans of trained tokens.
#[derive(Debug)]
struct TrainedLists {
    starts: RowLists<Int32Type>,
    ends: RowLists<Int32Type>,
    weights: RowLists<Float32Type>,
}

/// Rows in columns. Segments of a row are never longer than its ids, and the three columns of spans agree.
#[derive(Debug)]
pub struct TokenBatch {
    batch: RecordBatch,
    columns: Vec<BatchColumn>,
    numbers: Option<ScalarBuffer<u64>>,
    ids: RowLists<UInt32Type>,
    sources: StringArray,
    seq_lengths: RowLists<Int32Type>,
    doc_ids: RowLists<Int64Type>,
    doc_offsets: RowLists<Int64Type>,
    views: Vec<(RowColumn, ViewLists)>,
    trained: Option<TrainedLists>,
    run_ends: Option<RowLists<Int32Type>>,
    trained_tokens: Option<RowLists<UInt8Type>>,
    label_mask: Option<RowLists<UInt8Type>>,
}

impl TokenBatch {
    /// The view of a batch that has these columns, in any order, and no others.
    ///
    /// # Errors
    /// In words, the column that is missing, too many, or of another type, or the row whose segments are longer than
    /// its ids: nothing may be laid out by their lengths.
    pub fn new(found: &RecordBatch, columns: &[BatchColumn]) -> Result<Self, String> {
        let is_known = |name: &str| columns.iter().any(|column| column.name() == name);
        let fields = found.schema_ref().fields();
        if let Some(other) = fields.iter().find(|field| !is_known(field.name())) {
            return Err(format!("has a column {} too many", other.name()));
        }
        let column = |column: &BatchColumn| match found.column_by_name(column.name()) {
            Some(array) => canonical(*column, array),
            None => Err(format!("column {} is missing", column.name())),
        };
        let arrays: Vec<ArrayRef> = columns.iter().map(column).collect::<Result<_, _>>()?;
        row_batch(columns, arrays)
    }

    fn of_canonical(batch: RecordBatch, columns: &[BatchColumn]) -> Result<Self, String> {
        let array = |column: BatchColumn| {
            let found = batch.column_by_name(column.name());
            found.ok_or_else(|| format!("column {} is missing", column.name()))
        };
        let has = |column: BatchColumn| columns.contains(&column);
        let mut views = Vec::new();
        for column in columns {
            if let BatchColumn::View(view) = column {
                views.push((*view, view_lists(*view, array(*column)?)?));
            }
        }
        let numbers = has(BatchColumn::Number).then(|| array(BatchColumn::Number)).transpose()?;
        let sources = array(BatchColumn::Source)?.as_string_opt::<i32>().cloned();
        let view = Self {
            numbers: numbers
                .and_then(|numbers| numbers.as_primitive_opt::<UInt64Type>())
                .map(|numbers| numbers.values().clone()),
            ids: lists(BatchColumn::Ids, array(BatchColumn::Ids)?)?,
            sources: sources.ok_or_else(|| "column source is not text".to_owned())?,
            seq_lengths: lists(BatchColumn::SeqLengths, array(BatchColumn::SeqLengths)?)?,
            doc_ids: lists(BatchColumn::DocIds, array(BatchColumn::DocIds)?)?,
            doc_offsets: lists(BatchColumn::DocOffsets, array(BatchColumn::DocOffsets)?)?,
            views,
            trained: if has(BatchColumn::TrainedStarts) {
                Some(TrainedLists {
                    starts: lists(BatchColumn::TrainedStarts, array(BatchColumn::TrainedStarts)?)?,
                    ends: lists(BatchColumn::TrainedEnds, array(BatchColumn::TrainedEnds)?)?,
                    weights: lists(
                        BatchColumn::TrainedWeights,
                        array(BatchColumn::TrainedWeights)?,
                    )?,
                })
            } else {
                None
            },
            run_ends: optional(&batch, columns, BatchColumn::RunEnds)?,
            trained_tokens: optional(&batch, columns, BatchColumn::TrainedTokens)?,
            label_mask: optional(&batch, columns, BatchColumn::LabelMask)?,
            batch,
            columns: columns.to_vec(),
        };
        view.rows().try_for_each(TokenRow::check)?;
        Ok(view)
    }

    /// The columns, in the order of the format.
    pub const fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// How many rows it has.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.batch.num_rows()
    }

    /// The ids of all rows, end to end.
    pub fn ids(&self) -> ScalarBuffer<u32> {
        self.ids.all()
    }

    /// 1 on trained tokens of all rows, where the batch has them.
    pub fn trained_tokens(&self) -> Option<ScalarBuffer<u8>> {
        self.trained_tokens.as_ref().map(RowLists::all)
    }

    /// 1 on targets of all rows, where the batch has them.
    pub fn label_mask(&self) -> Option<ScalarBuffer<u8>> {
        self.label_mask.as_ref().map(RowLists::all)
    }

    /// The batch with more columns.
    ///
    /// # Errors
    /// As [`TokenBatch::new`].
    pub fn with(self, more: Vec<(BatchColumn, ArrayRef)>) -> Result<Self, String> {
        if more.is_empty() {
            return Ok(self);
        }
        let mut columns = self.columns.clone();
        let mut arrays = self.batch.columns().to_vec();
        for (column, array) in more {
            columns.push(column);
            arrays.push(array);
        }
        row_batch(&columns, arrays)
    }

    /// The arrays of `columns` alone.
    ///
    /// # Errors
    /// In words, the column that it does not have.
    pub fn project(&self, columns: &[BatchColumn]) -> Result<Vec<ArrayRef>, String> {
        let column = |column: &BatchColumn| match self.batch.column_by_name(column.name()) {
            Some(array) => Ok(Arc::clone(array)),
            None => Err(format!("a batch without {}", column.name())),
        };
        columns.iter().map(column).collect()
    }

    /// Row `row`; empty where there is none.
    pub const fn row(&self, row: usize) -> TokenRow<'_> {
        TokenRow { batch: self, row }
    }

    /// Its rows in order.
    pub fn rows(&self) -> impl Iterator<Item = TokenRow<'_>> {
        (0..self.len()).map(|row| self.row(row))
    }
}

/// Rows in these columns, which are made and not read.
pub fn row_batch(columns: &[BatchColumn], arrays: Vec<ArrayRef>) -> Result<TokenBatch, String> {
    let batch = RecordBatch::try_new(row_schema(columns), arrays);
    TokenBatch::of_canonical(batch.map_err(|error| error.to_string())?, columns)
}

/// The column with its field of a batch, whatever the names and nullability of a file's fields.
fn canonical(column: BatchColumn, array: &ArrayRef) -> Result<ArrayRef, String> {
    if column == BatchColumn::Ids && has_signed_values(array) {
        return unsigned_ids(array);
    }
    if column.is_scalar() {
        let is_sound = *array.data_type() == column.value_type() && array.null_count() == 0;
        return match is_sound {
            true => Ok(Arc::clone(array)),
            false => {
                let (name, wanted) = (column.name(), column.value_type());
                Err(format!("column {name} is not {wanted} without nulls"))
            }
        };
    }
    let name = column.name();
    Ok(match column.value_type() {
        DataType::Int8 => list_again(RowLists::<Int8Type>::of(array, name)?),
        DataType::UInt8 => list_again(RowLists::<UInt8Type>::of(array, name)?),
        DataType::Int32 => list_again(RowLists::<Int32Type>::of(array, name)?),
        DataType::UInt32 => list_again(RowLists::<UInt32Type>::of(array, name)?),
        DataType::Float32 => list_again(RowLists::<Float32Type>::of(array, name)?),
        _ => list_again(RowLists::<Int64Type>::of(array, name)?),
    })
}

fn has_signed_values(array: &ArrayRef) -> bool {
    let lists = array.as_list_opt::<i32>();
    lists.is_some_and(|lists| lists.value_type() == Int32Type::DATA_TYPE)
}

fn list_again<T: ArrowPrimitiveType>(lists: RowLists<T>) -> ArrayRef {
    list_of::<T>(lists.values, lists.offsets)
}

fn lists<T: ArrowPrimitiveType>(
    column: BatchColumn,
    array: &ArrayRef,
) -> Result<RowLists<T>, String> {
    RowLists::of(array, column.name())
}

fn optional<T: ArrowPrimitiveType>(
    batch: &RecordBatch,
    columns: &[BatchColumn],
    column: BatchColumn,
) -> Result<Option<RowLists<T>>, String> {
    let array = batch.column_by_name(column.name()).filter(|_| columns.contains(&column));
    array.map(|array| lists(column, array)).transpose()
}

fn view_lists(view: RowColumn, array: &ArrayRef) -> Result<ViewLists, String> {
    let column = BatchColumn::View(view);
    Ok(match view.value_type() {
        _ if view.is_scalar() => {
            let values = array.as_primitive_opt::<Int32Type>();
            let values = values.ok_or_else(|| format!("column {} is not Int32", view.name()))?;
            ViewLists::Scalar(values.values().clone())
        }
        DataType::Int8 => ViewLists::I8(lists(column, array)?),
        DataType::Float32 => ViewLists::F32(lists(column, array)?),
        _ => ViewLists::I32(lists(column, array)?),
    })
}

/// A row of a batch.
#[derive(Clone, Copy)]
pub struct TokenRow<'a> {
    batch: &'a TokenBatch,
    row: usize,
}

/// The values of a row in a column that recipes name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ViewValues<'a> {
    /// Small whole numbers.
    I8(&'a [i8]),
    /// Whole numbers.
    I32(&'a [i32]),
    /// Floats.
    F32(&'a [f32]),
}

impl<'a> TokenRow<'a> {
    /// Its number in the epoch, where the format has it.
    pub fn number(self) -> Option<u64> {
        self.batch.numbers.as_ref().and_then(|numbers| numbers.get(self.row).copied())
    }

    /// Its token ids.
    pub fn ids(self) -> &'a [u32] {
        self.batch.ids.row(self.row)
    }

    /// The name of its source; empty where rows have none.
    pub fn source(self) -> &'a str {
        if self.row < self.batch.sources.len() { self.batch.sources.value(self.row) } else { "" }
    }

    /// The tokens of each segment.
    pub fn seq_lengths(self) -> &'a [i32] {
        self.batch.seq_lengths.row(self.row)
    }

    /// The document of each segment.
    pub fn doc_ids(self) -> &'a [i64] {
        self.batch.doc_ids.row(self.row)
    }

    /// The token of its document at which each segment begins.
    pub fn doc_offsets(self) -> &'a [i64] {
        self.batch.doc_offsets.row(self.row)
    }

    /// Its values in each column that recipes name and the batch has.
    pub fn views(self) -> impl Iterator<Item = (RowColumn, ViewValues<'a>)> {
        let of = move |(column, lists): &'a (RowColumn, ViewLists)| {
            let values = match lists {
                ViewLists::I8(lists) => ViewValues::I8(lists.row(self.row)),
                ViewLists::I32(lists) => ViewValues::I32(lists.row(self.row)),
                ViewLists::F32(lists) => ViewValues::F32(lists.row(self.row)),
                ViewLists::Scalar(values) => {
                    ViewValues::I32(values.get(self.row..=self.row).unwrap_or_default())
                }
            };
            (*column, values)
        };
        self.batch.views.iter().map(of)
    }

    /// Its values in a column that recipes name, where the batch has it.
    pub fn view(self, column: RowColumn) -> Option<ViewValues<'a>> {
        self.views().find(|(found, _)| *found == column).map(|(_, values)| values)
    }

    /// The values of [`TokenRow::view`] for a column of i32.
    pub(crate) fn i32s(self, column: RowColumn) -> Option<&'a [i32]> {
        match self.view(column)? {
            ViewValues::I32(values) => Some(values),
            ViewValues::I8(_) | ViewValues::F32(_) => None,
        }
    }

    /// Start, end and weight of what documents say is trained, where the format has it.
    pub fn trained(self) -> Option<impl Iterator<Item = (i32, i32, f32)> + 'a> {
        let TrainedLists { starts, ends, weights } = self.batch.trained.as_ref()?;
        let (starts, ends) = (starts.row(self.row), ends.row(self.row));
        let spans = starts.iter().zip(ends).zip(weights.row(self.row));
        Some(spans.map(|((start, end), weight)| (*start, *end, *weight)))
    }

    /// Where its runs end, where the format has it.
    pub fn run_ends(self) -> Option<&'a [i32]> {
        self.batch.run_ends.as_ref().map(|lists| lists.row(self.row))
    }

    /// A byte a token, 1 where it is trained, where the format has it.
    pub fn trained_tokens(self) -> Option<&'a [u8]> {
        self.batch.trained_tokens.as_ref().map(|lists| lists.row(self.row))
    }

    /// A byte a token, 1 where its label counts, where the format has it.
    pub fn label_mask(self) -> Option<&'a [u8]> {
        self.batch.label_mask.as_ref().map(|lists| lists.row(self.row))
    }

    fn check(self) -> Result<(), String> {
        let tokens = self.ids().len();
        let length = |length: &i32| u64::try_from(*length).unwrap_or_default();
        let within: u64 = self.seq_lengths().iter().map(length).sum();
        if within > tokens as u64 {
            return Err(format!(
                "row {} has segments of {within} tokens and {tokens} ids",
                self.row
            ));
        }
        let Some(TrainedLists { starts, ends, weights }) = &self.batch.trained else {
            return Ok(());
        };
        let spans = starts.row(self.row).len();
        match ends.row(self.row).len() == spans && weights.row(self.row).len() == spans {
            true => Ok(()),
            false => Err("has spans of unequal columns".to_owned()),
        }
    }
}

/// A column under way.
#[derive(Debug)]
pub(crate) enum TokenColumnBuilder {
    Text(Vec<String>),
    U64(Vec<u64>),
    I32(Vec<i32>),
    U8s(RowListBuilder<u8>),
    I8s(RowListBuilder<i8>),
    U32s(RowListBuilder<u32>),
    I32s(RowListBuilder<i32>),
    I64s(RowListBuilder<i64>),
    F32s(RowListBuilder<f32>),
}

/// A list column under way: what is appended to `values` up to [`RowListBuilder::end`] is the list of a row.
#[derive(Debug, Default)]
pub(crate) struct RowListBuilder<T> {
    pub values: Vec<T>,
    ends: Vec<usize>,
}

impl<T> RowListBuilder<T> {
    /// Ends the list of a row.
    pub fn end(&mut self) {
        self.ends.push(self.values.len());
    }

    fn finish<A: ArrowPrimitiveType<Native = T>>(self) -> Result<ArrayRef, String> {
        if i32::try_from(self.values.len()).is_err() {
            return Err(format!("{} values in one batch of rows", self.values.len()));
        }
        let starts = std::iter::once(&0).chain(&self.ends);
        let lengths = self.ends.iter().zip(starts).map(|(end, start)| end - start);
        Ok(list_column::<A>(self.values, lengths))
    }
}

impl TokenColumnBuilder {
    pub fn of(column: BatchColumn) -> Self {
        match (column.value_type(), column.is_scalar()) {
            (DataType::Utf8, _) => Self::Text(Vec::new()),
            (DataType::UInt64, _) => Self::U64(Vec::new()),
            (_, true) => Self::I32(Vec::new()),
            (DataType::UInt8, _) => Self::U8s(RowListBuilder::default()),
            (DataType::Int8, _) => Self::I8s(RowListBuilder::default()),
            (DataType::UInt32, _) => Self::U32s(RowListBuilder::default()),
            (DataType::Int64, _) => Self::I64s(RowListBuilder::default()),
            (DataType::Float32, _) => Self::F32s(RowListBuilder::default()),
            _ => Self::I32s(RowListBuilder::default()),
        }
    }

    fn finish(self) -> Result<ArrayRef, String> {
        match self {
            Self::Text(values) => Ok(Arc::new(StringArray::from(values))),
            Self::U64(values) => Ok(Arc::new(UInt64Array::from(values))),
            Self::I32(values) => Ok(Arc::new(Int32Array::from(values))),
            Self::U8s(lists) => lists.finish::<UInt8Type>(),
            Self::I8s(lists) => lists.finish::<Int8Type>(),
            Self::U32s(lists) => lists.finish::<UInt32Type>(),
            Self::I32s(lists) => lists.finish::<Int32Type>(),
            Self::I64s(lists) => lists.finish::<Int64Type>(),
            Self::F32s(lists) => lists.finish::<Float32Type>(),
        }
    }
}

/// A batch that is made row by row: every column of a row is appended and ended, then the row is.
#[derive(Debug)]
pub(crate) struct TokenBatchBuilder {
    pub columns: Vec<(BatchColumn, TokenColumnBuilder)>,
    rows: usize,
    tokens: usize,
}

impl TokenBatchBuilder {
    pub fn new(columns: &[BatchColumn]) -> Self {
        let of = |column: &BatchColumn| (*column, TokenColumnBuilder::of(*column));
        Self { columns: columns.iter().map(of).collect(), rows: 0, tokens: 0 }
    }

    /// Ends a row of so many tokens.
    pub(crate) const fn end_row(&mut self, tokens: usize) {
        self.rows += 1;
        self.tokens += tokens;
    }

    pub const fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Whether it has as many rows or tokens as are read at a time.
    pub const fn is_full(&self) -> bool {
        self.rows >= BATCH_ROWS || self.tokens >= BATCH_TOKENS
    }

    /// The batch.
    ///
    /// # Errors
    /// As [`TokenBatch::new`].
    pub fn finish(self) -> Result<TokenBatch, String> {
        let (columns, builders): (Vec<BatchColumn>, Vec<TokenColumnBuilder>) =
            self.columns.into_iter().unzip();
        let arrays: Vec<ArrayRef> =
            builders.into_iter().map(TokenColumnBuilder::finish).collect::<Result<_, _>>()?;
        row_batch(&columns, arrays)
    }
}
