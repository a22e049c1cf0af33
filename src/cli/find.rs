//! Documents as users name them: by id or by key.

use super::print;
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
