//! Any bytes as a shell line and as a question: reading must not panic or hang, and nothing in what is shown may hide.

#![no_main]

use folkmoot_action::deny::Subjects;
use folkmoot_action::{CommandLine, Proposal, Shown, Subject, shell, visible};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    let reading = shell::read(&text);
    // A line that is certain stays so when it runs inside another one.
    if reading.is_certain() && !text.contains(['\0', '#']) {
        let nested = shell::read(&format!("sh -c {}", shell::quoted(&text)));
        let kept = reading.commands.iter().all(|command| nested.commands.contains(command));
        assert!(kept || nested.unclear.is_some(), "{text:?}");
    }
    let shown = Shown::of_question(false, &text, &text);
    for line in shown.lines() {
        assert_eq!(visible::exact(&line), line);
    }
    let subject = Subject::Command { tool: "Bash".to_owned(), lines: vec![CommandLine::Text(text.to_string())] };
    let proposal = Proposal { subject: &subject, rest: &serde_json::Map::new() };
    let subjects = Subjects::of(&text, &proposal, std::path::Path::new("/project"));
    let _ = subjects.fit("git push") || subjects.fit("/etc/*");
});
