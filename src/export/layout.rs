//! What the options come to: form, compression, columns, and whether one file or a directory is made.

use super::error::ExportError;
use super::options::{ExportCompression, ExportFormat, ExportOptions};
use crate::output::Frame;
use crate::query::{declared_columns, is_of_standing};
use crate::remote::without_secrets;
use crate::store::View;
use std::path::Path;

/// Bytes of a file of a directory, by default.
const SHARD_BYTES: u64 = 256 << 20;
/// Stands for the fields of a record at top level.
pub(super) const SPREAD: &str = "meta.*";
/// The column with the fields of a record.
pub(super) const META: &str = "meta";

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    pub format: ExportFormat,
    pub compression: ExportCompression,
    /// Names as given, [`SPREAD`] among them; none: all columns of pairs.
    pub columns: Option<Vec<String>>,
    /// Bytes at which a file ends; none: one file is made.
    pub shard_bytes: Option<u64>,
    pub separator: String,
}

impl Layout {
    /// What options come to for a file or directory; none: for a stream.
    pub fn of(
        view: &View,
        options: &ExportOptions,
        to: Option<&Path>,
    ) -> Result<Self, ExportError> {
        let (named, framed) = to
            .and_then(Path::file_name)
            .map_or((None, None), |name| ending(&name.to_string_lossy()));
        let format = options.format.or(named).ok_or_else(|| {
            let names = "jsonl, parquet, arrow, csv or text";
            ExportError::Options(match to {
                Some(to) => format!(
                    "{} has no known ending: give `format=` {names}",
                    without_secrets(&to.to_string_lossy())
                ),
                None => format!("a stream has no name with an ending: give `format=` {names}"),
            })
        })?;
        let compression = compression(options.compression.or(framed), format)?;
        let cut = options.shard_bytes.is_some() || !options.partition_by.is_empty();
        let shard_bytes = match to {
            None if cut => {
                return Err(unfit(
                    "a stream is one file: `shard_bytes=` and `partition_by=` need a directory",
                ));
            }
            None if format == ExportFormat::Parquet => {
                return Err(unfit(
                    "Parquet is not written to a stream: give a file, or `format=` arrow",
                ));
            }
            None if compression != ExportCompression::None => {
                return Err(unfit("a stream is not compressed: pipe it through zstd or gzip"));
            }
            None => None,
            Some(to) => {
                let is_directory = cut || to.is_dir() || names_directory(to);
                is_directory.then(|| options.shard_bytes.unwrap_or(SHARD_BYTES))
            }
        };
        if options.separator.is_some() && format != ExportFormat::Text {
            return Err(unfit("`separator=` needs `format=` text"));
        }
        let columns = columns(view, options, format)?;
        let separator = options.separator.clone().unwrap_or_else(|| "\n".to_owned());
        Ok(Self { format, compression, columns, shard_bytes, separator })
    }

    /// What a file of lines is wrapped in.
    pub const fn frame(&self) -> Frame {
        match self.compression {
            ExportCompression::Zstd => Frame::Zstd,
            ExportCompression::Gzip => Frame::Gzip,
            _ => Frame::Plain,
        }
    }

    /// The name of file `number` of a directory.
    pub fn file_name(&self, number: u32) -> String {
        let framed = if self.format.is_lines() { self.compression.ending() } else { "" };
        format!("part-{number:05}.{}{framed}", self.format.ending())
    }
}

/// Whether a path is one of a directory by its looks: without an ending, or with a stroke behind it.
fn names_directory(to: &Path) -> bool {
    to.extension().is_none() || to.as_os_str().as_encoded_bytes().ends_with(b"/")
}

fn unfit(what: &str) -> ExportError {
    ExportError::Options(what.to_owned())
}

/// What the name of a file says of its form.
pub(super) fn ending(name: &str) -> (Option<ExportFormat>, Option<ExportCompression>) {
    let name = name.to_ascii_lowercase();
    let framed = [(".zst", ExportCompression::Zstd), (".gz", ExportCompression::Gzip)];
    let framed = framed.into_iter().find_map(|(end, frame)| Some((name.strip_suffix(end)?, frame)));
    let (stem, frame) = framed.map_or((name.as_str(), None), |(stem, frame)| (stem, Some(frame)));
    let format = match stem.rsplit_once('.').map(|(_, ending)| ending) {
        Some("jsonl" | "ndjson") => Some(ExportFormat::Jsonl),
        Some("parquet") => Some(ExportFormat::Parquet),
        Some("arrow" | "feather") => Some(ExportFormat::Arrow),
        Some("csv") => Some(ExportFormat::Csv),
        Some("txt") => Some(ExportFormat::Text),
        _ => None,
    };
    (format, format.and(frame))
}

