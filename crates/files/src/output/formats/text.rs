//! Texts alone, each followed by a separator.

use super::lines::{LineFile, in_parallel};
use super::spelling::ValueSpelling;
use crate::output::compression::{CompressedFile, FileOutput, OutputCompression};
use crate::output::error::WriteError;
use crate::output::format::{
    EncodedGroup, FileSpec, OutputFormat, ShardFile, TableColumns, TableFormat,
};
use arrow::array::RecordBatch;
use model::invariant::part;

pub(super) static TEXT: OutputFormat = OutputFormat {
    name: "text",
    about: "Texts only, each followed by the separator",
    endings: &["txt"],
    compressions: &[OutputCompression::None, OutputCompression::Zstd, OutputCompression::Gzip],
    default_compression: OutputCompression::None,
    is_compressed_whole: true,
    streams: true,
    columns: TableColumns::Texts,
    loss: Some("the separator is inside, so that readers end the text there"),
    table: Some(&Text),
};

struct Text;

impl TableFormat for Text {
    fn check(&self, spec: &FileSpec) -> Result<(), WriteError> {
        let is_text = |field: &arrow::datatypes::FieldRef| field.data_type().is_string();
        match spec.schema.fields().first() {
            Some(field) if is_text(field) && spec.schema.fields().len() == 1 => Ok(()),
            _ => Err(WriteError::Unfit("format text has one column, of texts".to_owned())),
        }
    }

    fn encode(&self, spec: &FileSpec, rows: &[RecordBatch]) -> Result<EncodedGroup, WriteError> {
        let separator = spec.separator.as_str();
        in_parallel(rows, |rows, out| {
            let spelling = ValueSpelling::new(rows.num_columns());
            let columns =
                spelling.columns(rows).map_err(|error| WriteError::Bug(error.to_string()))?;
            let mut inside = 0;
            for row in 0..rows.num_rows() {
                let text = columns.first().and_then(|column| column.text(row)).unwrap_or_default();
                inside += u64::from(!ends_at_its_end(text, separator));
                out.extend_from_slice(text.as_bytes());
                out.extend_from_slice(separator.as_bytes());
            }
            Ok(vec![inside])
        })
    }

    fn create<'a>(
        &self,
        spec: &FileSpec,
        out: FileOutput<'a>,
    ) -> Result<Box<dyn ShardFile + 'a>, WriteError> {
        Ok(Box::new(LineFile::new(CompressedFile::of(out, spec.compression, None)?)))
    }
}

/// Whether a reader that looks for the separator ends a text where it ends.
fn ends_at_its_end(text: &str, separator: &str) -> bool {
    let Some((_, before)) = separator.as_bytes().split_last() else { return true };
    // The end of the text may begin what the separator ends.
    let tail = part(text.as_bytes(), text.len().saturating_sub(before.len())..);
    let end = [tail, before].concat();
    let is_separator = |window: &[u8]| window == separator.as_bytes();
    !text.contains(separator) && !end.windows(separator.len()).any(is_separator)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_ends_where_its_first_separator_begins() {
        for (text, separator, ends) in [
            ("a b", "\n", true),
            ("a\nb", "\n", false),
            ("a\n", "\n\n", false),
            ("\na", "\n\n", true),
            ("<|end|>", "<|end|>\n", true),
            ("x<|end|>\ny", "<|end|>\n", false),
            ("ab", "abab", false),
            ("aba", "abab", true),
            ("", "\n", true),
            ("a", "", true),
        ] {
            assert_eq!(ends_at_its_end(text, separator), ends, "{text:?} {separator:?}");
        }
    }
}
