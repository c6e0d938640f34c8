//! What each command takes of its own, with its help and examples.

use super::options::{duration, listener};
use super::{FormatOption, MachineRef, NmstateFormat, RangeOptions, Reference, Shell, Target, WatchOptions};
use clap::builder::NonEmptyStringValueParser;
use clap::{ArgGroup, Args, ValueHint, value_parser};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// What `reconcile` takes.
#[derive(Args, Clone, Debug)]
#[command(after_help = RECONCILE_EXAMPLES)]
pub struct Reconcile {
    /// Show what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Show the objects that change, line by line
    #[arg(long)]
    pub diff: bool,

    /// With --dir: leave the files there alone and write the result to this directory
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "dry_run")]
    pub out: Option<PathBuf>,

    /// How many writes may be under way at the same time
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = value_parser!(u16).range(1..=1024))]
    pub max_in_flight: u16,

    /// With --dir: how long to wait for another mipam that works on the directory, for example 30s [default: not at
    /// all]
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub wait_for_lock: Option<Duration>,

    /// After the pass, publish the free addresses for the admission policy of Kubermatic machines, to be believed
    /// for so long: at least twice as long as from one run to the next, for example 10m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub publish_capacity: Option<Duration>,

    /// What may become of ranges.
    #[command(flatten)]
    pub ranges: RangeOptions,

    /// How passes follow one another.
    #[command(flatten)]
    pub watching: WatchOptions,

    /// How to print the report.
    #[command(flatten)]
    pub format: FormatOption,
}

/// What `allocate` takes.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = ALLOCATE_EXAMPLES,
    group(ArgGroup::new("what").args(["owner", "name", "address"]).required(true).multiple(true))
)]
pub struct Allocate {
    /// The pool to take from
    #[arg(long, value_name = "POOL", value_parser = NonEmptyStringValueParser::new())]
    pub pool: String,

    /// The object that gets the address, as KIND[.GROUP]/NAMESPACE/NAME
    #[arg(long = "for", value_name = "OBJECT", conflicts_with = "name")]
    pub owner: Option<Reference>,

    /// Hold the address under this name, for use outside the cluster
    #[arg(long, value_name = "HOLD", value_parser = hold)]
    pub name: Option<String>,

    /// The very address to take [default: the lowest free one]
    #[arg(long, value_name = "IP")]
    pub address: Option<IpAddr>,

    /// How many addresses to hold, at most 1024 [default: 1]
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    #[arg(allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["owner", "address"])]
    pub count: Option<u32>,

    /// Show what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Show the objects that change, line by line
    #[arg(long)]
    pub diff: bool,

    /// What may become of ranges.
    #[command(flatten)]
    pub ranges: RangeOptions,

    /// How to print the report.
    #[command(flatten)]
    pub format: FormatOption,
}

/// What `release` takes.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = RELEASE_EXAMPLES,
    group(ArgGroup::new("which").args(["target", "from_report"]).required(true))
)]
pub struct Release {
    /// An address, or whose addresses: KIND[.GROUP]/NAMESPACE/NAME, or hold/NAME
    #[arg(value_name = "TARGET")]
    pub target: Option<Target>,

    /// All addresses whose owners are gone, of a report that `status -o json` wrote; `-` reads stdin
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, conflicts_with_all = ["pool", "force"])]
    pub from_report: Option<PathBuf>,

    /// The pool of the address, where several networks use the same one
    #[arg(long, value_name = "POOL", value_parser = NonEmptyStringValueParser::new())]
    pub pool: Option<String>,

    /// Do not ask; without a terminal only --force needs it
    #[arg(short, long)]
    pub yes: bool,

    /// Release even though the object that holds the address exists
    #[arg(long)]
    pub force: bool,

    /// Show what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// How to print the report.
    #[command(flatten)]
    pub format: FormatOption,
}

/// What `status` takes.
#[derive(Args, Clone, Debug)]
#[command(after_help = STATUS_EXAMPLES)]
pub struct Status {
    /// Only this pool
    #[arg(long, value_name = "POOL", value_parser = NonEmptyStringValueParser::new())]
    pub pool: Option<String>,

    /// List every address that is given out, and to whom
    #[arg(long)]
    pub addresses: bool,

    /// Draw each pool, one character for an address
    #[arg(long)]
    pub map: bool,

    /// What may become of ranges.
    #[command(flatten)]
    pub ranges: RangeOptions,

    /// How to print the report.
    #[command(flatten)]
    pub format: FormatOption,
}

/// What `render-nmstate` takes.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = RENDER_EXAMPLES,
    group(ArgGroup::new("what").args(["machine", "address"]).required(true))
)]
pub struct RenderNmstate {
    /// The machine: NAME, NAMESPACE/NAME or KIND[.GROUP]/NAMESPACE/NAME
    #[arg(value_name = "MACHINE")]
    pub machine: Option<MachineRef>,

