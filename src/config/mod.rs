//! `ipam-config.yaml` and flags to a [`Config`], with errors that name file, line and key.

mod document;
mod draft;
mod duration;
mod error;
mod findings;
mod flags;
mod guard;
mod names;
mod overlap;
mod pools;
mod reserve;
mod schema;
mod seed;
mod suggest;
#[cfg(test)]
mod tests;
mod trouble;
mod walk;

pub use error::{ConfigError, ConfigErrors};
pub use schema::SYSTEMS;
pub use suggest::nearest;

use crate::addr::Span;
use crate::model::{Pool, Seconds};
use findings::{Finding, Findings, Path};

/// Reads the text of a config; `file` is its name for the messages.
pub fn parse(file: &str, text: &str) -> Result<Config, ConfigErrors> {
    parse_bytes(file, text.as_bytes())
}

/// Like [`parse`], for the bytes of a file, which may be no text at all.
pub fn parse_bytes(file: &str, bytes: &[u8]) -> Result<Config, ConfigErrors> {
    parse_with(Some((file, bytes)), &[])
}

/// Reads the bytes of a config, if there is one, and the networks of the command line.
pub fn parse_with(file: Option<(&str, &[u8])>, networks: &[String]) -> Result<Config, ConfigErrors> {
    let mut found = Findings::default();
    let Some((file, bytes)) = file else {
        let config = document::without_file(&mut found, networks);
        return found.finish("", "", Some(config));
    };
    let error = match std::str::from_utf8(bytes) {
        Ok(text) => {
            let config = document::read(&mut found, text, networks);
            return found.finish(file, text, config);
        }
        Err(error) => error,
    };
    let line = bytes[..error.valid_up_to()].split(|b| *b == b'\n').count();
    let hint = "this is not a text file, or it was damaged: save it again as plain text (UTF-8)";
    found.error(Finding::new(&Path::default(), "there are bytes that are no text").hint(hint).on_line(line));
    found.finish(file, &String::from_utf8_lossy(bytes), None)
}

/// The config of a run that has no file: no pools, and every default.
pub fn empty() -> Config {
    Config {
        pools: Vec::new(),
        lifecycle_hook: None,
        nmstate_target: NmstateTarget::default(),
        service_cidrs: Vec::new(),
        beside_peer: Vec::new(),
        metal3: Metal3::default(),
        serve_pools: None,
        systems: None,
        allow_shrink: false,
        publish: None,
        warnings: Vec::new(),
    }
}

/// All that a person has configured, checked.
#[derive(Clone, Debug)]
pub struct Config {
    /// Pools in the order in which they are tried.
    pub pools: Vec<Pool>,
    /// The hook that marks OpenShift machines as ours; without one no OpenShift machine is served.
    pub lifecycle_hook: Option<Hook>,
    /// Where the nmstate document goes.
    pub nmstate_target: NmstateTarget,
    /// Never part of a node's block.
    pub service_cidrs: Vec<Span>,
    /// Systems that are served although another allocator for them is visible.
    pub beside_peer: Vec<String>,
    /// Who serves metal3 pools.
    pub metal3: Metal3,
    /// Pool kinds that are served, as `Kind` or `Kind.group`; `None`: all for which no peer is visible.
    pub serve_pools: Option<Vec<String>>,
    /// Systems that are served; `None`: all whose kinds are there.
    pub systems: Option<Vec<String>>,
    /// Ranges that nobody holds an address of may be taken away (`--allow-shrink`).
    pub allow_shrink: bool,
    /// How long the free addresses that a pass publishes are to be believed (`--publish-capacity`); `None`:
    /// nothing is published.
    pub publish: Option<Seconds>,
    /// Things that are legal but odd, for stderr.
    pub warnings: Vec<String>,
}

/// Name and owner of a lifecycle hook: both must be equal for it to be ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// `ipamController`
    pub name: String,
    /// `network-admin`
    pub owner: String,
}

/// Where the nmstate document of a machine goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NmstateTarget {
    /// Annotation `mipam.io/nmstate`.
    #[default]
    Annotation,
    /// `devices[i].config`, where the first prototype put it.
    DeviceConfig,
}

/// Who serves metal3 pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metal3 {
    /// mipam.
    Serve,
    /// A metal3 controller; mipam waits for it.
    Defer,
    /// mipam, unless a metal3 controller is visible.
    #[default]
    Auto,
}
