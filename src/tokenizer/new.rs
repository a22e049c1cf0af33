//! What a tokenizer is registered with.

/// A tokenizer to be registered.
#[derive(Clone, Copy, Debug, Default)]
pub struct TokenizerRegistration<'a> {
    /// The name under which it is registered.
    pub name: &'a str,
    /// The bytes of its `tokenizer.json`.
    pub json: &'a [u8],
    /// Where it came from, in words.
    pub lineage: &'a str,
    /// The files it was made of, by name, where they were not this `tokenizer.json`.
    pub originals: &'a [(String, Vec<u8>)],
    /// How it was trained or extended, as JSON.
    pub decisions: Option<&'a [u8]>,
    /// The registered tokenizer that it extends: documents without a new token take over its ids.
    pub base: Option<&'a str>,
}
