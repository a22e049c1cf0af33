//! How many cases the random searches of the unit tests take.

/// `few`, as many times as `CORPUSDB_SEEDS` says (`make soak SEEDS=25`).
pub fn cases(few: u32) -> u32 {
    let times: u32 = std::env::var("CORPUSDB_SEEDS").map_or(1, |text| text.parse().unwrap());
    few.saturating_mul(times)
}
