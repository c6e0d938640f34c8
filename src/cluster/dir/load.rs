//! Text of manifests to objects: which documents are Kubernetes objects, and which of those mipam knows.

use super::fault::{Fault, Faults};
use super::legacy;
use super::rules;
use super::scan::Format;
use super::split::{bom, frame, is_void, split};
use super::state::{Body, Entry, File, Item, Key, Part, Site, State};
use crate::model::Kind;
use crate::yaml::{self, Step, TextError};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// How many notes are told apart; the rest is counted.
const TOLD: usize = 20;

/// Group, kind, namespace and name of any object.
type Id = (String, String, String, String);

/// Reads file after file.
pub(super) struct Loader<'a> {
    root: &'a Path,
    pub(super) state: State,
    pub(super) faults: Faults,
    notes: Vec<String>,
    untold: usize,
    /// Where each object was seen first, of all kinds.
    sites: BTreeMap<Id, Site>,
}

/// What a value is.
enum Sort {
    /// No Kubernetes object.
    Foreign,
    /// Something like one, but not usable; why.
    Ignored(String),
    /// An object that mipam needs to know, but cannot call by its name; why.
    Wrong(String),
    List,
    Object(Id),
}

impl<'a> Loader<'a> {
    pub(super) fn new(root: &'a Path, kinds: &[Kind]) -> Self {
        let state = State::new(kinds);
        let (notes, sites) = (Vec::new(), BTreeMap::new());
        Self { root, state, faults: Faults::default(), notes, untold: 0, sites }
    }

    /// Takes in one manifest.
    pub(super) fn file(&mut self, path: PathBuf, format: Format, text: String) {
        let texts = match format {
            Format::Yaml => split(&text),
            Format::Json => vec![text.as_str()],
        };
        let mut at = 0;
        let parts = texts.iter().map(|text| {
            at += text.len();
            Part { range: at - text.len()..at, body: Body::Other, touched: false }
        });
        let parts: Vec<Part> = parts.collect();
        let ranges: Vec<Range<usize>> = parts.iter().map(|part| part.range.clone()).collect();
        let file = self.state.add_file(File { path, format, on_disk: Some(text), parts });
        for (part, range) in ranges.into_iter().enumerate() {
            let site = Site { file, part, item: None };
            match parse(format, self.text(file, range)) {
                Ok(None) => {}
                Ok(Some(value)) => self.document(site, value),
                Err(error) => self.fault(site, error.position.map(|p| p.line), error.message),
            }
        }
    }

    /// The notes, and how many more there would be.
    pub(super) fn finish(mut self) -> (State, Faults, Vec<String>) {
        if self.untold > 0 {
            self.notes.push(format!("and {} more documents that are ignored", self.untold));
        }
        // Most likely another folder was meant.
        if self.state.files.is_empty() && self.faults.is_empty() {
            let root = self.root.display();
            self.notes.push(format!("{root}: there is no manifest below it (*.yaml, *.yml or *.json)"));
        }
        (self.state, self.faults, self.notes)
    }

    fn text(&self, file: usize, range: Range<usize>) -> &str {
        self.state.files[file].on_disk.as_deref().and_then(|text| text.get(range)).unwrap_or_default()
    }

    fn document(&mut self, site: Site, value: Value) {
        let format = self.state.files[site.file].format;
        let range = self.state.files[site.file].parts[site.part].range.clone();
        let doubt = |loader: &Self, value: &Value| match format {
            Format::Yaml => legacy::doubtful(bom(loader.text(site.file, range.clone())).1, value),
            Format::Json => None,
        };
        let doubted = match self.sort(&value, None) {
            Sort::Foreign => None,
            Sort::Ignored(why) => {
                self.note(site, &why);
                None
            }
            Sort::Wrong(why) => {
                self.wrong(site, why);
                None
            }
            Sort::List => {
                let doubted = doubt(self, &value);
                let body = self.list(site, value);
                let known = matches!(body, Body::List { .. });
                self.state.files[site.file].parts[site.part].body = body;
                doubted.filter(|_| known)
            }
            Sort::Object(id) => match self.object(site, id, value, None) {
                Ok(key) => {
                    let doubted = self.state.entries.get(&key).and_then(|entry| doubt(self, &entry.value));
                    self.state.files[site.file].parts[site.part].body = Body::Object(key);
                    doubted
                }
                Err(_) => None,
            },
        };
        if let Some((line, word)) = doubted {
            let message = format!(
                "{word} without quotes is not text to kubectl; put it in quotes, or write true, false or a decimal number"
            );
            self.fault(site, Some(line), message);
        }
    }