    /// Instead of a machine: any address of a pool
    #[arg(long, value_name = "IP", requires = "pool")]
    pub address: Option<IpAddr>,

    /// The pool of that address
    #[arg(long, value_name = "POOL", requires = "address", conflicts_with = "machine")]
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub pool: Option<String>,

    /// How to print the configuration
    #[arg(short = 'o', long = "output", value_name = "FORMAT", value_enum, default_value_t = NmstateFormat::Nmstate)]
    #[arg(help_heading = "Output options")]
    pub format: NmstateFormat,
}

/// What `check-capacity` takes.
#[derive(Args, Clone, Debug)]
#[command(after_help = CAPACITY_EXAMPLES)]
pub struct CheckCapacity {
    /// Only this pool [default: all]
    #[arg(long, value_name = "POOL", value_parser = NonEmptyStringValueParser::new())]
    pub pool: Option<String>,

    /// How many more machines need an address of each family
    #[arg(long, value_name = "N", value_parser = number, conflicts_with_all = ["owner", "replicas"])]
    #[arg(allow_negative_numbers = true)]
    pub need: Option<u128>,

    /// What you want to scale, as KIND[.GROUP]/NAMESPACE/NAME
    #[arg(long = "for", value_name = "OBJECT", requires = "replicas")]
    pub owner: Option<Reference>,

    /// To how many machines in all
    #[arg(long, value_name = "N", requires = "owner", allow_negative_numbers = true)]
    pub replicas: Option<u32>,

    /// How many more Nodes need pod CIDRs from ClusterCIDRs
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=100_000))]
    #[arg(allow_negative_numbers = true)]
    #[arg(conflicts_with_all = ["need", "owner", "replicas", "pool"])]
    pub nodes: Option<u32>,

    /// The labels of those Nodes
    #[arg(long, value_name = "KEY=VALUE", value_delimiter = ',', value_parser = label, requires = "nodes")]
    pub labels: Vec<(String, String)>,

    /// What may become of ranges.
    #[command(flatten)]
    pub ranges: RangeOptions,

    /// How to print the report.
    #[command(flatten)]
    pub format: FormatOption,
}

/// What `detach` takes.
#[derive(Args, Clone, Debug)]
#[command(after_help = DETACH_EXAMPLES)]
#[allow(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub struct Detach {
    /// Do not ask; without a terminal only --force needs it
    #[arg(short, long)]
    pub yes: bool,

    /// Let machines go that wait for an address, without one
    #[arg(long)]
    pub force: bool,

    /// Show what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,

    /// Show the objects that change, line by line
    #[arg(long)]
    pub diff: bool,

    /// How to print the report.
    #[command(flatten)]
    pub format: FormatOption,
}

/// What `webhook` takes.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = WEBHOOK_EXAMPLES,
    group(ArgGroup::new("certificate").args(["tls_cert", "self_signed"]).required(true))
)]
pub struct Webhook {
    /// Where to answer reviews, as :PORT or HOST:PORT
    #[arg(long, value_name = "ADDRESS", default_value = ":9443", value_parser = listener)]
    pub listen: String,

    /// Where /healthz, /readyz and /metrics are served, as :PORT or HOST:PORT
    #[arg(long, value_name = "ADDRESS", env = "IPAM_HEALTH_PROBE_ADDR", hide_env_values = true)]
    #[arg(default_value = ":8081", value_parser = listener)]
    pub health_probe_address: String,

    /// The certificate to show, as PEM; read again when it changes
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,

    /// The key of the certificate, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,

    /// Make a certificate, keep it in a Secret, and tell the API server to believe it
    #[arg(long)]
    pub self_signed: bool,

    /// With --self-signed: another name or address that the API server reaches the webhook by
    #[arg(long = "tls-name", value_name = "NAME", requires = "self_signed")]
    pub tls_names: Vec<String>,

    /// With --self-signed: the Service of the webhook
    #[arg(long, value_name = "NAME", default_value = "mipam-webhook")]
    pub service: String,

    /// With --self-signed: the namespace of the Service and of the Secret
    #[arg(long, value_name = "NAME", default_value = "mipam-system")]
    pub service_namespace: String,

    /// With --self-signed: the Secret
    #[arg(long, value_name = "NAME", default_value = "mipam-webhook-tls")]
    pub secret: String,

    /// With --self-signed: the MutatingWebhookConfiguration
    #[arg(long, value_name = "NAME", default_value = "mipam-webhook")]
    pub configuration: String,

    /// The namespace of the NetworkAttachmentDefinition `default`, which stands for the network of the pods
    #[arg(long, value_name = "NAME", default_value = "ovn-kubernetes")]
    pub default_network_nad_namespace: String,

