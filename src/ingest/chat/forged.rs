//! Finds special tokens that a record forges: they are in a conversation's text and the template did not write them.
//!
//! A string that spells a special token is refused before anything is rendered. That check misses what a template joins
//! (parts of a content, two members), what it cuts out of a string, and what a tokenizer's normaliser makes of the
//! text. So where a record has the signs that special tokens are spelled with, the conversation is rendered once more
//! with another letter in the place of the sign. Special tokens of the template itself stand there as before; those
//! that are missing were made of the record. Records without these signs, which are most, are not rendered again.
//!
//! A string that spells a special token is refused before anything is rendered. That says nothing of what a template
//! joins (parts of a content, two members), of what it cuts out of a string, and of what a tokenizer's normaliser makes
//! of the text. So where a record has the signs that special tokens are spelled with, the conversation is rendered once
//! more with another letter in the place of the sign. What the template writes itself stands there as before; what is
//! missing was made of the record. Records without these signs, which are most, are not rendered again.

use super::budget::RenderBudget;
use super::conversation::Conversation;
use super::options::ForbiddenSpellings;
use super::template::{ChatTemplate, MARKS};
use super::trace::spelled_like_token;
use crate::decide::LoadedTokenizer;
use minijinja::value::Value;
use model::overlaps_any;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What special tokens begin with in most tokenizers.
const BRACKETS: [u8; 3] = [b'|', b'<', b'['];

/// Stands in the place of a sign: a noncharacter, of which no special token is made.
const INSTEAD: char = '\u{fdd2}';

/// Roles that templates write between brackets on purpose (`'<|' + message.role + '|>'`).
const ROLES: [&str; 10] = [
    "assistant",
    "developer",
    "environment",
    "function",
    "ipython",
    "model",
    "observation",
    "system",
    "tool",
    "user",
];
/// How the source of a template looks that writes special tokens around a value.
const JOINED: [&str; 6] = ["<|'", "<|\"", "<|{{", "<\u{ff5c}'", "<\u{ff5c}\"", "<\u{ff5c}{{"];

/// What is special in a text, to templates and to tokenizers.
pub(super) struct ForgedTokens {
    /// Signs that special tokens are spelled with: all of them together, and the one that is replaced.
    signs: BTreeSet<(u128, u128)>,
    /// What stands between the brackets of special tokens, where the template joins these with roles.
    names: BTreeSet<String>,
    /// Tokenizers that search for special tokens in the text as they normalise it, and these.
    normalising: Vec<(LoadedTokenizer, BTreeMap<u32, String>)>,
}

impl ForgedTokens {
    pub(super) fn new(specials: &ForbiddenSpellings, template: &ChatTemplate) -> Self {
        let is_joined = JOINED.iter().any(|joined| template.source().contains(joined));
        let name = |special: &str| {
            let name = special.trim_matches(|letter: char| !letter.is_alphanumeric());
            name.to_lowercase()
        };
        let names = specials.iter().map(name).filter(|name| is_joined && !name.is_empty());
        Self {
            signs: specials.iter().filter_map(signs_of_special).collect(),
            names: names.collect(),
            normalising: Vec::new(),
        }
    }

    /// Adds the special tokens of tokenizers that find these behind other spellings; other tokenizers add nothing.
    pub(super) fn with_tokenizers(mut self, tokenizers: &[LoadedTokenizer]) -> Self {
        for known in tokenizers.iter().filter(|known| known.tokenizer.normalises_specials()) {
            let specials: BTreeMap<u32, String> = known.tokenizer.specials().into_iter().collect();
            self.signs.extend(specials.values().filter_map(|special| signs_of_special(special)));
            self.normalising.push((known.clone(), specials));
        }
        self
    }

    /// Fails for a role that becomes a special token between the brackets of the template.
    pub(super) fn check_roles(&self, turns: &Conversation) -> Result<(), String> {
        if self.names.is_empty() {
            return Ok(());
        }
        for (number, message) in turns.messages.iter().enumerate() {
            let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
            if !ROLES.contains(&role) && self.names.contains(&role.trim().to_lowercase()) {
                return Err(format!(
                    "message {number}: its role `{role}` is the name of a special token, which the template would write (--special-in-content allow)"
                ));
            }
        }
        Ok(())
    }

