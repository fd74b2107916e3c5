//! What an engine is told: its part and what went before at the beginning of a thread, later only what is new.

use crate::wake::{Said, Wake};

/// How much of what was said before is told.
const MAX_BEFORE_CHARS: usize = 6000;

/// The words that woke the agent, without calling it by its name.
pub fn words(wake: &Wake) -> String {
    if let (Some(task), true) = (&wake.task, wake.messages.is_empty()) {
        let described = format!("This task was assigned to you: {}\n\n{}", task.title, task.description);
        return described.trim().to_owned();
    }
    let texts = wake.messages.iter().map(|said| without_call(&said.text, &wake.agent));
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The prompt of a run; `fresh` when the engine knows nothing of the thread yet.
pub fn of_run(wake: &Wake, system_prompt: &str, fresh: bool) -> String {
    let words = words(wake);
    if !fresh {
        return words;
    }
    let mut parts = Vec::new();
    if !system_prompt.trim().is_empty() {
        parts.push(system_prompt.trim().to_owned());
    }
    let before = before(&wake.before);
    if !before.is_empty() {
        let place = wake.channel_name.as_ref().map(|name| format!(" in #{name}")).unwrap_or_default();
        parts.push(format!("What was said before{place}:\n{before}"));
        let names: Vec<&str> = wake.messages.iter().map(|said| said.sender.as_str()).collect();
        if let Some(name) = names.first() {
            parts.push(format!("{name} asks you:\n{words}"));
            return parts.join("\n\n");
        }
    }
    parts.push(words);
    parts.join("\n\n")
}

/// The prompt of a run that was cut off and goes on.
pub fn of_interrupted(prompt: &str, knows_it: bool) -> String {
    match knows_it {
        true => format!("You were interrupted while you worked on this. Go on where you were.\n\n{prompt}"),
        false => prompt.to_owned(),
    }
}

/// The newest lines that have room.
fn before(said: &[Said]) -> String {
    let mut room = MAX_BEFORE_CHARS;
    let mut lines: Vec<String> = Vec::new();
    for one in said.iter().rev().filter(|one| !one.text.trim().is_empty()) {
        let line = format!("{}: {}", one.sender, one.text.trim());
        let Some(left) = room.checked_sub(line.chars().count()) else { break };
        room = left;
        lines.push(line);
    }
    lines.reverse();
    lines.join("\n")
}

/// `@claude, fix it` → `fix it`; a name in the middle of a sentence stays.
fn without_call(text: &str, name: &str) -> String {
    let text = text.trim();
    let Some(rest) = text.strip_prefix('@') else { return text.to_owned() };
    let called = rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
    let rest = if called { &rest[name.len()..] } else { return text.to_owned() };
    if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_' || c == '-') {
        return text.to_owned();
    }
    rest.trim_start_matches([',', ':', ';', '.', '!', '?']).trim_start().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake::tests::wake;

    #[test]
    fn the_name_is_taken_off_the_front_only() {
        for (text, words) in [
            ("@claude fix it", "fix it"),
            ("@Claude, fix it", "fix it"),
            ("  @claude: /status", "/status"),
            ("ask @claude to fix it", "ask @claude to fix it"),
            ("@claude2 fix it", "@claude2 fix it"),
            ("@claude-x fix it", "@claude-x fix it"),
            ("@claude", ""),
            ("@cläude x", "@cläude x"),
        ] {
            assert_eq!(without_call(text, "claude"), words, "{text}");
        }
    }

    #[test]
    fn a_new_thread_begins_with_the_role_and_what_was_said_before() {
        let prompt = of_run(&wake("@claude fix it"), "You are careful.", true);
        assert_eq!(
            prompt,
            "You are careful.\n\nWhat was said before in #general:\nann: hello\n\nbob asks you:\nfix it"
        );
    }

    #[test]
    fn a_thread_that_goes_on_hears_only_what_is_new() {
        assert_eq!(of_run(&wake("@claude and now?"), "You are careful.", false), "and now?");
    }

    #[test]
    fn what_was_said_before_is_cut_at_its_oldest_end() {
        let mut long = wake("@claude go");
        long.before = (0..100)
            .map(|number| crate::wake::Said {
                id: format!("msg_0{number:03}"),
                sender_id: "mem_1".into(),
                sender: "ann".into(),
                text: format!("{number} {}", "x".repeat(200)),
                thread_id: None,
            })
            .collect();
        let prompt = of_run(&long, "", true);
        assert!(prompt.contains("99 xxx") && !prompt.contains("\nann: 0 xxx"));
        assert!(prompt.chars().count() < MAX_BEFORE_CHARS + 500);
    }

    #[test]
    fn an_assigned_task_is_told_as_one() {
        let mut task = wake("");
        task.messages.clear();
        task.task = Some(crate::wake::Task { title: "Mend it".into(), description: "The login test.".into() });
        assert_eq!(words(&task), "This task was assigned to you: Mend it\n\nThe login test.");
    }
}
