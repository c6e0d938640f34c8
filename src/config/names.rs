//! What a name may look like: pools, owners, DNS search domains, interfaces, networks.

/// Lowercase letters, digits, `-` and `.`, beginning and ending with a letter or digit, at most `longest` long.
pub(super) fn is_object_name(text: &str, longest: usize) -> bool {
    let inner = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-' || b == b'.';
    let outer = |b: Option<&u8>| b.is_some_and(u8::is_ascii_alphanumeric);
    let bytes = text.as_bytes();
    bytes.len() <= longest && bytes.iter().all(|b| inner(*b)) && outer(bytes.first()) && outer(bytes.last())
}

/// What a name becomes when all that it may not hold is left out, for a hint.
pub(super) fn to_object_name(text: &str, longest: usize) -> Option<String> {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || c == '.' { c.to_ascii_lowercase() } else { '-' };
    let name: String = text.chars().map(allowed).take(longest).collect();
    let name = name.trim_matches(['-', '.']).to_owned();
    (name != text && is_object_name(&name, longest)).then_some(name)
}

/// `name` or `namespace/name`.
pub(super) fn is_owner_name(text: &str) -> bool {
    let name = match text.split_once('/') {
        Some((namespace, _)) if !is_object_name(namespace, 63) || namespace.contains('.') => return false,
        Some((_, name)) => name,
        None => text,
    };
    is_object_name(name, 253)
}

/// A DNS name, with or without the dot at its end.
pub(super) fn is_domain(text: &str) -> bool {
    let text = text.strip_suffix('.').unwrap_or(text);
    let label = |label: &str| {
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        (1..=63).contains(&label.len())
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// What the Linux kernel takes for the name of an interface.
pub(super) fn is_interface(text: &str) -> bool {
    let forbidden = |c: char| c.is_whitespace() || c.is_control() || c == '/' || c == ':';
    (1..=15).contains(&text.len()) && !text.contains(forbidden) && text != "." && text != ".."
}

/// Free text that is shown in tables: anything printable.
pub(super) fn is_printable(text: &str) -> bool {
    text.len() <= 253 && !text.contains(char::is_control) && text.trim() == text && !text.is_empty()
}

/// `Kind` or `Kind.group`.
pub(super) fn is_kind(text: &str) -> bool {
    let (kind, group) = text.split_once('.').map_or((text, None), |(kind, group)| (kind, Some(group)));
    kind.starts_with(|c: char| c.is_ascii_uppercase())
        && kind.len() <= 63
        && kind.bytes().all(|b| b.is_ascii_alphanumeric())
        && group.is_none_or(|g| is_object_name(g, 253))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_objects_and_owners() {
        for name in ["lab", "a", "lab-1.example", "0"] {
            assert!(is_object_name(name, 63), "{name}");
        }
        for name in ["", "-a", "a-", ".a", "Lab", "a_b", "a b", "ä", &"a".repeat(64)] {
            assert!(!is_object_name(name, 63), "{name}");
        }
        assert_eq!(to_object_name("My Lab_1", 63).as_deref(), Some("my-lab-1"));
        assert_eq!(to_object_name("???", 63), None);
        for (name, right) in [
            ("infra-0", true),
            ("ns/infra-0", true),
            ("ns/a/b", false),
            ("/a", false),
            ("a/", false),
            ("n.s/a", false),
            ("Infra", false),
        ] {
            assert_eq!(is_owner_name(name), right, "{name}");
        }
    }

    #[test]
    fn domains_interfaces_and_kinds() {
        for (domain, right) in [
            ("lab.example", true),
            ("lab.example.", true),
            ("local", true),
            ("_x.Lab", true),
            ("", false),
            (".", false),
            ("a..b", false),
            ("-a.b", false),
            ("a b", false),
        ] {
            assert_eq!(is_domain(domain), right, "{domain}");
        }
        for (name, right) in [("ens192", true), ("", false), ("a/b", false), ("a b", false), ("..", false)] {
            assert_eq!(is_interface(name), right, "{name}");
        }
        assert!(!is_interface("abcdefghijklmnop"));
        for (kind, right) in [
            ("InClusterIPPool", true),
            ("IPPool.ipamcontroller.openshift.io", true),
            ("ippools", false),
            ("IPPool.", false),
            ("IP Pool", false),
        ] {
            assert_eq!(is_kind(kind), right, "{kind}");
        }
    }
}
