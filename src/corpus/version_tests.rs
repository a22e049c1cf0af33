//! A re-decision under the other version of the normaliser that was stopped as it was becoming current.

use super::Corpus;
use super::cost_tests::CountedCorpus;
use crate::decide::BlockReach;
use crate::model::{DedupMode, Interrupt, NoProgress, Normaliser, Policy};
use crate::store::{CheckDepth, CommitRecord, StoreError};

#[test]
fn fingerprints_of_two_versions_hold_up_all_but_the_redo_that_ends_them() {
    let place = CountedCorpus::new(DedupMode::Witness, 200);
    let mut writer = place.writer();
    let one = [3].into_iter().collect();
    writer.remove(&one, BlockReach::Similar, &NoProgress, &Interrupt::default()).unwrap();
    let second = writer.view().policy().clone();
    let first = Policy { normaliser: Normaliser::Web, ..second.clone() };
    for policy in [&first, &second] {
        writer.redo(policy, &NoProgress, &Interrupt::default()).unwrap();
        writer.switch(policy, &NoProgress, &Interrupt::default()).unwrap();
        assert_eq!(writer.view().refingerprinted().unwrap(), None);
    }
    // As if it had been killed behind the first documents.
    let mut batch = writer.writer.begin().unwrap();
    batch.put_refingerprinted(Some(70)).unwrap();
    batch.commit(&CommitRecord::about("redo", "")).unwrap();
    let other = [5].into_iter().collect();
    let refused = writer.remove(&other, BlockReach::Exact, &NoProgress, &Interrupt::default());
    assert!(refused.unwrap_err().to_string().contains("run it again"));
    assert!(matches!(writer.writer.begin(), Err(StoreError::Refingerprinting)));
    assert_eq!(writer.view().redo().unwrap(), None);
    writer.redo(&second, &NoProgress, &Interrupt::default()).unwrap();
    writer.switch(&second, &NoProgress, &Interrupt::default()).unwrap();
    assert_eq!(writer.view().refingerprinted().unwrap(), None);
    writer.remove(&other, BlockReach::Exact, &NoProgress, &Interrupt::default()).unwrap();
    let corpus = Corpus::open(place.path()).unwrap();
    assert_eq!(corpus.view().policy(), &second);
    assert!(corpus.check(CheckDepth::Deep, &NoProgress).unwrap().is_empty());
}
