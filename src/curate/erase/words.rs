//! Words of users on record that quote purged documents: redacted where they are history, reported where in use.
//!
//! Reasons and conditions of commits are redacted. Expressions of fields, recipes of plans and records of how
//! tokenizers were made are in use: a purge names these before it begins.

use super::PurgeProcedure;
use super::rows;
use super::spellings::any;
use super::traces::{self, TraceSearch};
use super::values::ValueQuotes;
use model::invariant::part;
use model::show::sql_literal;
use model::{DocId, Error, FieldId, Standing, TokenizerId};
use roaring::RoaringTreemap;
use serde_json::Value;
use std::collections::BTreeSet;
use store::{CommitBatch, EpochRecord, FieldRecord, FieldState, REDACTED, TracePart, View};

/// Words in use.
enum WordsInUse {
    Field(FieldId, FieldRecord),
    Plan(EpochRecord),
    Tokenizer(TokenizerId, String, Vec<u8>),
}

impl WordsInUse {
    /// All words in use of a corpus.
    fn of(view: &View) -> Result<Vec<Self>, Error> {
        let mut found = Vec::new();
        for (field, record) in view.added_fields() {
            if record.expression.is_some() {
                found.push(Self::Field(*field, record.clone()));
            }
        }
        found.extend(view.epochs()?.into_iter().map(Self::Plan));
        for (tokenizer, record) in view.tokenizers() {
            if let Some(decisions) = view.tokenizer_decisions(tokenizer)? {
                found.push(Self::Tokenizer(tokenizer, record.name.clone(), decisions));
            }
        }
        Ok(found)
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Field(_, record) => record.expression.as_deref().unwrap_or_default().as_bytes(),
            Self::Plan(record) => record.plan.as_bytes(),
            Self::Tokenizer(_, _, decisions) => decisions,
        }
    }

    fn name(&self) -> String {
        match self {
            Self::Field(_, record) => format!("the expression of field `{}`", record.name),
            Self::Plan(record) => format!("the recipe of plan {}", record.number),
            Self::Tokenizer(_, name, _) => format!("the record of how tokenizer `{name}` was made"),
        }
    }

    /// Removes the words that quote: the field is then computed no more, the plan cannot be opened any more.
    fn redact(
        self,
        batch: &mut CommitBatch<'_>,
        has: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<(), Error> {
        match self {
            Self::Field(field, record) => {
                let state = match record.state {
                    FieldState::Fed => FieldState::Declared,
                    FieldState::Filling => FieldState::Going,
                    state => state,
                };
                let expression = Some(REDACTED.to_owned());
                Ok(batch.put_field(field, Some(&FieldRecord { expression, state, ..record }))?)
            }
            Self::Plan(record) => {
                let plan = without(record.plan.as_bytes(), has);
                Ok(batch.redact_epoch(&EpochRecord { plan, ..record })?)
            }
            Self::Tokenizer(tokenizer, _, decisions) => {
                let decisions = without(&decisions, has);
                Ok(batch.redact_tokenizer(tokenizer, decisions.as_bytes())?)
            }
        }
    }
}

/// A document written as JSON whose strings that quote are redacted; redacted whole where that leaves something.
fn without(json: &[u8], has: &mut dyn FnMut(&[u8]) -> bool) -> String {
    fn walk(value: &mut Value, has: &mut dyn FnMut(&[u8]) -> bool) {
        match value {
            Value::String(words) if any(words.as_bytes(), has) => REDACTED.clone_into(words),
            Value::Array(values) => values.iter_mut().for_each(|value| walk(value, has)),
            Value::Object(members) => members.values_mut().for_each(|value| walk(value, has)),
            _ => {}
        }
    }
    let Ok(mut value) = serde_json::from_slice::<Value>(json) else { return REDACTED.to_owned() };
    walk(&mut value, has);
    let redacted = value.to_string();
    if any(redacted.as_bytes(), has) { REDACTED.to_owned() } else { redacted }
}

/// The words in use that quote a text, a key or a value of documents, by what they are; of what was purged nothing is left to be
/// quoted. Without words in use no document is read.
pub(crate) fn quoting(
    view: &View,
    documents: &RoaringTreemap,
    memory: u64,
) -> Result<Vec<String>, Error> {
    let most = TraceSearch::capacity(memory);
    let mut words = WordsInUse::of(view)?;
    let mut found = Vec::new();
    if words.is_empty() {
        return Ok(found);
    }
    let selected = documents - view.documents_standing(Standing::Purged)?;
    let mut documents = selected.iter().map(DocId).peekable();
    while !words.is_empty() && documents.peek().is_some() {
        let (mut runs, mut keys) = (Vec::new(), Vec::new());
        while runs.len() < most
            && keys.len() < KEYS
            && let Some(document) = documents.next()
        {
            let key = view.key(document)?;
            let owner = view.place(document)?.text_owner(document);
            rows::quoted_runs(view, owner, key.as_deref(), &mut runs)?;
            keys.extend(key.and_then(short_key));
        }
        let (search, keys) = (TraceSearch::of(runs.iter()), SpelledKeys::of(keys));
        words.retain(|words| {
            let mut has = |bytes: &[u8]| search.any(bytes) || keys.are_in(bytes);
            let quotes = any(words.bytes(), &mut has);
            if quotes {
                found.push(words.name());
            }
            !quotes
        });
    }
    let mut documents = selected.iter().map(DocId).peekable();
    while !words.is_empty() && documents.peek().is_some() {
        let quotes = ValueQuotes::of(view, &mut documents, &selected, most, &mut |look| {
            words.iter().for_each(|words| look(words.bytes()));
            Ok(())
        })?;
        words.retain(|words| {
            let quotes = any(words.bytes(), &mut |bytes| quotes.are_in(bytes));
            if quotes {
                found.push(words.name());
            }
            !quotes
        });
    }
    Ok(found)
}

