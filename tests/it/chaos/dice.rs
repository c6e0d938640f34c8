//! Seeded chance: the same seed throws the same numbers.

/// splitmix64
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The seed that `MIPAM_CHAOS_SEED` says, else a new one; printed, so that a failure can be tried again.
    pub fn seed() -> u64 {
        use std::hash::{BuildHasher as _, Hasher as _, RandomState};
        let seed = std::env::var("MIPAM_CHAOS_SEED").ok().map_or_else(
            || RandomState::new().build_hasher().finish(),
            |text| text.parse().expect("MIPAM_CHAOS_SEED is a number"),
        );
        eprintln!("MIPAM_CHAOS_SEED={seed}");
        seed
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Dice of its own, for a thread that must not disturb the order of these.
    pub fn split(&mut self) -> Self {
        Self(self.next())
    }

    /// From 0 to `n` - 1.
    pub fn below(&mut self, n: usize) -> usize {
        usize::try_from(self.next() % n as u64).expect("less than n")
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'t, T>(&mut self, from: &'t [T]) -> &'t T {
        &from[self.below(from.len())]
    }
}
