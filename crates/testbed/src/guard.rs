//! A server that ends with whoever started it, however that one ends.
//!
//! A shell stands between the two. It starts the server and reads from a pipe whose other end only the test process holds; when
//! that process is gone, killed or not, the read ends, and the shell ends the server and removes its folder.

use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start or to end on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// `$1` is the signal that ends the server, `$2` the file for its output, `$3` the folder to remove, unless told to keep it.
const SCRIPT: &str = r#"
signal=$1 output=$2 folder=$3; shift 3
"$@" </dev/null >>"$output" 2>&1 &
server=$!
read -r word
kill -s "$signal" $server 2>/dev/null
wait $server
[ "$word" = keep ] || rm -rf "$folder"
"#;

pub struct Guard(Child);

impl Guard {
    /// Starts a server; `folder` goes away with it.
    pub fn start(command: &[String], signal: &str, output: &Path, folder: &Path) -> Self {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", SCRIPT, "guard", signal]).arg(output).arg(folder).args(command);
        // A group of its own: an interrupt at the terminal reaches the tests, and this through the pipe.
        std::os::unix::process::CommandExt::process_group(&mut shell, 0);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        Self(shell.spawn().expect("a shell can be started"))
    }

    /// Ends the server and leaves its folder.
    pub fn end_and_keep(mut self) {
        if let Some(pipe) = &mut self.0.stdin {
            pipe.write_all(b"keep\n").expect("the shell reads");
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}

/// Looks until something is there.
///
/// # Panics
/// When it does not come in time; `what` and the last lines of the output say why.
pub fn wait_for<T>(what: &str, output: &Path, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        if begin.elapsed() > TIMEOUT {
            let said = std::fs::read_to_string(output).unwrap_or_default();
            panic!("{what} did not come; the last it said was:\n{}", last_lines(&said));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(20)..].join("\n")
}
