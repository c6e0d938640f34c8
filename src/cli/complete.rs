//! What `kubectl mipam` can be completed with: answers kubectl's question from the same definition as the help. The
//! scripts of [`super::completion`] complete `mipam` itself.

use clap::{Arg, Command, ValueHint};
use std::ffi::OsString;

/// The word before the words to complete; nobody else types it.
const ASKED: &str = "__complete";

/// What a shell may add to the answer.
#[derive(Clone, Copy)]
enum Besides {
    /// Files, where there is no answer.
    Files = 0,
    /// Nothing.
    Nothing = 4,
    /// Directories.
    Folders = 16,
}

/// The words to complete, where that is what a command line asks for; the last one is not finished.
pub(super) fn asked(args: &[OsString]) -> Option<Vec<String>> {
    let [_, first, words @ ..] = args else { return None };
    (first == ASKED).then(|| words.iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// The answer: a line for each word that fits, with what it means, and what the shell may add.
pub fn complete(words: &[String]) -> String {
    let mut root = super::command();
    root.build();
    let Some((last, before)) = words.split_last() else { return answer(Vec::new(), Besides::Nothing) };
    let mut verb = &root;
    let mut waiting: Option<&Arg> = None;
    for word in before {
        if waiting.take().is_some() {
            continue;
        }
        if let Some(arg) = option(verb, word) {
            waiting = Some(arg).filter(|arg| arg.get_action().takes_values() && !word.contains('='));
        } else if let Some(found) = verb.find_subcommand(word) {
            verb = found;
        }
    }
    if let Some(arg) = waiting {
        return values(arg, last, "");
    }
    if let (Some(arg), Some((name, value))) = (option(verb, last), last.split_once('=')) {
        return values(arg, value, &format!("{name}="));
    }
    if last.starts_with('-') {
        return answer(options(verb, last), Besides::Nothing);
    }
    let verbs: Vec<_> = verb
        .get_subcommands()
        .filter(|c| !c.is_hide_set() && c.get_name().starts_with(last.as_str()))
        .map(|c| (c.get_name().to_owned(), c.get_about().map(ToString::to_string)))
        .collect();
    match verb.get_positionals().next() {
        Some(arg) if verbs.is_empty() => values(arg, last, ""),
        _ => answer(verbs, Besides::Nothing),
    }
}

/// The option that a word is.
fn option<'c>(verb: &'c Command, word: &str) -> Option<&'c Arg> {
    let name = word.split('=').next().unwrap_or_default();
    let mut all = verb.get_arguments();
    if let Some(long) = name.strip_prefix("--") {
        return all.find(|a| a.get_long() == Some(long));
    }
    let short = name.strip_prefix('-')?.chars().next_back()?;
    all.find(|a| a.get_short() == Some(short))
}

/// The options that begin like this.
fn options(verb: &Command, begun: &str) -> Vec<(String, Option<String>)> {
    let shown = verb.get_arguments().filter(|a| !a.is_hide_set());
    let named = shown.filter_map(|a| Some((format!("--{}", a.get_long()?), a.get_help())));
    let fitting = named.filter(|(name, _)| name.starts_with(begun));
    fitting.map(|(name, help)| (name, help.map(ToString::to_string))).collect()
}

/// The values of an option or an argument that begin like this.
fn values(arg: &Arg, begun: &str, before: &str) -> String {
    let possible = arg.get_possible_values();
    let fitting = possible.iter().filter(|v| !v.is_hide_set() && v.get_name().starts_with(begun));
    let found: Vec<_> = fitting
        .map(|v| (format!("{before}{}", v.get_name()), v.get_help().map(ToString::to_string)))
        .collect();
    let besides = match arg.get_value_hint() {
        ValueHint::FilePath | ValueHint::AnyPath => Besides::Files,
        ValueHint::DirPath => Besides::Folders,
        _ => Besides::Nothing,
    };
    answer(found, besides)
}

fn answer(found: Vec<(String, Option<String>)>, besides: Besides) -> String {
    let line = |(word, meaning): (String, Option<String>)| match meaning {
        Some(meaning) => format!("{word}\t{}\n", meaning.lines().next().unwrap_or_default()),
        None => format!("{word}\n"),
    };
    let lines: String = found.into_iter().map(line).collect();
    format!("{lines}:{}\n", besides as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        let answer = complete(&line.split(' ').map(str::to_owned).collect::<Vec<_>>());
        answer.lines().map(|l| l.split('\t').next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn verbs_options_and_values() {
        assert_eq!(words("re"), ["reconcile", "release", "render-nmstate", ":4"]);
        assert_eq!(words("reconcile --d"), ["--dry-run", "--diff", "--dir", ":4"]);
        assert_eq!(words("--dir lab sta"), ["status", ":4"]);
        assert_eq!(words("status -o "), ["table", "wide", "json", "yaml", "name", ":4"]);
        assert_eq!(words("status --output=j"), ["--output=json", ":4"]);
        assert_eq!(words("completions z"), ["zsh", ":4"]);
        assert_eq!(words("status --config "), [":0"], "a file");
        assert_eq!(words("status --dir "), [":16"], "a directory");
        assert_eq!(words("status --pool "), [":4"], "any name");
        assert_eq!(words("nothing"), [":4"]);
        assert!(words("").contains(&"detach".to_owned()));
        assert!(complete(&["stat".to_owned()]).starts_with("status\tShow how full the pools are"));
        assert_eq!(complete(&[]), ":4\n");
    }
}
