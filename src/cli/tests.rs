//! Every help page and what the command line refuses.

use super::*;
use clap::error::ErrorKind;

/// The line after `mipam`, split at spaces.
fn parse(line: &str) -> Result<Cli, clap::Error> {
    Cli::from_args(std::iter::once("mipam").chain(line.split_whitespace()))
}

fn refused(line: &str) -> String {
    let error = parse(line).expect_err(line);
    assert_eq!(error.exit_code(), 2, "{line}");
    error.to_string()
}

#[test]
fn clap_finds_the_definition_sound() {
    command().debug_assert();
}

#[test]
fn every_help_page() {
    let mut root = command().term_width(100);
    root.build();
    insta::assert_snapshot!("mipam_short", root.render_help());
    insta::assert_snapshot!("mipam", root.render_long_help());
    for verb in root.get_subcommands_mut() {
        if verb.get_name() != "help" {
            insta::assert_snapshot!(format!("mipam_{}", verb.get_name()), verb.render_long_help());
        }
    }
}

#[test]
fn mipam_alone_prints_the_short_help_and_is_an_error() {
    let error = parse("").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand);
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("Usage: mipam [OPTIONS] <COMMAND>"), "{error}");
}

#[test]
fn as_a_plugin_of_kubectl_it_says_so() {
    let said = |line: &str| {
        let words = std::iter::once("/usr/local/bin/kubectl-mipam").chain(line.split_whitespace());
        Cli::from_args(words).unwrap_err().to_string()
    };
    let help = said("--help");
    assert!(help.contains("Usage: kubectl mipam [OPTIONS] <COMMAND>"), "{help}");
    assert!(help.contains("\n  kubectl mipam reconcile --dry-run --diff\n"), "{help}");
    assert!(!help.contains("\n  mipam "), "{help}");
    let help = said("release --help");
    assert!(help.contains("Usage: kubectl mipam release"), "{help}");
    assert!(help.contains("kubectl mipam status -o json | kubectl mipam release --from-report -"), "{help}");
    assert!(said("allocate --name x").contains("Usage: kubectl mipam allocate"), "{}", said("allocate"));
    assert!(said("reconcile --out x").contains("Usage: kubectl mipam reconcile"));
    let words = ["kubectl-mipam", "__complete", "reconcile", "--dir"];
    assert!(matches!(Cli::from_args(words).unwrap().command, Command::Complete(words) if words.len() == 2));
}

#[test]
fn shared_options_stand_before_or_after_the_verb() {
    for line in ["--dir lab -n ns -vv status -o json", "status --dir lab -n ns -vv -o json"] {
        let cli = parse(line).unwrap();
        assert_eq!(cli.cluster.dir.as_deref(), Some("lab".as_ref()), "{line}");
        assert_eq!(cli.cluster.namespace.as_deref(), Some("ns"), "{line}");
        assert_eq!(cli.output.verbose, 2, "{line}");
        assert!(matches!(&cli.command, Command::Status(s) if s.format.format == Format::Json), "{line}");
    }
    assert_eq!(parse("status --systems openshift,nodes").unwrap().cluster.systems, ["openshift", "nodes"]);
    assert!(parse("--dir lab reconcile --out lab-out").is_ok());
}

#[test]
fn a_directory_and_a_cluster_at_once_are_refused() {
    for line in [
        "--dir lab status --context x",
        "status --dir lab --kubeconfig x",
        "--dir a --apiserver http://b status",
    ] {
        assert_eq!(parse(line).unwrap_err().kind(), ErrorKind::ArgumentConflict, "{line}");
    }
}

#[test]
fn a_configuration_is_a_file_or_a_config_map() {
    let at = |text: &str| parse(&format!("status --config {text}")).unwrap().cluster.config.unwrap();
    let map = ConfigAt::Map { namespace: "lab".into(), name: "pools".into() };
    assert_eq!(at("configmap/lab/pools"), map);
    assert_eq!(map.to_string(), "configmap/lab/pools");
    for file in ["lab.yaml", "./configmap/lab/pools", "configmaps/lab/pools", "configmap"] {
        assert_eq!(at(file), ConfigAt::File(file.into()));
    }
}

#[test]
fn what_is_refused_says_why() {
    let all = [
        "stats",
        "status --dir lab --context x",
        "status --dir=",
        "status --config=",
        "status --config configmap/lab",
        "status --config configmap/lab/pools/more",
        "status --request-timeout 30",
        "status --apiserver api.lab.example",
        "status -o xml",
        "render-nmstate m -o table",
        "reconcile --out x --context y",
        "reconcile --dry-run --dir x --out y",
        "reconcile --max-in-flight 0",
        "reconcile --watch --health-probe-address 8081",
        "allocate --name x",
        "allocate --pool lab",
        "allocate --pool lab --name x --for node/a",
        "allocate --pool lab --name x/y",
        "allocate --pool lab --address 192.168.101.300",
        "allocate --pool lab --count 2 --for node/a",
        "allocate --pool lab --count 2 --address 192.168.101.70",
        "allocate --pool lab --count 0 --name x",
        "allocate --pool lab --for worker-0",
        "release",
        "release worker-0",
        "render-nmstate",
        "render-nmstate m --pool lab",
        "render-nmstate --address 192.168.101.70",
        "check-capacity --need many",
        "check-capacity --for machineset/ns/workers",
        "check-capacity --replicas 5",
        "check-capacity --need 5 --for machineset/ns/workers --replicas 5",
        "detach worker-0",
        "completions tcsh",
    ];
    let messages: Vec<_> = all.iter().map(|line| format!("$ mipam {line}\n{}", refused(line))).collect();
    insta::assert_snapshot!(messages.join("\n"));
}

#[test]
fn what_belongs_together_is_taken() {
    for line in [
        "allocate --pool lab --name x --count 3",
        "allocate --pool lab --name x --address 192.168.101.70",
        "allocate --pool lab --for machine/ns/a --address fd00::5",
        "allocate --pool lab --address 192.168.101.70 --dry-run --diff",
        "release 192.168.101.70/23 --pool lab --yes --force --dry-run",
        "render-nmstate ns/m -o networkmanager",
        "render-nmstate --address 192.168.101.70 --pool lab -o json",
        "check-capacity",
        "check-capacity --need 340282366920938463463374607431768211455",
        "check-capacity --pool lab --for machineset/ns/workers --replicas 5",
        "completions powershell",
        "-v man",
    ] {
        assert!(parse(line).is_ok(), "{line}: {}", parse(line).unwrap_err());
    }
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let pages = man_pages();
    let titles: Vec<_> = pages.lines().filter(|l| l.starts_with(".TH")).collect();
    assert_eq!(titles.len(), 11, "{titles:?}");
    assert!(pages.contains(".SH \"EXIT STATUS\"") && pages.contains(".SH EXAMPLES"), "{pages}");
}
