//! Fields that are declared, and given up, while a corpus holds documents: in commits that can be interrupted, each of
//! which leaves a corpus without half a field.

use super::error::CurateError;
use crate::decide::{LoadedTokenizer, decide_reranked};
use crate::model::{Context, FieldDeclaration, FieldId, FieldKind, KeepOrder, Policy};
use crate::store::{
    Batch, CommitRecord, FieldRecord, FieldState, View, Writer, declaration, declare_field,
};
use serde::Serialize;
use std::ops::Range;

/// Values that are deleted in one commit.
const ERASED: usize = 1 << 12;

/// A field to be declared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewField {
    /// Its name in queries.
    pub name: String,
    /// The type of its values.
    pub kind: FieldKind,
    /// The member of the metadata that has its values, or members within one another with dots between them; the one of
    /// its name when none is given.
    pub path: Option<String>,
    /// Documents indexed in one commit.
    pub batch: u64,
}

impl NewField {
    /// Documents that one commit indexes or computes where nothing else is said.
    pub const BATCH: u64 = 1 << 13;

    /// The field `name`, of the member of that name.
    #[must_use]
    pub fn new(name: &str, kind: FieldKind) -> Self {
        Self { name: name.to_owned(), kind, path: None, batch: Self::BATCH }
    }
}

/// What became of a field that was added or computed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct FieldReport {
    /// Its name.
    pub field: String,
    /// Its type.
    pub kind: &'static str,
    /// Where in the metadata its values stand.
    pub member: String,
    /// Documents looked at, those before an interrupt included.
    pub documents: u64,
    /// Documents of these that have a value.
    pub values: u64,
    /// Documents of these whose value is of another type, which counts as none.
    pub ill_typed: u64,
    /// Documents whose value was changed by it.
    pub changed: u64,
    /// Where the keep order goes by the field: documents that are kept now and were not, counted once a commit.
    pub kept_again: u64,
    /// Likewise those that were kept and are not any more.
    pub no_longer_kept: u64,
    /// How many commits were made.
    pub commits: u64,
}

impl FieldReport {
    pub(super) fn new(field: &FieldDeclaration) -> Self {
        Self {
            field: field.name.clone(),
            kind: field.kind.name(),
            member: field.member().to_owned(),
            documents: 0,
            values: 0,
            ill_typed: 0,
            changed: 0,
            kept_again: 0,
            no_longer_kept: 0,
            commits: 0,
        }
    }
}

/// Declares a field and indexes what the stored metadata have for it. It is seen from the last commit on. The same
/// again goes on where an interrupt stopped, and changes nothing once it is declared.
///
/// # Errors
/// [`CurateError::Field`] when another field has the name; [`CurateError::Interrupted`]; [`CurateError`] when rows
/// cannot be read or written. What was committed before stays.
pub fn add_field(
    writer: &mut Writer,
    new: &NewField,
    context: &Context<'_>,
) -> Result<FieldReport, CurateError> {
    finish_drops(writer, context)?;
    let (field, record) = match begun(writer.view(), new, None)? {
        Begun::Declared(field) => {
            let mut report = FieldReport::new(&field);
            report.documents = writer.view().documents();
            return Ok(report);
        }
        Begun::Filling(field, record) => (field, record),
    };
    context.progress.begin("indexing", Some(writer.view().documents()));
    let index = |batch: &mut Batch<'_>, range, record: &mut FieldRecord| {
        let filled = batch.fill(&field, range)?;
        record.values += filled.values;
        record.ill_typed += filled.ill_typed;
        Ok(0)
    };
    in_commits(writer, &field, record, (new.batch, &[]), context, index)
}

