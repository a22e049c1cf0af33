//! Which fields of a record are kept: all of them, all but some, or those that stand in one of them as a JSON object,
//! as an export writes them. And how long key and fields may be.

use super::item::{ReadItem, ReadOptions, byte_len};
use super::json_reader;
use super::metadata::{JsonMembers, RecordBuilder, json_string};
use crate::model::{ReadRecord, RecordKey, RejectReason};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The record with the fields that are kept, or a reject.
pub(super) fn kept(item: ReadItem, options: &ReadOptions) -> ReadItem {
    if options.meta_field.is_none() && options.drop_fields.is_empty() {
        return item;
    }
    let ReadItem::Record(record) = item else { return item };
    match fields(&record.metadata, options) {
        Ok(metadata) => ReadItem::Record(ReadRecord { metadata, ..record }),
        Err(why) => ReadItem::Reject(options.reject(record, RejectReason::Form(why))),
    }
}

/// The record, or a reject where its key or its fields are longer than they may be.
pub(super) fn within_limits(item: ReadItem, options: &ReadOptions) -> ReadItem {
    let ReadItem::Record(record) = item else { return item };
    let over = |what: &str, bytes: usize, limit: u64, flag: &str| {
        let over = byte_len(bytes) > limit;
        over.then(|| format!("{what} {bytes} bytes, over the limit of {limit} ({flag})"))
    };
    let key = match &record.key {
        RecordKey::Given(key) => {
            over("its key has", key.len(), options.max_key_bytes, "--max-key-bytes")
        }
        RecordKey::Position => None,
    };
    let bytes = record.metadata.len();
    let fields = || over("its fields have", bytes, options.max_meta_bytes, "--max-meta-bytes");
    match key.or_else(|| if options.whole { None } else { fields() }) {
        None => ReadItem::Record(record),
        Some(why) => ReadItem::Reject(options.reject(record, RejectReason::Form(why))),
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
    let mut kept = RecordBuilder::new();
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
    let mut kept = RecordBuilder::new();
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
    // As a line of JSON is read, so that the same fields are the same whichever way they come.
    let line = json_reader::JsonRecordSeed { text: None, id: None, max_doc_bytes: u64::MAX };
    let parsed = json_reader::parse(object.as_bytes(), &line);
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
