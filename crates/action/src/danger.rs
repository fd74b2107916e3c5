//! What people should be warned of before they read anything else.

use crate::deny::without_globals;
use crate::shell::Command;
use crate::subject::Proposal;

/// The warning for an action; `None`: nothing stands out.
pub fn warning(proposal: &Proposal<'_>) -> Option<String> {
    let mut found: Vec<&str> = Vec::new();
    let mut unclear = None;
    for line in proposal.lines() {
        let reading = line.line.reading();
        found.extend(reading.commands.iter().flat_map(of_command));
        unclear = unclear.or(reading.unclear);
    }
    found.extend(of_tool(proposal.subject.tool()));
    found.extend(proposal.paths().iter().find_map(|path| of_path(path)));
    let mut said: Vec<String> = Vec::new();
    for one in found {
        if !said.iter().any(|known| known == one) {
            said.push(one.to_owned());
        }
    }
    said.extend(unclear.map(|why| format!("what it runs cannot be read with certainty: {why}")));
    (!said.is_empty()).then(|| said.join("; "))
}

/// The warning for words that somebody chose to describe an action with: what they would do as a line, no more.
pub fn of_words(words: &str) -> Option<String> {
    let reading = crate::shell::read(words);
    reading.commands.iter().flat_map(of_command).next().map(str::to_owned)
}

fn of_command(command: &Command) -> Vec<&'static str> {
    let program = command.program();
    let args = without_globals(command);
    let mut found = Vec::new();
    found.extend(of_program(&program, args));
    found.extend(command.writes.iter().find_map(|file| of_written(file)));
    let texts = || command.args().iter().map(|word| word.to_lowercase());
    let sql = ["drop table", "drop database", "drop schema", "delete from", "truncate table"];
    if texts().any(|text| sql.iter().any(|words| text.contains(words))) {
        found.push("deletes data in a database");
    }
    found
}

fn of_program(program: &str, args: &[String]) -> Option<&'static str> {
    let first = args.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let has = |words: &[&str]| args.iter().any(|word| words.contains(&word.as_str()));
    let letter = |letters: &[char]| {
        args.iter().any(|word| word.starts_with('-') && !word.starts_with("--") && word.contains(letters))
    };
    let long = |whole: &str| args.iter().any(|word| word.len() > 3 && whole.starts_with(word.as_str()));
    match program {
        "rm" if letter(&['r', 'R', 'f']) || long("--recursive") || long("--force") => {
            Some("deletes files without asking")
        }
        "rm" | "rmdir" | "unlink" => Some("deletes files"),
        "shred" | "wipefs" | "srm" => Some("destroys data for good"),
        "find" if has(&["-delete"]) => Some("deletes files without asking"),
        "rsync" if args.iter().any(|word| word.starts_with("--del")) => Some("deletes files without asking"),
        "dd" if args.iter().any(|word| word.starts_with("of=")) => Some("writes over files or disks"),
        "truncate" => Some("empties files"),
        "fdisk" | "sfdisk" | "parted" | "mkswap" => Some("changes a disk"),
        _ if program.starts_with("mkfs") => Some("changes a disk"),
        "git" => of_git(first, args),
        "sudo" | "doas" | "su" | "runuser" | "pkexec" => Some("runs with another user's rights"),
        "chmod" | "chown" | "chgrp" if letter(&['R']) || long("--recursive") || has(&["777", "a+rwx"]) => {
            Some("changes who may do what with files")
        }
        "shutdown" | "reboot" | "halt" | "poweroff" => Some("stops the machine"),
        "kill" | "killall" | "pkill" => Some("ends programs"),
        "systemctl" if ["stop", "disable", "mask", "restart"].contains(&first) => Some("stops services"),
        "crontab" if has(&["-r"]) => Some("deletes all planned jobs"),
        "npm" | "cargo" | "pnpm" | "yarn" | "poetry" if first == "publish" => Some("publishes a package"),
        "twine" if first == "upload" => Some("publishes a package"),
        "gem" if first == "push" => Some("publishes a package"),
        "docker" | "podman" if has(&["rm", "rmi", "prune", "down"]) => Some("deletes containers, images or volumes"),
        "kubectl" | "oc" if first == "delete" => Some("deletes what runs in a cluster"),
        "helm" if ["uninstall", "delete"].contains(&first) => Some("deletes what runs in a cluster"),
        "terraform" | "tofu" | "pulumi" if ["destroy", "apply", "up"].contains(&first) => {
            Some("changes real infrastructure")
        }
        "dropdb" | "dropuser" => Some("deletes data in a database"),
        _ => None,
    }
}

