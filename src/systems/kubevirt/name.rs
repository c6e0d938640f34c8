//! What claims are called: `<vm>.<network>` wherever that says which claim is meant, with a short hash where it does not.

use crate::model::hash;

/// The longest name that an object may have, and the longest value of a label.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// The name of the claim of a machine's network, as others write it, too.
pub fn plain(vm: &str, network: &str) -> String {
    // A network of which nothing is left would have the name of another machine's.
    let network = tidy(network);
    let network = if network.is_empty() { "network" } else { &network };
    cut(&format!("{}.{network}", tidy(vm)), LONGEST_NAME)
}

/// Its name where somebody else has that one. `of` is the network that its addresses are of.
pub fn hashed(vm: &str, network: &str, of: &str) -> String {
    let says = hash([vm, "/", network, "/", of].iter().flat_map(|t| t.bytes()));
    let short = (says >> 32) ^ (says & 0xffff_ffff);
    format!("{}-{short:08x}", cut(&plain(vm, network), LONGEST_NAME - 9))
}

/// Can no other machine of the namespace have a claim of the plain name? A name with one dot in it says itself where
/// the machine's ends.
pub fn is_certain(vm: &str, network: &str) -> bool {
    let whole = |text: &str| !text.contains('.') && tidy(text) == text;
    whole(vm) && whole(network) && vm.len() + network.len() < LONGEST_NAME
}

/// The value of the label that names the machine.
pub fn label(vm: &str) -> String {
    if vm.len() <= LONGEST_LABEL {
        return vm.to_owned();
    }
    let says = hash(vm.bytes());
    format!("{}-{says:016x}", cut(vm, LONGEST_LABEL - 17))
}

/// Lower case, and dots for runs of all that a name may not have.
fn tidy(text: &str) -> String {
    let lower = text.to_lowercase();
    let parts = lower.split(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-');
    let parts: Vec<&str> = parts.map(|part| part.trim_matches('-')).filter(|part| !part.is_empty()).collect();
    parts.join(".")
}

fn cut(text: &str, longest: usize) -> String {
    let cut: String = text.chars().take(longest).collect();
    cut.trim_end_matches(['.', '-']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_standard() {
        assert_eq!(plain("vm-a", "anet"), "vm-a.anet");
        assert_eq!(plain("vm-a", "My__Net"), "vm-a.my.net");
        assert_eq!(plain("a.b", "c"), plain("a", "b_c"));
        assert_ne!(hashed("a.b", "c", "n"), hashed("a", "b_c", "n"));
        assert_ne!(hashed("a", "n", "blue"), hashed("a", "n", "red"));
        assert_eq!(plain("x.net", "__"), "x.net.network");
    }

    #[test]
    fn long_names_are_cut_and_stay_valid() {
        let long = format!("{}.", "a".repeat(252));
        for vm in [&long[..252], &"b-".repeat(126)[..251], &"c".repeat(253)] {
            for name in [plain(vm, "net"), hashed(vm, "net", "blue")] {
                assert!(name.len() <= 253, "{name}");
                assert!(name.starts_with(char::is_alphanumeric) && name.ends_with(char::is_alphanumeric));
                assert!(!name.contains("..") && !name.contains(".-") && !name.contains("-."), "{name}");
            }
            assert!(label(vm).len() <= 63 && label(vm).ends_with(char::is_alphanumeric));
        }
        assert_eq!(label(&"d".repeat(63)), "d".repeat(63));
        assert_ne!(label(&"d".repeat(64)), label(&"d".repeat(65)));
    }

    #[test]
    fn a_name_that_two_could_have_is_not_certain() {
        assert!(is_certain("vm-a", "anet"));
        for (vm, network) in [("a.b", "c"), ("a", "b_c"), ("a", "B"), ("a", &"n".repeat(252))] {
            assert!(!is_certain(vm, network), "{vm} {network}");
        }
    }
}
