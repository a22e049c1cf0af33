//! Stores scores of texts as fields: one pass over the stored documents, and every later ingest for its own.

use super::commits::{CommitLoop, next_texts};
use super::fields::{about, drop_field, field_in_use, finish_drops, with};
use model::{Context, DocId, Error, FieldDeclaration, FieldId};
use rayon::prelude::*;
use serde::Serialize;
use store::{CommitBatch, FieldRecord, FieldState, StoreWriter, View, declaration, declare_field};
use text::signals::{ScoreValue, Signal, scores, scores_json};

/// Signals to be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSignals {
    /// Which; one that is stored already stays as it is.
    pub signals: Vec<Signal>,
    /// Documents scored in one commit, at most; fewer where texts are long.
    pub batch: u64,
}

/// The result of adding signals.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SignalsReport {
    /// The requested signals, in their order.
    pub signals: Vec<&'static str>,
    /// Those of them that were stored before.
    pub known: Vec<&'static str>,
    /// Those that were stored by an earlier version of their rule, and are computed again.
    pub outdated: Vec<&'static str>,
    /// Documents that were scored now.
    pub documents: u64,
    /// How many commits were made.
    pub commits: u64,
}

/// A signal that is being filled.
struct SignalFill {
    signal: Signal,
    field: FieldDeclaration,
    record: FieldRecord,
}

/// Gives stored signals up, each with the numbers of the stored plans whose recipes name it: all of them, or none.
///
/// # Errors
/// [`Error`] when one is not stored; as [`drop_field`] for what depends on one.
pub fn drop_signals(
    writer: &mut StoreWriter,
    signals: &[(Signal, Vec<u32>)],
    force: bool,
    context: &Context<'_>,
) -> Result<(), Error> {
    for (signal, plans) in signals {
        if stored_version(writer.view(), signal)?.is_none() {
            return Err(Error::bad_input(format!(
                "signal `{}` is not stored; `corpusdb signals show` shows which are",
                signal.name
            )));
        }
        if !force && !plans.is_empty() {
            return Err(field_in_use(signal.name, plans));
        }
    }
    for (signal, plans) in signals {
        drop_field(writer, signal.name, plans, force, context)?;
    }
    Ok(())
}

/// The signals of `signals` that are stored, or were being stored, by an earlier version of their rule.
///
/// # Errors
/// [`Error`] where a field of the name is something else.
pub fn outdated_signals(view: &View, signals: &[Signal]) -> Result<Vec<Signal>, Error> {
    let mut outdated = Vec::new();
    for signal in signals {
        let stored = stored_version(view, signal)?;
        if stored.is_some_and(|version| version != signal.version) {
            outdated.push(*signal);
        }
    }
    Ok(outdated)
}

/// The version by which a signal is stored, or was being stored; none where it is not.
fn stored_version(view: &View, signal: &Signal) -> Result<Option<u16>, Error> {
    let filling = view.filling_field(signal.name);
    let filling = filling.and_then(|(_, record)| record.expression.as_deref());
    match filling.and_then(|expression| signal.stored_version(expression)) {
        Some(version) => Ok(Some(version)),
        None => fed_version(view, signal),
    }
}

/// The member of the metadata that has the values of a signal: none that a record would have by chance.
fn signal_member(signal: &Signal) -> String {
    format!("signals.{}", signal.name)
}

/// Stores scores of every document as fields, which every ingest from then on feeds. They are seen from the last commit
/// on. The same call continues where an interrupt stopped, and changes nothing once all are stored. Of an earlier
/// version of their rule there are none: they were dropped.
///
/// # Errors
/// [`Error`] where a field of the name is something else, or after an interrupt.
pub fn add_signals(
    writer: &mut StoreWriter,
    new: &NewSignals,
    context: &Context<'_>,
) -> Result<SignalsReport, Error> {
    finish_drops(writer, context)?;
    let mut report = SignalsReport {
        signals: new.signals.iter().map(|signal| signal.name).collect(),
        ..SignalsReport::default()
    };
    let asked = writer.view().clone();
    let mut unknown = Vec::new();
    for signal in &new.signals {
        if fed_version(&asked, signal)?.is_some() {
            report.known.push(signal.name);
        } else {
            unknown.push(*signal);
        }
    }
    if unknown.is_empty() {
        return Ok(report);
    }
    let mut filling = Vec::new();
    for signal in unknown {
        filling.push(begin_signal(writer, signal, &mut report)?);
    }
    let next = aligned(&mut filling);
    fill(writer, &mut filling, (next, new.batch), &mut report, context)?;
    writer.flush_if_long()?;
    Ok(report)
}

