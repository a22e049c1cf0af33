//! Which field means what in records of every format: other names for fields, the field that names the source, and the
//! text field of an input whose user named none.

use super::error::ReadError;
use super::item::ReadOptions;
use super::stream::ByteStream;
use model::{JsonMembers, JsonObject, RejectReason, json_string};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The longest name of a source, in bytes.
const LONGEST_SOURCE: usize = 200;

/// What is done with the fields of a record once it is read.
#[derive(Clone, Debug, Default)]
pub(super) struct FieldRoles {
    /// Our name, and that in the record.
    renamed: Vec<(String, String)>,
    source: Option<String>,
    /// The name of the last source: it comes again.
    last: Option<Arc<str>>,
}

impl FieldRoles {
    pub(super) fn new(options: &ReadOptions) -> Self {
        let ReadOptions { renamed, source_field, .. } = options;
        Self { renamed: renamed.clone(), source: source_field.clone(), last: None }
    }

    /// The fields under their names, unless they stay as they are, and the source that the record names; or why it
    /// cannot be one.
    pub(super) fn apply(
        &mut self,
        metadata: &str,
    ) -> Result<(Option<String>, Option<Arc<str>>), RejectReason> {
        if self.renamed.is_empty() && self.source.is_none() {
            return Ok((None, None));
        }
        let parsed: Result<JsonMembers<'_>, _> = serde_json::from_str(metadata);
        let JsonMembers(fields) =
            parsed.map_err(|error| RejectReason::NotJson(error.to_string()))?;
        let mut kept = JsonObject::default();
        let mut named = None;
        for (name, value) in &fields {
            if self.source.as_deref() == Some(name.as_ref()) {
                named = self.source_name(name, value.get())?;
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
        Ok((Some(kept.finish()), named))
    }

    /// The source that a value names; none when it is null or empty.
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
        let last = self.last.take().filter(|last| **last == *name);
        let name = last.unwrap_or_else(|| Arc::from(name.as_ref()));
        self.last = Some(Arc::clone(&name));
        Ok(Some(name))
    }
}

/// Usual names, best first.
const USUAL: [&str; 5] = ["text", "content", "raw_content", "document", "body"];

/// The best of the usual names among fields; each comes with whether it has a text: one that holds a text goes before
/// those that hold none.
pub(super) fn guess_text_field<'a>(
    fields: impl Iterator<Item = (&'a str, bool)> + Clone,
) -> Option<&'static str> {
    let best = |is_wanted: &dyn Fn(bool) -> bool| {
        let is = |usual: &str| {
            fields.clone().any(|(field, has_text)| field == usual && is_wanted(has_text))
        };
        USUAL.into_iter().find(|usual| is(usual))
    };
    best(&|has_text| has_text).or_else(|| best(&|_| true))
}

/// Records that vote on the text field, and how far they are searched for: as many as tell what a file is.
pub(super) const VOTES: usize = 64;
pub(super) const VOTE_BYTES: usize = 4 << 20;

/// The text field that most of the first records have, none where none of them has one; of two that as many have the one
/// that came first. Nothing is consumed. A pipe may say no more for hours: there the first record that has one decides.
///
/// `record_in` gives the place of the next record in what is ahead, which may continue (`false`); `guess` the field
/// that one has.
pub(super) fn vote_text_field(
    stream: &mut ByteStream,
    record_in: impl Fn(&[u8], bool) -> Option<Range<usize>>,
    guess: impl Fn(&[u8]) -> Option<&'static str>,
) -> Result<Option<&'static str>, ReadError> {
    let needed = if stream.is_pipe() { 1 } else { VOTES / 2 + 1 };
    let mut votes: Vec<(&str, usize)> = Vec::new();
    let (mut records, mut looked_at) = (0, 0);
    stream.look_ahead(VOTE_BYTES, |ahead, is_all| {
        while records < VOTES {
            let rest = ahead.get(looked_at..).unwrap_or_default();
            let Some(place) = record_in(rest, is_all) else { return is_all };
            looked_at += place.end;
            records += 1;
            let Some(field) = guess(rest.get(place).unwrap_or_default()) else { continue };
            let known = votes.iter_mut().find(|(voted, _)| *voted == field);
            let count = match known {
                Some((_, count)) => {
                    *count += 1;
                    *count
                }
                None => {
                    votes.push((field, 1));
                    1
                }
            };
            if count >= needed {
                return true;
            }
        }
        true
    })?;
    // The last of equals is what `max_by_key` gives.
    Ok(votes.iter().rev().max_by_key(|(_, count)| *count).map(|(field, _)| *field))
}

/// The names of the columns of a table: one that was there has its number behind it, counted from 1.
pub(super) fn one_of_each_name(given: impl Iterator<Item = String>) -> Vec<String> {
    let (mut names, mut known) = (Vec::new(), BTreeSet::new());
    for (at, given) in given.enumerate() {
        let mut name = given.clone();
        for number in at + 1.. {
            if known.insert(name.clone()) {
                break;
            }
            name = format!("{given}_{number}");
        }
        names.push(name);
    }
    names
}

/// Field names for an error message.
pub(super) fn field_names_for_message<'a>(fields: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 40;
    let mut names: Vec<String> = fields.map(|field| format!("`{field}`")).collect();
    if names.is_empty() {
        return "no fields at all".to_owned();
    }
    if names.len() > SHOWN {
        let more = names.len() - SHOWN;
        names.truncate(SHOWN);
        names.push(format!("{more} more"));
    }
    names.join(", ")
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
