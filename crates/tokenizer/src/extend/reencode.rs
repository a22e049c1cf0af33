//! Tells from the ids that the base tokenizer gave a text whether an extension encodes it otherwise.

use super::base;
use super::base::{ExtensionBase, no_word_level};
use super::bpe::ExtendableBpe;
use crate::error::{ExtendError, TokenizerError};
use crate::file::ModelType;
use crate::models::MergeTable;
use aho_corasick::AhoCorasick;
use model::invariant::part;
use serde_json::Value;
use std::collections::{HashMap, HashSet};

/// Tells whether a text of given ids may get others from an extension of their tokenizer. Never
/// wrong where it says no; where it says yes the ids are mostly, not always, different.
///
/// *BPE.* New merges rank after all old ones, so an encoder first makes of each pre-token what the base makes of it,
/// and then the first new merge to apply, if any, joins two ids that the base gave and that stand side by side. A text
/// is affected if any two adjacent ids are such a pair. (The two may belong to different pre-tokens, and then nothing
/// changes.) A new character is recognised by the bytes or the unknown id that the base gave for it.
///
/// *WordPiece.* The longest prefix of a word is taken, so a word changes only if it begins with a new
/// entry that is longer than its first token. Words are read off the ids. An unknown word is
/// affected unless every character that some entry has, has an entry of its own where it stands: then
/// a word is unknown for a character that no entry has, and stays so.
///
/// *Unigram.* A text changes only if a new piece stands in it. Texts are read off the ids; one
/// with unknown tokens is affected if a new piece has a character that the base has not by itself.
///
/// *Added tokens.* They are searched for in the text as it is, before anything is done to it; so must the text be:
/// [`ReencodeFilter::is_text_affected`].
pub struct ReencodeFilter {
    rule: ReencodeRule,
    /// New added tokens, if any.
    matched: Option<AhoCorasick>,
}

/// Buffers of [`ReencodeFilter::is_affected`], to be used again.
#[derive(Default)]
pub struct ReencodeScratch {
    surface: String,
}

enum ReencodeRule {
    Runs(MergePairs),
    Words(WordPrefixes),
    Surface(PieceMatches),
}

impl ReencodeFilter {
    /// Compares the bytes of two `tokenizer.json`; the second extends the first.
    ///
    /// # Errors
    /// [`ExtendError::NoExtension`] when an old entry differs or stands elsewhere, or anything but
    /// vocabulary and merges differs; [`TokenizerError::Load`].
    pub fn between(base: &[u8], extended: &[u8]) -> Result<Self, TokenizerError> {
        let (base, extended) = (ExtensionBase::load(base)?, ExtensionBase::load(extended)?);
        let mut new = new_tokens(&base, &extended)?;
        let mut matched: Vec<String> = extended
            .added
            .keys()
            .filter(|token| !base.added.contains_key(*token))
            .cloned()
            .collect();
        matched.sort_unstable();
        new.retain(|(_, token)| matched.binary_search(token).is_err());
        let finder = || AhoCorasick::new(&matched);
        let matched = (!matched.is_empty()).then(finder).transpose();
        let matched = matched.map_err(|error| ExtendError::NoExtension(error.to_string()))?;
        let rule = match base.kind {
            ModelType::Bpe => ReencodeRule::Runs(MergePairs::new(&base, &extended, &new)?),
            ModelType::WordPiece => ReencodeRule::Words(WordPrefixes::new(&base, &new)?),
            ModelType::Unigram => ReencodeRule::Surface(PieceMatches::new(&base, &extended, &new)?),
            ModelType::WordLevel => return Err(no_word_level().into()),
        };
        Ok(Self { rule, matched })
    }

    /// Whether ids alone do not tell: the text must be asked too.
    #[must_use]
    pub const fn needs_text(&self) -> bool {
        self.matched.is_some()
    }

    /// Whether a new added token stands in a text.
    #[must_use]
    pub fn is_text_affected(&self, text: &str) -> bool {
        self.matched.as_ref().is_some_and(|finder| finder.is_match(text))
    }

