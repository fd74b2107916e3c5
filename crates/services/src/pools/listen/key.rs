//! The key to a voice channel: signed by the hub, for a while, and worth nothing once the channel is linked elsewhere or
//! its holder may no longer read it.
//!
//! A browser's audio element cannot send a token, so the key travels in the address. It opens nothing but the music.

use axum::http::StatusCode;
use folkmoot_core::ids::{ChannelId, MemberId};
use folkmoot_core::model::Door;
use folkmoot_core::pools::{Place, PoolLink, SessionKind};
use folkmoot_core::{Actor, Code, Millis, Refusal, access};

use folkmoot_hub::request::ApiError;
use folkmoot_hub::request::names::segment;

use crate::pools::Pools;

const PURPOSE: &str = "listen";
/// How long a key opens.
const KEY_LIFE_S: i64 = 12 * 60 * 60;
/// No key of ours is longer.
const MAX_KEY_BYTES: usize = 512;

/// Where to listen, and until when.
pub struct Link {
    pub url: String,
    pub key: String,
    pub expires_at: Millis,
}

/// A link for one member, who must be able to read a channel that is linked to the place.
pub fn for_member(pools: &Pools, actor: Actor, place: &Place) -> Result<Link, Refusal> {
    let channel =
        pools.hub.with_state(|state| access::room_to_hear(state, actor, &place.guild, &place.voice_channel))?;
    Ok(link(pools, place, channel, actor.member))
}

/// A link for everybody who reads the channel, to be posted there.
pub fn for_channel(pools: &Pools, linked: &PoolLink) -> Link {
    link(pools, &linked.place(SessionKind::Music), linked.channel, MemberId::NONE)
}

fn link(pools: &Pools, place: &Place, channel: ChannelId, member: MemberId) -> Link {
    let generation = pools.hub.with_state(|state| state.member(member).map_or(0, |member| member.secrets.generation));
    let claim = Claim { channel, member, expires_s: pools.hub.now() / 1000 + KEY_LIFE_S, generation };
    let signature = pools.hub.auth().sign(PURPOSE, &claim.about(place));
    let key = format!("{}.{signature}", claim.text());
    let base = pools.hub.settings().server.public_url.trim_end_matches('/');
    // Behind `#`, so that opening the page sends it nowhere yet.
    let url = format!("{base}/listen/{}/{}#key={key}", segment(&place.guild), segment(&place.voice_channel));
    Link { url, key, expires_at: claim.expires_s * 1000 }
}

/// Whether the key opens this place now.
pub fn check(pools: &Pools, place: &Place, key: &str) -> Result<(), ApiError> {
    let refused = || {
        let sentence = "this link to listen is not valid (expired, or for another channel)";
        ApiError::new(StatusCode::UNAUTHORIZED, Code::InvalidToken, sentence)
    };
    let (claim, signature) =
        Some(key).filter(|key| key.len() <= MAX_KEY_BYTES).and_then(Claim::read).ok_or_else(refused)?;
    if !pools.hub.auth().is_signed(PURPOSE, &claim.about(place), signature) || claim.expires_s * 1000 <= pools.hub.now()
    {
        return Err(refused());
    }
    let holds = pools.hub.with_state(|state| {
        let actor = Actor::new(claim.member, Door::Rest);
        let may = claim.member.is_none() || access::still_hears(state, actor, claim.generation, claim.channel);
        may && access::is_heard_in(state, claim.channel, &place.guild, &place.voice_channel)
    });
    if holds { Ok(()) } else { Err(refused()) }
}

/// What a key says besides the place, which the address names.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Claim {
    /// The linked channel that its holder reads.
    channel: ChannelId,
    /// Whose key it is; nobody's when it was posted in the channel, for everybody there.
    member: MemberId,
    expires_s: i64,
    /// Of its holder's secrets: a changed password ends it like a login.
    generation: u64,
}

impl Claim {
    /// Short, because people see it in chats.
    fn text(&self) -> String {
        match self.member.is_none() {
            true => format!("{}..{}", self.channel, self.expires_s),
            false => format!("{}.{}.{}.{}", self.channel, self.member, self.expires_s, self.generation),
        }
    }

    /// Reads a key: the claim and the signature over it.
    fn read(key: &str) -> Option<(Self, &str)> {
        let (text, signature) = key.rsplit_once('.')?;
        let mut parts = text.split('.');
        let channel = ChannelId::parse(parts.next()?);
        let member =
            parts.next().map(|member| if member.is_empty() { MemberId::NONE } else { MemberId::parse(member) })?;
        let expires_s = parts.next()?.parse().ok()?;
        let generation = if member.is_none() { 0 } else { parts.next()?.parse().ok()? };
        let claim = Self { channel, member, expires_s, generation };
        // Any other spelling of the same claim is not a key of ours.
        (claim.text() == text).then_some((claim, signature))
    }

    /// What is signed: the claim and the place, told apart whatever they contain.
    fn about(&self, place: &Place) -> String {
        serde_json::json!([place.guild, place.voice_channel, self.text()]).to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_is_read_as_it_was_written() {
        for (member, generation) in [(MemberId::NONE, 0), (MemberId(7), 3)] {
            let claim = Claim { channel: ChannelId(5), member, expires_s: 1_700_000_000, generation };
            assert_eq!(Claim::read(&format!("{}.signature", claim.text())), Some((claim, "signature")));
        }
    }

    #[test]
    fn a_member_that_cannot_be_read_is_not_everybody() {
        let key = format!("{}.garbage.1700000000.signature", ChannelId(5));
        assert_eq!(Claim::read(&key), None);
    }

    #[test]
    fn what_is_signed_tells_guild_and_channel_apart() {
        let claim = Claim { channel: ChannelId(5), member: MemberId::NONE, expires_s: 1, generation: 0 };
        let place = |guild: &str, voice: &str| Place {
            guild: guild.to_owned(),
            voice_channel: voice.to_owned(),
            kind: SessionKind::Music,
        };
        assert_ne!(claim.about(&place("a\",\"b", "c")), claim.about(&place("a", "b\",\"c")));
    }

    proptest! {
        #[test]
        fn no_key_makes_the_reader_panic(key: String) {
            Claim::read(&key);
        }
    }

    #[test]
    fn names_become_one_part_of_a_path() {
        assert_eq!(segment("main"), "main");
        assert_eq!(segment("a/b c?d#é"), "a%2Fb%20c%3Fd%23%C3%A9");
    }
}
