//! Corrects what the footer of a Parquet file says, for every reader of ours, and checks the checksums of pages.
//!
//! Counts of rows are true, columns are found by their place, JSON and UUIDs by their mark, and moments of 96 bits have
//! a unit that holds them.

use super::arrow_types::{
    as_fields, fields_with_leaves, given_columns, texts_as_bytes, with_extension, with_leaves,
};
use arrow::array::{
    ArrayRef, AsArray, RecordBatch, RecordBatchOptions, TimestampMicrosecondArray, make_array,
};
use arrow::datatypes::{
    DataType, Field, Fields, Int64Type, Schema, SchemaRef, TimeUnit, TimestampMicrosecondType,
    TimestampMillisecondType,
};
use arrow::error::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::{Compression, ConvertedType, LogicalType, Type as PhysicalType};
use parquet::column::page::PageReader;
use parquet::errors::Result;
use parquet::file::metadata::{FileMetaData, ParquetMetaData, RowGroupMetaData};
use parquet::file::reader::ChunkReader;
use parquet::file::serialized_reader::SerializedPageReader;
use parquet::schema::types::{SchemaDescriptor, Type, TypePtr};
use std::ops::Range;
use std::sync::Arc;

/// Bytes in which the beginning of a page's header stands.
const HEAD: usize = 32;
/// How Thrift's compact form begins a whole number that is the next member.
const NEXT_NUMBER: u8 = 0x15;
/// Whole numbers of a page's header before its checksum.
const BEFORE_CHECKSUM: usize = 3;

/// The footer of a file.
pub struct ParquetFooter {
    metadata: ArrowReaderMetadata,
    /// The columns as they are given, and JSON has its mark.
    columns: Fields,
    /// Where moments stand that the unit of their column does not hold.
    far: Option<FarMoments>,
}

/// What the columns of a file are decoded as.
#[derive(Clone, Debug)]
pub struct ParquetDecoding {
    schema: SchemaRef,
    far: Option<FarMoments>,
}

/// Columns of moments of 96 bits in a unit that holds all.
#[derive(Clone, Debug)]
struct FarMoments {
    metadata: ArrowReaderMetadata,
    leaves: ProjectionMask,
}

/// The rows of some row groups.
pub struct ParquetRows {
    rows: ParquetRecordBatchReader,
    /// The rows once more, of columns of moments in a unit that holds all.
    far: Option<ParquetRecordBatchReader>,
}

impl ParquetRows {
    /// The next rows; a moment that its unit does not hold is the last one or the first one of it, which no calendar has.
    pub fn next(&mut self) -> std::result::Result<Option<RecordBatch>, ArrowError> {
        let batch = self.rows.next().transpose()?;
        let Some(far) = &mut self.far else { return Ok(batch) };
        match (batch, far.next().transpose()?) {
            (None, None) => Ok(None),
            (Some(batch), Some(far)) if batch.num_rows() == far.num_rows() => {
                without_far(&batch, &far).map(Some)
            }
            _ => Err(ArrowError::ParquetError("columns of other lengths".to_owned())),
        }
    }
}

impl ParquetFooter {
    /// The footer of a file.
    ///
    /// # Errors
    /// The decoder's, for a file that is no Parquet.
    pub fn load<R: ChunkReader>(file: &R) -> Result<Self> {
        let loaded = ArrowReaderMetadata::load(file, ArrowReaderOptions::default())?;
        let groups = loaded.metadata().row_groups();
        let rows = groups.iter().map(RowGroupMetaData::num_rows).fold(0, i64::saturating_add);
        let about = loaded.metadata().file_metadata();
        if about.num_rows() >= rows {
            return Ok(Self::of(loaded));
        }
        // Some writers count no row; the decoder gives no more than the footer counts.
        let schema = about.schema_descr_ptr();
        let metadata = Arc::new(with_file(loaded.metadata(), rows, schema));
        let schema = Arc::clone(loaded.schema());
        Ok(Self::of(ArrowReaderMetadata::try_new(metadata, read_as(schema))?))
    }

    fn of(metadata: ArrowReaderMetadata) -> Self {
        let columns = columns(&metadata);
        Self { metadata, columns, far: None }
    }

    /// This footer, its columns in other types where the decoder has them.
    pub fn with_schema(self, schema: SchemaRef) -> Self {
        self.with_decoding(&ParquetDecoding { schema, far: None })
    }

