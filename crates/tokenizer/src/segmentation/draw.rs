//! Draws of segmentations: of a Unigram by probability, of a BPE with merges passed over.

use super::unigram::{UNIGRAM, UnigramModel, require_alpha};
use crate::encode::{TokenPiece, Tokenizer, WordDraws, library_of, token_pieces};
use crate::engine::ReferenceEncoder;
use crate::engine::segment_model::{LibraryBpe, SegmentModel};
use crate::error::TokenizerError;
use crate::models::piece_lattice::{DrawStream, PieceChoice, PieceLattice, independent_parts};
use crate::models::{MergeScratch, PlacedIds};
use crate::sentencepiece::{SegmentAlgorithm, SentencePiece};
use model::{Error, ErrorKind, Hint};
use serde::{Deserialize, Serialize};
use std::fmt;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Which segmentation of a text an encoder gives. A draw depends on the seed and the text alone: its random numbers are
/// the SplitMix64 stream of the text's XXH3 under the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "cli", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Segmentation {
    /// The one that is stored.
    #[default]
    #[serde(skip)]
    Best,
    /// One of a Unigram, drawn with probability proportional to P^`alpha`: all alike at 0, only the best ones where it
    /// is large. (Kudo 2018; SentencePiece's sampling of the whole lattice.)
    Sample {
        /// From 0.
        alpha: f64,
        /// Of the draw.
        seed: u64,
    },
    /// One of a BPE, where each merge is passed over with this probability. (BPE-dropout, Provilkov et al. 2020.) Of a
    /// `tokenizer.json`, merges that were passed over are tried again behind each merge of the word that is made, as
    /// the article has it; of a `.model` they are not, as SentencePiece has it.
    Dropout {
        /// From 0, the best segmentation, to 1, no merges at all.
        probability: f64,
        /// Of the draw.
        seed: u64,
    },
}

impl Segmentation {
    /// The segmentations of one of several passes over the same texts, each of which draws its own: the seed is the XXH3
    /// of the pass (u32, little-endian) under the seed here.
    #[must_use]
    pub fn of_pass(self, pass: u32) -> Self {
        let seed_of = |seed| xxh3_64_with_seed(&pass.to_le_bytes(), seed);
        match self {
            Self::Best => Self::Best,
            Self::Sample { alpha, seed } => Self::Sample { alpha, seed: seed_of(seed) },
            Self::Dropout { probability, seed } => {
                Self::Dropout { probability, seed: seed_of(seed) }
            }
        }
    }

    /// Those of a pass under which `word` names them: `kind-number-seed-pass`.
    #[must_use]
    pub fn of_pass_named(word: &str) -> Option<Self> {
        let mut parts = word.split('-');
        let (kind, number) = (parts.next()?, parts.next()?.parse().ok()?);
        let (seed, pass) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let all = match kind {
            "sample" => Self::Sample { alpha: number, seed },
            "dropout" => Self::Dropout { probability: number, seed },
            _ => return None,
        };
        (parts.next().is_none() && all.pass_name(pass) == word).then(|| all.of_pass(pass))
    }

    /// The word that names the segmentations of a pass.
    #[must_use]
    pub fn pass_name(&self, pass: u32) -> String {
        format!("{self}-{pass}")
    }

    /// The segmentation that options ask for: `alpha` or `dropout`, with a seed.
    ///
    /// # Errors
    /// [`TokenizerError`] for one without the other, and for both.
    pub fn of_options(
        seed: Option<u64>,
        alpha: Option<f64>,
        dropout: Option<f64>,
    ) -> Result<Self, TokenizerError> {
        match (seed, alpha, dropout) {
            (None, None, None) => Ok(Self::Best),
            (Some(seed), Some(alpha), None) => Ok(Self::Sample { alpha, seed }),
            (Some(seed), None, Some(probability)) => Ok(Self::Dropout { probability, seed }),
            (_, Some(_), Some(_)) => Err(Error::bad_input(
                "`alpha=` draws a segmentation of a Unigram, `dropout=` of a BPE: give one of them",
            )
            .into()),
            (None, ..) => Err(Error::bad_input(
                "`alpha=` and `dropout=` draw a segmentation: give `segmentation_seed=` as well",
            )
            .into()),
            (Some(_), None, None) => Err(Error::bad_input(
                "`segmentation_seed=` is of a draw: give `alpha=` (of a Unigram) or `dropout=` (of a BPE) as well",
            )
            .into()),
        }
    }
}

