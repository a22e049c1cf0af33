//! Tests a re-decision under the other version of the normaliser that was stopped as it was becoming current.

use super::cost_tests::CountedCorpus;
use crate::corpus::Corpus;
use crate::decide::BlockReach;
use model::{Context, DedupMode, Normaliser, Policy};
use store::{CheckDepth, CommitRecord, StoreError};

#[test]
fn fingerprints_of_two_versions_block_all_but_their_redo() {
    let place = CountedCorpus::new(DedupMode::Witness, 200);
    let mut writer = place.writer();
    let one = [3].into_iter().collect();
    writer.remove(&one, BlockReach::Similar, &Context::new()).unwrap();
    let second = writer.view().policy().clone();
    let first = Policy { normaliser: Normaliser::Web, ..second.clone() };
    for policy in [&first, &second] {
        writer.redo(policy, &Context::new()).unwrap();
        writer.switch(policy, &Context::new()).unwrap();
        assert_eq!(writer.view().refingerprinted().unwrap(), None);
    }
    // As if the process had been killed after the first documents.
    let mut batch = writer.store().begin().unwrap();
    batch.put_refingerprinted(Some(70)).unwrap();
    batch.commit(&CommitRecord::about("redo", "")).unwrap();
    let other = [5].into_iter().collect();
    let refused = writer.remove(&other, BlockReach::Exact, &Context::new());
    assert!(refused.unwrap_err().hint().unwrap().text.contains("run it again"));
    assert!(matches!(writer.store().begin(), Err(StoreError::Refingerprinting)));
    assert_eq!(writer.view().redo().unwrap(), None);
    writer.redo(&second, &Context::new()).unwrap();
    writer.switch(&second, &Context::new()).unwrap();
    assert_eq!(writer.view().refingerprinted().unwrap(), None);
    writer.remove(&other, BlockReach::Exact, &Context::new()).unwrap();
    let corpus = Corpus::open(place.path()).unwrap();
    assert_eq!(corpus.view().policy(), &second);
    assert!(corpus.check(CheckDepth::Deep, &Context::new()).unwrap().is_empty());
}
