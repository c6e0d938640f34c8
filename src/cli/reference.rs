//! Objects as people name them: `machine/openshift-machine-api/worker-0`.

use crate::model::{Kind, Owner};
use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

/// An object by `KIND[.GROUP]/NAMESPACE/NAME`, or `KIND[.GROUP]/NAME` where it has no namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Reference {
    /// Kind, plural or singular, in lower case.
    pub kind: String,
    /// The API group, where it was given.
    pub group: Option<String>,
    /// The namespace, where it was given.
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}

/// Why a text names no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// One word only, or more than three.
    #[error("write it as KIND[.GROUP]/NAMESPACE/NAME, for example machine/openshift-machine-api/worker-0")]
    Shape,
    /// Nothing before, between or after the slashes.
    #[error("the {0} is empty; write KIND[.GROUP]/NAMESPACE/NAME")]
    Empty(&'static str),
    /// Letters that no such word has.
    #[error("{text:?} is not a {part}")]
    Letters {
        /// `kind`, `group`, `namespace` or `name`.
        part: &'static str,
        /// What was given.
        text: String,
    },
    /// `release` takes an address or a reference, and this is neither.
    #[error(
        "neither an address nor KIND[.GROUP]/NAMESPACE/NAME, for example 192.168.101.70, hold/printer or \
         machine/openshift-machine-api/worker-0"
    )]
    Neither,
}

impl Reference {
    /// Does it name an object of this kind? By kind, plural or singular, and by group if it has one.
    pub fn is_kind(&self, kind: &Kind) -> bool {
        let named = self.kind == kind.kind.to_ascii_lowercase() || self.kind == kind.plural;
        named && self.group.as_deref().is_none_or(|g| g == kind.group)
    }

    /// Does it name a person's hold, `hold/NAME`?
    pub fn is_hold(&self) -> bool {
        self.kind == Owner::HOLD.to_ascii_lowercase()
            && self.namespace.is_none()
            && self.group.as_deref().is_none_or(|g| g == "mipam.io")
    }
}

impl FromStr for Reference {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        let parts: Vec<&str> = text.split('/').collect();
        let (kind, namespace, name) = match parts[..] {
            [kind, name] => (kind, None, name),
            [kind, namespace, name] => (kind, Some(namespace), name),
            _ => return Err(ReferenceError::Shape),
        };
        let (kind, group) = match kind.split_once('.') {
            Some((kind, group)) => (kind, Some(group)),
            None => (kind, None),
        };
        let kind = word("kind", kind, |c| c.is_ascii_alphanumeric())?.to_ascii_lowercase();
        // `192.168.101.70/lab` is no kind 192 of group 168.101.70.
        if kind.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(ReferenceError::Letters { part: "kind", text: kind });
        }
        let group = group.map(|g| word("group", g, dns)).transpose()?.map(str::to_ascii_lowercase);
        let namespace = namespace.map(|n| word("namespace", n, dns)).transpose()?.map(str::to_owned);
        let name = word("name", name, |c| !c.is_whitespace() && !c.is_control())?.to_owned();
        Ok(Self { kind, group, namespace, name })
    }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.kind)?;
        if let Some(group) = &self.group {
            write!(f, ".{group}")?;
        }
        if let Some(namespace) = &self.namespace {
            write!(f, "/{namespace}")?;
        }
        write!(f, "/{}", self.name)
    }
}

fn dns(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '.'
}

fn word<'a>(part: &'static str, text: &'a str, legal: fn(char) -> bool) -> Result<&'a str, ReferenceError> {
    if text.is_empty() {
        return Err(ReferenceError::Empty(part));
    }
    // No group, namespace or name begins or ends with a dot: `machine./x` is a slip of the finger.
    if !text.chars().all(legal) || text.starts_with('.') || text.ends_with('.') {
        return Err(ReferenceError::Letters { part, text: text.to_owned() });
    }
    Ok(text)
}

/// What `release` gives back: one address, or all that an owner has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// This address.
    Address(IpAddr),
    /// Whatever this owner holds.
    Owner(Reference),
}

impl FromStr for Target {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        // Reports print addresses as `ip/prefix`, so what was copied from one is taken as well.
        if let Some(address) = text.split('/').next().and_then(|ip| ip.parse().ok())
            && text.split_once('/').is_none_or(|(_, prefix)| prefix.parse::<u8>().is_ok_and(|p| p <= 128))
        {
            return Ok(Self::Address(address));
        }
        match text.parse() {
            Ok(reference) => Ok(Self::Owner(reference)),
            Err(ReferenceError::Shape) => Err(ReferenceError::Neither),
            Err(other) => Err(other),
        }
    }
}

/// A machine by `NAME`, `NAMESPACE/NAME` or `KIND[.GROUP]/NAMESPACE/NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineRef {
    /// The name and, where it was given, the namespace.
    Name {
        /// `None`: any.
        namespace: Option<String>,
        /// `metadata.name`
        name: String,
    },
    /// The full reference, which always has a namespace.
    Full(Reference),
}

