//! Renames fields of a record and takes its source from one of them, by one rule for all formats.

use super::item::ReadOptions;
use model::{JsonMembers, JsonObject, RejectReason, json_string};
use std::borrow::Cow;
use std::sync::Arc;

/// The longest name of a source, in bytes.
const LONGEST_SOURCE: usize = 200;

/// How an ingest renames the fields of its records, and which field names their source.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldRoles {
    /// The name that a field gets, and the one that it has in the record.
    renamed: Vec<(String, String)>,
    source_field: Option<String>,
    /// The source of the last record: most often that of the next one, which then shares its memory.
    last_source: Option<Arc<str>>,
}

impl FieldRoles {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let ReadOptions { renamed, source_field, .. } = options;
        let (renamed, source_field) = (renamed.clone(), source_field.clone());
        Self { renamed, source_field, last_source: None }
    }

    /// The fields under their new names, none where no option changes any, and the source that the record names; or
    /// why the record is rejected.
    pub(super) fn apply(
        &mut self,
        metadata: &str,
    ) -> Result<(Option<String>, Option<Arc<str>>), RejectReason> {
        if self.renamed.is_empty() && self.source_field.is_none() {
            return Ok((None, None));
        }
        let parsed: Result<JsonMembers<'_>, _> = serde_json::from_str(metadata);
        let JsonMembers(fields) =
            parsed.map_err(|error| RejectReason::NotJson(error.to_string()))?;
        let mut kept = JsonObject::default();
        let mut source = None;
        for (name, value) in &fields {
            if self.source_field.as_deref() == Some(name.as_ref()) {
                source = self.source_name(name, value.get())?;
                continue;
            }
            let ours = self.renamed.iter().find(|(_, theirs)| theirs == name);
            if let Some((ours, theirs)) = ours
                && fields.iter().any(|(other, _)| other == ours)
            {
                return Err(RejectReason::Form(format!(
                    "field `{theirs}` cannot be renamed to `{ours}`: the record has both"
                )));
            }
            let name = ours.map_or(name.as_ref(), |(ours, _)| ours.as_str());
            kept.push_raw(&json_string(name), value.get());
        }
        Ok((Some(kept.finish()), source))
    }

    /// The source that a value names; none where it is null or empty.
    fn source_name(&mut self, field: &str, raw: &str) -> Result<Option<Arc<str>>, RejectReason> {
        let is_number = raw.starts_with(|first: char| first == '-' || first.is_ascii_digit());
        let name: Cow<'_, str> = match raw.as_bytes().first() {
            Some(b'n') => return Ok(None),
            Some(b'"') => serde_json::from_str::<String>(raw).unwrap_or_default().into(),
            _ if is_number => raw.into(),
            _ => {
                let why = format!("source field `{field}` is neither a string nor a number");
                return Err(RejectReason::Form(why));
            }
        };
        if name.is_empty() {
            return Ok(None);
        }
        if name.len() > LONGEST_SOURCE || name.chars().any(char::is_control) {
            return Err(RejectReason::Form(format!(
                "source field `{field}` is not a name of a source: it has at most {LONGEST_SOURCE} bytes and no control characters"
            )));
        }
        let last = self.last_source.take().filter(|last| **last == *name);
        let name = last.unwrap_or_else(|| Arc::from(name.as_ref()));
        self.last_source = Some(Arc::clone(&name));
        Ok(Some(name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapped(metadata: &str) -> Result<(String, Option<String>), String> {
        let options = ReadOptions {
            renamed: vec![("language".into(), "lang".into())],
            source_field: Some("from".into()),
            ..ReadOptions::default()
        };
        let mut roles = FieldRoles::new(&options);
        let (kept, source) = roles.apply(metadata).map_err(|reason| reason.to_string())?;
        Ok((kept.unwrap_or_default(), source.map(|name| name.to_string())))
    }

    #[test]
    fn mapped_fields_and_sources_keep_order_and_spelling() {
        let is = |metadata: &str, expected: &str, source: Option<&str>| {
            let expected = Ok((expected.to_owned(), source.map(str::to_owned)));
            assert_eq!(mapped(metadata), expected, "{metadata}");
        };
        is(
            "{\"b\":1.50,\"lang\":\"e\\u006e\",\"from\":\"a b\",\"a\\n\":[ 1]}",
            "{\"b\":1.50,\"language\":\"e\\u006e\",\"a\\n\":[ 1]}",
            Some("a b"),
        );
        is("{\"from\":7}", "{}", Some("7"));
        for none in ["{}", "{\"from\":null}", "{\"from\":\"\"}"] {
            is(none, "{}", None);
        }
        for (metadata, words) in [
            ("{\"lang\":1,\"language\":2}", "field `lang` cannot be renamed to `language`"),
            ("{\"from\":[\"a\"]}", "neither a string nor a number"),
            ("{\"from\":\"a\\nb\"}", "not a name of a source"),
        ] {
            let why = mapped(metadata).expect_err(metadata);
            assert!(why.contains(words), "{why}");
        }
        let long = mapped(&format!("{{\"from\":\"{}\"}}", "x".repeat(201)));
        assert!(long.expect_err("long").contains("at most 200 bytes"));
    }
}
