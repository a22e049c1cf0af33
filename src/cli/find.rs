//! Finds documents as users name them: by id, by key or by a condition.

use super::session::parse_document;
use super::verb::VerbCall;
use anyhow::{bail, ensure};
use corpusdb::inspect::Selection;
use corpusdb::show::number;
use corpusdb::sql::{DocumentFilter, SqlError};
use corpusdb::{Corpus, DocId, Error, Hint};
use roaring::RoaringTreemap;

/// Documents of a request: by ids and keys, or by a condition.
#[derive(clap::Args)]
pub(super) struct DocumentArgs {
    /// Ids or keys of documents: digits are an id, `key:5` is the key 5, `id:5` always the id.
    #[arg(required_unless_present = "where", value_name = "ID|KEY", value_parser = parse_document)]
    pub(super) documents: Vec<String>,
    /// All documents of a SQL condition.
    #[arg(
        id = "where",
        long = "where",
        value_name = "SQL",
        conflicts_with = "documents",
        allow_hyphen_values = true
    )]
    pub(super) condition: Option<String>,
}

impl DocumentArgs {
    /// The documents that the arguments name; for a condition also the selection.
    pub(super) fn select(
        &self,
        corpus: &Corpus,
        call: &VerbCall<'_>,
    ) -> anyhow::Result<(RoaringTreemap, Option<Selection>)> {
        if let Some(condition) = &self.condition {
            let selection = selection(corpus, condition, call)?;
            return Ok((selection.documents.clone(), Some(selection)));
        }
        let mut found = RoaringTreemap::new();
        for document in &self.documents {
            let name = DocumentName::unambiguous(corpus, document)?;
            let named = name.documents(corpus, call.note)?;
            ensure!(!named.is_empty(), "nothing was changed: no document `{document}`");
            found.extend(named.iter().map(|id| id.0));
        }
        Ok((found, None))
    }
}

/// How a user names a document.
pub(super) enum DocumentName<'a> {
    /// An id: `id:5`.
    Id(u64),
    /// An id: `5`, which could be a key as well.
    Digits(u64),
    /// A key: `key:5`, or anything that is not a number.
    Key(&'a str),
}

impl<'a> DocumentName<'a> {
    /// How `text` names a document.
    pub(super) fn of(text: &'a str) -> Self {
        if let Some(id) = text.strip_prefix("id:").and_then(id_of) {
            return Self::Id(id);
        }
        id_of(text).map_or(Self::Key(text.strip_prefix("key:").unwrap_or(text)), Self::Digits)
    }

    /// As [`of`](Self::of), for verbs that cannot be undone: refuses digits that are also the key of a document.
    pub(super) fn unambiguous(corpus: &Corpus, text: &'a str) -> anyhow::Result<Self> {
        let name = Self::of(text);
        if matches!(name, Self::Digits(_)) && !corpus.find_key(text)?.is_empty() {
            bail!(
                "nothing was changed: `{text}` is also the key of a document: write `id:{text}` or `key:{text}`"
            );
        }
        Ok(name)
    }

    /// The documents with this id or key. For a key that no document has: none, and a note.
    pub(super) fn documents(
        &self,
        corpus: &Corpus,
        note: &dyn Fn(&str),
    ) -> anyhow::Result<Vec<DocId>> {
        match *self {
            Self::Id(id) | Self::Digits(id) => {
                let (document, documents) = (DocId(id), corpus.view().documents());
                if id < documents {
                    return Ok(vec![document]);
                }
                let error = Error::from(SqlError::NoDocument { document, documents });
                let way_out = format!("a key made of digits is written `key:{document}`");
                let way_out = matches!(self, Self::Digits(_)).then(|| Hint::text(way_out));
                Err(error.with_hint(way_out).into())
            }
            Self::Key(key) => {
                let found = corpus.find_key(key)?;
                if found.is_empty() {
                    note(&format!("no document has the key {key}"));
                }
                Ok(found)
            }
        }
    }
}

/// The number, if the text spells it as ids are shown. Other numbers may be keys (`007`, `+5`).
fn id_of(text: &str) -> Option<u64> {
    let id = text.parse::<u64>().ok()?;
    (id.to_string() == text).then_some(id)
}

/// The documents with an id or key. For a key that no document has: none, and a note.
pub(super) fn documents(
    corpus: &Corpus,
    id_or_key: Option<&str>,
    key: Option<&str>,
    note: &dyn Fn(&str),
) -> anyhow::Result<Vec<DocId>> {
    match (id_or_key, key) {
        (Some(text), _) => DocumentName::of(text).documents(corpus, note),
        (None, Some(key)) => DocumentName::Key(key).documents(corpus, note),
        (None, None) => Ok(Vec::new()),
    }
}

/// Selects the documents of a condition, and says how many before anything is done to them.
pub(super) fn selection(
    corpus: &Corpus,
    condition: &str,
    call: &VerbCall<'_>,
) -> anyhow::Result<Selection> {
    let filter = DocumentFilter::from(condition).with_interrupt(call.context.interrupt());
    let selection = corpus.selection(filter)?;
    let (taken, all) = (selection.documents.len(), corpus.view().documents());
    let of_each = selection.standings.iter();
    let of_each = of_each.map(|of| format!("{} {}", number(of.documents), of.standing));
    let each = of_each.collect::<Vec<_>>().join(", ");
    let colon = if each.is_empty() { "" } else { ": " };
    let (taken, all) = (number(taken), number(all));
    call.note(&format!("the condition takes {taken} of {all} documents{colon}{each}"));
    if selection.left_out_null > 0 {
        let nulls = number(selection.left_out_null);
        call.note(&format!(
            "  {nulls} documents are left out because the condition is null for them"
        ));
    }
    Ok(selection)
}
