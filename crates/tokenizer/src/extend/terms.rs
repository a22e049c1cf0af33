//! Extends a tokenizer by terms, so that each becomes a single token in the forms that texts have it in.

use super::apply::{prove_extension, write_extension};
use super::base::{ExtensionBase, FileAdditions, no_word_level};
use super::bpe::{ExtendableBpe, JoinState, MOST, NewToken, cheapest_pair};
use super::embedding_map::{EmbeddingMap, EmbeddingRow, TokenOrigin, equal_weights};
use super::other_models::{AddedTerms, PieceScores, refuse_wordpiece};
use super::report::{FormReport, TermOutcome, TermReport};
use crate::error::{ExtendError, TokenizerError};
use crate::file::ModelType;
use crate::models::PairOutcome;
use model::invariant::part;
use std::collections::BTreeMap;

/// How terms are added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::Args))]
pub struct TermOptions {
    /// Where a term is one token: after a space, elsewhere, or both.
    #[cfg_attr(feature = "cli", arg(long, value_enum, default_value_t))]
    pub forms: TermForms,
    /// Whether a term that the pre-tokenizer splits (COVID-19 in GPT-2) becomes an added token.
    ///
    /// Added tokens are found in a text before all other steps, also inside words. Without this option such a term is
    /// refused.
    #[cfg_attr(feature = "cli", arg(long))]
    pub added_tokens: bool,
}

/// An extended tokenizer.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TokenizerExtension {
    /// The bytes of its `tokenizer.json`: the base's, with vocabulary and merges appended.
    pub json: Vec<u8>,
    /// The new ids, and the old ones that stand for each.
    pub map: EmbeddingMap,
    /// New merges, those that make a token of the base included; 0 where the model does not merge.
    pub merges: u64,
    /// What became of each term, in the order given.
    pub terms: Vec<TermReport>,
}

impl TokenizerExtension {
    /// Whether the extended tokenizer is the base: merges change what it gives also without a new id.
    #[must_use]
    pub fn adds_nothing(&self) -> bool {
        self.map.rows.is_empty() && self.merges == 0
    }
}

/// Extends the bytes of a `tokenizer.json` so that each term is one token, which the model itself gives for it. Old ids
/// stay; new ones follow the largest. What cannot be is reported and the others continue. Shorter terms come first, so
/// that longer ones can stand on them.
///
/// * BPE: merges are appended that join the base's pieces of the term, by the tree that needs the
///   fewest tokens on the way. They apply inside other words too, as merges do. Characters that the
///   base has only as bytes become tokens first.
/// * WordPiece: the word enters the vocabulary; words that begin with it change as well.
/// * Unigram: the piece enters with a score that makes it the best way to spell itself.
///
/// A term that the pre-tokenizer splits can become an added token ([`TermOptions::added_tokens`]).
///
/// The result is proven before it is answered: all old ids, each term, and hostile texts.
///
/// # Errors
/// [`TokenizerError::Load`]; [`ExtendError`] when the file is of an unusual kind or a proof fails.
pub fn extend_by_terms(
    base: &[u8],
    terms: &[String],
    options: TermOptions,
) -> Result<TokenizerExtension, TokenizerError> {
    let loaded = ExtensionBase::load(base)?;
    let mut reports: BTreeMap<usize, TermReport> = BTreeMap::new();
    let mut order: Vec<(usize, &String)> = terms.iter().enumerate().collect();
    order.sort_by_key(|(_, term)| term.chars().count());
    let mut model = TermModel::of(&loaded)?;
    let (mut words, mut matched) = (Vec::new(), AddedTerms::default());
    for (at, term) in order {
        let mut forms = Vec::new();
        for spelled in spellings(&loaded, term, options.forms)? {
            let (form, outcome) = match spelled {
                Ok(word) => {
                    let outcome = model.add(&loaded, &word)?;
                    if let TermOutcome::Added { id, .. } | TermOutcome::Existed { id } = outcome {
                        words.push((word.clone(), id));
                    }
                    (word, outcome)
                }
                Err(no) if no.is_split && options.added_tokens => {
                    matched.request(&no.text, at, forms.len());
                    (no.text, TermOutcome::Refused { reason: no.reason })
                }
                Err(no) => (no.text, TermOutcome::Refused { reason: no.reason }),
            };
            forms.push(FormReport { form, outcome });
        }
        reports.insert(at, TermReport { term: term.clone(), forms });
    }
    let (mut additions, mut made) = model.additions();
    let first = u32::try_from(made.len()).ok().and_then(|made| loaded.next_id.checked_add(made));
    let matched = matched.resolve(&loaded, first.ok_or(ExtendError::Full)?, &mut reports)?;
    let named = |made: &NewToken| (made.token.clone(), made.id);
    additions.matched = matched.iter().map(named).collect();
    made.extend(matched);
    let terms = reports.into_values().collect();
    finish_extension(&loaded, base, &additions, &made, &words, terms)
}

