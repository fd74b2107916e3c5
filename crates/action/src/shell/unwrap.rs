//! Programs that run other programs: what stands behind `env`, `sudo`, `xargs`, `sh -c`, `find -exec` and their kind.

use super::words::{Word, is_assignment, is_steering_variable};
use super::{Command, MAX_DEPTH, Reading, Simple, program, read_into};

/// How the options of a program that runs another one are read.
struct Wrapper {
    /// Letters of options that stand alone.
    flags: &'static str,
    /// Letters of options that have a value, attached or as the next word.
    valued: &'static str,
    /// The same for long ones; a long option with `=` needs no entry.
    long_flags: &'static [&'static str],
    long_valued: &'static [&'static str],
    /// Words before the command that are no options, such as the time of `timeout`.
    operands: usize,
    /// `NAME=value` may stand before the command.
    sets: bool,
}

const PLAIN: Wrapper = Wrapper { flags: "", valued: "", long_flags: &[], long_valued: &[], operands: 0, sets: false };

fn wrapper(name: &str) -> Option<Wrapper> {
    Some(match name {
        "env" => Wrapper {
            flags: "i0v",
            valued: "uC",
            long_flags: &["--ignore-environment", "--null", "--debug"],
            long_valued: &["--unset", "--chdir"],
            sets: true,
            ..PLAIN
        },
        "sudo" => Wrapper {
            flags: "AbEHiKknPSsB",
            valued: "CDghpRrTtUu",
            long_flags: &[
                "--preserve-env",
                "--login",
                "--non-interactive",
                "--shell",
                "--set-home",
                "--background",
                "--stdin",
            ],
            long_valued: &["--user", "--group", "--host", "--prompt", "--chdir", "--chroot", "--role", "--type"],
            sets: true,
            ..PLAIN
        },
        "doas" => Wrapper { flags: "nsL", valued: "uC", ..PLAIN },
        "nice" => Wrapper { flags: "0123456789", valued: "n", long_valued: &["--adjustment"], ..PLAIN },
        "ionice" => Wrapper {
            flags: "t",
            valued: "cn",
            long_flags: &["--ignore"],
            long_valued: &["--class", "--classdata"],
            ..PLAIN
        },
        "time" => Wrapper {
            flags: "pavV",
            valued: "fo",
            long_flags: &["--portability", "--append", "--verbose"],
            long_valued: &["--format", "--output"],
            ..PLAIN
        },
        "timeout" => Wrapper {
            flags: "v",
            valued: "ks",
            long_flags: &["--foreground", "--preserve-status", "--verbose"],
            long_valued: &["--kill-after", "--signal"],
            operands: 1,
            ..PLAIN
        },
        "xargs" => Wrapper {
            flags: "0rtpxo",
            valued: "nILPsdaE",
            long_flags: &["--null", "--no-run-if-empty", "--verbose", "--interactive", "--exit", "--open-tty"],
            long_valued: &[
                "--max-args",
                "--replace",
                "--max-lines",
                "--max-procs",
                "--max-chars",
                "--delimiter",
                "--arg-file",
                "--eof",
            ],
            ..PLAIN
        },
        "exec" => Wrapper { flags: "cl", valued: "a", ..PLAIN },
        "command" => Wrapper { flags: "pvV", ..PLAIN },
        "setsid" => Wrapper { flags: "cfw", long_flags: &["--ctty", "--fork", "--wait"], ..PLAIN },
        "stdbuf" => Wrapper { valued: "ioe", long_valued: &["--input", "--output", "--error"], ..PLAIN },
        "chronic" | "nohup" | "builtin" | "busybox" | "toybox" => PLAIN,
        _ => return None,
    })
}

