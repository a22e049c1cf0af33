//! Files as tables: which there are, which columns they have, and how long their rows are.

use super::super::passing::Passing;
use super::reading::{Reading, fault};
use crate::query::error::QueryError;
use crate::query::sql::runtime;
use arrow::datatypes::{DataType, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use futures::TryStreamExt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Bytes at the beginning of a file of lines by which the length of its rows is told.
const HEAD: u64 = 64 << 10;

/// A format of files, by the engine's own reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FileKind {
    Parquet,
    Csv,
    Json,
}

impl FileKind {
    pub(super) const ALL: [Self; 3] = [Self::Parquet, Self::Csv, Self::Json];

    /// The function that reads them.
    pub(super) const fn function(self) -> &'static str {
        match self {
            Self::Parquet => "read_parquet",
            Self::Csv => "read_csv",
            Self::Json => "read_json",
        }
    }

    pub(super) const fn example(self) -> &'static str {
        match self {
            Self::Parquet => "scores/*.parquet",
            Self::Csv => "scores.csv",
            Self::Json => "scores.jsonl",
        }
    }

    /// How the names end of the files of a directory that are read.
    const fn endings(self) -> &'static [&'static str] {
        match self {
            Self::Parquet => &["parquet"],
            Self::Csv => &["csv"],
            Self::Json => &["jsonl", "json", "ndjson"],
        }
    }

    fn format(self) -> Arc<dyn FileFormat> {
        match self {
            Self::Parquet => Arc::new(ParquetFormat::default()),
            // Else a line break within quotes might be where a file is cut in two.
            Self::Csv => {
                Arc::new(CsvFormat::default().with_has_header(true).with_newlines_in_values(true))
            }
            Self::Json => Arc::new(JsonFormat::default()),
        }
    }
}

/// The rows of one file, of those of a directory, or of all that a pattern matches.
#[derive(Debug)]
pub(in crate::query::sql) struct FileTable {
    inner: ListingTable,
    /// As the statement has it.
    path: String,
    row_bytes: usize,
}

impl FileTable {
    /// Bytes of a row, told from the files' own counts or from their beginning; none when all columns named are short.
    pub(in crate::query::sql) fn row_bytes(&self, columns: &Schema) -> Option<usize> {
        let long = |kind: &DataType| kind.is_nested() || kind.is_string() || kind.is_binary();
        columns.fields().iter().any(|field| long(field.data_type())).then_some(self.row_bytes)
    }
}

fn refused(path: &str, why: impl Into<String>) -> QueryError {
    QueryError::File { path: path.to_owned(), why: why.into() }
}

/// The table of a path or pattern. It blocks while the beginnings of the files are read.
pub(super) fn table(
    kind: FileKind,
    path: &str,
    session: &dyn Session,
) -> std::result::Result<FileTable, QueryError> {
    // An address may have secrets.
    if let Some((scheme, _)) = path.split_once("://") {
        return Err(refused(
            &format!("{scheme}://…"),
            "only files of this machine are read here: fetch it first",
        ));
    }
    let is_pattern = path.contains(['*', '?', '[']);
    let found = Path::new(path).metadata();
    let ending = match &found {
        Ok(found) if found.is_dir() => Some(kind.endings()),
        Ok(_) => None,
        Err(_) if is_pattern => None,
        Err(error) => return Err(refused(path, error.to_string())),
    };
    let opened = open(kind, path, ending, session);
    runtime::block_on(async { opened.await.map_err(|error| fault(path, error)) })
}

async fn open(
    kind: FileKind,
    path: &str,
    endings: Option<&[&str]>,
    session: &dyn Session,
) -> Result<FileTable> {
    let url = ListingTableUrl::parse(path)?;
    let store = session.runtime_env().object_store(&url)?;
    let mut files = Vec::new();
    let mut ending = "";
    for tried in endings.unwrap_or(&[""]) {
        let listed = url.list_all_files(session, store.as_ref(), tried).await?;
        files = listed.try_collect::<Vec<_>>().await?;
        ending = tried;
        if !files.is_empty() {
            break;
        }
    }
    if files.is_empty() {
        let what = match endings {
            Some(endings) => format!("no file in it ends in .{}", endings.join(", .")),
            None => "no file has such a name".to_owned(),
        };
        return Err(DataFusionError::Execution(what));
    }
    let format = kind.format();
    let (mut schemas, mut bytes, mut rows) = (Vec::new(), 0_usize, 0_usize);
    for file in &files {
        let one = std::slice::from_ref(file);
        let named = |error: DataFusionError| fault(&format!("/{}", file.location), error);
        let schema = format.infer_schema(session, &store, one).await.map_err(named)?;
        let (of_file, in_file) = match kind {
            FileKind::Parquet => {
                let told = format.infer_stats(session, &store, Arc::clone(&schema), file).await;
                let told = told.map_err(named)?;
                let rows = told.num_rows.get_value().copied().unwrap_or(1);
                (told.total_byte_size.get_value().copied().unwrap_or(0), rows)
            }
            FileKind::Csv | FileKind::Json => lines(&format!("/{}", file.location)),
        };
        bytes = bytes.saturating_add(of_file);
        rows = rows.saturating_add(in_file);
        schemas.push(schema.as_ref().clone().with_metadata(Default::default()));
    }
    let schema: SchemaRef = Arc::new(Schema::try_merge(schemas)?);
    let options = ListingOptions::new(format).with_file_extension(ending);
    let config = ListingTableConfig::new(url).with_listing_options(options).with_schema(schema);
    let row_bytes = (bytes / rows.max(1)).max(1);
    Ok(FileTable { inner: ListingTable::try_new(config)?, path: path.to_owned(), row_bytes })
}

/// Bytes and lines of the beginning of a file; what cannot be read is told by the reader.
fn lines(path: &str) -> (usize, usize) {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    match read {
        Ok(bytes) => (bytes, head.iter().filter(|byte| **byte == b'\n').count()),
        Err(_) => (0, 0),
    }
}

#[async_trait]
impl TableProvider for FileTable {
    fn schema(&self) -> SchemaRef {
        self.inner.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.inner.supports_filters_pushdown(filters)
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let input = self.inner.scan(session, projection, filters, limit).await?;
        Ok(Arc::new(Passing::new(input, Reading::of(&self.path))))
    }
}
