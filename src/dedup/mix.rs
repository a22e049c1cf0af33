//! The two bit mixers of the signature, with their frozen constants.

/// 2^64 divided by the golden ratio: the step between streams that one value feeds.
pub(super) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A bijection of 64 bits in which every output bit depends on every input bit (SplitMix64's).
pub(super) const fn mix64(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// A bijection of 32 bits in which every output bit depends on every input bit (MurmurHash3's).
pub(super) const fn mix32(value: u32) -> u32 {
    let value = (value ^ (value >> 16)).wrapping_mul(0x85eb_ca6b);
    let value = (value ^ (value >> 13)).wrapping_mul(0xc2b2_ae35);
    value ^ (value >> 16)
}