impl FromStr for MachineRef {
    type Err = ReferenceError;

    fn from_str(text: &str) -> Result<Self, ReferenceError> {
        // Any kind will do here: it only makes a reference out of the shorter forms.
        let named = |r: Reference| Self::Name { namespace: r.namespace, name: r.name };
        match text.matches('/').count() {
            0 | 1 => format!("machine/{text}").parse().map(named),
            _ => text.parse().map(Self::Full),
        }
    }
}

impl fmt::Display for MachineRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Name { namespace: Some(namespace), name } => write!(f, "{namespace}/{name}"),
            Self::Name { namespace: None, name } => f.write_str(name),
            Self::Full(reference) => reference.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MACHINE: Kind = Kind {
        group: "machine.openshift.io",
        versions: &["v1beta1"],
        kind: "Machine",
        plural: "machines",
        namespaced: true,
    };

    fn read(text: &str) -> Reference {
        text.parse().unwrap()
    }

    #[test]
    fn references_are_read_in_all_their_forms() {
        let full = read("Machine.machine.openshift.io/openshift-machine-api/worker-0");
        assert_eq!(full.kind, "machine");
        assert_eq!(full.group.as_deref(), Some("machine.openshift.io"));
        assert_eq!(full.namespace.as_deref(), Some("openshift-machine-api"));
        assert_eq!(full.name, "worker-0");
        assert_eq!(full.to_string(), "machine.machine.openshift.io/openshift-machine-api/worker-0");
        assert_eq!(read("node/worker-0.lab.example").namespace, None);
        assert!(read("hold/printer").is_hold() && read("Hold.mipam.io/printer").is_hold());
        assert!(!read("hold/ns/printer").is_hold() && !read("hold.example/printer").is_hold());
    }

    #[test]
    fn kinds_match_by_kind_plural_or_singular_and_by_group() {
        for text in ["MACHINE/a/b", "machines/a/b", "machine.machine.openshift.io/a/b"] {
            assert!(read(text).is_kind(&MACHINE), "{text}");
        }
        for text in ["machineset/a/b", "machine.cluster.k8s.io/a/b", "m/a/b"] {
            assert!(!read(text).is_kind(&MACHINE), "{text}");
        }
    }

    #[test]
    fn what_is_no_reference_says_why() {
        let why = |text: &str| text.parse::<Reference>().unwrap_err().to_string();
        insta::assert_snapshot!(why("worker-0"), @"write it as KIND[.GROUP]/NAMESPACE/NAME, for example machine/openshift-machine-api/worker-0");
        insta::assert_snapshot!(why("a/b/c/d"), @"write it as KIND[.GROUP]/NAMESPACE/NAME, for example machine/openshift-machine-api/worker-0");
        insta::assert_snapshot!(why("machine//worker-0"), @"the namespace is empty; write KIND[.GROUP]/NAMESPACE/NAME");
        insta::assert_snapshot!(why("machine/ns/"), @"the name is empty; write KIND[.GROUP]/NAMESPACE/NAME");
        insta::assert_snapshot!(why("/ns/name"), @"the kind is empty; write KIND[.GROUP]/NAMESPACE/NAME");
        insta::assert_snapshot!(why("machine./ns/name"), @"the group is empty; write KIND[.GROUP]/NAMESPACE/NAME");
        insta::assert_snapshot!(why("ma-chine/ns/name"), @r#""ma-chine" is not a kind"#);
        insta::assert_snapshot!(why("machine/n s/name"), @r#""n s" is not a namespace"#);
    }

    #[test]
    fn targets_are_addresses_or_references() {
        let target = |text: &str| text.parse::<Target>();
        let ip = |text: &str| Ok(Target::Address(text.parse().unwrap()));
        assert_eq!(target("192.168.101.70"), ip("192.168.101.70"));
        assert_eq!(target("192.168.101.70/23"), ip("192.168.101.70"));
        assert_eq!(target("fd00::5/64"), ip("fd00::5"));
        assert_eq!(target("hold/printer"), Ok(Target::Owner(read("hold/printer"))));
        assert_eq!(target("192.168.101.300"), Err(ReferenceError::Neither));
        let no_kind = ReferenceError::Letters { part: "kind", text: "192".into() };
        assert_eq!(target("192.168.101.70/lab"), Err(no_kind));
    }

    #[test]
    fn machines_need_no_kind() {
        let machine = |text: &str| text.parse::<MachineRef>().unwrap();
        assert_eq!(machine("w-0"), MachineRef::Name { namespace: None, name: "w-0".into() });
        assert_eq!(machine("ns/w-0"), MachineRef::Name { namespace: Some("ns".into()), name: "w-0".into() });
        assert_eq!(machine("elfmachine/ns/w-0"), MachineRef::Full(read("elfmachine/ns/w-0")));
        for text in ["w-0", "ns/w-0", "elfmachine/ns/w-0"] {
            assert_eq!(machine(text).to_string(), text);
        }
        assert!("".parse::<MachineRef>().is_err() && "a/b/c/d".parse::<MachineRef>().is_err());
    }
}
