//! Node selectors, as Kubernetes has them: terms of which one must match, each of requirements that must all match.

use crate::model::Object;
use serde_json::Value;
use std::collections::BTreeSet;

/// The selector of a ClusterCIDR.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Selector {
    /// There is none: every Node.
    All,
    /// The Nodes that match one of these terms.
    Terms(Vec<Vec<Requirement>>),
}

/// One condition on a label, or on the name of the Node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Requirement {
    key: String,
    /// It is about `metadata.name`, not about a label.
    field: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Test {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

impl Selector {
    /// Reads `spec.nodeSelector`; an error says what is wrong with it.
    pub(super) fn read(cluster_cidr: &Object) -> Result<Self, String> {
        let selector = cluster_cidr.at("/spec/nodeSelector").filter(|s| !s.is_null());
        let Some(selector) = selector else { return Ok(Self::All) };
        let terms = match selector.get("nodeSelectorTerms") {
            None | Some(Value::Null) => return Ok(Self::All),
            Some(terms) => terms.as_array().ok_or("nodeSelectorTerms is no list")?,
        };
        if terms.is_empty() {
            return Ok(Self::All);
        }
        let read = |term: &Value| {
            let list = |key: &str| term.get(key).and_then(Value::as_array).into_iter().flatten();
            let labels = list("matchExpressions").map(|r| Requirement::read(r, false));
            labels.chain(list("matchFields").map(|r| Requirement::read(r, true))).collect()
        };
        let mut terms: Vec<Vec<Requirement>> = terms.iter().map(read).collect::<Result<_, String>>()?;
        terms.iter_mut().for_each(|term| term.sort());
        Ok(Self::Terms(terms))
    }

    /// How many requirements the Node meets, in the term that has most of them; `None`: it does not match. A
    /// term without requirements matches nothing.
    pub(super) fn matches(&self, node: &Object) -> Option<usize> {
        let Self::Terms(terms) = self else { return Some(0) };
        let met = |term: &&Vec<Requirement>| !term.is_empty() && term.iter().all(|r| r.matches(node));
        terms.iter().filter(met).map(Vec::len).max()
    }

    /// As text, for the order among ClusterCIDRs: `a in (x),b in (y)`.
    pub(super) fn text(&self) -> String {
        let Self::Terms(terms) = self else { return String::new() };
        let term = |term: &Vec<Requirement>| term.iter().map(Requirement::text).collect::<Vec<_>>().join(",");
        let mut texts: Vec<String> = terms.iter().map(term).collect();
        texts.sort();
        texts.join(" or ")
    }

    /// The labels that decide whether a Node matches; `None`: its name does, too.
    pub(super) fn keys(&self) -> Option<Vec<&str>> {
        let Self::Terms(terms) = self else { return Some(Vec::new()) };
        let all = terms.iter().flatten();
        all.map(|r| (!r.field).then_some(r.key.as_str())).collect()
    }
}

impl Requirement {
    fn read(requirement: &Value, field: bool) -> Result<Self, String> {
        let text = |key: &str| requirement.get(key).and_then(Value::as_str).unwrap_or_default();
        let (key, operator) = (text("key").to_owned(), text("operator"));
        let values = requirement.get("values").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let values: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
        let values = values.ok_or_else(|| format!("the values for {key} are not all text"))?;
        let set = || values.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
        let number = || match values.as_slice() {
            [one] => one.parse().map_err(|_| format!("{key} {operator} {one:?}: {one:?} is no whole number")),
            _ => Err(format!("{operator} for {key} needs one value")),
        };
        if key.is_empty() {
            return Err("a requirement has no key".to_owned());
        }
        if field && (key != "metadata.name" || !matches!(operator, "In" | "NotIn") || values.len() != 1) {
            return Err(format!(
                "matchFields knows only metadata.name, In or NotIn, and one value, not {key} {operator}"
            ));
        }
        let test = match (operator, values.is_empty()) {
            ("In", false) => Test::In(set()),
            ("NotIn", false) => Test::NotIn(set()),
            ("In" | "NotIn", true) => return Err(format!("{operator} for {key} needs values")),
            ("Exists", true) => Test::Exists,
            ("DoesNotExist", true) => Test::DoesNotExist,
            ("Exists" | "DoesNotExist", false) => {
                return Err(format!("{operator} for {key} takes no values"));
            }
            ("Gt", _) => Test::Gt(number()?),
            ("Lt", _) => Test::Lt(number()?),
            _ => return Err(format!("there is no operator {operator:?} (for {key})")),
        };
        Ok(Self { key, field, test })
    }

    fn matches(&self, node: &Object) -> bool {
        let value = if self.field { Some(node.name()) } else { node.label(&self.key) };
        let number = || value.and_then(|v| v.parse::<i64>().ok());
        match &self.test {
            Test::In(values) => value.is_some_and(|v| values.contains(v)),
            // A label that is not there is not among them.
            Test::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::Gt(limit) => number().is_some_and(|n| n > *limit),
            Test::Lt(limit) => number().is_some_and(|n| n < *limit),
        }
    }

    fn text(&self) -> String {
        let list =
            |values: &BTreeSet<String>| values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        let key = &self.key;
        match &self.test {
            Test::In(values) => format!("{key} in ({})", list(values)),
            Test::NotIn(values) => format!("{key} notin ({})", list(values)),
            Test::Exists => key.clone(),
            Test::DoesNotExist => format!("!{key}"),
            Test::Gt(limit) => format!("{key}>{limit}"),
            Test::Lt(limit) => format!("{key}<{limit}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selector(terms: &Value) -> Result<Selector, String> {
        Selector::read(&Object(json!({ "spec": { "nodeSelector": { "nodeSelectorTerms": terms } } })))
    }

    fn expressions(requirements: &Value) -> Result<Selector, String> {
        selector(&json!([{ "matchExpressions": requirements }]))
    }

    fn node() -> Object {
        Object(json!({ "metadata": { "name": "n1", "labels": { "zone": "a", "size": "8", "odd": "x8" } } }))
    }

    fn met(requirement: &Value) -> bool {
        expressions(&json!([requirement])).unwrap().matches(&node()).is_some()
    }

    #[test]
    fn operators_mean_what_kubernetes_means() {
        let r = |key: &str, operator: &str, values: &[&str]| json!({ "key": key, "operator": operator, "values": values });
        for (requirement, wanted) in [
            (r("zone", "In", &["a", "b"]), true),
            (r("zone", "In", &["b"]), false),
            (r("rack", "In", &["b"]), false),
            (r("zone", "NotIn", &["a"]), false),
            (r("zone", "NotIn", &["b"]), true),
            (r("rack", "NotIn", &["b"]), true),
            (r("zone", "Exists", &[]), true),
            (r("rack", "Exists", &[]), false),
            (r("zone", "DoesNotExist", &[]), false),
            (r("rack", "DoesNotExist", &[]), true),
            (r("size", "Gt", &["7"]), true),
            (r("size", "Gt", &["8"]), false),
            (r("size", "Lt", &["9"]), true),
            (r("size", "Lt", &["8"]), false),
            (r("odd", "Gt", &["7"]), false),
            (r("rack", "Lt", &["7"]), false),
        ] {
            assert_eq!(met(&requirement), wanted, "{requirement}");
        }
    }

    #[test]
    fn terms_are_alternatives_and_the_longest_that_matches_counts() {
        let exists = |key: &str| json!({ "key": key, "operator": "Exists" });
        let one = json!({ "matchExpressions": [exists("zone")] });
        let two = json!({ "matchExpressions": [exists("zone"), exists("size")] });
        let never = json!({ "matchExpressions": [exists("zone"), exists("rack"), exists("size")] });
        assert_eq!(selector(&json!([one, two, never])).unwrap().matches(&node()), Some(2));
        assert_eq!(selector(&json!([never])).unwrap().matches(&node()), None);
        assert_eq!(selector(&json!([{}])).unwrap().matches(&node()), None, "an empty term matches nothing");
        assert_eq!(selector(&json!([])).unwrap().matches(&node()), Some(0), "an empty selector matches all");
        assert_eq!(Selector::read(&Object(json!({}))).unwrap().matches(&node()), Some(0));
    }

    #[test]
    fn fields_are_the_name_of_the_node() {
        let field = |operator: &str, name: &str| {
            let field = json!({ "key": "metadata.name", "operator": operator, "values": [name] });
            selector(&json!([{ "matchFields": [field] }])).unwrap()
        };
        assert_eq!(field("In", "n1").matches(&node()), Some(1));
        assert_eq!(field("In", "n2").matches(&node()), None);
        assert_eq!(field("NotIn", "n2").matches(&node()), Some(1));
        assert_eq!(field("In", "n1").keys(), None);
    }

    #[test]
    fn what_kubernetes_would_refuse_is_said() {
        for (requirement, why) in [
            (json!({ "key": "a", "operator": "in", "values": ["x"] }), "there is no operator \"in\" (for a)"),
            (json!({ "key": "a", "operator": "In" }), "In for a needs values"),
            (json!({ "key": "a", "operator": "Exists", "values": ["x"] }), "Exists for a takes no values"),
            (
                json!({ "key": "a", "operator": "Gt", "values": ["x"] }),
                "a Gt \"x\": \"x\" is no whole number",
            ),
            (json!({ "key": "a", "operator": "Lt", "values": ["1", "2"] }), "Lt for a needs one value"),
            (json!({ "operator": "Exists" }), "a requirement has no key"),
            (json!({ "key": "a", "operator": "In", "values": [1] }), "the values for a are not all text"),
        ] {
            assert_eq!(expressions(&json!([requirement])), Err(why.to_owned()));
        }
        let field = json!({ "key": "spec.unschedulable", "operator": "In", "values": ["x"] });
        assert!(selector(&json!([{ "matchFields": [field] }])).unwrap_err().contains("only metadata.name"));
    }

    #[test]
    fn the_text_is_sorted_by_key() {
        let requirements = json!([
            { "key": "b", "operator": "In", "values": ["y", "x"] },
            { "key": "a", "operator": "In", "values": ["x"] },
            { "key": "c", "operator": "DoesNotExist" },
        ]);
        assert_eq!(expressions(&requirements).unwrap().text(), "a in (x),b in (x,y),!c");
    }
}
