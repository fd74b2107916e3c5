//! As much of HTTP/1.1 as the engines need: one request per connection, a JSON body or a stream of events back.

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

/// No engine sends more than this to a model in a test.
const MAX_BODY: usize = 64 << 20;

pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// What the caller proves itself with.
    pub fn key(&self) -> Option<&str> {
        self.header("authorization").or_else(|| self.header("x-api-key"))
    }
}

pub struct Socket {
    stream: BufReader<TcpStream>,
}

impl Socket {
    pub fn new(stream: TcpStream) -> Self {
        Self { stream: BufReader::new(stream) }
    }

    /// The one request of this connection; `None`: it was closed without one.
    pub async fn request(&mut self) -> std::io::Result<Option<Request>> {
        let Some(first) = self.line().await? else { return Ok(None) };
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        while let Some((name, value)) = self.line().await?.as_deref().and_then(|line| line.split_once(':')) {
            headers.push((name.to_lowercase(), value.trim().to_owned()));
        }
        let mut request = Request { method, path, headers, body: Vec::new() };
        request.body = match request.header("content-length").and_then(|length| length.parse().ok()) {
            Some(length) => self.exactly(length).await?,
            None if request.header("transfer-encoding").is_some() => self.chunks().await?,
            None => Vec::new(),
        };
        Ok(Some(request))
    }

    async fn line(&mut self) -> std::io::Result<Option<String>> {
        let mut line = String::new();
        let length = self.stream.read_line(&mut line).await?;
        Ok((length > 0).then(|| line.trim_end().to_owned()))
    }

    async fn exactly(&mut self, length: usize) -> std::io::Result<Vec<u8>> {
        if length > MAX_BODY {
            return Err(std::io::Error::other("the body is too long"));
        }
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body).await?;
        Ok(body)
    }

    async fn chunks(&mut self) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        while let Some(size) = self.line().await? {
            let size = usize::from_str_radix(size.split(';').next().unwrap_or_default(), 16)
                .map_err(|_| std::io::Error::other("no size of a chunk"))?;
            body.extend(self.exactly(size).await?);
            self.line().await?;
            if size == 0 {
                break;
            }
        }
        Ok(body)
    }

    pub async fn json(&mut self, status: u16, headers: &[(&str, &str)], body: &Value) -> std::io::Result<()> {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let more: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let head = format!(
            "HTTP/1.1 {status} {}\r\ncontent-type: application/json\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n",
            if status == 200 { "OK" } else { "No" },
            body.len()
        );
        self.write(&format!("{head}{body}")).await?;
        self.stream.get_mut().shutdown().await
    }

    pub async fn begin_events(&mut self) -> std::io::Result<()> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncache-control: no-cache\r\n\
                    transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
        self.write(head).await
    }

    pub async fn event(&mut self, name: Option<&str>, data: &str) -> std::io::Result<()> {
        let name = name.map(|name| format!("event: {name}\n")).unwrap_or_default();
        self.chunk(&format!("{name}data: {data}\n\n")).await
    }

    /// Says nothing, which fails when nobody is there any more.
    pub async fn comment(&mut self) -> std::io::Result<()> {
        self.chunk(": still here\n\n").await
    }

    /// The regular end; a stream that stops without it was cut.
    pub async fn end_events(&mut self) -> std::io::Result<()> {
        self.write("0\r\n\r\n").await?;
        self.stream.get_mut().shutdown().await
    }

    async fn chunk(&mut self, text: &str) -> std::io::Result<()> {
        self.write(&format!("{:x}\r\n{text}\r\n", text.len())).await
    }

    async fn write(&mut self, text: &str) -> std::io::Result<()> {
        self.stream.get_mut().write_all(text.as_bytes()).await
    }
}
