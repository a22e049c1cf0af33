//! Documents as users name them: by id, by key or by a condition.

use super::print;
use corpusdb::query::Selection;
use corpusdb::{Corpus, DocId};

/// The documents of an id or key; none, said on stderr, when none has the key. What is a number is an id.
pub(super) fn documents(
    corpus: &Corpus,
    id_or_key: Option<&str>,
    key: Option<&str>,
) -> anyhow::Result<Vec<DocId>> {
    let key = match (id_or_key, key) {
        (Some(text), _) => match text.parse::<u64>() {
            Ok(id) => {
                let documents = corpus.view().documents();
                anyhow::ensure!(
                    id < documents,
                    "no document {id}: the corpus holds ids 0 to below {documents}; for a key made of digits write `--key {id}`, or `--where \"key = '{id}'\"` where a verb has it"
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
        print::talk(&format!("no document has the key {key}"));
    }
    Ok(found)
}

/// What a condition takes, said on stderr before anything is done to it.
pub(super) fn selection(corpus: &Corpus, condition: &str) -> anyhow::Result<Selection> {
    let n = print::number;
    let selection = corpus.selection(condition)?;
    let (taken, all) = (selection.documents.len(), corpus.view().documents());
    let of_each =
        selection.standings.iter().map(|of| format!("{} {}", n(of.documents), of.standing));
    let each = of_each.collect::<Vec<_>>().join(", ");
    let colon = if each.is_empty() { "" } else { ": " };
    print::talk(&format!("the condition takes {} of {} documents{colon}{each}", n(taken), n(all)));
    if selection.left_out_null > 0 {
        let nulls = n(selection.left_out_null);
        print::talk(&format!(
            "  it leaves out {nulls} for which it is null, neither true nor false"
        ));
    }
    Ok(selection)
}
