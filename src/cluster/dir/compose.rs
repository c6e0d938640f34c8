//! The new text of a manifest: its documents as they were, except those that changed.

use super::render;
use super::split::Line;
use super::state::{Body, File, Item, State};
use serde_json::Value;
use std::ops::Range;

/// The text that a file should have.
#[derive(Debug)]
pub(super) struct Composed {
    /// `None`: the file has nothing left in it and goes.
    pub(super) text: Option<String>,
    /// Where its documents are in the text.
    ranges: Vec<Range<usize>>,
}

/// Puts the documents of a file together.
pub(super) fn compose(state: &State, file: &File) -> Result<Composed, String> {
    let old = file.on_disk.as_deref().unwrap_or_default();
    let mut text = String::with_capacity(old.len());
    let mut ranges = Vec::with_capacity(file.parts.len());
    let mut gone = false;
    for part in &file.parts {
        let start = text.len();
        let was = old.get(part.range.clone()).unwrap_or_default();
        match (&part.body, part.touched) {
            (Body::Gone, _) => {
                gone = true;
                // What follows an end marker may rely on it instead of a start marker of its own.
                let last = was.split_inclusive('\n').next_back().unwrap_or_default();
                if start > 0 && Line::of(last) == Line::End {
                    text.push_str(last);
                }
            }
            (Body::Object(key), true) => {
                let entry = state.entries.get(key).ok_or("its object is lost")?;
                text.push_str(&render::document(file.format, was, &entry.value)?);
            }
            (Body::List { shell, items }, true) => {
                text.push_str(&render::document(file.format, was, &listed(state, shell, items)?)?);
            }
            (Body::Other, _) | (_, false) => text.push_str(was),
        }
        ranges.push(start..text.len());
    }
    let left = !gone || text.lines().any(|line| !matches!(line.trim(), "" | "---" | "..." | "\u{feff}"));
    Ok(Composed { text: left.then_some(text), ranges })
}

fn listed(state: &State, shell: &Value, items: &[Item]) -> Result<Value, String> {
    let mut values = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Item::Known(key) => {
                values.push(state.entries.get(key).ok_or("its object is lost")?.value.clone());
            }
            Item::Other(value) => values.push(value.clone()),
            Item::Gone => {}
        }
    }
    let mut list = shell.clone();
    list["items"] = Value::Array(values);
    Ok(list)
}

impl Composed {
    /// Notes that the file now has this text.
    pub(super) fn settle(self, state: &mut State, at: usize) {
        state.dirty.remove(&at);
        let file = &mut state.files[at];
        for (part, range) in file.parts.iter_mut().zip(self.ranges) {
            part.touched = false;
            part.range = range;
            if self.text.is_none() {
                part.body = Body::Gone;
                part.range = 0..0;
            }
        }
        file.on_disk = self.text;
    }
}
