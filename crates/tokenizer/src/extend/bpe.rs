//! A BPE model that takes new merges, and the fewest of them that join a text to one token.

use super::base::{ExtensionBase, FileAdditions, unusual_file};
use super::embedding_map::TokenOrigin;
use crate::error::ExtendError;
use crate::models::{MergeScratch, MergeTable, PairOutcome};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, HashSet};

/// A token that was added.
#[derive(Clone, Debug)]
pub(super) struct NewToken {
    pub(super) id: u32,
    pub(super) token: String,
    /// The two it is merged of; none of a character.
    pub(super) parents: Option<(u32, u32)>,
    /// Old ids that stand for it, in order.
    pub(super) pieces: Vec<u32>,
    /// Pairs in the counts that it was chosen for.
    pub(super) count: Option<u64>,
    pub(super) origin: TokenOrigin,
}

/// Vocabulary and merges of a BPE model, with what was added since.
pub(super) struct ExtendableBpe {
    ids: HashMap<String, u32>,
    tokens: HashMap<u32, String>,
    pub(super) table: MergeTable,
    settings: BpeSymbolRules,
    /// Ids that stand for no text of their own: single bytes of a byte fallback, the unknown token.
    opaque: HashSet<u32>,
    /// Spellings of added tokens, which no merge may make.
    forbidden: HashSet<String>,
    base_next: u32,
    /// One for each new id, ascending.
    pub(super) made: Vec<NewToken>,
    /// New merges (left, right, id), in order.
    pub(super) merges: Vec<(u32, u32, u32)>,
    scratch: MergeScratch,
}

/// What the reference implementation does before it merges.
struct BpeSymbolRules {
    prefix: String,
    suffix: String,
    unknown: Option<u32>,
    fuse_unknown: bool,
    byte_fallback: bool,
}

impl ExtendableBpe {
    pub(super) fn of(base: &ExtensionBase) -> Result<Self, ExtendError> {
        let model = base.model();
        let ids = base.vocabulary.clone();
        let flag = |name: &str| model.get(name).and_then(Value::as_bool).unwrap_or_default();
        let text = |name: &str| model.get(name).and_then(Value::as_str).unwrap_or_default();
        let settings = BpeSymbolRules {
            prefix: text("continuing_subword_prefix").to_owned(),
            suffix: text("end_of_word_suffix").to_owned(),
            unknown: base.named_id("unk_token"),
            fuse_unknown: flag("fuse_unk"),
            byte_fallback: flag("byte_fallback"),
        };
        let mut opaque: HashSet<u32> = settings.unknown.into_iter().collect();
        if settings.byte_fallback {
            let bytes = (0..=u8::MAX).map(byte_token);
            opaque.extend(bytes.filter_map(|token| ids.get(&token).copied()));
        }
        let tokens: HashMap<u32, String> =
            ids.iter().map(|(token, id)| (*id, token.clone())).collect();
        let mut table = MergeTable::default();
        for (left, right) in base.merges()? {
            let whole = join(left, right, &settings.prefix);
            let id = |token: &str| {
                let fail =
                    || unusual_file("merges", format!("name `{token}`, which is not a token"));
                ids.get(token).copied().ok_or_else(fail)
            };
            table.push(id(left)?, id(right)?, id(&whole)?);
        }
        Ok(Self {
            ids,
            tokens,
            table,
            settings,
            opaque,
            forbidden: base.added.keys().cloned().collect(),
            base_next: base.next_id,
            made: Vec::new(),
            merges: Vec::new(),
            scratch: MergeScratch::default(),
        })
    }

    /// The id that the next new token takes.
    pub(super) fn next_id(&self) -> Result<u32, ExtendError> {
        let made = u32::try_from(self.made.len()).map_err(|_| ExtendError::Full)?;
        self.base_next.checked_add(made).ok_or(ExtendError::Full)
    }

    pub(super) fn is_new(&self, id: u32) -> bool {
        id >= self.base_next
    }

