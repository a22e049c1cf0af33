//! What a Unigram sees of a text, and the ids of the pieces of a segmentation.

use crate::encode::{TokenPiece, Tokenizer, library_of};
use crate::engine::ReferenceEncoder;
use crate::engine::reference::LibraryReference;
use crate::engine::segment_model::{LibraryUnigram, SegmentModel};
use crate::error::TokenizerError;
use crate::models::piece_lattice::{PieceChoice, UNKNOWN_PIECE, UnigramPieces};
use crate::sentencepiece::{SegmentAlgorithm, SentencePiece};
use model::invariant::text_part;
use model::{Error, ErrorKind, Hint};

/// `alpha` beyond it gives the best segmentation all the same.
const LARGEST_ALPHA: f64 = 1e9;

const BPE: &str = "BPE";
pub(super) const UNIGRAM: &str = "Unigram";

impl Tokenizer {
    /// The Unigram that `asked` needs.
    pub(super) fn unigram(&self, asked: &str) -> Result<UnigramModel<'_>, TokenizerError> {
        let kind = match &*self.reference {
            ReferenceEncoder::Library(library) => {
                let library = library_of(library, &self.json)?;
                match library.segments()? {
                    SegmentModel::Unigram(unigram) => {
                        return Ok(UnigramModel::Library(library, unigram));
                    }
                    SegmentModel::Bpe(_) => BPE,
                    SegmentModel::Single(kind) => kind.name(),
                }
            }
            ReferenceEncoder::SentencePiece(model) => match model.segmenter().algorithm {
                SegmentAlgorithm::Unigram => return Ok(UnigramModel::SentencePiece(model)),
                other => other.name(),
            },
        };
        let message = format!(
            "no {asked}: this tokenizer is a {kind}, which has one segmentation of a text and no probability of it"
        );
        let hint = match kind {
            BPE => {
                "use a Unigram (`model=unigram` when one is trained); `dropout=` draws segmentations of a BPE"
            }
            _ => "use a Unigram: `model=unigram` when one is trained",
        };
        Err(Error::of(ErrorKind::BadTokenizer, message).with_hint(Hint::text(hint)).into())
    }

    /// What the model sees of a text.
    pub(super) fn words(&self, text: &str, specials: bool) -> Result<ModelWords, TokenizerError> {
        if u32::try_from(text.len()).is_err() {
            return Err(TokenizerError::TooLong { bytes: text.len() });
        }
        let mut words = ModelWords::default();
        match &*self.reference {
            ReferenceEncoder::Library(library) => {
                let library = library_of(library, &self.json)?;
                library.pretokens(text, specials, |word, added| words.push(word, added))?;
            }
            ReferenceEncoder::SentencePiece(model) => {
                let places = if specials { self.places_of_specials(text)? } else { Vec::new() };
                let mut start = 0;
                for (id, place) in places {
                    words.push(&model.normalized(text_part(text, start..place.start))?, None);
                    words.push(text_part(text, place.clone()), Some(id));
                    start = place.end;
                }
                words.push(&model.normalized(text_part(text, start..))?, None);
            }
        }
        Ok(words)
    }
}

pub(super) fn require_alpha(alpha: f64) -> Result<(), TokenizerError> {
    if (0.0..=LARGEST_ALPHA).contains(&alpha) {
        return Ok(());
    }
    let message = format!("`alpha=` is {alpha}; it must be a number from 0 to {LARGEST_ALPHA}");
    Err(Error::bad_input(message).into())
}

/// The words of a text, one behind the other, as a model sees them, and the added tokens among them with their ids.
#[derive(Default)]
pub(super) struct ModelWords {
    text: String,
    words: Vec<(usize, Option<u32>)>,
}

impl ModelWords {
    fn push(&mut self, word: &str, added: Option<u32>) {
        self.text.push_str(word);
        self.words.push((self.text.len(), added));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, Option<u32>)> {
        let mut start = 0;
        self.words.iter().map(move |(end, added)| {
            let word = text_part(&self.text, start..*end);
            start = *end;
            (word, *added)
        })
    }