    fn list(&mut self, site: Site, mut value: Value) -> Body {
        let api_version = text_at(&value, "/apiVersion").unwrap_or_default().to_owned();
        let kind = text_at(&value, "/kind")
            .and_then(|kind| kind.strip_suffix("List"))
            .unwrap_or_default()
            .to_owned();
        if !kind.is_empty() {
            // Even an empty list of a kind tells that the kind is served.
            self.state.seen.insert((rules::group(&api_version).to_owned(), kind.clone()));
        }
        let implied = (!kind.is_empty()).then_some((api_version.as_str(), kind.as_str()));
        let Some(Value::Array(values)) =
            value.get_mut("items").map(|v| std::mem::replace(v, Value::Array(Vec::new())))
        else {
            return Body::Other;
        };
        let items: Vec<Item> = values
            .into_iter()
            .enumerate()
            .map(|(at, item)| self.item(Site { item: Some(at), ..site }, item, implied))
            .collect();
        let known = items.iter().any(|item| matches!(item, Item::Known(_)));
        if known { Body::List { shell: value, items } } else { Body::Other }
    }

    fn item(&mut self, site: Site, value: Value, implied: Option<(&str, &str)>) -> Item {
        match self.sort(&value, implied) {
            Sort::Object(id) => {
                let silent = value.get("apiVersion").is_none();
                let api_version = implied.filter(|_| silent).map(|(api_version, _)| api_version.to_owned());
                match self.object(site, id, value, api_version) {
                    Ok(key) => Item::Known(key),
                    Err(value) => Item::Other(value),
                }
            }
            Sort::Foreign => Item::Other(value),
            Sort::List => {
                self.note(site, "is a list inside a list");
                Item::Other(value)
            }
            Sort::Ignored(why) => {
                self.note(site, &why);
                Item::Other(value)
            }
            Sort::Wrong(why) => {
                self.wrong(site, why);
                Item::Other(value)
            }
        }
    }

    /// Takes in an object; gives the value back if mipam has no use for its kind.
    fn object(
        &mut self,
        site: Site,
        id: Id,
        value: Value,
        api_version: Option<String>,
    ) -> Result<Key, Value> {
        if let Some(&first) = self.sites.get(&id) {
            let fault = self.faults.has_room().then(|| self.twice(&id, first, site));
            self.faults.add(fault);
            return Err(value);
        }
        self.sites.insert(id.clone(), site);
        if id.0 == "apiextensions.k8s.io"
            && id.1 == "CustomResourceDefinition"
            && let (Some(group), Some(kind)) =
                (text_at(&value, "/spec/group"), text_at(&value, "/spec/names/kind"))
        {
            self.state.seen.insert((group.to_owned(), kind.to_owned()));
        }
        let (group, kind, namespace, name) = id;
        let Some(known) = self.state.kind(&group, &kind) else { return Err(value) };
        self.state.seen.insert((group, kind));
        let key = Key { kind: known, namespace, name };
        self.state.entries.insert(key.clone(), Entry { value, site, api_version, edit: 0 });
        Ok(key)
    }

