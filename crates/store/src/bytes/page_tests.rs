//! Tests of string pages: golden bytes, values that come back, and bytes of strangers.

use super::*;
use proptest::prelude::*;

const COLUMNS: [StringColumn; 3] = [StringColumn::Text, StringColumn::Key, StringColumn::Metadata];
const CODECS: [PageCodec; 3] = [PageCodec::Plain, PageCodec::Zstd, PageCodec::Lz4];

fn encoded(codec: PageCodec, column: StringColumn, values: &[Option<&[u8]>]) -> Vec<u8> {
    PageEncoder::new().unwrap().encode_as(codec, column, values).unwrap()
}

/// The values of a page; an error of the head or of the body.
fn decoded(column: StringColumn, page: &[u8]) -> Result<Vec<Option<Vec<u8>>>, DecodeError> {
    let head = StringPage::read(column, page)?;
    let body = head.body(&mut PageDecoder::new().unwrap())?;
    assert_eq!(body.ends().len(), head.documents());
    assert_eq!(body.bytes().len(), head.raw_bytes());
    let slots = 0..head.documents() as u16;
    Ok(slots.map(|slot| body.get(slot).map(<[u8]>::to_vec)).collect())
}

fn bytes(parts: &[&[u8]]) -> Vec<u8> {
    parts.concat()
}

/// A page with another number in its head, and the check that fits.
fn changed(page: &[u8], at: usize, number: &[u8]) -> Vec<u8> {
    let mut page = page.to_vec();
    page[at..at + number.len()].copy_from_slice(number);
    put_check(&mut page, CHECK);
    page
}

#[test]
fn golden_bytes_of_plain_texts() {
    let page = encoded(PageCodec::Plain, StringColumn::Text, &[Some(b"ab"), None, Some(b"c")]);
    let lengths = NumberBlock::of([Some(2), None, Some(1)]).encode();
    let head = [1, 0, 2, 0, 3, 0, 0, 0, 3, 0, 0, 0];
    assert_eq!(page, bytes(&[&head, &[192, 184, 138, 239], &lengths, b"abc"]));
}

#[test]
fn golden_bytes_of_keys() {
    let long = [b'z'; 40];
    let keys = [None, Some(b"k1".as_slice()), Some(&long), Some(b"k2")];
    let page = encoded(PageCodec::Plain, StringColumn::Key, &keys);
    let lengths = NumberBlock::of([None, Some(2), Some(40), Some(2)]).encode();
    let head = [1, 0, 3, 0, 44, 0, 0, 0, 44, 0, 0, 0];
    let bounds = bytes(&[b"\x02k1", &[0x80 | 32], &[b'z'; 32]]);
    let body = bytes(&[b"k1", &long, b"k2"]);
    assert_eq!(page[..12], head);
    assert_eq!(page[16..], bytes(&[&lengths, &bounds, &body]));
}

/// What is read is held fast; what zstd and lz4 write is theirs, and this test alone knows it.
#[test]
fn golden_bytes_of_each_codec() {
    let text = b"the same words, the same words, the same words";
    let lengths = NumberBlock::of([Some(46)]).encode();
    let cases: [(PageCodec, &[u8]); 2] = [
        (
            PageCodec::Zstd,
            b"\x28\xb5\x2f\xfd\x20\x2e\xb5\0\0\x80the same words, \x01\0\x46\x9c\x4b",
        ),
        (PageCodec::Lz4, b"\xff\x01the same words, \x10\0\x05\x60 words"),
    ];
    for (codec, body) in cases {
        let head = [1, codec as u8, 0, 0, 46, 0, 0, 0, body.len() as u8, 0, 0, 0, 0, 0, 0, 0];
        let mut page = bytes(&[&head, &lengths, body]);
        put_check(&mut page, CHECK);
        assert_eq!(decoded(StringColumn::Text, &page), Ok(vec![Some(text.to_vec())]), "{codec:?}");
        assert_eq!(encoded(codec, StringColumn::Text, &[Some(text)]), page, "{codec:?}");
    }
}

#[test]
fn pages_have_the_codec_of_their_values() {
    let codec = |column, count: usize, value: &[u8]| {
        let page = PageEncoder::new().unwrap().encode(column, &vec![Some(value); count]).unwrap();
        StringPage::read(column, &page).unwrap().codec()
    };
    let text = b"a text with some words in it".repeat(9);
    for column in [StringColumn::Text, StringColumn::Metadata] {
        assert_eq!(codec(column, 8, &text), PageCodec::Zstd);
        assert_eq!(codec(column, 9, &text), PageCodec::Lz4);
        assert_eq!(codec(column, 1, b"short"), PageCodec::Plain);
    }
    assert_eq!(codec(StringColumn::Key, 9, &text), PageCodec::Zstd);
    assert_eq!(codec(StringColumn::Key, 3, b""), PageCodec::Plain);
}

#[test]
fn a_page_has_1_to_65536_documents() {
    let mut encoder = PageEncoder::new().unwrap();
    let mut page = |count| encoder.encode(StringColumn::Text, &vec![None; count]);
    assert!(page(0).is_err() && page(65_537).is_err());
    let page = page(65_536).unwrap();
    let head = StringPage::read(StringColumn::Text, &page).unwrap();
    assert_eq!((head.documents(), head.lengths().len()), (65_536, 0));
    assert_eq!(head.body(&mut PageDecoder::new().unwrap()).unwrap().get(u16::MAX), None);
}

