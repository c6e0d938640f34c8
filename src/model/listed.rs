//! An object of a list: as it is, or folded into its text until somebody looks at it.

use super::Object;
use std::borrow::Cow;
use std::ops::Deref;
use std::sync::{Arc, OnceLock};

/// An object as lists have it. Of the thousands that are watched a pass looks at a few: folded, one takes an eighth of
/// the memory. Who looks at it as an [`Object`] unfolds it for as long as this value lives; its clones stay folded.
pub struct Listed {
    kept: Kept,
    unfolded: OnceLock<Box<Object>>,
}

#[derive(Clone)]
enum Kept {
    Open(Arc<Object>),
    Folded(Arc<Folded>),
}

/// What an object is known by and the JSON of all of it, one after the other in one piece of memory.
struct Folded {
    text: Box<str>,
    /// Where namespace, name, uid and version end.
    ends: [usize; 4],
}

impl Folded {
    fn of(object: &Object) -> Self {
        let mut text = String::new();
        let ends = [object.namespace(), object.name(), object.uid(), object.resource_version()].map(|part| {
            text.push_str(part);
            text.len()
        });
        text.push_str(&object.0.to_string());
        Self { text: text.into(), ends }
    }

    fn part(&self, at: usize) -> &str {
        let from = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.text[from..self.ends[at]]
    }

    fn unfold(&self) -> Object {
        Object(serde_json::from_str(&self.text[self.ends[3]..]).expect("the text of a value is read back"))
    }
}

impl Listed {
    /// The same, folded.
    #[must_use]
    pub fn fold(self) -> Self {
        match &self.kept {
            Kept::Open(object) => Self::new(Kept::Folded(Arc::new(Folded::of(object)))),
            Kept::Folded(_) => self,
        }
    }

    /// Is it kept as text?
    pub fn is_folded(&self) -> bool {
        matches!(self.kept, Kept::Folded(_))
    }

    /// A look at the object that leaves it as it is.
    pub fn glance(&self) -> Cow<'_, Object> {
        match (&self.kept, self.unfolded.get()) {
            (Kept::Open(object), _) => Cow::Borrowed(object),
            (Kept::Folded(_), Some(object)) => Cow::Borrowed(object),
            (Kept::Folded(folded), None) => Cow::Owned(folded.unfold()),
        }
    }

    /// Is this the very same object, not only one that looks the same? For as long as both live.
    pub fn is(&self, other: &Self) -> bool {
        self.address() == other.address()
    }

    /// Where it is in memory: one that has changed is elsewhere, for as long as both live.
    pub fn address(&self) -> usize {
        match &self.kept {
            Kept::Open(object) => Arc::as_ptr(object).addr(),
            Kept::Folded(folded) => Arc::as_ptr(folded).addr(),
        }
    }

    fn new(kept: Kept) -> Self {
        Self { kept, unfolded: OnceLock::new() }
    }

    fn part<'a>(&'a self, at: usize, of: fn(&'a Object) -> &'a str) -> &'a str {
        match &self.kept {
            Kept::Open(object) => of(object),
            Kept::Folded(folded) => folded.part(at),
        }
    }

    /// Is this the very same object, as it was? Without versions (files) nobody can tell.
    pub fn is_same_version(&self, other: &Self) -> bool {
        let version = self.resource_version();
        !version.is_empty() && version == other.resource_version() && self.uid() == other.uid()
    }

    /// `metadata.namespace`, empty where there is none.
    pub fn namespace(&self) -> &str {
        self.part(0, Object::namespace)
    }

    /// `metadata.name`
    pub fn name(&self) -> &str {
        self.part(1, Object::name)
    }

    /// `metadata.uid`, empty where there is none (files).
    pub fn uid(&self) -> &str {
        self.part(2, Object::uid)
    }

    /// `metadata.resourceVersion`
    pub fn resource_version(&self) -> &str {
        self.part(3, Object::resource_version)
    }
}

impl Deref for Listed {
    type Target = Object;

    fn deref(&self) -> &Object {
        match &self.kept {
            Kept::Open(object) => object,
            Kept::Folded(folded) => self.unfolded.get_or_init(|| Box::new(folded.unfold())),
        }
    }
}

impl Clone for Listed {
    fn clone(&self) -> Self {
        Self::new(self.kept.clone())
    }
}

impl std::fmt::Debug for Listed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.glance().fmt(f)
    }
}

impl From<Arc<Object>> for Listed {
    fn from(object: Arc<Object>) -> Self {
        Self::new(Kept::Open(object))
    }
}

impl From<Object> for Listed {
    fn from(object: Object) -> Self {
        Arc::new(object).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_folded_object_is_the_same_to_the_last_field() {
        let object = Object(json!({
            "zulu": 1, "apiVersion": "v1", "metadata": { "name": "a", "namespace": "n", "resourceVersion": "7" },
            "spec": { "\u{e4}\n\"": [null, true, -3, 18_446_744_073_709_551_615_u64, 0.1, 1.797_693_134_862_315_7e308] },
        }));
        let folded = Listed::from(object.clone()).fold();
        assert!(folded.is_folded() && folded.clone().fold().is_folded());
        assert_eq!(
            (folded.namespace(), folded.name(), folded.uid(), folded.resource_version()),
            ("n", "a", "", "7")
        );
        assert_eq!(*folded.glance(), object);
        assert_eq!(folded.0.to_string(), object.0.to_string(), "the order of the fields, too");
    }

    #[test]
    fn a_look_unfolds_nothing_for_others() {
        let folded = Listed::from(Object(json!({ "metadata": { "name": "a" } }))).fold();
        assert!(matches!(folded.glance(), Cow::Owned(_)));
        let looked_at = folded.clone();
        assert_eq!(looked_at.at("/metadata/name"), Some(&json!("a")));
        assert!(matches!(looked_at.glance(), Cow::Borrowed(_)));
        assert!(
            matches!(folded.glance(), Cow::Owned(_)) && matches!(looked_at.clone().glance(), Cow::Owned(_))
        );
        assert!(folded.is(&looked_at) && !folded.is(&Listed::from(looked_at.glance().into_owned())));
    }
}
