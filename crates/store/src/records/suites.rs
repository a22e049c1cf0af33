//! The families `suites` and `suite_ngrams`: suites of evaluation items, and where their n-grams stand, by hash.

use crate::batch::CommitBatch;
use crate::bytes::cursor::{ByteCursor, put_varint};
use crate::bytes::key::{
    NameRule, StoreKey, SuiteGramKey, SuiteKey, after_prefix, check_name, suite_prefix,
};
use crate::bytes::record::{self, SuiteRecord};
use crate::database::PinnedMoment;
use crate::database::family::{RowKind, StoreFamily, corrupt_row, store_family};
use crate::error::{DecodeError, StoreError};
use crate::records::contamination::{Contamination, Verdicts};
use crate::view::View;
use bincode::{Decode, Encode};
use model::near_names::UnknownName;
use model::{GramPlace, ItemText, ShortItem, SuiteGram, SuiteId, SuiteItem, hexadecimal};

const SEED: u8 = 1;
const SHORT: u8 = 2;
const PIECE: u8 = 3;
/// Short questions of which some are not the first of their items.
const TURNS: u8 = 4;

#[derive(Encode, Decode)]
struct ItemRecord {
    id: String,
    parts: [String; 3],
}

/// The format of an item with several texts of a part, which earlier releases refuse.
const TEXTS: u8 = 2;

/// The stored form of an item.
pub(crate) fn encode_item(item: &SuiteItem) -> Result<Vec<u8>, StoreError> {
    let (what, SuiteItem { id, parts }) = ("item of a suite", item.clone());
    if parts.iter().any(|texts| texts.len() > 1) {
        return record::encode_as(TEXTS, what, &(id, parts));
    }
    let parts = parts.map(|texts| texts.into_iter().next().unwrap_or_default());
    record::encode(what, &ItemRecord { id, parts })
}

fn decode_item(bytes: &[u8]) -> Result<SuiteItem, DecodeError> {
    if let Some((&TEXTS, body)) = bytes.split_first() {
        let (id, parts) = record::decode_body(body)?;
        return Ok(SuiteItem { id, parts });
    }
    let ItemRecord { id, parts } = record::decode(bytes)?;
    let of = |text: String| if text.is_empty() { Vec::new() } else { vec![text] };
    Ok(SuiteItem { id, parts: parts.map(of) })
}

/// The stored form of what a suite has under a hash.
pub(crate) fn encode_gram(gram: &SuiteGram) -> Vec<u8> {
    let mut out = Vec::new();
    match gram {
        SuiteGram::Seed(number, places) => {
            out.push(SEED);
            put_varint(&mut out, (*number).into());
            put_places(&mut out, places);
        }
        SuiteGram::Short(items) => {
            let has_turns = items.iter().any(|short| short.turn > 0);
            out.push(if has_turns { TURNS } else { SHORT });
            for short in items {
                put_varint(&mut out, short.item.into());
                if has_turns {
                    put_varint(&mut out, short.turn.into());
                }
                for tokens in [&short.question, &short.answer] {
                    put_varint(&mut out, tokens.len() as u64);
                    out.extend(tokens.iter().flat_map(|token| token.to_le_bytes()));
                }
            }
        }
        SuiteGram::Piece(places) => {
            out.push(PIECE);
            put_places(&mut out, places);
        }
    }
    out
}

fn put_places(out: &mut Vec<u8>, places: &[GramPlace]) {
    let mut before = 0;
    for place in places {
        put_varint(out, (place.item - before).into());
        put_varint(out, place.text.code().into());
        put_varint(out, place.position.into());
        before = place.item;
    }
}

/// What a suite has under a hash.
pub(crate) fn decode_gram(bytes: &[u8]) -> Result<SuiteGram, DecodeError> {
    let mut cursor = ByteCursor::new(bytes);
    match cursor.u8()? {
        SEED => {
            let number = cursor.varint_u32()?;
            Ok(SuiteGram::Seed(number, places(&mut cursor)?))
        }
        PIECE => Ok(SuiteGram::Piece(places(&mut cursor)?)),
        kind @ (SHORT | TURNS) => {
            let mut items = Vec::new();
            while cursor.end().is_err() {
                let item = cursor.varint_u32()?;
                let turn = if kind == TURNS { cursor.varint_u32()? } else { 0 };
                let (question, answer) = (tokens(&mut cursor)?, tokens(&mut cursor)?);
                items.push(ShortItem { item, turn, question, answer });
            }
            Ok(SuiteGram::Short(items))
        }
        kind => Err(DecodeError::at(0, format!("unknown kind {kind} of n-gram"))),
    }
}

