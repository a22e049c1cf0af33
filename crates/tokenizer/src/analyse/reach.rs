//! Finds the ids that text can be encoded to, and why the others cannot be reached.

use super::subject::{AnalysedTokenizer, VocabularyToken};
use crate::engine::segment_model::model_ids;
use crate::error::TokenizerError;
use model::invariant::part;
use serde::Serialize;
use std::collections::BTreeMap;
use tokenizers::Model;
use tokenizers::models::ModelWrapper;

/// Examples listed of each class.
const LISTED: usize = 12;
/// What is put before the text of a token that is not its own encoding.
const CONTEXTS: [&str; 8] = ["", "a", "A", "1", ".", " ", "\n", "é"];

/// Whether text can be encoded to an id. The first that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReachClass {
    /// The id's own text is encoded to the id.
    Alone,
    /// The sample or a tried context gives it, its own text does not.
    InContext,
    /// Part of a character, which its merges give: reached within characters.
    PartOfCharacter,
    /// Added beside the model: plain text is never encoded to it.
    Added,
    /// Its bytes are part of no UTF-8 text.
    NotUtf8,
    /// The model splits its text differently: no sequence of merges leads to it, or another segmentation is likelier.
    NotByModel,
    /// The model would give it, but the steps before the model change or split its text.
    NotBeforeModel,
}

/// Ids of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ReachRow {
    /// How text reaches these ids, or why it does not.
    pub class: ReachClass,
    /// Whether text reaches these ids.
    pub reached: bool,
    /// How many ids.
    pub ids: u64,
    /// The first of them, as the vocabulary spells them.
    pub examples: Vec<(u32, String)>,
}

/// The classes of all ids, in their order. `uses` is how often the sample gave each.
pub(super) fn reach(
    subject: &AnalysedTokenizer<'_>,
    uses: &[u64],
) -> Result<Vec<ReachRow>, TokenizerError> {
    let mut rows = BTreeMap::<ReachClass, (u64, Vec<(u32, String)>)>::new();
    let mut encoder = subject.tokenizer.encoder();
    let mut ids = Vec::new();
    for (id, token) in subject.iter() {
        let mut encode = |text: &str| {
            ids.clear();
            encoder.encode(text, &mut ids).map(|()| ids.clone())
        };
        let is_used = subject.uses_of(uses, id) > 0;
        let class = class_of(subject, id, token, is_used, &mut encode)?;
        let row = rows.entry(class).or_default();
        row.0 += 1;
        if row.1.len() < LISTED {
            row.1.push((id, token.spelled.clone()));
        }
    }
    let row = |(class, (ids, examples))| ReachRow {
        class,
        reached: class <= ReachClass::PartOfCharacter,
        ids,
        examples,
    };
    Ok(rows.into_iter().map(row).collect())
}

fn class_of(
    subject: &AnalysedTokenizer<'_>,
    id: u32,
    token: &VocabularyToken,
    is_used: bool,
    encode: &mut impl FnMut(&str) -> Result<Vec<u32>, TokenizerError>,
) -> Result<ReachClass, TokenizerError> {
    if token.is_added() {
        return Ok(ReachClass::Added);
    }
    let Some(text) = token.text().filter(|text| !text.is_empty()) else {
        return Ok(if is_used {
            ReachClass::PartOfCharacter
        } else if !is_within_utf8(&token.surface) {
            ReachClass::NotUtf8
        } else if is_given_by_model(subject, id, token)? {
            ReachClass::PartOfCharacter
        } else {
            ReachClass::NotByModel
        });
    };
    let decoded = subject.tokenizer.decode(&[id])?;
    if encode(&decoded)? == [id] {
        return Ok(ReachClass::Alone);
    }
    if is_used {
        return Ok(ReachClass::InContext);
    }
    if !is_given_by_model(subject, id, token)? {
        return Ok(ReachClass::NotByModel);
    }
    for context in CONTEXTS {
        if encode(&format!("{context}{text}"))?.last() == Some(&id) {
            return Ok(ReachClass::InContext);
        }
    }
    Ok(ReachClass::NotBeforeModel)
}

/// Whether the model alone, given the token as one word, answers the token. For BPE that is exact
/// in any context: merges inside a token do not depend on its neighbours unless they reach over its
/// border, and then the token is not given. What a word begins with is not known of WordPiece's
/// continuations; the contexts tell.
fn is_given_by_model(
    subject: &AnalysedTokenizer<'_>,
    id: u32,
    token: &VocabularyToken,
) -> Result<bool, TokenizerError> {
    if let ModelWrapper::WordPiece(_) | ModelWrapper::WordLevel(_) = &subject.model {
        return Ok(true);
    }
    if token.origin == super::subject::VocabularyOrigin::Byte {
        // A byte token is taken where no token has the character.
        return Ok(token.text().is_none_or(|text| subject.model.token_to_id(text).is_none()));
    }
    Ok(model_ids(&subject.model, &token.spelled)? == [id])
}

/// Whether the bytes can stand in UTF-8 text: up to three that continue a character, whole characters, and the
/// beginning of one.
pub(super) fn is_within_utf8(bytes: &[u8]) -> bool {
    let goes_on = |byte: &u8| (0x80..0xc0).contains(byte);
    let rest_at = bytes.iter().take_while(|byte| goes_on(byte)).count();
    let rest = part(bytes, rest_at..);
    let is_text = match std::str::from_utf8(rest) {
        Ok(_) => true,
        // No length: the text ends within a character.
        Err(error) => error.error_len().is_none(),
    };
    rest_at <= 3 && is_text
}
