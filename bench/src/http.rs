//! A minimal HTTP/1.1 client on one kept-alive loopback connection: enough to set the hub up over its REST surface.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(20);
/// How often a request that a rate limit refused is tried again.
const MAX_TRIES: u32 = 20;

pub struct Client {
    address: SocketAddr,
    /// A further header line of every request, with its end.
    header: String,
    connection: Option<BufReader<TcpStream>>,
}

pub struct Response {
    pub status: u16,
    pub body: Vec<u8>,
    retry_after: Option<u64>,
    closes: bool,
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { address, header: String::new(), connection: None }
    }

    /// The same with a header of its own, such as `Name: value`.
    pub fn header(self, line: &str) -> Self {
        Self { header: format!("{line}\r\n"), ..self }
    }

    pub fn post(&mut self, path: &str, token: &str, body: &Value) -> Result<Value> {
        self.expect_json("POST", path, token, &body.to_string())
    }

    pub fn get(&mut self, path: &str, token: &str) -> Result<Value> {
        self.expect_json("GET", path, token, "")
    }

    fn expect_json(&mut self, method: &str, path: &str, token: &str, body: &str) -> Result<Value> {
        for _ in 0..MAX_TRIES {
            let response = self.request(method, path, token, body)?;
            match response.status {
                200..300 => {
                    return serde_json::from_slice(&response.body).context("the answer is no JSON");
                }
                429 => std::thread::sleep(Duration::from_secs(response.retry_after.unwrap_or(1))),
                status => {
                    bail!("{method} {path} answered {status}: {}", String::from_utf8_lossy(&response.body))
                }
            }
        }
        bail!("{method} {path} was refused by a rate limit {MAX_TRIES} times")
    }

    /// One request; a connection that the server has closed meanwhile is opened anew, once.
    pub fn request(&mut self, method: &str, path: &str, token: &str, body: &str) -> Result<Response> {
        let reused = self.connection.is_some();
        match self.exchange(method, path, token, body) {
            Err(_) if reused => {
                self.connection = None;
                self.exchange(method, path, token, body)
            }
            result => result,
        }
    }

    fn exchange(&mut self, method: &str, path: &str, token: &str, body: &str) -> Result<Response> {
        self.begin(method, path, token, body)?;
        self.answer()
    }

    /// Sends a request without waiting for its answer.
    pub fn begin(&mut self, method: &str, path: &str, token: &str, body: &str) -> Result<()> {
        self.begin_as(method, path, token, "application/json", body)
    }

    /// The same with a body of another kind.
    pub fn begin_as(&mut self, method: &str, path: &str, token: &str, kind: &str, body: &str) -> Result<()> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => BufReader::new(connect(self.address)?),
        };
        let authorization = if token.is_empty() { String::new() } else { format!("Authorization: Bearer {token}\r\n") };
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\n{authorization}{}Content-Type: {kind}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            self.address,
            self.header,
            body.len()
        );
        connection.get_mut().write_all(request.as_bytes())?;
        self.connection = Some(connection);
        Ok(())
    }

    /// The answer to the request that was begun.
    pub fn answer(&mut self) -> Result<Response> {
        let mut connection = self.connection.take().context("no request was begun")?;
        let response = read_response(&mut connection)?;
        if !response.closes {
            self.connection = Some(connection);
        }
        Ok(response)
    }
}

fn connect(address: SocketAddr) -> Result<TcpStream> {
    let stream = TcpStream::connect(address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    Ok(stream)
}

fn read_response(reader: &mut impl BufRead) -> Result<Response> {
    let status_line = read_line(reader)?;
    let status = status_line.split(' ').nth(1).and_then(|code| code.parse().ok()).context("no HTTP status line")?;
    let mut response = Response { status, body: Vec::new(), retry_after: None, closes: false };
    let (mut length, mut chunked) = (0, false);
    loop {
        let line = read_line(reader)?;
        let Some((name, value)) = line.split_once(':') else {
            break;
        };
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "content-length" => length = value.parse().context("bad content-length")?,
            "transfer-encoding" => chunked = value.eq_ignore_ascii_case("chunked"),
            "retry-after" => response.retry_after = value.parse().ok(),
            "connection" => response.closes = value.eq_ignore_ascii_case("close"),
            _ => {}
        }
    }
    response.body = if chunked { read_chunks(reader)? } else { read_exactly(reader, length)? };
    Ok(response)
}

fn read_chunks(reader: &mut impl BufRead) -> Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let length = usize::from_str_radix(read_line(reader)?.trim(), 16).context("bad chunk length")?;
        body.extend(read_exactly(reader, length)?);
        read_line(reader)?;
        if length == 0 {
            return Ok(body);
        }
    }
}

fn read_exactly(reader: &mut impl BufRead, length: usize) -> Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    reader.read_exact(&mut bytes)?;
    Ok(bytes)
}

fn read_line(reader: &mut impl BufRead) -> Result<String> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        bail!("the connection was closed");
    }
    Ok(line.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_with_a_length_is_read_to_its_end_and_no_further() {
        let mut bytes = &b"HTTP/1.1 201 Created\r\nContent-Length: 2\r\nRetry-After: 3\r\n\r\n{}rest"[..];
        let response = read_response(&mut bytes).expect("a response");
        assert_eq!((response.status, response.body.as_slice()), (201, &b"{}"[..]));
        assert_eq!((response.retry_after, response.closes), (Some(3), false));
        assert_eq!(bytes, b"rest");
    }

    #[test]
    fn chunks_are_joined() {
        let mut bytes = &b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\n"[..];
        assert_eq!(read_response(&mut bytes).expect("a response").body, b"abcd");
        assert!(bytes.is_empty());
    }
}