/// Writes, proves and maps.
pub(super) fn finish_extension(
    base: &ExtensionBase,
    base_json: &[u8],
    additions: &FileAdditions,
    made: &[NewToken],
    words: &[(String, u32)],
    terms: Vec<TermReport>,
) -> Result<TokenizerExtension, TokenizerError> {
    let json = if made.is_empty() && additions.merges.is_empty() {
        base_json.to_vec()
    } else {
        write_extension(base, base_json, additions)?
    };
    let proven = prove_extension(base, base_json, &json, words, &additions.matched)?;
    let rows: Result<Vec<EmbeddingRow>, TokenizerError> = made
        .iter()
        .map(|made| {
            Ok(EmbeddingRow {
                id: made.id,
                token: made.token.clone(),
                text: proven.decode(&[made.id])?,
                origin: made.origin,
                parents: made.parents,
                old_ids: made.pieces.clone(),
                weights: equal_weights(made.pieces.len()),
                count: made.count,
            })
        })
        .collect();
    let map = EmbeddingMap {
        base: blake3::hash(base_json).to_hex().to_string(),
        extended: blake3::hash(&json).to_hex().to_string(),
        base_vocab_size: base.next_id,
        rows: rows?,
    };
    Ok(TokenizerExtension { json, map, merges: additions.merges.len() as u64, terms })
}

/// The model while terms enter it.
enum TermModel {
    Bpe(Box<ExtendableBpe>),
    WordPiece(NewEntries),
    Unigram(NewEntries, PieceScores),
}

/// New entries of a listing model.
#[derive(Default)]
struct NewEntries {
    made: Vec<NewToken>,
    scores: Vec<f64>,
}

impl TermModel {
    fn of(base: &ExtensionBase) -> Result<Self, ExtendError> {
        Ok(match base.kind {
            ModelType::Bpe => Self::Bpe(Box::new(ExtendableBpe::of(base)?)),
            ModelType::WordPiece => Self::WordPiece(NewEntries::default()),
            ModelType::Unigram => Self::Unigram(NewEntries::default(), PieceScores::of(base)?),
            ModelType::WordLevel => return Err(no_word_level()),
        })
    }

    fn add(&mut self, base: &ExtensionBase, word: &str) -> Result<TermOutcome, TokenizerError> {
        if base.added.contains_key(word) {
            let reason = "an added token is spelled so, which text must not become".to_owned();
            return Ok(TermOutcome::Refused { reason });
        }
        match self {
            Self::Bpe(bpe) => Ok(add_merged(bpe, base, word)?),
            Self::WordPiece(listed) => {
                if let Some(reason) = refuse_wordpiece(base, word) {
                    return Ok(TermOutcome::Refused { reason });
                }
                listed.add(base, word, |_| 0.0)
            }
            Self::Unigram(listed, scores) => listed.add(base, word, |word| scores.add(word)),
        }
    }

