//! Builds a record from what a reader cut out of an input, or a reject with all its bytes.
//!
//! The record keeps all fields, all but some, or those that stand in one field as a JSON object, as an export writes
//! them. The builder also decides in which form fields are stored, and how long key and fields may be.
//!
//! The fields that are kept are all, all but some, or those that stand in one field as a JSON object, as an export
//! writes them. Here is also decided in which form they are stored, and how long key and fields may be.

use super::block::RawRecord;
use super::field_roles::FieldRoles;
use super::folders::path_fields;
use super::item::{ReadItem, ReadOptions, byte_len, reject};
use super::json_record::{self, JsonRecordSeed, ParsedRecord};
use model::{
    CanonicalJson, JsonMembers, JsonObject, ReadRecord, RecordKey, RejectReason, SpelledMetadata,
    canonical, canonical_but_numbers, json_string, without_null_members,
};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

/// Makes records, one after the other; have one per thread.
#[derive(Clone)]
pub struct RecordBuilder {
    options: Arc<ReadOptions>,
    roles: FieldRoles,
    /// The path of the record that was made last, and the fields that its folders say.
    folders: Option<SaidByFolders>,
}

/// What exports call the folders of sources.
const SOURCE: &str = "source";

/// A path, and the names and values that its folders say.
type SaidByFolders = (Arc<PathBuf>, Vec<(String, String)>);

impl RecordBuilder {
    /// One that makes records as the options say.
    #[must_use]
    pub fn new(options: &ReadOptions) -> Self {
        Self { options: Arc::new(options.clone()), roles: FieldRoles::new(options), folders: None }
    }

    /// The record, or why it is rejected.
    pub fn build(&mut self, raw: RawRecord<'_>) -> ReadItem {
        match raw {
            RawRecord::Read(item) => match *item {
                ReadItem::Record(record) => self.with_fields(record, None),
                reject @ ReadItem::Reject(_) => reject,
            },
            RawRecord::Json { object, text, is_spread, origin } => {
                let seed = JsonRecordSeed {
                    text: text.as_deref(),
                    id: self.options.id_field.as_deref(),
                    verbatim: self.options.verbatim,
                    max_doc_bytes: self.options.max_doc_bytes,
                };
                match json_record::parse(&object, &seed) {
                    Ok(ParsedRecord { key, text, metadata, not_finite }) => {
                        let metadata = match is_spread && metadata.contains(['\n', '\r']) {
                            // Fields were stored so before they had a canonical form.
                            true => json_record::on_one_line(&metadata),
                            false => metadata,
                        };
                        let record = ReadRecord {
                            not_finite,
                            ..ReadRecord::new(key, text, metadata, origin)
                        };
                        self.with_fields(record, Some(&object))
                    }
                    Err(reason) => reject(reason, origin, &object, byte_len(object.len())),
                }
            }
            RawRecord::Csv { row, line, header, origin } => {
                match header.record(&row, line, &self.options, origin.clone()) {
                    Ok(record) => self.with_fields(of_row(record), Some(&row)),
                    Err(reason) => reject(reason, origin, &row, byte_len(row.len())),
                }
            }
        }
    }

    /// The record with the fields that are kept, in their form; else a reject of these bytes.
    fn with_fields(&mut self, mut record: ReadRecord, raw: Option<&[u8]>) -> ReadItem {
        match (self.shape(&mut record), raw) {
            (Ok(()), _) => ReadItem::Record(record),
            (Err(why), Some(raw)) => reject(why, record.origin, raw, byte_len(raw.len())),
            (Err(why), None) => ReadItem::Reject(self.options.reject(record, why)),
        }
    }

    fn shape(&mut self, record: &mut ReadRecord) -> Result<(), RejectReason> {
        self.add_partitions(record);
        let spelled = record.spelled.as_mut().map(|spelled| &mut spelled.json);
        for json in spelled.into_iter().chain(&mut record.earlier) {
            if let Ok((Some(kept), _)) = self.kept(json) {
                *json = kept;
            }
        }
        let (kept, source) = self.kept(&record.metadata)?;
        let metadata = kept.as_deref().unwrap_or(&record.metadata);
        let form = if self.options.verbatim { canonical_but_numbers } else { canonical };
        let CanonicalJson { json, is_other_value } =
            form(metadata).map_err(|why| RejectReason::Form(faulty_field(metadata, why)))?;
        if json != metadata || is_other_value {
            let json = kept.unwrap_or_else(|| std::mem::take(&mut record.metadata));
            record.spelled.get_or_insert(SpelledMetadata { json, is_other_value });
        }
        // Earlier releases kept no member of null.
        let earlier = record.earlier.take().and_then(|earlier| canonical(&earlier).ok());
        let earlier = earlier
            .and_then(|earlier| split_members(&earlier.json, |_, value| value == "null").ok());
        record.earlier = earlier.filter(|earlier| *earlier != json);
        (record.metadata, record.source) = (json, source);
        for (name, _) in &mut record.not_finite.fields {
            *name = self.options.name_of(name).to_owned();
        }
        within_limits(record, &self.options).map_err(RejectReason::Form)
    }