/// The version by which a signal is stored, if it is; an error where a field of its name is something else.
fn fed_version(view: &View, signal: &Signal) -> Result<Option<u16>, Error> {
    let Some(field) = view.field_named(signal.name) else { return Ok(None) };
    let fed = view.fed_by(signal.name);
    if let Some(version) = fed.and_then(|expression| signal.stored_version(expression)) {
        return Ok(Some(version));
    }
    Err(Error::bad_input(format!(
        "field `{}` is declared already, with the values of `{}`: name the other signals one by one, or `corpusdb field drop` it first",
        signal.name,
        field.member()
    )))
}

/// A signal that is filled from here on, or was before an interrupt.
fn begin_signal(
    writer: &mut StoreWriter,
    signal: Signal,
    report: &mut SignalsReport,
) -> Result<SignalFill, Error> {
    let view = writer.view().clone();
    if let Some((id, record)) = view.filling_field(signal.name) {
        let field = declaration(*id, record)?;
        let is_its_own = record.expression.as_deref() == Some(&signal.stored_expression());
        if !is_its_own || field.kind != signal.kind {
            return Err(Error::bad_input(format!(
                "field `{}` is being filled with other values; run `corpusdb field add` or `corpusdb field compute` to its end, or `corpusdb field drop` it first",
                signal.name
            )));
        }
        return Ok(SignalFill { signal, field, record: record.clone() });
    }
    let field = declare_field(&view, signal.name, signal.kind, Some(&signal_member(&signal)))?;
    let record = FieldRecord::begin(&field, Some(&signal.stored_expression()));
    let mut batch = writer.begin()?;
    batch.put_field(field.id, Some(&record))?;
    batch.commit(&about(&field.name))?;
    report.commits += 1;
    Ok(SignalFill { signal, field, record })
}

/// The document at which all signals continue: their common progress, or the beginning when progress differs.
fn aligned(filling: &mut [SignalFill]) -> u64 {
    let first = filling.first().map_or(0, |one| one.record.next);
    if filling.iter().all(|one| one.record.next == first) {
        return first;
    }
    for one in filling {
        (one.record.next, one.record.values) = (0, 0);
    }
    0
}

/// Scores the documents from one on, a number a commit, and declares the fields with the last commit.
fn fill(
    writer: &mut StoreWriter,
    filling: &mut [SignalFill],
    (mut next, rows): (u64, u64),
    report: &mut SignalsReport,
    context: &Context<'_>,
) -> Result<(), Error> {
    let documents = writer.view().documents();
    let signals: Vec<Signal> = filling.iter().map(|one| one.signal).collect();
    let most = writer.batch_bytes();
    let mut commits = CommitLoop::begin("scoring", Some(documents), context);
    loop {
        let mut batch = commits.batch(writer)?;
        let view = batch.view().clone();
        let (work, behind) = next_texts(&view, (next, rows), most)?;
        let scored: Vec<Vec<ScoreValue>> = work
            .par_iter()
            .map(|(document, place)| {
                let text = view.text_of_owner(place.text_owner(*document))?;
                Ok(scores(&text, &signals))
            })
            .collect::<Result<_, Error>>()?;
        for ((document, _), values) in work.iter().zip(&scored) {
            store(&mut batch, *document, filling, values)?;
        }
        next = behind;
        report.documents += work.len() as u64;
        let is_last = next >= documents;
        finish(&mut batch, filling, next, is_last)?;
        commits.commit(batch, &about("signals"), next)?;
        if is_last {
            report.commits += commits.end();
            return Ok(());
        }
    }
}

fn store(
    batch: &mut CommitBatch<'_>,
    document: DocId,
    filling: &mut [SignalFill],
    values: &[ScoreValue],
) -> Result<(), Error> {
    let raw = scores_json(values)
        .map_err(|error| Error::bad_input(format!("a score cannot be written as JSON: {error}")))?;
    let fields: Vec<&FieldDeclaration> = filling.iter().map(|one| &one.field).collect();
    batch.fill_fields(document, &fields, &raw)?;
    for (one, value) in filling.iter_mut().zip(values) {
        one.record.values += u64::from(*value != ScoreValue::Word(None));
    }
    Ok(())
}

/// Notes how far the fields are filled, and declares them when they are.
fn finish(
    batch: &mut CommitBatch<'_>,
    filling: &mut [SignalFill],
    next: u64,
    is_last: bool,
) -> Result<(), Error> {
    let mut declared = batch.view().fields().to_vec();
    for one in filling {
        one.record.next = next;
        if is_last {
            // Later documents are fed by ingests, and no pass is to be continued.
            (one.record.state, one.record.next) = (FieldState::Fed, 0);
            declared = with(&declared, &one.field);
        }
        let id: FieldId = one.field.id;
        batch.put_field(id, Some(&one.record))?;
    }
    if is_last {
        batch.declare(&declared)?;
    }
    Ok(())
}