/// Calls `look` with the reasons and conditions of commits, with what outputs on record say, and with the words in use.
pub(super) fn each(view: &View, look: &mut dyn FnMut(&[u8])) -> Result<(), Error> {
    for (_, commit) in view.commits()? {
        [commit.reason, commit.condition].iter().flatten().for_each(|words| look(words.as_bytes()));
    }
    view.verbs()?
        .values()
        .filter_map(|verb| verb.before.as_ref())
        .for_each(|words| look(words.as_bytes()));
    for output in view.stored_outputs()? {
        let (_, output) = output?;
        look(output.destination.as_bytes());
        output.condition.iter().for_each(|words| look(words.as_bytes()));
    }
    WordsInUse::of(view)?.iter().for_each(|words| look(words.bytes()));
    Ok(())
}

/// Redacts the words of commits and outputs in which `has` finds something, those of the purge's own record too, and the
/// words in use.
pub(super) fn redact(
    purge: &mut PurgeProcedure<'_, '_>,
    has: &mut dyn FnMut(&[u8]) -> bool,
) -> Result<(), Error> {
    let mut redacted = |words: &mut Option<String>| {
        let quotes = words.as_ref().is_some_and(|words| any(words.as_bytes(), has));
        if quotes {
            *words = Some(REDACTED.to_owned());
        }
        quotes
    };
    redacted(&mut purge.record.reason);
    redacted(&mut purge.record.condition);
    let mut changed = Vec::new();
    for (commit, mut written) in purge.writer.view().commits()? {
        if redacted(&mut written.reason) | redacted(&mut written.condition) {
            changed.push((commit, written));
        }
    }
    // Commits without the note of the state before them cannot be undone.
    let mut verbs = purge.writer.view().verbs()?;
    verbs.retain(|_, verb| redacted(&mut verb.before));
    let mut in_use = WordsInUse::of(purge.writer.view())?;
    let mut outputs = Vec::new();
    for output in purge.writer.view().stored_outputs()? {
        let (number, mut output) = output?;
        let mut destination = Some(std::mem::take(&mut output.destination));
        let is_changed = redacted(&mut destination) | redacted(&mut output.condition);
        output.destination = destination.unwrap_or_default();
        if is_changed {
            outputs.push((number, output));
        }
    }
    in_use.retain(|words| any(words.bytes(), has));
    if changed.is_empty() && verbs.is_empty() && outputs.is_empty() && in_use.is_empty() {
        return Ok(());
    }
    let mut batch = purge.commits.batch(purge.writer)?;
    for (commit, written) in &changed {
        batch.rewrite_commit(*commit, written)?;
    }
    for (commit, verb) in &verbs {
        batch.rewrite_verb(*commit, verb)?;
    }
    for (number, output) in &outputs {
        batch.put_output(*number, output)?;
    }
    purge.report.redacted += in_use.len() as u64;
    for words in in_use {
        words.redact(&mut batch, has)?;
    }
    purge.commits.commit_next(batch, &purge.record)
}

/// Redacts what quotes keys that are too short for a run, while they are at hand.
pub(super) fn redact_short_keys(
    purge: &mut PurgeProcedure<'_, '_>,
    documents: &RoaringTreemap,
) -> Result<(), Error> {
    let mut documents = documents.iter().map(DocId).peekable();
    while documents.peek().is_some() {
        let mut keys = Vec::new();
        while keys.len() < KEYS
            && let Some(document) = documents.next()
        {
            keys.extend(purge.writer.view().key(document)?.and_then(short_key));
        }
        let keys = SpelledKeys::of(keys);
        if keys.longest > 0 {
            redact(purge, &mut |bytes| keys.are_in(bytes))?;
        }
    }
    Ok(())
}

/// Keys that are searched for at a time.
const KEYS: usize = 1 << 12;

/// A key that has no run, as SQL spells it: with its quotes it is the whole of a value.
fn short_key(key: String) -> Option<String> {
    let mut runs = Vec::new();
    traces::add(key.as_bytes(), TracePart::Key, 1, &mut runs);
    (runs.is_empty() && !key.is_empty()).then(|| sql_literal(&key))
}

/// Keys as SQL spells them.
struct SpelledKeys {
    keys: BTreeSet<Vec<u8>>,
    longest: usize,
}

impl SpelledKeys {
    fn of(keys: Vec<String>) -> Self {
        let longest = keys.iter().map(String::len).max().unwrap_or(0);
        Self { keys: keys.into_iter().map(String::into_bytes).collect(), longest }
    }

    /// Whether one of the keys is in `bytes`: each begins and ends with a quote.
    fn are_in(&self, bytes: &[u8]) -> bool {
        let is_quote = |byte: &u8| *byte == b'\'';
        let starts = bytes.iter().enumerate().filter(|(_, byte)| is_quote(byte));
        starts.map(|(at, _)| part(bytes, at..)).any(|rest| {
            let ends = rest.iter().take(self.longest).enumerate().skip(1);
            ends.filter(|(_, byte)| is_quote(byte))
                .any(|(end, _)| rest.get(..=end).is_some_and(|part| self.keys.contains(part)))
        })
    }
}