    /// Gives the record the fields that the folders of its file say, unless it has them.
    fn add_partitions(&mut self, record: &mut ReadRecord) {
        let path = &record.origin.path;
        if !self.options.partitions {
            return;
        }
        if self.folders.as_ref().is_none_or(|(last, _)| !Arc::ptr_eq(last, path)) {
            let fields = path_fields(path).into_iter();
            let said = fields.filter_map(|(name, value)| Some((name, value?))).collect();
            self.folders = Some((Arc::clone(path), said));
        }
        let Some((_, fields)) = self.folders.as_ref().filter(|(_, fields)| !fields.is_empty())
        else {
            return;
        };
        let Ok(members) = parsed(&record.metadata) else { return };
        let ReadOptions { text_field, id_field, source_field, .. } = &*self.options;
        let roles = [text_field, id_field];
        // The folder of a source is not a field of its documents.
        let is_source = |name: &str| name == SOURCE && source_field.as_deref() != Some(SOURCE);
        let has = |name: &str| {
            is_source(name)
                || members.iter().any(|(field, _)| field == name)
                || roles.iter().any(|role| role.as_deref() == Some(name))
        };
        let with_fields = |members: &[(Cow<'_, str>, &RawValue)]| {
            let mut all = JsonObject::default();
            for (name, value) in members {
                all.push_raw(&json_string(name), value.get());
            }
            for (name, value) in fields.iter().filter(|(name, _)| !has(name)) {
                all.push_raw(&json_string(name), &json_string(value));
            }
            all.finish()
        };
        let all = with_fields(&members);
        if let Some(earlier) = &mut record.earlier
            && let Ok(members) = parsed(earlier)
        {
            *earlier = with_fields(&members);
        }
        // What was stored before folders said fields, or from elsewhere, is the same record.
        let json = std::mem::replace(&mut record.metadata, all);
        record.spelled.get_or_insert(SpelledMetadata { json, is_other_value: true });
    }

    /// The fields that are kept, unless all are, as they are spelled; and the source that is named among them.
    fn kept(&mut self, metadata: &str) -> Result<(Option<String>, Option<Arc<str>>), RejectReason> {
        let (named, source) = self.roles.apply(metadata)?;
        // The name of its source may stand beside the field that holds all others, or not be kept.
        if self.options.meta_field.is_none() && self.options.drop_fields.is_empty() {
            return Ok((named, source));
        }
        let kept = fields(named.as_deref().unwrap_or(metadata), &self.options);
        Ok((Some(kept.map_err(RejectReason::Form)?), source))
    }
}

/// The record of a row: its columns without a value are no fields.
fn of_row(mut record: ReadRecord) -> ReadRecord {
    record.is_row = true;
    if let Ok(Cow::Owned(plain)) = without_null_members(&record.metadata) {
        let json = std::mem::replace(&mut record.metadata, plain);
        record.spelled.get_or_insert(SpelledMetadata { json, is_other_value: true });
    }
    record
}

/// The reason with the name of the field, where it is one field's.
fn faulty_field(metadata: &str, why: String) -> String {
    let Ok(JsonMembers(members)) = serde_json::from_str(metadata) else { return why };
    let faulty =
        members.iter().find_map(|(name, value)| Some((name, canonical(value.get()).err()?)));
    faulty.map_or(why, |(name, why)| format!("field `{name}`: {why}"))
}

fn within_limits(record: &ReadRecord, options: &ReadOptions) -> Result<(), String> {
    let over = |what: &str, bytes: usize, limit: u64, flag: &str| match byte_len(bytes) > limit {
        true => Err(format!("{what} {bytes} bytes, over the limit of {limit} ({flag})")),
        false => Ok(()),
    };
    if let RecordKey::Given(key) = &record.key {
        over("its key has", key.len(), options.max_key_bytes, "--max-key-bytes")?;
    }
    match options.whole {
        true => Ok(()),
        false => over(
            "its fields have",
            record.metadata.len(),
            options.max_meta_bytes,
            "--max-meta-bytes",
        ),
    }
}

fn fields(metadata: &str, options: &ReadOptions) -> Result<String, String> {
    let whole = match &options.meta_field {
        Some(name) => Cow::Owned(object_in(metadata, name)?),
        None => Cow::Borrowed(metadata),
    };
    if options.drop_fields.is_empty() {
        return Ok(whole.into_owned());
    }
    let mut kept = JsonObject::default();
    for (name, value) in parsed(&whole)? {
        if !options.drop_fields.iter().any(|dropped| *dropped == name) {
            kept.push_raw(&json_string(&name), value.get());
        }
    }
    Ok(kept.finish())
}

/// The fields that `take` does not take; it is given the name of each and its value as JSON.
///
/// # Errors
/// Why the object cannot be read.
pub fn split_members(
    metadata: &str,
    mut take: impl FnMut(&str, &str) -> bool,
) -> Result<String, String> {
    let mut kept = JsonObject::default();
    for (name, value) in parsed(metadata)? {
        if !take(&name, value.get()) {
            kept.push_raw(&json_string(&name), value.get());
        }
    }
    Ok(kept.finish())
}

/// The object that a field holds, or is a text of.
fn object_in(metadata: &str, name: &str) -> Result<String, String> {
    let wrong = |why: &str| format!("field `{name}` holds no JSON object with fields: {why}");
    let found = parsed(metadata)?.into_iter().find(|(field, _)| field == name);
    let object = match found.map_or("null", |(_, value)| value.get()) {
        "null" => return Ok("{}".to_owned()),
        raw if raw.starts_with('{') => Cow::Borrowed(raw),
        raw if raw.starts_with('"') => {
            let text: String =
                serde_json::from_str(raw).map_err(|error| wrong(&error.to_string()))?;
            Cow::Owned(text)
        }
        _ => return Err(wrong("it is neither an object nor a text with one")),
    };
    // The fields are read as a line of JSON is, so that equal fields are equal whichever way they come.
    let line = JsonRecordSeed { text: None, id: None, verbatim: false, max_doc_bytes: u64::MAX };
    let parsed = json_record::parse(object.as_bytes(), &line);
    Ok(parsed.map_err(|reason| wrong(&reason.to_string()))?.metadata)
}

fn parsed(object: &str) -> Result<Vec<(Cow<'_, str>, &RawValue)>, String> {
    let JsonMembers(fields) = serde_json::from_str(object).map_err(|error| error.to_string())?;
    Ok(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept_of(metadata: &str, meta: Option<&str>, dropped: &[&str]) -> Result<String, String> {
        let options = ReadOptions {
            meta_field: meta.map(str::to_owned),
            drop_fields: dropped.iter().map(|name| (*name).to_owned()).collect(),
            ..ReadOptions::default()
        };
        fields(metadata, &options)
    }

    #[test]
    fn fields_keep_their_spelling() {
        let all = r#"{"a":1.50,"b":{"x":[1, 2]},"a":2,"é\n":null}"#;
        assert_eq!(kept_of(all, None, &["c"]).unwrap(), all);
        assert_eq!(kept_of(all, None, &["a"]).unwrap(), r#"{"b":{"x":[1, 2]},"é\n":null}"#);
        assert_eq!(kept_of(all, Some("b"), &[]).unwrap(), r#"{"x":[1, 2]}"#);
        let packed = serde_json::json!({ "source": "web", "meta": all }).to_string();
        assert_eq!(kept_of(&packed, Some("meta"), &[]).unwrap(), all);
        assert_eq!(kept_of(&packed, Some("meta"), &["b", "a"]).unwrap(), r#"{"é\n":null}"#);
    }

    #[test]
    fn no_object_is_no_field_and_anything_else_is_refused() {
        assert_eq!(kept_of("{}", Some("meta"), &[]).unwrap(), "{}");
        assert_eq!(kept_of(r#"{"meta":null}"#, Some("meta"), &[]).unwrap(), "{}");
        for bad in [r#"{"meta":1}"#, r#"{"meta":"{"}"#, r#"{"meta":[1]}"#, r#"{"meta":""}"#] {
            let why = kept_of(bad, Some("meta"), &[]).unwrap_err();
            assert!(why.starts_with("field `meta` holds no JSON object"), "{bad}: {why}");
        }
    }
}
