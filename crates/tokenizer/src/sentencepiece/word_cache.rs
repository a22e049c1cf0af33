//! A bounded cache of encoded words with their ids, in which a later word takes the place of an earlier one.

/// Places. A word has one place only, so that no text can make look-ups slow.
const PLACES: usize = 1 << 14;
/// Longer words are rare and are not kept: in bytes.
const LONGEST: usize = 48;

/// Ids by word. At most some 4 MB.
#[derive(Default)]
pub(super) struct WordCache {
    places: Vec<CachedWord>,
}

#[derive(Clone, Default)]
struct CachedWord {
    word: Box<[u8]>,
    ids: Box<[u32]>,
}

impl WordCache {
    /// The place of a word; none for one that is not kept.
    fn place(word: &[u8]) -> Option<usize> {
        const FACTOR: u64 = 0x517c_c1b7_2722_0a95;
        if word.is_empty() || word.len() > LONGEST {
            return None;
        }
        let (eights, rest) = word.as_chunks::<8>();
        let rest = rest.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let numbers = eights.iter().map(|eight| u64::from_le_bytes(*eight)).chain([rest]);
        let hash = numbers.fold(word.len() as u64, |hash, number| {
            (hash.rotate_left(5) ^ number).wrapping_mul(FACTOR)
        });
        usize::try_from(hash >> 50).ok()
    }

    /// The ids of `word`, when they are still here.
    pub(super) fn get(&self, word: &[u8]) -> Option<&[u32]> {
        let known = self.places.get(Self::place(word)?)?;
        (*known.word == *word).then_some(&*known.ids)
    }

    pub(super) fn put(&mut self, word: &[u8], ids: &[u32]) {
        let Some(at) = Self::place(word) else { return };
        if self.places.is_empty() {
            self.places.resize(PLACES, CachedWord::default());
        }
        if let Some(place) = self.places.get_mut(at) {
            *place = CachedWord { word: word.into(), ids: ids.into() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_found_until_another_takes_its_place() {
        let mut cache = WordCache::default();
        assert_eq!(cache.get(b"a"), None);
        cache.put(b"a", &[1, 2]);
        assert_eq!(cache.get(b"a"), Some(&[1, 2][..]));
        let long = [b'x'; LONGEST + 1];
        cache.put(&long, &[3]);
        assert_eq!((cache.get(&long), cache.get(b"")), (None, None));
        let other = (0u32..)
            .map(|n| n.to_string())
            .find(|word| WordCache::place(word.as_bytes()) == WordCache::place(b"a"));
        let other = other.expect("there are more words than places");
        cache.put(other.as_bytes(), &[9]);
        assert_eq!((cache.get(b"a"), cache.get(other.as_bytes())), (None, Some(&[9][..])));
    }
}
