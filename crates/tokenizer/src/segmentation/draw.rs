//! Draws of segmentations: of a Unigram by probability, of a BPE with merges passed over.

use super::unigram::{UNIGRAM, require_alpha};
use crate::encode::{TokenPiece, Tokenizer, library_of, token_pieces};
use crate::engine::ReferenceEncoder;
use crate::engine::segment_model::SegmentModel;
use crate::error::TokenizerError;
use crate::models::MergeScratch;
use crate::models::piece_lattice::{DrawStream, PieceChoice, PieceLattice, independent_parts};
use crate::sentencepiece::SegmentAlgorithm;
use model::{Error, ErrorKind, Hint};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Which segmentation of a text an encoder gives. A draw depends on the seed and the text alone: its random numbers are
/// the SplitMix64 stream of the text's XXH3 under the seed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Segmentation {
    /// The one that is stored.
    #[default]
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
        match segmentation {
            Segmentation::Best => self.encode_best(text, specials, out),
            Segmentation::Sample { alpha, seed } => {
                self.sample(text, specials, (alpha, seed), |id, _| out.push(id))
            }
            Segmentation::Dropout { probability, seed } => {
                self.encode_dropout(text, specials, (probability, seed), out)
            }
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
            Segmentation::Sample { alpha, seed } => {
                let mut pieces = Vec::new();
                self.sample(text, specials, (alpha, seed), |id, text| {
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

    fn sample(
        &self,
        text: &str,
        specials: bool,
        (alpha, seed): (f64, u64),
        mut each: impl FnMut(u32, &str),
    ) -> Result<(), TokenizerError> {
        require_alpha(alpha)?;
        let model = self.unigram("draws by `alpha=`")?;
        let mut draws = DrawStream::new(xxh3_64_with_seed(text.as_bytes(), seed));
        let words = self.words(text, specials)?;
        model.refuse_unknown(&words)?;
        let (mut lattice, mut choices) = (PieceLattice::default(), Vec::new());
        for (word, added) in words.iter() {
            if let Some(id) = added {
                each(id, word);
                continue;
            }
            choices.clear();
            model.around_symbols(word, |text, symbol| {
                if let Some(piece) = symbol {
                    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                    return choices.push(PieceChoice { piece, length });
                }
                independent_parts(text, &model, |part| {
                    lattice.fill(part, &model);
                    lattice.draw(alpha, &mut draws, &mut choices);
                });
            });
            model.give_out(word, &choices, &mut each);
        }
        Ok(())
    }

    fn encode_dropout(
        &self,
        text: &str,
        specials: bool,
        (probability, seed): (f64, u64),
        out: &mut Vec<u32>,
    ) -> Result<(), TokenizerError> {
        if !(0.0..=1.0).contains(&probability) {
            return Err(Error::bad_input(format!(
                "`dropout=` is {probability}; it must be a number from 0 to 1"
            ))
            .into());
        }
        let mut draws = DrawStream::new(xxh3_64_with_seed(text.as_bytes(), seed));
        let mut is_dropped = || draws.next_share() < probability;
        let kind = match &self.reference {
            ReferenceEncoder::Library(library) => {
                let library = library_of(library, &self.json)?;
                match library.segments()? {
                    SegmentModel::Bpe(_) if probability == 0.0 => {
                        return self.encode_best(text, specials, out);
                    }
                    SegmentModel::Bpe(bpe) => {
                        let (mut scratch, mut ids) = (MergeScratch::default(), Vec::new());
                        for (word, added) in self.words(text, specials)?.iter() {
                            match added {
                                Some(id) => ids.push(id),
                                None => ids.append(&mut bpe.encode_dropout(
                                    word,
                                    &mut scratch,
                                    &mut is_dropped,
                                )?),
                            }
                        }
                        out.append(&mut ids);
                        return Ok(());
                    }
                    SegmentModel::Unigram(_) => UNIGRAM,
                    SegmentModel::Single(kind) => kind.name(),
                }
            }
            ReferenceEncoder::SentencePiece(model) => match model.segmenter().algorithm {
                SegmentAlgorithm::Bpe => {
                    for (word, added) in self.words(text, specials)?.iter() {
                        match added {
                            Some(id) => out.push(id),
                            None => model.encode_dropout(word, &mut is_dropped, out),
                        }
                    }
                    return Ok(());
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
