//! From what was typed to a [`Cli`], with the checks that span options before and after the verb.

use super::{Cli, ClusterOptions, Command, ConfigAt, complete};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The options that lead to a Kubernetes API, by clap's id and as people see them.
const API_OPTIONS: [(&str, &str); 3] = [
    ("kubeconfig", "--kubeconfig <FILE>"),
    ("context", "--context <NAME>"),
    ("apiserver", "--apiserver <URL>"),
];

/// The whole command line as clap has it.
pub fn command() -> clap::Command {
    let root = Cli::command();
    let shared: Vec<_> =
        root.get_arguments().filter(|a| a.is_global_set()).map(|a| a.clone().hide(true)).collect();
    // These two know no cluster; the shared options would only bury their few lines of help.
    ["completions", "man"]
        .into_iter()
        .fold(root, |root, verb| root.mut_subcommand(verb, |c| c.args(shared.clone())))
}

/// The program's name where it is kubectl's plugin, as people type it.
const PLUGIN: &str = "kubectl mipam";

/// The same command line under the name by which the program was called.
fn called(name: &OsString) -> clap::Command {
    let command = command();
    if Path::new(name).file_stem().is_none_or(|stem| stem != "kubectl-mipam") {
        return command;
    }
    let verbs: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let command = verbs.into_iter().fold(command, |root, verb| root.mut_subcommand(verb, as_plugin));
    as_plugin(command).bin_name(PLUGIN)
}

/// The examples as the plugin has them.
fn as_plugin(command: clap::Command) -> clap::Command {
    let Some(text) = command.get_after_help().map(ToString::to_string) else { return command };
    let text = ["\n  mipam ", "| mipam ", "<(mipam "]
        .into_iter()
        .fold(text, |text, typed| text.replace(typed, &typed.replace("mipam", PLUGIN)));
    command.after_help(text)
}

/// The same command line where variables that are set but empty count as unset.
fn unset(command: clap::Command) -> clap::Command {
    let verbs: Vec<String> = command.get_subcommands().map(|c| c.get_name().to_owned()).collect();
    let command = verbs.into_iter().fold(command, |root, verb| root.mut_subcommand(verb, unset));
    command.mut_args(|arg| {
        let value = arg.get_env().and_then(std::env::var_os);
        if value.is_some_and(|v| v.is_empty()) { arg.env(None::<&str>) } else { arg }
    })
}

impl Cli {
    /// Reads a command line. Errors, help and version come as clap has them: print with `print`, end with
    /// `exit_code`, which is 2 for errors.
    pub fn from_args<T: Into<OsString> + Clone>(
        args: impl IntoIterator<Item = T>,
    ) -> Result<Self, clap::Error> {
        let args: Vec<OsString> = args.into_iter().map(Into::into).collect();
        if let Some(words) = complete::asked(&args) {
            // Nothing else of a command line that is not finished is to be read.
            return Ok(Self { command: Command::Complete(words), ..Self::from_args(["mipam", "man"])? });
        }
        let mut command = unset(args.first().map_or_else(command, called));
        let matches = command.try_get_matches_from_mut(args)?;
        let mut cli = Self::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
        let of_verb = |id: &str| matches.subcommand().and_then(|(_, verb)| verb.value_source(id));
        let settled = cli.cluster.settle(|id| matches.value_source(id));
        let settled = settled.and_then(|()| cli.adopt(of_verb)).and_then(|()| cli.check());
        settled.map_err(|(kind, message)| {
            // The usage that goes with the message is that of the verb.
            match matches.subcommand_name().and_then(|verb| command.find_subcommand_mut(verb)) {
                Some(verb) => verb.error(kind, message),
                None => command.error(kind, message),
            }
        })?;
        Ok(cli)
    }

    /// clap checks each level on its own, and `--dir` may stand before the verb.
    fn check(&self) -> Result<(), (ErrorKind, String)> {
        match &self.command {
            Command::Reconcile(verb) if verb.out.is_some() && self.cluster.dir.is_none() => Err((
                ErrorKind::MissingRequiredArgument,
                "the argument '--out <DIR>' needs '--dir <DIR>': only files can be written elsewhere"
                    .to_owned(),
            )),
            Command::Reconcile(verb) if verb.watching.watch && self.cluster.dir.is_some() => Err((
                ErrorKind::ArgumentConflict,
                "the argument '--watch' cannot be used with '--dir <DIR>': files do not tell when they change"
                    .to_owned(),
            )),
            Command::Reconcile(verb) if verb.watching.watch && verb.watching.enable_leader_election => match verb.watching.terms().fault() {
                Some(fault) => Err((ErrorKind::ValueValidation, fault.to_owned())),
                None => Ok(()),
            },
            _ => Ok(()),
        }
    }

