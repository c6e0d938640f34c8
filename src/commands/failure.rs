//! How a command ends: the exit status, and for errors what is wrong and what to do.

use crate::cluster::ClusterError;
use crate::cluster::dir::DirError;
use crate::ledger::{LedgerError, NAMESPACE};
use crate::observe::ObserveError;

/// What the process exits with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatus {
    /// 0: all is well.
    Fine,
    /// 1: something to look at.
    Finding,
    /// 2: an error.
    Error,
}

impl ExitStatus {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Finding => 1,
            Self::Error => 2,
        }
    }
}

/// Why a command ends early.
#[derive(Debug)]
pub struct Failure {
    /// With which status.
    pub status: ExitStatus,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub hint: Option<String>,
}

impl Failure {
    /// An error, exit status 2.
    pub fn error(message: impl Into<String>) -> Self {
        Self { status: ExitStatus::Error, message: message.into(), hint: None }
    }

    /// Something that cannot be done as things are, exit status 1.
    pub fn finding(message: impl Into<String>) -> Self {
        Self { status: ExitStatus::Finding, ..Self::error(message) }
    }

    /// Adds what to do.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::error(format!("cannot print the result: {error}"))
    }
}

impl From<DirError> for Failure {
    fn from(error: DirError) -> Self {
        Self::error(error.to_string())
    }
}

impl From<ObserveError> for Failure {
    fn from(error: ObserveError) -> Self {
        match error {
            ObserveError::Cluster(error) => error.into(),
            ObserveError::Ledger(LedgerError::Shrunk(shrunk)) => {
                Self::error(shrunk.to_string()).hint(shrunk.advice())
            }
            ObserveError::Ledger(error) => Self::error(error.to_string()),
        }
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        let hint = match &error {
            ClusterError::Forbidden { verb, resource, namespace } => {
                let place = if namespace.is_empty() {
                    "--all-namespaces".to_owned()
                } else {
                    format!("-n {namespace}")
                };
                Some(format!(
                    "give the account that right, and check with: kubectl auth can-i {verb} {resource} {place}"
                ))
            }
            ClusterError::Transient { .. } => Some(
                "the cluster could not be reached or was too busy; nothing is half done: run it again"
                    .to_owned(),
            ),
            ClusterError::Conflict(what) if what.contains(NAMESPACE) => {
                Some("many runs are at work at the same time; nothing is half done: run it again".to_owned())
            }
            ClusterError::Conflict(_) => Some("run it again: it works on what is there now".to_owned()),
            ClusterError::Other(text) if text.starts_with("cannot find out") => Some(
                "say which cluster with --kubeconfig or --context, or work on files with --dir".to_owned(),
            ),
            _ => None,
        };
        Self { hint, ..Self::error(error.to_string()) }
    }
}
