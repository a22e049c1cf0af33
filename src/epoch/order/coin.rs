//! Keyed coins: decisions about single documents that depend on nothing but a seed and the document.

/// A number in 0..1, even, for `what` under `purpose` and `seed`: the first 53 bits of BLAKE3 in
/// `derive_key` mode, context `corpusdb 2026 epoch coin v1`, over seed u64, length of the purpose u64,
/// purpose, what (integers little-endian).
pub(in crate::epoch) fn share(purpose: &str, seed: u64, what: &[u8]) -> f64 {
    let mut hasher = blake3::Hasher::new_derive_key("corpusdb 2026 epoch coin v1");
    hasher.update(&seed.to_le_bytes());
    hasher.update(&(purpose.len() as u64).to_le_bytes());
    hasher.update(purpose.as_bytes());
    hasher.update(what);
    let mut bytes = [0; 8];
    hasher.finalize_xof().fill(&mut bytes);
    (u64::from_le_bytes(bytes) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coins_are_even_and_depend_on_seed_and_purpose() {
        let mean = |seed, purpose| {
            (0..20_000_u64).map(|id| share(purpose, seed, &id.to_le_bytes())).sum::<f64>()
                / 20_000.0
        };
        assert!((mean(0, "holdout") - 0.5).abs() < 0.01);
        assert!(
            mean(0, "holdout") != mean(1, "holdout") && mean(0, "holdout") != mean(0, "repeat")
        );
    }
}
