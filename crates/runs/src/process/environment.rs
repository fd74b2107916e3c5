//! The environment of everything we start: what a program needs, what its configuration names, and nothing else.
//!
//! Our own environment may hold the hub's secrets (`MOOT_SERVER__JWT_SECRET`) and keys of services that an engine has no
//! business with. So nothing is inherited by default: a name is on a list here, or on its engine's, or in `pass_env`.

use std::ffi::{OsStr, OsString};
use std::process::Command;

/// What every program gets, if we have it. `X_*` stands for all that begin so.
const FOR_ALL: &[&str] = &[
    // Who and where.
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TMPDIR",
    "TZ",
    "TERM",
    "COLORTERM",
    "LANG",
    "LANGUAGE",
    "LC_*",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_CACHE_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_CONFIG_DIRS",
    "XDG_DATA_DIRS",
    // How to reach the network, and whom to believe there.
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "NIX_SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "CURL_CA_BUNDLE",
    "REQUESTS_CA_BUNDLE",
    // Where tool chains are; places, no secrets.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "GOPATH",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "VOLTA_HOME",
    "PNPM_HOME",
    "BUN_INSTALL",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
];

/// What a desktop's own helpers need to find the desktop.
pub const OF_DESKTOP: &[&str] = &["DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS"];

/// Takes everything from a command's environment but what all programs get and what `pass` names. Variables that are to be
/// set come after this.
pub fn clean<S: AsRef<str>>(command: &mut Command, pass: &[S]) {
    command.env_clear().envs(chosen(std::env::vars_os(), pass));
}

/// Whether a name is one of ours, which no engine ever inherits, whatever its configuration says.
pub fn is_ours(name: &str) -> bool {
    name.get(..5).is_some_and(|head| head.eq_ignore_ascii_case("MOOT_"))
}

/// Whether this can stand in `pass_env`: a name, or the beginning of names and a `*`.
pub fn is_passable(pattern: &str) -> bool {
    let name = pattern.strip_suffix('*').unwrap_or(pattern);
    let good = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty() && name.chars().all(good) && !is_ours(pattern)
}

pub(crate) fn chosen<S: AsRef<str>>(
    ours: impl Iterator<Item = (OsString, OsString)>,
    pass: &[S],
) -> impl Iterator<Item = (OsString, OsString)> {
    ours.filter(move |(name, _)| {
        let Some(name) = OsStr::to_str(name) else { return false };
        let patterns = FOR_ALL.iter().copied().chain(pass.iter().map(AsRef::as_ref));
        !is_ours(name) && patterns.into_iter().any(|pattern| fits(pattern, name))
    })
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(head) => !head.is_empty() && name.starts_with(head),
        None => name == pattern,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(names: &[&str], pass: &[&str]) -> Vec<String> {
        let ours = names.iter().map(|name| (OsString::from(name), OsString::from("x")));
        chosen(ours, pass).map(|(name, _)| name.into_string().unwrap()).collect()
    }

    #[test]
    fn a_program_gets_what_programs_need_and_nothing_else() {
        let names =
            ["PATH", "HOME", "LC_TIME", "HTTPS_PROXY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "SSH_AUTH_SOCK"];
        assert_eq!(seen(&names, &[]), ["PATH", "HOME", "LC_TIME", "HTTPS_PROXY"]);
        assert_eq!(seen(&names, &["GITHUB_TOKEN", "AWS_*"])[4..], ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"]);
    }

    #[test]
    fn nothing_of_ours_is_ever_handed_on() {
        let names = ["MOOT_SERVER__JWT_SECRET", "MOOT_AGENTD__API_KEY", "moot_x"];
        assert_eq!(seen(&names, &["MOOT_*", "MOOT_SERVER__JWT_SECRET", "moot_x", "M*"]), Vec::<String>::new());
        assert!(!is_passable("MOOT_SERVER__JWT_SECRET") && !is_passable("moot_*") && !is_passable("*"));
        assert!(is_passable("GITHUB_TOKEN") && is_passable("AWS_*") && !is_passable("A=B"));
    }

    #[test]
    fn every_engine_gets_its_own_keys_and_not_those_of_others() {
        let names = [
            "OPENAI_API_KEY",
            "ANTHROPIC_API_KEY",
            "CODEX_HOME",
            "CLAUDE_CONFIG_DIR",
            "OPENCODE_CONFIG",
            "PI_OFFLINE",
            "XAI_API_KEY",
        ];
        let of = |engine: &str| {
            let ours = names.iter().map(|name| (OsString::from(name), OsString::from("x")));
            let variables = folkmoot_engines::engines::find(engine).unwrap().variables();
            let chosen = chosen(ours, &variables);
            chosen.map(|(name, _)| name.into_string().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(of("codex"), ["OPENAI_API_KEY", "CODEX_HOME"]);
        assert_eq!(of("claude"), ["ANTHROPIC_API_KEY", "CLAUDE_CONFIG_DIR"]);
        assert_eq!(of("opencode"), ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENCODE_CONFIG", "XAI_API_KEY"]);
        assert_eq!(of("pi"), ["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "PI_OFFLINE", "XAI_API_KEY"]);
        assert_eq!(of("script"), Vec::<String>::new());
    }
}
