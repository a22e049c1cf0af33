//! Declares, computes and drops fields while a corpus holds documents.
//!
//! Commits can be interrupted between, and none leaves a half-filled field visible.

use super::commits::CommitLoop;
use super::perplexity_model::PerplexityModel;
use super::redo::unstorable;
use super::tokenizers::{in_use, listed, load_to_write};
use crate::corpus::CorpusWriter;
use crate::decide::{LoadedTokenizer, decide_reranked};
use crate::sql::{
    ComputedValue, Dependence, computed_column, dependence, expression_kind, names_column,
};
use model::near_names::UnknownName;
use model::{Context, DocId, Error, FieldDeclaration, FieldId, FieldKind, KeepOrder, Policy};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use std::ops::Range;
use store::{
    CommitBatch, CommitRecord, FieldRecord, FieldState, NumberBlock, StoreError, StoreWriter, View,
    declaration, declare_field, system_fields,
};

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
    /// Documents that one commit indexes or computes by default.
    pub const BATCH: u64 = 1 << 13;

    /// The field `name`, of the member of that name.
    #[must_use]
    pub fn new(name: &str, kind: FieldKind) -> Self {
        Self { name: name.to_owned(), kind, path: None, batch: Self::BATCH }
    }
}

/// The result of adding or computing a field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct FieldReport {
    /// Its name.
    pub field: String,
    /// Its type.
    pub kind: &'static str,
    /// The path of its values in the metadata.
    pub member: String,
    /// Documents processed, also before an interrupt.
    pub documents: u64,
    /// Documents of these that have a value.
    pub values: u64,
    /// Documents of these with a value of another type, which counts as null.
    pub ill_typed: u64,
    /// Documents whose value was changed by it.
    pub changed: u64,
    /// If the keep order uses the field: newly kept documents, counted once per commit.
    pub kept_again: u64,
    /// Likewise documents that are no longer kept.
    pub no_longer_kept: u64,
    /// How many commits were made.
    pub commits: u64,
    /// If the values are perplexities: the models that give them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub models: Vec<PerplexityModel>,
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
            models: Vec::new(),
        }
    }
}

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

impl ComputedField {
    /// The verb that computes it.
    pub(crate) fn verb(&self) -> String {
        format!("corpusdb field compute CORPUS {} '{}'", self.name, self.expression)
    }
}

impl CorpusWriter {
    /// Declares a field of a corpus that may hold documents, and indexes what their metadata have for it. It is seen
    /// from the last commit on; the same call continues where an interrupt stopped.
    ///
    /// # Errors
    /// [`Error`] when the name is taken, or after an interrupt: earlier commits stay.
    pub fn add_field(
        &mut self,
        field: &NewField,
        context: &Context<'_>,
    ) -> Result<FieldReport, Error> {
        let context = self.within(context);
        add_field(self.store(), field, &context)
    }

    /// Stores the values of a SQL expression over `documents` as a field, declaring it when it is not.
    ///
    /// # Errors
    /// [`SqlError`](crate::sql::SqlError) for an expression that cannot be planned;
    /// [`Error`] for one that is not the same each time, or after an interrupt:
    /// earlier commits stay, and the same call continues.
    pub fn compute_field(
        &mut self,
        field: &ComputedField,
        context: &Context<'_>,
    ) -> Result<FieldReport, Error> {
        let dependence = dependence(self.view(), &field.expression)?;
        let context = self.within(context);
        let tokenizers = self.encoders_if_ranked_by(&[&field.name])?;
        compute_field(self.store(), field, &dependence, &tokenizers, &context)
    }

    /// The tokenizers, where one of these fields ranks documents: other values of that field change what is kept.
    pub(crate) fn encoders_if_ranked_by(
        &mut self,
        names: &[&str],
    ) -> Result<Vec<LoadedTokenizer>, Error> {
        let order = self.view().order_field();
        let is_order = |field: &FieldDeclaration| {
            Some(field.id) == order && names.contains(&field.name.as_str())
        };
        if !self.view().fields().iter().any(is_order) {
            return Ok(Vec::new());
        }
        load_to_write(self.store())
    }
}