    /// Fails for a special token in `text` that the template did not write.
    pub(super) fn check(
        &self,
        (specials, template): (&ForbiddenSpellings, &ChatTemplate),
        (turns, text): (&Conversation, &str),
        work: &mut RenderBudget<'_>,
    ) -> Result<(), String> {
        let replaced = self.replaced(signs_of_record(turns));
        if replaced == 0 {
            return Ok(());
        }
        let found = self.specials_in(specials, text);
        let without = |text: &str| without_signs(text, replaced);
        let context = turns.context.with_texts(&without);
        let mut differs = |of: RecordPart| -> Result<Option<String>, String> {
            let messages = turns.messages.iter().enumerate().map(|(number, message)| {
                let is_changed = of == RecordPart::All || of == RecordPart::Message(number);
                if is_changed { message.with_texts(&without) } else { message.clone() }.to_value()
            });
            let messages: Vec<Value> = messages.collect();
            let is_changed = matches!(of, RecordPart::All | RecordPart::Context);
            let context = if is_changed { &context } else { &turns.context };
            let rendered = template.render(&messages, context, false, work);
            let rendered = rendered.map_err(|why| {
                format!("without its signs of special tokens it cannot be rendered: {why}")
            })?;
            let own = self.specials_in(specials, &rendered.replace(MARKS, ""));
            let name = |all: &[SpecialPlace<'_>], at: usize| {
                all.get(at).map(|(name, _)| (*name).to_owned())
            };
            let mut places = 0..found.len().max(own.len());
            let other = places.find(|at| name(&found, *at) != name(&own, *at));
            Ok(other.and_then(|at| name(&found, at).or(name(&own, at))))
        };
        let Some(special) = differs(RecordPart::All)? else { return Ok(()) };
        // Which message it is, where one alone makes it.
        let mut place = "the record".to_owned();
        if differs(RecordPart::Context)?.is_some() {
            "a field beside the messages".clone_into(&mut place);
        } else {
            for (number, message) in turns.messages.iter().enumerate() {
                let mut seen = 0;
                message.each_text(&mut |text| seen |= signs_of_text(text));
                if seen & replaced != 0 && differs(RecordPart::Message(number))?.is_some() {
                    place = format!("message {number}");
                    break;
                }
            }
        }
        Err(format!(
            "{place} puts the special token `{special}` together out of its parts, which would become that token (--special-in-content text keeps it as text)"
        ))
    }

    /// The bytes of `text` that spell a special token, or look like one that a later tokenizer may have, and that the
    /// template did not write alone: ascending and apart.
    pub(super) fn said(
        &self,
        (specials, template): (&ForbiddenSpellings, &ChatTemplate),
        (turns, text): (&Conversation, &str),
        work: &mut RenderBudget<'_>,
    ) -> Result<Vec<Range<u32>>, String> {
        let seen = signs_of_record(turns);
        let known = self.replaced(seen);
        // A template may look at signs that no special token is made of; then only those count that are known.
        for replaced in
            [known | seen & BRACKETS.iter().fold(0, |all, sign| all | bit(*sign)), known]
        {
            if replaced == 0 {
                return Ok(Vec::new());
            }
            let without = |text: &str| without_signs(text, replaced);
            let messages: Vec<Value> = turns
                .messages
                .iter()
                .map(|message| message.with_texts(&without).to_value())
                .collect();
            let rendered =
                template.render(&messages, &turns.context.with_texts(&without), false, work);
            let Ok(rendered) = rendered.map(|rendered| rendered.replace(MARKS, "")) else {
                work.check_interrupt_of_render()?;
                continue;
            };
            let found = self.specials_in(specials, text);
            let own = self.specials_in(specials, &rendered);
            let plain = match signs_said(text, &rendered) {
                Some(signs) => plain_ranges(text, &signs, &found)?,
                // Where it wrote all that are known, none is the record's.
                None if replaced == known => Vec::new(),
                None => continue,
            };
            let left = found.iter().filter(|(_, bytes)| !overlaps_any(&plain, bytes));
            if left.map(|(name, _)| name).eq(own.iter().map(|(name, _)| name)) {
                return Ok(plain);
            }
        }
        Err("the template writes special tokens together with signs of the record, or otherwise without these, so it cannot be told which of them the record says".to_owned())
    }

    /// The signs of a record that are replaced, to see what is made of it.
    fn replaced(&self, seen: u128) -> u128 {
        let used = self.signs.iter().filter(|(all, _)| all & !seen == 0);
        used.fold(0, |replaced, (_, sign)| replaced | sign)
    }

    /// The special tokens of a text in their order, those of spellings and then those of each tokenizer.
    fn specials_in<'a>(
        &'a self,
        specials: &'a ForbiddenSpellings,
        text: &str,
    ) -> Vec<SpecialPlace<'a>> {
        let spelled = specials.all_in(text).into_iter();
        let mut found: Vec<SpecialPlace<'a>> =
            spelled.map(|(name, start)| (name, start..start + name.len())).collect();
        for (known, specials) in &self.normalising {
            let (ids, places) = known.tokenizer.encode_with_offsets(text, true).unwrap_or_default();
            let placed = ids.iter().zip(places).filter_map(|(id, (start, end))| {
                Some((specials.get(id)?.as_str(), start as usize..end as usize))
            });
            found.extend(placed);
        }
        found
    }
}

