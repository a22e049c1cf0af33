//! What the text of a record has of suites, by the tokens that its fingerprint was made of.

use crate::contamination::{Looker, Seeds};
use crate::dedup::{Fingerprint, Fingerprinter, TokenHashes};
use crate::model::{Compared, Normaliser, Policy, Sightings, Signature, SuiteId};

/// Looks for suites. Holds scratch memory; have one per thread.
pub(super) struct SuiteScanner<'a> {
    seeds: &'a Seeds,
    looker: Looker,
    /// Where the tokens of fingerprints are others than those that suites are looked for by.
    own: TokenHashes,
    is_shared: bool,
}

impl<'a> SuiteScanner<'a> {
    pub(super) fn new(seeds: &'a Seeds, policy: &Policy) -> Self {
        let is_shared = policy.normaliser == Normaliser::Web
            && policy.compared == Compared::Text
            && policy.signature == Signature::Native;
        Self { seeds, looker: Looker::default(), own: TokenHashes::new(), is_shared }
    }

    /// What the text has whose fingerprint `craft` made last.
    pub(super) fn scan(
        &mut self,
        text: &str,
        fingerprint: &Fingerprint,
        craft: &Fingerprinter,
    ) -> Vec<(SuiteId, Sightings)> {
        if self.seeds.is_empty() {
            return Vec::new();
        }
        // Those of an unusually long text are gone.
        let made = craft.last_tokens();
        let is_made = self.is_shared && made.len() as u64 == u64::from(fingerprint.tokens);
        let tokens = if is_made { made } else { self.own.of(text) };
        self.seeds.look(text, tokens, &mut self.looker)
    }
}
