//! From the pieces of a prompt to a run: which thread, which engine, which folder, and the files and words that came along.

use std::path::PathBuf;

use folkmoot_engines::engine::{Engine, Mode};
use folkmoot_engines::engines;
use folkmoot_engines::event::{EngineId, ResumeToken};
use folkmoot_runs::router::{Defaults, Target};

use crate::context::{Context, Hints};
use crate::directives::{self, Directives};
use crate::gather::{Refusal, gather, words};
use crate::ids::PromptId;
use crate::journal::{JournalError, Preference, Prompt, PromptState, Rows, Scope};
use crate::piece::{self, Piece, Reply};
use crate::sessions::{ChatSession, session, thread_context};
use crate::settings::Sessions;
use crate::shared::Shared;
use crate::turns::{Turn, TurnLine};
use crate::worktree::{self, Missing};

/// A prompt that can be run.
#[derive(Clone)]
pub struct Ready {
    pub text: String,
    pub engine: &'static dyn Engine,
    pub resume: Option<ResumeToken>,
    /// The prompt whose thread it continues, as long as that has no name.
    pub after: Option<PromptId>,
    pub context: Option<Context>,
    pub folder: PathBuf,
    pub mode: Mode,
    pub model: Option<String>,
    pub reasoning: Option<String>,
    /// What should have come along and did not, in words.
    pub missing: Vec<String>,
}

/// What becomes of a prompt.
pub enum Prepared {
    Run(Box<Ready>),
    /// There is nothing to run, only something to say.
    Say(String),
}

/// `turn` is that in the prompt's place; the one in its thread comes back, to be kept until the prompt is handed over.
pub async fn prepare(shared: &Shared, prompt: &Prompt, mut turn: Turn) -> (Prepared, Turn) {
    turn.come().await;
    let prepared = attempt(shared, prompt, &mut turn).await.unwrap_or_else(Prepared::Say);
    // Also one that is refused lets nobody pass those before it.
    turn.come().await;
    (prepared, turn)
}

async fn attempt(shared: &Shared, prompt: &Prompt, turn: &mut Turn) -> Result<Prepared, Refusal> {
    let plan = &prompt.plan;
    let text = piece::joined(&plan.pieces);
    let reply = plan.pieces.iter().find_map(|piece| piece.reply.clone());
    let remembered = remember(shared, prompt, &text, reply.clone()).await.map_err(|error| error.to_string())?;
    let mut place = place(shared, prompt, &text, reply.as_ref(), &remembered).await?;
    let engine = engine(shared, &remembered, &place);
    // From here on only its own thread waits for it: a worktree, a download or a transcription may take long.
    *turn = shared.turns.queue(line(shared, prompt, &remembered, &engine));
    // A thread that goes on works where it was begun, unless the prompt or its chat names another place.
    let early = match place.context {
        None if goes_on(shared, &remembered) => {
            turn.come().await;
            let thread = thread(shared, prompt, &remembered, engine.clone(), None).await.map_err(words)?;
            place.context.clone_from(&thread.context);
            Some(thread)
        }
        _ => None,
    };
    let folder = match &place.context {
        Some(context) => worktree::folder(&shared.settings.projects, context, Missing::Refuse).await.map_err(words)?,
        None => shared.settings.start_folder.clone(),
    };
    let gathered = gather(shared, &plan.pieces, &folder).await;
    let written = &place.directives.prompt;
    if !piece::says_something(&plan.pieces) || gathered.is_all_missing(written) {
        return Ok(Prepared::Say(gathered.report(place.context.as_ref())));
    }
    let text = gathered.complete(&[quotes(shared, &plan.pieces), written.clone()].concat());
    let named = remembered.resume.is_some() || remembered.after.is_some();
    if text.trim().is_empty() && !named {
        // A tap on the menu sends the bare word.
        let word = plan.pieces.first().map_or("", |piece| piece.text.trim());
        return Ok(Prepared::Say(format!("say what to do in the same message: `{word} fix the test`")));
    }
    turn.come().await;
    let thread = match early {
        Some(thread) => thread,
        None => thread(shared, prompt, &remembered, engine, place.context.clone()).await.map_err(words)?,
    };
    let engine =
        engines::find(thread.engine.as_str()).ok_or_else(|| format!("there is no engine `{}`", thread.engine))?;
    let Thread { resume, after, model, reasoning, .. } = thread;
    let (context, missing, mode) = (place.context, gathered.missing, shared.modes.of(&engine.id()).await);
    let ready = Ready { text, engine, resume, after, context, folder, mode, model, reasoning, missing };
    Ok(Prepared::Run(Box::new(ready)))
}

