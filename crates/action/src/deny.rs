//! Patterns of what is never allowed, held against every spelling of an action.

use crate::shell::{self, Command, Reading};
use crate::subject::Proposal;

/// Everything patterns are held against.
pub struct Subjects {
    texts: Vec<String>,
    readings: Vec<Reading>,
}

impl Subjects {
    /// The tool, its lines and files, and whatever else the engine calls it.
    pub fn of(title: &str, proposal: &Proposal<'_>, files: &[String]) -> Self {
        let tool = proposal.subject.tool();
        let lines = proposal.lines();
        let mut texts = vec![title.to_lowercase(), tool.to_lowercase()];
        for line in &lines {
            let text = line.line.text();
            texts.push(format!("{tool}({text})").to_lowercase());
            texts.push(text.trim().to_lowercase());
        }
        if lines.is_empty() {
            texts.push(format!("{tool}()").to_lowercase());
        }
        texts.extend(files.iter().map(|file| file.to_lowercase()));
        let readings: Vec<Reading> = lines.iter().map(|line| line.line.reading()).collect();
        for command in readings.iter().flat_map(|reading| &reading.commands) {
            texts.extend(spellings(command));
        }
        Self { texts, readings }
    }

    /// Whether a pattern fits, however the action is spelled.
    pub fn fit(&self, pattern: &str) -> bool {
        let commands = || self.readings.iter().flat_map(|reading| &reading.commands);
        self.texts.iter().any(|text| fits(pattern, text)) || commands().any(|command| means(pattern, command))
    }
}

/// A command as patterns may be written: as it was called, and in its plainest form.
fn spellings(command: &Command) -> Vec<String> {
    let whole = command.words.join(" ");
    let plain = std::iter::once(command.program()).chain(command.args().iter().cloned());
    let bare = std::iter::once(command.program()).chain(without_globals(command).iter().cloned());
    [whole, plain.collect::<Vec<_>>().join(" "), bare.collect::<Vec<_>>().join(" ")]
        .map(|text| text.to_lowercase())
        .to_vec()
}

/// `git -C dir push` is a push.
pub(crate) fn without_globals(command: &Command) -> &[String] {
    let args = command.args();
    if command.program() != "git" {
        return args;
    }
    let mut at = 0;
    while let Some(word) = args.get(at).filter(|word| word.starts_with('-')) {
        let with_value = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"];
        at += if with_value.contains(&word.as_str()) { 2 } else { 1 };
    }
    &args[at.min(args.len())..]
}

/// `*` stands for anything; a pattern without one also fits what begins with it as a word.
fn fits(pattern: &str, subject: &str) -> bool {
    let pattern = pattern.trim().to_lowercase();
    if pattern.is_empty() || subject.is_empty() {
        return false;
    }
    if !pattern.contains('*') {
        return subject == pattern || subject.strip_prefix(&pattern).is_some_and(|rest| rest.starts_with(' '));
    }
    glob(&pattern, subject)
}

