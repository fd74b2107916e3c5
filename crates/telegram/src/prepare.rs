//! From the pieces of a prompt to a run: which thread, which engine, which folder, and the files and words that came along.

use std::path::PathBuf;

use folkmoot_engines::engine::{Engine, Mode};
use folkmoot_engines::engines;
use folkmoot_engines::event::{EngineId, ResumeToken};
use folkmoot_engines::router::{Defaults, Target};

use crate::context::{Context, Hints};
use crate::directives::{self, Directives};
use crate::journal::{JournalError, Preference, Prompt, PromptId, PromptState, Rows, Scope};
use crate::patience::{self, patiently};
use crate::piece::{self, Piece, Reply};
use crate::plan::{self, Plan};
use crate::settings::Sessions;
use crate::shared::Shared;
use crate::turns::{Line, Turn};
use crate::worktree::{self, Missing};
use crate::{api, files};

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

/// Why a prompt is not run, in words for the chat.
type Refusal = String;

/// `turn` is that in the prompt's place; the one in its thread comes back, to be kept until the prompt is handed over.
pub async fn prepare(shared: &Shared, prompt: &Prompt, mut turn: Turn) -> (Prepared, Turn) {
    turn.come().await;
    let prepared = attempt(shared, prompt, &mut turn).await.unwrap_or_else(Prepared::Say);
    // Also one that is refused lets nobody pass those before it.
    turn.come().await;
    (prepared, turn)
}