    /// Whether a text to which the base gave these ids must be encoded again.
    #[must_use]
    pub fn is_affected(&self, ids: &[u32], scratch: &mut ReencodeScratch) -> bool {
        match &self.rule {
            ReencodeRule::Runs(rule) => rule.is_affected(ids),
            ReencodeRule::Words(rule) => rule.is_affected(ids, &mut scratch.surface),
            ReencodeRule::Surface(rule) => rule.is_affected(ids, &mut scratch.surface),
        }
    }
}

/// Tokens that only the extension has, by id; an error if it changes anything of the base.
fn new_tokens(
    base: &ExtensionBase,
    extended: &ExtensionBase,
) -> Result<Vec<(u32, String)>, ExtendError> {
    let fail = |what: String| Err(ExtendError::NoExtension(what));
    if base.kind != extended.kind {
        return fail(format!("its model is {}, not {}", extended.kind.name(), base.kind.name()));
    }
    let without = |file: &Value| {
        let mut file = file.clone();
        for part in ["vocab", "merges"] {
            if let Some(part) = file.pointer_mut(&format!("/model/{part}")) {
                *part = Value::Null;
            }
        }
        file
    };
    let (mut before, mut after) = (without(base.file.json()), without(extended.file.json()));
    // Added tokens may have come behind the old ones, if they are not special and are found unchanged.
    let added =
        |file: &mut Value| file.get_mut("added_tokens").map(Value::take).unwrap_or_default();
    let (old, new) = (added(&mut before), added(&mut after));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (old, new) = (list(&old), list(&new));
    let is_plain = |token: &Value| {
        let id = token.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        let content = token.get("content").and_then(Value::as_str).unwrap_or_default();
        id.is_some_and(|id| *token == base::added_token_entry(content, id))
    };
    let rest = new.strip_prefix(old.as_slice());
    if !rest.is_some_and(|rest| rest.iter().all(is_plain)) || before != after {
        return fail("its settings differ".to_owned());
    }
    let old = base.all_tokens();
    let mut new = extended.all_tokens();
    for (token, id) in &old {
        if new.remove(token) != Some(*id) {
            return fail(format!("token `{token}` has another id"));
        }
    }
    let mut new: Vec<(u32, String)> = new.into_iter().map(|(token, id)| (id, token)).collect();
    new.sort_unstable();
    if let Some((id, token)) = new.first().filter(|(id, _)| *id < base.next_id) {
        return fail(format!("token `{token}` has id {id}, among the old ones"));
    }
    if base.kind == ModelType::Bpe {
        let (old, new) = (base.merges()?, extended.merges()?);
        if !new.starts_with(&old) {
            return fail("its merges do not begin with the old ones".to_owned());
        }
    }
    Ok(new)
}

/// A set of ids: bits for those that are usual, a list of larger ones, which would take memory for all between.
struct IdBits {
    bits: Vec<u64>,
    larger: HashSet<u32>,
}

impl IdBits {
    /// More ids than any published vocabulary has.
    const USUAL: u32 = 1 << 22;

    fn of(ids: impl Iterator<Item = u32>) -> Self {
        let (mut bits, mut larger): (Vec<u64>, HashSet<u32>) = Default::default();
        for id in ids {
            if id >= Self::USUAL {
                larger.insert(id);
                continue;
            }
            let at = (id / 64) as usize;
            if bits.len() <= at {
                bits.resize(at + 1, 0);
            }
            if let Some(word) = bits.get_mut(at) {
                *word |= 1 << (id % 64);
            }
        }
        Self { bits, larger }
    }

    fn has(&self, id: u32) -> bool {
        if id < Self::USUAL {
            self.bits.get((id / 64) as usize).is_some_and(|word| word >> (id % 64) & 1 == 1)
        } else {
            self.larger.contains(&id)
        }
    }
}

