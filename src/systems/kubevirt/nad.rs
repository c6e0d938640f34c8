//! NetworkAttachmentDefinitions: which networks there are, and whose addresses are to persist. One that cannot be read
//! is a trouble of those alone that name it.

use super::network::{At, Entry};
use super::{NAD, NAME};
use crate::model::{Notice, Object, ObjectRef, Problem};
use crate::yaml::parse_json;
use serde_json::Value;
use std::collections::BTreeMap;

/// What the configuration of a network says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Net {
    /// Its name in the CNI, which claims repeat.
    pub name: String,
    /// Do addresses persist?
    pub persistent: bool,
    /// Is it what the pods of its namespace have in place of the cluster's own network?
    pub primary: bool,
    /// Where its addresses come from, as CIDRs.
    pub subnets: Vec<String>,
}

/// Why a network of a machine cannot be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trouble {
    /// One word for programs.
    pub kind: &'static str,
    /// Which definition.
    pub about: ObjectRef,
    /// A sentence for people.
    pub message: String,
    /// It may as well be none of the machine's networks.
    pub doubtful: bool,
}

impl Trouble {
    /// What a person should look at.
    pub fn problem(&self) -> Problem {
        Problem::new(self.kind, &self.about, self.message.clone())
    }

    /// What is said on the machine.
    pub fn notice(&self, about: ObjectRef, uid: &str) -> Notice {
        let message = format!("{}: {}", self.about, self.message);
        Notice {
            system: NAME.into(),
            about,
            uid: uid.to_owned(),
            normal: false,
            reason: "NoPersistentIPs".to_owned(),
            message,
        }
    }
}

/// All definitions, read.
#[derive(Clone, Debug, Default)]
pub struct Nads(BTreeMap<(String, String), Result<Option<Net>, Unread>>);

/// Why a definition cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unread {
    why: String,
    /// Whether it is what the pods of its namespace have, as far as that can be read.
    primary: Option<bool>,
}

impl Nads {
    /// Reads them.
    pub fn read<'a>(objects: impl IntoIterator<Item = &'a Object>) -> Self {
        let place = |o: &Object| (o.namespace().to_owned(), o.name().to_owned());
        Self(objects.into_iter().map(|o| (place(o), read(o))).collect())
    }

    /// The network that an entry of a machine in this namespace is of; `None` where it is none that CNI plugins of a
    /// definition serve.
    pub fn find(&self, namespace: &str, entry: &Entry) -> Result<Option<&Net>, Box<Trouble>> {
        match &entry.at {
            At::Nad { namespace, name } => self.named(namespace, name),
            At::Pod => self.primary(namespace),
        }
    }

    fn named(&self, namespace: &str, name: &str) -> Result<Option<&Net>, Box<Trouble>> {
        let about = NAD.at(namespace, name);
        match self.0.get(&(namespace.to_owned(), name.to_owned())) {
            Some(Ok(net)) => Ok(net.as_ref()),
            Some(Err(unread)) => Err(unreadable(about, unread, false)),
            None => {
                let message =
                    "it does not exist, and virtual machines name it: make it, or mend their networks";
                Err(Box::new(Trouble {
                    kind: "NoNetwork",
                    about,
                    message: message.to_owned(),
                    doubtful: false,
                }))
            }
        }
    }

    fn primary(&self, namespace: &str) -> Result<Option<&Net>, Box<Trouble>> {
        let first = (namespace.to_owned(), String::new());
        let here = || self.0.range(first.clone()..).take_while(|((n, _), _)| n == namespace);
        let mut found = here().filter_map(|(at, net)| Some((at, net.as_ref().ok()?.as_ref()?)));
        let mut found = found.by_ref().filter(|(_, net)| net.primary);
        match (found.next(), found.next()) {
            (Some((_, net)), None) => Ok(Some(net)),
            (Some(((_, one), _)), Some(((_, other), _))) => {
                let message = format!(
                    "{other} has the role primary, too, so the network of the pods of its namespace cannot be told: one of the two has to go"
                );
                let about = NAD.at(namespace, one);
                Err(Box::new(Trouble { kind: "Ambiguous", about, message, doubtful: false }))
            }
            // It could be one of those that cannot be read, unless they say that they are not.
            (None, _) => {
                let unread = here().filter_map(|((_, name), net)| Some((name, net.as_ref().err()?)));
                let could_be = unread.filter(|(_, u)| u.primary != Some(false));
                match could_be.min_by_key(|(_, u)| u.primary.is_none()) {
                    Some((name, u)) => Err(unreadable(NAD.at(namespace, name), u, u.primary.is_none())),
                    None => Ok(None),
                }
            }
        }
    }
}

fn unreadable(about: ObjectRef, unread: &Unread, doubtful: bool) -> Box<Trouble> {
    let why = &unread.why;
    let message = format!("{why}; virtual machines on it get no persistent addresses until it is mended");
    Box::new(Trouble { kind: "Unreadable", about, message, doubtful })
}

