//! Pieces: what a prompt is put together from, as it is kept until all of them are there.

use serde::{Deserialize, Serialize};

use crate::api::{Attachment, Message, MessageId};
use crate::ids::PromptId;
use crate::press::Press;
use crate::text;

/// Telegram's clients cut what is longer than a message here or a little before, in UTF-16 units.
const CUT_BY_CLIENT: usize = 4000;

/// One message of a sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    pub message: MessageId,
    /// When it was written, in seconds since 1970.
    #[serde(default)]
    pub date: i64,
    #[serde(default)]
    pub text: String,
    #[serde(default)]
    pub forwarded: bool,
    /// Messages with the same name are one album.
    #[serde(default)]
    pub album: Option<String>,
    #[serde(default)]
    pub file: Option<FileRef>,
    #[serde(default)]
    pub reply: Option<Reply>,
}

/// The message that was replied to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    pub message: MessageId,
    #[serde(default)]
    pub text: String,
    /// The prompt it speaks of, as its button says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<PromptId>,
    /// What a person wrote in it, or the part of that which was chosen; what the bot wrote is known to its thread.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub theirs: String,
    /// The file that a person sent with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<FileRef>,
}

impl Reply {
    fn of(message: &Message) -> Option<Self> {
        let target = message.replied_to()?;
        let text = target.words().unwrap_or_default().to_owned();
        let of_person = target.from.as_ref().is_some_and(|from| !from.is_bot);
        let chosen = message.quote.as_ref().map(|quote| quote.text.clone());
        Some(Self {
            message: target.message_id,
            prompt: target.button_data().and_then(Press::of).and_then(Press::cancelled),
            theirs: if of_person { chosen.unwrap_or_else(|| text.clone()).trim().to_owned() } else { String::new() },
            file: file_of(target).filter(|_| of_person),
            text,
        })
    }

    /// What a person wrote, as a quotation.
    pub fn quotation(&self) -> Option<String> {
        let lines: Vec<String> = self.theirs.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
        (!lines.is_empty()).then(|| lines.join("\n"))
    }
}

/// A file that is still at Telegram.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    pub id: String,
    pub name: String,
    pub spoken: bool,
    pub size: Option<u64>,
}

impl Piece {
    /// What a message contributes; `None` when there is nothing to give to an engine.
    pub fn of(message: &Message) -> Option<Self> {
        let text = message.words().unwrap_or_default().to_owned();
        let file = file_of(message);
        if text.trim().is_empty() && file.is_none() {
            return None;
        }
        let reply = Reply::of(message);
        Some(Self {
            message: message.message_id,
            date: message.date,
            text,
            forwarded: message.is_forwarded(),
            album: message.media_group_id.clone(),
            file,
            reply,
        })
    }

    pub fn is_cut_by_client(&self) -> bool {
        text::utf16(&self.text) >= CUT_BY_CLIENT
    }
}

/// The file of a message; of a photo the largest size.
fn file_of(message: &Message) -> Option<FileRef> {
    let stamp = message.message_id;
    let file = |attachment: &Attachment, fallback: String, spoken: bool| FileRef {
        id: attachment.file_id.clone(),
        name: attachment.file_name.clone().filter(|name| !name.trim().is_empty()).unwrap_or(fallback),
        spoken,
        size: attachment.file_size,
    };
    if let Some(voice) = &message.voice {
        return Some(file(voice, format!("voice_{stamp}.ogg"), true));
    }
    if let Some(note) = &message.video_note {
        return Some(file(note, format!("video_{stamp}.mp4"), true));
    }
    if let Some(photo) = message.photo.iter().max_by_key(|photo| photo.width.unwrap_or(0)) {
        return Some(file(photo, format!("photo_{stamp}.jpg"), false));
    }
    let others = [
        (&message.document, "document"),
        (&message.video, "video"),
        (&message.audio, "audio"),
        (&message.animation, "animation"),
    ];
    others.into_iter().find_map(|(attachment, kind)| {
        attachment.as_ref().map(|attachment| file(attachment, format!("{kind}_{stamp}"), false))
    })
}

/// The texts of all pieces as one, in the order in which they were written; what is spoken comes from elsewhere.
pub fn joined(pieces: &[Piece]) -> String {
    let mut pieces: Vec<&Piece> = pieces.iter().filter(|piece| !piece.text.trim().is_empty()).collect();
    // A comment on something forwarded belongs before it, whichever the client sent first.
    pieces.sort_by_key(|piece| (piece.forwarded, piece.message));
    let mut text = String::new();
    let mut was_cut = false;
    for piece in pieces {
        if !text.is_empty() {
            text.push_str(if was_cut { "\n" } else { "\n\n" });
        }
        text.push_str(&piece.text);
        was_cut = piece.is_cut_by_client();
    }
    text
}

/// What the pieces reply to, each once; one that is a piece itself is there already.
pub fn replies(pieces: &[Piece]) -> impl Iterator<Item = &Reply> {
    let is_new = move |(at, reply): &(usize, &Reply)| {
        let before = pieces[..*at].iter().filter_map(|piece| piece.reply.as_ref());
        let known = before.map(|reply| reply.message).chain(pieces.iter().map(|piece| piece.message));
        !known.into_iter().any(|message| message == reply.message)
    };
    let all = pieces.iter().enumerate().filter_map(|(at, piece)| Some((at, piece.reply.as_ref()?)));
    all.filter(is_new).map(|(_, reply)| reply)
}