    /// Whether the id stands for no text of its own: a single byte, or the unknown token.
    pub(super) fn is_opaque(&self, id: u32) -> bool {
        self.opaque.contains(&id)
    }

    pub(super) fn token(&self, id: u32) -> &str {
        self.tokens.get(&id).map_or("", String::as_str)
    }

    /// The ids that the model gives for a word, with all merges so far.
    pub(super) fn encode_word(&mut self, word: &str, out: &mut Vec<u32>) {
        self.symbols(word, out);
        self.table.apply(out, &mut self.scratch, |_| ());
    }

    /// The ids of a word before any merge, as the reference implementation has them: characters,
    /// bytes of unknown ones, or the unknown token. (It puts an unknown token behind the bytes that
    /// follow it; so does this.)
    pub(super) fn symbols(&self, word: &str, out: &mut Vec<u32>) {
        out.clear();
        let settings = &self.settings;
        let mut unknown = None;
        let mut symbol = String::new();
        for (at, character) in word.char_indices() {
            symbol.clear();
            if at > 0 {
                symbol.push_str(&settings.prefix);
            }
            symbol.push(character);
            if at + character.len_utf8() == word.len() {
                symbol.push_str(&settings.suffix);
            }
            if let Some(id) = self.ids.get(&symbol) {
                out.extend(unknown.take());
                out.push(*id);
            } else if let Some(bytes) = self.fallback(&symbol) {
                out.extend(bytes);
            } else if let Some(id) = settings.unknown
                && let Some(before) = unknown.replace(id)
                && !settings.fuse_unknown
            {
                out.push(before);
            }
        }
        out.extend(unknown);
    }

    /// The ids of the bytes of a symbol, if the model falls back to bytes and has them all.
    fn fallback(&self, symbol: &str) -> Option<Vec<u32>> {
        let bytes = symbol.bytes().map(|byte| self.ids.get(&byte_token(byte)).copied());
        self.settings.byte_fallback.then(|| bytes.collect())?
    }

    /// The ids of a merge given by its tokens.
    pub(super) fn merge_of(&self, left: &str, right: &str) -> Option<(u32, u32, u32)> {
        let id = self.ids.get(&join(left, right, &self.settings.prefix));
        Some((*self.ids.get(left)?, *self.ids.get(right)?, *id?))
    }

    /// What the pair may become.
    pub(super) fn pair_outcome(&self, left: u32, right: u32) -> PairOutcome {
        let (Some(left_token), Some(right_token)) =
            (self.tokens.get(&left), self.tokens.get(&right))
        else {
            return PairOutcome::Never;
        };
        if self.is_opaque(left) || self.is_opaque(right) {
            return PairOutcome::Never;
        }
        self.standing_of(&join(left_token, right_token, &self.settings.prefix))
    }

    fn standing_of(&self, whole: &str) -> PairOutcome {
        if self.forbidden.contains(whole) {
            return PairOutcome::Never;
        }
        match self.ids.get(whole) {
            Some(id) if self.is_opaque(*id) => PairOutcome::Never,
            Some(id) => PairOutcome::Existing(*id),
            None => PairOutcome::New,
        }
    }

    /// What several ids joined may become.
    pub(super) fn standing_of_all(&self, ids: &[u32]) -> PairOutcome {
        if ids.iter().any(|id| self.is_opaque(*id)) {
            return PairOutcome::Never;
        }
        let mut whole = String::new();
        for id in ids {
            whole = join(
                &whole,
                self.token(*id),
                if whole.is_empty() { "" } else { &self.settings.prefix },
            );
        }
        self.standing_of(&whole)
    }

    /// Gives the pair a new id; the merge itself is added by [`ExtendableBpe::add_merge`] or by growth.
    pub(super) fn add_token(
        &mut self,
        left: u32,
        right: u32,
        origin: TokenOrigin,
    ) -> Result<u32, ExtendError> {
        let token = join(self.token(left), self.token(right), &self.settings.prefix);
        let pieces = [self.pieces(left), self.pieces(right)].concat();
        self.register(token, Some((left, right)), pieces, origin)
    }

