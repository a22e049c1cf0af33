//! What a text tells about its quality: the scores of published filters, its language, and personal data in it.
//!
//! Use it to name what is stored with documents ([`Signal`], [`SignalSet`]), or to score a text without any corpus
//! ([`scores`]), as datatrove scores it for Gopher, C4 and FineWeb.

#[doc(inline)]
pub use text::signals::{ScoreValue, Signal, SignalRule, SignalSet, scores};