fn places(cursor: &mut ByteCursor<'_>) -> Result<Vec<GramPlace>, DecodeError> {
    let mut places: Vec<GramPlace> = Vec::new();
    while cursor.end().is_err() {
        places.push(place(cursor, places.last())?);
    }
    if places.is_empty() {
        return Err(DecodeError::at(cursor.offset(), "an n-gram that stands nowhere"));
    }
    Ok(places)
}

fn place(
    cursor: &mut ByteCursor<'_>,
    before: Option<&GramPlace>,
) -> Result<GramPlace, DecodeError> {
    let at = cursor.offset();
    let far = |why: &str| DecodeError::at(at, why);
    let step = cursor.varint_u32()?;
    let item = before.map_or(0, |before| before.item).checked_add(step);
    let item = item.ok_or_else(|| far("number of an item beyond 32 bits"))?;
    let text = ItemText::from_code(cursor.varint_u32()?);
    let found = GramPlace { item, text, position: cursor.varint_u32()? };
    if before.is_some_and(|before| *before >= found) {
        return Err(far("places out of order"));
    }
    Ok(found)
}

fn tokens(cursor: &mut ByteCursor<'_>) -> Result<Vec<u64>, DecodeError> {
    let count = cursor.varint()?;
    let mut tokens = Vec::new();
    for _ in 0..count {
        tokens.push(cursor.u64()?);
    }
    Ok(tokens)
}

store_family! {
    /// Suites of evaluation items. Written by `contamination add`, read by reports and by whoever shows an item.
    Suites = "suites", Dense,
    SuiteKey, "suite u32, row u32"
    => {
        /// The suite itself.
        SuiteRecords = "suite", suite: SuiteId [SuiteKey { suite, row: 0 }]
        => SuiteRecord, |_, bytes| SuiteRecord::decode(bytes);
        /// One of its items.
        SuiteItems = "item of a suite", (suite, row): (SuiteId, u32) [SuiteKey { suite, row }] if row != 0
        => SuiteItem, |_, bytes| decode_item(bytes);
    }
    "row 0: record; else an item, counted from 1: record of its id, question, answer and passage"
}

store_family! {
    /// The n-grams of suites. Written with them, held in memory by ingests and reports.
    SuiteGrams = "suite_ngrams", Dense,
    SuiteGramKey, "suite u32, hash u64"
    => "n-gram of a suite": SuiteGram, |_, bytes| decode_gram(bytes),
    "n-gram or short questions: hand-packed, see below"
}

/// All of them, ascending by number. Their items, which stand behind each, are skipped.
fn suite_records(pinned: &PinnedMoment) -> Result<Vec<(SuiteId, SuiteRecord)>, StoreError> {
    let mut found: Vec<(SuiteId, SuiteRecord)> = Vec::new();
    loop {
        let next = found.last().map_or(0, |(suite, _)| suite.0.saturating_add(1));
        let from = SuiteKey { suite: SuiteId(next), row: 0 }.to_bytes();
        match pinned.scan::<SuiteRecords>(&from, None)?.next()? {
            Some(row) => found.push(row),
            None => return Ok(found),
        }
    }
}

impl View {
    /// All suites, by their numbers, those included for which stored texts are still being searched.
    ///
    /// # Errors
    /// [`StoreError`] when a record cannot be read.
    pub fn suites(&self) -> Result<&[(SuiteId, SuiteRecord)], StoreError> {
        if let Some(known) = self.moment.suites.get() {
            return Ok(known);
        }
        let found = suite_records(self.pinned())?;
        Ok(self.moment.suites.get_or_init(|| found))
    }

