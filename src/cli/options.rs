//! The options that all commands share.

use clap::builder::{NonEmptyStringValueParser, OsStringValueParser, TypedValueParser};
use clap::{ArgAction, Args, ValueEnum, ValueHint};
use std::ffi::OsString;
use std::fmt;
use std::net::Ipv6Addr;
use std::path::PathBuf;
use std::time::Duration;

/// Which cluster, and what in it. After [`super::Cli::from_args`] either `dir` is set or it is not and the
/// options of a Kubernetes API count: never both.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Cluster options")]
pub struct ClusterOptions {
    /// The file with the address pools, or configmap/NAMESPACE/NAME for the one in the cluster [default:
    /// ./ipam-config.yaml, with --dir first DIR/ipam-config.yaml]
    #[arg(long, value_name = "FILE", env = "MIPAM_CONFIG", hide_env_values = true, global = true)]
    #[arg(value_parser = OsStringValueParser::new().try_map(ConfigAt::try_from), value_hint = ValueHint::FilePath)]
    pub config: Option<ConfigAt>,

    /// Use the YAML and JSON files below DIR as the cluster
    #[arg(long, value_name = "DIR", env = "MIPAM_DIR", hide_env_values = true, global = true)]
    #[arg(value_parser = path(), value_hint = ValueHint::DirPath)]
    pub dir: Option<PathBuf>,

    /// How to reach the cluster [default: $KUBECONFIG, ~/.kube/config, or the pod's own account]
    #[arg(long, value_name = "FILE", env = "IPAM_KUBECONFIG", hide_env_values = true, global = true)]
    #[arg(value_parser = path(), value_hint = ValueHint::FilePath)]
    pub kubeconfig: Option<PathBuf>,

    /// The kubeconfig context to use [default: the current one]
    #[arg(long, value_name = "NAME", global = true, value_parser = NonEmptyStringValueParser::new())]
    pub context: Option<String>,

    /// The address of the API server, in place of the one in the kubeconfig
    #[arg(long, value_name = "URL", env = "IPAM_API_SERVER_URL", hide_env_values = true, global = true)]
    #[arg(value_parser = server, value_hint = ValueHint::Url)]
    pub apiserver: Option<String>,

    /// Serve only the machines in this namespace [default: all]
    #[arg(short, long, value_name = "NAME", global = true, value_parser = NonEmptyStringValueParser::new())]
    pub namespace: Option<String>,

    /// Serve only these kinds of machine, for example openshift; separate with commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',', global = true)]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub systems: Vec<String>,

    /// How long one request to the cluster may take, for example 30s or 1m30s
    #[arg(long, value_name = "TIME", default_value = "30s", global = true, value_parser = duration)]
    pub request_timeout: Duration,
}

/// Where the configuration is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigAt {
    /// A file.
    File(PathBuf),
    /// Key `ipam-config.yaml` of a ConfigMap of the cluster.
    Map {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
    },
}

impl ConfigAt {
    /// What a ConfigMap begins with.
    const MAP: &str = "configmap/";

    /// Is it the value of a variable that is set but empty?
    pub(super) fn is_empty(&self) -> bool {
        matches!(self, Self::File(path) if path.as_os_str().is_empty())
    }
}

impl TryFrom<OsString> for ConfigAt {
    type Error = String;

    fn try_from(text: OsString) -> Result<Self, String> {
        let Some(rest) = text.to_str().and_then(|t| t.strip_prefix(Self::MAP)) else {
            return Ok(Self::File(text.into()));
        };
        match rest.split_once('/') {
            Some((namespace, name)) if !namespace.is_empty() && !name.is_empty() && !name.contains('/') => {
                Ok(Self::Map { namespace: namespace.to_owned(), name: name.to_owned() })
            }
            _ => Err(format!(
                "write {0}NAMESPACE/NAME, or ./{0}... for a file in a directory of that name",
                Self::MAP
            )),
        }
    }
}

impl fmt::Display for ConfigAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Map { namespace, name } => write!(f, "{}{namespace}/{name}", Self::MAP),
        }
    }
}

/// How to talk.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output options")]
pub struct OutputOptions {
    /// When to use colour
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorWhen::Auto, global = true)]
    pub color: ColorWhen,

    /// Say more about what is done, on stderr
    #[arg(short, long, action = ArgAction::Count, global = true)]
    pub verbose: u8,

    /// How to print what is not data, on stderr; with json, the report of reconcile is printed there, too
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = LogFormat::Text, global = true)]
    pub log_format: LogFormat,

    /// Print no warnings and no progress, only data and errors
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// `-o` of all commands that print a report.
#[derive(Args, Clone, Copy, Debug)]
#[command(next_help_heading = "Output options")]
pub struct FormatOption {
    /// How to print the report
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = Format::Table)]
    pub format: Format,
}