    /// The longest that a review may take: less than timeoutSeconds of the MutatingWebhookConfiguration
    #[arg(long, value_name = "TIME", default_value = "8s", value_parser = duration)]
    pub review_timeout: Duration,
}

/// What `completions` takes.
#[derive(Args, Clone, Debug)]
#[command(after_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "SHELL", value_enum)]
    pub shell: Shell,
}

/// The name of a hold, which must also work in `hold/NAME`.
fn hold(text: &str) -> Result<String, String> {
    match format!("hold/{text}").parse::<Reference>() {
        Ok(reference) if reference.is_hold() => Ok(reference.name),
        _ => Err("a hold's name has no slash, space or control character, and no dot at its ends".to_owned()),
    }
}

/// One label of a Node.
fn label(text: &str) -> Result<(String, String), String> {
    let label = text.split_once('=').filter(|(key, _)| !key.is_empty());
    let label = label.map(|(key, value)| (key.to_owned(), value.to_owned()));
    label.ok_or_else(|| "write KEY=VALUE, for example zone=a".to_owned())
}

/// A count that may be as large as an IPv6 pool.
fn number(text: &str) -> Result<u128, String> {
    text.parse().map_err(|_| "write a whole number, such as 5".to_owned())
}

const RECONCILE_EXAMPLES: &str = "\
Examples:
  # See what would change, then do it
  mipam reconcile --dry-run --diff
  mipam reconcile

  # The same on files: read lab, write the result to lab-out
  mipam reconcile --dir lab --out lab-out

  # Kubermatic machines, without a configuration file
  mipam reconcile --network 192.168.1.128/25,192.168.1.1,192.168.1.1

  # For a program: who got which address?
  mipam reconcile -o json

  # In a cluster: serve every machine as soon as it appears
  mipam reconcile --watch";

const ALLOCATE_EXAMPLES: &str = "\
Examples:
  # Hold an address for a printer that is not in the cluster
  mipam allocate --pool lab --name printer

  # Hold five, and print only the addresses
  mipam allocate --pool lab --name rack-7 --count 5 -o name

  # Give a machine the address of your choice
  mipam allocate --pool lab --for machine/openshift-machine-api/worker-0 --address 192.168.101.70";

const RELEASE_EXAMPLES: &str = "\
Examples:
  # One address
  mipam release 192.168.101.70

  # All that a hold or a machine has, without being asked
  mipam release hold/printer --yes
  mipam release machine/openshift-machine-api/worker-0 --yes

  # All that status reports as OwnerGone
  mipam status -o json | mipam release --from-report -";

const STATUS_EXAMPLES: &str = "\
Examples:
  # All pools
  mipam status

  # Who has which address of one pool?
  mipam status --pool lab --addresses

  # In a script: the names of the pools
  mipam status -o name";

const RENDER_EXAMPLES: &str = "\
Examples:
  # What will this machine get?
  mipam render-nmstate openshift-machine-api/worker-0

  # Check it where nmstate is installed
  mipam render-nmstate --address 192.168.101.70 --pool lab > worker.yaml && nmstatectl validate worker.yaml

  # The same as files for NetworkManager
  mipam render-nmstate --address 192.168.101.70 --pool lab -o networkmanager";

const CAPACITY_EXAMPLES: &str = "\
Examples:
  # Is there room for 5 more?
  mipam check-capacity --pool lab --need 5

  # Is there room to scale a MachineSet to 12?
  mipam check-capacity --for machineset/openshift-machine-api/workers --replicas 12

  # The same for a MachineDeployment of Kubermatic, with networks and no configuration file
  mipam check-capacity --for machinedeployment/kube-system/workers --replicas 12 \\
    --network 192.168.1.128/25,192.168.1.1,192.168.1.1

  # Is there a pod CIDR for each of 20 more Nodes of a zone?
  mipam check-capacity --nodes 20 --labels topology.kubernetes.io/zone=a";

const DETACH_EXAMPLES: &str = "\
Examples:
  # Stop the mipam in the cluster, finish what can be finished, look, and let go
  kubectl scale deployment/mipam -n mipam-system --replicas 0
  mipam reconcile
  mipam detach --dry-run
  mipam detach --yes";

const WEBHOOK_EXAMPLES: &str = "\
Examples:
  # With a certificate of cert-manager
  mipam webhook --tls-cert /tls/tls.crt --tls-key /tls/tls.key

  # With one of its own
  mipam webhook --self-signed";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  # bash, for this session
  source <(mipam completions bash)

  # zsh, from the next session on
  mipam completions zsh > \"${fpath[1]}/_mipam\"

  # fish, from the next session on
  mipam completions fish > ~/.config/fish/completions/mipam.fish";
