//! Hashes the tokens of a text and runs of them, and says where in the text the tokens stand.

use super::fingerprint::MOST_TOKENS;
use super::normalise::{NormaliserBuffers, word_tokens};
use super::shingle::shingle;
use model::invariant::text_part;
use model::{ByteSpan, Normaliser};
use unicode_segmentation::UnicodeSegmentation;
use xxhash_rust::xxh3::xxh3_64;

/// Tokens of a normaliser, whatever the policy of a corpus is: each suite is stored by those of the one it names. A
/// text without words has none.
#[derive(Clone, Debug)]
pub struct TokenHashes {
    normaliser: Normaliser,
    scratch: NormaliserBuffers,
    hashes: Vec<u64>,
}

impl TokenHashes {
    /// With buffers that serve one text after another.
    pub fn new(normaliser: Normaliser) -> Self {
        Self { normaliser, scratch: NormaliserBuffers::default(), hashes: Vec::new() }
    }

    /// Hash of every token of the text, in order.
    pub fn of(&mut self, text: &str) -> &[u64] {
        if self.hashes.capacity() > MOST_TOKENS {
            self.hashes.clear();
            self.hashes.shrink_to(MOST_TOKENS);
            self.scratch.shrink(MOST_TOKENS);
        }
        hash(text, self.normaliser, &mut self.scratch, &mut self.hashes);
        &self.hashes
    }

    /// Replaces `hashes` by those of every run of `length` tokens, in order; by none when there are fewer tokens.
    pub fn runs(tokens: &[u64], length: usize, hashes: &mut Vec<u64>) {
        hashes.clear();
        if tokens.len() >= length {
            shingle(tokens, length, hashes);
        }
    }
}

/// Finds where tokens of a version of the normaliser `web` stand. A text is cut before each ASCII white space, where no
/// rule that makes tokens looks across; within such a piece by the words of UAX-29, where these give the same tokens.
#[derive(Clone, Debug)]
pub struct TokenPlaces {
    normaliser: Normaliser,
    scratch: NormaliserBuffers,
    piece: Vec<u64>,
    words: Vec<(u64, ByteSpan)>,
}

impl TokenPlaces {
    /// With buffers that serve one text after another.
    pub fn new(normaliser: Normaliser) -> Self {
        let scratch = NormaliserBuffers::default();
        Self { normaliser, scratch, piece: Vec::new(), words: Vec::new() }
    }

    /// The bytes that the tokens with the numbers `asked` cover, ascending. A token that cannot be separated within
    /// its piece has the bytes of the whole piece.
    pub fn of(&mut self, text: &str, asked: &[u64]) -> Vec<ByteSpan> {
        let mut found = Vec::with_capacity(asked.len());
        let mut asked = asked.iter().copied().peekable();
        let (mut number, mut start) = (0_u64, 0);
        while start < text.len() && asked.peek().is_some() {
            let rest = text_part(text, start..);
            let end = rest.bytes().skip(1).position(is_space);
            let piece = text_part(rest, ..end.map_or(rest.len(), |end| end + 1));
            hash(piece, self.normaliser, &mut self.scratch, &mut self.piece);
            let behind = number + self.piece.len() as u64;
            if asked.peek().is_some_and(|next| *next < behind) {
                self.split(piece, start as u64);
                while let Some(next) = asked.next_if(|next| *next < behind) {
                    let at = usize::try_from(next.saturating_sub(number)).unwrap_or(usize::MAX);
                    found.extend(self.words.get(at).map(|(_, span)| *span));
                }
            }
            number = behind;
            start += piece.len().max(1);
        }
        found
    }

