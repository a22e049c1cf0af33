//! Finds the text field of an input whose user named none: the usual names, and a vote of its first records.

use super::error::ReadError;
use super::stream::ByteStream;
use std::ops::Range;

/// Usual names of a text field, the best first.
const USUAL: [&str; 5] = ["text", "content", "raw_content", "document", "body"];

/// The best of the usual names among the fields of a record. Each field comes with whether it holds a text: one that
/// does goes before all that do not.
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

/// Records that vote on the text field, and the bytes that are searched for them: as many as tell a file's format.
pub(super) const VOTERS: usize = 64;
pub(super) const VOTE_BYTES: usize = 4 << 20;

/// The text field that most of the first records have, none where no record has one. Ties go to the field seen first. A
/// pipe decides by the first record that has one: the next record may come in hours. Nothing is consumed.
///
/// `next_record` gives the range of the first record in some bytes, and is told whether they are the end of the stream;
/// `guess` gives the text field of a record.
pub(super) fn vote_text_field(
    stream: &mut ByteStream,
    next_record: impl Fn(&[u8], bool) -> Option<Range<usize>>,
    guess: impl Fn(&[u8]) -> Option<&'static str>,
) -> Result<Option<&'static str>, ReadError> {
    let needed = if stream.is_pipe() { 1 } else { VOTERS / 2 + 1 };
    let mut votes: Vec<(&str, usize)> = Vec::new();
    let (mut records, mut looked_at) = (0, 0);
    stream.look_ahead(VOTE_BYTES, |ahead, is_all| {
        while records < VOTERS {
            let rest = ahead.get(looked_at..).unwrap_or_default();
            let Some(record) = next_record(rest, is_all) else { return is_all };
            looked_at += record.end;
            records += 1;
            let Some(field) = guess(rest.get(record).unwrap_or_default()) else { continue };
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
