//! Records that a program hands over: one by one, as fields by name, or as Arrow record batches.

use super::arrow_rows::{BatchReader, BatchRows, RecordColumns};
use super::block::RawRecord;
use super::error::ReadError;
use super::inputs::InputFile;
use super::item::{ReadItem, ReadOptions, byte_len, reject};
use super::json_reader::JsonObjects;
use super::keys;
use super::stream::BoundedBytes;
use arrow::array::{RecordBatch, RecordBatchReader};
use model::{ReadRecord, RecordKey, RecordOrigin, RejectReason};
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::sync::Arc;

type SupplyError = Box<dyn std::error::Error + Send + Sync>;

/// A record to ingest: what one line of a JSON lines file says.
///
/// ```
/// # mod corpusdb { pub use files::input as ingest; }
/// use corpusdb::ingest::Record;
///
/// let page = Record::new("A page.").with_key("https://a.example/1").with_field("lang", "en");
/// assert_eq!(page.fields["lang"], "en");
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    /// What the record is called in your own data: other content under the same key supersedes what is stored, equal
    /// content is skipped. Without one the record is known by the name of its [`Records`], its number and its content,
    /// and never supersedes; where [`ReadOptions::id_field`] is given, by the value of that field, and a record that
    /// has neither is rejected.
    pub key: Option<String>,
    /// The text. Empty where it is made of the fields: of conversations and of token ids.
    pub text: String,
    /// All else that is to be kept, in this order. Those that the corpus declares are indexed.
    pub fields: Map<String, Value>,
}

impl Record {
    /// A record of a text alone.
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// This record with a key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// This record with one more field.
    #[must_use]
    pub fn with_field(mut self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(name.into(), value.into());
        self
    }
}

/// Records that a program has, or makes as they are asked for. They are pulled on a thread of the ingest, one or one
/// batch at a time, when there is room for more.
///
/// The name stands where the path of a file would: in rejects, in errors, and in what a record without a key is
/// known by. Use the same one when the same records come again.
pub struct Records<'m> {
    name: String,
    supply: RecordSupply<'m>,
}

enum RecordSupply<'m> {
    OneByOne(Box<dyn Iterator<Item = Result<Record, SupplyError>> + Send + 'm>),
    /// With the field that holds the text, once it is known.
    Objects(ObjectIterator<'m>, Option<JsonObjects>),
    Batches(Box<BatchRows<SchemaBatches<'m>>>),
}

/// JSON objects, or why there are none.
type ObjectIterator<'m> =
    Box<dyn Iterator<Item = Result<Result<String, String>, SupplyError>> + Send + 'm>;

impl<'m> Records<'m> {
    /// The records of anything that gives them one by one.
    pub fn new<I>(name: impl Into<String>, records: I) -> Self
    where
        I: IntoIterator<Item = Record>,
        I::IntoIter: Send + 'm,
    {
        let records = records.into_iter().map(Ok);
        Self { name: name.into(), supply: RecordSupply::OneByOne(Box::new(records)) }
    }

    /// Records given one by one that may fail to come: the first error ends the ingest, and what came before stays.
    pub fn fallible<I, E>(name: impl Into<String>, records: I) -> Self
    where
        I: IntoIterator<Item = Result<Record, E>>,
        I::IntoIter: Send + 'm,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let records = records.into_iter().map(|record| record.map_err(Into::into));
        Self { name: name.into(), supply: RecordSupply::OneByOne(Box::new(records)) }
    }

    /// Records as fields by name, read as the lines of a JSON file are: [`ReadOptions`] names the fields of text and
    /// key, or the text is found as in a file, by the usual names in the first record; all others are kept, in their
    /// order. Where a record is not to be had, the inner error says why, and it is rejected as an unreadable line is;
    /// the first outer error ends the ingest, and what came before stays.
    pub fn mappings<I, E>(name: impl Into<String>, records: I) -> Self
    where
        I: IntoIterator<Item = Result<Result<Map<String, Value>, String>, E>>,
        I::IntoIter: Send + 'm,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let json = |fields: Map<String, Value>| Value::Object(fields).to_string();
        Self::objects(
            name,
            records.into_iter().map(move |record| record.map(|item| item.map(json))),
        )
    }

    /// Records from JSON objects, each a text like one line of a JSON lines file; otherwise as [`Records::mappings`].
    pub fn objects<I, E>(name: impl Into<String>, records: I) -> Self
    where
        I: IntoIterator<Item = Result<Result<String, String>, E>>,
        I::IntoIter: Send + 'm,
        E: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let records = records.into_iter().map(|record| record.map_err(Into::into));
        Self { name: name.into(), supply: RecordSupply::Objects(Box::new(records), None) }
    }

    /// The rows of Arrow record batches, as they would come from a Parquet file: [`ReadOptions`] names the columns of
    /// text and key, all others are kept as fields. Batches of any size; one is in memory at a time.
    pub fn batches(name: impl Into<String>, batches: impl RecordBatchReader + Send + 'm) -> Self {
        Self {
            name: name.into(),
            supply: RecordSupply::Batches(Box::new(BatchRows::new(SchemaBatches(Box::new(
                batches,
            ))))),
        }
    }

    /// The input that stands for the records: like a pipe it has no size and no time.
    #[doc(hidden)]
    pub fn input(&self) -> Result<InputFile, ReadError> {
        if self.name.is_empty() {
            return Err(ReadError::NoName);
        }
        let path = Arc::new(PathBuf::from(&self.name));
        Ok(InputFile { path, size: 0, version: 0, is_stdin: false, object: None })
    }
}