    /// The seed of the flags calls the retry period so, too.
    fn adopt(&mut self, typed: impl Fn(&str) -> Option<ValueSource>) -> Result<(), (ErrorKind, String)> {
        const OTHER: &str = "IPAM_RESOURCE_LOCK";
        let Command::Reconcile(verb) = &mut self.command else { return Ok(()) };
        let unsaid = typed("leader_elect_retry_period") == Some(ValueSource::DefaultValue);
        let Some(value) = std::env::var_os(OTHER).filter(|v| unsaid && !v.is_empty()) else { return Ok(()) };
        match value.to_str().map(super::options::duration) {
            Some(Ok(period)) => verb.watching.leader_elect_retry_period = period,
            Some(Err(why)) => {
                return Err((ErrorKind::ValueValidation, format!("{OTHER} {}: {why}", value.display())));
            }
            None => return Err((ErrorKind::InvalidUtf8, format!("{OTHER} is no text"))),
        }
        Ok(())
    }
}

impl ClusterOptions {
    /// Leaves either the directory or the options of a Kubernetes API: what was typed beats the environment,
    /// and a variable that is set but empty counts as unset.
    fn settle(&mut self, source: impl Fn(&str) -> Option<ValueSource>) -> Result<(), (ErrorKind, String)> {
        let typed = |id: &str| source(id) == Some(ValueSource::CommandLine);
        let empty = |path: &Option<PathBuf>| path.as_ref().is_some_and(|p| p.as_os_str().is_empty());
        for (id, shown, empty) in [
            ("config", "--config <FILE>", self.config.as_ref().is_some_and(ConfigAt::is_empty)),
            ("dir", "--dir <DIR>", empty(&self.dir)),
            ("kubeconfig", "--kubeconfig <FILE>", empty(&self.kubeconfig)),
            ("apiserver", "--apiserver <URL>", self.apiserver.as_ref().is_some_and(String::is_empty)),
        ] {
            if empty && typed(id) {
                let message = format!("a value is required for '{shown}' but none was supplied");
                return Err((ErrorKind::InvalidValue, message));
            }
        }
        self.config.take_if(|at| at.is_empty());
        for path in [&mut self.dir, &mut self.kubeconfig] {
            path.take_if(|p| p.as_os_str().is_empty());
        }
        self.apiserver.take_if(|url| url.is_empty());

        match API_OPTIONS.iter().find(|(id, _)| typed(id)) {
            Some((_, shown)) if self.dir.is_some() && typed("dir") => {
                let message = format!("the argument '--dir <DIR>' cannot be used with '{shown}'");
                return Err((ErrorKind::ArgumentConflict, message));
            }
            Some(_) => self.dir = None,
            None if self.dir.is_some() => {
                (self.kubeconfig, self.context, self.apiserver) = (None, None, None);
            }
            None => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ValueSource::{CommandLine, EnvVariable};

    /// The options that are left of `--dir`, `--kubeconfig` and `--apiserver`, by where each came from.
    fn left(
        dir: Option<ValueSource>,
        kubeconfig: Option<ValueSource>,
        value: &str,
    ) -> Result<[bool; 3], String> {
        let cli = Cli::from_args(["mipam", "status"]).unwrap();
        let mut options = ClusterOptions {
            dir: dir.map(|_| value.into()),
            kubeconfig: kubeconfig.map(|_| value.into()),
            apiserver: kubeconfig.map(|_| value.into()),
            ..cli.cluster
        };
        let source = |id: &str| match id {
            "dir" => dir,
            "kubeconfig" | "apiserver" => kubeconfig,
            _ => None,
        };
        options.settle(source).map_err(|(_, message)| message)?;
        Ok([options.dir.is_some(), options.kubeconfig.is_some(), options.apiserver.is_some()])
    }

    #[test]
    fn what_was_typed_beats_the_environment() {
        assert_eq!(left(Some(CommandLine), Some(EnvVariable), "x"), Ok([true, false, false]));
        assert_eq!(left(Some(EnvVariable), Some(CommandLine), "x"), Ok([false, true, true]));
        assert_eq!(left(Some(EnvVariable), Some(EnvVariable), "x"), Ok([true, false, false]));
        assert_eq!(left(None, Some(EnvVariable), "x"), Ok([false, true, true]));
        assert!(left(Some(CommandLine), Some(CommandLine), "x").is_err());
    }

    #[test]
    fn an_empty_variable_is_unset_and_an_empty_option_an_error() {
        assert_eq!(left(Some(EnvVariable), Some(EnvVariable), ""), Ok([false, false, false]));
        assert!(left(Some(CommandLine), None, "").is_err());
        assert!(left(None, Some(CommandLine), "").is_err());
    }
}