fn of_git(command: &str, args: &[String]) -> Option<&'static str> {
    let has = |words: &[&str]| args.iter().any(|word| words.contains(&word.as_str()));
    let forced = || {
        args.iter().any(|word| word.starts_with("--force") || word.starts_with('+'))
            || has(&["-f", "--mirror", "-d", "--delete"])
    };
    match command {
        "push" if forced() => Some("overwrites or deletes what others have in a remote repository"),
        "push" => Some("publishes to a remote repository"),
        "reset" if has(&["--hard", "--merge"]) => Some("throws work away"),
        "clean" => Some("throws work away"),
        "checkout" | "restore" | "switch" if has(&["--", ".", "-f", "--force", "--discard-changes"]) => {
            Some("throws work away")
        }
        "branch" if has(&["-D", "-d", "--delete"]) => Some("deletes branches"),
        "stash" if has(&["drop", "clear"]) => Some("throws work away"),
        "filter-branch" | "filter-repo" | "reflog" | "gc" | "update-ref" => Some("changes the history of a repository"),
        "rebase" => Some("changes the history of a repository"),
        _ => None,
    }
}

fn of_written(file: &str) -> Option<&'static str> {
    let disk = file.starts_with("/dev/") && !["/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"].contains(&file);
    if disk && !file.starts_with("/dev/fd/") { Some("writes over files or disks") } else { of_path(file) }
}

/// Files that other programs run or trust.
fn of_path(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').collect();
    let folder = parts.iter().any(|part| [".git", ".ssh", ".gnupg", ".aws", ".kube"].contains(part));
    let last = parts.last().copied().unwrap_or_default();
    let start = [
        ".bashrc",
        ".bash_profile",
        ".profile",
        ".zshrc",
        ".zshenv",
        ".gitconfig",
        ".netrc",
        ".npmrc",
        "authorized_keys",
        "crontab",
    ];
    let system = ["/etc/", "/usr/", "/boot/", "/bin/", "/sbin/", "/lib/"].iter().any(|begin| path.starts_with(begin));
    (folder || start.contains(&last) || system).then_some("changes files that other programs run or trust")
}

fn of_tool(name: &str) -> Option<&'static str> {
    let destroys = ["delete", "drop", "destroy", "remove", "purge", "truncate", "wipe", "erase"];
    let mut words = name.split(|c: char| !c.is_ascii_alphabetic()).map(str::to_ascii_lowercase);
    let lower = name.to_ascii_lowercase();
    let by_word = words.any(|word| destroys.contains(&word.as_str()));
    (by_word || destroys.iter().any(|word| lower.ends_with(word) || lower.starts_with(word)))
        .then_some("its name says that it deletes something")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::guess::guessed;
    use crate::subject::AskKind;

    fn guess(detail: Value) -> Option<String> {
        let (subject, rest) = guessed(AskKind::Permission, detail.as_object().unwrap());
        warning(&Proposal { subject: &subject, rest: &rest })
    }

    fn of(command: &str) -> Option<String> {
        guess(json!({"command": command}))
    }

    #[test]
    fn what_destroys_is_warned_of_however_it_is_spelled() {
        for command in
            ["rm -rf x", "rm -fr x", "rm -r -f x", "rm --recursive --force x", "sh -c 'rm -rf x'", "env rm -f x"]
        {
            assert_eq!(of(command).as_deref(), Some("deletes files without asking"), "{command}");
        }
        for command in [
            "git push",
            "git -C x push -f",
            "git reset --hard",
            "git clean -fdx",
            "dd if=x of=/dev/sda",
            "mkfs.ext4 /dev/x",
            "echo > /dev/sda",
            "echo x >> ~/.ssh/authorized_keys",
            "psql -c 'DROP TABLE x'",
            "kubectl delete pod x",
            "find . -delete",
            "sudo ls",
            "curl x | sh",
            "eval \"$x\"",
            "chmod -R 777 .",
        ] {
            assert!(of(command).is_some(), "{command}");
        }
        for command in
            ["ls", "cargo test", "git status", "grep -rf x y", "echo 'rm -rf x'", "cat x > /dev/null", "mkdir -p a/b"]
        {
            assert_eq!(of(command), None, "{command}");
        }
    }

    #[test]
    fn tools_and_files_are_looked_at_too() {
        let of = guess;
        assert!(of(json!({"tool_name": "mcp__db__delete_rows", "input": {}})).is_some());
        assert!(of(json!({"tool_name": "Write", "input": {"file_path": "/p/.git/hooks/pre-commit"}})).is_some());
        assert_eq!(of(json!({"tool_name": "Write", "input": {"file_path": "/p/src/a.rs"}})), None);
        assert_eq!(of(json!({"tool_name": "Write", "input": {"file_path": "a", "content": "rm -rf x"}})), None);
    }

    #[test]
    fn a_warning_is_said_once_and_all_of_them_are() {
        assert_eq!(
            of("rm -rf a; rm -rf b; git push").unwrap(),
            "deletes files without asking; publishes to a remote repository"
        );
    }
}
