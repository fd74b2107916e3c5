//! Where the commands find their configuration.

use std::path::PathBuf;

use folkmoot_config::{Loaded, Override, Sources, load};

/// The configuration file that was named with `--config`, if one was.
pub struct Settings {
    pub file: Option<PathBuf>,
}

impl Settings {
    pub fn sources(&self) -> Sources {
        Sources::of_process(self.file.clone())
    }

    pub fn load(&self) -> anyhow::Result<Loaded> {
        self.load_with(Vec::new())
    }

    pub fn load_with(&self, overrides: Vec<Override>) -> anyhow::Result<Loaded> {
        Ok(load(&Sources { overrides, ..self.sources() })?)
    }
}

/// `--data-dir D` as a setting.
pub fn data_dir_override(folder: Option<PathBuf>) -> Option<Override> {
    let value = folder?.to_string_lossy().into_owned();
    Some(Override { flag: "--data-dir", key: "server.data_dir", value })
}