    fn additions(self) -> (FileAdditions, Vec<NewToken>) {
        match self {
            Self::Bpe(bpe) => bpe.additions(),
            Self::WordPiece(listed) | Self::Unigram(listed, _) => {
                let tokens = listed.made.iter().map(|made| (made.token.clone(), made.id)).collect();
                let additions =
                    FileAdditions { tokens, scores: listed.scores, ..Default::default() };
                (additions, listed.made)
            }
        }
    }
}

impl NewEntries {
    fn add(
        &mut self,
        base: &ExtensionBase,
        word: &str,
        mut score: impl FnMut(&str) -> f64,
    ) -> Result<TermOutcome, TokenizerError> {
        let pieces = base.encode_word(word)?;
        if let Some(id) = base.vocabulary.get(word) {
            let reason = "the base has it as a token, which its model does not give for it";
            let refused = TermOutcome::Refused { reason: reason.to_owned() };
            return Ok(if pieces == [*id] { TermOutcome::Existed { id: *id } } else { refused });
        }
        if let Some(made) = self.made.iter().find(|made| made.token == word) {
            return Ok(TermOutcome::Existed { id: made.id });
        }
        let before = u32::try_from(self.made.len()).map_err(|_| ExtendError::Full)?;
        let id = base.next_id.checked_add(before).ok_or(ExtendError::Full)?;
        self.scores.push(score(word));
        let (token, origin) = (word.to_owned(), TokenOrigin::Term);
        self.made.push(NewToken { id, token, parents: None, pieces, count: None, origin });
        Ok(TermOutcome::Added { id, intermediates: 0 })
    }
}

/// Joins the pieces of a word until they are one.
fn add_merged(
    bpe: &mut ExtendableBpe,
    base: &ExtensionBase,
    word: &str,
) -> Result<TermOutcome, TokenizerError> {
    if let [id] = base.encode_word(word)?.as_slice()
        && !bpe.is_opaque(*id)
    {
        return Ok(TermOutcome::Existed { id: *id });
    }
    let before = bpe.made.len();
    if let Some(reason) = bpe.add_characters(word)? {
        return Ok(TermOutcome::Refused { reason });
    }
    let mut ids = Vec::new();
    bpe.encode_word(word, &mut ids);
    if ids.len() > MOST {
        let reason = format!("the base makes {} tokens of it; {MOST} are the most", ids.len());
        return Ok(TermOutcome::Refused { reason });
    }
    while ids.len() > 1 {
        let standing = |start: usize, end: usize| match bpe.standing_of_all(part(&ids, start..end))
        {
            PairOutcome::Existing(_) => JoinState::Exists,
            PairOutcome::New => JoinState::Missing,
            PairOutcome::Never => JoinState::Forbidden,
        };
        let pair = cheapest_pair(ids.len(), standing).and_then(|at| ids.get(at..at + 2));
        let Some(&[left, right]) = pair else {
            let reason = "every way to it leads over an added token or a byte".to_owned();
            return Ok(TermOutcome::Refused { reason });
        };
        let id = match bpe.pair_outcome(left, right) {
            PairOutcome::Existing(id) => id,
            PairOutcome::New | PairOutcome::Never => {
                let is_whole = ids.len() == 2;
                let origin = if is_whole { TokenOrigin::Term } else { TokenOrigin::Intermediate };
                bpe.add_token(left, right, origin)?
            }
        };
        bpe.add_merge(left, right, id);
        bpe.encode_word(word, &mut ids);
    }
    let Some(id) = ids.first().copied() else {
        return Ok(TermOutcome::Refused { reason: "the base has no tokens for it".to_owned() });
    };
    if bpe.is_new(id) && bpe.made.len() > before {
        let made = bpe.made.len() - before;
        let intermediates = u32::try_from(made).map_err(|_| ExtendError::Full)?.saturating_sub(1);
        bpe.mark_as_term(id);
        return Ok(TermOutcome::Added { id, intermediates });
    }
    bpe.mark_as_term(id);
    Ok(TermOutcome::Existed { id })
}