const SHELLS: [&str; 9] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"];
/// Interpreters, with the options after which code stands.
const INTERPRETERS: [(&str, &[&str]); 9] = [
    ("python", &["-c"]),
    ("pypy", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("node", &["-e", "--eval", "-p", "--print", "-r"]),
    ("deno", &["eval"]),
    ("bun", &["-e", "--eval"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
];

/// Programs that run others in ways of their own.
const RUNNERS: [&str; 20] = [
    "ssh",
    "chroot",
    "unshare",
    "nsenter",
    "systemd-run",
    "fakeroot",
    "proot",
    "bwrap",
    "firejail",
    "strace",
    "ltrace",
    "gdb",
    "taskset",
    "chrt",
    "tmux",
    "screen",
    "at",
    "batch",
    "pkexec",
    "parallel",
];
/// Words that begin no command where a program stands before them.
const KEYWORDS: [&str; 12] = ["{", "}", "if", "then", "else", "elif", "while", "until", "for", "do", "case", "!"];

/// Notes a command, and what it runs in turn.
pub(super) fn run(simple: Simple, depth: usize, reading: &mut Reading) {
    let Simple { mut words, writes, reads, is_fed } = simple;
    let mut files = Some((writes, reads));
    for _ in 0..MAX_DEPTH {
        let Some(first) = words.first() else { return };
        if first.is_open || first.is_pattern {
            reading.unsure("which program it runs is only known when it runs");
        }
        let name = program(&first.text);
        if KEYWORDS.contains(&name.as_str()) {
            reading.unsure("it has a construct that is not read");
        }
        // What xargs runs has more words than these: those it reads.
        let open = name == "xargs" || words.iter().any(|word| word.is_open);
        let texts = words.iter().map(|word| word.text.clone()).collect();
        let (writes, reads) = files.take().unwrap_or_default();
        reading.commands.push(Command { words: texts, open, writes, reads });
        match behind(&name, &words[1..], is_fed, depth, reading) {
            Some(inner) => words = inner,
            None => return,
        }
    }
    reading.unsure("it is too long or too deep to be read");
}

/// The command that a command runs, where it is one of words; lines that it runs are read on the spot.
fn behind(name: &str, args: &[Word], is_fed: bool, depth: usize, reading: &mut Reading) -> Option<Vec<Word>> {
    if let Some(wrapper) = wrapper(name) {
        return wrapped(name, &wrapper, args, depth, reading);
    }
    match name {
        name if SHELLS.contains(&name) => script(args, is_fed, depth, reading),
        "su" | "runuser" | "watch" | "script" | "flock" => handed_over(name, args, depth, reading),
        "eval" | "trap" => {
            reading.unsure("it runs a text that it puts together");
            let text = args.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
            read_into(&text, depth + 1, reading);
        }
        "docker" | "podman" | "kubectl" if args.iter().any(|word| matches!(word.text.as_str(), "exec" | "run")) => {
            reading.unsure("it runs something elsewhere");
        }
        name if RUNNERS.contains(&name) => reading.unsure("it runs something in a way that is not known here"),
        "alias" | "enable" | "hash" | "mapfile" | "readarray" => {
            reading.unsure("it changes what names mean, or runs what it reads");
        }
        "find" | "fd" => executed(args, depth, reading),
        "git" => git(args, reading),
        _ => interpreter(name, args, is_fed, reading),
    }
    None
}

fn wrapped(name: &str, wrapper: &Wrapper, args: &[Word], depth: usize, reading: &mut Reading) -> Option<Vec<Word>> {
    let mut at = 0;
    let mut operands = wrapper.operands;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        let sets = wrapper.sets && is_assignment(word);
        if sets && is_steering_variable(text) {
            reading.unsure("it sets a variable that changes what is run");
        }
        match text {
            "--" => {
                at += 1;
                let skip = operands.min(args.len() - at);
                return Some(args[at + skip..].to_vec()).filter(|rest| !rest.is_empty());
            }
            _ if name == "env"
                && (text.starts_with("-S") || text.starts_with("-vS") || text.starts_with("--split-string")) =>
            {
                reading.unsure("it runs a text that it puts together");
                let first =
                    text.trim_start_matches("-v").trim_start_matches("--split-string=").trim_start_matches("-S");
                let rest = args[at + 1..].iter().map(|word| word.text.as_str());
                let line = std::iter::once(first).chain(rest).collect::<Vec<_>>().join(" ");
                read_into(&line, depth + 1, reading);
                return None;
            }
            "-v" | "-V" if name == "command" => return None,
            "-" if name == "env" => at += 1,
            _ if sets => at += 1,
            _ if text.starts_with("--") => match option(text, wrapper.long_flags, wrapper.long_valued) {
                Some(width) => at += width,
                None => return lost(reading),
            },
            _ if text.starts_with('-') && text.len() > 1 => match bundle(&text[1..], wrapper) {
                Some(width) => at += width,
                None => return lost(reading),
            },
            _ if operands > 0 => {
                operands -= 1;
                at += 1;
            }
            _ => return Some(args[at..].to_vec()),
        }
    }
    None
}

/// Words that a long option takes, its value with it.
fn option(text: &str, flags: &[&str], valued: &[&str]) -> Option<usize> {
    let name = text.split('=').next().unwrap_or_default();
    match (flags.contains(&name), valued.contains(&name), text.contains('=')) {
        (true, _, _) | (_, true, true) => Some(1),
        (_, true, false) => Some(2),
        _ => None,
    }
}

/// Words that a bundle of letters takes.
fn bundle(letters: &str, wrapper: &Wrapper) -> Option<usize> {
    for (at, letter) in letters.char_indices() {
        if wrapper.valued.contains(letter) {
            return Some(if at + letter.len_utf8() == letters.len() { 2 } else { 1 });
        }
        if !wrapper.flags.contains(letter) {
            return None;
        }
    }
    Some(1)
}

fn lost(reading: &mut Reading) -> Option<Vec<Word>> {
    reading.unsure("it has an option that is not known here");
    None
}

/// `sh -c LINE`, `bash -lc LINE`, `sh FILE`.
fn script(args: &[Word], is_fed: bool, depth: usize, reading: &mut Reading) {
    let mut at = 0;
    let mut takes_line = false;
    while let Some(word) = args.get(at) {
        let text = word.text.as_str();
        match text {
            "--version" | "--help" => return,
            "--" | "-" => {
                at += 1;
                break;
            }
            "--rcfile" | "--init-file" => return reading.unsure("it has an option that is not known here"),
            _ if text.starts_with("--") => at += 1,
            _ if text.starts_with(['-', '+']) => {
                takes_line |= text.starts_with('-') && text.contains('c');
                at += if text.ends_with(['o', 'O']) { 2 } else { 1 };
            }
            _ => break,
        }
    }
    match args.get(at) {
        Some(line) if takes_line => {
            if line.is_open {
                reading.unsure("it gives a shell a text that is only known when it runs");
            }
            read_into(&line.text, depth + 1, reading);
        }
        Some(_) if !is_fed && !args[..at].iter().any(|word| word.text.starts_with("-s")) => {}
        _ => reading.unsure("a shell runs whatever it is given to read"),
    }
}

/// Programs that have a line run by a shell.
fn handed_over(name: &str, args: &[Word], depth: usize, reading: &mut Reading) {
    let after = args.iter().position(|word| matches!(word.text.as_str(), "-c" | "--command"));
    let attached = args.iter().find_map(|word| word.text.strip_prefix("--command="));
    match (after.and_then(|at| args.get(at + 1)), attached) {
        (Some(line), _) if !line.is_open => read_into(&line.text, depth + 1, reading),
        (_, Some(line)) => read_into(line, depth + 1, reading),
        _ if name == "watch" || name == "flock" || name == "runuser" => {
            reading.unsure("it has a command in a place that is not known here");
        }
        _ => reading.unsure("it opens a shell"),
    }
}

/// `find … -exec COMMAND ;`.
fn executed(args: &[Word], depth: usize, reading: &mut Reading) {
    let mut rest = args;
    let begins = |word: &Word| {
        matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir" | "-x" | "-X" | "--exec" | "--exec-batch")
    };
    while let Some(at) = rest.iter().position(begins) {
        let inner = &rest[at + 1..];
        let end = inner.iter().position(|word| matches!(word.text.as_str(), ";" | "+")).unwrap_or(inner.len());
        run(Simple { words: inner[..end].to_vec(), ..Simple::default() }, depth, reading);
        rest = &inner[end..];
    }
}

/// Settings given on the spot can make git run anything.
fn git(args: &[Word], reading: &mut Reading) {
    const HARMLESS: [&str; 8] =
        ["user.", "color.", "advice.", "init.", "commit.", "author.", "committer.", "push.default"];
    let set =
        args.iter().zip(args.iter().skip(1)).filter(|(option, _)| option.text == "-c").map(|(_, value)| &value.text);
    let before_command = args.iter().take_while(|word| word.text.starts_with('-') || word.text.contains('=')).count();
    if before_command > 0
        && set.clone().any(|value| !HARMLESS.iter().any(|begin| value.to_lowercase().starts_with(begin)))
    {
        reading.unsure("it gives git a setting that may run something");
    }
    if args.iter().any(|word| word.text.starts_with("--config-env") || word.text.starts_with("--exec-path=")) {
        reading.unsure("it gives git a setting that may run something");
    }
}

fn interpreter(name: &str, args: &[Word], is_fed: bool, reading: &mut Reading) {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let Some((_, options)) = INTERPRETERS.iter().find(|(known, _)| *known == stem) else { return };
    let code = |word: &Word| {
        let text = word.text.as_str();
        options.iter().any(|option| text == *option || (option.len() == 2 && text.starts_with(option)))
            || (text.len() > 2 && !text.starts_with("--") && text.starts_with('-') && text.ends_with(['e', 'c']))
    };
    let reads = !args.iter().any(|word| !word.text.starts_with('-'));
    if args.iter().any(code)
        || is_fed
        || (reads && !args.iter().any(|word| word.text.starts_with("--v") || word.text == "-V"))
    {
        reading.unsure("it gives code to an interpreter");
    }
}
