//! clap types only: what can be typed.

mod complete;
mod completion;
mod man;
mod options;
mod parse;
mod reference;
mod verbs;
mod watch;

#[cfg(test)]
mod tests;

pub use complete::complete;
pub use completion::completion;
pub use man::man_pages;
pub use options::{
    ClusterOptions, ColorWhen, ConfigAt, Format, FormatOption, LogFormat, NmstateFormat, OutputOptions,
    RangeOptions,
};
pub use parse::command;
pub use reference::{MachineRef, Reference, ReferenceError, Target};
pub use verbs::{
    Allocate, CheckCapacity, Completions, Detach, Reconcile, Release, RenderNmstate, Status, Webhook,
};
pub use watch::WatchOptions;

/// The shells that [`completion`] knows.
pub use clap_complete::Shell;

use clap::{Parser, Subcommand};

/// Give Kubernetes machines their IP addresses where there is no DHCP
///
/// mipam reads the machines of a cluster, or of a directory of YAML files. Every machine that asks for an
/// address gets one from the pools in ipam-config.yaml: mipam records the address in the cluster, so that it
/// is never given twice, then writes it to the machine, and ends. Run it as often as you like: where nothing
/// is left to do, nothing is written.
#[derive(Clone, Debug, Parser)]
#[command(
    name = "mipam",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = AFTER_HELP
)]
pub struct Cli {
    /// Which verb, with its own options.
    #[command(subcommand)]
    pub command: Command,
    /// How to talk.
    #[command(flatten)]
    pub output: OutputOptions,
    /// Which cluster, and what in it.
    #[command(flatten)]
    pub cluster: ClusterOptions,
}

/// The verbs. Their descriptions are here because clap takes those of a variant before those of its type.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Give every waiting machine its addresses, and free those whose machine is gone
    ///
    /// One pass: mipam reads the cluster, decides who gets what, records it, writes it to the machines, and
    /// reports. A machine that has its address keeps it. A pass that is cut short is finished by the next one. With
    /// --watch, mipam stays and makes a pass whenever something changes.
    Reconcile(Reconcile),
    /// Take addresses out of a pool, for an object or for yourself
    ///
    /// With --for, the address is recorded for that object and written to it, as reconcile would. With --name, it
    /// is held under that name until you release it; with --address alone, the address is the name. Asked again, mipam
    /// answers with the same address.
    Allocate(Allocate),
    /// Give an address back to its pool
    ///
    /// Refused while the object that holds the address exists, because a machine may still be using it; --force
    /// does it all the same, and the address then rests for at least 10 minutes.
    Release(Release),
    /// Show how full the pools are, who waits, and what is wrong
    Status(Status),
    /// Print a machine's network configuration, without writing anything
    ///
    /// For a Machine of OpenShift or Kubermatic: with the addresses that it has, or would get from the next reconcile.
    /// For an address: as a machine with that address from that pool would get it.
    RenderNmstate(RenderNmstate),
    /// Tell whether there are enough free addresses for what you plan
    ///
    /// Those who already wait are counted first. Ends with exit status 1 when there is not enough room, and says
    /// how many addresses are missing. Nothing is written.
    CheckCapacity(CheckCapacity),
    /// Take mipam's hooks and finalizers off every object, so that it can be uninstalled
    ///
    /// All addresses and the ledger stay as they are: installed again, mipam goes on from them. Machines that still
    /// wait for an address keep their hook, and mipam says so; --force lets them go without one. Stop the mipam
    /// that runs in the cluster first, or it would put everything back: while one has the Lease, or is run there by a
    /// Deployment or a job, this is refused. Take the hook out of the templates of your machines, too, or new ones
    /// will wait for ever.
    Detach(Detach),
    /// Answer the API server that asks about KubeVirt's launcher pods
    ///
    /// Runs until it is stopped. Each launcher pod gets references to the IPAMClaims of its machine, so that the CNI
    /// gives it the addresses that the machine had before. manifests/kubevirt-webhook.yaml installs it; `mipam
    /// reconcile` makes the claims.
    Webhook(Webhook),
    /// Print a completion script for your shell
    Completions(Completions),
    /// Print the manual pages
    #[command(after_help = MAN_EXAMPLES)]
    Man,
    /// What kubectl asks for when it completes these words; not typed by people.
    #[command(skip)]
    Complete(Vec<String>),
}

const AFTER_HELP: &str = "\
Exit status:
  0  all is well
  1  something to look at: machines that wait, too little room, problems
  2  an error: in the command line, in the config, or from the cluster

Examples:
  # Try it on files, no cluster needed; the result goes to another directory
  mipam reconcile --dir examples/lab --out lab-out

  # See what would change in the cluster that kubectl talks to, then do it
  mipam reconcile --dry-run --diff
  mipam reconcile

  # How full are the pools?
  mipam status";

const MAN_EXAMPLES: &str = "\
Examples:
  # Read them
  mipam man > mipam.1 && man ./mipam.1

  # Install them
  mipam man > /usr/local/share/man/man1/mipam.1";