async fn attempt(shared: &Shared, prompt: &Prompt, turn: &mut Turn) -> Result<Prepared, Refusal> {
    let plan = Plan::of(prompt);
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
    let text = gathered.complete(written);
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

fn words(error: impl std::fmt::Display) -> Refusal {
    error.to_string()
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
    let (chat, place) = (prompt.chat, plan::place_of(prompt));
    shared
        .journal
        .transact(move |rows| {
            let replied = match reply {
                Some(reply) => rows.slip_at(chat, reply.message)?.and_then(|slip| slip.prompt).or(reply.prompt),
                None => None,
            };
            let replied = replied.map(|id| rows.prompt(id)).transpose()?.flatten().filter(|prompt| prompt.chat == chat);
            let leader = replied.as_ref().map(Plan::of);
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

/// The name under which the context of a thread is kept.
fn thread_name(token: &ResumeToken) -> String {
    format!("thread:{}", token.thread_key())
}

fn thread_context(rows: &Rows<'_>, token: &ResumeToken) -> Result<Option<Context>, JournalError> {
    Ok(rows.value(&thread_name(token))?.and_then(|value| serde_json::from_str(&value).ok()))
}

/// Keeps where a thread works, so that a bare resume line finds back to it.
pub fn keep_thread_context(rows: &mut Rows<'_>, token: &ResumeToken, context: &Context) -> Result<(), JournalError> {
    rows.set_value(&thread_name(token), &serde_json::to_string(context)?)
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
fn line(shared: &Shared, prompt: &Prompt, remembered: &Remembered, engine: &EngineId) -> Line {
    match (&remembered.resume, remembered.after) {
        (Some(token), _) => Line::Thread(token.thread_key().to_string()),
        (None, Some(leader)) => Line::After(leader),
        _ if goes_on(shared, remembered) => Line::Session(plan::session_scope(prompt), engine.to_string()),
        _ => Line::After(prompt.id),
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
            let engine = after_engine.and_then(|leader| Plan::of(&leader).engine).unwrap_or(engine);
            let session = if goes_on { session(rows, &prompt, &engine, context.as_ref())? } else { Session::default() };
            let scope = plan::place_of(&prompt);
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

#[derive(Debug, Default, PartialEq)]
struct Session {
    resume: Option<ResumeToken>,
    after: Option<PromptId>,
    context: Option<Context>,
}

/// The thread of this chat or topic that a message without a reply goes on with: the last one of its engine, or the last in
/// the place that was named. One that is just beginning counts too.
fn session(
    rows: &Rows<'_>,
    prompt: &Prompt,
    engine: &EngineId,
    named: Option<&Context>,
) -> Result<Session, JournalError> {
    let scope = plan::session_scope(prompt);
    let kept = rows.preference(scope, &Preference::session(engine, named))?;
    let kept = kept.map(|value| ResumeToken::new(engine.clone(), value));
    let context = kept.as_ref().map(|token| thread_context(rows, token)).transpose()?.flatten();
    let since = rows.sessions_since(scope)?;
    let begins = |open: &Prompt, plan: &Plan| {
        let here = open.id > since && open.id < prompt.id && plan::session_scope(open) == scope;
        here && plan.engine.as_ref() == Some(engine)
            && match (named, &kept) {
                (Some(_), None) => plan.context.as_ref() == named,
                (Some(_), Some(_)) => false,
                (None, None) => true,
                // It was begun in another place since.
                (None, Some(_)) => plan.resume.is_none() && plan.context != context,
            }
    };
    let open = rows.open_prompts()?.into_iter().map(|open| (Plan::of(&open), open));
    match open.rev().find(|(plan, open)| begins(open, plan)) {
        Some((plan, leader)) => Ok(Session { resume: None, after: Some(leader.id), context: plan.context }),
        None => Ok(Session { resume: kept, after: None, context }),
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

/// What came along with the words.
#[derive(Default)]
struct Gathered {
    spoken: Vec<String>,
    /// Paths within the project, with their sizes.
    files: Vec<(PathBuf, usize)>,
    /// Why something is not among them.
    missing: Vec<String>,
}

impl Gathered {
    fn complete(&self, written: &str) -> String {
        let spoken = self.spoken.iter().map(|words| format!("(voice transcribed) {words}"));
        let files: Vec<String> = self.files.iter().map(|(path, _)| path.display().to_string()).collect();
        let files = match &files[..] {
            [] => None,
            [one] => Some(format!("[uploaded file: {one}]")),
            more => Some(format!("[uploaded files]\n{}", more.join("\n"))),
        };
        let missing = self.missing.iter().map(|why| format!("[missing: {}]", first_line(why)));
        let written = Some(written.to_owned()).filter(|text| !text.trim().is_empty());
        written.into_iter().chain(spoken).chain(files).chain(missing).collect::<Vec<_>>().join("\n\n")
    }

    /// Whether nothing is left that says what to do.
    fn is_all_missing(&self, written: &str) -> bool {
        !self.missing.is_empty() && self.spoken.is_empty() && written.trim().is_empty()
    }

    /// What is said where nothing is run.
    fn report(&self, context: Option<&Context>) -> String {
        let saved = self.files.iter().map(|(path, bytes)| {
            let place = context.map_or_else(String::new, |context| format!(" in `{}`", context.name()));
            format!("saved `{}`{place} ({})", path.display(), files::size(*bytes))
        });
        saved.chain(self.missing.iter().cloned()).collect::<Vec<_>>().join("\n\n")
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Fetches every file of the pieces: what is spoken is written down, the rest is stored in the folder.
async fn gather(shared: &Shared, pieces: &[Piece], folder: &std::path::Path) -> Gathered {
    let mut gathered = Gathered::default();
    for file in pieces.iter().filter_map(|piece| piece.file.as_ref()) {
        let fetched = match file.spoken {
            true => shared.written_down(file).await.map(|said| gathered.spoken.push(said)),
            false => store(shared, file, folder).await.map(|stored| gathered.files.push(stored)),
        };
        gathered.missing.extend(fetched.err());
    }
    gathered
}

async fn store(shared: &Shared, file: &piece::FileRef, folder: &std::path::Path) -> Result<(PathBuf, usize), Refusal> {
    let content = shared.fetch(file).await?;
    let size = content.len();
    let (folder, uploads, name) = (folder.to_owned(), shared.settings.uploads.clone(), file.name.clone());
    let stored = tokio::task::spawn_blocking(move || files::store_upload(&folder, &uploads, &name, &content));
    Ok((stored.await.map_err(words)?.map_err(words)?, size))
}

impl Shared {
    /// The content of a file at Telegram.
    pub async fn fetch(&self, file: &piece::FileRef) -> Result<Vec<u8>, Refusal> {
        let too_large = || format!("`{}` is too large: Telegram gives bots at most 20 MB", file.name);
        if file.size.is_some_and(|size| size > api::MOST_DOWNLOAD) {
            return Err(too_large());
        }
        let fetched = patiently(patience::MINUTES, patience::unless_refused, || async {
            // Where a file is may have changed since the last attempt.
            match self.bot.get_file(&file.id).await?.file_path {
                Some(path) => self.bot.download(&path, api::MOST_DOWNLOAD).await.map(Some),
                None => Ok(None),
            }
        });
        match fetched.await {
            Ok(content) => content.ok_or_else(too_large),
            Err(error) => Err(format!("`{}` could not be fetched: {error}", file.name)),
        }
    }

    /// What was said in a voice note.
    async fn written_down(&self, file: &piece::FileRef) -> Result<String, Refusal> {
        let Some(speech) = &self.settings.speech else {
            return Err("voice notes cannot be written down here\n\nhint: set `stt.api_key`, or `stt.base_url` to an \
                        endpoint that needs none"
                .to_owned());
        };
        let content = self.fetch(file).await?;
        let listen = || speech.transcribe(&file.name, content.clone().into());
        let said = patiently(patience::MINUTES, patience::unless_hopeless, listen).await;
        let said = said.map_err(|error| format!("the voice note could not be written down: {error}"))?;
        if said.text.trim().is_empty() {
            return Err("nothing was understood in the voice note".to_owned());
        }
        Ok(said.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{ChatId, MessageId};
    use crate::journal::{Journal, NewPrompt};

    const CODEX: EngineId = EngineId::new("codex");

    /// A prompt in the one chat, as the desk has it.
    fn add(rows: &mut Rows<'_>, place: Option<&str>) -> Prompt {
        let context = place.map(|place| Context::new(place, None));
        let plan = Plan { engine: Some(CODEX), context, ..Plan::default() }.to_value();
        let (message, text, state) = (MessageId(1), String::new(), PromptState::Running);
        let new = NewPrompt { chat: ChatId(1), topic: None, sender: None, message, state, thread: None, text, plan };
        let id = rows.add_prompt(&new).unwrap();
        rows.prompt(id).unwrap().unwrap()
    }

    /// Its thread gets a name, and it ends.
    fn name(rows: &mut Rows<'_>, prompt: &Prompt, value: &str) {
        let (token, context) = (ResumeToken::new(CODEX, value), Plan::of(prompt).context);
        if let Some(context) = &context {
            keep_thread_context(rows, &token, context).unwrap();
        }
        keep_session(rows, plan::session_scope(prompt), &token, context.as_ref()).unwrap();
        rows.finish_prompt(prompt.id).unwrap();
    }

    fn goes_on(
        rows: &Rows<'_>,
        prompt: &Prompt,
        named: Option<&str>,
    ) -> (Option<String>, Option<PromptId>, Option<String>) {
        let named = named.map(|name| Context::new(name, None));
        let Session { resume, after, context } = session(rows, prompt, &CODEX, named.as_ref()).unwrap();
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
            assert_eq!(rows.forget_sessions(plan::session_scope(&next))?, 3);
            assert_eq!(goes_on(rows, &next, Some("one")), (None, None, None));
            Ok(())
        };
        journal.transact(work).await.unwrap();
    }
}
