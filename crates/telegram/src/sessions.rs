//! Threads that go on by themselves: which one a message without a reply belongs to, and where a thread works.

use folkmoot_engines::event::{EngineId, ResumeToken};

use crate::context::Context;
use crate::ids::PromptId;
use crate::journal::{JournalError, Preference, Prompt, Rows, Scope};

/// The name under which the context of a thread is kept.
fn thread_name(token: &ResumeToken) -> String {
    format!("thread:{}", token.thread_key())
}

pub fn thread_context(rows: &Rows<'_>, token: &ResumeToken) -> Result<Option<Context>, JournalError> {
    Ok(rows.value(&thread_name(token))?.and_then(|value| serde_json::from_str(&value).ok()))
}

/// Keeps where a thread works, so that a bare resume line finds back to it.
pub fn keep_thread_context(rows: &mut Rows<'_>, token: &ResumeToken, context: &Context) -> Result<(), JournalError> {
    rows.set_value(&thread_name(token), &serde_json::to_string(context)?)
}

/// With which thread a message goes on.
#[derive(Debug, Default, PartialEq)]
pub struct ChatSession {
    pub resume: Option<ResumeToken>,
    pub after: Option<PromptId>,
    pub context: Option<Context>,
}

/// The thread of this chat or topic that a message without a reply goes on with: the last one of its engine, or the last in
/// the place that was named. One that is just beginning counts too.
pub fn session(
    rows: &Rows<'_>,
    prompt: &Prompt,
    engine: &EngineId,
    named: Option<&Context>,
) -> Result<ChatSession, JournalError> {
    let scope = prompt.session_scope();
    let kept = rows.preference(scope, &Preference::session(engine, named))?;
    let kept = kept.map(|value| ResumeToken::new(engine.clone(), value));
    let context = kept.as_ref().map(|token| thread_context(rows, token)).transpose()?.flatten();
    let since = rows.sessions_since(scope)?;
    let begins = |open: &Prompt| {
        let plan = &open.plan;
        let here = open.id > since && open.id < prompt.id && open.session_scope() == scope;
        here && plan.engine.as_ref() == Some(engine)
            && match (named, &kept) {
                (Some(_), None) => plan.context.as_ref() == named,
                (Some(_), Some(_)) => false,
                (None, None) => true,
                // It was begun in another place since.
                (None, Some(_)) => plan.resume.is_none() && plan.context != context,
            }
    };
    match rows.open_prompts()?.into_iter().rev().find(begins) {
        Some(leader) => Ok(ChatSession { resume: None, after: Some(leader.id), context: leader.plan.context }),
        None => Ok(ChatSession { resume: kept, after: None, context }),
    }
}

/// Keeps the thread with which messages without a reply go on: everywhere, and in its place.
pub fn keep_session(
    rows: &mut Rows<'_>,
    scope: Scope,
    token: &ResumeToken,
    context: Option<&Context>,
) -> Result<(), JournalError> {
    for place in [None, context] {
        rows.prefer(scope, &Preference::session(&token.engine, place), Some(&token.value))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ChatId, MessageId};
    use crate::journal::{Journal, NewPrompt, PromptState};
    use crate::plan::Plan;

    const CODEX: EngineId = EngineId::new("codex");

    /// A prompt in the one chat, as the desk has it.
    fn add(rows: &mut Rows<'_>, place: Option<&str>) -> Prompt {
        let context = place.map(|place| Context::new(place, None));
        let plan = Plan { engine: Some(CODEX), context, ..Plan::default() };
        let (message, text, state) = (MessageId(1), String::new(), PromptState::Running);
        let new = NewPrompt { chat: ChatId(1), topic: None, sender: None, message, state, thread: None, text, plan };
        let id = rows.add_prompt(&new).unwrap();
        rows.prompt(id).unwrap().unwrap()
    }

    /// Its thread gets a name, and it ends.
    fn name(rows: &mut Rows<'_>, prompt: &Prompt, value: &str) {
        let (token, context) = (ResumeToken::new(CODEX, value), prompt.plan.context.clone());
        if let Some(context) = &context {
            keep_thread_context(rows, &token, context).unwrap();
        }
        keep_session(rows, prompt.session_scope(), &token, context.as_ref()).unwrap();
        rows.finish_prompt(prompt.id).unwrap();
    }

    fn goes_on(
        rows: &Rows<'_>,
        prompt: &Prompt,
        named: Option<&str>,
    ) -> (Option<String>, Option<PromptId>, Option<String>) {
        let named = named.map(|name| Context::new(name, None));
        let ChatSession { resume, after, context } = session(rows, prompt, &CODEX, named.as_ref()).unwrap();
        (resume.map(|token| token.value), after, context.map(|context| context.name()))
    }

    #[tokio::test]
    async fn a_session_goes_on_in_its_place_also_while_it_begins_and_other_places_have_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _orders) = Journal::open(folder.path()).unwrap();
        let work = |rows: &mut Rows<'_>| {
            let some = |word: &str| Some(word.to_owned());
            let first = add(rows, Some("one"));
            let next = Prompt { id: PromptId(100), ..first.clone() };
            assert_eq!(goes_on(rows, &next, None), (None, Some(first.id), some("one")));
            assert_eq!(goes_on(rows, &next, Some("one")), (None, Some(first.id), some("one")));
            assert_eq!(goes_on(rows, &next, Some("two")), (None, None, None), "a new thread");
            name(rows, &first, "t-1");
            assert_eq!(goes_on(rows, &next, None), (some("t-1"), None, some("one")));
            let second = add(rows, Some("two"));
            assert_eq!(goes_on(rows, &next, None), (None, Some(second.id), some("two")), "what was begun last");
            assert_eq!(goes_on(rows, &next, Some("one")), (some("t-1"), None, some("one")));
            name(rows, &second, "t-2");
            assert_eq!(goes_on(rows, &next, None), (some("t-2"), None, some("two")));
            assert_eq!(goes_on(rows, &next, Some("one")), (some("t-1"), None, some("one")));
            assert_eq!(rows.forget_sessions(next.session_scope())?, 3);
            assert_eq!(goes_on(rows, &next, Some("one")), (None, None, None));
            Ok(())
        };
        journal.transact(work).await.unwrap();
    }
}
