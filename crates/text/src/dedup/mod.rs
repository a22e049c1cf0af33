//! Deduplication: the policy that says which texts are duplicates, and their fingerprints as pure functions.
//!
//! A text goes through these stages, each a file of its own:
//!
//! 1. [`normalise`](words): text to tokens, in a form that case, spacing and punctuation do not change;
//! 2. `shingle`: tokens to the sorted set of hashes of every run of [`Policy::shingle`] tokens;
//! 3. `sketch`: the set to slots that estimate Jaccard similarity ([`Sketch`]), 256 bytes unless the policy
//!    asks for a published signature;
//! 4. `bands`: the sketch to the keys under which similar sketches meet ([`bands()`]);
//! 5. `similarity`: two sets to their exact overlap, which alone decides ([`shared_at_least`]);
//! 6. `family`: of very many sets that are much alike, the few that may be similar to another ([`FamilyIndex`]), by
//!    what is rare among them (`rarity`);
//! 7. `independent`: which of documents in rank order stay, once similar ones are known ([`IndependentSet`]).
//!
//! [`Fingerprinter`] runs stages 1 to 3 with one set of buffers. Everything here is integer
//! arithmetic on fixed constants, so a fingerprint is the same on every machine; what changes it must
//! raise [`SIGNATURE_VERSION`]. That includes the Unicode version of
//! the segmentation, normalisation and case tables, which the known answers in the tests watch.
//!
//! [`Policy::shingle`]: model::Policy::shingle

mod bands;
mod disjoint_sets;
mod family;
mod fingerprint;
mod independent;
mod normalise;
mod rank;
mod rarity;
mod shingle;
mod similarity;
mod sketch;
#[cfg(test)]
mod tests;
mod token_places;

pub use bands::{BandHash, band_keys, bands, bands_into, block_keys};
pub use disjoint_sets::DisjointSets;
pub use family::{FamilyIndex, FamilyQuery};
pub use fingerprint::{Fingerprint, Fingerprinter};
pub use independent::{IndependentSet, MemberDecision};
pub use model::{
    ComparedPart, DecisionOptions, DedupMode, DedupScope, KeepOrder, Match, MatchKind, Normaliser,
    Policy, PolicySettings, Profile, ProfileName, SIGNATURE_VERSION, Signature, Standing,
    StandingsDigest,
};
pub(crate) use normalise::is_decimal;
pub use normalise::words;
pub use rank::{Rank, Ranker};
pub use similarity::{Overlap, RemovedText, estimate_floor, reaches, shared, shared_at_least};
pub use sketch::Sketch;
pub(crate) use token_places::TokenHashes;
pub use token_places::TokenPlaces;