impl std::fmt::Debug for Records<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Records").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Records being read.
pub(super) struct RecordsReader<'m> {
    /// None behind the end.
    supply: Option<RecordSupply<'m>>,
    /// Bytes of texts and fields given.
    given: u64,
}

impl<'m> RecordsReader<'m> {
    pub(super) fn open(
        records: Records<'m>,
        path: &Arc<PathBuf>,
        options: &ReadOptions,
    ) -> Result<Self, ReadError> {
        if let RecordSupply::Batches(batches) = &records.supply {
            // Errors come before the first batch.
            RecordColumns::of(&batches.supply().0.schema(), path, options)?;
        }
        Ok(Self { supply: Some(records.supply), given: 0 })
    }

    /// The next record; behind the end or an error there is none.
    pub(super) fn next(
        &mut self,
        options: &ReadOptions,
        origin: RecordOrigin,
    ) -> Result<Option<RawRecord<'static>>, ReadError> {
        let path = Arc::clone(&origin.path);
        let number = origin.number;
        let failed = |source| failed(&path, number, source);
        let raw = match &mut self.supply {
            None => return Ok(None),
            Some(RecordSupply::OneByOne(records)) => {
                let next = records.next().transpose().map_err(failed);
                next.map(|record| record.map(|record| item(record, options, origin).into()))
            }
            Some(RecordSupply::Objects(records, objects)) => match records.next().transpose() {
                Err(source) => Err(failed(source)),
                Ok(None) => Ok(None),
                Ok(Some(Err(why))) => {
                    Ok(Some(reject(RejectReason::Form(why), origin, &[], 0).into()))
                }
                Ok(Some(Ok(json))) => {
                    let objects = objects.get_or_insert_with(|| JsonObjects::new(options));
                    let raw = objects.raw(&BoundedBytes::Whole(json.as_bytes()), origin, false);
                    raw.map(|raw| Some(raw.into_owned()))
                }
            },
            Some(RecordSupply::Batches(batches)) => {
                batches.next(options, origin).map(|row| row.map(RawRecord::from))
            }
        };
        match &raw {
            Ok(Some(raw)) => self.given += byte_len(raw.bytes()),
            // Iterators may start again after their end; that would be other records.
            Ok(None) | Err(_) => self.supply = None,
        }
        raw
    }

    /// Columns of record batches that are left, since their values have no form in JSON.
    pub(super) fn left(&self) -> &[String] {
        match &self.supply {
            Some(RecordSupply::Batches(batches)) => batches.left(),
            _ => &[],
        }
    }

    /// Bytes of texts and fields that were given.
    pub(super) const fn given_bytes(&self) -> u64 {
        self.given
    }
}

/// A record as it continues, or why it cannot.
fn item(record: Record, options: &ReadOptions, origin: RecordOrigin) -> ReadItem {
    let Record { key, text, mut fields } = record;
    let bytes = byte_len(text.len());
    if bytes > options.max_doc_bytes {
        let reason = RejectReason::TooLong { bytes, limit: options.max_doc_bytes };
        return reject(reason, origin, text.as_bytes(), bytes);
    }
    if options.whole && !text.is_empty() {
        let why = "the text of such a record is made from its fields: leave the text empty";
        return reject(RejectReason::Form(why.to_owned()), origin, text.as_bytes(), bytes);
    }
    let (key, named) = match (key, &options.id_field) {
        (Some(key), field) => (keys::of_text(&key), field.as_deref().unwrap_or("key")),
        (None, None) => (Some(RecordKey::Position), ""),
        (None, Some(field)) => {
            let key = match fields.get(field) {
                Some(Value::String(key)) => keys::of_text(key),
                Some(Value::Number(key)) => keys::of_number(&key.to_string()),
                _ => None,
            };
            if !options.verbatim {
                fields.shift_remove(field);
            }
            (key, field.as_str())
        }
    };
    let Some(key) = key else {
        return reject(RejectReason::BadId(named.to_owned()), origin, text.as_bytes(), bytes);
    };
    let metadata =
        if fields.is_empty() { "{}".to_owned() } else { Value::Object(fields).to_string() };
    ReadItem::Record(ReadRecord::new(key, text, metadata, origin))
}

/// A reader of record batches, and the columns that it promised.
struct SchemaBatches<'m>(Box<dyn RecordBatchReader + Send + 'm>);

impl BatchReader for SchemaBatches<'_> {
    fn next_batch(&mut self, origin: &RecordOrigin) -> Result<Option<RecordBatch>, ReadError> {
        let next = self.0.next().transpose();
        next.map_err(|error| failed(&origin.path, origin.number, error.into()))
    }
}

fn failed(name: &Path, number: u64, source: SupplyError) -> ReadError {
    ReadError::Records { name: name.display().to_string(), number, source }
}
