//! SentencePiece's normaliser (`src/normalizer.cc` of SentencePiece 0.2): user symbols, map of characters, spaces.
//!
//! At each place of the raw text the longest user symbol is copied; else the longest entry of the compiled map is
//! replaced; else the character is copied. Extra spaces are removed as they come out of the map, one space is put
//! before or behind the text, and spaces are written `▁`.

use super::proto::SentencePieceModel;
use crate::TokenizerError;
use crate::file::SPACE_MARKER;
use crate::models::trie::PieceTrie;
use crate::sentencepiece::fail;
use model::invariant::text_part;

/// How many user symbols that begin one another SentencePiece looks at.
pub(super) const MOST_SYMBOLS: usize = 64;

/// Where one space is put that the text has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DummySpace {
    None,
    Prefix,
    Suffix,
}

/// What is done to white space.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpaceSettings {
    pub(crate) dummy: DummySpace,
    pub(crate) removes_extra: bool,
    /// Spaces are written `▁`.
    pub(crate) escapes: bool,
}

/// What a model does to white space.
pub(crate) fn space_settings(model: &SentencePieceModel) -> SpaceSettings {
    let (spec, trainer) = (model.normalizer.as_ref(), model.trainer.as_ref());
    let is_suffix = trainer.and_then(|trainer| trainer.treat_whitespace_as_suffix) == Some(true);
    let flag = |flag: Option<bool>| flag.unwrap_or(true);
    let dummy = match (flag(spec.and_then(|spec| spec.add_dummy_prefix)), is_suffix) {
        (false, _) => DummySpace::None,
        (true, false) => DummySpace::Prefix,
        (true, true) => DummySpace::Suffix,
    };
    SpaceSettings {
        dummy,
        removes_extra: flag(spec.and_then(|spec| spec.remove_extra_whitespaces)),
        escapes: flag(spec.and_then(|spec| spec.escape_whitespaces)),
    }
}

/// The normaliser of one model.
pub(super) struct SentencePieceNormalizer {
    map: Option<CharacterMap>,
    /// User symbols: nothing is done to them.
    symbols: PieceTrie,
    spaces: SpaceSettings,
    /// By byte: what may begin there.
    starts: [ByteStart; 256],
}

/// What may begin with a byte that is a character's first.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByteStart {
    /// Nothing: the character is copied.
    Plain,
    /// An entry of the map, but none of ASCII alone: most letters, which marks may follow.
    PlainBeforeAscii,
    Special,
}

/// A normalised text.
#[derive(Default)]
pub(super) struct NormalizedBytes {
    /// UTF-8.
    pub(super) bytes: Vec<u8>,
    /// For each byte, and behind the last, the place in the text that it came from; kept only when asked.
    pub(super) places: Option<Vec<usize>>,
}

impl NormalizedBytes {
    fn clear(&mut self) {
        self.bytes.clear();
        self.places.iter_mut().for_each(Vec::clear);
    }

    fn push(&mut self, bytes: &[u8], from: usize) {
        self.bytes.extend_from_slice(bytes);
        if let Some(places) = &mut self.places {
            places.resize(places.len() + bytes.len(), from);
        }
    }

    /// Characters that are copied, each from its own place.
    fn copy(&mut self, run: &str, from: usize) {
        self.bytes.extend_from_slice(run.as_bytes());
        if let Some(places) = &mut self.places {
            for (at, character) in run.char_indices() {
                places.resize(places.len() + character.len_utf8(), from + at);
            }
        }
    }

    /// Cuts `end` off; the place that it came from.
    fn cut(&mut self, end: &[u8]) -> Option<usize> {
        let length = self.bytes.strip_suffix(end)?.len();
        self.bytes.truncate(length);
        let Some(places) = &mut self.places else { return Some(0) };
        let from = places.get(length).copied();
        places.truncate(length);
        from
    }
}

