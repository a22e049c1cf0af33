//! Tests of bands: their number by the policy, their hashes by the sketch, and what they find.

use super::policy;
use crate::dedup::{Fingerprinter, Sketch, bands};
use model::{DedupMode, Normaliser, Policy, Profile, Signature, mix64};
use proptest::prelude::*;
use std::collections::BTreeSet;

#[test]
fn bands_are_40_bits_and_find_pairs_as_the_policy_says() {
    let policy = policy(Normaliser::Web);
    let (mut found, trials, n, common) = (0, 2000, 300_u64, 267_u64);
    for trial in 0..trials {
        let member = |k: u64| mix64(mix64(trial) ^ mix64(k));
        let a = bands(&Sketch::of(&(0..n).map(member).collect::<Vec<_>>()), &policy);
        let b = bands(
            &Sketch::of(&(n - common..2 * n - common).map(member).collect::<Vec<_>>()),
            &policy,
        );
        assert_eq!(a.len(), 32);
        assert!(a.iter().all(|hash| *hash < 1 << 40));
        found += u64::from(a.iter().zip(&b).any(|(a, b)| a == b));
    }
    assert!(found * 1000 >= trials * 990, "{found} of {trials} found");
}

#[test]
fn bands_differ_by_number_and_ignore_what_is_left_over() {
    let mut policy = Policy::new(DedupMode::Witness, 0.7).unwrap();
    let mut slots = [7; 256];
    let sketch = Sketch::from_bytes(&slots, &policy).unwrap();
    let of = bands(&sketch, &policy);
    assert_eq!(of.iter().collect::<BTreeSet<_>>().len(), 42);
    slots[252..].fill(9);
    let sketch = Sketch::from_bytes(&slots, &policy).unwrap();
    assert_eq!(bands(&sketch, &policy), of);
    slots[251] = 9;
    let sketch = Sketch::from_bytes(&slots, &policy).unwrap();
    assert_eq!(bands(&sketch, &policy)[..41], of[..41]);
    assert_ne!(bands(&sketch, &policy)[41], of[41]);
    policy.rows = 0;
    assert_eq!(bands(&sketch, &policy).len(), 42);
    policy.rows = 1000;
    assert!(bands(&sketch, &policy).is_empty());
}

/// Chance that a pair of similarity `jaccard` shares a band, written out.
fn chance(bands: u32, rows: u32, jaccard: f64) -> f64 {
    let band: f64 = (0..rows).map(|_| jaccard).product();
    1.0 - (0..bands).map(|_| 1.0 - band).product::<f64>()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: testing::cases(2000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_threshold_has_the_most_rows_that_find_it(threshold in 0.1..=1.0, hashes in 1..=4096_u32, native in any::<bool>()) {
        /// More rows a band are never asked for.
        const MOST_ROWS: u32 = 16;
        let mut policy = Policy::of(if native { Profile::Web } else { Profile::Bigcode });
        policy.hashes = if native { 256 } else { hashes };
        policy.set_threshold(threshold).unwrap();
        prop_assert!(policy.check().is_ok());
        let Policy { hashes, bands, rows, .. } = policy;
        prop_assert_eq!(bands, (hashes / rows).min(256), "as many bands as there are slots for");
        let found = chance(bands, rows, threshold);
        prop_assert!((policy.detection(threshold) - found).abs() < 1e-9);
        prop_assert!(rows == 1 || found >= 0.99 - 1e-9, "{} bands of {} find {}", bands, rows, found);
        for more in rows + 1..=MOST_ROWS.min(hashes) {
            let found = chance((hashes / more).min(256), more, threshold);
            prop_assert!(found < 0.99 + 1e-9, "{} rows would do", more);
        }
    }

    #[test]
    fn a_native_sketch_finds_every_threshold(threshold in 0.1..=1.0) {
        let policy = Policy::new(DedupMode::Witness, threshold).unwrap();
        prop_assert!(policy.detection(threshold) >= 0.99);
        prop_assert!(policy.detection(1.0) >= 1.0);
        let curve: Vec<f64> = (0..=100).map(|at| policy.detection(f64::from(at) / 100.0)).collect();
        prop_assert!(curve.is_sorted(), "more similar pairs are found more often");
    }

    #[test]
    fn bands_see_their_own_slots_alone(bands_asked in 1..=256_u32, rows in 1..=300_u32, slot in 0..256_usize, full in any::<bool>()) {
        let hashes = 256;
        let mut policy = Policy { bands: bands_asked, rows, hashes, ..Policy::of(Profile::Web) };
        if full {
            policy.signature = Signature::Bigcode;
        }
        let width = if full { 4 } else { 1 };
        let mut bytes: Vec<u8> = (0..256 * width).map(|at| (mix64(at as u64) & 0xff) as u8).collect();
        let one = Sketch::from_bytes(&bytes, &policy).unwrap();
        bytes[slot * width] ^= 1;
        let other = Sketch::from_bytes(&bytes, &policy).unwrap();
        let (one, other) = (bands(&one, &policy), bands(&other, &policy));
        let rows = rows as usize;
        let there = (bands_asked as usize).min(256 / rows);
        prop_assert_eq!(one.len(), there);
        prop_assert_eq!(policy.check().is_ok(), bands_asked as usize == there);
        for (band, (one, other)) in one.iter().zip(&other).enumerate() {
            prop_assert_eq!(one != other, slot / rows == band, "band {} of slot {}", band, slot);
            prop_assert!(*one < 1 << 40);
        }
    }
}

#[test]
fn every_profile_has_a_banding_of_its_own_that_its_sketch_fills() {
    for (profile, bands_of, rows, found) in [
        (Profile::Web, 32, 8, 0.997),
        (Profile::Code, 42, 6, 0.995),
        (Profile::Bigcode, 25, 10, 0.511),
        (Profile::Fineweb, 14, 8, 0.772),
        (Profile::Slimpajama, 9, 13, 0.399),
    ] {
        let policy = Policy::of(profile);
        assert!(policy.check().is_ok());
        assert_eq!((policy.bands, policy.rows), (bands_of, rows), "{}", profile.name());
        let at = policy.detection(policy.threshold);
        assert!((at - found).abs() < 5e-4, "{} finds {at} at its threshold", profile.name());
        let text: String = (0..50).map(|word| format!("word{word} ")).collect();
        let print = Fingerprinter::new(&policy).fingerprint(&text);
        assert_eq!(bands(&print.sketch.unwrap(), &policy).len(), bands_of as usize);
    }
}
