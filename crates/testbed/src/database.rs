//! A database of its own for one test, gone with it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::Proxy;

pub struct Database {
    psql: PathBuf,
    socket_folder: PathBuf,
    port: u16,
    name: String,
}

pub(crate) fn create(psql: &Path, socket_folder: &Path, port: u16) -> Database {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let database = Database { psql: psql.into(), socket_folder: socket_folder.into(), port, name };
    database.administer(&format!("CREATE DATABASE {} TEMPLATE template0", database.name));
    database
}

impl Database {
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Over TCP, as the superuser.
    pub fn url(&self) -> String {
        self.url_at(self.port)
    }

    /// The same through a proxy.
    pub fn url_through(&self, proxy: &Proxy) -> String {
        self.url_at(proxy.port())
    }

    fn url_at(&self, port: u16) -> String {
        format!("postgres://postgres@127.0.0.1:{port}/{}", self.name)
    }

    /// Over the Unix socket, as the superuser.
    pub fn socket_url(&self) -> String {
        let folder = self.socket_folder.display().to_string().replace('/', "%2F");
        format!("postgres://postgres@{folder}:{}/{}", self.port, self.name)
    }

    /// What a statement answers, as the superuser: a line for each row, `|` between the columns.
    ///
    /// # Panics
    /// When the statement fails.
    pub fn query(&self, sql: &str) -> String {
        let output = self.run(&self.name, sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim_end().to_owned()
    }

    fn administer(&self, sql: &str) {
        let output = self.run("postgres", sql);
        assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    }

    fn run(&self, database: &str, sql: &str) -> Output {
        let mut command = Command::new(&self.psql);
        command.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres", "-d", database]);
        command.arg("-h").arg(&self.socket_folder).arg("-p").arg(self.port.to_string()).args(["-c", sql]);
        // Whatever the surroundings say of other databases is not meant for this one.
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.output().expect("psql can be started")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // A server that was crashed or is gone takes its databases with it.
        let _ = self.run("postgres", &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}
