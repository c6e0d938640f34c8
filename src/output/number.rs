//! Counts of addresses as people read them: an IPv6 pool has more than fit a column.

/// From here on numbers are abbreviated.
const HUGE: u128 = 1_000_000_000;

/// A count in full, or as `2^64` or `1.8e19` where it is a billion and more.
pub fn number(count: u128) -> String {
    if count < HUGE {
        return count.to_string();
    }
    if count.is_power_of_two() {
        return format!("2^{}", count.ilog2());
    }
    let mut exponent = count.ilog10();
    // Two digits, rounded: `1.84e19` is `1.8e19`, and `9.96e18` is `1.0e19`.
    let unit = 10u128.pow(exponent - 1);
    let mut digits = count / unit + u128::from(count % unit >= unit / 2);
    if digits == 100 {
        digits = 10;
        exponent += 1;
    }
    format!("{}.{}e{exponent}", digits / 10, digits % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_numbers_are_exact_and_huge_ones_short() {
        for (count, text) in [
            (0, "0"),
            (254, "254"),
            (999_999_999, "999999999"),
            (1_000_000_000, "1.0e9"),
            (1 << 30, "2^30"),
            (1 << 64, "2^64"),
            ((1 << 64) - 1, "1.8e19"),
            ((1 << 64) - 4, "1.8e19"),
            (9_960_000_000_000_000_000, "1.0e19"),
            (9_940_000_000_000_000_000, "9.9e18"),
            (u128::MAX, "3.4e38"),
            (1 << 127, "2^127"),
        ] {
            assert_eq!(number(count), text, "{count}");
        }
    }
}
