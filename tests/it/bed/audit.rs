//! What the API server saw: its audit log, so that writes are counted where they arrive.

use super::Bed;
use serde_json::Value;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};

/// One line per request, when its response is complete and before the client has all of it; the
/// server's own requests are left out.
pub const POLICY: &str = "
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - {level: None, users: ['system:apiserver']}
  - {level: Metadata}
";

/// The file in the bed's folder.
pub const LOG: &str = "audit.log";

/// A place in the audit log.
#[derive(Clone, Copy, Debug)]
pub struct Mark(u64);

/// One request.
#[derive(Clone, Debug)]
pub struct AuditLine {
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `deletecollection`
    pub verb: String,
    /// API group, empty for core.
    pub group: String,
    /// `machines`; empty for paths that are no resource.
    pub resource: String,
    /// `status`; mostly empty.
    pub subresource: String,
    pub namespace: String,
    /// Of a create too, if the client named the object.
    pub name: String,
    /// The account.
    pub user: String,
    /// HTTP status of the response.
    pub code: u16,
    pub user_agent: String,
}

impl AuditLine {
    /// Whether this asked for a change; access reviews are created but change nothing.
    pub fn is_write(&self) -> bool {
        !matches!(self.verb.as_str(), "get" | "list" | "watch")
            && self.group != "authorization.k8s.io"
            && !self.resource.is_empty()
    }

    fn parse(line: &str) -> Self {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|e| panic!("audit line {line}: {e}"));
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let object = &event["objectRef"];
        Self {
            verb: text(&event["verb"]),
            group: text(&object["apiGroup"]),
            resource: text(&object["resource"]),
            subresource: text(&object["subresource"]),
            namespace: text(&object["namespace"]),
            name: text(&object["name"]),
            user: text(&event["user"]["username"]),
            code: event["responseStatus"]["code"]
                .as_u64()
                .and_then(|c| c.try_into().ok())
                .unwrap_or_default(),
            user_agent: text(&event["userAgent"]),
        }
    }
}

impl Bed {
    /// The end of the audit log now.
    pub fn mark(&self) -> Mark {
        Mark(std::fs::metadata(self.dir().join(LOG)).map_or(0, |file| file.len()))
    }

    /// All requests that were answered since the mark.
    pub fn audit_since(&self, mark: Mark) -> Vec<AuditLine> {
        let mut text = String::new();
        let mut log = File::open(self.dir().join(LOG)).expect("the audit log");
        log.seek(SeekFrom::Start(mark.0)).expect("a place in the audit log");
        log.read_to_string(&mut text).expect("the audit log");
        // A line without its end is still being written, for a request that is not answered yet.
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole.lines().map(AuditLine::parse).collect()
    }

    /// The requests of one account since the mark that asked for a change.
    pub fn writes_since(&self, mark: Mark, account: &str) -> Vec<AuditLine> {
        self.audit_since(mark).into_iter().filter(|line| line.user == account && line.is_write()).collect()
    }
}
