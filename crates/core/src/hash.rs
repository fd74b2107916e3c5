//! FNV-1a: quick, spreads short texts well, and never changes, which what is stored must not. It keeps nobody out.

/// Of all parts, one after the other.
pub fn fnv64(parts: &[&[u8]]) -> u64 {
    const START: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0000_0100_0000_01b3;
    bytes(parts).fold(START, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(PRIME))
}

/// The same, for many more things than 64 bits tell apart.
pub fn fnv128(parts: &[&[u8]]) -> u128 {
    const START: u128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d;
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;
    bytes(parts).fold(START, |hash, byte| (hash ^ u128::from(byte)).wrapping_mul(PRIME))
}

fn bytes<'a>(parts: &'a [&'a [u8]]) -> impl Iterator<Item = u8> + 'a {
    parts.iter().flat_map(|part| part.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The test vectors of its authors.
    #[test]
    fn known_texts_have_their_known_hashes() {
        assert_eq!(
            (fnv64(&[]), fnv64(&[b"a"]), fnv64(&[b"foo", b"bar"])),
            (0xcbf2_9ce4_8422_2325, 0xaf63_dc4c_8601_ec8c, 0x8594_4171_f739_67e8)
        );
        assert_eq!(fnv128(&[b"foo", b"bar"]), 0x343e_1662_793c_64bf_6f0d_3597_ba44_6f18);
    }
}