impl SentencePieceNormalizer {
    /// `map`: the compiled map of the model, perhaps empty.
    pub(super) fn new(
        map: &[u8],
        symbols: PieceTrie,
        spaces: SpaceSettings,
    ) -> Result<Self, TokenizerError> {
        let map = if map.is_empty() { None } else { Some(CharacterMap::parse(map)?) };
        let mut starts = [ByteStart::Plain; 256];
        for (byte, start) in (0..=u8::MAX).zip(&mut starts) {
            // Inside of a character, whose first byte decides.
            if (0x80..0xC0).contains(&byte) {
                continue;
            }
            if byte == b' ' || symbols.step(PieceTrie::ROOT, byte).is_some() {
                *start = ByteStart::Special;
            } else if let Some(map) = &map {
                *start = map.start(byte);
            }
        }
        Ok(Self { map, symbols, spaces, starts })
    }

    const fn space(&self) -> &'static [u8] {
        if self.spaces.escapes { SPACE_MARKER.as_bytes() } else { b" " }
    }

    /// Normalises `text`; fails with the reason when its map cannot be used on it.
    pub(super) fn normalize(&self, text: &str, out: &mut NormalizedBytes) -> Result<(), String> {
        out.clear();
        let mut at = 0;
        if self.spaces.removes_extra {
            while let (" ", length) = self.prefix(text_part(text, at..))? {
                at += length;
            }
        }
        if at == text.len() {
            return Ok(());
        }
        if self.spaces.dummy == DummySpace::Prefix {
            out.push(self.space(), at);
        }
        let mut is_behind_space = self.spaces.removes_extra;
        while at < text.len() {
            let rest = text_part(text, at..);
            let run = self.plain_run(rest.as_bytes());
            if run > 0 {
                out.copy(text_part(rest, ..run), at);
                is_behind_space = false;
                at += run;
                continue;
            }
            let (mut normal, length) = self.prefix(rest)?;
            if is_behind_space {
                normal = normal.trim_start_matches(' ');
            }
            if !normal.is_empty() {
                self.push(normal, at, out);
                is_behind_space = self.spaces.removes_extra && normal.ends_with(' ');
            }
            at += length;
        }
        if self.spaces.removes_extra {
            while let Some(from) = out.cut(self.space()) {
                at = from;
            }
        }
        if self.spaces.dummy == DummySpace::Suffix {
            out.push(self.space(), at);
        }
        if let Some(places) = &mut out.places {
            places.push(at);
        }
        Ok(())
    }

    /// How many of these bytes are characters that are copied.
    fn plain_run(&self, bytes: &[u8]) -> usize {
        let mut run = 0;
        while let Some(byte) = bytes.get(run) {
            let is_copied = match self.starts.get(usize::from(*byte)) {
                Some(ByteStart::Plain) => true,
                Some(ByteStart::PlainBeforeAscii) => bytes.get(run + 1).is_none_or(u8::is_ascii),
                _ => false,
            };
            if !is_copied {
                break;
            }
            run += 1;
        }
        run
    }

    fn push(&self, normal: &str, from: usize, out: &mut NormalizedBytes) {
        if !self.spaces.escapes || !normal.contains(' ') {
            return out.push(normal.as_bytes(), from);
        }
        for (part, piece) in normal.split(' ').enumerate() {
            if part > 0 {
                out.push(self.space(), from);
            }
            out.push(piece.as_bytes(), from);
        }
    }

    /// What the text begins with, normalised, and how many of its bytes that is.
    fn prefix<'t>(&'t self, text: &'t str) -> Result<(&'t str, usize), String> {
        if let Some((length, _)) = self.symbols.longest(text.as_bytes(), MOST_SYMBOLS)
            && let Some(symbol) = text.get(..length)
        {
            return Ok((symbol, length));
        }
        if let Some(map) = &self.map
            && let Some((length, target)) = map.longest(text.as_bytes())
        {
            let target = map.target(target).filter(|_| text.is_char_boundary(length));
            let what = || "its map of characters is damaged: an entry cuts a character";
            return Ok((target.ok_or_else(what)?, length));
        }
        let length = text.chars().next().map_or(0, char::len_utf8);
        Ok((text_part(text, ..length), length))
    }
}

/// The compiled map of a model: a double array as the library Darts has it, and its targets behind NULs.
struct CharacterMap {
    units: Vec<u32>,
    targets: String,
}