impl fmt::Display for Segmentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Best => f.write_str("best"),
            Self::Sample { alpha, seed } => write!(f, "sample-{alpha}-{seed}"),
            Self::Dropout { probability, seed } => write!(f, "dropout-{probability}-{seed}"),
        }
    }
}

impl Tokenizer {
    /// Appends the ids of one segmentation of a text. With `specials`, special tokens spelled in the text are special
    /// tokens.
    ///
    /// # Errors
    /// [`TokenizerError`] for a model that has no such segmentations, numbers out of range, and a text that cannot be
    /// encoded; `out` is then as it was.
    pub fn encode_segmentation(
        &self,
        text: &str,
        specials: bool,
        segmentation: Segmentation,
        out: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        let start = out.len();
        let drawn = self.draw(text, specials, segmentation, |id, _| out.push(id));
        match drawn.inspect_err(|_| out.truncate(start))? {
            true => Ok(()),
            false => self.encode_best(text, specials, out),
        }
    }

    /// The tokens of one segmentation of a text, each with its text.
    ///
    /// # Errors
    /// As [`Tokenizer::encode_segmentation`].
    pub fn segmentation_pieces(
        &self,
        text: &str,
        specials: bool,
        segmentation: Segmentation,
    ) -> Result<Vec<TokenPiece>, TokenizerError> {
        match segmentation {
            Segmentation::Best => Ok(token_pieces(self, text, specials)?.0),
            Segmentation::Sample { .. } => {
                let mut pieces = Vec::new();
                self.draw(text, specials, segmentation, |id, text| {
                    pieces.push(TokenPiece { id, text: text.to_owned() });
                })?;
                Ok(pieces)
            }
            Segmentation::Dropout { .. } => {
                let mut ids = Vec::new();
                self.encode_segmentation(text, specials, segmentation, &mut ids)?;
                let piece = |id| Ok(TokenPiece { id, text: self.decode(&[id])? });
                ids.into_iter().map(piece).collect()
            }
        }
    }