/// Declares a field and indexes what the stored metadata have for it. It is seen from the last commit on. The same call
/// continues where an interrupt stopped, and changes nothing once it is declared.
///
/// # Errors
/// [`Error`] when another field has the name, rows cannot be read or written, or after an interrupt. Earlier commits stay.
pub fn add_field(
    writer: &mut StoreWriter,
    new: &NewField,
    context: &Context<'_>,
) -> Result<FieldReport, Error> {
    finish_drops(writer, context)?;
    let (field, record) = match field_progress(writer.view(), new, None)? {
        FieldProgress::Declared(field) => {
            let mut report = FieldReport::new(&field);
            report.documents = writer.view().documents();
            return Ok(report);
        }
        FieldProgress::Filling(field, record) => (field, record),
    };
    let commits = CommitLoop::begin("indexing", Some(writer.view().documents()), context);
    let index = |batch: &mut CommitBatch<'_>, range, record: &mut FieldRecord| {
        let filled = batch.fill(&field, range)?;
        record.values += filled.values;
        record.ill_typed += filled.ill_typed;
        Ok(0)
    };
    in_commits(writer, &field, record, (new.batch, &[]), (commits, context), index)
}

/// Goes through the documents from the progress of the field's record on, `rows` a commit, and declares the field with
/// the last commit. `fill` writes what a range has, counts it in the record, and answers how many documents it
/// changed.
pub(super) fn in_commits(
    writer: &mut StoreWriter,
    field: &FieldDeclaration,
    mut record: FieldRecord,
    (rows, tokenizers): (u64, &[LoadedTokenizer]),
    (mut commits, context): (CommitLoop<'_>, &Context<'_>),
    mut fill: impl FnMut(&mut CommitBatch<'_>, Range<u64>, &mut FieldRecord) -> Result<u64, Error>,
) -> Result<FieldReport, Error> {
    let mut report = FieldReport::new(field);
    let documents = writer.view().documents();
    let mut before = FieldBefore::of(writer.view(), field, record.expression.as_deref());
    loop {
        let end = record.next.saturating_add(rows.max(1)).min(documents);
        let mut batch = commits.batch(writer)?;
        if let Some(before) = before.take() {
            batch.note_before(before.words()?);
        }
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
                // A new computation starts from the first document.
                record.next = 0;
            }
        }
        batch.put_field(field.id, Some(&record))?;
        commits.commit(batch, &about(&field.name), end)?;
        if end == documents {
            break;
        }
    }
    report.commits = commits.end();
    (report.documents, report.values) = (documents, record.values);
    report.ill_typed = record.ill_typed;
    writer.flush_if_long()?;
    Ok(report)
}

/// The state before a change of a field, by which the change is undone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum FieldBefore {
    /// It was not declared.
    Absent,
    /// It was declared, with values of the metadata or of an expression.
    Declared { kind: String, path: Option<String>, expression: Option<String> },
}

impl FieldBefore {
    /// The state before values of an `expression`, or of the metadata, are stored; none where that state could not be
    /// stored again.
    fn of(view: &View, field: &FieldDeclaration, expression: Option<&str>) -> Option<Self> {
        if view.field_named(&field.name).is_none() {
            return Some(Self::Absent);
        }
        let before = view.added_field(field.id)?.expression.as_deref()?;
        (Some(before) != expression).then(|| Self::declared(field, Some(before)))
    }

    fn declared(field: &FieldDeclaration, expression: Option<&str>) -> Self {
        let (kind, path) = (field.kind.name().to_owned(), field.path.clone());
        Self::Declared { kind, path, expression: expression.map(str::to_owned) }
    }

    fn words(&self) -> Result<String, Error> {
        serde_json::to_string(self).map_err(|error| Error::bad_input(error.to_string()))
    }
}

/// How far the declaration of a field has come.
pub(super) enum FieldProgress {
    /// It is declared.
    Declared(FieldDeclaration),
    /// It is being filled, or is to be.
    Filling(FieldDeclaration, FieldRecord),
}

