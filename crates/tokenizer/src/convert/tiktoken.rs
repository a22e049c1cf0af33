//! Converts a tiktoken rank file and its split pattern to a byte-level BPE.
//!
//! tiktoken joins the pair whose joined bytes have the lowest rank. So each way to cut a token into two
//! tokens is a merge, best rank first, and a whole pre-token that is a token is taken as it is.

use crate::TokenizerError;
use crate::file::pattern::NAMED_PATTERNS;
use crate::file::write::{BpeSettings, FileParts, added_token, bpe, byte_level, sequence, split};
use crate::vocabulary::byte_characters;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use model::invariant::text_part;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, HashMap, HashSet};

/// `pattern`: a published name or a regular expression.
pub(crate) fn to_json(
    ranks: &[u8],
    pattern: &str,
    specials: &[(String, u32)],
) -> Result<Vec<u8>, TokenizerError> {
    let by_rank = parse(ranks)?;
    let pattern = regex(pattern)?;
    let alphabet = byte_characters();
    let spell = |bytes: &[u8]| -> String {
        bytes.iter().filter_map(|byte| alphabet.get(usize::from(*byte))).collect()
    };
    check_specials(&by_rank, specials)?;
    let mut vocab: Map<String, Value> =
        by_rank.iter().map(|(rank, token)| (spell(token), Value::from(*rank))).collect();
    let mut specials: Vec<&(String, u32)> = specials.iter().collect();
    specials.sort_by_key(|(_, id)| *id);
    let follows = (0u32..).zip(by_rank.keys().copied().chain(specials.iter().map(|(_, id)| *id)));
    if !follows.into_iter().all(|(counted, id)| counted == id) {
        // The reference implementation counts the ids of added tokens on from the vocabulary: where
        // ids are left out, only a place in the vocabulary keeps them.
        vocab.extend(specials.iter().map(|(token, id)| (token.clone(), Value::from(*id))));
    }
    let settings = BpeSettings { ignore_merges: true, ..BpeSettings::default() };
    let cut = split(json!({ "Regex": pattern }), "Isolated");
    let parts = FileParts {
        added_tokens: specials.iter().map(|(token, id)| added_token(*id, token, true)).collect(),
        normalizer: Value::Null,
        pre_tokenizer: sequence("pretokenizers", vec![cut, byte_level(false)]),
        decoder: byte_level(true),
        model: bpe(vocab, merges(&by_rank, spell).into(), &settings),
    };
    parts.into_json()
}

/// The regular expression of a published name, or the one given. Those that tiktoken itself writes
/// are put as the oracle's engine reads them.
fn regex(pattern: &str) -> Result<&str, TokenizerError> {
    const GPT2_OF_TIKTOKEN: &str =
        r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s";
    const CL100K_OF_TIKTOKEN: &str = r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s";
    let named = |name: &str| {
        NAMED_PATTERNS.iter().find(|(known, _)| *known == name).map(|(_, regex)| *regex)
    };
    let name = match pattern {
        GPT2_OF_TIKTOKEN => "gpt2",
        CL100K_OF_TIKTOKEN => "cl100k",
        other => other,
    };
    let regex = named(name).unwrap_or(pattern);
    let fail = |what: &str| {
        let names = NAMED_PATTERNS.map(|(name, _)| name).join(", ");
        let way_out = format!("give a regular expression, or one of {names}");
        Err(TokenizerError::Tiktoken(format!("the split pattern {what}; {way_out}")))
    };
    if regex.is_empty() {
        return fail("is not in the file and must be given with it");
    }
    if regex.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte)) {
        return fail("has a name that is not known");
    }
    if has_possessive_count(regex) {
        return fail(
            "has a `+` after `{1,3}` or similar, which the reference encoder reads as a repetition; leave it out",
        );
    }
    Ok(regex)
}

/// Whether a counted repetition such as `{1,3}` is followed by a plus.
fn has_possessive_count(regex: &str) -> bool {
    regex.match_indices("}+").any(|(end, _)| {
        let before = text_part(regex, ..end);
        let counts = before.rfind('{').and_then(|start| before.get(start + 1..));
        counts.is_some_and(|counts| {
            !counts.is_empty() && counts.bytes().all(|byte| byte.is_ascii_digit() || byte == b',')
        })
    })
}

/// Tokens by rank.
fn parse(ranks: &[u8]) -> Result<BTreeMap<u32, Vec<u8>>, TokenizerError> {
    let mut by_rank = BTreeMap::new();
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
    for (at, line) in ranks.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let fail = |what: String| TokenizerError::Ranks { line: at + 1, what };
        let mut fields = line.split(|byte| *byte == b' ');
        let (Some(token), Some(rank), None) = (fields.next(), fields.next(), fields.next()) else {
            return Err(fail("not a token in base64, one space and a rank".to_owned()));
        };
        let token = BASE64_STANDARD
            .decode(token)
            .map_err(|error| fail(format!("the token is not base64: {error}")))?;
        let rank = std::str::from_utf8(rank)
            .ok()
            .and_then(|rank| rank.parse().ok())
            .ok_or_else(|| fail("the rank is not a number of 32 bits".to_owned()))?;
        if let Some(first) = seen.insert(token.clone(), at + 1) {
            return Err(fail(format!("the token was given in line {first} already")));
        }
        if by_rank.insert(rank, token).is_some() {
            return Err(fail(format!("the rank {rank} was given before")));
        }
    }
    if by_rank.is_empty() {
        return Err(TokenizerError::Tiktoken("no token in the file".to_owned()));
    }
    // Without its 256 bytes the encoder would drop what it cannot spell.
    for byte in 0..=u8::MAX {
        if !seen.contains_key([byte].as_slice()) {
            let what = format!("no token for the byte 0x{byte:02X}; the file is not whole");
            return Err(TokenizerError::Tiktoken(what));
        }
    }
    Ok(by_rank)
}

fn check_specials(
    by_rank: &BTreeMap<u32, Vec<u8>>,
    specials: &[(String, u32)],
) -> Result<(), TokenizerError> {
    let (mut ids, mut spellings) = (HashSet::new(), HashSet::new());
    for (token, id) in specials {
        let fail = |what: &str| {
            Err(TokenizerError::Tiktoken(format!("the special token `{token}` {what}")))
        };
        if token.is_empty() {
            return fail("is empty");
        }
        if by_rank.contains_key(id) {
            return fail(&format!("has the id {id}, which is a rank of the file"));
        }
        if !ids.insert(*id) {
            return fail(&format!("has the id {id}, which another special token has"));
        }
        if !spellings.insert(token) {
            return fail("is given twice");
        }
    }
    Ok(())
}

/// Every way to make a token of two, by the token's rank, then by those of its halves.
fn merges(by_rank: &BTreeMap<u32, Vec<u8>>, spell: impl Fn(&[u8]) -> String) -> Vec<Value> {
    let ranks: HashMap<&[u8], u32> =
        by_rank.iter().map(|(rank, token)| (token.as_slice(), *rank)).collect();
    let mut merges = Vec::new();
    for token in by_rank.values() {
        let mut halves: Vec<(u32, u32, &[u8], &[u8])> = (1..token.len())
            .filter_map(|at| {
                let (left, right) = token.split_at_checked(at)?;
                Some((*ranks.get(left)?, *ranks.get(right)?, left, right))
            })
            .collect();
        halves.sort_unstable();
        let pairs =
            halves.into_iter().map(|(_, _, left, right)| json!([spell(left), spell(right)]));
        merges.extend(pairs);
    }
    merges
}