    /// A tokenizer of the same file that gives every text this segmentation in place of the best one. What it cannot do
    /// is the error of each text.
    #[must_use]
    pub fn with_segmentation(&self, segmentation: Segmentation) -> Self {
        self.with_draws(Box::new(move |tokenizer, text| {
            let drawer = tokenizer.drawer(text, segmentation)?;
            Ok(drawer.map(|mut drawer| -> WordDraws<'_> {
                Box::new(move |word: &str| drawer.word(word))
            }))
        }))
    }

    fn encode_best(
        &self,
        text: &str,
        specials: bool,
        out: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        if !specials {
            return self.encoder().encode(text, out);
        }
        out.append(&mut self.encode_with_offsets(text, true)?.0);
        Ok(())
    }

    /// Calls `each` with the tokens of a draw and their texts; of tokens that share a character, the first has it. Whether
    /// there is one: the best segmentation is not drawn.
    fn draw(
        &self,
        text: &str,
        specials: bool,
        segmentation: Segmentation,
        mut each: impl FnMut(u32, &str),
    ) -> Result<bool, TokenizerError> {
        let Some(mut drawer) = self.drawer(text, segmentation)? else { return Ok(false) };
        for (word, added) in self.words(text, specials)?.iter() {
            if let Some(id) = added {
                each(id, word);
                continue;
            }
            let mut last = 0..0;
            for (id, place) in drawer.word(word)? {
                let text = if place == last { None } else { word.get(place.clone()) };
                each(id, text.unwrap_or_default());
                last = place;
            }
        }
        Ok(true)
    }

    /// What draws the words of a text; none for the best segmentation.
    fn drawer(
        &self,
        text: &str,
        segmentation: Segmentation,
    ) -> Result<Option<WordDrawer<'_>>, TokenizerError> {
        let (by, seed) = match segmentation {
            Segmentation::Best => return Ok(None),
            Segmentation::Sample { alpha, seed } => {
                require_alpha(alpha)?;
                let model = self.unigram("draws by `alpha=`")?;
                let (lattice, choices) = Default::default();
                (WordDraw::Unigram { model, alpha, lattice, choices }, seed)
            }
            Segmentation::Dropout { probability, seed } => {
                if !(0.0..=1.0).contains(&probability) {
                    return Err(Error::bad_input(format!(
                        "`dropout=` is {probability}; it must be a number from 0 to 1"
                    ))
                    .into());
                }
                let draw = self.merges_dropped(probability)?;
                if let WordDraw::Bpe { .. } = draw
                    && probability == 0.0
                {
                    return Ok(None);
                }
                (draw, seed)
            }
        };
        let draws = DrawStream::new(xxh3_64_with_seed(text.as_bytes(), seed));
        Ok(Some(WordDrawer { draws, by }))
    }

    fn merges_dropped(&self, probability: f64) -> Result<WordDraw<'_>, TokenizerError> {
        let kind = match &*self.reference {
            ReferenceEncoder::Library(library) => {
                match library_of(library, &self.json)?.segments()? {
                    SegmentModel::Bpe(bpe) => {
                        let scratch = MergeScratch::default();
                        return Ok(WordDraw::Bpe { bpe, probability, scratch });
                    }
                    SegmentModel::Unigram(_) => UNIGRAM,
                    SegmentModel::Single(kind) => kind.name(),
                }
            }
            ReferenceEncoder::SentencePiece(model) => match model.segmenter().algorithm {
                SegmentAlgorithm::Bpe => {
                    return Ok(WordDraw::SentencePieceBpe { model, probability });
                }
                other => other.name(),
            },
        };
        let message = format!("`dropout=` needs a BPE, and this tokenizer is a {kind}");
        let hint = match kind {
            UNIGRAM => "draw segmentations of a Unigram with `alpha=`",
            _ => "use a BPE: `model=bpe` when one is trained",
        };
        Err(Error::of(ErrorKind::BadTokenizer, message).with_hint(Hint::text(hint)).into())
    }
}

/// Draws segmentations of the words of a text, one after the other.
struct WordDrawer<'t> {
    draws: DrawStream,
    by: WordDraw<'t>,
}

enum WordDraw<'t> {
    Unigram {
        model: UnigramModel<'t>,
        alpha: f64,
        lattice: PieceLattice,
        choices: Vec<PieceChoice>,
    },
    Bpe {
        bpe: &'t LibraryBpe,
        probability: f64,
        scratch: MergeScratch,
    },
    SentencePieceBpe {
        model: &'t SentencePiece,
        probability: f64,
    },
}

impl WordDrawer<'_> {
    /// The tokens of the next word, each with its bytes of it; tokens of one character have all of it.
    fn word(&mut self, word: &str) -> Result<PlacedIds, TokenizerError> {
        let Self { draws, by } = self;
        match by {
            WordDraw::Unigram { model, alpha, lattice, choices } => {
                model.refuse_unknown(word)?;
                choices.clear();
                model.around_symbols(word, |text, symbol| {
                    if let Some(piece) = symbol {
                        let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                        return choices.push(PieceChoice { piece, length });
                    }
                    independent_parts(text, model, |part| {
                        lattice.fill(part, model);
                        lattice.draw(*alpha, draws, choices);
                    });
                });
                let (mut tokens, mut last) = (PlacedIds::new(), 0..0);
                model.give_out(word, choices, &mut |id, text: &str| {
                    if !text.is_empty() {
                        last = last.end..last.end + text.len();
                    }
                    tokens.push((id, last.clone()));
                });
                Ok(tokens)
            }
            WordDraw::Bpe { bpe, probability, scratch } => {
                bpe.encode_dropout(word, scratch, || draws.next_share() < *probability)
            }
            WordDraw::SentencePieceBpe { model, probability } => {
                Ok(model.encode_dropout(word, || draws.next_share() < *probability))
            }
        }
    }
}
