//! What can happen in a random world, and how often.

/// One step of a story; numbers choose among what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Create {
        name: u8,
        devices: u8,
        preset: Option<u8>,
        tier: u8,
    },
    Delete {
        name: u8,
        held: bool,
    },
    Finish {
        name: u8,
    },
    Recreate {
        name: u8,
    },
    Preset {
        name: u8,
        address: u8,
    },
    Wipe {
        name: u8,
    },
    Unhook {
        name: u8,
    },
    Rehook {
        name: u8,
    },
    Pause {
        name: u8,
    },
    Relabel {
        name: u8,
        tier: u8,
    },
    /// It gets something that is no address.
    Spoil {
        name: u8,
    },
    /// A Node shows an address, or nothing any more.
    Node {
        name: u8,
        address: Option<u8>,
    },
    /// The status of a machine shows an address, or nothing any more.
    Status {
        name: u8,
        address: Option<u8>,
    },
    /// The clock goes on, or jumps back.
    Clock {
        seconds: i16,
    },
    Edit {
        pool: u8,
        how: Edit,
    },
    Request {
        run: u8,
        trouble: Trouble,
    },
    Kill {
        run: u8,
    },
}

/// What a person does to the configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    Grow,
    Shrink,
    Move,
    Rename,
    Reorder,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    None,
    LostAnswer,
    LostRequest,
    /// 429, with the time after which to ask again.
    Busy,
    /// 5xx that does not go away however often it is tried.
    Broken,
    Conflict,
    CrashAfter,
    /// A list shows what was there so many changes ago.
    Stale {
        by: u8,
    },
    /// A list comes from a cache whose watch has lost and repeated events of the last so many changes. Records are
    /// never read from a cache.
    Cached {
        by: u8,
        seed: u8,
    },
}

/// splitmix64
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, n: u64) -> u8 {
        (self.next() % n) as u8
    }

    fn maybe(&mut self, one_in: u64) -> Option<u8> {
        (self.below(one_in) == 0).then(|| self.below(16))
    }

    pub fn act(&mut self) -> Act {
        let name = self.below(7);
        match self.below(200) {
            0..=15 => {
                let (preset, tier) = (self.maybe(6), self.below(3));
                Act::Create { name, devices: 1 + self.below(2), preset, tier }
            }
            16..=22 => Act::Delete { name, held: self.below(2) == 0 },
            23..=25 => Act::Finish { name },
            26..=28 => Act::Recreate { name },
            29 | 30 => Act::Preset { name, address: self.below(16) },
            31 | 32 => Act::Wipe { name },
            33 => Act::Unhook { name },
            34 | 35 => Act::Rehook { name },
            36 | 37 => Act::Pause { name },
            38 => Act::Relabel { name, tier: self.below(3) },
            39 if self.below(3) == 0 => Act::Spoil { name },
            39..=41 => Act::Node { name, address: (self.below(3) > 0).then(|| self.below(16)) },
            42 => Act::Status { name, address: (self.below(3) > 0).then(|| self.below(16)) },
            43 | 44 => Act::Clock { seconds: i16::from(self.below(200)) - 60 },
            45 | 46 => {
                let how = match self.below(8) {
                    0..=3 => Edit::Grow,
                    4 => Edit::Shrink,
                    5 => Edit::Move,
                    6 => Edit::Rename,
                    _ => Edit::Reorder,
                };
                Act::Edit { pool: self.below(2), how }
            }
            47..=50 => Act::Kill { run: self.below(3) },
            _ => {
                let trouble = match self.below(32) {
                    0 => Trouble::LostAnswer,
                    1 => Trouble::LostRequest,
                    2 => Trouble::Conflict,
                    3 => Trouble::CrashAfter,
                    4 => Trouble::Stale { by: 1 + self.below(12) },
                    5 => Trouble::Cached { by: 1 + self.below(12), seed: self.below(256) },
                    6 => Trouble::Busy,
                    7 => Trouble::Broken,
                    _ => Trouble::None,
                };
                Act::Request { run: self.below(3), trouble }
            }
        }
    }
}