    /// The suite of that name.
    ///
    /// # Errors
    /// [`StoreError`] when a record cannot be read.
    pub fn suite(&self, name: &str) -> Result<Option<&(SuiteId, SuiteRecord)>, StoreError> {
        Ok(self.suites()?.iter().find(|(_, record)| record.name == name))
    }

    /// The suite of that name, which must be there.
    ///
    /// # Errors
    /// [`StoreError::Unknown`], with those that there are.
    #[doc(hidden)]
    pub fn expect_suite(&self, name: &str) -> Result<(SuiteId, SuiteRecord), StoreError> {
        if let Some(found) = self.suite(name)? {
            return Ok(found.clone());
        }
        let known = self.suites()?.iter().map(|(_, suite)| suite.name.as_str());
        Err(StoreError::Unknown(UnknownName::new("suite", name, known)))
    }

    /// An item of a suite, counted from 0.
    ///
    /// # Errors
    /// [`StoreError`] when the row cannot be read.
    pub fn suite_item(&self, suite: SuiteId, item: u32) -> Result<Option<SuiteItem>, StoreError> {
        let Some(row) = item.checked_add(1) else { return Ok(None) };
        self.pinned().read::<SuiteItems, _>(&(suite, row))
    }

    /// The items of a suite, in their order.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    pub fn suite_items(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<SuiteItem, StoreError>>, StoreError> {
        let from = SuiteKey { suite, row: 1 }.to_bytes();
        let rows = self.pinned().scan::<SuiteItems>(&from, after_prefix(&suite_prefix(suite)))?;
        Ok(rows.filter_map(|_, item| Some(item)))
    }

    /// The error of a row of n-grams that contradicts the others of its suite.
    #[doc(hidden)]
    pub fn corrupt_gram(suite: SuiteId, hash: u64, why: String) -> StoreError {
        let key = SuiteGramKey { suite, hash: hash_bytes(hash) };
        let what = "n-gram of a suite";
        let key = hexadecimal(&key.to_bytes());
        StoreError::Corrupt { what, family: SuiteGrams::NAME, key, offset: 0, why }
    }

    /// The error of an item that contradicts the evidence of its suite.
    #[doc(hidden)]
    pub fn corrupt_item(suite: SuiteId, item: u32, why: String) -> StoreError {
        let key = SuiteKey { suite, row: item.saturating_add(1) };
        corrupt_row::<Suites>(SuiteItems::WHAT, &key.to_bytes(), DecodeError::at(0, why))
    }

    /// What a suite has under each hash, ascending by hash.
    ///
    /// # Errors
    /// [`StoreError`] when the family cannot be read; a row that cannot be read is the last that comes.
    #[doc(hidden)]
    pub fn suite_grams(
        &self,
        suite: SuiteId,
    ) -> Result<impl Iterator<Item = Result<(u64, SuiteGram), StoreError>>, StoreError> {
        let rows = self.pinned().scan_prefix::<SuiteGrams>(&suite_prefix(suite))?;
        Ok(rows.filter_map(|key, gram| Some((hash_of(key.hash), gram))))
    }
}

