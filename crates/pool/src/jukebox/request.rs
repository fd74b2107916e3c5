//! What the operations of the jukebox are asked with. Real controllers leave out much and send numbers as text.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::player::{Actor, Limits, Mode};
use crate::Kind;
use crate::error::OpError;
use crate::link::{Context, Session};

/// Where, and who asks: part of every request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Asker {
    pub guild_id: Option<String>,
    pub voice_channel_id: Option<String>,
    pub actor_user_id: Option<String>,
    pub owner_user_id: Option<String>,
    pub admin_user_id: Option<String>,
    pub admin_token: Option<String>,
    pub control_mode: Option<String>,
    #[serde(deserialize_with = "number")]
    pub stop_grace_ms: Option<f64>,
}

/// The session that is meant and the one who asks, checked.
pub struct Known {
    pub session: Session,
    pub user: String,
    pub is_admin: bool,
}

impl Asker {
    pub fn check(&self, context: &Context, kind: Kind, admin_token: Option<&str>) -> Result<Known, OpError> {
        let (Some(guild), Some(voice)) = (given(&self.guild_id), given(&self.voice_channel_id)) else {
            return Err("missing-session".into());
        };
        let is_admin = admin_token.is_some_and(|token| self.admin_token.as_deref() == Some(token));
        let user = [&self.actor_user_id, &self.owner_user_id, &self.admin_user_id].into_iter().find_map(given);
        let user = match user {
            Some(user) => user.to_owned(),
            None if is_admin => String::new(),
            None => return Err("missing-actor".into()),
        };
        if !context.guilds().iter().any(|known| known == guild) {
            return Err("not-in-guild".into());
        }
        Ok(Known { session: Session::new(kind, guild, voice), user, is_admin })
    }
}

impl Known {
    pub fn actor(&self) -> Actor<'_> {
        Actor { user: &self.user, is_admin: self.is_admin }
    }
}

fn given(text: &Option<String>) -> Option<&str> {
    text.as_deref().filter(|text| !text.is_empty())
}

/// `play` and `search`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Find {
    #[serde(flatten)]
    pub asker: Asker,
    pub query: String,
    pub requester: Value,
    pub default_mode: Option<String>,
    #[serde(deserialize_with = "number")]
    pub default_volume: Option<f64>,
    pub limits: Option<AskedLimits>,
    #[serde(deserialize_with = "number")]
    pub limit: Option<f64>,
}

impl Find {
    pub fn mode(&self) -> Mode {
        Mode::read(self.default_mode.as_deref().unwrap_or_default())
    }
}

/// Limits that a request brings; what it leaves out is the jukebox's own.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AskedLimits {
    #[serde(deserialize_with = "number")]
    max_queue: Option<f64>,
    #[serde(deserialize_with = "number")]
    max_track_minutes: Option<f64>,
    #[serde(deserialize_with = "number")]
    max_queue_minutes: Option<f64>,
}

impl AskedLimits {
    pub fn over(self, own: Limits) -> Limits {
        let positive = |asked: Option<f64>, own: f64| asked.filter(|asked| *asked > 0.0).unwrap_or(own);
        Limits {
            // A queue beyond this would no longer fit into the frame that lists it.
            max_queue: positive(self.max_queue, own.max_queue as f64).min(100.0) as usize,
            max_track_minutes: positive(self.max_track_minutes, own.max_track_minutes),
            max_queue_minutes: positive(self.max_queue_minutes, own.max_queue_minutes),
        }
    }
}

/// Every operation on a session that exists; each reads the fields it knows.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Control {
    #[serde(flatten)]
    pub asker: Asker,
    #[serde(deserialize_with = "number")]
    pub volume: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub index: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub from: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub to: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub a: Option<f64>,
    #[serde(deserialize_with = "number")]
    pub b: Option<f64>,
    pub mode: Option<String>,
    pub preset: Option<String>,
}

/// A part of the bytes of a track, for whoever lets people hear it.
#[derive(Clone, Debug, Deserialize)]
pub struct Part {
    pub id: String,
    #[serde(default)]
    pub offset: u64,
}

/// A place in the queue: a whole number that is not negative.
pub fn place(number: Option<f64>) -> Option<usize> {
    number.filter(|number| *number >= 0.0 && number.fract() == 0.0 && *number < 1e9).map(|number| number as usize)
}

/// A number, or text that is one; anything else counts as not given.
pub fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<f64>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    Ok(match &value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => text.trim().parse().ok(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    })
}