/// A special token and its bytes in a text.
type SpecialPlace<'a> = (&'a str, Range<usize>);

/// The bytes of `text` at which `rendered` has another letter for a sign; none where anything else is otherwise.
fn signs_said(text: &str, rendered: &str) -> Option<Vec<usize>> {
    let (mut signs, mut letters) = (Vec::new(), rendered.chars());
    for (at, letter) in text.char_indices() {
        let other = letters.next()?;
        if other != letter {
            (other == INSTEAD && sign(letter).is_some()).then(|| signs.push(at))?;
        }
    }
    letters.next().is_none().then_some(signs)
}

/// The special tokens with a sign of the record, and what looks like one and begins with it.
fn plain_ranges(
    text: &str,
    signs: &[usize],
    found: &[SpecialPlace<'_>],
) -> Result<Vec<Range<u32>>, String> {
    let has_sign = |bytes: &&Range<usize>| {
        let next = signs.partition_point(|sign| *sign < bytes.start);
        signs.get(next).is_some_and(|sign| *sign < bytes.end)
    };
    let known = found.iter().map(|(_, bytes)| bytes).filter(has_sign).cloned();
    let like = signs.iter().filter_map(|start| {
        let length = spelled_like_token(text.get(*start..)?)?;
        Some(*start..start + length)
    });
    let mut all: Vec<Range<usize>> = known.chain(like).collect();
    all.sort_unstable_by_key(|range| (range.start, range.end));
    let mut plain: Vec<Range<u32>> = Vec::new();
    for range in all {
        let narrow = |at: usize| u32::try_from(at).map_err(|_| "longer than 4 GiB".to_owned());
        let (start, end) = (narrow(range.start)?, narrow(range.end)?);
        match plain.last_mut().filter(|last| last.end >= start) {
            Some(last) => last.end = last.end.max(end),
            None => plain.push(start..end),
        }
    }
    Ok(plain)
}

/// Whose signs are replaced.
#[derive(Clone, Copy, PartialEq, Eq)]
enum RecordPart {
    All,
    /// What stands beside the messages.
    Context,
    Message(usize),
}

/// A set of ASCII signs.
fn bit(sign: u8) -> u128 {
    1_u128.checked_shl(u32::from(sign)).unwrap_or_default()
}

/// The sign that a letter is to normalisers, if it is one: its wide, small, upright and negated forms are.
fn sign(letter: char) -> Option<u8> {
    let plain = match letter {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(letter) - 0xfee0)?,
        '\u{fe64}' | '\u{226e}' => '<',
        '\u{fe65}' | '\u{226f}' => '>',
        '\u{fe47}' => '[',
        '\u{fe48}' => ']',
        _ => letter,
    };
    // A name may have this one too, and it is no bracket.
    let is_sign = plain.is_ascii_punctuation() && plain != '_';
    is_sign.then(|| u8::try_from(plain).ok()).flatten()
}

fn signs_of_text(text: &str) -> u128 {
    if text.is_ascii() {
        let signs = text.bytes().filter(|byte| byte.is_ascii_punctuation());
        return signs.fold(0, |all, byte| all | bit(byte));
    }
    text.chars().filter_map(sign).fold(0, |all, sign| all | bit(sign))
}

fn signs_of_record(turns: &Conversation) -> u128 {
    let mut seen = 0;
    for members in turns.messages.iter().chain([&turns.context]) {
        members.each_text(&mut |text| seen |= signs_of_text(text));
    }
    seen
}

/// What a special token needs of a record to be made of it, and what of that is replaced. A bar is rare in texts and does
/// alone; of other brackets a text has many.
fn signs_of_special(special: &str) -> Option<(u128, u128)> {
    let bar = bit(b'|');
    let all = signs_of_text(special);
    if all & bar != 0 {
        return Some((bar, bar));
    }
    let first = special.chars().find_map(sign)?;
    Some((all, bit(first)))
}

/// The text with another letter in the place of these signs, where it has some.
fn without_signs(text: &str, replaced: u128) -> Option<String> {
    if signs_of_text(text) & replaced == 0 {
        return None;
    }
    let is_replaced = |letter: char| sign(letter).is_some_and(|sign| bit(sign) & replaced != 0);
    Some(text.chars().map(|letter| if is_replaced(letter) { INSTEAD } else { letter }).collect())
}
