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
//!    what is rare among them (`rarity`).
//!
//! [`Fingerprinter`] runs stages 1 to 3 with one set of buffers. Everything here is integer
//! arithmetic on fixed constants, so a fingerprint is the same on every machine; what changes it must
//! raise [`SIGNATURE_VERSION`]. That includes the Unicode version of
//! the segmentation, normalisation and case tables, which the known answers in the tests watch.
//!
//! [`Policy::shingle`]: model::Policy::shingle

#[doc(inline)]
pub use text::dedup::{
    BandHash, ComparedPart, DecisionOptions, DedupMode, DedupScope, FamilyIndex, FamilyQuery,
    Fingerprint, Fingerprinter, KeepOrder, Match, MatchKind, Normaliser, Overlap, Policy,
    PolicyError, PolicySettings, Profile, ProfileName, Rank, SIGNATURE_VERSION, Signature, Sketch,
    Standing, StandingsDigest, band_keys, bands, bands_into, block_keys, estimate_floor, reaches,
    shared, shared_at_least, words,
};
