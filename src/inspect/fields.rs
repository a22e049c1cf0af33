//! Lists the declared fields of a corpus: type, number of documents that have a value, and origin of the values.

use crate::inspect::InspectError;
use crate::inspect::misfits::{self, MisfitExample};
use model::{FieldDeclaration, FieldKind};
use roaring::RoaringBitmap;
use serde::Serialize;
use std::collections::BTreeMap;
use store::system_fields;
use store::{View, declaration};

/// A field of a corpus.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[cfg_attr(feature = "cli", schemars(rename = "Field"))]
pub struct FieldSummary {
    /// Its name.
    pub name: String,
    /// Its type: `keyword`, `int`, `float`, `bool` or `timestamp`.
    pub kind: &'static str,
    /// `declared`; `fed`: declared, and every new document gets the value of its expression; `filling`: its addition
    /// was interrupted, and no query sees it until that is finished.
    pub state: &'static str,
    /// Documents with a value, kept or not; while it is being filled, the number so far.
    pub documents: u64,
    /// Different values of a keyword; none for other types, and while it is filled.
    pub distinct: Option<u64>,
    /// The path of its values in the metadata.
    pub member: String,
    /// The SQL expression that it was computed by.
    pub expression: Option<String>,
    /// Documents, kept or not, whose value is of another type, and so null; 0 while it is filled.
    pub misfits: u64,
    /// The first of these values.
    pub misfit: Option<MisfitExample>,
}

/// The fields of a corpus, declared ones first, each in the order of their numbers. Reads columns, and for values of
/// another type the metadata of all documents.
///
/// # Errors
/// [`InspectError`] when a column cannot be read.
pub fn fields(view: &View) -> Result<Vec<FieldSummary>, InspectError> {
    let mut found = Vec::new();
    let mut misfits = BTreeMap::new();
    let blocks = if view.fields().is_empty() { 0..0 } else { view.blocks() };
    for block in blocks {
        misfits::merge(
            &mut misfits,
            misfits::of_block(view, view.fields(), block, |_| Some(true))?,
        );
    }
    for field in view.fields() {
        let summary = declared(view, field)?;
        found.push(match misfits.remove(&field.id) {
            Some(count) => {
                FieldSummary { misfits: count.all, misfit: Some(count.example), ..summary }
            }
            None => summary,
        });
    }
    for (id, record) in view.filling_fields() {
        let field = declaration(*id, record)?;
        let filling =
            FieldSummary { state: "filling", documents: record.values, ..summary(&field) };
        found.push(FieldSummary { expression: record.expression.clone(), ..filling });
    }
    Ok(found)
}

fn summary(field: &FieldDeclaration) -> FieldSummary {
    FieldSummary {
        name: field.name.clone(),
        kind: field.kind.name(),
        state: "declared",
        documents: 0,
        distinct: None,
        member: field.member().to_owned(),
        expression: None,
        misfits: 0,
        misfit: None,
    }
}

fn declared(view: &View, field: &FieldDeclaration) -> Result<FieldSummary, InspectError> {
    let is_keyword = field.kind == FieldKind::Keyword;
    let (mut documents, mut terms) = (0, RoaringBitmap::new());
    for block in view.blocks() {
        for (_, value) in view.column_block(system_fields::column_of(field.id), block)?.iter() {
            documents += 1;
            if is_keyword {
                terms.extend(u32::try_from(value));
            }
        }
    }
    let distinct = is_keyword.then(|| terms.len());
    let expression = view.added_field(field.id).and_then(|record| record.expression.clone());
    let is_fed = view.fed_by(&field.name).is_some();
    let state = if is_fed { "fed" } else { "declared" };
    Ok(FieldSummary { documents, distinct, expression, state, ..summary(field) })
}