/// What a definition says; `None` where it says nothing, because its configuration lies on the nodes.
fn read(nad: &Object) -> Result<Option<Net>, Unread> {
    let Some(text) = nad.at("/spec/config").filter(|c| !c.is_null()) else { return Ok(None) };
    let unknown = |why: String| Unread { why, primary: None };
    let text = text.as_str().ok_or_else(|| unknown("its spec.config is no text".to_owned()))?;
    if text.trim().is_empty() {
        return Ok(None);
    }
    let config = parse_json(text).map_err(|error| unknown(format!("its spec.config is no JSON: {error}")))?;
    if !config.is_object() {
        return Err(unknown("its spec.config is no JSON object".to_owned()));
    }
    let plugins = config.get("plugins").and_then(Value::as_array).into_iter().flatten();
    let parts: Vec<&Value> = std::iter::once(&config).chain(plugins).collect();
    let primary = parts.iter().any(|part| part.get("role").and_then(Value::as_str) == Some("primary"));
    let wrong = |why: String| Unread { why, primary: Some(primary) };
    let (mut persistent, mut subnets) = (false, Vec::new());
    for part in parts {
        match part.get("allowPersistentIPs") {
            None | Some(Value::Null) => {}
            Some(Value::Bool(allowed)) => persistent |= allowed,
            Some(other) => {
                return Err(wrong(format!(
                    "allowPersistentIPs in its spec.config is {other}: write true or false"
                )));
            }
        }
        let text = part.get("subnets").and_then(Value::as_str).unwrap_or_default();
        subnets.extend(text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned));
    }
    let name = config.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    if persistent && name.is_empty() {
        return Err(wrong("its spec.config allows persistent IPs and has no name".to_owned()));
    }
    Ok(Some(Net { name, persistent, primary, subnets }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn nad(config: &Value) -> Object {
        Object(json!({ "metadata": { "name": "n", "namespace": "ns" }, "spec": { "config": config } }))
    }

    #[test]
    fn a_list_of_plugins_counts_like_one() {
        let one = json!({ "name": "blue", "allowPersistentIPs": true, "role": "primary", "subnets": "10.0.0.0/24, fd00::/64" });
        let list = json!({ "name": "blue", "plugins": [{ "type": "x", "subnets": "10.0.0.0/24" }, { "allowPersistentIPs": true, "role": "primary", "subnets": "fd00::/64" }] });
        let subnets = vec!["10.0.0.0/24".to_owned(), "fd00::/64".to_owned()];
        let net = Net { name: "blue".into(), persistent: true, primary: true, subnets };
        for config in [one, list] {
            assert_eq!(read(&nad(&json!(config.to_string()))), Ok(Some(net.clone())));
        }
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (config, why) in [
            (json!("{"), "no JSON"),
            (json!("[]"), "no JSON object"),
            (json!(7), "no text"),
            (json!(r#"{"name":"a","name":"b"}"#), "no JSON"),
            (json!(r#"{"name":"a","allowPersistentIPs":"true"}"#), "write true or false"),
            (json!(r#"{"allowPersistentIPs":true}"#), "has no name"),
        ] {
            let error = read(&nad(&config)).unwrap_err().why;
            assert!(error.contains(why), "{config}: {error}");
        }
        for nothing in [json!(""), json!(null)] {
            assert_eq!(read(&nad(&nothing)), Ok(None));
        }
    }

    #[test]
    fn the_primary_network_is_found_beside_others() {
        let of = |name: &str, config: &str| {
            Object(json!({ "metadata": { "name": name, "namespace": "ns" }, "spec": { "config": config } }))
        };
        let primary = of("p", r#"{"name":"p","role":"primary"}"#);
        let (bad, other) = (of("bad", "{"), of("other", r#"{"name":"o"}"#));
        let find = |objects: &[&Object]| {
            let nads = Nads::read(objects.iter().copied());
            nads.primary("ns").map(|net| net.map(|n| n.name.clone())).map_err(|t| (t.kind, t.doubtful))
        };
        assert_eq!(find(&[&bad, &other, &primary]), Ok(Some("p".to_owned())));
        assert_eq!(find(&[&other]), Ok(None));
        assert_eq!(find(&[&other, &bad]), Err(("Unreadable", true)));
        let wrong = of("wrong", r#"{"name":"w","role":"primary","allowPersistentIPs":1}"#);
        assert_eq!(find(&[&bad, &wrong]), Err(("Unreadable", false)), "it says that it is the one");
        assert_eq!(
            find(&[&of("no", r#"{"name":"n","allowPersistentIPs":1}"#)]),
            Ok(None),
            "it says that it is not"
        );
        let second = of("q", r#"{"name":"q","role":"primary"}"#);
        assert_eq!(find(&[&primary, &second]), Err(("Ambiguous", false)));
    }
}
