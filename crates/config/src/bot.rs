//! `[bot]`: the bot that joins a Snek server, or a hub through Lark.

use std::path::PathBuf;

use folkmoot_bot::settings::{ImageFormat, Limits, Protocol};
use serde::{Deserialize, Serialize};

use super::{Environment, Secret, paths};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bot {
    pub protocol: Protocol,
    pub url: String,
    pub username: String,
    pub password: Secret,
    pub triggers: Vec<String>,
    pub system_prompt: String,
    pub image_format: ImageFormat,
    pub database: String,
    pub status_listen: String,
    /// The constants of the document, as keys of the same table.
    #[serde(flatten)]
    pub limits: Limits,
}

impl Default for Bot {
    fn default() -> Self {
        Self {
            protocol: Protocol::Snek,
            url: "wss://snek.molodetz.nl/rpc.ws".into(),
            username: String::new(),
            password: Secret::default(),
            triggers: Vec::new(),
            system_prompt:
                "You are a helpful member of a group chat. Answer briefly, in the language of the question. \
                            Use your tools when they help; do not invent what you could look up."
                    .into(),
            image_format: ImageFormat::Openai,
            database: String::new(),
            status_listen: String::new(),
            limits: Limits::default(),
        }
    }
}

impl Bot {
    /// The bot's SQLite file: the one that was named, else `bot.db` in the data folder.
    pub fn database_path(&self, data_dir: PathBuf) -> PathBuf {
        if self.database.is_empty() {
            return data_dir.join(folkmoot_bot::store::FILE);
        }
        paths::expand_home(&self.database, &Environment::of_process())
    }
}
