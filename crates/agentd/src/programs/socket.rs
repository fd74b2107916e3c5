//! The Unix socket for programs: mode 0600, our own user only, a token first, then the protocol line by line.

use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use folkmoot_clients::lark::Outside;
use folkmoot_wire::lark::{AgentAuth, AgentRestart, AuthFail, Envelope, MAX_FRAME_BYTES, ProgramFrame};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use subtle::ConstantTimeEq;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::relay::{self, Wanted};
use super::{Known, Shared};

/// How long a program may take to say who it is.
const HELLO_TIMEOUT: Duration = Duration::from_secs(30);

/// Opens the socket; one that nobody listens on any more is replaced.
pub fn listen(path: &Path, shared: Arc<Shared>) -> std::io::Result<JoinHandle<()>> {
    if let Some(folder) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    if path.exists() {
        if std::os::unix::net::UnixStream::connect(path).is_ok() {
            return Err(std::io::Error::new(std::io::ErrorKind::AddrInUse, "another daemon listens there"));
        }
        std::fs::remove_file(path)?;
    }
    let listener = bound(path)?;
    Ok(tokio::spawn(async move {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => drop(tokio::spawn(serve(stream, Arc::clone(&shared)))),
                Err(error) => {
                    tracing::warn!(%error, "a program could not be let in");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }))
}

/// In a folder of our own at first, so that it never is where others could reach it with another mode.
fn bound(path: &Path) -> std::io::Result<UnixListener> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let private = folder.join(format!(".agentd-{}", std::process::id()));
    std::fs::create_dir_all(&private)?;
    std::fs::set_permissions(&private, std::fs::Permissions::from_mode(0o700))?;
    let draft = private.join("s");
    let _ = std::fs::remove_file(&draft);
    let done = UnixListener::bind(&draft).and_then(|listener| {
        std::fs::set_permissions(&draft, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&draft, path)?;
        Ok(listener)
    });
    let _ = std::fs::remove_dir_all(&private);
    done
}

async fn serve(stream: UnixStream, shared: Arc<Shared>) {
    let own = rustix::process::getuid().as_raw();
    let (is_ours, peer) = match stream.peer_cred() {
        Ok(peer) => (peer.uid() == own, peer.uid()),
        Err(_) => (false, u32::MAX),
    };
    if !is_ours {
        tracing::warn!(uid = peer, "a program of another user was refused");
        return;
    }
    let (reading, mut writing) = stream.into_split();
    let mut lines = BufReader::new(reading);
    let Ok(Some(line)) = timeout(HELLO_TIMEOUT, line(&mut lines)).await else { return };
    let frame: Option<ProgramFrame> = serde_json::from_str(&line).ok();
    let answers = Answers { reply_to: frame.as_ref().and_then(|frame| to_raw_value(frame.id.as_ref()?).ok()) };
    let said = match frame.as_ref().map(|frame| (frame.kind.as_str(), frame)) {
        Some(("agent.auth", frame)) => match admitted(&shared, &data_of(frame)) {
            Ok((name, agent)) => {
                let wanted = Wanted {
                    client: shared.client.clone(),
                    server: shared.server.clone(),
                    key: Arc::clone(&shared.key),
                    agent,
                };
                return relay::relay(wanted, &name, lines, writing, answers).await;
            }
            Err(why) => {
                tracing::warn!(why, "a program was refused");
                answers.error(why)
            }
        },
        Some(("agent.restart", frame)) => {
            let AgentRestart { agent_name, .. } = data_of(frame);
            match shared.restart(&agent_name) {
                true => {
                    let status = Some("restarting".to_owned());
                    answers.line("agent.restart", AgentRestart { agent_name, status })
                }
                false => answers.error("there is no such program"),
            }
        }
        _ => answers.error("say agent.auth first"),
    };
    let _ = writing.write_all(said.as_bytes()).await;
}

fn data_of<T: DeserializeOwned + Default>(frame: &ProgramFrame) -> T {
    frame.data.as_ref().and_then(|data| serde_json::from_str(data.get()).ok()).unwrap_or_default()
}

/// What a program is told in answer to its first line.
pub(super) struct Answers {
    reply_to: Option<Box<RawValue>>,
}

impl Answers {
    pub(super) fn line(&self, kind: &str, data: impl Serialize) -> String {
        let Outside { now, id, .. } = Outside::REAL;
        let envelope = Envelope { reply_to: self.reply_to.as_deref(), ..Envelope::new(id().into(), kind, now(), data) };
        format!("{}\n", envelope.text())
    }

    pub(super) fn error(&self, why: &str) -> String {
        self.line("error", AuthFail { error: why.into() })
    }
}

/// Whether this is one of our programs; the answer tells nobody which half was wrong.
fn admitted(shared: &Shared, auth: &AgentAuth) -> Result<(String, String), &'static str> {
    let AgentAuth { agent_name: name, token } = auth;
    let known = shared.known.lock().get(&name.to_lowercase()).cloned();
    let nobody = Known { id: None, token: String::new() };
    let is_known = known.is_some();
    let known = known.unwrap_or(nobody);
    let fits = bool::from(known.token.as_bytes().ct_eq(token.as_bytes()));
    if !is_known || !fits || known.token.is_empty() {
        return Err("invalid credentials");
    }
    let id = known.id.ok_or("the hub does not know this agent yet")?;
    Ok((name.to_owned(), id))
}

/// The next line, without its end; none at the end of the stream or when it is too long.
pub(super) async fn line<R: tokio::io::AsyncRead + Unpin>(lines: &mut BufReader<R>) -> Option<String> {
    let mut bytes = Vec::new();
    let most = MAX_FRAME_BYTES as u64 + 1;
    lines.take(most).read_until(b'\n', &mut bytes).await.ok()?;
    if bytes.pop() != Some(b'\n') {
        return None;
    }
    String::from_utf8(bytes).ok()
}