fn glob(pattern: &str, subject: &str) -> bool {
    let parts: Vec<&str> = pattern.split('*').collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    if parts.len() == 1 {
        return pattern == subject;
    }
    let Some(mut rest) = subject.strip_prefix(first) else { return false };
    for part in &parts[1..parts.len() - 1] {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether a command is what the pattern means, word by word: options in any order, bundled or spelled out.
fn means(pattern: &str, command: &Command) -> bool {
    let wanted = shell::read(pattern);
    let [wanted] = &wanted.commands[..] else { return false };
    if command.words.is_empty() || !glob(&wanted.program(), &command.program()) {
        return false;
    }
    let (wanted_args, args) = (without_globals(wanted), without_globals(command));
    let given = options(&command.program(), args);
    let needed = options(&wanted.program(), wanted_args);
    needed.iter().all(|option| given.contains(option)) && operands_fit(wanted_args, args)
}

/// The options of a command one by one, by their short names where the long ones are known.
fn options(program: &str, args: &[String]) -> Vec<String> {
    let mut options = Vec::new();
    for word in args.iter().take_while(|word| *word != "--") {
        let word = word.to_lowercase();
        if let Some(long) = word.strip_prefix("--") {
            let name = long.split('=').next().unwrap_or_default();
            options.push(match (program, name) {
                ("rm" | "cp" | "chmod" | "chown", name) if is_short_for("recursive", name) => "r".to_owned(),
                (_, name) if name.len() > 1 && is_short_for("force", name) => "f".to_owned(),
                _ => name.to_owned(),
            });
        } else if let Some(letters) = word.strip_prefix('-') {
            options.extend(letters.chars().map(String::from));
        }
    }
    options
}

/// Long options may be cut short: `--recurs`.
fn is_short_for(whole: &str, given: &str) -> bool {
    !given.is_empty() && whole.starts_with(given)
}

/// The words that are no options, in order; more may follow. A word behind an option may be its value and is skipped if need be.
fn operands_fit(wanted: &[String], args: &[String]) -> bool {
    let is_option = |word: &str| word.len() > 1 && word.starts_with('-');
    let wanted: Vec<String> = wanted.iter().filter(|word| !is_option(word)).map(|word| word.to_lowercase()).collect();
    let mut at = 0;
    let mut behind_option = false;
    for word in args {
        let Some(next) = wanted.get(at) else { return true };
        if is_option(word) {
            behind_option = !word.contains('=') && word != "--";
        } else if glob(next, &word.to_lowercase()) {
            at += 1;
            behind_option = false;
        } else if !behind_option {
            return false;
        } else {
            behind_option = false;
        }
    }
    wanted[at.min(wanted.len())..].iter().all(|rest| rest == "*")
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::shell::CommandLine;
    use crate::subject::Subject;

    fn hits(pattern: &str, command: &str) -> bool {
        let subject = Subject::Command { tool: "Bash".into(), lines: vec![CommandLine::Text(command.into())] };
        Subjects::of("Bash", &Proposal { subject: &subject, rest: &Map::new() }, &[]).fit(pattern)
    }

    #[test]
    fn a_pattern_fits_every_spelling() {
        for command in [
            "git push",
            "git  push",
            "git push --force origin main",
            "env git push",
            "/usr/bin/git push",
            "/usr/bin/env git push",
            "sudo -n git push",
            "git -C dir push",
            "git -c x=y push",
            "git --no-pager push",
            "git --git-dir=x --work-tree y push",
            "true && git push",
            "echo `git push`",
            "sh -c 'git push'",
            "bash -lc \"cd x && git push\"",
            "GIT push",
            "g'i't \"push\"",
            "X=1 git push",
            "ls | xargs git push",
            "find . -exec git push {} \\;",
        ] {
            assert!(hits("git push", command), "{command}");
        }
        for command in [
            "rm -rf x",
            "rm -fr x",
            "rm -r -f x",
            "rm -f x -r",
            "rm --recursive --force x",
            "rm --force -R x",
            "rm -rvf x",
            "rm --rec -f x",
            "sudo rm -Rf /",
            "cd /; rm -f -r -- x",
        ] {
            assert!(hits("rm -rf *", command), "{command}");
            assert!(hits("rm -rf", command), "{command}");
        }
        assert!(hits("npm publish", "npm --prefix x publish"));
        assert!(hits("*secret*", "cat my-secret.txt"));
        assert!(hits("bash(rm *)", "rm x"));
    }

    #[test]
    fn a_pattern_does_not_fit_what_it_does_not_mean() {
        for command in
            ["git pull", "git pusher", "git commit -m push", "echo git push", "git log push", "grep 'git push' x"]
        {
            assert!(!hits("git push", command), "{command}");
        }
        for command in ["rm -r x", "rm x", "rm -i x", "ls -rf", "rm -f x"] {
            assert!(!hits("rm -rf *", command), "{command}");
        }
    }
}
