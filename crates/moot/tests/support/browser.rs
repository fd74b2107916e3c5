//! A real browser, driven over the DevTools protocol: pages are opened, scripts run in them, and nothing else is needed.
//!
//! Debian's `chromium` does; `make test` installs it where it may. Where there is none, a test says so and is passed over,
//! unless `MOOT_TEST_BROWSER=required` asks for a failure.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

/// A browser on a loaded machine takes its time.
const WAIT_TIMEOUT: Duration = Duration::from_secs(30);
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

pub struct Browser {
    child: Child,
    address: String,
    _profile: TempDir,
}

impl Browser {
    /// Starts a browser; none where there is no browser to start.
    pub async fn start() -> Option<Browser> {
        let Some(program) = NAMES.into_iter().find(|name| is_installed(name)) else {
            let required = std::env::var("MOOT_TEST_BROWSER").is_ok_and(|wish| wish == "required");
            assert!(!required, "there is no browser; install `chromium`");
            eprintln!("PASSED OVER: there is no browser; install `chromium` to run this test");
            return None;
        };
        let profile = TempDir::new().expect("a temporary folder");
        let mut child = Command::new(program)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"])
            .args(["--mute-audio", "--autoplay-policy=no-user-gesture-required", "--remote-debugging-port=0"])
            .args(["--disable-background-timer-throttling", "--disable-renderer-backgrounding"])
            .args(["--disable-backgrounding-occluded-windows", "--disable-background-networking"])
            .arg("--no-proxy-server")
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .arg("about:blank")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the browser starts");
        let address = address(&mut child).await;
        Some(Browser { child, address, _profile: profile })
    }

    /// Opens a page in a tab of its own.
    pub async fn open(&self, url: &str) -> Page {
        let mut page = Page::connect(&self.address).await;
        let target = page.call("Target.createTarget", json!({ "url": "about:blank", "newWindow": true })).await;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        page.session = Some(page.call("Target.attachToTarget", attach).await["sessionId"].clone());
        page.call("Page.enable", json!({})).await;
        page.call("Page.navigate", json!({ "url": url })).await;
        page.wait_for("document.readyState === 'complete' && location.href !== 'about:blank'").await;
        page
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn is_installed(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// The browser says on its standard error where it listens.
async fn address(child: &mut Child) -> String {
    let stderr = child.stderr.take().expect("piped");
    let (found, address) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        let mut found = Some(found);
        // Read on to the end: a full pipe would stop the browser.
        for line in BufReader::new(stderr).lines().map_while(Result::ok) {
            if let Some(address) = line.strip_prefix("DevTools listening on ") {
                let _ = found.take().map(|found| found.send(address.to_owned()));
            }
        }
    });
    timeout(WAIT_TIMEOUT, address).await.expect("the browser is ready in time").expect("the browser says where it is")
}

/// A tab.
pub struct Page {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: Option<Value>,
    calls: u64,
}

impl Page {
    async fn connect(address: &str) -> Page {
        let (socket, _) = connect_async(address).await.expect("the browser answers");
        Page { socket, session: None, calls: 0 }
    }

    /// Calls a method of the DevTools protocol and returns its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        let mut request = json!({ "id": id, "method": method, "params": params });
        if let Some(session) = &self.session {
            request["sessionId"] = session.clone();
        }
        self.socket.send(Message::text(request.to_string())).await.expect("the browser is there");
        loop {
            let message =
                timeout(WAIT_TIMEOUT, self.socket.next()).await.unwrap_or_else(|_| panic!("{method}: no answer"));
            let message = message.expect("the browser is there").expect("a whole frame");
            let Ok(text) = message.into_text() else { continue };
            let answer: Value = serde_json::from_str(&text).unwrap_or_default();
            if answer["id"] == id {
                assert!(answer.get("error").is_none(), "{method} {params}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression in the page, as if a person had caused it.
    pub async fn eval(&mut self, expression: &str) -> Value {
        let wish = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true, "userGesture": true,
        });
        let result = self.call("Runtime.evaluate", wish).await;
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Waits until an expression is true.
    pub async fn wait_for(&mut self, expression: &str) {
        let give_up = tokio::time::Instant::now() + WAIT_TIMEOUT;
        while self.eval(expression).await != true {
            assert!(tokio::time::Instant::now() < give_up, "never true in the page: {expression}");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}
