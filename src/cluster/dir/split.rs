//! Cuts a YAML stream into its documents: joined again they are the same bytes.

/// What a line is, as far as it can be told without its neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Line {
    /// `---` at column 0, with nothing but a comment behind it.
    Start,
    /// `---` at column 0 with content behind it.
    StartAndContent,
    /// `...` at column 0.
    End,
    /// Nothing but white space.
    Blank,
    /// Nothing but a comment.
    Comment,
    /// `%YAML 1.2`; content unless it stands before a document.
    Directive,
    /// Anything else.
    Content,
}

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];

impl Line {
    /// Looks at one line, with or without its line end.
    pub(super) fn of(line: &str) -> Self {
        if let Some(rest) = marked(line, "---") {
            let rest = rest.trim_start_matches(BLANKS);
            return if rest.is_empty() || rest.starts_with('#') {
                Self::Start
            } else {
                Self::StartAndContent
            };
        }
        if marked(line, "...").is_some() {
            return Self::End;
        }
        match line.trim_start_matches(BLANKS).chars().next() {
            None => Self::Blank,
            Some('#') => Self::Comment,
            Some('%') if line.starts_with('%') => Self::Directive,
            Some(_) => Self::Content,
        }
    }

    fn opens(self) -> bool {
        matches!(self, Self::Start | Self::StartAndContent)
    }

    /// True for lines that may stand before a document without being part of it.
    fn precedes(self) -> bool {
        matches!(self, Self::Blank | Self::Comment | Self::Directive)
    }
}

/// What follows the marker, if the line is one: a marker ends with the line or with white space.
fn marked<'a>(line: &'a str, marker: &str) -> Option<&'a str> {
    line.strip_prefix(marker).filter(|rest| rest.is_empty() || rest.starts_with(BLANKS))
}

/// The text without a byte order mark, and the mark.
pub(super) fn bom(text: &str) -> (&str, &str) {
    text.split_at(if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 })
}

/// The documents of a stream, each with its `---`, what stands before that, and its `...`.
pub(super) fn split(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let (mut start, mut at, mut begun) = (0, 0, false);
    for line in text.split_inclusive('\n') {
        let seen = Line::of(if at == 0 { bom(line).1 } else { line });
        if seen.opens() && begun {
            parts.push(&text[start..at]);
            start = at;
        }
        at += line.len();
        if seen == Line::End {
            parts.push(&text[start..at]);
            start = at;
            begun = false;
        } else {
            begun |= !seen.precedes();
        }
    }
    if start < text.len() {
        parts.push(&text[start..]);
    }
    parts
}

/// True where a document has no content, so that there is nothing to parse.
///
/// YAML 1.1 has more line ends than this module cuts at. Where one occurs, what looks like a comment may
/// hide content behind it: then the answer is no, and the parser has the word.
pub(super) fn is_void(part: &str) -> bool {
    let odd = |(at, c): (usize, char)| match c {
        '\r' => !part[at + 1..].starts_with('\n'),
        '\u{85}' | '\u{2028}' | '\u{2029}' => true,
        _ => false,
    };
    let mut begun = false;
    bom(part).1.split_inclusive('\n').all(|line| {
        let seen = Line::of(line);
        let void = seen == Line::Start
            || seen == Line::End
            || (seen.precedes() && !(begun && seen == Line::Directive));
        begun |= seen == Line::Start;
        void
    }) && !part.char_indices().any(odd)
}

