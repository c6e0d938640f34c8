//! Makes what changed in memory durable.

use super::compose::{Composed, compose};
use super::disk::{self, Job};
use super::out::Out;
use super::state::State;
use crate::cluster::ClusterError;
use std::path::{Path, PathBuf};

/// Writes the files that changed since the last time, below this folder.
pub(super) fn changed(state: &mut State, root: &Path) -> Result<(), ClusterError> {
    let mut composed = composed(state, state.dirty.iter().copied())?;
    // What is on the disk already needs no write.
    let same = composed.extract_if(.., |(at, new)| new.text == state.files[*at].on_disk).collect();
    settle(state, same);
    let jobs: Vec<Job<'_>> = composed
        .iter()
        .map(|(at, new)| {
            let file = &state.files[*at];
            Job { path: &file.path, old: file.on_disk.as_deref(), new: new.text.as_deref() }
        })
        .collect();
    let (done, outcome) = disk::write(root, &jobs);
    composed.truncate(done);
    settle(state, composed);
    outcome
}

/// Writes a full copy of all files.
pub(super) fn everything(state: &mut State, root: &Path, out: &Out) -> Result<(), ClusterError> {
    let composed = composed(state, 0..state.files.len())?;
    let mut jobs = Vec::with_capacity(composed.len());
    let mut files: Vec<(&Path, &str, Option<PathBuf>)> = Vec::with_capacity(composed.len());
    for (at, new) in &composed {
        let file = &state.files[*at];
        // Only read here, but a copy of what is no longer there would undo somebody's change.
        if let Some(old) = file.on_disk.as_deref() {
            jobs.push(Job { path: &file.path, old: Some(old), new: None });
        }
        if let Some(text) = new.text.as_deref() {
            files.push((&file.path, text, file.on_disk.as_ref().map(|_| root.join(&file.path))));
        }
    }
    disk::check(root, &jobs)?;
    out.publish(&files)?;
    settle(state, composed);
    Ok(())
}

fn composed(
    state: &State,
    files: impl Iterator<Item = usize>,
) -> Result<Vec<(usize, Composed)>, ClusterError> {
    files
        .map(|at| {
            let file = &state.files[at];
            let what = || file.path.display().to_string();
            compose(state, file)
                .map(|new| (at, new))
                .map_err(|why| ClusterError::Refused { what: what(), why })
        })
        .collect()
}

fn settle(state: &mut State, composed: Vec<(usize, Composed)>) {
    for (at, new) in composed {
        new.settle(state, at);
    }
}
