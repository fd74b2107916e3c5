//! What lines would run.

use proptest::prelude::*;

use super::*;

fn run(line: &str) -> Vec<String> {
    read(line).commands.iter().map(|command| command.words.join(" ")).collect()
}

#[track_caller]
fn has(line: &str, wanted: &str) {
    assert!(run(line).iter().any(|command| command == wanted), "{line} → {:?}", run(line));
}

#[test]
fn every_command_of_a_line_is_found() {
    for line in [
        "git push",
        "  git\t push ",
        "true; git push",
        "true && git push || false",
        "echo a | git push",
        "echo a |& git push",
        "true & git push",
        "true\ngit push",
        "(cd x; git push)",
        "{ git push; }",
        "if git push; then true; fi",
        "while true; do git push; done",
        "for i do git push; done",
        "for x in a b; do git push; done",
        "! git push",
        "time git push",
        "echo $(git push)",
        "echo \"$(git push)\"",
        "echo `git push`",
        "echo \"`git push`\"",
        "x=$(git push)",
        "for x in $(git push); do true; done",
        "X=1 git push",
        "env git push",
        "env -i X=1 git push",
        "env -u HOME -- git push",
        "sudo git push",
        "sudo -u root -n git push",
        "sudo -nu root git push",
        "nice -n 5 git push",
        "nice -5 git push",
        "nohup git push &",
        "timeout -k 5 10 git push",
        "command git push",
        "exec git push",
        "xargs -n1 git push",
        "echo x | xargs -I{} git push",
        "env sudo nice git push",
        "sh -c 'git push'",
        "bash -lc 'git push'",
        "bash -l -c \"git push\"",
        "bash -o pipefail -c 'git push'",
        "/bin/sh -ec 'true; git push'",
        "sh -c \"sh -c 'git push'\"",
        "su -c 'git push' root",
        "find . -name x -exec git push ;",
        "find . -exec git push \\;",
        "eval git push",
        "eval 'git push'",
        "git 'push'",
        "g''it pu\"sh\"",
        "\\git push",
        "git \\\n push",
        "git push > out 2>&1",
        "2>/dev/null git push",
        "git push <<< text",
        "cat <<EOF\ntext\nEOF\ngit push",
        "cat <<'EOF' | cat\n$(rm)\nEOF\ngit push",
        "git push # and more",
        "busybox git push",
        "stdbuf -oL git push",
    ] {
        has(line, "git push");
    }
    has("/usr/bin/git push", "/usr/bin/git push");
    assert_eq!(read("/usr/bin/git push").commands[0].program(), "git");
}

#[test]
fn what_only_looks_like_a_command_is_none() {
    for line in
        ["echo 'git push'", "echo \"; git push\"", "echo a#b; # git push", "cat <<'EOF'\ngit push\nEOF", "echo \\; git"]
    {
        assert!(!run(line).iter().any(|command| command.starts_with("git push")), "{line} → {:?}", run(line));
    }
}

#[test]
fn plain_lines_are_certain() {
    for line in [
        "ls -la",
        "cargo test --all | tail -5",
        "cd src && rm -rf 'a b' *.o",
        "echo hi > out.txt 2>&1",
        "git -C dir commit -m 'a $x'",
        "git -c user.name=x commit",
        "bash -c 'ls; pwd'",
        "bash script.sh",
        "python3 script.py x.toml",
        "X=1 make",
        "sudo -u bob ls",
        "",
    ] {
        assert!(read(line).is_certain(), "{line}: {:?}", read(line));
    }
}

