//! Repeatable random numbers.

/// SplitMix64: the same numbers for the same seed.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The numbers of one thing that chance decides, so that one more decision there changes nothing elsewhere.
    pub(crate) fn of(seed: u64, what: &str) -> Self {
        let mut random = Self(seed);
        for byte in what.bytes() {
            random.0 = random.next() ^ u64::from(byte);
        }
        random
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below this one.
    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    /// A number of any size up to this one: small ones as often as large ones.
    pub(crate) fn of_any_size(&mut self, most: u64) -> u64 {
        let bits = 64 - most.leading_zeros();
        let size = self.below(u64::from(bits) + 1);
        self.below(1 << size).min(most)
    }

    /// Whether something happens that does so this often in ten thousand times.
    pub(crate) fn happens(&mut self, in_ten_thousand: u64) -> bool {
        self.below(10_000) < in_ten_thousand
    }

    pub(crate) fn one_of<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let at = self.below(of.len() as u64);
        &of[usize::try_from(at).unwrap_or_default()]
    }
}