/// Ranges beside those of the configuration, and what may become of those that earlier runs knew.
#[derive(Args, Clone, Debug)]
pub struct RangeOptions {
    /// A network for Kubermatic machines, beside the pools of the configuration file, which may then be missing;
    /// give it again for another one, which serves when those before it are full
    #[arg(long, value_name = "CIDR,GATEWAY,DNS[,DNS...]", value_parser = NonEmptyStringValueParser::new())]
    pub network: Vec<String>,

    /// Let go of ranges that the configuration or --network no longer has, if nobody holds an address of them
    #[arg(long)]
    pub allow_shrink: bool,
}

/// How a report is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Columns for people
    #[default]
    Table,
    /// The same with more columns
    Wide,
    /// For programs
    Json,
    /// For programs that prefer YAML
    Yaml,
    /// One name or address a line
    Name,
}

/// How `render-nmstate` prints the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum NmstateFormat {
    /// What nmstatectl takes
    #[default]
    Nmstate,
    /// Connection files.
    #[value(name = "networkmanager", help = "The connection files that NetworkManager takes")]
    NetworkManager,
    /// The nmstate document as JSON
    Json,
    /// The nmstate document as YAML
    Yaml,
}

/// How warnings, errors and the like are printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum LogFormat {
    /// For people
    #[default]
    Text,
    /// A JSON object a line, with time, level and message
    Json,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum ColorWhen {
    /// On a terminal, unless the environment says otherwise.
    #[default]
    #[value(help = "On a terminal, unless NO_COLOR is set")]
    Auto,
    /// Always.
    #[value(help = "Even into a file or a pipe")]
    Always,
    /// Never.
    #[value(help = "Not at all")]
    Never,
}

/// A path. An empty one is let through: as the value of a variable it means unset, and only the caller knows
/// where the value comes from.
fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// The URL of an API server; an empty one is let through as with [`path`].
fn server(text: &str) -> Result<String, String> {
    let good = text.is_empty()
        || text.parse::<http::Uri>().is_ok_and(|uri| {
            matches!(uri.scheme_str(), Some("http" | "https")) && uri.host().is_some_and(|h| !h.is_empty())
        });
    if good { Ok(text.to_owned()) } else { Err("write it as https://HOST:PORT".to_owned()) }
}

/// Where to listen: `:PORT`, which means all addresses of this host, or `HOST:PORT`.
pub(super) fn listener(text: &str) -> Result<String, String> {
    let good = text.rsplit_once(':').is_some_and(|(host, port)| {
        let bare = host.strip_prefix('[').and_then(|h| h.strip_suffix(']'));
        let named = !host.contains(|c: char| "[]:/".contains(c) || c.is_whitespace());
        port.parse::<u16>().is_ok() && (named || bare.is_some_and(|h| h.parse::<Ipv6Addr>().is_ok()))
    });
    if good { Ok(text.to_owned()) } else { Err("write :PORT or HOST:PORT, as in :8081".to_owned()) }
}

/// A length of time, longer than none.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    text.parse::<jiff::SignedDuration>()
        .ok()
        .and_then(|d| Duration::try_from(d).ok())
        .filter(|d| !d.is_zero())
        .ok_or_else(|| {
            "write it with a unit, as in 500ms, 30s or 1m30s; it must be more than zero".to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_need_a_unit_and_are_more_than_zero() {
        assert_eq!(duration("30s"), Ok(Duration::from_secs(30)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        for bad in ["", "30", "0s", "-5s", "soon", "99999999999999999999s"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn listeners_have_a_port() {
        for good in [":8081", "127.0.0.1:0", "localhost:8081", "[::1]:8081", "[fd00::1]:65535"] {
            assert_eq!(listener(good).as_deref(), Ok(good));
        }
        for bad in
            ["", "8081", ":", "localhost", ":65536", "fd00::1:8081", "http://localhost:80", "[x]:1", "a b:1"]
        {
            assert!(listener(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn servers_are_urls_with_a_host() {
        for good in ["", "https://api.lab.example:6443", "http://127.0.0.1:8001", "https://[fd00::1]:6443/"] {
            assert_eq!(server(good).as_deref(), Ok(good));
        }
        for bad in ["api.lab.example:6443", "ftp://api", "/api", "https://"] {
            assert!(server(bad).is_err(), "{bad}");
        }
    }
}
