//! How a prompt looks in its chat, from the first sign to the last word.

use std::time::Duration;

use folkmoot_engines::event::EngineId;
use folkmoot_runs::progress::{Label, Progress, markdown};
use folkmoot_runs::run_queue::View;

use crate::api::{Button, Keyboard};
use crate::context::Context;
use crate::ids::PromptId;
use crate::journal::Content;
use crate::press::Press;
use crate::text::{self, Message, Overflow, Rendered};

/// The first sign of a prompt.
pub fn first_sign(prompt: PromptId, engine: &EngineId, context: Option<&Context>, waits: bool) -> Content {
    let mut progress = Progress::new(engine.clone());
    if waits {
        progress.set_queued();
    }
    progress_of(prompt, &View { progress, elapsed: Duration::ZERO }, context)
}

/// A sign before anything is known: a voice note or a file is still on its way.
pub fn receiving(prompt: PromptId) -> Content {
    Content::with_keyboard(text::plain("receiving"), cancel_button(prompt))
}

/// The last word about a prompt that no engine has got yet.
pub fn called_back() -> Rendered {
    text::plain(Label::Cancelled.as_str())
}

fn cancel_button(prompt: PromptId) -> Keyboard {
    Keyboard::row([Button::new("cancel", Press::Cancel(prompt).data())])
}

/// A run while it goes on.
pub fn progress_of(prompt: PromptId, view: &View, context: Option<&Context>) -> Content {
    let message = message_of(view, context);
    Content::with_keyboard(text::page(&message), cancel_button(prompt))
}

/// The last word about a run, as many messages as it takes.
pub fn last_of(view: &View, context: Option<&Context>, overflow: Overflow) -> Vec<Rendered> {
    let mut message = message_of(view, context);
    if view.progress.label() == Label::Stopped {
        message.body = joined(&message.body, stopped(view.progress.resume_line().is_some()));
    }
    text::pages(&message, overflow)
}

/// What to do about it: a thread that never got a name cannot be gone on with.
fn stopped(has_thread: bool) -> &'static str {
    match has_thread {
        true => "The bridge was stopped while this ran. Reply to go on.",
        false => "The bridge was stopped while this ran. Send it again.",
    }
}

/// The last word about a run that ended with us.
pub fn interrupted(engine: &str, resume_line: Option<String>, context: Option<&Context>) -> Rendered {
    let header = format!("{} · {engine}", Label::Stopped.as_str());
    let body = stopped(resume_line.is_some()).to_owned();
    text::page(&Message { header, body, footer: footer(context, resume_line) })
}

/// The last word about a prompt that was taken out of its queue.
pub fn dropped(engine: &str, context: Option<&Context>) -> Rendered {
    let header = format!("{} · {engine}", Label::Cancelled.as_str());
    text::page(&Message { header, body: "Dropped from the queue.".to_owned(), footer: footer(context, None) })
}

fn message_of(view: &View, context: Option<&Context>) -> Message {
    let message = markdown::message(&view.progress, view.elapsed);
    Message { footer: footer(context, message.footer), ..message }
}

/// The `ctx:` line, then the resume line.
fn footer(context: Option<&Context>, resume_line: Option<String>) -> Option<String> {
    let lines: Vec<String> = context.map(Context::line).into_iter().chain(resume_line).collect();
    // Two blanks make a line break of a line end.
    (!lines.is_empty()).then(|| lines.join("  \n"))
}

fn joined(body: &str, more: &str) -> String {
    if body.is_empty() { more.to_owned() } else { format!("{}\n\n{more}", markdown::closed(body)) }
}

#[cfg(test)]
mod tests {
    use folkmoot_engines::engines;
    use folkmoot_engines::event::{Completed, Detail, EngineEvent, ResumeToken};

    use super::*;

    const ENGINE: EngineId = EngineId::new("codex");

    fn view(answer: &str, error: Option<&str>) -> View {
        let mut progress = Progress::new(ENGINE);
        let codecs = engines::codecs();
        progress.take(
            &EngineEvent::Completed(Completed {
                engine: ENGINE,
                ok: error.is_none(),
                answer: answer.to_owned(),
                resume: Some(ResumeToken::new("codex", "t-1")),
                error: error.map(str::to_owned),
                usage: Detail::new(),
            }),
            |token| codecs.format_resume(token),
        );
        View { progress, elapsed: Duration::from_secs(5) }
    }

    fn texts(view: &View) -> Vec<String> {
        let context = Context::new("web", Some("fix"));
        last_of(view, Some(&context), Overflow::Split).into_iter().map(|page| page.text).collect()
    }

    #[test]
    fn the_final_output_includes_status_answer_context_and_resume_line() {
        assert_eq!(texts(&view("Fixed.", None)), ["done · codex · 5s\n\nFixed.\n\nctx: web @fix\ncodex resume t-1"]);
        let failed = &texts(&view("", Some("codex failed (rc=1).\nno credit")))[0];
        assert!(failed.starts_with("error · codex") && failed.contains("no credit"), "{failed}");
        assert!(failed.ends_with("codex resume t-1"));
    }

    #[test]
    fn cancelled_and_stopped_runs_say_so_and_keep_the_resume_line() {
        let cancelled = &texts(&view("", Some("cancelled")))[0];
        assert_eq!(cancelled, "cancelled · codex · 5s\n\nctx: web @fix\ncodex resume t-1");
        let mut stopped = view("half", Some("cancelled"));
        stopped.progress.set_stopped();
        let stopped = &texts(&stopped)[0];
        assert!(stopped.starts_with("stopped") && stopped.contains("half") && stopped.contains("Reply to go on"));
        let interrupted = interrupted("codex", Some("`codex resume t-1`".into()), None).text;
        assert!(interrupted.starts_with("stopped · codex") && interrupted.ends_with("codex resume t-1"));
    }

    #[test]
    fn a_run_that_was_stopped_before_its_thread_had_a_name_is_to_be_sent_again() {
        let lost = interrupted("codex", None, None).text;
        assert!(lost.contains("Send it again") && !lost.contains("Reply"), "{lost}");
        let mut unnamed = Progress::new(ENGINE);
        unnamed.set_stopped();
        let unnamed = &texts(&View { progress: unnamed, elapsed: Duration::ZERO })[0];
        assert!(unnamed.contains("Send it again"), "{unnamed}");
    }

    #[test]
    fn the_first_sign_has_a_button_and_says_whether_it_waits() {
        let sign = first_sign(PromptId(7), &ENGINE, None, false);
        assert_eq!(sign.rendered.text, "starting · codex · 0s");
        assert_eq!(Press::of(&sign.keyboard.inline_keyboard[0][0].callback_data), Some(Press::Cancel(PromptId(7))));
        assert!(first_sign(PromptId(7), &ENGINE, None, true).rendered.text.starts_with("queued"));
    }

    #[test]
    fn what_was_said_can_be_read_back_from_the_message() {
        let text = &texts(&view("ok", None))[0];
        assert_eq!(Context::in_text(text), Some(Context::new("web", Some("fix"))));
        assert_eq!(engines::codecs().extract_resume(text), Some(ResumeToken::new("codex", "t-1")));
    }
}
