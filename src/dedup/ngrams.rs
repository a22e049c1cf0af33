//! Runs of tokens as text, for signatures that hash the joined tokens.

/// Tokens joined by one space each, so that every run of them is a slice.
#[derive(Clone, Debug, Default)]
pub(super) struct Joined {
    bytes: Vec<u8>,
    /// Where each token begins and ends.
    places: Vec<(usize, usize)>,
}

impl Joined {
    pub(super) fn push(&mut self, token: &[u8]) {
        if !self.places.is_empty() {
            self.bytes.push(b' ');
        }
        let start = self.bytes.len();
        self.bytes.extend_from_slice(token);
        self.places.push((start, self.bytes.len()));
    }

    /// Every run of `length` tokens in order; nothing if there are fewer.
    pub(super) fn runs(&self, length: usize) -> impl Iterator<Item = &[u8]> {
        let lasts = self.places.iter().skip(length.max(1) - 1);
        self.places
            .iter()
            .zip(lasts)
            .map(|((start, _), (_, end))| self.bytes.get(*start..*end).unwrap_or_default())
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    /// Gives memory beyond that for `tokens` back.
    pub(super) fn shrink(&mut self, tokens: usize) {
        self.clear();
        self.bytes.shrink_to(tokens);
        self.places.shrink_to(tokens);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_the_tokens_joined() {
        let mut joined = Joined::default();
        for token in ["a", "", "bc", "d"] {
            joined.push(token.as_bytes());
        }
        let runs = |length| -> Vec<&str> {
            joined.runs(length).map(|run| str::from_utf8(run).unwrap()).collect()
        };
        assert_eq!(runs(1), ["a", "", "bc", "d"]);
        assert_eq!(runs(2), ["a ", " bc", "bc d"]);
        assert_eq!(runs(4), ["a  bc d"]);
        assert!(runs(5).is_empty());
    }
}