    fn sort(&self, value: &Value, implied: Option<(&str, &str)>) -> Sort {
        let Value::Object(map) = value else { return Sort::Foreign };
        let (api_version, kind) = match (map.get("apiVersion"), map.get("kind")) {
            (None, None) => match implied {
                Some(both) => both,
                None => return Sort::Foreign,
            },
            (Some(Value::String(api_version)), Some(Value::String(kind))) => {
                (api_version.as_str(), kind.as_str())
            }
            (Some(_), None) => return Sort::Ignored("has an apiVersion and no kind".to_owned()),
            (None, Some(_)) => return Sort::Ignored("has a kind and no apiVersion".to_owned()),
            _ => return Sort::Ignored("has an apiVersion or a kind that is not text".to_owned()),
        };
        let group = rules::group(api_version);
        if group == "kustomize.config.k8s.io" {
            return Sort::Foreign;
        }
        if kind.ends_with("List") && matches!(map.get("items"), Some(Value::Array(_) | Value::Null)) {
            return Sort::List;
        }
        let known = self.state.kind(group, kind).map(|at| self.state.kinds[at]);
        // What it uses must not be given to another because of a missing quote.
        let not_text = |key: &str| {
            let why = format!("is a {kind} whose metadata.{key} is not text; put it in quotes");
            if known.is_some() { Sort::Wrong(why) } else { Sort::Ignored(why) }
        };
        let name = match value.pointer("/metadata/name") {
            Some(Value::String(name)) if !name.is_empty() => name,
            None | Some(Value::Null | Value::String(_)) => {
                return Sort::Ignored(format!("is a {kind} without metadata.name"));
            }
            Some(_) => return not_text("name"),
        };
        let namespace = match value.pointer("/metadata/namespace") {
            _ if known.is_some_and(|kind| !kind.namespaced) => "",
            Some(Value::String(namespace)) if !namespace.is_empty() => namespace,
            None | Some(Value::Null | Value::String(_)) if known.is_some() => rules::DEFAULT,
            None | Some(Value::Null | Value::String(_)) => "",
            Some(_) => return not_text("namespace"),
        };
        Sort::Object((group.to_owned(), kind.to_owned(), namespace.to_owned(), name.clone()))
    }

    fn path(&self, site: Site) -> PathBuf {
        self.root.join(&self.state.files[site.file].path)
    }

    /// The line on which a document, or an item of a list, begins.
    fn line(&self, site: Site) -> usize {
        let text = self.text(site.file, self.state.files[site.file].parts[site.part].range.clone());
        let text = bom(text).1;
        let inside = if let Some(item) = site.item {
            let path = [Step::Key("items".to_owned()), Step::Index(item)];
            yaml::locate(text, &path).map_or(1, |position| position.line)
        } else {
            let (head, _) = frame(text);
            let lines = head.matches('\n').count();
            if text.starts_with(&head) { lines + 1 } else { lines }
        };
        self.absolute(site, inside)
    }

    /// A line of a document as a line of its file.
    fn absolute(&self, site: Site, line: usize) -> usize {
        let range = self.state.files[site.file].parts[site.part].range.clone();
        // A text that ends too early is wrong on the line after its last, and YAML 1.1 knows more line ends.
        let within = line.min(self.text(site.file, range.clone()).lines().count().max(1));
        self.text(site.file, 0..range.start).matches('\n').count() + within
    }

    fn twice(&self, id: &Id, first: Site, second: Site) -> Fault {
        let name = if id.2.is_empty() { id.3.clone() } else { format!("{}/{}", id.2, id.3) };
        let there = format!("{}:{}", self.path(first).display(), self.line(first));
        let message = format!("{}/{name} is also in {there}; keep one of them", id.1);
        Fault { path: self.path(second), line: Some(self.line(second)), message }
    }

    fn fault(&mut self, site: Site, line: Option<usize>, message: String) {
        let fault = self.faults.has_room().then(|| {
            let line = self.absolute(site, line.unwrap_or(1));
            Fault { path: self.path(site), line: Some(line), message }
        });
        self.faults.add(fault);
    }

    /// A fault of a whole document, or of an item of a list.
    fn wrong(&mut self, site: Site, message: String) {
        let fault = self.faults.has_room().then(|| Fault {
            path: self.path(site),
            line: Some(self.line(site)),
            message,
        });
        self.faults.add(fault);
    }

    fn note(&mut self, site: Site, why: &str) {
        if self.notes.len() >= TOLD {
            self.untold += 1;
            return;
        }
        self.notes.push(format!("{}:{}: {why}: ignored", self.path(site).display(), self.line(site)));
    }
}

/// The value of a document; `None` if it has no content.
fn parse(format: Format, text: &str) -> Result<Option<Value>, TextError> {
    let text = bom(text).1;
    match format {
        Format::Yaml if is_void(text) => Ok(None),
        Format::Yaml => {
            let mut value = yaml::parse_yaml(text)?;
            if text.contains("<<") {
                legacy::merge(&mut value)
                    .map_err(|message| TextError { position: None, message: message.to_owned() })?;
            }
            Ok(Some(value))
        }
        Format::Json if text.trim().is_empty() => Ok(None),
        Format::Json => yaml::parse_json(text).map(Some),
    }
}

fn text_at<'v>(value: &'v Value, pointer: &str) -> Option<&'v str> {
    value.pointer(pointer).and_then(Value::as_str)
}
