//! Gathers all that is known of one document, as `corpusdb show` prints it.

use crate::inspect::InspectError;
use crate::inspect::duplicates::{DocumentBlocker, blockers};
use crate::sql::DocumentFilter;
use crate::sql::SqlError;
use model::{
    ColumnId, CommitSeq, DocId, FieldId, FieldKind, Standing, TermId, shown_timestamp,
    unsortable_float,
};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use store::{View, system_fields};

/// Members of a cluster that are listed, at most.
const MEMBERS: usize = 20;

/// Documents in the order of their ids, each read when it is asked for.
pub struct DocumentDetailsIter<'a> {
    view: &'a View,
    ids: roaring::treemap::IntoIter,
}

/// The documents that a filter means.
///
/// # Errors
/// As [`DocumentFilter::select`].
pub fn documents<'a>(
    view: &'a View,
    filter: &DocumentFilter,
) -> Result<DocumentDetailsIter<'a>, InspectError> {
    Ok(DocumentDetailsIter { view, ids: filter.select(view)?.into_iter() })
}

impl Iterator for DocumentDetailsIter<'_> {
    type Item = Result<DocumentDetails, InspectError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.ids.next().map(|id| show(self.view, DocId(id)))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.ids.size_hint()
    }
}

impl std::fmt::Debug for DocumentDetailsIter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ShownDocuments").finish_non_exhaustive()
    }
}

/// One document with everything stored about it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentDetails {
    /// The id of the document.
    pub id: u64,
    /// The key shown for it.
    pub key: String,
    /// The source of the document.
    pub source: String,
    /// The file it was read from.
    pub path: Option<String>,
    /// Records before it in that file.
    pub number: u64,
    /// The commit that added it.
    pub commit: u64,
    /// UTF-8 bytes of its text.
    pub bytes: u64,
    /// Unicode scalar values of its text.
    pub chars: u64,
    /// Tokens after normalisation; 0 in modes that do not normalise.
    pub words: u32,
    /// The standing of the document.
    pub standing: &'static str,
    /// The document that explains why it is not kept.
    #[serde(rename = "match")]
    pub found: Option<DocumentMatch>,
    /// The removed documents that block it: the first 20.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub blocked_by: Vec<DocumentBlocker>,
    /// Its cluster; none for a document that is neither kept nor a duplicate.
    pub cluster: Option<DocumentCluster>,
    /// Tokens of each tokenizer; null where it was never encoded.
    pub tokens: Map<String, Value>,
    /// Its language, when known.
    pub language: Option<String>,
    /// Values of declared fields; null where it has none.
    pub fields: Map<String, Value>,
    /// The user's other fields, as they were read.
    #[cfg_attr(feature = "cli", schemars(with = "Map<String, Value>"))]
    pub metadata: Box<RawValue>,
    /// The chat template that wrote its text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_template: Option<DocumentTemplate>,
    /// The whole text.
    pub text: String,
}

/// A chat template and its variables.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentTemplate {
    /// blake3 of the template, in hexadecimal.
    pub hash: String,
    /// The values of its variables.
    pub variables: Value,
    /// The template, verbatim.
    pub source: String,
}

/// The document that explains a removal.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
#[cfg_attr(feature = "cli", schemars(rename = "Match"))]
pub struct DocumentMatch {
    /// How the two relate: `exact`, `near` or `superseded`.
    pub kind: &'static str,
    /// The witness, or the successor.
    pub witness: u64,
    /// The key of the witness.
    pub witness_key: String,
    /// The source of the witness.
    pub witness_source: String,
    /// Exact Jaccard similarity; none for a successor.
    pub jaccard: Option<f64>,
    /// Share of this document's shingles that the witness has; none for a successor.
    pub containment_removed: Option<f64>,
    /// Share of the witness's shingles that this document has; none for a successor.
    pub containment_witness: Option<f64>,
}

/// A witness and the documents it removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DocumentCluster {
    /// The witness, which names the cluster.
    pub id: u64,
    /// Documents, the witness included.
    pub size: u64,
    /// The first 20 removed ones.
    pub members: Vec<u64>,
}

