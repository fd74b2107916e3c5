//! Structured logs: what happened to whom, never what was said and never a secret.

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;

use crate::config::{Config, LogFormat};

/// Installs the log once; a second call (tests) changes nothing.
pub fn init(config: &Config) {
    let filter = EnvFilter::try_new(&config.server.log).unwrap_or_else(|_| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    // Colours are for people; a file or a service manager gets plain lines.
    let builder = builder.with_ansi(std::io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none());
    let installed = match config.server.log_format {
        LogFormat::Json => builder.json().try_init(),
        LogFormat::Text => builder.try_init(),
    };
    drop(installed);
}