/// The progress of a field that a caller asks for: the corpus has the same field, or none.
pub(super) fn field_progress(
    view: &View,
    new: &NewField,
    expression: Option<&str>,
) -> Result<FieldProgress, Error> {
    let path = new.path.as_deref().filter(|path| *path != new.name);
    let is_same = |known: &FieldDeclaration| {
        known.name == new.name && known.kind == new.kind && known.path.as_deref() == path
    };
    let other = |known: &FieldDeclaration, what: &str| {
        StoreError::Name(format!(
            "field `{}` {what} as {} of `{}`; `corpusdb field drop` it first, or choose another name",
            known.name,
            known.kind.name(),
            known.member()
        ))
    };
    if let Some(known) = view.field_named(&new.name) {
        return if is_same(known) {
            Ok(FieldProgress::Declared(known.clone()))
        } else {
            Err(other(known, "is declared already").into())
        };
    }
    if let Some((id, record)) = view.filling_field(&new.name) {
        let known = declaration(*id, record)?;
        return if is_same(&known) && record.expression.as_deref() == expression {
            Ok(FieldProgress::Filling(known, record.clone()))
        } else {
            Err(other(&known, "is being filled").into())
        };
    }
    let field = declare_field(view, &new.name, new.kind, path)?;
    let record = FieldRecord::begin(&field, expression);
    Ok(FieldProgress::Filling(field, record))
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
/// [`Error`] when there is no such field, the keep order goes by it or plans name it. After an interrupt the field is
/// gone, and the next verb about fields deletes what is left of it.
pub fn drop_field(
    writer: &mut StoreWriter,
    name: &str,
    plans: &[u32],
    force: bool,
    context: &Context<'_>,
) -> Result<(), Error> {
    finish_drops(writer, context)?;
    let view = writer.view().clone();
    let field = found(&view, name)?;
    for policy in policies(&view)? {
        if policy.keep == KeepOrder::Field(name.to_owned()) {
            return Err(Error::bad_input(format!(
                "the keep order uses field `{name}`; change it first with `corpusdb dedup redo`"
            )));
        }
    }
    if !force && !plans.is_empty() {
        return Err(field_in_use(name, plans));
    }
    let mut fields = view.fields().to_vec();
    fields.retain(|other| other.id != field.id);
    let mut batch = writer.begin()?;
    if view.field_named(name).is_some() && view.fed_by(name).is_none() {
        let expression = view.added_field(field.id).and_then(|added| added.expression.as_deref());
        batch.note_before(FieldBefore::declared(&field, expression).words()?);
    }
    batch.declare(&fields)?;
    let record = FieldRecord { state: FieldState::Going, ..FieldRecord::begin(&field, None) };
    batch.put_field(field.id, Some(&record))?;
    batch.commit(&about(&format!("{name} dropped")))?;
    finish_drops(writer, context)?;
    Ok(writer.flush_if_long()?)
}

/// Deletes what is left of fields that were given up.
pub(super) fn finish_drops(writer: &mut StoreWriter, context: &Context<'_>) -> Result<(), Error> {
    let is_going = |(id, record): &(FieldId, FieldRecord)| {
        (record.state == FieldState::Going).then(|| (*id, record.name.clone()))
    };
    let going: Vec<_> = writer.view().added_fields().iter().filter_map(is_going).collect();
    for (field, name) in going {
        let mut commits = CommitLoop::begin("deleting", None, context);
        let (mut from, mut rows) = (Some(Vec::new()), 0);
        while let Some(first) = from {
            let mut batch = commits.batch(writer)?;
            from = batch.erase_field(field, &first, ERASED)?;
            if from.is_none() {
                batch.put_field(field, None)?;
            }
            rows += ERASED as u64;
            commits.commit(batch, &about(&format!("{name} dropped")), rows)?;
        }
        commits.end();
    }
    Ok(())
}

/// The field of that name, declared or being filled.
fn found(view: &View, name: &str) -> Result<FieldDeclaration, Error> {
    if let Some(field) = view.field_named(name) {
        return Ok(field.clone());
    }
    if let Some((id, record)) = view.filling_field(name) {
        return Ok(declaration(*id, record)?);
    }
    let known = view.fields().iter().map(|field| field.name.as_str());
    Err(UnknownName::new("field", name, known).into())
}

/// The policy in force, and that of a re-decision under way.
fn policies(view: &View) -> Result<Vec<Policy>, Error> {
    let mut found = vec![view.policy().clone()];
    if let Some(redo) = view.redo()? {
        let policy = serde_json::from_str(&redo.policy);
        found.push(policy.map_err(unstorable)?);
    }
    Ok(found)
}

pub(super) fn about(subject: &str) -> CommitRecord {
    CommitRecord::about("field", subject)
}

/// Stores the values that an expression has for every document as a field, declaring it when it is not. One that is new
/// is seen from the last commit on; one that is declared changes commit by commit. The same call continues where an
/// interrupt stopped, unless something else was committed meanwhile: then it begins again. `dependence` is that of the
/// expression. Where the keep order goes by the field, each commit decides about the documents that it ranks otherwise,
/// and `tokenizers` encode what is kept again.
///
/// # Errors
/// [`Error`] for an expression that has another value each time, looks at several documents or cannot be planned, for a
/// type that does not fit, and after an interrupt.
pub fn compute_field(
    writer: &mut StoreWriter,
    new: &ComputedField,
    dependence: &Dependence,
    tokenizers: &[LoadedTokenizer],
    context: &Context<'_>,
) -> Result<FieldReport, Error> {
    check(new, dependence)?;
    let values = FieldValues::begin(writer, new, context)?;
    let view = values.view.clone();
    let computing = computed_column(&view, &new.expression, values.field.kind)?;
    values.store(writer, (new.batch, tokenizers), context, |range, found| {
        Ok(computing.values(range, |id, value| drop(found.insert(id, value)), context)?)
    })
}

/// The values of a computed field that are to be stored for all documents.
pub(super) struct FieldValues {
    /// The moment of which they are.
    pub view: View,
    field: FieldDeclaration,
    record: FieldRecord,
}

impl FieldValues {
    /// The field as it is declared or is to be, and how far an earlier call has come.
    ///
    /// # Errors
    /// [`Error`] when the field is something else.
    pub(super) fn begin(
        writer: &mut StoreWriter,
        new: &ComputedField,
        context: &Context<'_>,
    ) -> Result<Self, Error> {
        finish_drops(writer, context)?;
        let view = writer.view().clone();
        let declared = view.field_named(&new.name).cloned();
        refuse_fed(&view, &new.name)?;
        let kind = kind(&view, new, declared.as_ref())?;
        let (field, mut record) = begin(&view, new, kind, declared)?;
        if record.commit != view.commit().0 {
            // The values that the expression reads may have changed.
            (record.next, record.values, record.ill_typed) = (0, 0, 0);
        }
        Ok(Self { view, field, record })
    }

    /// Stores the values, `rows` documents a commit; `values` finds those of a range.
    ///
    /// # Errors
    /// [`Error`] when rows cannot be read or written, or after an interrupt.
    pub(super) fn store(
        self,
        writer: &mut StoreWriter,
        (rows, tokenizers): (u64, &[LoadedTokenizer]),
        context: &Context<'_>,
        mut values: impl FnMut(Range<u64>, &mut BTreeMap<u64, ComputedValue>) -> Result<(), Error>,
    ) -> Result<FieldReport, Error> {
        let Self { view, field, record } = self;
        let is_new = record.commit == 0 && record.state == FieldState::Filling;
        if is_new {
            // From here on what is set of it is indexed.
            let mut batch = writer.begin()?;
            batch.put_field(field.id, Some(&record))?;
            batch.commit(&about(&field.name))?;
        }
        let commits = CommitLoop::begin("computing", Some(view.documents()), context);
        let fill = |batch: &mut CommitBatch<'_>, range, record: &mut FieldRecord| {
            let mut found = BTreeMap::new();
            values(range, &mut found)?;
            store(batch, &field, record, &found)
        };
        let mut report =
            in_commits(writer, &field, record, (rows, tokenizers), (commits, context), fill)?;
        report.commits += u64::from(is_new);
        Ok(report)
    }
}