    /// Adds a merge after all others.
    pub(super) fn add_merge(&mut self, left: u32, right: u32, id: u32) {
        self.table.push(left, right, id);
        self.merges.push((left, right, id));
    }

    /// Old ids that stand for `id`, itself if it is old.
    fn pieces(&self, id: u32) -> Vec<u32> {
        let made = id.checked_sub(self.base_next).and_then(|at| self.made.get(at as usize));
        made.map_or_else(|| vec![id], |made| made.pieces.clone())
    }

    /// Marks a new token as a term, though it was made on the way to another.
    pub(super) fn mark_as_term(&mut self, id: u32) {
        let made = id.checked_sub(self.base_next).and_then(|at| self.made.get_mut(at as usize));
        if let Some(made) = made.filter(|made| made.origin == TokenOrigin::Intermediate) {
            made.origin = TokenOrigin::Term;
        }
    }

    pub(super) fn set_count(&mut self, id: u32, count: u64) {
        let made = id.checked_sub(self.base_next).and_then(|at| self.made.get_mut(at as usize));
        if let Some(made) = made {
            made.count = Some(count);
        }
    }

    /// Whether a token is spelled alike wherever it stands in a word.
    pub(super) fn spells_plainly(&self) -> bool {
        self.settings.prefix.is_empty() && self.settings.suffix.is_empty()
    }

    /// All that was added.
    pub(super) fn additions(self) -> (FileAdditions, Vec<NewToken>) {
        let tokens = self.made.iter().map(|made| (made.token.clone(), made.id)).collect();
        let spelled = |id: &u32| self.token(*id).to_owned();
        let merges = self.merges.iter().map(|(left, right, _)| (spelled(left), spelled(right)));
        let additions = FileAdditions { tokens, merges: merges.collect(), ..Default::default() };
        (additions, self.made)
    }

    fn register(
        &mut self,
        token: String,
        parents: Option<(u32, u32)>,
        pieces: Vec<u32>,
        origin: TokenOrigin,
    ) -> Result<u32, ExtendError> {
        let id = self.next_id()?;
        self.ids.insert(token.clone(), id);
        self.tokens.insert(id, token.clone());
        self.made.push(NewToken { id, token, parents, pieces, count: None, origin });
        Ok(id)
    }

    /// Makes the characters of a word tokens where they are none yet, or says why it cannot.
    pub(super) fn add_characters(&mut self, word: &str) -> Result<Option<String>, ExtendError> {
        let settings = &self.settings;
        if !self.spells_plainly() {
            // With such affixes a character has up to four spellings, by its place in the word.
            let mut ids = Vec::new();
            self.symbols(word, &mut ids);
            let is_known =
                ids.len() == word.chars().count() && ids.iter().all(|id| !self.is_opaque(*id));
            let reason = "it has a character that the base does not know";
            return Ok((!is_known).then(|| reason.to_owned()));
        }
        let mut missing: BTreeMap<char, Vec<u32>> = BTreeMap::new();
        for character in word.chars() {
            let symbol = character.to_string();
            if self.ids.contains_key(&symbol) {
                continue;
            }
            let unknown = settings.unknown.map(|id| vec![id]);
            let Some(pieces) = self.fallback(&symbol).or(unknown) else {
                return Ok(Some(format!("the base drops the character `{character}`")));
            };
            if self.forbidden.contains(&symbol) {
                return Ok(Some(format!("`{character}` is an added token")));
            }
            missing.insert(character, pieces);
        }
        for (character, pieces) in missing {
            self.register(character.to_string(), None, pieces, TokenOrigin::Character)?;
        }
        Ok(None)
    }
}

/// The spelling of two tokens joined: a continuing one drops its prefix.
fn join(left: &str, right: &str, prefix: &str) -> String {
    [left, right.strip_prefix(prefix).unwrap_or(right)].concat()
}

/// The token of one byte in a vocabulary with byte fallback.
pub(super) fn byte_token(byte: u8) -> String {
    format!("<{byte:#04X}>")
}

