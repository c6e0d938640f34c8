//! Why a folder cannot be used as a cluster, said so that a person knows what to do.

use std::fmt;
use std::path::{Path, PathBuf};

/// How many faults are told apart; the rest is counted.
const TOLD: usize = 20;

/// One thing that is wrong with one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1, where one is known.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.path.display(), self.message),
            None => write!(f, "{}: {}", self.path.display(), self.message),
        }
    }
}

/// The first faults and how many more there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    told: Vec<Fault>,
    more: usize,
}

impl Faults {
    /// Is there room to tell one more? To find the line of a fault that is only counted would be in vain.
    pub(super) fn has_room(&self) -> bool {
        self.told.len() < TOLD
    }

    /// Adds a fault; `None` is only counted.
    pub(super) fn add(&mut self, fault: Option<Fault>) {
        match fault {
            Some(fault) if self.has_room() => self.told.push(fault),
            _ => self.more += 1,
        }
    }

    /// The faults that are told, in the order of the files.
    pub fn told(&self) -> &[Fault] {
        &self.told
    }

    /// How many more there are.
    pub fn more(&self) -> usize {
        self.more
    }

    pub(super) fn is_empty(&self) -> bool {
        self.told.is_empty() && self.more == 0
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.told {
            write!(f, "\n  {fault}")?;
        }
        if self.more > 0 {
            write!(f, "\n  and {} more", self.more)?;
        }
        Ok(())
    }
}

/// Why a folder could not be opened; nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum DirError {
    /// There is no such folder.
    #[error("{}: no such folder; give --dir the folder that holds the manifests", .0.display())]
    Missing(PathBuf),
    /// It is a file.
    #[error("{}: not a folder; give --dir the folder that holds the manifests, not one file", .0.display())]
    NotAFolder(PathBuf),
    /// The system refused.
    #[error("{}: {doing}: {source}", path.display())]
    Io {
        /// What it was about.
        path: PathBuf,
        /// What failed, and what to do about it.
        doing: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Too many files.
    #[error("{}: more than {limit} manifests; give --dir a folder with fewer", path.display())]
    TooMany {
        /// The folder.
        path: PathBuf,
        /// How many are read at most.
        limit: usize,
    },
    /// Files that cannot be read or contradict each other.
    #[error("the manifests below {} cannot be used, nothing was written:{faults}", path.display())]
    Broken {
        /// The folder.
        path: PathBuf,
        /// What is wrong where.
        faults: Faults,
    },
    /// Another run has the folder.
    #[error("{}: another mipam is working on this folder; try again when it has ended", .0.display())]
    Locked(PathBuf),
    /// The folder to write to cannot be used.
    #[error("--out {}: {why}", path.display())]
    Out {
        /// The folder.
        path: PathBuf,
        /// What is wrong and what would be right.
        why: String,
    },
}

impl DirError {
    pub(super) fn io(path: &Path, doing: &'static str, source: std::io::Error) -> Self {
        Self::Io { path: path.to_owned(), doing, source }
    }
}
