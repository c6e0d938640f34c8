//! One request in words: what was tried, and what its failure means.

use crate::cluster::{ClusterError, EXPIRED};
use crate::model::Kind;
use kube::config::KubeconfigError;
use kube::core::Status;
use std::time::Duration;

/// What was tried, for errors.
pub(super) struct Call<'a> {
    pub(super) verb: &'static str,
    pub(super) kind: Kind,
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

impl Call<'_> {
    fn what(&self) -> String {
        if self.verb == "discover" {
            let server = if self.name.is_empty() { "the API server" } else { self.name };
            return format!("asking {server} what it serves");
        }
        let of = if self.name.is_empty() {
            String::new()
        } else {
            format!(" {}", self.kind.at(self.namespace, self.name))
        };
        let place = if self.name.is_empty() { format!(" {}", self.kind.resource()) } else { String::new() };
        format!("{}{place}{of}", self.verb)
    }

    pub(super) fn transient(&self, why: &str, after: Option<u64>) -> ClusterError {
        ClusterError::Transient { what: self.what(), why: why.to_owned(), after }
    }

    /// No answer came in time.
    pub(super) fn late(&self, after: Duration) -> ClusterError {
        self.transient(&format!("no answer within {} s", after.as_secs_f32()), None)
    }

    /// Why a request failed.
    pub(super) fn lost(&self, error: kube::Error) -> ClusterError {
        match error {
            kube::Error::Api(status) => self.failed(&status),
            kube::Error::Auth(e) => ClusterError::Other(format!("cannot sign in: {}", chain(&e))),
            // What went wrong on the way says more than that something did.
            kube::Error::Service(e) => self.transient(&chain(&*e), None),
            other => self.transient(&chain(&other), None),
        }
    }

    pub(super) fn failed(&self, status: &Status) -> ClusterError {
        let object = self.kind.at(self.namespace, self.name).to_string();
        let details = status.details.as_ref();
        let retry = details.map(|d| u64::from(d.retry_after_seconds)).filter(|s| *s > 0);
        match status.code {
            401 => ClusterError::Other("the cluster does not accept the credentials".to_owned()),
            // What is about an owner of the object is a right of another name: the server says which.
            403 if status.message.contains("blockOwnerDeletion") => {
                ClusterError::Refused { what: self.what(), why: status.message.clone() }
            }
            403 if status.message.contains(" cannot ") || status.message.is_empty() => {
                ClusterError::Forbidden {
                    verb: if self.verb == "discover" { "get" } else { self.verb },
                    resource: if self.verb == "discover" { "/apis".to_owned() } else { self.kind.resource() },
                    namespace: if self.kind.namespaced { self.namespace.to_owned() } else { String::new() },
                }
            }
            404 if status.reason == "NotFound"
                && details.is_some_and(|d| !d.name.is_empty() && d.name == self.name) =>
            {
                ClusterError::NotFound(object)
            }
            404 if status.reason == "NotFound"
                && details.is_some_and(|d| d.kind == "namespaces" && !d.name.is_empty()) =>
            {
                ClusterError::NoNamespace(self.namespace.to_owned())
            }
            404 => ClusterError::NotServed(self.kind.resource()),
            409 if status.reason == "AlreadyExists" => ClusterError::Exists(object),
            409 => ClusterError::Conflict(object),
            410 => self.transient(EXPIRED, None),
            408 | 429 | 500..=599 => {
                let why = if status.message.is_empty() {
                    format!("HTTP {}", status.code)
                } else {
                    status.message.clone()
                };
                self.transient(&why, retry)
            }
            _ => ClusterError::Refused { what: self.what(), why: status.message.clone() },
        }
    }
}

/// What is wrong with a kubeconfig.
pub(super) fn unread(error: &(dyn std::error::Error + 'static)) -> String {
    match error.downcast_ref() {
        Some(KubeconfigError::ReadConfig(why, path)) => format!("kubeconfig {}: {why}", path.display()),
        _ => chain(error),
    }
}

/// An error with all its causes: the innermost one is what a person needs.
pub(super) fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}

/// Escapes a name for a path, or a continue token for a query.
pub(super) fn escape(text: &str) -> String {
    use std::fmt::Write;
    text.bytes().fold(String::new(), |mut out, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
        out
    })
}