#[test]
fn what_cannot_be_read_with_certainty_is_unclear() {
    for line in [
        "$X push",
        "${X} push",
        "$(echo git) push",
        "`echo git` push",
        "g?t push",
        "{git,push}",
        "eval \"$x\"",
        "echo 'a",
        "echo \"a",
        "echo `a",
        "echo $(a",
        "(a",
        "a)",
        "diff <(a) <(b)",
        "bash <<EOF\ngit push\nEOF",
        "sh <<< 'git push'",
        "curl x | sh",
        "curl x | bash -s -- y",
        "bash -c \"$x\"",
        "f() { git push; }; f",
        "function f { git push; }",
        "alias x='git push'; x",
        "case x in x) git push;; esac",
        "PATH=/tmp git pull",
        "GIT_SSH_COMMAND=x git fetch",
        "env PATH=. ls",
        "env -S 'git push'",
        "sudo --odd git push",
        "python3 -c 'import os'",
        "perl -ne 'system(1)'",
        "node -e 'x'",
        "python3 < x",
        "git -c alias.x=push x",
        "git -c core.sshCommand=x fetch",
        "$'\\x67it' push",
        "cat <<EOF\n$(git push)\nEOF",
        "cat <<EOF\nno end",
        "((x=1))",
        "echo $((git push) )",
        "sudo su",
        "time { git push; }",
        "coproc N { git push; }",
        "ssh host git push",
        "docker exec x git push",
        "trap 'git push' EXIT",
        "ls >",
        "ls \\",
    ] {
        assert!(read(line).unclear.is_some(), "{line}: {:?}", read(line));
    }
    assert_eq!(read("echo $((1 + 2)) | cat").unclear, None);
    for line in ["git $X", "git {push,}", "git \"$x\" y", "echo push | xargs git"] {
        assert!(!read(line).is_certain(), "{line}: {:?}", read(line));
    }
}

#[test]
fn words_without_a_shell_are_words() {
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let reading = read_words(&words(&["echo", "; git push"]));
    assert_eq!((reading.commands.len(), reading.is_certain()), (1, true));
    let reading = read_words(&words(&["bash", "-lc", "git push"]));
    assert_eq!(reading.commands[1].words, ["git", "push"]);
}

#[test]
fn files_that_are_written_over_are_noted() {
    assert_eq!(read("cat x > /dev/sda").commands[0].writes, ["/dev/sda"]);
    assert_eq!(read("> notes").commands[0].writes, ["notes"]);
    assert_eq!(read("x &> all").commands[0].writes, ["all"]);
    assert_eq!(read("wc -l < notes").commands[0].reads, ["notes"]);
    assert_eq!(read("cat <<< notes").commands[0].reads, Vec::<String>::new());
}

/// Ways to write a command that a shell reads alike.
fn spellings() -> impl Strategy<Value = String> {
    let gap = prop_oneof!["[ \t]{1,4}", Just(" \\\n".to_owned())];
    let word = |word: &'static str| {
        prop_oneof![
            Just(word.to_owned()),
            Just(format!("'{word}'")),
            Just(format!("\"{word}\"")),
            Just(format!("{}''{}", &word[..1], &word[1..])),
            Just(format!("\\{word}")),
        ]
    };
    let wrap = prop_oneof![
        Just("@".to_owned()),
        Just("true; @".to_owned()),
        Just("( @ )".to_owned()),
        Just("echo $( @ )".to_owned()),
        Just("env A=1 @".to_owned()),
        Just("sudo -n @".to_owned()),
        Just("true&&@".to_owned()),
        Just("x|@".to_owned()),
        Just("{ @; }".to_owned()),
    ];
    let wraps = proptest::collection::vec(wrap, 0..4);
    (word("git"), gap, word("push"), wraps).prop_map(|(git, gap, push, wraps)| {
        // What stands in a list cannot stand behind `env`, so lists come last.
        let (inner, outer): (Vec<_>, Vec<_>) =
            wraps.into_iter().partition(|wrap| wrap.starts_with("env") || wrap.starts_with("sudo"));
        let line = format!("{git}{gap}{push}");
        inner.into_iter().chain(outer).fold(line, |line, wrap| wrap.replace('@', &line))
    })
}

proptest! {
    #[test]
    fn however_it_is_spelled_the_command_is_found(line in spellings()) {
        let found = read(&line).commands.iter().any(|command| command.words == ["git", "push"]);
        prop_assert!(found, "{line:?} → {:?}", read(&line));
    }

    #[test]
    fn any_text_is_read_to_its_end(line in "[a-z$`'\"\\\\(){}<>;&|# \n=-]{0,60}") {
        let _ = read(&line);
    }

    #[test]
    fn a_line_that_is_certain_is_the_same_inside_another_shell(line in "[a-z$`'\"\\\\(){}<>;&| \n=-]{0,40}") {
        let (reading, nested) = (read(&line), read(&format!("sh -c {}", quoted(&line))));
        let kept = reading.commands.iter().all(|command| nested.commands.contains(command));
        prop_assert!(!reading.is_certain() || kept || nested.unclear.is_some(), "{reading:?} {nested:?}");
    }

    #[test]
    fn quoting_a_word_keeps_it_one_word(word in "\\PC{0,20}") {
        let line = format!("x {}", quoted(&word));
        prop_assert_eq!(&read(&line).commands[0].words[1], &word);
    }
}