    /// This footer, its columns decoded as those of the file were before.
    pub fn with_decoding(self, decoding: &ParquetDecoding) -> Self {
        let (metadata, schema) = (self.metadata.metadata(), Arc::clone(&decoding.schema));
        match ArrowReaderMetadata::try_new(Arc::clone(metadata), read_as(schema)) {
            Ok(metadata) => Self { far: decoding.far.clone(), ..Self::of(metadata) },
            Err(_) => self,
        }
    }

    /// What its columns are decoded as.
    pub fn decoding(&self) -> ParquetDecoding {
        ParquetDecoding { schema: Arc::clone(self.metadata.schema()), far: self.far.clone() }
    }

    /// This footer, with the moments of 96 bits of some columns in the finest unit that holds all of them: nanoseconds
    /// where they can, which wrap beyond the years 1677 and 2262. These columns are read for it.
    pub fn with_fitting_moments<R: ChunkReader + 'static>(
        self,
        file: R,
        of: impl IntoIterator<Item = usize>,
    ) -> Self {
        let descriptor = self.metadata.parquet_schema();
        let is_moment = |leaf: &usize| {
            let column = descriptor.columns().get(*leaf);
            column.is_some_and(|column| column.physical_type() == PhysicalType::INT96)
        };
        let (mut leaves, mut is_nested) = (Vec::new(), false);
        for column in of {
            let before = leaves.len();
            leaves.extend(self.leaves(column).filter(is_moment));
            let field = self.metadata.schema().fields().get(column);
            is_nested |=
                leaves.len() > before && field.is_some_and(|field| field.data_type().is_nested());
        }
        if leaves.is_empty() {
            return self;
        }
        let projection = ProjectionMask::leaves(descriptor, leaves.iter().copied());
        // A page that cannot be read is an error when it is read.
        let Ok(coarse) = self.moments_in(&leaves, TimeUnit::Millisecond) else { return self };
        let Ok(most) = far_moment(file, coarse.clone(), projection.clone()) else { return self };
        if most <= milliseconds(1_000_000) {
            return self;
        }
        let is_beyond = most > milliseconds(1_000);
        // Within lists and objects no single one is taken out.
        if is_beyond && is_nested {
            return Self::of(coarse);
        }
        match self.moments_in(&leaves, TimeUnit::Microsecond) {
            Ok(metadata) => {
                let far = FarMoments { metadata: coarse, leaves: projection };
                Self { far: is_beyond.then_some(far), ..Self::of(metadata) }
            }
            Err(_) => self,
        }
    }

    /// The rows that `with` chooses of the file that `file` opens, decoded by `metadata`.
    pub fn rows<R: ChunkReader + 'static>(
        &self,
        metadata: ArrowReaderMetadata,
        file: impl Fn() -> std::io::Result<R>,
        with: impl Fn(ParquetRecordBatchReaderBuilder<R>) -> ParquetRecordBatchReaderBuilder<R>,
    ) -> Result<ParquetRows> {
        let opened = |metadata: ArrowReaderMetadata| -> Result<ParquetRecordBatchReaderBuilder<R>> {
            let file = file()?;
            Ok(with(ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata)))
        };
        let rows = opened(metadata)?.build()?;
        let far = match &self.far {
            Some(FarMoments { metadata, leaves }) => {
                Some(opened(metadata.clone())?.with_projection(leaves.clone()).build()?)
            }
            None => None,
        };
        Ok(ParquetRows { rows, far })
    }

    /// The footer with the moments of some leaves in a unit.
    fn moments_in(&self, leaves: &[usize], unit: TimeUnit) -> Result<ArrowReaderMetadata> {
        let mut places = 0..;
        let schema = self.metadata.schema();
        let fields = fields_with_leaves(schema.fields(), &mut |field| {
            let is_one = places.next().is_some_and(|place| leaves.contains(&place));
            match field.data_type() {
                DataType::Timestamp(_, zone) if is_one => {
                    field.clone().with_data_type(DataType::Timestamp(unit, zone.clone()))
                }
                _ => field.clone(),
            }
        });
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        ArrowReaderMetadata::try_new(
            Arc::clone(self.metadata.metadata()),
            read_as(Arc::new(schema)),
        )
    }

    /// What the decoder takes.
    pub const fn metadata(&self) -> &ArrowReaderMetadata {
        &self.metadata
    }

    /// The columns as they are given, each with a name of its own: JSON has its mark, a UUID is a text.
    pub const fn columns(&self) -> &Fields {
        &self.columns
    }

    /// What the decoder takes to give texts as bytes, without proving that they are texts.
    pub(super) fn as_bytes(&self) -> Result<ArrowReaderMetadata> {
        let about = self.metadata.metadata().file_metadata();
        let root = without_texts(&about.schema_descr().root_schema_ptr())?;
        let descriptor = Arc::new(SchemaDescriptor::new(root));
        let metadata = with_file(self.metadata.metadata(), about.num_rows(), descriptor);
        let schema = self.metadata.schema();
        let fields = texts_as_bytes(schema.fields());
        let schema = Schema::new_with_metadata(fields, schema.metadata().clone());
        ArrowReaderMetadata::try_new(Arc::new(metadata), read_as(Arc::new(schema)))
    }

    /// The leaves that are decoded for some columns.
    pub fn projection(&self, columns: impl IntoIterator<Item = usize>) -> ProjectionMask {
        let leaves = columns.into_iter().flat_map(|column| self.leaves(column));
        ProjectionMask::leaves(self.metadata.parquet_schema(), leaves)
    }

    /// The leaves of a column. The decoder has no column for a group without leaves, so the groups of the file's own
    /// schema are not counted.
    fn leaves(&self, column: usize) -> Range<usize> {
        let fields = self.metadata.schema().fields();
        let before = fields.get(..column).unwrap_or_default().iter();
        let before = before.map(|field| leaf_count(field)).sum();
        before..before + fields.get(column).map_or(0, |field| leaf_count(field))
    }

    /// A batch of some of the columns as these are given.
    pub(super) fn given(batch: &RecordBatch, columns: &Fields) -> Result<RecordBatch, ArrowError> {
        match batch.schema_ref().fields() == columns {
            true => Ok(batch.clone()),
            false => as_fields(batch, columns),
        }
    }

    /// Compares the checksums of the pages of a row group, of the leaves that are decoded.
    ///
    /// # Errors
    /// In words, with the column of the page whose checksum is another one.
    pub(super) fn check_pages<R: ChunkReader + 'static>(
        &self,
        file: &Arc<R>,
        group: usize,
        projection: &ProjectionMask,
    ) -> std::result::Result<(), String> {
        let Some(group) = self.metadata.metadata().row_groups().get(group) else { return Ok(()) };
        let rows = usize::try_from(group.num_rows()).unwrap_or(0);
        for (leaf, chunk) in group.columns().iter().enumerate() {
            let (start, _) = chunk.byte_range();
            if !projection.leaf_included(leaf) || !has_checksum(file.as_ref(), start) {
                continue;
            }
            // The checksum is of the page as it is stored: nothing is decompressed for it.
            let stored = chunk.clone().into_builder().set_compression(Compression::UNCOMPRESSED);
            let pages = stored.build().and_then(|stored| {
                SerializedPageReader::new(Arc::clone(file), &stored, rows, None)
            });
            let Ok(mut pages) = pages else { continue };
            loop {
                match pages.get_next_page() {
                    Ok(Some(_)) => {}
                    Err(error) if error.to_string().contains("checksum") => {
                        return Err(format!("column `{}`: {error}", chunk.column_path().string()));
                    }
                    // Anything else is met by the decoder, where it needs the page.
                    Ok(None) | Err(_) => break,
                }
            }
        }
        Ok(())
    }
}