/// Whether the token that joins some pieces is there, or may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JoinState {
    /// The token is there.
    Exists,
    /// The token would have to be made.
    Missing,
    /// The token must not be made.
    Forbidden,
}

/// More pieces than this are not planned for: the work is cubic.
pub(super) const MOST: usize = 64;

/// Costs above any real one.
const NEVER: u32 = u32::MAX / 4;

/// The first pair (left index) of a binary tree over `length` pieces that makes the fewest tokens
/// which are not there; among equals, the tree that joins the last piece last. None if every tree
/// makes a forbidden one. `standing(start, end)` tells of the pieces start..end joined, at least two.
pub(super) fn cheapest_pair(
    length: usize,
    mut standing: impl FnMut(usize, usize) -> JoinState,
) -> Option<usize> {
    if !(2..=MOST).contains(&length) {
        return None;
    }
    // best[start][end]: (cost, split) of making one token of start..end.
    let mut best = vec![vec![(0_u32, 0_usize); length + 1]; length];
    for size in 2..=length {
        for start in 0..=length - size {
            let end = start + size;
            let own = match standing(start, end) {
                JoinState::Exists => 0,
                JoinState::Missing => 1,
                JoinState::Forbidden => NEVER,
            };
            let cost = |from: usize, to: usize| -> u32 {
                best.get(from).and_then(|row| row.get(to)).map_or(NEVER, |(cost, _)| *cost)
            };
            let chosen = (start + 1..end)
                .rev()
                .map(|split| (cost(start, split) + cost(split, end), split))
                .min_by_key(|(cost, _)| *cost);
            let (cost, split) = chosen.unwrap_or((NEVER, start + 1));
            if let Some(slot) = best.get_mut(start).and_then(|row| row.get_mut(end)) {
                *slot = ((cost + own).min(NEVER), split);
            }
        }
    }
    // Down to a node over two pieces, the left one first.
    let (mut start, mut end) = (0, length);
    let node = |start: usize, end: usize| best.get(start).and_then(|row| row.get(end)).copied();
    node(start, end).filter(|(cost, _)| *cost < NEVER)?;
    while end - start > 2 {
        let (_, split) = node(start, end)?;
        if split - start > 1 {
            end = split;
        } else {
            start = split;
        }
    }
    Some(start)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Joins until one piece is left; answers the tokens made that were not there.
    fn made(pieces: &[&str], known: &[&str], forbidden: &[&str]) -> Option<Vec<String>> {
        let mut pieces: Vec<String> = pieces.iter().map(|piece| (*piece).to_owned()).collect();
        let mut made = Vec::new();
        while pieces.len() > 1 {
            let at = cheapest_pair(pieces.len(), |start, end| {
                let whole = pieces[start..end].concat();
                if forbidden.contains(&whole.as_str()) {
                    JoinState::Forbidden
                } else if known.contains(&whole.as_str()) || made.contains(&whole) {
                    JoinState::Exists
                } else {
                    JoinState::Missing
                }
            })?;
            let whole = pieces[at..at + 2].concat();
            if !known.contains(&whole.as_str()) && !made.contains(&whole) {
                made.push(whole.clone());
            }
            pieces.splice(at..at + 2, [whole]);
        }
        Some(made)
    }

    #[test]
    fn the_tree_with_the_fewest_new_tokens_is_chosen() {
        assert_eq!(made(&["a", "b"], &[], &[]).unwrap(), ["ab"]);
        assert_eq!(made(&["a", "b", "c", "d"], &[], &[]).unwrap(), ["ab", "abc", "abcd"]);
        assert_eq!(made(&["a", "b", "c", "d"], &["cd"], &[]).unwrap(), ["ab", "abcd"]);
        assert_eq!(made(&["a", "b", "c", "d"], &["bc", "bcd"], &[]).unwrap(), ["abcd"]);
        assert_eq!(made(&["a", "b", "c"], &[], &["ab"]).unwrap(), ["bc", "abc"]);
        assert_eq!(made(&["a", "b", "c"], &["ab"], &["abc"]), None);
    }
}
