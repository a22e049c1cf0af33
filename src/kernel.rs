//! The decisions of a corpus as pure functions, for engines that spread documents over many machines.
//!
//! Use it where documents are more than one machine holds: each step is a function of what it is given, keeps nothing,
//! and runs wherever its rows are. What it answers is what an ingest of the same documents would have decided, because
//! texts, ranks and overlaps are made by the same code.
//!
//! 1. [`TextPrinter`] makes of each text what is compared of it: hashes, sketch, buckets, and the [`Rank`] by which the
//!    keep order places it.
//! 2. Documents that share a bucket are candidates. [`near_in_bucket`] finds, of a crowded bucket, those whose sketches
//!    are close enough; others are compared one by one. [`similar_in_bucket`] looks at the texts of a bucket at once,
//!    where very many of them are close and few similar.
//! 3. [`TextComparer`] compares the texts of candidates, which alone decides.
//! 4. [`components`] tells which documents are connected, so that they can be brought together.
//! 5. [`decide`] says what stays, and what explains each removal.
//!
//! ```
//! use corpusdb::kernel::{Edge, GraphMember, TextComparer, TextPrinter, decide};
//! use corpusdb::{DocId, Policy, dedup::{Profile, Standing}};
//!
//! let policy = Policy::of(Profile::Web);
//! let texts = ["one two three four five six seven eight", "One two three four five six seven eight nine"];
//! let mut printer = TextPrinter::new(&policy);
//! let members: Vec<GraphMember> = (0..).zip(texts).map(|(number, text)| {
//!     let print = printer.print(text, "web");
//!     let rank = printer.rank(&print, "web", None, DocId(number));
//!     GraphMember { rank, text: print.text, raw: print.raw, tokens: print.tokens, shingles: print.shingles, is_open: false }
//! }).collect();
//! let overlap = TextComparer::new(&policy).of(texts[0], texts[1]);
//! let edges = [Edge { left: members[0].rank, right: members[1].rank, overlap }];
//! let outcomes = decide(&members, &edges, &policy);
//! // Four runs of five words of four and five: exactly the threshold.
//! assert_eq!(outcomes[1].standing, Some(Standing::Near));
//! ```

#[doc(inline)]
pub use text::kernel::{
    BucketMember, Edge, GraphDecision, GraphMember, Overlap, Rank, TextComparer, TextPrint,
    TextPrinter, Witness, components, decide, near_in_bucket, similar_in_bucket, sortable_float,
};
