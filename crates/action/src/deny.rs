//! Patterns of what is never allowed, held against every spelling of an action.
//!
//! A pattern of one word with a `/` in it is about a place: a file, a folder or an address, whoever touches it. Every other
//! pattern is about a tool or a command. A place in a folder `bin` or `sbin` is a program, and so about a command too.

use std::path::{Component, Path, PathBuf};

use crate::shell::{self, Command, Reading};
use crate::subject::Proposal;

/// Everything patterns are held against.
pub struct Subjects {
    texts: Vec<String>,
    readings: Vec<Reading>,
    /// What its commands name that may be a file or a folder.
    places: Vec<String>,
}

impl Subjects {
    /// The tool, its lines and files, and whatever else the engine calls it. Names of files count from the folder.
    pub fn of(title: &str, proposal: &Proposal<'_>, folder: &Path) -> Self {
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
        for file in proposal.paths() {
            texts.push(from_root(&file, folder).to_lowercase());
            texts.push(file.to_lowercase());
        }
        let readings: Vec<Reading> = lines.iter().map(|line| line.line.reading()).collect();
        let mut places = Vec::new();
        for command in readings.iter().flat_map(|reading| &reading.commands) {
            texts.extend(spellings(command));
            places
                .extend(named(command).flat_map(|name| [name.to_lowercase(), from_root(name, folder).to_lowercase()]));
        }
        Self { texts, readings, places }
    }

    /// Whether a pattern fits, however the action is spelled.
    pub fn fit(&self, pattern: &str) -> bool {
        let mut commands = self.readings.iter().flat_map(|reading| &reading.commands);
        self.texts.iter().any(|text| fits(pattern, text))
            || is_place(pattern) && self.places.iter().any(|place| lies_in(pattern, place))
            || is_command(pattern) && commands.any(|command| means(pattern, command))
    }
}

/// Whether a pattern is about a file, a folder or an address.
fn is_place(pattern: &str) -> bool {
    let pattern = pattern.trim();
    pattern.contains('/') && !pattern.contains(char::is_whitespace)
}

fn is_command(pattern: &str) -> bool {
    let mut parts = pattern.trim().rsplit('/');
    let (program, folder) = (parts.next().unwrap_or_default(), parts.next());
    !is_place(pattern) || !program.contains('*') && matches!(folder, Some("bin" | "sbin"))
}

/// The words of a command that may name a file or a folder, also behind the sign of equality.
fn named(command: &Command) -> impl Iterator<Item = &str> {
    let value = |word: &str| word.rfind('=').map_or(0, |at| at + 1);
    let words = command.words.iter().map(move |word| &word[value(word)..]);
    let words = words.filter(|word| !word.starts_with('-') && word.contains(['/', '.']));
    words.chain(command.writes.iter().chain(&command.reads).map(String::as_str))
}

/// As it is found from the root, without looking.
fn from_root(name: &str, folder: &Path) -> String {
    let mut clean = PathBuf::new();
    for part in folder.join(name).components() {
        match part {
            Component::ParentDir => drop(clean.pop()),
            Component::CurDir => {}
            other => clean.push(other),
        }
    }
    clean.to_string_lossy().into_owned()
}

/// Whoever names a folder may mean all that is in it.
fn lies_in(pattern: &str, place: &str) -> bool {
    let pattern = pattern.trim().to_lowercase();
    glob(&pattern, place) || glob(&pattern, &format!("{}/", place.trim_end_matches('/')))
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
    let (Some(wanted_program), Some(program)) = (wanted.words.first(), command.words.first()) else { return false };
    // `/opt/*` is not every program.
    let runs = match wanted.program().contains('*') && wanted_program.contains('/') {
        true => glob(&wanted_program.to_lowercase(), &program.to_lowercase()),
        false => glob(&wanted.program(), &command.program()),
    };
    if !runs {
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
        Subjects::of("Bash", &Proposal { subject: &subject, rest: &Map::new() }, Path::new("/project")).fit(pattern)
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

    #[test]
    fn a_pattern_of_a_place_fits_what_names_the_place_and_nothing_else() {
        for command in [
            "cat /etc/passwd",
            "ls && rm -rf /etc",
            "cd /etc",
            "cat ../etc/passwd",
            "echo x >/etc/hosts",
            "wc -l < /etc/hosts",
            "dd if=/etc/shadow of=x",
            "tar --file=/etc/x.tar",
            "/etc/init.d/thing start",
            "sh -c 'cat /etc/passwd'",
        ] {
            assert!(hits("/etc/*", command), "{command}");
        }
        for command in ["ls", "git push", "cat etc/passwd", "cat /project/etc/x", "echo /etcetera/x", "passwd"] {
            assert!(!hits("/etc/*", command), "{command}");
        }
        assert!(hits("/etc/passwd", "cat /etc/passwd") && !hits("/etc/passwd", "passwd"));
        assert!(hits("*/.env", "cat .env") && hits("*/.env", "cp config/.env x") && !hits("*/.env", "env"));
        assert!(!hits("*/build", "cargo build") && hits("*/build", "rm -r ./build"));
        assert!(hits("https://evil.example/*", "curl https://evil.example/x") && !hits("https://evil.example/*", "ls"));
    }

    #[test]
    fn a_program_in_its_folder_is_the_program() {
        for command in ["rm x", "/bin/rm x", "sudo rm x"] {
            assert!(hits("/usr/bin/rm", command), "{command}");
        }
        assert!(hits("/usr/bin/git push", "git push") && !hits("/usr/bin/git push", "git pull"));
        assert!(hits("/opt/*/tool push", "/opt/x/tool push") && hits("/opt/* push", "/opt/x/tool push"));
        assert!(!hits("/opt/* push", "git push"));
        assert!(hits("/opt/*", "/opt/x/tool push") && hits("*", "ls") && hits("* --force", "git push --force"));
    }
}
