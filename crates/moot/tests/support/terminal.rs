//! A command of the binary at a pseudo-terminal: keys go in, and what a person would see comes out.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Child;
use std::sync::{Arc, Mutex};

use rustix::fs::{Mode, OFlags, open};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

use super::hub::{BINARY, clean_command, collect, wait_for_end};
use super::{DEADLINE, eventually};

pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Mutex<String>>,
    /// How much of the screen was looked at.
    seen: usize,
}

impl Terminal {
    pub fn run(home: &Path, arguments: &[&str]) -> Terminal {
        let outside = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).expect("a pseudo-terminal");
        grantpt(&outside).expect("its rights");
        unlockpt(&outside).expect("its lock");
        let name = ptsname(&outside, Vec::new()).expect("its name");
        let inside = || -> OwnedFd { open(&name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).expect("its inside") };
        let child = clean_command(BINARY, home)
            .args(arguments)
            .env("TERM", "xterm")
            .stdin(inside())
            .stdout(inside())
            .stderr(inside())
            .spawn()
            .expect("the binary starts");
        let (keyboard, screen) = (File::from(outside), Arc::default());
        collect(keyboard.try_clone().expect("a second handle"), Arc::clone(&screen));
        Terminal { child, keyboard, screen, seen: 0 }
    }

    pub fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).expect("the terminal is there");
    }

    /// Waits until this is to be seen, after what was seen before.
    pub async fn shows(&mut self, text: &str) {
        let (screen, seen) = (&self.screen, self.seen);
        let look = || async { screen.lock().expect("screen")[seen..].find(text) };
        self.seen += eventually(&format!("`{text}` at the terminal"), look).await + text.len();
    }

    /// How the command ended.
    pub async fn end(&mut self) -> Option<i32> {
        wait_for_end(&mut self.child, DEADLINE).await.and_then(|status| status.code())
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
