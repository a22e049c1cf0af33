//! Deduplication: the policy that says which texts are duplicates, and their fingerprints as pure functions.
//!
//! Use it to say how a corpus removes duplicates ([`Policy`]), to read what became of a document ([`Standing`],
//! [`Match`]), or to compare texts without any corpus ([`Fingerprinter`], [`shared`]). Nothing here knows a store or
//! does I/O.
//!
//! ```
//! use corpusdb::Policy;
//! use corpusdb::dedup::{Fingerprinter, Profile, shared};
//!
//! let mut craft = Fingerprinter::new(&Policy::of(Profile::Web));
//! let mut shingles = |text: &str| craft.shingles(text);
//! let page = shingles("One two three, four five six: seven eight nine ten.");
//! let copy = shingles("one two three four five six seven eight nine TEN eleven");
//! // Of the runs of five words six are in the first, seven in the second, and six in both.
//! assert_eq!((page.len(), copy.len(), shared(&page, &copy)), (6, 7, 6));
//! ```

#[doc(inline)]
pub use text::dedup::{
    BandHash, ComparedPart, DecisionOptions, DedupMode, DedupScope, FamilyIndex, FamilyQuery,
    Fingerprint, Fingerprinter, KeepOrder, Match, MatchKind, Normaliser, Overlap, Policy,
    PolicySettings, Profile, ProfileName, Rank, SIGNATURE_VERSION, Signature, Sketch, Standing,
    StandingsDigest, band_keys, bands, bands_into, block_keys, estimate_floor, reaches, shared,
    shared_at_least, words,
};
