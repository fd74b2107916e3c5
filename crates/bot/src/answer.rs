//! One answer: the conversation for the model, rounds of tool calls, and a text at the end (section 12).

use std::sync::Arc;

use folkmoot_clients::PeerError;
use folkmoot_clients::llm::{self, Completion, Content, Message, Part, Request, ToolCall};
use serde_json::json;

use crate::context::{self, Budget, Said};
use crate::images::seen::Image;
use crate::images::{Images, extract, format};
use crate::settings::{ImageFormat, Settings};
use crate::speaker::Speaker;
use crate::status::Status;
use crate::tokens;
use crate::tools::desk::Means;
use crate::tools::rounds::{Rounds, Stop};
use crate::tools::{Desk, Toolbox};

/// The question and this many messages before it may show images.
const MESSAGES_WITH_IMAGES: usize = 5;
const MAX_IMAGES: usize = 8;
/// More calls than this in one round are refused.
const MAX_CALLS: usize = 32;

/// Makes answers.
pub struct Answerer {
    pub settings: Arc<Settings>,
    pub means: Arc<Means>,
    pub toolbox: Toolbox,
    pub images: Images,
    pub status: Arc<Status>,
}

/// Where an answer is wanted.
pub struct Scene<'a> {
    pub channel_uid: &'a str,
    pub channel_name: &'a str,
    pub username: &'a str,
    pub nick: &'a str,
}

/// How many images one request may still show.
struct Room {
    images: usize,
    text_bytes: usize,
}

impl Room {
    fn new(settings: &Settings) -> Self {
        // An image inside a text costs tokens like text; half of the budget is for words.
        let text_bytes = match settings.image_format {
            ImageFormat::Openai => usize::MAX,
            ImageFormat::Deepseek => settings.limits.context_window_token_limit as usize / 2,
        };
        Self { images: MAX_IMAGES, text_bytes }
    }

    fn take(&mut self, image: &Image) -> bool {
        let text_bytes = image.bytes.len().div_ceil(3) * 4;
        let fits = text_bytes <= self.text_bytes;
        if fits {
            self.images -= 1;
            self.text_bytes -= text_bytes;
        }
        fits
    }
}

impl Answerer {
    /// The text that answers the last message of a conversation; shown while it grows.
    pub async fn answer(&self, scene: Scene<'_>, said: &[Said], speaker: &mut Speaker) -> Result<String, PeerError> {
        let messages = self.conversation(&scene, said).await;
        let desk = Desk { means: self.means.clone(), channel_uid: scene.channel_uid.to_owned() };
        match self.converse(&desk, messages.clone(), speaker).await {
            // Models without eyes, and formats they do not know, are refused as a whole.
            Err(PeerError::Refused { status, .. }) if shows_images(&messages) => {
                tracing::warn!(status, "the model refused a request with images; asking without them");
                self.converse(&desk, without_images(messages), speaker).await
            }
            result => result,
        }
    }

    async fn conversation(&self, scene: &Scene<'_>, said: &[Said]) -> Vec<Message> {
        let mut messages = vec![Message::system(format!(
            "{}\n\nYou are {} (@{}) in the channel \"{}\". The messages of others begin with their names; yours do not.",
            self.settings.system_prompt, scene.nick, scene.username, scene.channel_name
        ))];
        let mut room = Room::new(&self.settings);
        let first_with_images = said.len().saturating_sub(MESSAGES_WITH_IMAGES + 1);
        for (at, one) in said.iter().enumerate() {
            if one.is_own {
                messages.push(Message::Assistant { content: Some(one.text.clone()), tool_calls: Vec::new() });
                continue;
            }
            let images = if at >= first_with_images { self.look(&one.text, &mut room).await } else { Vec::new() };
            let shown: Vec<_> = images.iter().map(|(url, image)| format::Shown { url, image }).collect();
            let text = format!("{}: {}", one.nick, one.text);
            let content = format::content(&text, &shown, self.settings.image_format);
            messages.push(Message::User { content, name: None });
        }
        messages
    }

