//! What declared fields and stored signals hold.

use crate::inspect::InspectError;
use crate::inspect::misfits;
use crate::inspect::misfits::MisfitExample;
use model::{FieldDeclaration, FieldKind};
use roaring::RoaringBitmap;
use serde::Serialize;
use std::collections::BTreeMap;
use store::{View, declaration, system_fields};
use text::signals::Signal;

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

/// A signal that can be stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[cfg_attr(feature = "cli", schemars(rename = "Signal"))]
pub struct SignalSummary {
    /// Its name, also the name of its field.
    pub name: &'static str,
    /// The set it belongs to: `gopher`, `c4`, `fineweb`, or `all` if it belongs to no other set.
    pub set: &'static str,
    /// The type of its values.
    pub kind: &'static str,
    /// Its function, in SQL over `documents`.
    pub expression: &'static str,
    /// The version of its rule in this release: 2 and more for a signal whose values an earlier release computed
    /// otherwise.
    pub version: u16,
    /// `stored`: every new document gets it; `outdated`: likewise, but documents stored by an earlier release keep the
    /// values of an earlier version, until `signals add` computes all again; `filling`: its addition was interrupted;
    /// `absent`; `other`, when a field of its name has other values.
    pub state: &'static str,
    /// The version by which it was stored first.
    pub stored_version: Option<u16>,
    /// Documents that have a value, where it is stored or filled.
    pub documents: Option<u64>,
}

/// Every signal that can be stored, and what of it the corpus has. Reads columns, no document.
///
/// # Errors
/// [`InspectError`] when a column cannot be read.
pub fn signals(view: &View) -> Result<Vec<SignalSummary>, InspectError> {
    let declared = fields(view)?;
    let summary = |signal: &Signal| {
        let field = declared.iter().find(|field| field.name == signal.name);
        let expression = field.and_then(|field| field.expression.as_deref());
        let stored_version = expression.and_then(|stored| signal.stored_version(stored));
        let is_outdated = stored_version != Some(signal.version);
        let state = match field {
            None => "absent",
            Some(_) if stored_version.is_none() => "other",
            Some(field) if field.state == "fed" && is_outdated => "outdated",
            Some(field) if field.state == "fed" => "stored",
            Some(field) if field.state == "filling" => "filling",
            Some(_) => "other",
        };
        let documents = field.filter(|_| matches!(state, "stored" | "outdated" | "filling"));
        SignalSummary {
            name: signal.name,
            set: signal.set.name(),
            kind: signal.kind.name(),
            expression: signal.expression,
            version: signal.version,
            state,
            stored_version: stored_version.filter(|_| state != "other"),
            documents: documents.map(|field| field.documents),
        }
    };
    Ok(Signal::ALL.iter().map(summary).collect())
}

/// The stored signals of which some documents may have values by the rule of an earlier release.
pub(super) fn outdated(view: &View) -> Vec<&'static str> {
    let is_earlier = |signal: &&Signal| {
        let mut fields = view.added_fields().iter().map(|(_, field)| field);
        let field = fields.find(|field| field.name == signal.name);
        let stored = field.and_then(|field| field.expression.as_deref());
        let version = stored.and_then(|stored| signal.stored_version(stored));
        version.is_some_and(|version| version < signal.version)
    };
    Signal::ALL.iter().filter(is_earlier).map(|signal| signal.name).collect()
}