/// BPE: runs of old ids at which something new begins.
struct MergePairs {
    /// First ids of all runs.
    first: IdBits,
    /// Pairs that a new merge joins.
    pairs: MergeTable,
    /// Runs of other lengths, by their first id.
    others: HashMap<u32, Vec<Vec<u32>>>,
}

impl MergePairs {
    fn new(
        base: &ExtensionBase,
        extended: &ExtensionBase,
        new: &[(u32, String)],
    ) -> Result<Self, ExtendError> {
        let old = base.merges()?.len();
        let model = ExtendableBpe::of(extended)?;
        let mut merged: HashSet<&str> = HashSet::new();
        let mut pairs = Vec::new();
        let all = extended.merges()?;
        for (left, right) in all.iter().skip(old) {
            if let Some((left, right, id)) = model.merge_of(left, right) {
                merged.insert(model.token(id));
                if left < base.next_id && right < base.next_id {
                    pairs.push((left, right, id));
                }
            }
        }
        let before = ExtendableBpe::of(base)?;
        let mut others: HashMap<u32, Vec<Vec<u32>>> = HashMap::new();
        for (_, token) in new.iter().filter(|(_, token)| !merged.contains(token.as_str())) {
            let is_character = token.chars().count() == 1;
            let mut run = Vec::new();
            before.symbols(token, &mut run);
            match run.first() {
                Some(first) if is_character => others.entry(*first).or_default().push(run),
                _ => {
                    let what = format!("no merge makes its token `{token}`");
                    return Err(ExtendError::NoExtension(what));
                }
            }
        }
        let first = pairs.iter().map(|(left, _, _)| *left).chain(others.keys().copied());
        Ok(Self { first: IdBits::of(first), pairs: MergeTable::new(pairs.iter().copied()), others })
    }

    fn is_affected(&self, ids: &[u32]) -> bool {
        ids.iter().enumerate().any(|(at, id)| self.first.has(*id) && self.begins(ids, at, *id))
    }

    fn begins(&self, ids: &[u32], at: usize, id: u32) -> bool {
        let rest = part(ids, at..);
        rest.get(1).is_some_and(|next| self.pairs.get(id, *next).is_some())
            || self.others.get(&id).is_some_and(|runs| runs.iter().any(|run| rest.starts_with(run)))
    }
}

/// WordPiece: words that begin with a new entry.
struct WordPrefixes {
    prefix: String,
    tokens: HashMap<u32, String>,
    /// The unknown id, if words that have it may become known.
    unknown: Option<u32>,
    /// First tokens of the words searched for.
    first: IdBits,
    /// What follows them in a new entry.
    rests: HashMap<u32, Vec<String>>,
}

impl WordPrefixes {
    fn new(base: &ExtensionBase, new: &[(u32, String)]) -> Result<Self, TokenizerError> {
        let prefix = base.model().get("continuing_subword_prefix").and_then(Value::as_str);
        let prefix = prefix.unwrap_or("##").to_owned();
        // Added tokens such as `[CLS]` are entries too, but no word is one where it is split.
        let mut split: HashSet<&str> = HashSet::new();
        for token in base.added.keys() {
            if base.words(token)?.is_none_or(|words| words.len() > 1) {
                split.insert(token);
            }
        }
        let all = base.vocabulary.keys().chain(new.iter().map(|(_, entry)| entry));
        let all = all.filter(|entry| !split.contains(entry.as_str()));
        let unknown = base
            .named_id("unk_token")
            .filter(|_| !stands_by_itself(&base.vocabulary, all, &prefix));
        let mut rests: HashMap<u32, Vec<String>> = HashMap::new();
        for (_, entry) in new {
            for (at, _) in entry.char_indices().skip(1) {
                let (first, rest) = entry.split_at(at);
                if let Some(id) = base.vocabulary.get(first) {
                    rests.entry(*id).or_default().push(rest.to_owned());
                }
            }
        }
        Ok(Self {
            prefix,
            tokens: by_id(base),
            unknown,
            first: IdBits::of(rests.keys().copied().chain(unknown)),
            rests,
        })
    }