    /// The images of a message, as long as there is room for more.
    async fn look<'a>(&self, text: &'a str, room: &mut Room) -> Vec<(&'a str, Arc<Image>)> {
        let mut images = Vec::new();
        for url in extract::urls(text) {
            if room.images == 0 {
                break;
            }
            match self.images.look_at(url).await {
                Ok(image) if room.take(&image) => images.push((url, image)),
                Ok(_) => tracing::info!("an image is too large to stand inside a text; its address stays"),
                Err(why) => tracing::info!(why, "an image is not shown; its address stays"),
            }
        }
        images
    }

    async fn converse(
        &self,
        desk: &Desk,
        mut messages: Vec<Message>,
        speaker: &mut Speaker,
    ) -> Result<String, PeerError> {
        let mut rounds = Rounds::new(&self.settings.limits);
        let mut stopped = None;
        loop {
            let request = self.request(&messages, stopped.is_some()).await;
            let model = &self.means.model;
            let mut completion = model.stream(&request, speaker).await?;
            if completion.tool_calls.is_empty() {
                return Ok(completion.content.unwrap_or_default());
            }
            if let Some(stop) = stopped {
                let text = completion.content.filter(|text| !text.trim().is_empty());
                return Ok(text.unwrap_or_else(|| format!("I stopped, because {stop}.")));
            }
            name_calls(&mut completion);
            stopped = self.round(desk, completion, &mut messages, &mut rounds).await.err();
            if let Some(stop) = &stopped {
                tracing::warn!(%stop, "no more tools for this answer");
            }
        }
    }

    /// The request for one round; when tools are over, they are still named but may not be called.
    async fn request(&self, messages: &[Message], no_more_tools: bool) -> Request {
        let limits = &self.settings.limits;
        let tokens = limits.context_window_token_limit as usize;
        let budget = Budget { messages: limits.openai_limit as usize, tokens };
        let mut request = Request { tools: self.toolbox.serialize(), ..Request::default() };
        if no_more_tools {
            request.extra.insert("tool_choice".to_owned(), json!("none"));
        }
        let whole = messages.to_vec();
        let fitted = self.means.workers.compute(move || context::fit(whole, budget, tokens::count)).await;
        // Counting took too long: bytes are a safe bound.
        request.messages = fitted.unwrap_or_else(|_| context::fit(messages.to_vec(), budget, tokens::at_most));
        request
    }

    /// Makes the calls of one round and adds them and their results to the conversation.
    async fn round(
        &self,
        desk: &Desk,
        completion: Completion,
        messages: &mut Vec<Message>,
        rounds: &mut Rounds,
    ) -> Result<(), Stop> {
        rounds.round()?;
        messages.push(completion.to_message());
        let mut stopped = None;
        for (at, call) in completion.tool_calls.iter().enumerate() {
            let content = match &stopped {
                None if at < MAX_CALLS => self.call(desk, call, rounds).await.unwrap_or_else(|(content, stop)| {
                    stopped = Some(stop);
                    content
                }),
                None => format!("error: not called, only {MAX_CALLS} calls are made at once"),
                Some(stop) => format!("error: not called, because {stop}"),
            };
            messages.push(Message::Tool { tool_call_id: call.id.clone(), content });
        }
        stopped.map_or(Ok(()), Err)
    }

    /// One call; the result for the model, and why it was the last one.
    async fn call(&self, desk: &Desk, call: &ToolCall, rounds: &mut Rounds) -> Result<String, (String, Stop)> {
        let llm::FunctionCall { name, arguments } = &call.function;
        rounds.call(name, arguments).map_err(|stop| (format!("error: not called, because {stop}"), stop))?;
        self.status.count(|counters| counters.tool_calls += 1);
        let result = self.toolbox.call(desk.clone(), name, arguments).await;
        tracing::info!(tool = name, succeeded = result.is_ok(), "tool call");
        let succeeded = result.is_ok();
        let content = result.unwrap_or_else(|error| format!("error: {error}"));
        match rounds.called(succeeded) {
            Ok(()) => Ok(content),
            Err(stop) => Err((content, stop)),
        }
    }
}

/// Some endpoints leave ids out; a result must name its call all the same.
fn name_calls(completion: &mut Completion) {
    for (at, call) in completion.tool_calls.iter_mut().enumerate() {
        if call.id.is_empty() {
            call.id = format!("call_{at}");
        }
    }
}

fn shows_images(messages: &[Message]) -> bool {
    messages.iter().any(|message| matches!(message, Message::User { content: Content::Parts(_), .. }))
}

fn without_images(messages: Vec<Message>) -> Vec<Message> {
    let plain = |message| match message {
        Message::User { content: Content::Parts(parts), name } => {
            let texts = parts.into_iter().map(|part| match part {
                Part::Text { text } => strip_inlined(&text),
                Part::ImageUrl { .. } => "[an image that you cannot see]".to_owned(),
            });
            let text = texts.collect::<Vec<_>>().join(" ");
            Message::User { content: Content::Text(text), name }
        }
        other => other,
    };
    messages.into_iter().map(plain).collect()
}

/// A text without the images that stand inside it.
fn strip_inlined(text: &str) -> String {
    let mut pieces = text.split("[image: data:");
    let mut result = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        result.push_str("[an image that you cannot see]");
        result.push_str(piece.split_once(']').map_or("", |(_, after)| after));
    }
    result
}