impl CommitBatch<'_> {
    /// Stores a suite with its items and n-grams, and gives it a number that no other has.
    ///
    /// # Errors
    /// [`StoreError::Name`] when the name is taken or malformed; [`StoreError`] when rows cannot be encoded.
    pub fn add_suite<'i>(
        &mut self,
        record: &SuiteRecord,
        items: impl Iterator<Item = &'i SuiteItem>,
        grams: impl Iterator<Item = (u64, &'i SuiteGram)>,
    ) -> Result<SuiteId, StoreError> {
        let name = &record.name;
        check_name("suite name", name, NameRule::Listed)?;
        let known = self.view().suites()?;
        if known.iter().any(|(_, other)| other.name == *name) {
            return Err(StoreError::Name(format!(
                "suite `{name}` exists already; choose another name, or `corpusdb contamination drop` it first"
            )));
        }
        let suite = SuiteId(known.last().map_or(0, |(suite, _)| suite.0.saturating_add(1)));
        self.put_suite(suite, record)?;
        for (row, item) in (1..).zip(items) {
            self.put::<Suites>(&SuiteKey { suite, row }, &encode_item(item)?)?;
        }
        self.put_suite_grams(suite, grams)?;
        Ok(suite)
    }

    /// Stores the n-grams of a suite.
    pub fn put_suite_grams<'g>(
        &mut self,
        suite: SuiteId,
        grams: impl Iterator<Item = (u64, &'g SuiteGram)>,
    ) -> Result<(), StoreError> {
        for (hash, gram) in grams {
            let key = SuiteGramKey { suite, hash: hash_bytes(hash) };
            self.put::<SuiteGrams>(&key, &encode_gram(gram))?;
        }
        Ok(())
    }

    /// Stores a suite that is there with other items and n-grams, in the same order of items. What texts had of it is
    /// forgotten, what was decided about items and texts stays.
    pub fn replace_suite<'i>(
        &mut self,
        suite: SuiteId,
        record: &SuiteRecord,
        items: impl Iterator<Item = &'i SuiteItem>,
        grams: impl Iterator<Item = (u64, &'i SuiteGram)>,
    ) -> Result<(), StoreError> {
        let from = suite_prefix(suite);
        let to = after_prefix(&from).unwrap_or_default();
        self.delete_range::<SuiteGrams>(from.clone(), to.clone())?;
        self.delete_range::<Contamination>(from, to)?;
        self.put_suite(suite, record)?;
        for (row, item) in (1..).zip(items) {
            self.put::<Suites>(&SuiteKey { suite, row }, &encode_item(item)?)?;
        }
        self.put_suite_grams(suite, grams)
    }

    /// Stores how far texts were searched for a suite.
    ///
    /// # Errors
    /// [`StoreError`] when the record cannot be encoded.
    pub fn put_suite(&mut self, suite: SuiteId, record: &SuiteRecord) -> Result<(), StoreError> {
        self.put::<Suites>(&SuiteKey { suite, row: 0 }, &record.encode()?)
    }

    /// Forgets a suite, what texts have of it, and what was decided about that.
    ///
    /// # Errors
    /// [`StoreError`] when a family is absent.
    pub fn drop_suite(&mut self, suite: SuiteId) -> Result<(), StoreError> {
        let from = suite_prefix(suite);
        let to = after_prefix(&from).unwrap_or_default();
        self.delete_range::<Suites>(from.clone(), to.clone())?;
        self.delete_range::<SuiteGrams>(from.clone(), to.clone())?;
        self.delete_range::<Contamination>(from.clone(), to.clone())?;
        self.delete_range::<Verdicts>(from, to)
    }
}

#[expect(clippy::big_endian_bytes, reason = "a part of a key: byte order is value order")]
const fn hash_bytes(hash: u64) -> [u8; 8] {
    hash.to_be_bytes()
}