/// Stores the values of some documents, and counts them; how many documents changed.
fn store(
    batch: &mut CommitBatch<'_>,
    field: &FieldDeclaration,
    record: &mut FieldRecord,
    values: &BTreeMap<u64, ComputedValue>,
) -> Result<u64, Error> {
    let view = batch.view().clone();
    let mut indexed: Option<(u64, NumberBlock)> = None;
    let mut changed = 0;
    for (id, value) in values {
        record.ill_typed += u64::from(*value == ComputedValue::IllTyped);
        record.values += u64::from(!matches!(value, ComputedValue::IllTyped | ComputedValue::Null));
        let (document, raw) = (DocId(*id), raw(value)?);
        let block = document.block();
        let column = match indexed.take() {
            Some((known, column)) if known == block => column,
            _ => view.column_block(system_fields::column_of(field.id), block)?,
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

fn check(new: &ComputedField, dependence: &Dependence) -> Result<(), Error> {
    let refused = |why: String| Err(Error::bad_input(why));
    if let Some(chance) = &dependence.chance {
        return refused(format!(
            "{chance} returns another value each time; a field must get the same values when it is computed again"
        ));
    }
    if dependence.others {
        return refused(
            "a field is computed document by document, without aggregates, windows or subqueries; write their values to a file with `corpusdb sql` and set them with `corpusdb field set`".to_owned(),
        );
    }
    if names_column(&new.expression, &new.name) {
        return refused(format!(
            "the expression uses `{}`, the field that it defines: computed again it would have another value",
            new.name
        ));
    }
    Ok(())
}

/// A field that every ingest gives its values to has no others.
fn refuse_fed(view: &View, name: &str) -> Result<(), Error> {
    match view.fed_by(name) {
        None => Ok(()),
        Some(expression) => Err(Error::bad_input(format!(
            "field `{name}` is the signal `{expression}`, which every document gets; choose another name, or `corpusdb signals drop` it first"
        ))),
    }
}

/// The type of the field.
fn kind(
    view: &View,
    new: &ComputedField,
    declared: Option<&FieldDeclaration>,
) -> Result<FieldKind, Error> {
    match (declared, new.kind) {
        (Some(declared), Some(kind)) if declared.kind != kind => Err(Error::bad_input(format!(
            "field `{}` is declared as {}, not as {}; `corpusdb field drop` it first, or choose another name",
            new.name,
            declared.kind.name(),
            kind.name()
        ))),
        (Some(declared), _) => Ok(declared.kind),
        (None, Some(kind)) => Ok(kind),
        (None, None) => expression_kind(view, &new.expression)?.ok_or_else(|| {
            Error::bad_input(
                "the values of the expression have a type that no field can have; choose one: `type=keyword`, int, float, bool or timestamp",
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
) -> Result<(FieldDeclaration, FieldRecord), Error> {
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
    match field_progress(view, &of, Some(&new.expression))? {
        FieldProgress::Declared(field) => {
            let record = FieldRecord::begin(&field, Some(&new.expression));
            Ok((field, record))
        }
        FieldProgress::Filling(field, record) => Ok((field, record)),
    }
}

fn raw(value: &ComputedValue) -> Result<Box<RawValue>, Error> {
    RawValue::from_string(value.to_json())
        .map_err(|error| Error::bad_input(format!("a value cannot be written as JSON: {error}")))
}

/// The error that recipes of stored plans name a field.
pub(super) fn field_in_use(field: &str, plans: &[u32]) -> Error {
    in_use(format!(
        "the recipes of plans {} use field `{field}`: the plans stay, but cannot be planned or extended again without it",
        listed(plans)
    ))
}
