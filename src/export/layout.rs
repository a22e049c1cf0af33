//! Resolves the options of an export to its layout: form, compression, columns, and one file or a directory.

use super::options::ExportOptions;
use crate::sql::{declared_columns, is_of_standing};
use arrow::datatypes::SchemaRef;
use files::output::{
    FileSpec, FormatName, OutputCompression, OutputFormat, TableColumns, TableFormat,
};
use files::remote::without_secrets;
use model::Error;
use std::path::Path;
use store::View;

/// Bytes of a file of a directory, by default.
const SHARD_BYTES: u64 = 256 << 20;
/// Stands for the fields of a record at top level.
pub(super) const SPREAD: &str = "meta.*";
/// The column with the fields of a record.
pub(super) const META: &str = "meta";

/// What is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExportLayout {
    pub format: FormatName,
    pub compression: OutputCompression,
    /// Whether content cuts the pages of Parquet.
    pub content_defined_chunks: bool,
    /// Names as given, [`SPREAD`] among them; none: all columns of pairs.
    pub columns: Option<Vec<String>>,
    /// Bytes at which a file ends; none: one file is made.
    pub shard_bytes: Option<u64>,
    /// The text after each document, where there are texts alone.
    pub separator: Option<String>,
}

impl ExportLayout {
    /// What options come to for a file or directory; none: for a stream.
    pub fn of(view: &View, options: &ExportOptions, to: Option<&Path>) -> Result<Self, Error> {
        let (named, compressed) = to
            .and_then(Path::file_name)
            .map_or((None, None), |name| FormatName::of_file(&name.to_string_lossy()));
        let format = options.format.or(named).ok_or_else(|| {
            let names = FormatName::list(|_| true);
            Error::bad_input(match to {
                Some(to) => format!(
                    "{} has no known ending: give `format=` {names}",
                    without_secrets(&to.to_string_lossy())
                ),
                None => format!("a stream has no name with an ending: give `format=` {names}"),
            })
        })?;
        let compression = compression(options.compression.or(compressed), format)?;
        let cut = options.shard_bytes.is_some() || !options.partition_by.is_empty();
        let shard_bytes = match to {
            None if cut => {
                return Err(Error::bad_input(
                    "a stream is one file: `shard_bytes=` and `partition_by=` need a directory",
                ));
            }
            None if !format.format().streams => {
                return Err(Error::bad_input(format!(
                    "format {} is not written to a stream: give a file, or `format=` {}",
                    format.name(),
                    FormatName::list(|format| format.streams)
                )));
            }
            None if compression != OutputCompression::None => {
                return Err(Error::bad_input(
                    "a stream is not compressed: pipe it through zstd or gzip",
                ));
            }
            None => None,
            Some(to) => {
                let is_directory = cut || to.is_dir() || names_directory(to);
                is_directory.then(|| options.shard_bytes.unwrap_or(SHARD_BYTES))
            }
        };
        let is_text = format.format().columns == TableColumns::Texts;
        if options.separator.is_some() && !is_text {
            return Err(Error::bad_input("`separator=` needs `format=` text"));
        }
        let content_defined_chunks = options.content_defined_chunks;
        if content_defined_chunks && format.name() != "parquet" {
            return Err(Error::bad_input(
                "`content_defined_chunks=` needs `format=` parquet: others have no pages",
            ));
        }
        let columns = columns(view, options, format.format())?;
        let separator = options.separator.clone().unwrap_or_else(|| "\n".to_owned());
        let separator = is_text.then_some(separator);
        Ok(Self { format, compression, content_defined_chunks, columns, shard_bytes, separator })
    }

    /// The specification of files with these columns.
    pub fn spec(&self, schema: SchemaRef) -> FileSpec {
        let columns = self.columns.as_deref().unwrap_or_default();
        let place = |name: &str| columns.iter().position(|column| column == name);
        FileSpec {
            content_defined_chunks: self.content_defined_chunks,
            separator: self.separator.clone().unwrap_or_default(),
            object: place(META),
            spread: place(SPREAD),
            ..FileSpec::new(schema, self.compression)
        }
    }

    /// The code that writes them.
    pub fn table(&self) -> Result<&'static dyn TableFormat, Error> {
        table_of(self.format)
    }

    /// The name of file `number` of a directory.
    pub fn file_name(&self, number: u32) -> String {
        let format = self.format.format();
        let compressed = if format.is_compressed_whole { self.compression.ending() } else { "" };
        let ending = format.endings.first().unwrap_or(&format.name);
        format!("part-{number:05}.{ending}{compressed}")
    }
}

/// The code that writes tables in a format.
pub(super) fn table_of(format: FormatName) -> Result<&'static dyn TableFormat, Error> {
    let table = format.format().table;
    table.ok_or_else(|| Error::bad_input(format!("format {} has no documents", format.name())))
}