/// The last moment of a unit, in milliseconds, where `parts` of the unit are one.
const fn milliseconds(parts: i64) -> i64 {
    i64::MAX / parts
}

fn read_as(schema: SchemaRef) -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_schema(schema)
}

/// The metadata of a file with another count of rows and another schema, its row groups as they are.
fn with_file(
    metadata: &ParquetMetaData,
    rows: i64,
    schema: Arc<SchemaDescriptor>,
) -> ParquetMetaData {
    let about = metadata.file_metadata();
    let about = FileMetaData::new(
        about.version(),
        rows,
        about.created_by().map(str::to_owned),
        about.key_value_metadata().cloned(),
        schema,
        about.column_orders().cloned(),
    );
    ParquetMetaData::new(about, metadata.row_groups().to_vec())
}

fn leaf_count(field: &Field) -> usize {
    let mut count = 0;
    let count_one = &mut |leaf: &Field| {
        count += 1;
        leaf.clone()
    };
    with_leaves(field, count_one);
    count
}

/// The columns with the marks that the schema of the file has, and not that of Arrow in it.
fn columns(metadata: &ArrowReaderMetadata) -> Fields {
    let mut leaves = metadata.parquet_schema().columns().iter();
    let tops = metadata.schema().fields().iter();
    let marked: Fields = tops
        .map(|top| {
            let is_top = |leaf: &Field| leaf == top.as_ref();
            let mut mark = |leaf: &Field| {
                let Some(column) = leaves.next() else { return leaf.clone() };
                match (column.logical_type_ref(), column.converted_type()) {
                    (Some(LogicalType::Json), _) | (_, ConvertedType::JSON) if is_top(leaf) => {
                        with_extension(leaf, "arrow.json")
                    }
                    (Some(LogicalType::Uuid), _) => with_extension(leaf, "arrow.uuid"),
                    _ => leaf.clone(),
                }
            };
            Arc::new(with_leaves(top, &mut mark))
        })
        .collect();
    given_columns(&marked)
}

