//! What other segmentations than the best need of the model of a `tokenizer.json`: the pieces of a Unigram with their
//! scores, the merges of a BPE.

use crate::error::{ENCODING, TokenizerError, guard};
use crate::file::ModelType;
use crate::file::write::byte_token;
use crate::models::lattice::{ScoredPiece, UnigramSegmenter};
use crate::models::piece_lattice::UnigramPieces;
use crate::models::{MergeScratch, MergeTable, PlacedIds};
use model::invariant::at;
use serde_json::Value;
use std::ops::Range;
use tokenizers::models::ModelWrapper;
use tokenizers::models::unigram::Unigram;
use tokenizers::{Model as _, Token};

/// A model, by whether it has several segmentations of a word.
pub(crate) enum SegmentModel {
    Unigram(Box<LibraryUnigram>),
    Bpe(Box<LibraryBpe>),
    /// One that has not, and its kind.
    Single(ModelType),
}

impl SegmentModel {
    /// `unknown`: the id that a Unigram has for what it does not know.
    pub(super) fn of(model: &ModelWrapper, unknown: Option<u32>) -> Result<Self, TokenizerError> {
        Ok(match model {
            ModelWrapper::Unigram(unigram) => {
                Self::Unigram(Box::new(LibraryUnigram::of(unigram, unknown)))
            }
            ModelWrapper::BPE(_) => Self::Bpe(Box::new(LibraryBpe::of(model)?)),
            ModelWrapper::WordPiece(_) => Self::Single(ModelType::WordPiece),
            ModelWrapper::WordLevel(_) => Self::Single(ModelType::WordLevel),
        })
    }
}

/// A Unigram.
pub(crate) struct LibraryUnigram {
    segmenter: UnigramSegmenter,
    unknown: Option<u32>,
    falls_back: bool,
}

impl LibraryUnigram {
    fn of(model: &Unigram, unknown: Option<u32>) -> Self {
        let pieces: Vec<ScoredPiece> = model.iter().cloned().collect();
        let segmenter = UnigramSegmenter::of(&pieces, 0);
        Self { segmenter, unknown, falls_back: model.byte_fallback() }
    }

    /// Appends the ids of a run of unknown characters: that of the piece which they are together, of their bytes, or of
    /// the unknown token.
    pub(crate) fn unknown_ids(&self, run: &str, ids: &mut Vec<u32>) {
        let id = |piece: &str| self.segmenter.piece(piece);
        let bytes = || run.bytes().map(|byte| id(&byte_token(byte))).collect::<Option<Vec<u32>>>();
        match (id(run), self.falls_back.then(bytes).flatten()) {
            (Some(id), _) => ids.push(id),
            (None, Some(bytes)) => ids.extend(bytes),
            (None, None) => ids.extend(self.unknown),
        }
    }
}

impl UnigramPieces for LibraryUnigram {
    fn pieces_at(&self, rest: &str, each: impl FnMut(usize, u32, f64)) {
        self.segmenter.pieces_at(rest, each);
    }

    fn unknown_score(&self) -> Option<f64> {
        self.segmenter.unknown_score().filter(|_| self.unknown.is_some())
    }
}

/// A BPE.
pub(crate) struct LibraryBpe {
    merges: MergeTable,
    /// The model without merges: it gives the symbols that merging begins with.
    unmerged: ModelWrapper,
}

impl LibraryBpe {
    fn of(model: &ModelWrapper) -> Result<Self, TokenizerError> {
        let (merges, unmerged) = bpe_merges(model)?;
        Ok(Self { merges: MergeTable::new(merges), unmerged })
    }

    /// The ids of a word where merges are dropped as `is_dropped` says, each with its bytes.
    pub(crate) fn encode_dropout(
        &self,
        word: &str,
        scratch: &mut MergeScratch,
        is_dropped: impl FnMut() -> bool,
    ) -> Result<PlacedIds, TokenizerError> {
        let first = model_tokens(&self.unmerged, word)?;
        let mut symbols: Vec<u32> = first.iter().map(|token| token.id).collect();
        self.merges.apply_dropout(&mut symbols, scratch, is_dropped);
        let bytes = |of: Range<usize>| {
            let (start, end) = (at(&first, of.start).offsets.0, at(&first, of.end - 1).offsets.1);
            start..end
        };
        Ok(symbols.into_iter().zip(scratch.made_of().map(bytes)).collect())
    }
}

/// Merges (left, right, id), best first.
type RankedMerges = Vec<(u32, u32, u32)>;

/// The merges of a BPE, and the model without them: it gives the symbols that merging begins with. The model's own
/// serialisation is the one way to its merges.
pub(crate) fn bpe_merges(
    model: &ModelWrapper,
) -> Result<(RankedMerges, ModelWrapper), TokenizerError> {
    let unreadable = |error: serde_json::Error| TokenizerError::Load(error.into());
    let mut value = serde_json::to_value(model).map_err(unreadable)?;
    let merges = value.get_mut("merges").map(Value::take).unwrap_or_default();
    if let Value::Object(model) = &mut value {
        model.insert("merges".to_owned(), Value::Array(Vec::new()));
        // A word of the vocabulary would be taken whole.
        model.insert("ignore_merges".to_owned(), Value::Bool(false));
    }
    let unmerged: ModelWrapper = serde_json::from_value(value).map_err(unreadable)?;
    let pairs: Vec<(String, String)> = serde_json::from_value(merges).map_err(unreadable)?;
    let prefix = match model {
        ModelWrapper::BPE(bpe) => bpe.continuing_subword_prefix.as_deref().unwrap_or_default(),
        _ => "",
    };
    let ranked = pairs.iter().filter_map(|(left, right)| {
        let rest = right.strip_prefix(prefix).unwrap_or(right);
        let made = model.token_to_id(&format!("{left}{rest}"))?;
        Some((model.token_to_id(left)?, model.token_to_id(right)?, made))
    });
    Ok((ranked.collect(), unmerged))
}

/// The ids that a model gives for one pre-token.
pub(crate) fn model_ids(model: &ModelWrapper, pretoken: &str) -> Result<Vec<u32>, TokenizerError> {
    Ok(model_tokens(model, pretoken)?.into_iter().map(|token| token.id).collect())
}

fn model_tokens(model: &ModelWrapper, pretoken: &str) -> Result<Vec<Token>, TokenizerError> {
    guard(ENCODING, || model.tokenize(pretoken))?
        .map_err(|source| TokenizerError::Encode { bytes: pretoken.len(), source })
}
