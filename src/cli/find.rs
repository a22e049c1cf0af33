//! Documents as users name them: by id, by key or by a condition.

use super::session::parse_document;
use super::verb::VerbCall;
use anyhow::ensure;
use corpusdb::query::Selection;
use corpusdb::show::number;
use corpusdb::{Corpus, DocId};
use roaring::RoaringTreemap;

/// Documents of a request: by ids and keys, or by a condition.
#[derive(clap::Args)]
pub(super) struct DocumentArgs {
    /// Ids or keys of documents.
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
    /// The documents that are named; those of the condition, with what it takes.
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
            let named = documents(corpus, Some(document), None, call.note)?;
            ensure!(!named.is_empty(), "nothing was changed: `{document}` is no document");
            found.extend(named.iter().map(|id| id.0));
        }
        Ok((found, None))
    }
}

/// The documents of an id or key; none, and a note, when none has the key. What is a number is an id.
pub(super) fn documents(
    corpus: &Corpus,
    id_or_key: Option<&str>,
    key: Option<&str>,
    note: &dyn Fn(&str),
) -> anyhow::Result<Vec<DocId>> {
    let key = match (id_or_key, key) {
        (Some(text), _) => match text.parse::<u64>() {
            Ok(id) => {
                let documents = corpus.view().documents();
                ensure!(
                    id < documents,
                    "no document {id}: the corpus holds ids 0 to below {documents}; for a key made of digits give `key=` {id}, or `where=` \"key = '{id}'\" where a verb has it"
                );
                return Ok(vec![DocId(id)]);
            }
            Err(_) => text,
        },
        (None, Some(key)) => key,
        (None, None) => return Ok(Vec::new()),
    };
    let found = corpus.find_key(key)?;
    if found.is_empty() {
        note(&format!("no document has the key {key}"));
    }
    Ok(found)
}

/// What a condition takes, said before anything is done to it.
pub(super) fn selection(
    corpus: &Corpus,
    condition: &str,
    call: &VerbCall<'_>,
) -> anyhow::Result<Selection> {
    let selection = corpus.selection(condition)?;
    let (taken, all) = (selection.documents.len(), corpus.view().documents());
    let of_each = selection.standings.iter();
    let of_each = of_each.map(|of| format!("{} {}", number(of.documents), of.standing));
    let each = of_each.collect::<Vec<_>>().join(", ");
    let colon = if each.is_empty() { "" } else { ": " };
    let (taken, all) = (number(taken), number(all));
    call.note(&format!("the condition takes {taken} of {all} documents{colon}{each}"));
    if selection.left_out_null > 0 {
        let nulls = number(selection.left_out_null);
        call.note(&format!("  it leaves out {nulls} for which it is null, neither true nor false"));
    }
    Ok(selection)
}