/// What surrounds the content of a document: comments, directives and markers before it, and after it blank
/// lines, comments and the end marker.
pub(super) fn frame(part: &str) -> (String, &str) {
    let mut head = 0;
    let mut opened = "";
    for line in part.split_inclusive('\n') {
        match Line::of(line) {
            Line::Start | Line::Blank | Line::Comment | Line::Directive => head += line.len(),
            Line::StartAndContent => {
                opened = if line.ends_with("\r\n") { "---\r\n" } else { "---\n" };
                break;
            }
            Line::End | Line::Content => break,
        }
    }
    let mut foot = part.len();
    for line in part[head..].split_inclusive('\n').rev() {
        let closes = match Line::of(line) {
            Line::End | Line::Blank => true,
            // An indented comment may be a line of a block of text.
            Line::Comment => line.starts_with('#'),
            _ => false,
        };
        if !closes {
            break;
        }
        foot -= line.len();
    }
    (format!("{}{opened}", &part[..head]), &part[foot..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_stream_is_cut_at_its_markers() {
        let cases: [(&str, &[&str]); 11] = [
            ("", &[]),
            ("a: 1\n", &["a: 1\n"]),
            ("a: 1\n---\nb: 2\n", &["a: 1\n", "---\nb: 2\n"]),
            ("---\na: 1\n---\nb: 2", &["---\na: 1\n", "---\nb: 2"]),
            ("# note\n\n---\na: 1\n", &["# note\n\n---\na: 1\n"]),
            (
                "%YAML 1.2\n---\na: 1\n...\n%YAML 1.2\n---\nb: 2\n",
                &["%YAML 1.2\n---\na: 1\n...\n", "%YAML 1.2\n---\nb: 2\n"],
            ),
            ("---\r\na: 1\r\n---\r\nb: 2\r\n", &["---\r\na: 1\r\n", "---\r\nb: 2\r\n"]),
            ("\u{feff}---\na: 1\n--- {b: 2}\n---\tc\n", &["\u{feff}---\na: 1\n", "--- {b: 2}\n", "---\tc\n"]),
            ("a: |\n  ---\n  text\n----\n", &["a: |\n  ---\n  text\n----\n"]),
            ("---\n---\n", &["---\n", "---\n"]),
            ("a: 1\n...\nb: 2\n", &["a: 1\n...\n", "b: 2\n"]),
        ];
        for (text, parts) in cases {
            assert_eq!(split(text), parts, "{text:?}");
        }
    }

    #[test]
    fn documents_without_content_are_known() {
        for text in ["", "\n", "# c\n", "---\n", "--- # c\n...\n", "%YAML 1.2\n---\n", "\u{feff}\n"] {
            assert!(is_void(text), "{text:?}");
        }
        for text in ["a", "--- a", "---\n%a\n", "# c\ra: 1\n", "# c\u{2028}a: 1\n"] {
            assert!(!is_void(text), "{text:?}");
        }
    }

    #[test]
    fn the_frame_is_what_is_not_content() {
        let (head, foot) = frame("# top\n---\n# about a\na: 1\n  # inside\nb: 2\n\n# end\n...\n");
        assert_eq!((head.as_str(), foot), ("# top\n---\n# about a\n", "\n# end\n...\n"));
        let (head, foot) = frame("--- {a: 1}\r\n");
        assert_eq!((head.as_str(), foot), ("---\r\n", ""));
        let (head, foot) = frame("a: |\n  x\n  # in the text\n");
        assert_eq!((head.as_str(), foot), ("", ""));
    }

    fn lines() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            Just("---"),
            Just("..."),
            Just("\n"),
            Just("\r\n"),
            Just(" "),
            Just("\t"),
            Just("#"),
            Just("%"),
            Just("a: 1"),
            Just("- x"),
            Just("\u{feff}"),
            Just("|\n  t"),
            Just("é"),
        ];
        prop::collection::vec(piece, 0..40).prop_map(|v| v.concat())
    }

    proptest! {
        #[test]
        fn split_and_join_is_the_identity(text in prop_oneof![any::<String>(), lines()]) {
            let parts = split(&text);
            prop_assert_eq!(&parts.concat(), &text);
            for part in parts {
                prop_assert!(!part.is_empty());
                let _ = is_void(part);
                let (_, foot) = frame(part);
                prop_assert!(part.ends_with(foot));
            }
        }
    }
}