pub(super) fn compression(
    asked: Option<ExportCompression>,
    format: ExportFormat,
) -> Result<ExportCompression, ExportError> {
    use ExportCompression::{Gzip, None, Zstd};
    let asked = asked.unwrap_or(if format == ExportFormat::Parquet { Zstd } else { None });
    let has = match format {
        ExportFormat::Parquet => true,
        ExportFormat::Arrow => asked == None,
        _ => matches!(asked, None | Zstd | Gzip),
    };
    if has {
        return Ok(asked);
    }
    let known = if format.is_lines() { "none, zstd and gzip" } else { "none" };
    Err(ExportError::Options(format!(
        "format {} cannot have compression {}; it can have {known}",
        format.name(),
        asked.name()
    )))
}

fn columns(
    view: &View,
    options: &ExportOptions,
    format: ExportFormat,
) -> Result<Option<Vec<String>>, ExportError> {
    if options.duplicates {
        if format == ExportFormat::Text {
            return Err(unfit("pairs of duplicates have no text: give another `format=`"));
        }
        if !options.partition_by.is_empty() || options.all || options.snapshot.is_some() {
            return Err(unfit(
                "pairs of duplicates have removed documents, as of the last commit: leave out `partition_by=`, `all=` and `snapshot=`",
            ));
        }
        return Ok(options.columns.clone());
    }
    let mut columns = match &options.columns {
        Some(columns) => columns.clone(),
        None => default_columns(view, format),
    };
    if columns.is_empty() {
        return Err(unfit("`columns=` is empty: name at least one column"));
    }
    if format == ExportFormat::Text && columns != ["text"] {
        return Err(unfit("format text has one column, `text`; give another `format=` for others"));
    }
    for (at, name) in columns.iter().enumerate() {
        if columns.get(..at).is_some_and(|before| before.contains(name)) {
            return Err(ExportError::Options(format!("the column `{name}` is named twice")));
        }
        if name == SPREAD && format != ExportFormat::Jsonl {
            return Err(ExportError::Options(format!(
                "{SPREAD} makes a column of each field, which format {} cannot do since records differ: use `{META}`, all fields as one JSON object, and name declared fields",
                format.name()
            )));
        }
        if options.snapshot.is_some() && is_of_standing(view, name) {
            return Err(ExportError::Options(format!(
                "the column `{name}` has today's values, not the snapshot's: leave it out, or leave `snapshot=` out"
            )));
        }
    }
    // Their values are in the names of the directories.
    columns.retain(|name| !options.partition_by.contains(name));
    if columns.is_empty() {
        return Err(unfit(
            "every column is in `partition_by=`, and no column is left for the files",
        ));
    }
    Ok(Some(columns))
}

/// Everything that is known of a record: in lines of JSON its fields as they were, in tables those that are declared as
/// columns of their kind, and all of them as one JSON object.
fn default_columns(view: &View, format: ExportFormat) -> Vec<String> {
    if format == ExportFormat::Text {
        return vec!["text".to_owned()];
    }
    let mut columns: Vec<String> = ["key", "source", "text"].map(str::to_owned).to_vec();
    if format == ExportFormat::Jsonl {
        columns.push(SPREAD.to_owned());
        return columns;
    }
    columns.extend(declared_columns(view));
    columns.push(META.to_owned());
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_form_and_compression() {
        use ExportCompression::{Gzip, Zstd};
        use ExportFormat::{Arrow, Csv, Jsonl, Parquet, Text};
        for (name, format, frame) in [
            ("a.jsonl", Some(Jsonl), None),
            ("a.JSONL.zst", Some(Jsonl), Some(Zstd)),
            ("a.b.ndjson.gz", Some(Jsonl), Some(Gzip)),
            ("a.parquet", Some(Parquet), None),
            ("a.arrow", Some(Arrow), None),
            ("a.csv.gz", Some(Csv), Some(Gzip)),
            ("a.txt", Some(Text), None),
            ("a.zst", None, None),
            ("jsonl", None, None),
            ("a", None, None),
        ] {
            assert_eq!(ending(name), (format, frame), "{name}");
        }
    }

    #[test]
    fn a_name_without_an_ending_is_of_a_directory() {
        for (name, is) in
            [("a", true), ("a.b/c", true), ("a.json/", true), ("a.json", false), (".hidden", true)]
        {
            assert_eq!(names_directory(Path::new(name)), is, "{name}");
        }
    }

    #[test]
    fn a_format_has_the_compressions_that_its_readers_know() {
        use ExportCompression::{Gzip, Lz4, None, Snappy, Zstd};
        for compression_of in [Zstd, Gzip, Snappy, Lz4, None] {
            assert_eq!(
                compression(Some(compression_of), ExportFormat::Parquet).unwrap(),
                compression_of
            );
        }
        assert_eq!(compression(Option::None, ExportFormat::Parquet).unwrap(), Zstd);
        assert_eq!(compression(Option::None, ExportFormat::Jsonl).unwrap(), None);
        for (format, asked) in [(ExportFormat::Arrow, Zstd), (ExportFormat::Csv, Snappy)] {
            assert!(matches!(compression(Some(asked), format), Err(ExportError::Options(_))));
        }
    }
}
