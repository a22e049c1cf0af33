//! Finding the similar ones among many sets that are much alike, without comparing with all of them.
//!
//! Documents of one template share most of their shingles, so that buckets of sketches hold them all and
//! an estimate tells few of them apart. What tells them apart is what is rare among them. [`Family`] is
//! an exact join by prefix filter over such sets, as published for all pairs by Bayardo et al. (2007) and Xiao
//! et al. (2008), with both prefixes cut for each pair of sizes:
//!
//! 1. `order`: shingles as keys that sort the rarest first, by shares in a sample;
//! 2. `postings`: which sets have a key in their first ones;
//! 3. `common`: what many of them have, as bits that tell at once how much of it two share;
//! 4. `family`: the sets, and those of them whose overlap with another may reach the threshold.
//!
//! The answer holds every set that reaches it, whatever the order: that decides only what it costs.

mod common;
mod family;
mod order;
mod postings;
#[cfg(test)]
mod tests;

pub use family::{Family, Sought};
