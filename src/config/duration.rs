//! Lengths of time as people write them: `90s`, `10m`, `1h30m`, `2d`.

use super::findings::quote;
use crate::model::Seconds;

const UNITS: [(char, Seconds); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Far beyond any use, and small enough that a time plus this never overflows.
const LONGEST: Seconds = 36_500 * 86_400;

/// Seconds, or what is wrong and what would be right.
pub(super) fn parse(text: &str) -> Result<Seconds, (String, String)> {
    let bad = |what: &str, right: String| Err((format!("{} {what}", quote(text)), right));
    let example = "write a number and a unit (s, m, h or d), such as 90s, 10m or 1h30m".to_owned();
    if text.starts_with('-') {
        return bad("is negative", "write 0s to use freed addresses again at once".to_owned());
    }
    let (mut total, mut rest, mut units): (Seconds, &str, &[_]) = (0, text, &UNITS);
    if rest.is_empty() {
        return bad("is no length of time", example);
    }
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (digits, tail) = rest.split_at(end);
        if digits.is_empty() || tail.starts_with('.') {
            return bad("is no length of time", example);
        }
        let Some(unit) = tail.chars().next() else {
            let right = if rest == text {
                format!("write {text}s for seconds, or {text}m for minutes")
            } else {
                example
            };
            return bad("has a number without a unit", right);
        };
        let Some(at) = units.iter().position(|(u, _)| *u == unit) else {
            let known = UNITS.iter().any(|(u, _)| *u == unit);
            let what = if known { "has its units out of order" } else { "has a unit that is not known" };
            return bad(what, example);
        };
        let part = digits.parse::<Seconds>().ok().and_then(|n| n.checked_mul(units[at].1));
        match part.and_then(|p| total.checked_add(p)).filter(|t| *t <= LONGEST) {
            Some(sum) => total = sum,
            None => return bad("is longer than 100 years", "write at most 36500d".to_owned()),
        }
        units = &units[at + 1..];
        rest = &tail[unit.len_utf8()..];
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_people_write() {
        for (text, seconds) in [
            ("0s", 0),
            ("90s", 90),
            ("10m", 600),
            ("2h", 7_200),
            ("1d", 86_400),
            ("1h30m", 5_400),
            ("1d2h3m4s", 93_784),
            ("36500d", LONGEST),
        ] {
            assert_eq!(parse(text), Ok(seconds), "{text}");
        }
    }

    #[test]
    fn refuses_the_rest() {
        for (text, what) in [
            ("", "no length"),
            ("10", "without a unit"),
            ("1h30", "without a unit"),
            ("-5m", "negative"),
            ("5x", "not known"),
            ("5ms", "no length"),
            ("m5", "no length"),
            ("1.5h", "no length"),
            ("5 m", "not known"),
            ("1s1m", "out of order"),
            ("1m1m", "out of order"),
            ("36501d", "longer"),
            ("99999999999999999999s", "longer"),
            ("9223372036854775807d", "longer"),
            ("5µ", "not known"),
        ] {
            let (message, hint) = parse(text).unwrap_err();
            assert!(message.contains(what), "{text}: {message}");
            assert!(hint.contains("write"), "{text}: {hint}");
        }
        assert_eq!(parse("10").unwrap_err().1, "write 10s for seconds, or 10m for minutes");
    }
}
