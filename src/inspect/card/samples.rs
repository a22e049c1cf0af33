//! The part of a report that lets readers see documents: some of them, drawn by a seed, each with its beginning.

use crate::corpus::Corpora;
use crate::inspect::{self, DocumentDetails};
use model::Error;
use roaring::RoaringTreemap;
use serde::Serialize;

/// Characters of a text that are shown.
const CHARACTERS: usize = 500;

/// The beginning of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct SampledDocument {
    /// Its key.
    pub key: String,
    /// Its source.
    pub source: String,
    /// Its language, when known.
    pub language: Option<String>,
    /// UTF-8 bytes of its text.
    pub bytes: u64,
    /// The first 500 characters of its text.
    pub text: String,
}

/// `most` of these documents, uniform without replacement: those that `corpusdb sample` draws of them with this seed.
pub(super) fn samples(
    corpora: &Corpora,
    documents: &RoaringTreemap,
    (most, seed): (usize, u64),
) -> Result<Vec<SampledDocument>, Error> {
    let drawn = inspect::draw(documents, most as u64, seed).into_iter();
    let shown = drawn.map(|document| {
        let (view, inside) = corpora.find(document)?;
        let DocumentDetails { key, source, language, bytes, text, .. } =
            inspect::show(view, inside)?;
        let text = text.chars().take(CHARACTERS).collect();
        Ok(SampledDocument { key, source, language, bytes, text })
    });
    shown.collect()
}
