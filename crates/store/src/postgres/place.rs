//! Where a database is: the address that people write, understood once, and never shown with its password.

use std::str::FromStr;
use std::time::Duration;

use tokio_postgres::config::Host;
use tokio_postgres::{Config, config::SslMode};

use super::tls::{self, Mode, Tls};
use crate::StoreError;

const EXAMPLE: &str =
    "write it as `postgres://USER:PASSWORD@HOST:5432/DATABASE`, with `%40` for an `@` in the password";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection whose other end does not acknowledge for so long is taken for lost.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);
const KEEPALIVE: Duration = Duration::from_secs(5);

pub struct Place {
    config: Config,
    pub(super) tls: Tls,
    shown: String,
}

/// Whether an address is meant for this backend.
pub fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres://") || url.starts_with("postgresql://")
}

impl Place {
    pub fn parse(url: &str) -> Result<Self, StoreError> {
        let (address, options) = url.split_once('?').unwrap_or((url, ""));
        let authority = address.split_once("://").map_or("", |(_, rest)| rest.split('/').next().unwrap_or(""));
        if !is_postgres(url) || authority.matches('@').count() > 1 {
            return Err(malformed("it does not look like one"));
        }
        let (mut mode, mut root, mut kept) = (Mode::Prefer, None, Vec::new());
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("sslmode", value)) => mode = Mode::parse(value)?,
                Some(("sslrootcert", value)) => root = Some(decoded(value)),
                _ => kept.push(option),
            }
        }
        let plain = format!("{address}?{}", kept.join("&"));
        let mut config = Config::from_str(&plain).map_err(|error| malformed(&super::link::words(&error)))?;
        if config.get_hosts().is_empty() {
            return Err(malformed("it names no host"));
        }
        configure(&mut config, mode);
        let shown = shown(&config);
        Ok(Self { config, tls: tls::connector(mode, root.as_deref())?, shown })
    }

    /// How a session with a name of its own is opened.
    pub fn config(&self, name: &str) -> Config {
        let mut config = self.config.clone();
        config.application_name(name);
        config
    }

    /// Without the password.
    pub fn shown(&self) -> &str {
        &self.shown
    }

    pub fn user(&self) -> &str {
        self.config.get_user().unwrap_or("(nobody)")
    }

    pub fn database(&self) -> &str {
        self.config.get_dbname().unwrap_or_else(|| self.user())
    }
}

fn configure(config: &mut Config, mode: Mode) {
    config.ssl_mode(match mode {
        Mode::Disable => SslMode::Disable,
        Mode::Prefer => SslMode::Prefer,
        Mode::Require | Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
    });
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    config.keepalives(true).keepalives_idle(KEEPALIVE).keepalives_interval(KEEPALIVE).keepalives_retries(2);
    config.tcp_user_timeout(SILENCE_TIMEOUT);
}

fn shown(config: &Config) -> String {
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        Some(Host::Unix(folder)) => folder.display().to_string(),
        None => String::new(),
    };
    let port = config.get_ports().first().copied().unwrap_or(5432);
    let user = config.get_user().map(|user| format!("{user}@")).unwrap_or_default();
    format!("postgres://{user}{host}:{port}/{}", config.get_dbname().unwrap_or_default())
}

fn decoded(value: &str) -> String {
    percent_encoding::percent_decode_str(value).decode_utf8_lossy().into_owned()
}

/// The address itself is not repeated: it may hold a password in the wrong place.
fn malformed(cause: &str) -> StoreError {
    StoreError::setup(format!("the address of the database cannot be understood: {cause}"), EXAMPLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(url: &str) -> String {
        let Err(error) = Place::parse(url) else { panic!("`{url}` was taken") };
        assert!(error.hint().is_some(), "{error}");
        error.to_string()
    }

    #[test]
    fn a_password_is_never_shown() {
        let place = Place::parse("postgres://moot:geheim@db.example:5433/hub?sslmode=disable").expect("a place");
        assert_eq!(place.shown(), "postgres://moot@db.example:5433/hub");
        for url in
            ["postgres://moot:ge@heim@db/hub", "postgres://moot:geheim@db:port/hub", "mysql://moot:geheim@db/hub"]
        {
            assert!(!refusal(url).contains("heim"), "{url}");
        }
    }

    #[test]
    fn what_cannot_be_understood_is_refused_with_a_remedy() {
        for url in ["postgres://", "postgres:///hub", "postgres://db/hub?nonsense=1", "postgres://db/hub?sslmode=maybe"]
        {
            refusal(url);
        }
        assert!(
            refusal("postgres://db/hub?sslmode=verify-ca&sslrootcert=/nowhere/root.pem").contains("/nowhere/root.pem")
        );
    }

    #[test]
    fn a_socket_folder_and_both_schemes_are_taken() {
        for url in ["postgresql://moot@%2Frun%2Fpostgresql/hub", "postgres://moot@db/hub?application_name=x"] {
            Place::parse(url).expect("a place");
        }
    }
}