    /// Those that are no added tokens.
    pub(super) fn plain(&self) -> impl Iterator<Item = &str> {
        self.iter().filter_map(|(word, added)| added.is_none().then_some(word))
    }
}

/// A Unigram, by its reference.
pub(super) enum UnigramModel<'t> {
    SentencePiece(&'t SentencePiece),
    Library(&'t LibraryReference, &'t LibraryUnigram),
}

impl UnigramPieces for UnigramModel<'_> {
    fn pieces_at(&self, rest: &str, each: impl FnMut(usize, u32, f64)) {
        match self {
            Self::SentencePiece(model) => model.segmenter().pieces_at(rest, each),
            Self::Library(_, unigram) => unigram.pieces_at(rest, each),
        }
    }

    fn unknown_score(&self) -> Option<f64> {
        match self {
            Self::SentencePiece(model) => model.segmenter().unknown_score(),
            Self::Library(_, unigram) => unigram.unknown_score(),
        }
    }
}

impl UnigramModel<'_> {
    /// Fails where the reference refuses a word for its unknown characters.
    pub(super) fn refuse_unknown(&self, word: &str) -> Result<(), TokenizerError> {
        match self {
            Self::Library(library, unigram) if unigram.unknown_score().is_none() => {
                library.encode_pretoken(word).map(|_| ())
            }
            _ => Ok(()),
        }
    }

    /// Calls `each` with what of a word may be segmented otherwise, and with the user symbols of its best segmentation
    /// and their ids.
    pub(super) fn around_symbols(&self, word: &str, mut each: impl FnMut(&str, Option<u32>)) {
        match self {
            Self::SentencePiece(model) => model.around_symbols(word, each),
            Self::Library(..) => each(word, None),
        }
    }

    /// Calls `each` with the ids of a segmentation of a word, and with the text of each. A run of unknown characters is
    /// one; where it has an id for each byte, the first of a character has its text.
    pub(super) fn give_out(
        &self,
        word: &str,
        choices: &[PieceChoice],
        each: &mut impl FnMut(u32, &str),
    ) {
        let (mut at, mut run, mut ids) = (0, None, Vec::new());
        let mut end_run = |run: Option<usize>, end: usize, each: &mut dyn FnMut(u32, &str)| {
            let Some(run) = run.map(|start| text_part(word, start..end)) else { return };
            ids.clear();
            match self {
                Self::SentencePiece(model) => model.unknown_ids(run, &mut ids),
                Self::Library(_, unigram) => unigram.unknown_ids(run, &mut ids),
            }
            let is_by_bytes = ids.len() == run.len();
            for (place, id) in ids.iter().enumerate() {
                let text = match run.get(place..) {
                    Some(rest) if is_by_bytes => {
                        text_part(rest, ..rest.chars().next().map_or(0, char::len_utf8))
                    }
                    Some(rest) if place == 0 => rest,
                    _ => "",
                };
                each(*id, text);
            }
        };
        for choice in choices {
            let end = at + choice.length as usize;
            if choice.piece == UNKNOWN_PIECE {
                run.get_or_insert(at);
            } else {
                end_run(run.take(), at, each);
                each(choice.piece, text_part(word, at..end));
            }
            at = end;
        }
        end_run(run, at, each);
    }
}

impl UnigramModel<'_> {
    /// The tokens of a text whose words are segmented so, one behind the other.
    pub(super) fn tokens(&self, words: &ModelWords, choices: &[PieceChoice]) -> Vec<TokenPiece> {
        let (mut tokens, mut rest) = (Vec::new(), choices);
        let mut each = |id: u32, text: &str| tokens.push(TokenPiece { id, text: text.to_owned() });
        for (word, added) in words.iter() {
            if let Some(id) = added {
                each(id, word);
                continue;
            }
            let mut left = word.len();
            let own = rest.iter().take_while(|choice| {
                let is_own = left > 0;
                left = left.saturating_sub(choice.length as usize);
                is_own
            });
            let (own, others) = rest.split_at(own.count());
            self.give_out(word, own, &mut each);
            rest = others;
        }
        tokens
    }
}