/// The batch with the last moment of its unit, or the first, in the place of each that is another one in the unit that
/// holds all.
fn without_far(
    batch: &RecordBatch,
    far: &RecordBatch,
) -> std::result::Result<RecordBatch, ArrowError> {
    let column = |(field, column): (&Arc<Field>, &ArrayRef)| -> ArrayRef {
        let coarse = far.column_by_name(field.name());
        let coarse =
            coarse.and_then(|coarse| coarse.as_primitive_opt::<TimestampMillisecondType>());
        let moments = column.as_primitive_opt::<TimestampMicrosecondType>();
        let Some((moments, coarse)) = moments.zip(coarse) else { return Arc::clone(column) };
        let both = moments.iter().zip(coarse.iter());
        let held = both.map(|(moment, coarse)| match (moment?, coarse?) {
            (moment, coarse) if moment.div_euclid(1_000) == coarse => Some(moment),
            (_, coarse) => Some(if coarse < 0 { i64::MIN } else { i64::MAX }),
        });
        Arc::new(TimestampMicrosecondArray::from_iter(held))
    };
    let columns: Vec<ArrayRef> =
        batch.schema_ref().fields().iter().zip(batch.columns()).map(column).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options)
}

/// How far from 1970 the farthest moment is, in milliseconds.
fn far_moment<R: ChunkReader + 'static>(
    file: R,
    metadata: ArrowReaderMetadata,
    projection: ProjectionMask,
) -> Result<i64> {
    fn far(array: &ArrayRef) -> i64 {
        if let Some(moments) = array.as_primitive_opt::<TimestampMillisecondType>() {
            let moments = moments.reinterpret_cast::<Int64Type>();
            return moments.iter().flatten().map(i64::saturating_abs).max().unwrap_or(0);
        }
        let data = array.to_data();
        data.child_data().iter().map(|child| far(&make_array(child.clone()))).max().unwrap_or(0)
    }
    let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
    let mut most = 0;
    for batch in builder.with_projection(projection).build()? {
        most = batch?.columns().iter().map(far).fold(most, i64::max);
    }
    Ok(most)
}

/// The schema with bytes in the place of texts.
fn without_texts(kind: &TypePtr) -> Result<TypePtr> {
    let info = kind.get_basic_info();
    let id = info.has_id().then(|| info.id());
    if kind.is_primitive() {
        let is_text = kind.get_physical_type() == PhysicalType::BYTE_ARRAY
            && (matches!(info.logical_type_ref(), Some(LogicalType::String | LogicalType::Json))
                || matches!(info.converted_type(), ConvertedType::UTF8 | ConvertedType::JSON));
        if !is_text {
            return Ok(Arc::clone(kind));
        }
        let bytes = Type::primitive_type_builder(kind.name(), PhysicalType::BYTE_ARRAY);
        return Ok(Arc::new(bytes.with_repetition(info.repetition()).with_id(id).build()?));
    }
    let fields = kind.get_fields().iter().map(without_texts).collect::<Result<Vec<_>>>()?;
    let mut group = Type::group_type_builder(kind.name())
        .with_fields(fields)
        .with_id(id)
        .with_logical_type(info.logical_type_ref().cloned())
        .with_converted_type(info.converted_type());
    if info.has_repetition() {
        group = group.with_repetition(info.repetition());
    }
    Ok(Arc::new(group.build()?))
}

/// Whether the header of the page that begins there has a checksum.
fn has_checksum<R: ChunkReader>(file: &R, at: u64) -> bool {
    let Ok(head) = file.get_bytes(at, HEAD) else { return false };
    let mut rest = head.as_ref();
    for _ in 0..BEFORE_CHECKSUM {
        let Some(number) = rest.strip_prefix(&[NEXT_NUMBER]) else { return false };
        let last = number.iter().position(|byte| byte & 0x80 == 0);
        rest = last.and_then(|last| number.get(last + 1..)).unwrap_or_default();
    }
    rest.first() == Some(&NEXT_NUMBER)
}
