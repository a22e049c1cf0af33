//! SHA-1 (RFC 3174), for signatures that published code defines by it; not for security.

use std::array;

/// Bytes of a block.
const BLOCK: usize = 64;

/// The first four bytes of the SHA-1 digest of `bytes`, as a little-endian number.
pub(super) fn sha1_32(bytes: &[u8]) -> u32 {
    digest(bytes)[0].swap_bytes()
}

/// The digest as five big-endian words.
fn digest(bytes: &[u8]) -> [u32; 5] {
    let mut state = [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476, 0xc3d2_e1f0];
    let (blocks, rest) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        compress(&mut state, block);
    }
    let bits = u64::try_from(bytes.len()).unwrap_or(u64::MAX).wrapping_mul(8);
    let length = bits.to_le_bytes();
    // A one bit, zeros, and the length in bits: one block more or two.
    let mut tail = [0; 2 * BLOCK];
    let used = if rest.len() < BLOCK - length.len() { BLOCK } else { 2 * BLOCK };
    let end = rest.iter().chain(&[0x80]);
    tail.iter_mut().zip(end).for_each(|(to, from)| *to = *from);
    let last = tail.iter_mut().take(used).rev().zip(length);
    last.for_each(|(to, from)| *to = from);
    let (blocks, _) = tail.as_chunks::<BLOCK>();
    for block in blocks.iter().take(used / BLOCK) {
        compress(&mut state, block);
    }
    state
}

#[expect(clippy::indexing_slicing, reason = "rounds are 0 to 79, places of the schedule modulo 16")]
fn compress(state: &mut [u32; 5], block: &[u8; BLOCK]) {
    let (words, _) = block.as_chunks::<4>();
    let mut schedule: [u32; 16] =
        array::from_fn(|place| u32::from_le_bytes(words[place]).swap_bytes());
    let [mut a, mut b, mut c, mut d, mut e] = *state;
    for round in 0..80 {
        let at = round % 16;
        if round >= 16 {
            let mixed = schedule[(round + 13) % 16]
                ^ schedule[(round + 8) % 16]
                ^ schedule[(round + 2) % 16]
                ^ schedule[at];
            schedule[at] = mixed.rotate_left(1);
        }
        let (choice, constant) = match round / 20 {
            0 => ((b & c) | (!b & d), 0x5a82_7999),
            1 => (b ^ c ^ d, 0x6ed9_eba1),
            2 => ((b & c) | (b & d) | (c & d), 0x8f1b_bcdc),
            _ => (b ^ c ^ d, 0xca62_c1d6_u32),
        };
        let next = a
            .rotate_left(5)
            .wrapping_add(choice)
            .wrapping_add(e)
            .wrapping_add(schedule[at])
            .wrapping_add(constant);
        (a, b, c, d, e) = (next, a, b.rotate_left(30), c, d);
    }
    for (word, change) in state.iter_mut().zip([a, b, c, d, e]) {
        *word = word.wrapping_add(change);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(bytes: &[u8]) -> String {
        digest(bytes).iter().map(|word| format!("{word:08x}")).collect()
    }

    #[test]
    fn vectors_of_the_standard() {
        for (text, times, expected) in [
            ("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                1,
                "84983e441c3bd26ebaae4aa1f95129e5e54670f1",
            ),
            ("a", 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
            (
                "0123456701234567012345670123456701234567012345670123456701234567",
                10,
                "dea356a2cddd90c7a7ecedc5ebb563934f460452",
            ),
        ] {
            assert_eq!(hex(text.repeat(times).as_bytes()), expected, "{times} times {text:?}");
        }
    }

    #[test]
    fn every_length_of_the_last_block() {
        // The XOR of the digests of 0 to 200 bytes `x`, by another implementation.
        let mut sum = [0; 5];
        for length in 0..=200 {
            let digest = digest("x".repeat(length).as_bytes());
            sum.iter_mut().zip(digest).for_each(|(sum, word)| *sum ^= word);
        }
        assert_eq!(sum, XOR_OF_200);
    }

    #[test]
    fn the_number_is_little_endian() {
        assert_eq!(sha1_32(b"hello"), 499_578_026);
    }

    const XOR_OF_200: [u32; 5] = [0xa116_94a9, 0xc14c_1c37, 0x18c4_68bc, 0x6d4f_b4c3, 0x8c27_9386];
}