/// Where a term is to be one token. Where a model spells both alike, they are one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "cli", derive(clap::ValueEnum))]
pub enum TermForms {
    /// Behind a space and elsewhere: two tokens in most models; a marker, as `<|im_end|>` or `[SEP]`, elsewhere alone.
    #[default]
    Both,
    /// Only after a space.
    AfterSpace,
    /// Only without a space before it, such as at the start of a line.
    Bare,
}

/// A form of a term as the model spells it, or why it is not one word of it.
pub(super) type TermForm = Result<String, TermRejection>;

/// A form that the model never sees as one word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TermRejection {
    /// As text.
    pub(super) text: String,
    pub(super) reason: String,
    /// Whether the pre-tokenizer splits it.
    pub(super) is_split: bool,
}

impl TermRejection {
    fn new(text: &str, reason: &str) -> Self {
        Self { text: text.to_owned(), reason: reason.to_owned(), is_split: false }
    }
}

/// The asked forms of a term, each once.
pub(super) fn spellings(
    base: &ExtensionBase,
    term: &str,
    forms: TermForms,
) -> Result<Vec<TermForm>, TokenizerError> {
    if term.is_empty() {
        return Ok(vec![Err(TermRejection::new("", "it is empty"))]);
    }
    if base.added.contains_key(term) {
        let reason = "it is an added token, which text must not become";
        return Ok(vec![Err(TermRejection::new(term, reason))]);
    }
    let (mut found, spaced): (Vec<TermForm>, _) = (Vec::new(), format!(" {term}"));
    // A template writes its markers without a space: with one they would be a second end of a turn.
    let is_spaced = match forms {
        TermForms::Both => !is_marker(term),
        TermForms::AfterSpace => true,
        TermForms::Bare => false,
    };
    let asked = [(forms != TermForms::AfterSpace, "a\n", term), (is_spaced, "a", spaced.as_str())];
    for (_, before, text) in asked.into_iter().filter(|(is_asked, _, _)| *is_asked) {
        let spelled = word_behind(base, before, text)?;
        if !found.contains(&spelled) {
            found.push(spelled);
        }
    }
    Ok(found)
}

/// Whether a term sets something apart, and is no word: it stands in angle or square brackets.
fn is_marker(term: &str) -> bool {
    [('<', '>'), ('[', ']')]
        .iter()
        .any(|(open, close)| term.len() > 2 && term.starts_with(*open) && term.ends_with(*close))
}

/// The one word that the model sees of `text` when it stands behind `before`.
fn word_behind(base: &ExtensionBase, before: &str, text: &str) -> Result<TermForm, TokenizerError> {
    let whole = format!("{before}{text}");
    let (Some(context), Some(words)) = (base.words(before)?, base.words(&whole)?) else {
        return Ok(Err(TermRejection::new(text, "it contains an added token")));
    };
    if let Some(word) = remainder(&context, &words) {
        return Ok(Ok(word));
    }
    // Behind what was tried it does not stand alone; by itself it may.
    let alone = base.words(text)?.unwrap_or_default();
    if let [word] = alone.as_slice() {
        return Ok(Ok(word.clone()));
    }
    let pieces: Vec<String> = alone.iter().map(|word| format!("`{word}`")).collect();
    let reason = format!(
        "the pre-tokenizer splits it into {}, and tokens of the model cannot cross such a border; it can become an added token",
        pieces.join(" ")
    );
    Ok(Err(TermRejection { text: text.to_owned(), reason, is_split: true }))
}

/// What follows `context` in `words`, if it is one word or the rest of one.
fn remainder(context: &[String], words: &[String]) -> Option<String> {
    if let Some([word]) = words.strip_prefix(context) {
        return Some(word.clone());
    }
    let ((last, context), (whole, words)) = (context.split_last()?, words.split_last()?);
    let rest = whole.strip_prefix(last.as_str()).filter(|rest| !rest.is_empty())?;
    (context == words).then(|| rest.to_owned())
}