/// Whether a path is one of a directory by its looks: without an ending, or with a stroke behind it.
fn names_directory(to: &Path) -> bool {
    to.extension().is_none() || to.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// The compression of files of a format: the one asked for, or the format's own.
pub(super) fn compression(
    asked: Option<OutputCompression>,
    name: FormatName,
) -> Result<OutputCompression, Error> {
    let format = name.format();
    let asked = asked.unwrap_or(format.default_compression);
    if format.compressions.contains(&asked) {
        return Ok(asked);
    }
    let known: Vec<&str> = format.compressions.iter().map(|known| known.name()).collect();
    let known = known.join(", ");
    Err(Error::bad_input(format!(
        "format {} cannot have compression {}; it can have {}",
        format.name,
        asked.name(),
        known.rsplit_once(", ").map_or(known.clone(), |(some, last)| format!("{some} and {last}"))
    )))
}

fn columns(
    view: &View,
    options: &ExportOptions,
    format: &OutputFormat,
) -> Result<Option<Vec<String>>, Error> {
    let kind = format.columns;
    if options.duplicates {
        if kind == TableColumns::Texts {
            return Err(Error::bad_input(
                "pairs of duplicates have no text: give another `format=`",
            ));
        }
        if !options.partition_by.is_empty() || options.all || options.snapshot.is_some() {
            return Err(Error::bad_input(
                "pairs of duplicates have removed documents, as of the last commit: leave out `partition_by=`, `all=` and `snapshot=`",
            ));
        }
        return Ok(options.columns.clone());
    }
    let mut columns = match &options.columns {
        Some(columns) => columns.clone(),
        None => default_columns(view, kind),
    };
    if columns.is_empty() {
        return Err(Error::bad_input("`columns=` is empty: name at least one column"));
    }
    if kind == TableColumns::Texts && columns != ["text"] {
        return Err(Error::bad_input(
            "format text has one column, `text`; give another `format=` for others",
        ));
    }
    for (at, name) in columns.iter().enumerate() {
        if columns.get(..at).is_some_and(|before| before.contains(name)) {
            return Err(Error::bad_input(format!("the column `{name}` is named twice")));
        }
        if name == SPREAD && kind != TableColumns::Members {
            return Err(Error::bad_input(format!(
                "{SPREAD} makes a column of each field, which format {} cannot do since records differ: use `{META}`, all fields as one JSON object, and name declared fields",
                format.name
            )));
        }
        if options.snapshot.is_some() && is_of_standing(view, name) {
            return Err(Error::bad_input(format!(
                "the column `{name}` has today's values, not the snapshot's: leave it out, or leave `snapshot=` out"
            )));
        }
    }
    // The values of these columns are in the names of the directories.
    columns.retain(|name| !options.partition_by.contains(name));
    if columns.is_empty() {
        return Err(Error::bad_input(
            "every column is in `partition_by=`, and no column is left for the files",
        ));
    }
    Ok(Some(columns))
}

/// Everything that is known of a record: in lines of JSON its fields as they were, in tables those that are declared as
/// columns of their kind, and all of them as one JSON object.
fn default_columns(view: &View, kind: TableColumns) -> Vec<String> {
    if kind == TableColumns::Texts {
        return vec!["text".to_owned()];
    }
    let mut columns: Vec<String> = ["key", "source", "text"].map(str::to_owned).to_vec();
    if kind == TableColumns::Members {
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

    fn named(name: &str) -> FormatName {
        FormatName::from_name(name).unwrap()
    }

    #[test]
    fn names_tell_form_and_compression() {
        use OutputCompression::{Gzip, Zstd};
        for (name, format, compression) in [
            ("a.jsonl", Some("jsonl"), None),
            ("a.JSONL.zst", Some("jsonl"), Some(Zstd)),
            ("a.b.ndjson.gz", Some("jsonl"), Some(Gzip)),
            ("a.parquet", Some("parquet"), None),
            ("a.arrow", Some("arrow"), None),
            ("a.csv.gz", Some("csv"), Some(Gzip)),
            ("a.txt", Some("text"), None),
            ("a.zst", None, None),
            ("jsonl", None, None),
            ("a", None, None),
        ] {
            assert_eq!(FormatName::of_file(name), (format.map(named), compression), "{name}");
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
        use OutputCompression::{Gzip, None, Snappy, Zstd};
        for asked in OutputCompression::ALL {
            assert_eq!(compression(Some(asked), named("parquet")).unwrap(), asked);
        }
        assert_eq!(compression(Option::None, named("parquet")).unwrap(), Zstd);
        assert_eq!(compression(Option::None, named("jsonl")).unwrap(), None);
        assert_eq!(compression(Some(Zstd), named("arrow")).unwrap(), Zstd);
        for (format, asked) in [("arrow", Gzip), ("csv", Snappy)] {
            let refused = compression(Some(asked), named(format)).unwrap_err();
            assert_eq!(refused.kind(), model::ErrorKind::BadInput);
            let words = format!("format {format} cannot have compression {}", asked.name());
            assert!(refused.to_string().contains(&words), "{refused}");
        }
    }

    #[test]
    fn parts_are_numbered_and_end_as_their_format_does() {
        let layout = ExportLayout {
            format: named("jsonl"),
            compression: OutputCompression::Gzip,
            content_defined_chunks: false,
            columns: None,
            shard_bytes: None,
            separator: None,
        };
        assert_eq!(layout.file_name(3), "part-00003.jsonl.gz");
    }
}