    /// The tokens of a piece with their bytes.
    fn split(&mut self, piece: &str, start: u64) {
        self.words.clear();
        let mut tokens = Vec::new();
        for (at, word) in piece.split_word_bound_indices() {
            hash(word, self.normaliser, &mut self.scratch, &mut tokens);
            let from = start + at as u64;
            let span = (from, from + word.len() as u64);
            self.words.extend(tokens.iter().map(|token| (*token, span)));
        }
        if !self.words.iter().map(|(token, _)| token).eq(&self.piece) {
            let before = (piece.len() - piece.trim_start().len()) as u64;
            let span = (start + before, start + piece.trim_end().len() as u64);
            self.words.clear();
            self.words.extend(self.piece.iter().map(|token| (*token, span)));
        }
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

fn hash(
    text: &str,
    normaliser: Normaliser,
    scratch: &mut NormaliserBuffers,
    hashes: &mut Vec<u64>,
) {
    hashes.clear();
    word_tokens(text, normaliser, scratch, &mut |token| hashes.push(xxh3_64(token)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str, normaliser: Normaliser) -> Vec<String> {
        let mut words = Vec::new();
        word_tokens(text, normaliser, &mut NormaliserBuffers::default(), &mut |token| {
            words.push(String::from_utf8_lossy(token).into_owned());
        });
        words
    }

    fn placed(text: &str, normaliser: Normaliser) -> Vec<(String, String)> {
        let tokens = words(text, normaliser);
        let asked: Vec<u64> = (0..tokens.len() as u64).collect();
        let spans = TokenPlaces::new(normaliser).of(text, &asked);
        let cut = spans.iter().map(|(start, end)| text[*start as usize..*end as usize].to_owned());
        tokens.into_iter().zip(cut).collect()
    }

    #[test]
    fn tokens_stand_where_their_words_do() {
        let expected = [("it", "It"), ("costs", "costs"), ("3.50", "3.50"), ("don't", "don't")];
        let expected = expected.map(|(token, word)| (token.to_owned(), word.to_owned()));
        assert_eq!(placed("  It costs\n\"3.50\", (don't)!", Normaliser::Web), expected);
        let mut places = TokenPlaces::new(Normaliser::Web);
        assert_eq!(places.of("one two three four", &[1, 3]), [(4, 7), (14, 18)]);
        let han = placed("他 在北京", Normaliser::Web);
        let han: Vec<String> = han.into_iter().map(|(_, word)| word).collect();
        assert_eq!(han, ["他", "在", "北", "京"]);
        // Invisible characters part no token, and a piece without words is none.
        let hidden = "a -- fer\u{200b}ry ｉｎ\u{3000}ｉｔ, don’t ... \u{ad}";
        let expected = [
            ("a", "a"),
            ("ferry", "fer\u{200b}ry"),
            ("in", "ｉｎ"),
            ("it", "ｉｔ"),
            ("don't", "don’t"),
        ];
        let expected = expected.map(|(token, word)| (token.to_owned(), word.to_owned()));
        assert_eq!(placed(hidden, Normaliser::Web2), expected);
    }

    proptest! {
        /// Every token has a place, in order, and what stands there has the token.
        #[test]
        fn every_token_is_found_where_it_stands(
            parts in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "B", "don't", "3.5", " ", "  ", "\n", "\r\n", "\t", "é", "e\u{301}", "\u{301}", "ß", "İ", "ς", "中",
                    "文", "ไทย", "กา", "🙂", "👍🏽", "-", "_", "\u{a0}", "\u{3000}", "א", "한", "ㅎ", "\u{200d}", ".", ":",
                    "\u{200b}", "\u{ad}", "\u{2060}", "\u{feff}", "’", "ʼ", "Ａ", "ｂ", "ﬁ", "ﷺ", "\u{200e}", "\u{2067}",
                ]),
                0..40,
            ),
            normaliser in prop::sample::select(vec![Normaliser::Web, Normaliser::Web2]),
        ) {
            let text = parts.concat();
            let placed = placed(&text, normaliser);
            prop_assert_eq!(placed.len(), words(&text, normaliser).len());
            for (token, place) in placed {
                prop_assert!(words(&place, normaliser).contains(&token), "{:?} in {:?}", token, place);
            }
        }
    }
}
