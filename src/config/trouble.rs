//! Text that is no YAML: what the reader says about it, in plain words.

use super::findings::{Finding, Path};
use crate::yaml::TextError;

/// What the reader's message contains, what it means, and what to do.
const WORDS: [(&str, &str, &str); 17] = [
    (
        "more than one document",
        "there is more than one document in the file",
        "keep one of them and remove the lines ---",
    ),
    ("recursion limit", "lists and maps are nested too deeply", "the config needs at most four levels"),
    (
        "repetition limit",
        "anchors (&) and aliases (*) repeat too much",
        "write the values out instead of repeating them",
    ),
    (
        "repeat too much",
        "anchors (&) and aliases (*) repeat too much",
        "write the values out instead of repeating them",
    ),
    ("unknown anchor", "an alias (*name) has no anchor (&name) before it", "write the value out"),
    (
        "control characters are not allowed",
        "there is a control character that text cannot have",
        "this is not a text file, or it was damaged: save it again as plain text (UTF-8)",
    ),
    ("a string as key", "a key must be plain text", "write `key: value`, and put text with { or [ in quotes"),
    (
        "a plain YAML value",
        "there is a value that is neither text, number, list nor map",
        "remove the !tag, or put the value in quotes",
    ),
    ("infinity and NaN", "infinity is not a number that can be used here", "write a whole number"),
    (
        "mapping values are not allowed",
        "there is a second `:` in this line, or the line is indented too far",
        "indent the keys of one level equally, and put text that contains \": \" in quotes",
    ),
    (
        "did not find expected key",
        "this line does not fit the lines above it",
        "indent the keys of one level equally, with spaces",
    ),
    (
        "did not find expected '-'",
        "this line does not fit the list above it",
        "begin each element of the list with \"- \" in the same column",
    ),
    (
        "could not find expected ':'",
        "a key without `:`, or a text that does not end",
        "write `key: value`, and close every quote",
    ),
    (
        "unexpected end of stream",
        "a quote is opened further up and never closed",
        "close it with the same quote",
    ),
    (
        "did not find expected ','",
        "a [ or { is opened further up and not closed, or a comma is missing",
        "write lists as [a, b] and maps as {a: b, c: d}",
    ),
    (
        "cannot start any token",
        "there is a character that no value can begin with, such as @, % or `",
        "put the text in quotes",
    ),
    (
        "escape",
        "a \\ in double quotes begins something unknown",
        "write \\\\ for a backslash, or use single quotes",
    ),
];

/// The finding for a text that could not be read.
pub(super) fn explain(text: &str, error: &TextError) -> Finding {
    let line = if error.message.contains("control characters") {
        // The reader looks at the bytes before it counts lines.
        text.lines().position(|l| l.chars().any(is_forbidden)).map_or(1, |at| at + 1)
    } else if error.message.contains("more than one document") {
        second_document(text)
    } else {
        error.position.map_or(1, |p| p.line)
    };
    let finding = |message: String| Finding::new(&Path::default(), message).on_line(line);
    // The reader puts the path before its message.
    if let Some(at) = error.message.find("key \"").filter(|_| error.message.ends_with("is given twice")) {
        let hint = "keep one of the two; a second element of a list begins with \"- \"";
        return finding(error.message[at..].to_owned()).hint(hint);
    }
    let indent = |l: &str| l.chars().take_while(|c| c.is_whitespace()).any(|c| c == '\t');
    // Where the reader stops is the tab's line or the one after it.
    if let Some((i, _)) =
        text.lines().enumerate().take(line).skip(line.saturating_sub(2)).find(|(_, l)| indent(l))
    {
        let what = "this line is indented with a tab";
        return finding(what.to_owned()).on_line(i + 1).hint("YAML allows spaces only: replace the tab");
    }
    if let Some((_, what, right)) = WORDS.iter().find(|(sign, _, _)| error.message.contains(sign)) {
        return finding((*what).to_owned()).hint(*right);
    }
    let message = error.message.split(" at line ").next().unwrap_or_default();
    finding(format!("this is not valid YAML: {message}"))
        .hint("look for a missing quote, bracket or `:` in this line or the one above")
}

/// The line that begins it: the first `---` after something else than comments.
fn second_document(text: &str) -> usize {
    let begins = |l: &str| l.starts_with("---");
    let blank = |l: &str| begins(l) || l.trim().is_empty() || l.trim_start().starts_with('#');
    let content = text.lines().position(|l| !blank(l)).unwrap_or_default();
    text.lines().skip(content).position(begins).map_or(1, |at| content + at + 1)
}

/// Characters that YAML does not allow in a text.
fn is_forbidden(c: char) -> bool {
    let control = c.is_control() && !matches!(c, '\t' | '\u{85}');
    control || matches!(c, '\u{fffe}' | '\u{ffff}')
}