/// What others wrote and the prompt replies to; a message that names a thread is its name and no quotation.
fn quotes(shared: &Shared, pieces: &[Piece]) -> String {
    let names_thread = |reply: &&Reply| shared.router.resume("", Some(&reply.text)).is_some();
    let quoted = piece::replies(pieces).filter(|reply| !names_thread(reply)).filter_map(Reply::quotation);
    quoted.map(|quotation| format!("{quotation}\n\n")).collect()
}

/// What the journal knows about the thread that a prompt continues, and about where it was written.
struct Remembered {
    resume: Option<ResumeToken>,
    after: Option<PromptId>,
    thread_context: Option<Context>,
    bound: Option<Context>,
    topic_engine: Option<EngineId>,
    chat_engine: Option<EngineId>,
}

async fn remember(
    shared: &Shared,
    prompt: &Prompt,
    text: &str,
    reply: Option<Reply>,
) -> Result<Remembered, JournalError> {
    let named = shared.router.resume(text, None);
    let replied_line = reply.as_ref().and_then(|reply| shared.router.resume("", Some(&reply.text)));
    let (chat, place) = (prompt.chat, prompt.place());
    shared
        .journal
        .transact(move |rows| {
            let replied = match reply {
                Some(reply) => {
                    rows.outgoing_at(chat, reply.message)?.and_then(|outgoing| outgoing.prompt).or(reply.prompt)
                }
                None => None,
            };
            let replied = replied.map(|id| rows.prompt(id)).transpose()?.flatten().filter(|prompt| prompt.chat == chat);
            let leader = replied.as_ref().map(|prompt| prompt.plan.clone());
            // What is stored says the same as the resume line of our message, but an answer may quote others.
            let resume = named.or_else(|| leader.as_ref()?.resume.clone()).or(replied_line);
            let open = replied.filter(|prompt| prompt.state != PromptState::Done).map(|prompt| prompt.id);
            let after = open.filter(|_| resume.is_none());
            let thread_context = match &resume {
                Some(token) => thread_context(rows, token)?,
                None => after.and(leader).and_then(|plan| plan.context),
            };
            let engine = |scope| -> Result<Option<EngineId>, JournalError> {
                Ok(rows.preference(scope, &Preference::Engine)?.map(EngineId::from))
            };
            let topic_engine = if place.topic.is_some() { engine(place)? } else { None };
            Ok(Remembered {
                topic_engine,
                chat_engine: engine(Scope::chat(chat))?,
                bound: nearest(rows, place, &Preference::Context)?.and_then(|value| serde_json::from_str(&value).ok()),
                resume,
                after,
                thread_context,
            })
        })
        .await
}

/// A preference of the topic, else of the chat.
pub fn nearest(rows: &Rows<'_>, place: Scope, preference: &Preference) -> Result<Option<String>, JournalError> {
    match place.topic {
        Some(_) => Ok(rows.preference(place, preference)?.or(rows.preference(Scope::chat(place.chat), preference)?)),
        None => rows.preference(place, preference),
    }
}

/// Where a prompt works, and what it says beside that.
struct Place {
    directives: Directives,
    context: Option<Context>,
}

