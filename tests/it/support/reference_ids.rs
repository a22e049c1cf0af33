//! Ids as the reference library gives them.

use corpusdb::{Corpus, DocId};

/// Every kept document has the reference's ids of one tokenizer. How many ids each has, in order.
#[track_caller]
pub fn ids_as_reference(corpus: &Corpus, name: &str) -> Vec<usize> {
    let view = corpus.view();
    let (id, _) = view.tokenizer_named(name).unwrap();
    let mut oracle = tokenizers::Tokenizer::from_bytes(view.tokenizer_file(id).unwrap()).unwrap();
    oracle.set_encode_special_tokens(true);
    let mut lengths = Vec::new();
    for document in corpus.select("kept").unwrap() {
        let text = view.text(DocId(document)).unwrap();
        let mut stored = Vec::new();
        assert!(view.tokens(id, DocId(document), &mut stored).unwrap(), "document {document}");
        let expected = oracle.encode(&*text, false).unwrap();
        assert_eq!(stored, expected.get_ids(), "{name}, document {document}: {text:.60}");
        lengths.push(stored.len());
    }
    lengths
}
