//! Tests of whole fingerprints: known answers, laws and statistics.

use super::{Fingerprinter, Sketch, bands, estimate_floor, reaches, shared, shared_at_least};
use model::{DedupMode, Normaliser, Policy, Profile, Signature, mix64};
use proptest::prelude::*;
use std::collections::BTreeSet;

mod banding;
mod family;
mod sketch;
mod statistics;

fn policy(normaliser: Normaliser) -> Policy {
    Policy { normaliser, ..Policy::new(DedupMode::Witness, 0.8).unwrap() }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is stored or compared across machines, in one line: tokens, hash of the first, digest of the
/// normalised text, number and sum of shingle hashes, digest of the sketch, first and last band.
fn answer(normaliser: Normaliser, text: &str) -> String {
    let policy = policy(normaliser);
    let mut fingerprinter = Fingerprinter::new(&policy);
    let print = fingerprinter.fingerprint(text);
    let first = fingerprinter.tokens(text).first().copied().unwrap_or(0);
    let sketch = print
        .sketch
        .as_ref()
        .map_or(String::new(), |s| hex(&blake3::hash(s.as_bytes()).as_bytes()[..6]));
    let band = print.sketch.as_ref().map_or(vec![], |s| bands(s, &policy));
    format!(
        "{} {first:016x} {} {} {:016x} {sketch} {:010x} {:010x}",
        print.tokens,
        hex(&print.normalised),
        print.shingles.len(),
        print.shingles.iter().fold(0, |sum: u64, x| sum.wrapping_add(*x)),
        band.first().unwrap_or(&0),
        band.last().unwrap_or(&0),
    )
}

fn long_text() -> String {
    (0_u64..2000).map(|n| format!("w{} ", mix64(n) % 997)).collect()
}

#[test]
fn known_answers() {
    let long = long_text();
    let table: &[(Normaliser, &str, &str)] = &[
        (
            Normaliser::Web,
            "",
            "0 0000000000000000 af1349b9f5f9a1a6a0404dea36dcc949 0 0000000000000000  0000000000 0000000000",
        ),
        (
            Normaliser::Web,
            "The quick brown fox",
            "4 cb1283631cf33d7d 66408af29a3c07d573a09209b5779a56 1 559ea5cc29e96c0d  0000000000 0000000000",
        ),
        (
            Normaliser::Web,
            "The quick brown fox jumps over the lazy dog: can't stop, 3.14!",
            "12 cb1283631cf33d7d 57f20f2d0d763e1e4b11056e97bbc407 8 90b3c79dce80dc2a 16d67da252ce 3a94ad7b91 f9152ec08a",
        ),
        (
            Normaliser::Web,
            "ΟΔΟΣ naïve Привет МИР 我爱北京 ที่นี่ नमस्ते 한국어 😀",
            "13 81181ff48b6cc0f9 97fe4f03d8b616cdb17ea9efbd41fa57 9 31c750c737c16ae9 2582246e2c6b 6e686542dd 3b2f3869d4",
        ),
        (
            Normaliser::Web,
            &long,
            "2000 24883d9cd34fccaf ff1c8d2b04c9aad16f3d89818ba0962f 1996 65ec4abf120ecc77 0c3c3afbd614 75a3981830 9757047665",
        ),
        (
            Normaliser::Code,
            "fn main() { let x = a.b[3]; }",
            "16 8c3de5e3e2c1854f 15e318c69885ac6bed27d170fdc9153f 12 4d600ad7f4d7c7ca 74541fd3ce45 5327b2ba51 c7234666a9",
        ),
    ];
    for (normaliser, text, expected) in table {
        let start: String = text.chars().take(30).collect();
        assert_eq!(&answer(*normaliser, text), expected, "{normaliser:?} of {start:?}");
    }
}

#[test]
fn tables_are_of_the_unicode_version_of_this_signature() {
    let version = (17, 0, 0);
    assert_eq!(char::UNICODE_VERSION, version);
    assert_eq!(unicode_normalization::UNICODE_VERSION, version);
    assert_eq!(unicode_segmentation::UNICODE_VERSION, (17, 0, 0));
}

#[test]
fn short_texts_match_only_exactly() {
    let mut fingerprinter = Fingerprinter::new(&policy(Normaliser::Web));
    let mut of = |text| fingerprinter.fingerprint(text);
    let (empty, one, four, five, six) =
        (of("..."), of("a"), of("a b c d"), of("a b c d e"), of("a b c d e f"));
    assert_eq!((empty.tokens, empty.shingles.len(), empty.sketch), (0, 0, None));
    assert_eq!((one.tokens, one.shingles.len(), one.sketch), (1, 1, None));
    assert_eq!((four.tokens, four.shingles.len(), four.sketch), (4, 1, None));
    assert_eq!((five.tokens, five.shingles.len(), five.sketch.is_some()), (5, 1, true));
    assert_eq!((six.tokens, six.shingles.len()), (6, 2));
    assert_eq!(shared(&five.shingles, &six.shingles), 1);
    assert_eq!(of("A; b... C\nd").normalised, four.normalised);
    assert_ne!(of("a b d c").normalised, four.normalised);
    assert_eq!(of(&"x ".repeat(5000)).shingles.len(), 1);
}

#[test]
fn a_small_change_keeps_texts_close() {
    let text = long_text();
    let changed = text.replacen("w500 ", "other ", 1);
    let mut fingerprinter = Fingerprinter::new(&policy(Normaliser::Web));
    let (a, b) = (fingerprinter.fingerprint(&text), fingerprinter.fingerprint(&changed));
    assert_ne!(a.normalised, b.normalised);
    let shared = shared_at_least(&a.shingles, &b.shingles, 0.8).expect("one word of 2000");
    let jaccard = f64::from(shared)
        / f64::from(u32::try_from(a.shingles.len() + b.shingles.len()).unwrap() - shared);
    assert!(jaccard > 0.98 && jaccard < 1.0);
    let estimate = a.sketch.unwrap().estimate(&b.sketch.unwrap());
    assert!((estimate - jaccard).abs() < 0.03, "{estimate} for {jaccard}");
}

#[test]
fn thresholds_are_reached_as_decimals_read() {
    assert!(reaches(4, 4, 5, 0.8));
    assert!(!reaches(79, 90, 89, 0.8));
    assert!(reaches(80, 90, 90, 0.8));
    assert!(reaches(7, 7, 10, 0.7));
    assert!(reaches(3, 3, 3, 1.0));
    assert!(!reaches(0, 0, 0, 0.1));
    assert!(!reaches(3, 3, 3, f64::NAN));
}

#[test]
fn the_floor_lies_four_deviations_below() {
    let floor = |signature, threshold, hashes| {
        estimate_floor(&Policy { signature, threshold, hashes, ..Policy::of(Profile::Web) })
    };
    let native = |threshold, hashes| floor(Signature::Native, threshold, hashes);
    assert!((native(0.8, 256) - 0.6999).abs() < 1e-3);
    assert!((native(1.0, 256) - 1.0).abs() < f64::EPSILON);
    assert!(native(0.1, 256) < 0.03 && native(0.1, 0) >= 0.0);
    // 0.8 - 4 sqrt(0.8 x 0.2 / 256), and nothing for chance.
    assert!((floor(Signature::Bigcode, 0.8, 256) - 0.7).abs() < 1e-9);
    assert!(native(0.5, 256) < floor(Signature::Bigcode, 0.5, 256));
}

#[test]
fn sketches_come_back_from_their_bytes() {
    let sketch = Sketch::of(&[1, 2, 3]);
    let native = Policy::of(Profile::Web);
    assert_eq!(Sketch::from_bytes(sketch.as_bytes(), &native), Some(sketch.clone()));
    assert_eq!(Sketch::from_bytes(&[0; 255], &native), None);
    assert_eq!(Sketch::from_bytes(&[0; 1024], &native), None);
    let policy = Policy { hashes: 9, bands: 3, rows: 3, ..Policy::of(Profile::Bigcode) };
    let text = "int main(void) { return 0; }";
    let full = Fingerprinter::new(&policy).fingerprint(text).sketch.unwrap();
    assert_eq!(full.as_bytes().len(), 36);
    assert_eq!(Sketch::from_bytes(full.as_bytes(), &policy), Some(full.clone()));
    for wrong in [0, 9, 35, 37, 256] {
        assert_eq!(Sketch::from_bytes(&vec![0; wrong], &policy), None);
    }
    assert_eq!(
        (full.estimate(&full), full.estimate(&sketch), sketch.estimate(&full)),
        (1.0, 0.0, 0.0)
    );
}

fn set(values: impl Strategy<Value = u64>, most: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::btree_set(values, 0..most).prop_map(|set| set.into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(500), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn overlap_equals_that_of_sets(a in set(0..300_u64, 250), b in set(0..300_u64, 250), threshold in 0.1..=1.0) {
        let (sa, sb): (BTreeSet<_>, BTreeSet<_>) = (a.iter().collect(), b.iter().collect());
        let naive = sa.intersection(&sb).count();
        let union = sa.union(&sb).count();
        prop_assert_eq!(shared(&a, &b) as usize, naive);
        let exact = naive as f64 / union as f64;
        for threshold in [threshold, 0.8, exact.clamp(0.1, 1.0)] {
            let expected = (union > 0 && exact >= threshold).then_some(naive as u32);
            prop_assert_eq!(shared_at_least(&a, &b, threshold), expected);
            prop_assert_eq!(shared_at_least(&b, &a, threshold), expected);
        }
    }

    #[test]
    fn similar_sets_are_decided_like_naive_ones(a in set(any::<u64>(), 400), drop in 0..400_usize, other in 0..60_u64, threshold in 0.5..=1.0) {
        let mut b: Vec<u64> = a.iter().copied().enumerate().filter(|(at, _)| at % 400 != drop).map(|(_, x)| x).collect();
        b.extend(0..other);
        b.sort_unstable();
        b.dedup();
        let naive = shared(&a, &b) as usize;
        let expected = reaches(naive, a.len(), b.len(), threshold).then_some(naive as u32);
        prop_assert_eq!(shared_at_least(&a, &b, threshold), expected);
    }

    #[test]
    fn a_fingerprint_is_a_function_of_the_text(texts in prop::collection::vec("\\PC{0,60}|[a-d é漢]{0,300}", 1..6)) {
        let mut reused = Fingerprinter::new(&policy(Normaliser::Web));
        for text in &texts {
            let print = reused.fingerprint(text);
            prop_assert_eq!(&print, &Fingerprinter::new(&policy(Normaliser::Web)).fingerprint(text));
            prop_assert_eq!(&print.shingles, &reused.shingles(text));
            prop_assert!(print.shingles.is_sorted_by(|a, b| a < b));
            if let Some(sketch) = print.sketch {
                prop_assert_eq!(sketch.estimate(&sketch), 1.0);
            }
        }
    }

    #[test]
    fn a_sketch_is_a_function_of_the_set(mut set in prop::collection::vec(any::<u64>(), 1..400), turn in any::<usize>()) {
        let sketch = Sketch::of(&set);
        let turn = turn % set.len();
        set.rotate_left(turn);
        set.push(set[0]);
        prop_assert_eq!(Sketch::of(&set), sketch);
    }
}