/// The mark of a unit that holds a target instead of children.
const IS_TARGET: u32 = 1 << 31;

impl CharacterMap {
    /// A length in bytes (little-endian, 32 bits), as many bytes of units of 32 bits, the targets. Whole blocks of 256
    /// units: a step from a unit stays in a block, so that no look-up leaves the array.
    fn parse(map: &[u8]) -> Result<Self, TokenizerError> {
        const BLOCK: usize = 256;
        let damaged = |what: &str| fail(&format!("its map of characters is damaged: {what}"));
        let (length, rest) = map.split_first_chunk::<4>().ok_or_else(|| damaged("it is cut"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let (units, targets) =
            rest.split_at_checked(length).ok_or_else(|| damaged("it is shorter than it says"))?;
        let units: Vec<u32> =
            units.as_chunks::<4>().0.iter().map(|unit| u32::from_le_bytes(*unit)).collect();
        let targets =
            std::str::from_utf8(targets).map_err(|_| damaged("a target is not UTF-8"))?.to_owned();
        if units.is_empty() || !units.len().is_multiple_of(BLOCK) || !targets.ends_with('\0') {
            return Err(damaged("it is cut"));
        }
        let map = Self { units, targets };
        let is_inside = |at: usize, unit: u32| {
            let children = at ^ Self::offset(unit) as usize;
            if unit & IS_TARGET != 0 {
                let target = (unit & !IS_TARGET) as usize;
                return target < map.targets.len() && map.targets.is_char_boundary(target);
            }
            let target = map.units.get(children).copied().unwrap_or_default();
            children | (BLOCK - 1) < map.units.len()
                && (!Self::has_target(unit) || target & IS_TARGET != 0)
        };
        match map.units.iter().enumerate().find(|(at, unit)| !is_inside(*at, **unit)) {
            Some((at, _)) => Err(damaged(&format!("unit {at} leads out of it"))),
            None => Ok(map),
        }
    }

    fn unit(&self, at: u32) -> u32 {
        self.units.get(at as usize).copied().unwrap_or(IS_TARGET)
    }

    const fn offset(unit: u32) -> u32 {
        (unit >> 10) << ((unit & (1 << 9)) >> 6)
    }

    const fn label(unit: u32) -> u32 {
        unit & (IS_TARGET | 0xFF)
    }

    const fn has_target(unit: u32) -> bool {
        unit >> 8 & 1 == 1
    }

    /// The unit behind `from` by one byte, unless it has no such child.
    fn child(&self, from: u32, byte: u8) -> Option<(u32, u32)> {
        let at = from ^ u32::from(byte);
        let unit = self.unit(at);
        (Self::label(unit) == u32::from(byte)).then(|| (at ^ Self::offset(unit), unit))
    }

    fn start(&self, byte: u8) -> ByteStart {
        let Some((node, unit)) = self.child(Self::offset(self.unit(0)), byte) else {
            return ByteStart::Plain;
        };
        let has_ascii = (0..0x80).any(|next| self.child(node, next).is_some());
        if byte.is_ascii() && !Self::has_target(unit) && !has_ascii {
            ByteStart::PlainBeforeAscii
        } else {
            ByteStart::Special
        }
    }

    /// The length of the longest entry that `bytes` begin with, and where its target begins.
    fn longest(&self, bytes: &[u8]) -> Option<(usize, usize)> {
        /// How many that begin one another SentencePiece looks at.
        const MOST_ENTRIES: usize = 32;
        let (mut longest, mut found) = (None, 0);
        let mut node = Self::offset(self.unit(0));
        for (length, byte) in (1..).zip(bytes) {
            let Some((next, unit)) = self.child(node, *byte) else { break };
            node = next;
            if Self::has_target(unit) {
                longest = Some((length, (self.unit(node) & !IS_TARGET) as usize));
                found += 1;
            }
            if found == MOST_ENTRIES {
                break;
            }
        }
        longest
    }

    fn target(&self, start: usize) -> Option<&str> {
        self.targets.get(start..)?.split('\0').next()
    }
}