/// Sizes that a page cannot have, under a check that fits: refused before memory is taken.
#[test]
fn sizes_that_cannot_be_are_refused_by_the_head() {
    let text = b"words ".repeat(2000);
    for codec in [PageCodec::Zstd, PageCodec::Lz4] {
        let page = encoded(codec, StringColumn::Text, &[Some(&text)]);
        let head = StringPage::read(StringColumn::Text, &page).unwrap();
        assert_eq!(head.codec(), codec);
        // 4 GiB, in agreement with the one length.
        let huge = changed(&page, 4, &u32::MAX.to_le_bytes());
        let huge = changed(&huge, HEAD + 7, &i64::from(u32::MAX).to_le_bytes());
        let error = StringPage::read(StringColumn::Text, &huge).unwrap_err();
        assert!(error.why.contains("said for 4294967295"), "{error:?}");
        // One more than there is.
        let more = changed(&page, 4, &12_001_u32.to_le_bytes());
        assert!(StringPage::read(StringColumn::Text, &more).is_err());
        let more = changed(&more, HEAD + 7, &12_001_i64.to_le_bytes());
        assert!(decoded(StringColumn::Text, &more).is_err());
        // One less than the body makes.
        let less = changed(&page, 4, &11_999_u32.to_le_bytes());
        let less = changed(&less, HEAD + 7, &11_999_i64.to_le_bytes());
        assert!(decoded(StringColumn::Text, &less).is_err());
    }
    // Lengths whose sum is beyond 64 bits.
    let page = encoded(PageCodec::Plain, StringColumn::Text, &[Some(b"a"), Some(b"a")]);
    let huge = changed(&page, HEAD + 7, &i64::MAX.to_le_bytes());
    assert!(StringPage::read(StringColumn::Text, &huge).is_err());
}

#[test]
fn a_bit_flipped_or_a_byte_gone_is_an_error() {
    let text = b"the same words, the same words, the same words".repeat(3);
    for (column, codec) in COLUMNS.into_iter().flat_map(|c| CODECS.map(|codec| (c, codec))) {
        let page = encoded(codec, column, &[Some(&text), None, Some(b"x")]);
        for at in 0..page.len() {
            assert!(decoded(column, &page[..at]).is_err(), "{at}");
            let mut other = page.clone();
            other[at] ^= 4;
            assert!(decoded(column, &other).is_err(), "{at}");
        }
    }
}

fn values() -> impl Strategy<Value = Vec<Option<Vec<u8>>>> {
    let word = prop_oneof![Just(b"words that come again ".to_vec()), any::<Vec<u8>>()];
    let value = proptest::collection::vec(word, 0..4).prop_map(|words| words.concat());
    proptest::collection::vec(proptest::option::weighted(0.8, value), 1..40)
}

proptest! {
    #[test]
    fn values_round_trip(values in values(), column in 0..3_usize, codec in 0..3_usize) {
        let (column, lent) = (COLUMNS[column], values.iter().map(Option::as_deref).collect::<Vec<_>>());
        let page = encoded(CODECS[codec], column, &lent);
        prop_assert_eq!(decoded(column, &page), Ok(values.clone()));
        let head = StringPage::read(column, &page).unwrap();
        for (slot, value) in lent.iter().enumerate() {
            let length = head.lengths().get(slot as u16);
            prop_assert_eq!(length, value.map(|value| value.len() as i64));
        }
        prop_assert_eq!(head.bounds().is_some(), column == StringColumn::Key && lent.iter().any(Option::is_some));
        if let Some((least, most)) = head.bounds() {
            for key in lent.iter().flatten() {
                prop_assert!(least.bytes <= *key);
                prop_assert!(*key <= most.bytes || most.is_cut && key[..BOUND] <= *most.bytes);
            }
            prop_assert!(lent.iter().flatten().any(|key| key.starts_with(least.bytes)));
            prop_assert!(lent.iter().flatten().any(|key| key.starts_with(most.bytes)));
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_page(mut bytes: Vec<u8>, column in 0..3_usize) {
        let _ = decoded(COLUMNS[column], &bytes);
        // A form and a codec that are known, and a check that fits.
        if bytes.len() >= HEAD {
            (bytes[0], bytes[1]) = (FORM, bytes[1] % 3);
            put_check(&mut bytes, CHECK);
            let _ = decoded(COLUMNS[column], &bytes);
        }
    }

    #[test]
    fn pages_with_other_bytes_are_an_error_or_a_page(
        values in values(),
        column in 0..3_usize,
        codec in 0..3_usize,
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in proptest::option::of(any::<prop::sample::Index>()),
    ) {
        let (column, lent) = (COLUMNS[column], values.iter().map(Option::as_deref).collect::<Vec<_>>());
        let good = encoded(CODECS[codec], column, &lent);
        let mut page = good.clone();
        for (at, byte) in changes {
            let at = at.index(page.len());
            page[at] = byte;
        }
        page.truncate(cut.map_or(page.len(), |cut| cut.index(page.len())));
        if page != good {
            prop_assert!(decoded(column, &page).is_err());
        }
        // With a check that fits, the decoders meet it.
        put_check(&mut page, CHECK);
        if let Ok(values) = decoded(column, &page) {
            let head = StringPage::read(column, &page).unwrap();
            prop_assert_eq!(values.iter().flatten().map(Vec::len).sum::<usize>(), head.raw_bytes());
        }
    }
}
