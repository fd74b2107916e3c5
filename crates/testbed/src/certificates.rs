//! Certificates for servers that speak TLS.

use std::path::Path;
use std::process::Command;

use crate::programs::pass_over;

const SCRIPT: &str = "set -e
openssl req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.crt -days 30 -subj /CN=ca
openssl req -newkey rsa:2048 -nodes -keyout server.key -out server.csr -subj /CN=localhost
printf 'subjectAltName=DNS:localhost\\n' > names
openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile names -out server.crt
openssl req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.crt -days 30 -subj /CN=other";

/// Writes `ca.crt`, `server.crt` and `server.key` (for `localhost`, by that authority) and `other.crt` (another authority) into a
/// folder; false where there is no openssl (and it was said).
pub fn certificates(folder: &Path) -> bool {
    let made = Command::new("/bin/sh").args(["-c", SCRIPT]).current_dir(folder).output();
    let is_made = made.is_ok_and(|output| output.status.success());
    if !is_made {
        pass_over("openssl", "`apt-get install openssl`");
    }
    is_made
}