/// Everything known of one document.
///
/// # Errors
/// [`InspectError`] for an id that was never given, [`InspectError`] when a row
/// cannot be read.
pub fn show(view: &View, document: DocId) -> Result<DocumentDetails, InspectError> {
    if document.0 >= view.documents() {
        return Err(SqlError::NoDocument { document, documents: view.documents() }.into());
    }
    let header = view.document(document)?;
    let standing = view.standing(document)?;
    let metadata = RawValue::from_string(view.metadata(document)?)
        .map_err(|error| SqlError::Metadata { document, why: error.to_string() })?;
    let mut tokens = Map::new();
    for (tokenizer, record) in view.own_tokenizers() {
        let count = number(view, system_fields::tokens_of(tokenizer), document)?;
        tokens.insert(record.name.clone(), count.map_or(Value::Null, Value::from));
    }
    let mut declared = Map::new();
    for field in view.fields() {
        let value =
            match field.kind {
                FieldKind::Keyword => keyword(view, field.id, document)?.map(Value::from),
                kind => number(view, system_fields::column_of(field.id), document)?.map(|value| {
                    match kind {
                        FieldKind::Float => Value::from(unsortable_float(value)),
                        FieldKind::Bool => Value::from(value != 0),
                        FieldKind::Timestamp => Value::from(shown_timestamp(value)),
                        _ => Value::from(value),
                    }
                }),
            };
        declared.insert(field.name.clone(), value.unwrap_or(Value::Null));
    }
    let language = match view.field_named("language") {
        Some(field) if field.kind == FieldKind::Keyword => keyword(view, field.id, document)?,
        Some(_) => None,
        None => keyword(view, system_fields::LANGUAGE, document)?,
    };
    Ok(DocumentDetails {
        id: document.0,
        key: view.display_key(document)?,
        source: view.source_name(header.place.source)?.to_owned(),
        path: view.file_path(header.place.source, header.place.file)?,
        number: header.place.number,
        commit: header.commit.0,
        bytes: header.bytes,
        chars: header.chars,
        words: header.print.words,
        standing: standing.name(),
        found: found(view, document)?,
        blocked_by: match standing {
            Standing::Blocked => blockers(view, document, &header)?,
            _ => Vec::new(),
        },
        cluster: cluster(view, document, standing)?,
        tokens,
        language,
        fields: declared,
        metadata,
        chat_template: template(view, document, header.commit)?,
        text: view.text_of_owner(header.place.text_owner(document))?,
    })
}

/// The template that wrote a document's text: then special tokens in the text are special.
fn template(
    view: &View,
    document: DocId,
    commit: CommitSeq,
) -> Result<Option<DocumentTemplate>, InspectError> {
    if !view.text_form(document)?.is_some_and(|form| form.given.is_none() && form.specials) {
        return Ok(None);
    }
    let Some(record) = view.template_of(commit)? else { return Ok(None) };
    let source = view.template_source(&record.hash)?;
    let variables = serde_json::from_str(&record.variables).unwrap_or_default();
    Ok(Some(DocumentTemplate { hash: record.hash, variables, source }))
}

fn found(view: &View, document: DocId) -> Result<Option<DocumentMatch>, InspectError> {
    let Some(found) = view.match_of(document)? else { return Ok(None) };
    let witness = view.place(found.witness)?;
    let similar = found.is_duplicate();
    Ok(Some(DocumentMatch {
        kind: found.kind.name(),
        witness: found.witness.0,
        witness_key: view.display_key(found.witness)?,
        witness_source: view.source_name(witness.source)?.to_owned(),
        jaccard: similar.then(|| found.jaccard()),
        containment_removed: similar.then(|| found.containment_removed()),
        containment_witness: similar.then(|| found.containment_witness()),
    }))
}

fn cluster(
    view: &View,
    document: DocId,
    standing: Standing,
) -> Result<Option<DocumentCluster>, InspectError> {
    let Some(id) = crate::sql::ClusterRelation::of(view, document, standing)?.cluster else {
        return Ok(None);
    };
    let members = view.members(id)?;
    let size = u64::try_from(members.len()).unwrap_or(u64::MAX).saturating_add(1);
    Ok(Some(DocumentCluster {
        id: id.0,
        size,
        members: members.iter().take(MEMBERS).map(|member| member.0).collect(),
    }))
}

fn number(view: &View, column: ColumnId, document: DocId) -> Result<Option<i64>, InspectError> {
    Ok(view.column_value(column, document)?)
}

fn keyword(view: &View, field: FieldId, document: DocId) -> Result<Option<String>, InspectError> {
    let term = number(view, system_fields::column_of(field), document)?
        .and_then(|term| u32::try_from(term).ok());
    let Some(term) = term else { return Ok(None) };
    Ok(view.keyword(document, field, TermId(term))?)
}