async fn place(
    shared: &Shared,
    prompt: &Prompt,
    text: &str,
    reply: Option<&Reply>,
    remembered: &Remembered,
) -> Result<Place, Refusal> {
    let projects = &shared.settings.projects;
    let names = shared.names();
    let mut directives = directives::parse(text, &names, true).map_err(words)?;
    let hints = |directives: &Directives| Hints {
        // What people write may only look like our line.
        line: Context::in_text(text)
            .filter(|context| projects.find(&context.project).is_some())
            .or_else(|| Context::in_text(&reply?.text)),
        thread: remembered.thread_context.clone(),
        project: directives.project.clone(),
        branch: directives.branch.clone(),
        bound: remembered.bound.clone(),
        chat: projects.of_chat(prompt.chat).map(str::to_owned),
    };
    if let Some(branch) = directives.branch.clone() {
        let project = hints(&directives).context().and_then(|context| projects.find(&context.project));
        let is_branch = match project {
            Some((_, project)) => worktree::has_branch(project, &branch).await,
            None => false,
        };
        if !is_branch {
            // `@somebody please` is addressed to a person, not to a branch.
            directives = directives::parse(text, &names, false).map_err(words)?;
        }
    }
    Ok(Place { context: hints(&directives).context(), directives })
}

struct Thread {
    engine: EngineId,
    resume: Option<ResumeToken>,
    after: Option<PromptId>,
    /// Where it works, of one that goes on by itself.
    context: Option<Context>,
    model: Option<String>,
    reasoning: Option<String>,
}

/// The engine of the thread that was named, else the nearest default.
fn engine(shared: &Shared, remembered: &Remembered, place: &Place) -> EngineId {
    let project = place.context.as_ref().and_then(|context| shared.settings.projects.find(&context.project));
    let defaults = Defaults {
        directive: place.directives.engine.clone(),
        topic: remembered.topic_engine.clone(),
        chat: remembered.chat_engine.clone(),
        project: project.and_then(|(_, project)| project.default_engine.as_deref().map(EngineId::from)),
    };
    match (&remembered.resume, shared.router.target("", None, &defaults)) {
        (Some(token), _) => token.engine.clone(),
        (None, Target::Thread(token)) => token.engine,
        (None, Target::New(engine)) => engine,
    }
}

/// Whether a prompt goes on with the thread of its chat or topic.
fn goes_on(shared: &Shared, remembered: &Remembered) -> bool {
    shared.settings.sessions == Sessions::Chat && remembered.resume.is_none() && remembered.after.is_none()
}

/// Behind whom a prompt waits.
fn line(shared: &Shared, prompt: &Prompt, remembered: &Remembered, engine: &EngineId) -> TurnLine {
    match (&remembered.resume, remembered.after) {
        (Some(token), _) => TurnLine::Thread(token.thread_key().to_string()),
        (None, Some(leader)) => TurnLine::After(leader),
        _ if goes_on(shared, remembered) => TurnLine::Session(prompt.session_scope(), engine.to_string()),
        _ => TurnLine::After(prompt.id),
    }
}

/// The thread that was named, else the one that goes on here (in `context`, where one is named), else a new one.
async fn thread(
    shared: &Shared,
    prompt: &Prompt,
    remembered: &Remembered,
    engine: EngineId,
    context: Option<Context>,
) -> Result<Thread, JournalError> {
    let goes_on = goes_on(shared, remembered);
    let (prompt, named, after) = (prompt.clone(), remembered.resume.clone(), remembered.after);
    shared
        .journal
        .transact(move |rows| {
            let after_engine = after.map(|id| rows.prompt(id)).transpose()?.flatten();
            let engine = after_engine.and_then(|leader| leader.plan.engine).unwrap_or(engine);
            let session =
                if goes_on { session(rows, &prompt, &engine, context.as_ref())? } else { ChatSession::default() };
            let scope = prompt.place();
            Ok(Thread {
                model: nearest(rows, scope, &Preference::Model(engine.to_string()))?,
                reasoning: nearest(rows, scope, &Preference::Reasoning(engine.to_string()))?,
                resume: named.or(session.resume),
                after: after.or(session.after),
                context: session.context,
                engine,
            })
        })
        .await
}
