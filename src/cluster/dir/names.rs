//! Where new objects go: a readable file name for each, safe whatever the object is called.

use crate::model::{Kind, hash};
use std::path::PathBuf;

/// The folder of what mipam made, below the folder that is the cluster.
pub(super) const FOLDER: &str = "mipam";

/// Longer names than this are cut: file systems stop at 255 bytes.
const LONGEST: usize = 200;

/// `mipam/configmaps/mipam-system.ledger.yaml`. The group is part of the folder, since kinds of several groups
/// share a plural; namespaces have no dots, so the first dot parts namespace and name. `again` counts up
/// where the name is taken by a file with something else in it.
pub(super) fn path(kind: Kind, namespace: &str, name: &str, again: usize) -> PathBuf {
    let full = if namespace.is_empty() { name.to_owned() } else { format!("{namespace}.{name}") };
    let mut file = safe(&full);
    if again > 0 {
        file = format!("{file}_{again}");
    }
    PathBuf::from(FOLDER).join(kind.resource()).join(format!("{file}.yaml"))
}

/// The name itself where it is a plain DNS name; otherwise what is readable of it, and its hash.
fn safe(name: &str) -> String {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    if name.len() <= LONGEST && name.chars().all(plain) && name.starts_with(|c| c != '.') {
        return name.to_owned();
    }
    let readable: String = name.chars().take(LONGEST).map(|c| if plain(c) { c } else { '_' }).collect();
    format!("_{}-{:016x}", readable.trim_start_matches('.'), hash(name.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Component;

    const KIND: Kind = Kind {
        group: "ipam.metal3.io",
        versions: &["v1alpha1"],
        kind: "IPAddress",
        plural: "ipaddresses",
        namespaced: true,
    };

    #[test]
    fn plain_names_are_readable() {
        assert_eq!(path(KIND, "ns", "a.b", 0), PathBuf::from("mipam/ipaddresses.ipam.metal3.io/ns.a.b.yaml"));
        assert_eq!(path(KIND, "", "a", 2), PathBuf::from("mipam/ipaddresses.ipam.metal3.io/a_2.yaml"));
    }

    #[test]
    fn namespace_and_name_never_run_together() {
        assert_ne!(path(KIND, "a-b", "c", 0), path(KIND, "a", "b-c", 0));
        assert_ne!(path(KIND, "", "A", 0), path(KIND, "", "B", 0));
        assert_ne!(path(KIND, "", &"a".repeat(250), 0), path(KIND, "", &"a".repeat(251), 0));
    }

    proptest! {
        #[test]
        fn no_name_leaves_the_folder(namespace in ".*", name in ".+") {
            let path = path(KIND, &namespace, &name, 0);
            let parts: Vec<_> = path.components().collect();
            prop_assert_eq!(parts.len(), 3);
            prop_assert!(parts.iter().all(|c| matches!(c, Component::Normal(_))));
            let file = parts[2].as_os_str().to_str().unwrap();
            prop_assert!(file.len() < 250 && !file.starts_with('.'), "{}", file);
            prop_assert_eq!(path.extension().unwrap(), "yaml");
        }
    }
}