/// The files of the pieces, and of what they reply to.
pub fn files(pieces: &[Piece]) -> impl Iterator<Item = &FileRef> {
    let replied = replies(pieces).filter_map(|reply| reply.file.as_ref());
    pieces.iter().filter_map(|piece| piece.file.as_ref()).chain(replied)
}

/// Whether somebody said something, rather than only passing on what others said.
pub fn says_something(pieces: &[Piece]) -> bool {
    pieces.iter().any(|piece| !piece.forwarded && (!piece.text.trim().is_empty() || is_spoken(piece)))
}

fn is_spoken(piece: &Piece) -> bool {
    piece.file.as_ref().is_some_and(|file| file.spoken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn piece(value: serde_json::Value) -> Option<Piece> {
        let mut message = json!({"message_id": 5, "chat": {"id": 1}});
        message.as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        Piece::of(&serde_json::from_value(message).unwrap())
    }

    fn said(message: i64, text: &str, forwarded: bool) -> Piece {
        let (message, text) = (MessageId(message), text.into());
        Piece { message, date: 0, text, forwarded, album: None, file: None, reply: None }
    }

    #[test]
    fn a_message_without_words_and_files_is_no_piece() {
        assert_eq!(piece(json!({"new_chat_title": "x"})), None);
        assert_eq!(piece(json!({"text": "  "})), None);
    }

    #[test]
    fn of_a_photo_the_largest_size_is_taken_and_files_have_names() {
        let sizes =
            json!({"photo": [{"file_id": "s", "width": 90}, {"file_id": "l", "width": 1280}], "caption": "look"});
        let photo = piece(sizes).unwrap();
        assert_eq!((photo.text.as_str(), photo.file.unwrap().id.as_str()), ("look", "l"));
        let named = piece(json!({"document": {"file_id": "d", "file_name": "a.txt"}})).unwrap().file.unwrap();
        assert_eq!((named.name.as_str(), named.spoken), ("a.txt", false));
        let voice = piece(json!({"voice": {"file_id": "v"}})).unwrap().file.unwrap();
        assert_eq!((voice.name.as_str(), voice.spoken), ("voice_5.ogg", true));
    }

    #[test]
    fn pieces_join_in_the_order_in_which_they_were_written() {
        assert_eq!(joined(&[said(2, "b", false), said(1, "a", false)]), "a\n\nb");
        let long = "x".repeat(CUT_BY_CLIENT);
        assert_eq!(joined(&[said(1, &long, false), said(2, "rest", false)]), format!("{long}\nrest"), "a paste");
    }

    #[test]
    fn what_is_forwarded_follows_what_is_said_about_it_and_says_nothing_itself() {
        let pieces = [said(1, "theirs", true), said(2, "what is this?", false)];
        assert_eq!(joined(&pieces), "what is this?\n\ntheirs");
        assert!(says_something(&pieces) && !says_something(&pieces[..1]));
    }

    #[test]
    fn a_reply_to_what_a_person_wrote_or_sent_brings_it_along_and_one_to_the_bot_does_not() {
        let target = |bot: bool, more: serde_json::Value| {
            let mut target = json!({"message_id": 3, "chat": {"id": 1}, "from": {"id": 8, "is_bot": bot}});
            target.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            target
        };
        let asked = |target: serde_json::Value| piece(json!({"text": "why?", "reply_to_message": target})).unwrap();
        let theirs = asked(target(false, json!({"text": "it fails\n\nhere"})));
        assert_eq!(theirs.reply.as_ref().unwrap().quotation().unwrap(), "> it fails\n>\n> here");
        let photo = asked(target(false, json!({"photo": [{"file_id": "p"}]})));
        assert_eq!(photo.reply.as_ref().unwrap().quotation(), None);
        assert_eq!(files(std::slice::from_ref(&photo)).map(|file| file.id.as_str()).collect::<Vec<_>>(), ["p"]);
        let ours = asked(target(true, json!({"text": "done", "document": {"file_id": "d"}})));
        assert!(ours.reply.as_ref().unwrap().quotation().is_none() && files(&[ours]).next().is_none());
        let chosen = json!({"text": "why?", "quote": {"text": "here"}, "reply_to_message": target(false, json!({"text": "not here"}))});
        assert_eq!(piece(chosen).unwrap().reply.unwrap().quotation().unwrap(), "> here");
        assert_eq!(replies(&[theirs.clone(), theirs.clone()]).count(), 1, "once");
        let itself = Piece { message: MessageId(3), reply: None, ..theirs.clone() };
        assert_eq!(replies(&[itself, theirs]).count(), 0, "it is there already");
    }

    proptest! {
        #[test]
        fn no_piece_is_lost(texts in proptest::collection::vec("[a-z]{1,8}", 1..6)) {
            let pieces: Vec<Piece> = (1..).zip(&texts).map(|(number, text)| said(number, text, number % 2 == 0)).collect();
            let whole = joined(&pieces);
            prop_assert!(texts.iter().all(|text| whole.contains(text)));
            prop_assert_eq!(whole.split("\n\n").count(), texts.len());
        }
    }
}
