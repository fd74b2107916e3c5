//! Messages pinned to their channel.

use folkmoot_core::command::{Command, Reply};
use folkmoot_core::ids::*;
use folkmoot_core::lookup::LookupExt;
use folkmoot_core::model::{Message, Pin};
use folkmoot_core::record::Filter;
use folkmoot_core::{State, access};
use folkmoot_doors::lark::objects::{MessageObject, PinObject};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::extract::{Body, Caller, Path};
use super::reply::{self, Answer, Done};
use super::{objects, unexpected};

#[derive(Deserialize, ToSchema)]
pub struct PinBody {
    message_id: String,
}

/// Pin a message of this channel.
#[utoipa::path(post, path = "/v1/channels/{channel}/pins", tag = "pins", request_body = PinBody,
    responses((status = 201, body = PinObject)))]
pub async fn add(caller: Caller, Path(channel): Path<ChannelId>, Body(body): Body<PinBody>) -> Answer {
    let command = Command::Pin { channel: Some(channel), message: MessageId::parse(&body.message_id) };
    let Reply::Pin(pin) = caller.execute(command).await? else { return Err(unexpected()) };
    reply::created(&PinObject::from(&pin))
}

/// A pin with the message it holds.
#[derive(Serialize, ToSchema)]
pub struct PinnedMessage<'a> {
    #[serde(flatten)]
    pin: PinObject,
    message: MessageObject<'a>,
}

/// The pinned messages of a channel, newest pin first.
#[utoipa::path(get, path = "/v1/channels/{channel}/pins", tag = "pins",
    responses((status = 200, body = [PinnedMessage<'static>])))]
pub async fn list(caller: Caller, Path(channel): Path<ChannelId>) -> Answer {
    caller.query(|state, actor| access::room_to_read(state, actor, channel).map(drop))?;
    let pinned = caller.read(move |reader| {
        let mut pinned = Vec::new();
        for pin in reader.list::<Pin>(&Filter::scope(channel.0))? {
            pinned.extend(reader.message(pin.message)?.map(|message| (pin, message)));
        }
        Ok(pinned)
    });
    let (pins, messages): (Vec<Pin>, Vec<Message>) =
        pinned.await?.into_iter().filter(|(_, message)| !message.deleted).unzip();
    let names = objects::names_of(&caller.hub, &messages);
    let nobody = State::default();
    let shown: Vec<_> = (pins.iter().zip(&messages).zip(&names))
        .map(|((pin, message), name)| PinnedMessage {
            pin: PinObject::from(pin),
            message: objects::named(message, name, &nobody),
        })
        .collect();
    reply::ok(&shown)
}

#[utoipa::path(delete, path = "/v1/pins/{pin}", tag = "pins", summary = "Unpin a message.",
    responses((status = 200, body = Done)))]
pub async fn remove(caller: Caller, Path(pin): Path<PinId>) -> Answer {
    caller.execute(Command::Unpin { pin }).await?;
    reply::deleted(pin)
}