#[expect(clippy::big_endian_bytes, reason = "a part of a key: byte order is value order")]
const fn hash_of(bytes: [u8; 8]) -> u64 {
    u64::from_be_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::record::CharterRecord;
    use crate::database::family::RowKind;
    use model::{Normaliser, SuitePart};
    use proptest::prelude::*;

    #[test]
    fn golden_bytes() {
        let answer = ItemText::first(SuitePart::Answer);
        let place = |item, position| GramPlace { item, text: answer, position };
        let seed = SuiteGram::Seed(300, vec![place(2, 1), place(2, 3), place(7, 0)]);
        let bytes = encode_gram(&seed);
        assert_eq!(bytes, [1, 0xac, 2, 2, 1, 1, 0, 1, 3, 5, 1, 0]);
        assert_eq!(decode_gram(&bytes), Ok(seed));
        let short = ShortItem { item: 1, turn: 0, question: vec![1], answer: Vec::new() };
        let second = ShortItem { turn: 1, ..short.clone() };
        let short = SuiteGram::Short(vec![short]);
        let bytes = encode_gram(&short);
        assert_eq!(bytes, [2, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(decode_gram(&bytes), Ok(short));
        let second = SuiteGram::Short(vec![second]);
        let bytes = encode_gram(&second);
        assert_eq!(bytes, [4, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(decode_gram(&bytes), Ok(second));
        // The second text of a part.
        let text = ItemText { number: 1, ..answer };
        let turn = SuiteGram::Piece(vec![GramPlace { item: 2, text, position: 1 }]);
        assert_eq!(encode_gram(&turn), [3, 2, 4, 1]);
        assert_eq!(decode_gram(&[3, 2, 4, 1]), Ok(turn));
        let piece = SuiteGram::Piece(vec![place(2, 1), place(7, 0)]);
        let bytes = encode_gram(&piece);
        assert_eq!(bytes, [3, 2, 1, 1, 5, 1, 0]);
        assert_eq!(decode_gram(&bytes), Ok(piece));
        // Places out of order, one without its end, n-grams of nowhere, an unknown kind.
        for bad in [&[1, 0, 2, 0, 3, 0, 0, 3][..], &[1, 0, 2, 3], &[1, 0], &[3], &[5], &[]] {
            assert!(decode_gram(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn items_of_one_text_a_part_are_stored_as_earlier_releases_do() {
        let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        let mut item =
            SuiteItem { id: "a".to_owned(), parts: [texts(&["q"]), texts(&["a"]), Vec::new()] };
        let bytes = encode_item(&item).unwrap();
        let length = |of: u8| [of, 0, 0, 0, 0, 0, 0, 0];
        let one = |text: &[u8]| [&length(text.len() as u8)[..], text].concat();
        assert_eq!(bytes, [&[1][..], &one(b"a"), &one(b"q"), &one(b"a"), &one(b"")].concat());
        assert_eq!(decode_item(&bytes), Ok(item.clone()));
        item.parts[1] = texts(&["a", "b"]);
        let bytes = encode_item(&item).unwrap();
        let many = |texts: &[Vec<u8>]| [&length(texts.len() as u8)[..], &texts.concat()].concat();
        let parts = [many(&[one(b"q")]), many(&[one(b"a"), one(b"b")]), many(&[])].concat();
        assert_eq!(bytes, [&[2][..], &one(b"a"), &parts].concat());
        assert_eq!(decode_item(&bytes), Ok(item));
    }

    #[test]
    fn a_record_names_its_normaliser_unless_that_is_the_first() {
        let mut record = SuiteRecord {
            name: "s".to_owned(),
            files: vec!["f".to_owned()],
            hash: [7; 32],
            items: 3,
            weak: 1,
            unsearchable: 0,
            grams: 258,
            next: u64::MAX,
            normaliser: Normaliser::Web,
            rule: 1,
        };
        let first = record.encode().unwrap();
        let fields =
            [
                &[
                    1, 0, 0, 0, 0, 0, 0, 0, b's', 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
                    b'f',
                ][..],
                &[7; 32],
                &[3, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 1, 0, 0],
                &[255; 8],
            ]
            .concat();
        assert_eq!(first, [&[1][..], &fields].concat());
        assert_eq!(SuiteRecord::decode(&first), Ok(record.clone()));
        record.normaliser = Normaliser::Web2;
        let second = record.encode().unwrap();
        assert_eq!(second, [&[2][..], &fields, &[5, 0, 0, 0, 0, 0, 0, 0], b"web@2"].concat());
        assert_eq!(SuiteRecord::decode(&second), Ok(record.clone()));
        record.rule = 2;
        let third = record.encode().unwrap();
        let name = [5, 0, 0, 0, 0, 0, 0, 0, b'w', b'e', b'b', b'@', b'2'];
        assert_eq!(third, [&[3][..], &fields, &name, &[2, 0, 0, 0]].concat());
        assert_eq!(SuiteRecord::decode(&third), Ok(record));
        // Earlier releases read the first form alone.
        let refused = record::decode::<CharterRecord>(&second).unwrap_err().why;
        assert!(refused.contains("record format 2, not 1"), "{refused}");
        let newer = [&second[..second.len() - 1], b"9"].concat();
        let refused = SuiteRecord::decode(&newer).unwrap_err().why;
        assert!(refused.contains("normaliser `web@9`"), "{refused}");
        assert!(SuiteRecord::decode(&[&second[..], &[0]].concat()).is_err());
        assert!(SuiteRecord::decode(&second[..20]).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_error_or_a_row(bytes: Vec<u8>, row in 0..3_u32) {
            let _ = decode_gram(&bytes);
            let _ = Suites::decode(&SuiteKey { suite: SuiteId(1), row }, &bytes);
        }
    }
}
