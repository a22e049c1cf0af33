//! A field that has the values of a SQL expression.

use super::error::CurateError;
use super::fields::{Begun, FieldReport, NewField, about, begun, finish_drops, in_commits};
use crate::decide::LoadedTokenizer;
use crate::model::{Context, DocId, FieldDeclaration, FieldKind};
use crate::query::{Computed, Dependence, compute, kind_of, names_column};
use crate::store::{Batch, ColumnBlock, FieldRecord, FieldState, View, Writer, fields};
use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// A field to be computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComputedField {
    /// Its name in queries.
    pub name: String,
    /// A SQL expression over `documents`.
    pub expression: String,
    /// The type of its values; that of the expression when none is given.
    pub kind: Option<FieldKind>,
    /// Documents computed in one commit.
    pub batch: u64,
}

/// Stores the values that an expression has for every document as a field, declaring it when it is not. One that is new
/// is seen from the last commit on; one that is declared changes commit by commit. The same again goes on where an
/// interrupt stopped, unless something else was committed meanwhile: then it begins anew. `dependence` is that of the
/// expression. Where the keep order goes by the field, each commit decides about the documents that it ranks otherwise,
/// and `tokenizers` encode what is kept again.
///
/// # Errors
/// [`CurateError::Field`] for an expression that has another value each time or looks at several documents, and for a
/// type that does not fit; [`CurateError::Select`] for one that cannot be planned; [`CurateError::Interrupted`].
pub fn compute_field(
    writer: &mut Writer,
    new: &ComputedField,
    dependence: &Dependence,
    tokenizers: &[LoadedTokenizer],
    context: &Context<'_>,
) -> Result<FieldReport, CurateError> {
    finish_drops(writer, context)?;
    let view = writer.view().clone();
    let declared = view.field_named(&new.name).cloned();
    check(new, dependence)?;
    refuse_fed(&view, &new.name)?;
    let kind = kind(&view, new, declared.as_ref())?;
    let (field, mut record) = begin(&view, new, kind, declared)?;
    if record.commit != view.commit().0 {
        // What it looks at may have changed.
        (record.next, record.values, record.ill_typed) = (0, 0, 0);
    }
    let computing = compute(&view, &new.expression, kind).map_err(select)?;
    let is_new = record.commit == 0 && record.state == FieldState::Filling;
    if is_new {
        // From here on what is set of it is indexed.
        let mut batch = writer.begin()?;
        batch.put_field(field.id, Some(&record))?;
        batch.commit(&about(&field.name))?;
    }
    context.progress.begin("computing", Some(view.documents()));
    let fill = |batch: &mut Batch<'_>, range, record: &mut FieldRecord| {
        let mut values: BTreeMap<u64, Computed> = BTreeMap::new();
        computing.values(range, |id, value| drop(values.insert(id, value))).map_err(select)?;
        store(batch, &field, record, &values)
    };
    let mut report = in_commits(writer, &field, record, (new.batch, tokenizers), context, fill)?;
    report.commits += u64::from(is_new);
    Ok(report)
}

/// Stores the values of some documents, and counts them; how many documents changed.
fn store(
    batch: &mut Batch<'_>,
    field: &FieldDeclaration,
    record: &mut FieldRecord,
    values: &BTreeMap<u64, Computed>,
) -> Result<u64, CurateError> {
    let view = batch.view().clone();
    let mut indexed: Option<(u64, ColumnBlock)> = None;
    let mut changed = 0;
    for (id, value) in values {
        record.ill_typed += u64::from(*value == Computed::IllTyped);
        record.values += u64::from(!matches!(value, Computed::IllTyped | Computed::Null));
        let (document, raw) = (DocId(*id), raw(value)?);
        let block = document.block();
        let column = match indexed.take() {
            Some((known, column)) if known == block => column,
            _ => view.column_block(fields::column_of(field.id), block)?,
        };
        // Metadata may have a value from before that no field was declared for.
        let is_new = record.state == FieldState::Filling && column.get(document.slot()).is_none();
        changed += u64::from(if is_new {
            batch.fill_field(document, field, &raw)?
        } else {
            batch.set_fields(document, &[(field.member(), &raw)])?
        });
        indexed = Some((block, column));
    }
    Ok(changed)
}

fn check(new: &ComputedField, dependence: &Dependence) -> Result<(), CurateError> {
    let refused = |why: String| Err(CurateError::Field(why));
    if let Some(chance) = &dependence.chance {
        return refused(format!(
            "{chance} has another value each time; a field must come out the same when it is computed again"
        ));
    }
    if dependence.others {
        return refused(
            "a field is computed document by document: no aggregates, windows or queries within the expression; write their values to a file with `corpusdb sql` and give them back with `corpusdb field set`".to_owned(),
        );
    }
    if names_column(&new.expression, &new.name) {
        return refused(format!(
            "the expression names `{}`, the field it is the value of: computed again it would have another value",
            new.name
        ));
    }
    Ok(())
}

/// A field that every ingest gives its values to has no others.
fn refuse_fed(view: &View, name: &str) -> Result<(), CurateError> {
    match view.fed_by(name) {
        None => Ok(()),
        Some(expression) => Err(CurateError::Field(format!(
            "field `{name}` is a signal, `{expression}`, which every document is given; choose another name, or `corpusdb signals drop` it first"
        ))),
    }
}

/// The type of the field.
fn kind(
    view: &View,
    new: &ComputedField,
    declared: Option<&FieldDeclaration>,
) -> Result<FieldKind, CurateError> {
    match (declared, new.kind) {
        (Some(declared), Some(kind)) if declared.kind != kind => Err(CurateError::Field(format!(
            "field `{}` is declared as {}, not as {}; `corpusdb field drop` it first, or choose another name",
            new.name,
            declared.kind.name(),
            kind.name()
        ))),
        (Some(declared), _) => Ok(declared.kind),
        (None, Some(kind)) => Ok(kind),
        (None, None) => kind_of(view, &new.expression).map_err(select)?.ok_or_else(|| {
            CurateError::Field(
                "the values of the expression are of no type that a field has; say which: `--type keyword`, int, float, bool or timestamp".to_owned(),
            )
        }),
    }
}

/// The field, and how far it is computed.
fn begin(
    view: &View,
    new: &ComputedField,
    kind: FieldKind,
    declared: Option<FieldDeclaration>,
) -> Result<(FieldDeclaration, FieldRecord), CurateError> {
    if let Some(field) = declared {
        let known = view.added_field(field.id).cloned();
        let same = known.filter(|known| known.expression.as_ref() == Some(&new.expression));
        let begun = || FieldRecord {
            state: FieldState::Declared,
            ..FieldRecord::begin(&field, Some(&new.expression))
        };
        let record = same.unwrap_or_else(begun);
        return Ok((field, record));
    }
    let of = NewField { name: new.name.clone(), kind, path: None, batch: new.batch };
    match begun(view, &of, Some(&new.expression))? {
        Begun::Declared(field) => {
            let record = FieldRecord::begin(&field, Some(&new.expression));
            Ok((field, record))
        }
        Begun::Filling(field, record) => Ok((field, record)),
    }
}

fn raw(value: &Computed) -> Result<Box<RawValue>, CurateError> {
    RawValue::from_string(value.to_json())
        .map_err(|error| CurateError::Field(format!("a value cannot be spelled: {error}")))
}

fn select(error: crate::query::QueryError) -> CurateError {
    CurateError::Select(Box::new(error))
}
