//! The shape of the command line.

use std::collections::BTreeSet;

use super::*;

#[test]
fn the_command_line_is_well_formed() {
    command().debug_assert();
}

#[test]
fn the_help_groups_name_every_visible_command_once() {
    let visible: BTreeSet<String> = Cli::command()
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    let grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
    assert_eq!(grouped.len(), visible.len());
    assert_eq!(grouped.into_iter().map(str::to_owned).collect::<BTreeSet<_>>(), visible);
}

#[test]
fn every_visible_command_says_what_it_does() {
    fn check(command: &clap::Command, path: &str) {
        for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
            let path = format!("{path} {}", below.get_name());
            assert!(below.get_about().is_some(), "{path} has no description");
            check(below, &path);
        }
        for argument in command.get_arguments().filter(|argument| !argument.is_hide_set()) {
            assert!(argument.get_help().is_some(), "{path}: {} has no description", argument.get_id());
        }
    }
    let mut command = command();
    command.build();
    check(&command, "moot");
}

#[test]
fn every_command_that_reads_offers_json_and_every_command_takes_a_configuration() {
    let mut command = command();
    command.build();
    let mut lacking = Vec::new();
    for path in [
        &["doctor"][..],
        &["config", "list"],
        &["config", "get"],
        &["config", "path"],
        &["config", "check"],
        &["login"],
        &["member", "list"],
        &["channel", "list"],
        &["channel", "history"],
        &["send"],
        &["tail"],
    ] {
        let found = path.iter().try_fold(&command, |command, name| command.find_subcommand(name)).unwrap();
        let has = |id: &str| found.get_arguments().any(|argument| argument.get_id() == id);
        if !has("json") || !has("config") {
            lacking.push(path);
        }
    }
    assert!(lacking.is_empty(), "{lacking:?}");
}