/// Goes through all documents from where the record of a field stands, `rows` of them a commit, and declares the field
/// with the last one. `fill` writes what a range has, counts it in the record, and answers how many documents it
/// changed.
pub(super) fn in_commits(
    writer: &mut Writer,
    field: &FieldDeclaration,
    mut record: FieldRecord,
    (rows, tokenizers): (u64, &[LoadedTokenizer]),
    context: &Context<'_>,
    mut fill: impl FnMut(&mut Batch<'_>, Range<u64>, &mut FieldRecord) -> Result<u64, CurateError>,
) -> Result<FieldReport, CurateError> {
    let mut report = FieldReport::new(field);
    let documents = writer.view().documents();
    loop {
        let end = record.next.saturating_add(rows.max(1)).min(documents);
        let mut batch = writer.begin()?;
        report.changed += fill(&mut batch, record.next..end, &mut record)?;
        let decided = decide_reranked(&mut batch, tokenizers, context.interrupt)?;
        report.kept_again += decided.kept_again;
        report.no_longer_kept += decided.no_longer_kept;
        record.next = end;
        if end == documents {
            record.state = FieldState::Declared;
            if !batch.view().fields().contains(field) {
                batch.declare(&with(batch.view().fields(), field))?;
            }
            if record.expression.is_some() {
                // Computed again, it begins anew.
                record.next = 0;
            }
        }
        batch.put_field(field.id, Some(&record))?;
        batch.commit(&about(&field.name))?;
        report.commits += 1;
        context.progress.advance(end);
        if end == documents {
            break;
        }
        if context.interrupt.is_raised() {
            return Err(CurateError::Interrupted);
        }
    }
    context.progress.end();
    (report.documents, report.values) = (documents, record.values);
    report.ill_typed = record.ill_typed;
    writer.flush()?;
    Ok(report)
}

/// How far the declaration of a field has come.
pub(super) enum Begun {
    /// It is declared.
    Declared(FieldDeclaration),
    /// It is being filled, or is to be.
    Filling(FieldDeclaration, FieldRecord),
}

/// What the corpus has of a field that is asked for: the same, or nothing.
pub(super) fn begun(
    view: &View,
    new: &NewField,
    expression: Option<&str>,
) -> Result<Begun, CurateError> {
    let path = new.path.as_deref().filter(|path| *path != new.name);
    let is_same = |known: &FieldDeclaration| {
        known.name == new.name && known.kind == new.kind && known.path.as_deref() == path
    };
    let other = |known: &FieldDeclaration, what: &str| {
        CurateError::Field(format!(
            "field `{}` {what} as {} of `{}`; `corpusdb field drop` it first, or choose another name",
            known.name,
            known.kind.name(),
            known.member()
        ))
    };
    if let Some(known) = view.field_named(&new.name) {
        return if is_same(known) {
            Ok(Begun::Declared(known.clone()))
        } else {
            Err(other(known, "is declared already"))
        };
    }
    if let Some((id, record)) = view.filling_field(&new.name) {
        let known = declaration(*id, record)?;
        return if is_same(&known) && record.expression.as_deref() == expression {
            Ok(Begun::Filling(known, record.clone()))
        } else {
            Err(other(&known, "is being filled"))
        };
    }
    let field = declare_field(view, &new.name, new.kind, path)?;
    let record = FieldRecord::begin(&field, expression);
    Ok(Begun::Filling(field, record))
}

/// The fields with one more, ascending by id.
pub(super) fn with(fields: &[FieldDeclaration], field: &FieldDeclaration) -> Vec<FieldDeclaration> {
    let mut fields = fields.to_vec();
    fields.push(field.clone());
    fields.sort_by_key(|field| field.id);
    fields
}

/// Gives a field up: queries see it no more from the first commit on, and what is indexed of it is deleted. The
/// metadata of documents stay as they are. `plans` are the stored plans whose recipes name it: while there are some, it
/// is refused unless `force`.
///
/// # Errors
/// [`CurateError::Field`] when there is no such field, or the keep order goes by it; [`CurateError::FieldInUse`];
/// [`CurateError::Interrupted`]: the field is gone, and the next verb about fields deletes what is left of it.
pub fn drop_field(
    writer: &mut Writer,
    name: &str,
    plans: &[u32],
    force: bool,
    context: &Context<'_>,
) -> Result<(), CurateError> {
    finish_drops(writer, context)?;
    let view = writer.view().clone();
    let field = found(&view, name)?;
    for policy in policies(&view)? {
        if policy.keep == KeepOrder::Field(name.to_owned()) {
            return Err(CurateError::Field(format!(
                "the keep order goes by field `{name}`; decide by another one first: `corpusdb dedup redo`"
            )));
        }
    }
    if !force && !plans.is_empty() {
        return Err(CurateError::FieldInUse { field: name.to_owned(), plans: plans.to_vec() });
    }
    let mut fields = view.fields().to_vec();
    fields.retain(|other| other.id != field.id);
    let mut batch = writer.begin()?;
    batch.declare(&fields)?;
    let record = FieldRecord { state: FieldState::Going, ..FieldRecord::begin(&field, None) };
    batch.put_field(field.id, Some(&record))?;
    batch.commit(&about(&format!("{name} dropped")))?;
    finish_drops(writer, context)?;
    Ok(writer.flush()?)
}

/// Deletes what is left of fields that were given up.
pub(super) fn finish_drops(writer: &mut Writer, context: &Context<'_>) -> Result<(), CurateError> {
    let is_going = |(id, record): &(FieldId, FieldRecord)| {
        (record.state == FieldState::Going).then(|| (*id, record.name.clone()))
    };
    let going: Vec<_> = writer.view().added_fields().iter().filter_map(is_going).collect();
    for (field, name) in going {
        let mut from = Some(Vec::new());
        while let Some(first) = from {
            let mut batch = writer.begin()?;
            from = batch.erase_field(field, &first, ERASED)?;
            if from.is_none() {
                batch.put_field(field, None)?;
            }
            batch.commit(&about(&format!("{name} dropped")))?;
            if from.is_some() && context.interrupt.is_raised() {
                return Err(CurateError::Interrupted);
            }
        }
    }
    Ok(())
}

/// The field of that name, declared or being filled.
fn found(view: &View, name: &str) -> Result<FieldDeclaration, CurateError> {
    if let Some(field) = view.field_named(name) {
        return Ok(field.clone());
    }
    if let Some((id, record)) = view.filling_field(name) {
        return Ok(declaration(*id, record)?);
    }
    let known = view.field_names();
    Err(CurateError::Field(format!("there is no field `{name}`; declared: {known}")))
}

/// The policy in force, and that of a re-decision under way.
fn policies(view: &View) -> Result<Vec<Policy>, CurateError> {
    let mut found = vec![view.policy().clone()];
    if let Some(redo) = view.redo()? {
        let policy = serde_json::from_str(&redo.policy);
        found.push(policy.map_err(|error| CurateError::Policy(error.to_string()))?);
    }
    Ok(found)
}

pub(super) fn about(subject: &str) -> CommitRecord {
    let (kind, subject) = ("field".to_owned(), subject.to_owned());
    CommitRecord { kind, subject, ..CommitRecord::default() }
}
