//! What a corpus is made with: the fields that are declared, the names they may have, and the keep order by one of
//! them.

use crate::model::{FieldDeclaration, FieldId, FieldKind, KeepOrder};
use crate::store::error::StoreError;
use crate::store::fields;
use crate::store::rows::records::{FieldRecord, FieldState};
use crate::store::view::View;

/// Fields a corpus declares: column numbers beyond are not reserved for them.
const MOST_FIELDS: usize = 4000;

/// Columns of `documents` that a declared field would hide.
const RESERVED: [&str; 15] = [
    "id",
    "key",
    "source",
    "commit",
    "bytes",
    "chars",
    "tokens",
    "kept",
    "standing",
    "dup_of",
    "jaccard",
    "cluster",
    "cluster_size",
    "crowded",
    "meta",
];

/// Checks a name that becomes the name of a column: of a field, of a tokenizer.
///
/// # Errors
/// [`StoreError::Name`].
pub fn check_column_name(name: &str) -> Result<(), StoreError> {
    let good = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > 100 || !name.chars().all(good) {
        return Err(StoreError::Name(format!(
            "name {name:?} must be letters, digits, `_`, `-` or `.`, at most 100 bytes"
        )));
    }
    Ok(())
}

/// Refuses a keep order by a field that holds no numbers.
///
/// # Errors
/// [`StoreError::Name`].
pub fn check_keep_order(keep: &KeepOrder, fields: &[FieldDeclaration]) -> Result<(), StoreError> {
    let KeepOrder::Field(name) = keep else { return Ok(()) };
    let why = match fields.iter().find(|field| field.name == *name) {
        Some(field) if field.kind != FieldKind::Keyword => return Ok(()),
        Some(_) => "is declared as keyword, which has no larger and smaller",
        None => "is not declared",
    };
    Err(StoreError::Name(format!(
        "keep order `{keep}` needs a number, but field `{name}` {why}; declare it as one: `--field {name}:float` or `--field {name}:int` at `init`, `corpusdb field add` later"
    )))
}

/// The declaration of a field that is added to a corpus, with a number that no other field has.
///
/// # Errors
/// [`StoreError::Name`] for a name that is malformed, taken, or that of a column of every corpus.
pub fn declare_field(
    view: &View,
    name: &str,
    kind: FieldKind,
    path: Option<&str>,
) -> Result<FieldDeclaration, StoreError> {
    let path = path.filter(|path| *path != name);
    check_field_name(name, kind, path)?;
    if path.is_some_and(str::is_empty) {
        return Err(StoreError::Name(format!("the path that field `{name}` is fed from is empty")));
    }
    let declared = view.fields().iter();
    let mut taken: Vec<(FieldId, &str)> =
        declared.map(|field| (field.id, field.name.as_str())).collect();
    let gone = |record: &FieldRecord| record.state == FieldState::Going;
    let added = view.added_fields().iter();
    taken.extend(
        added.map(|(id, record)| (*id, if gone(record) { "" } else { record.name.as_str() })),
    );
    if taken.iter().any(|(_, other)| other.to_lowercase() == name.to_lowercase()) {
        return Err(StoreError::Name(format!("field `{name}` is declared already")));
    }
    let numbers = fields::FIRST_DECLARED..;
    let mut numbers = numbers.take(MOST_FIELDS).map(FieldId);
    // Columns come in the order of numbers: a new one comes last, as long as there are numbers.
    let last = taken.iter().map(|(id, _)| *id).max().unwrap_or(FieldId(fields::FIRST_DECLARED - 1));
    let behind = numbers.clone().find(|id| *id > last);
    let free = || numbers.find(|id| taken.iter().all(|(other, _)| other != id));
    let id = behind.or_else(free).ok_or_else(too_many)?;
    let (name, path) = (name.to_owned(), path.map(str::to_owned));
    Ok(FieldDeclaration { id, name, kind, path })
}

fn too_many() -> StoreError {
    StoreError::Name(format!("a corpus declares at most {MOST_FIELDS} fields"))
}

/// Refuses a name that is malformed or that of a column of every corpus. `language` is one that may be fed from
/// elsewhere.
fn check_field_name(name: &str, kind: FieldKind, path: Option<&str>) -> Result<(), StoreError> {
    check_column_name(name)?;
    let lower = name.to_lowercase();
    if name == "language" && path.is_some() {
        let what = "`language` is a keyword wherever it is fed from: `language:keyword`";
        let refused = || StoreError::Name(what.to_owned());
        return if kind == FieldKind::Keyword { Ok(()) } else { Err(refused()) };
    }
    if name == "language" {
        return Err(StoreError::Name(
            "`language` is a column of every corpus already; to feed it from another field of the records: `corpusdb field add CORPUS language:keyword --from-meta FIELD`".to_owned(),
        ));
    }
    if RESERVED.contains(&lower.as_str())
        || lower == "text"
        || lower == "language"
        || lower.starts_with("tokens_")
    {
        return Err(StoreError::Name(format!(
            "field `{name}` is a column of every corpus already; choose another name"
        )));
    }
    Ok(())
}

/// The fields of a corpus, numbered in the order in which they are declared.
///
/// # Errors
/// [`StoreError::Name`] for a name that is malformed, declared twice, or that of a column of every corpus.
pub fn declare_fields(
    declared: &[(String, FieldKind)],
) -> Result<Vec<FieldDeclaration>, StoreError> {
    let mut found: Vec<FieldDeclaration> = Vec::new();
    if declared.len() > MOST_FIELDS {
        return Err(too_many());
    }
    for ((name, kind), id) in declared.iter().zip(fields::FIRST_DECLARED..) {
        check_field_name(name, *kind, None)?;
        let lower = name.to_lowercase();
        if found.iter().any(|field| field.name.to_lowercase() == lower) {
            return Err(StoreError::Name(format!("field `{name}` is declared twice")));
        }
        found.push(FieldDeclaration {
            id: FieldId(id),
            name: name.clone(),
            kind: *kind,
            path: None,
        });
    }
    Ok(found)
}