    fn is_affected(&self, ids: &[u32], word: &mut String) -> bool {
        ids.iter().enumerate().any(|(at, id)| {
            self.first.has(*id)
                && (Some(*id) == self.unknown || self.begins(ids.get(at + 1..), *id, word))
        })
    }

    /// Whether the tokens after the first of a word spell on to a new entry.
    fn begins(&self, after: Option<&[u32]>, first: u32, word: &mut String) -> bool {
        word.clear();
        for id in after.unwrap_or_default() {
            let token = self.tokens.get(id).map_or("", String::as_str);
            let Some(rest) = token.strip_prefix(&self.prefix) else { break };
            word.push_str(rest);
        }
        let rests = self.rests.get(&first).map_or(&[][..], Vec::as_slice);
        rests.iter().any(|rest| word.starts_with(rest.as_str()))
    }
}

/// Whether every character of every entry, first or continued, is an entry by itself.
fn stands_by_itself<'e>(
    vocabulary: &HashMap<String, u32>,
    mut entries: impl Iterator<Item = &'e String>,
    prefix: &str,
) -> bool {
    entries.all(|entry| {
        let continued = entry.strip_prefix(prefix);
        let is_continued = continued.is_some();
        let mut characters = continued.unwrap_or(entry).chars();
        let first = if is_continued { None } else { characters.next() };
        first.is_none_or(|first| vocabulary.contains_key(&first.to_string()))
            && characters.all(|next| vocabulary.contains_key(&format!("{prefix}{next}")))
    })
}

/// Unigram: texts with a new piece in them.
struct PieceMatches {
    tokens: HashMap<u32, String>,
    /// The unknown id, and those of bytes: no piece says what they stood for.
    opaque: HashSet<u32>,
    finder: AhoCorasick,
    /// Whether a piece may begin or end within what an opaque id stands for.
    is_opaque_affected: bool,
}

impl PieceMatches {
    fn new(
        base: &ExtensionBase,
        extended: &ExtensionBase,
        new: &[(u32, String)],
    ) -> Result<Self, ExtendError> {
        let (old, all) = (base.pieces()?, extended.pieces()?);
        if !all.starts_with(&old) {
            let what = "its pieces do not begin with the old ones".to_owned();
            return Err(ExtendError::NoExtension(what));
        }
        let least = |pieces: &[(&str, f64)]| {
            pieces.iter().map(|(_, score)| *score).fold(f64::INFINITY, f64::min)
        };
        if least(&all) < least(&old) {
            let what = "a new score is below all old ones, which moves unknown characters";
            return Err(ExtendError::NoExtension(what.to_owned()));
        }
        let unknown = base.model().get("unk_id").and_then(Value::as_u64);
        let bytes = (0..=u8::MAX).map(super::bpe::byte_token);
        let mut opaque: HashSet<u32> =
            bytes.filter_map(|token| base.vocabulary.get(&token).copied()).collect();
        opaque.extend(unknown.and_then(|id| u32::try_from(id).ok()));
        let mut characters = new.iter().flat_map(|(_, piece)| piece.chars());
        let is_opaque_affected =
            characters.any(|character| !base.vocabulary.contains_key(&character.to_string()));
        let finder = AhoCorasick::new(new.iter().map(|(_, piece)| piece))
            .map_err(|error| ExtendError::NoExtension(error.to_string()))?;
        Ok(Self { tokens: by_id(base), opaque, finder, is_opaque_affected })
    }

    fn is_affected(&self, ids: &[u32], surface: &mut String) -> bool {
        surface.clear();
        for id in ids {
            if self.opaque.contains(id) {
                if self.is_opaque_affected || self.finder.is_match(&*surface) {
                    return true;
                }
                surface.clear();
            } else if let Some(token) = self.tokens.get(id) {
                surface.push_str(token);
            }
        }
        self.finder.is_match(&*surface)
    }
}

fn by_id(base: &ExtensionBase) -> HashMap<u32, String> {
    base.all_tokens().into_iter().map(|(token, id)| (id, token)).collect()
}
