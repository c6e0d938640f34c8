//! Colour, in the few ANSI codes that every terminal knows, and when to use it.

use crate::cli::ColorWhen;
use std::ffi::OsString;

/// A colour or weight of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Paint {
    Bold,
    Dim,
    Red,
    Green,
    Yellow,
    Cyan,
    BoldRed,
    BoldYellow,
    BoldCyan,
}

impl Paint {
    /// The text in this colour; without colour, the text.
    pub(super) fn on(self, text: &str, color: bool) -> String {
        if !color || text.is_empty() {
            return text.to_owned();
        }
        let code = match self {
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Red => "31",
            Self::Green => "32",
            Self::Yellow => "33",
            Self::Cyan => "36",
            Self::BoldRed => "1;31",
            Self::BoldYellow => "1;33",
            Self::BoldCyan => "1;36",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// Is there colour on a stream? What was asked for goes first, then `NO_COLOR`, `CLICOLOR_FORCE`, `TERM=dumb`,
/// then whether it is a terminal.
pub(super) fn wanted(when: ColorWhen, terminal: bool, env: impl Fn(&str) -> Option<OsString>) -> bool {
    let set = |name| env(name).is_some_and(|value| !value.is_empty());
    match when {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto if set("NO_COLOR") => false,
        ColorWhen::Auto if set("CLICOLOR_FORCE") && env("CLICOLOR_FORCE").is_some_and(|v| v != "0") => true,
        ColorWhen::Auto => terminal && env("TERM").is_none_or(|term| term != "dumb"),
    }
}

/// Text from elsewhere, safe to print: what a name or message holds must not move the cursor.
pub(super) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => safe.push(c),
            '\t' => safe.push(' '),
            c if c.is_control() => safe.extend(c.escape_default()),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colour_follows_the_flag_then_the_environment_then_the_terminal() {
        let auto = |terminal: bool, env: &[(&str, &str)]| {
            let find = |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, v)| OsString::from(v));
            wanted(ColorWhen::Auto, terminal, find)
        };
        assert!(auto(true, &[]) && auto(true, &[("TERM", "xterm")]) && !auto(false, &[]));
        assert!(!auto(true, &[("NO_COLOR", "1")]) && auto(true, &[("NO_COLOR", "")]));
        assert!(auto(false, &[("CLICOLOR_FORCE", "1")]) && !auto(false, &[("CLICOLOR_FORCE", "0")]));
        assert!(!auto(true, &[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
        assert!(
            !auto(true, &[("TERM", "dumb")]) && auto(false, &[("TERM", "dumb"), ("CLICOLOR_FORCE", "1")])
        );
        assert!(wanted(ColorWhen::Always, false, |_| Some("1".into())));
        assert!(!wanted(ColorWhen::Never, true, |_| None));
    }

    #[test]
    fn foreign_text_cannot_move_the_cursor() {
        assert_eq!(plain("a\x1b[2Jb\tc\r\nd\u{9b}"), "a\\u{1b}[2Jb c\\r\nd\\u{9b}");
    }
}
