//! Where the configuration is, and how it is read: from a file, or from a ConfigMap of the cluster. A loop may read it
//! again with the same calls.

use super::Failure;
use super::context::Context;
use crate::cli::{ConfigAt, RangeOptions};
use crate::cluster::dir::Mode;
use crate::cluster::{Cluster, ClusterError, Patient};
use crate::config::{self, Config};
use crate::ledger::CONFIG_MAP;
use crate::systems;
use serde_json::Value;
use std::path::PathBuf;

/// The name of the file, and the key of the ConfigMap that has it.
const NAME: &str = "ipam-config.yaml";

/// A configuration that is larger than this is no configuration.
const LARGEST_CONFIG: u64 = 4 << 20;

const EXAMPLE: &str = "write one (ipam-config.yaml.example shows every key), or name it with --config; with --dir it may also lie in that directory";

impl Context<'_> {
    /// Reads the configuration for a command that may change which ranges there are, and says what is odd in it.
    pub(super) async fn config_with(
        &self,
        cluster: &dyn Cluster,
        ranges: &RangeOptions,
    ) -> Result<Config, Failure> {
        let config = self.reread(cluster, ranges).await?;
        self.remark(&config);
        Ok(config)
    }

    /// Like [`Context::config_with`], without a word: for whoever reads it again and again.
    pub(super) async fn reread(
        &self,
        cluster: &dyn Cluster,
        ranges: &RangeOptions,
    ) -> Result<Config, Failure> {
        let read = self.read_config(Some(cluster), &ranges.network).await?;
        let config = read.ok_or_else(|| self.no_config())?;
        Ok(Config { allow_shrink: ranges.allow_shrink, ..config })
    }

    /// Reads the configuration; `None` where there is no file and nobody has named one.
    pub(super) async fn config_if_any(&self, cluster: &dyn Cluster) -> Result<Option<Config>, Failure> {
        let config = self.read_config(Some(cluster), &[]).await?;
        config.iter().for_each(|config| self.remark(config));
        Ok(config)
    }

    /// Reads the configuration for a command that may need nothing else: a cluster is opened only if that has it.
    pub(super) async fn config_alone(&self) -> Result<Config, Failure> {
        let cluster = match &self.options.config {
            Some(ConfigAt::Map { .. }) => Some(self.cluster(Mode::ReadOnly).await?),
            _ => None,
        };
        let config = self.read_config(cluster.as_deref(), &[]).await?.ok_or_else(|| self.no_config())?;
        self.remark(&config);
        Ok(config)
    }

    /// What is said where there is no configuration.
    pub(super) fn no_config(&self) -> Failure {
        Failure::error(format!("there is no configuration {}", self.config_shown())).hint(EXAMPLE)
    }

    /// Says what is legal but odd.
    pub(super) fn remark(&self, config: &Config) {
        for warning in &config.warnings {
            self.printer.warn(warning);
        }
        let known = [systems::capi::NAME, systems::nodes::NAME, systems::kubevirt::NAME];
        for system in config.beside_peer.iter().filter(|s| !known.contains(&s.as_str())) {
            let shown = self.config_shown();
            self.printer.warn(&format!("{shown}: beside-peer has no effect for {system} in this version"));
        }
        self.unserved(config.systems.iter().flatten());
    }

    async fn read_config(
        &self,
        cluster: Option<&dyn Cluster>,
        networks: &[String],
    ) -> Result<Option<Config>, Failure> {
        let bytes = match (&self.options.config, cluster) {
            (Some(ConfigAt::Map { namespace, name }), Some(cluster)) => {
                Some(self.map(cluster, namespace, name).await?)
            }
            _ => self.file()?,
        };
        // The networks may be all there is.
        if bytes.is_none() && networks.is_empty() {
            return Ok(None);
        }
        let shown = self.config_shown();
        let file = bytes.as_deref().map(|bytes| (shown.as_str(), bytes));
        let config = config::parse_with(file, networks);
        config.map(Some).map_err(|errors| Failure::error(errors.to_string()))
    }

    /// The bytes of the file; `None` where there is none and nobody has named one.
    fn file(&self) -> Result<Option<Vec<u8>>, Failure> {
        self.dir()?;
        let path = self.config_path();
        let size = std::fs::metadata(&path).map(|m| m.len());
        match size {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => match &self.options.config {
                Some(_) => Err(self.no_config()),
                None => Ok(None),
            },
            Err(error) => Err(self.cannot_read(&error)),
            Ok(size) if size > LARGEST_CONFIG => {
                Err(self.cannot_read(&format!("it has {size} bytes, more than {LARGEST_CONFIG}")))
            }
            Ok(_) => std::fs::read(&path).map(Some).map_err(|e| self.cannot_read(&e)),
        }
    }

    /// The text in a ConfigMap.
    async fn map(&self, cluster: &dyn Cluster, namespace: &str, name: &str) -> Result<Vec<u8>, Failure> {
        let map = match Patient(cluster).get(&CONFIG_MAP.at(namespace, name)).await {
            Ok(map) => map,
            Err(ClusterError::NotFound(_)) => {
                let make = format!(
                    "make it with: kubectl create configmap {name} -n {namespace} --from-file={NAME}"
                );
                return Err(Failure { hint: Some(make), ..self.no_config() });
            }
            Err(error) => {
                let failure = Failure::from(error);
                return Err(Failure { hint: failure.hint, ..self.cannot_read(&failure.message) });
            }
        };
        let data = map.at("/data").and_then(Value::as_object);
        if let Some(text) = data.and_then(|data| data.get(NAME)).and_then(Value::as_str) {
            return Ok(text.as_bytes().to_vec());
        }
        let keys: Vec<&str> = data.into_iter().flatten().map(|(key, _)| key.as_str()).collect();
        let keys = if keys.is_empty() { "none".to_owned() } else { keys.join(", ") };
        let why = format!("it has no key {NAME} under `data` (its keys: {keys})");
        Err(self
            .cannot_read(&why)
            .hint(format!("the text of the configuration belongs under the key {NAME}")))
    }

    fn cannot_read(&self, why: &dyn std::fmt::Display) -> Failure {
        Failure::error(format!("cannot read the configuration {}: {why}", self.config_shown()))
    }

    /// The configuration as it was named, for messages.
    fn config_shown(&self) -> String {
        match &self.options.config {
            Some(at) => at.to_string(),
            None => self.config_path().display().to_string(),
        }
    }

    fn config_path(&self) -> PathBuf {
        if let Some(ConfigAt::File(path)) = &self.options.config {
            return path.clone();
        }
        let beside = self.options.dir.as_ref().map(|d| d.join(NAME)).filter(|p| p.exists());
        beside.unwrap_or_else(|| PathBuf::from(NAME))
    }
}
