//! What a corpus is made with: the fields that are declared, the names they may have, and the keep order by one of them.

use crate::model::{FieldDeclaration, FieldId, FieldKind, KeepOrder};
use crate::store::error::StoreError;
use crate::store::fields;

/// Fields a corpus declares: column numbers beyond are not reserved for them.
const MOST_FIELDS: usize = 4000;

/// Columns of `documents` that a declared field would hide.
const RESERVED: [&str; 14] = [
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
        "keep order `{keep}` needs a number, but field `{name}` {why}; declare it as one: `--field {name}:float` or `--field {name}:int`"
    )))
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
        return Err(StoreError::Name(format!("a corpus declares at most {MOST_FIELDS} fields")));
    }
    for ((name, kind), id) in declared.iter().zip(fields::FIRST_DECLARED..) {
        check_column_name(name)?;
        let lower = name.to_lowercase();
        if RESERVED.contains(&lower.as_str())
            || lower == "text"
            || lower == "language"
            || lower.starts_with("tokens_")
        {
            return Err(StoreError::Name(format!(
                "field `{name}` is a column of every corpus already; rename it in your data"
            )));
        }
        if found.iter().any(|field| field.name.to_lowercase() == lower) {
            return Err(StoreError::Name(format!("field `{name}` is declared twice")));
        }
        found.push(FieldDeclaration { id: FieldId(id), name: name.clone(), kind: *kind });
    }
    Ok(found)
}
