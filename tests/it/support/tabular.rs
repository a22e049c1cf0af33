//! Pages as a table of Parquet.

use crate::support::Page;
use arrow::array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use std::path::Path;
use std::sync::Arc;

/// Writes pages as Parquet with 16 rows a row group.
pub fn parquet_of_pages(path: &Path, pages: &[Page]) {
    let column = |of: fn(&Page) -> Option<String>| -> ArrayRef {
        Arc::new(pages.iter().map(of).collect::<StringArray>())
    };
    let years: Int64Array = pages.iter().map(|page| page.fields["year"].as_i64()).collect();
    let columns = [
        ("id", column(|page| page.id.clone())),
        ("text", column(|page| Some(page.text.clone()))),
        ("language", column(|page| page.fields["language"].as_str().map(str::to_owned))),
        ("year", Arc::new(years)),
    ];
    let columns = columns.map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(16)).build();
    let file = std::fs::File::create(path).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}
