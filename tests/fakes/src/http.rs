//! As much HTTP/1.1 as a fake server needs, on plain threads: a test that blocks on a child process
//! keeps no runtime busy, and cutting a connection at a chosen byte is easy.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// A request as it came over the wire; header names in lower case.
#[derive(Debug, Clone)]
pub(crate) struct HttpRequest {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) body: Vec<u8>,
}

/// Listens on loopback, at this port or at a free one for 0; where that is.
#[expect(clippy::expect_used, reason = "a fake without its port is a test that can't run")]
pub(crate) fn listen(port: u16) -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind(("127.0.0.1", port)).expect("the port can't be had");
    let address = listener.local_addr().expect("a bound socket has an address");
    (listener, address)
}

/// Serves each connection in a thread of its own, until it is over. One that breaks is the client's to notice.
pub(crate) fn accept<S: Send + Sync + 'static, T: 'static>(
    listener: TcpListener,
    shared: &Arc<S>,
    is_over: fn(&S) -> bool,
    serve: fn(TcpStream, &Arc<S>) -> T,
) {
    let shared = Arc::clone(shared);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if is_over(&shared) {
                break;
            }
            let _ = stream.set_nodelay(true);
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                serve(stream, &shared);
            });
        }
    });
}

/// Reads one request; nothing when the client has hung up.
pub(crate) fn read(stream: &TcpStream) -> io::Result<Option<HttpRequest>> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace().map(String::from);
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.insert(name.trim().to_lowercase(), value.trim().to_owned());
        }
    }
    let length = headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some(HttpRequest { method, path, headers, body }))
}

/// Writes a whole response.
pub(crate) fn respond(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &str,
) -> io::Result<()> {
    respond_bytes(stream, status, headers, body.as_bytes())
}

/// Writes a whole response that need not be text.
pub(crate) fn respond_bytes(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> io::Result<()> {
    let mut response = head(status, headers, &format!("content-length: {}", body.len()));
    response.extend_from_slice(body);
    stream.write_all(&response)
}

/// Begins a response in chunks.
pub(crate) fn begin_chunks(stream: &mut TcpStream, headers: &[(String, String)]) -> io::Result<()> {
    stream.write_all(&head(200, headers, "transfer-encoding: chunked"))
}

/// One chunk; the last one is empty.
pub(crate) fn chunk(stream: &mut TcpStream, data: &str) -> io::Result<()> {
    stream.write_all(format!("{:x}\r\n{data}\r\n", data.len()).as_bytes())
}

/// The header of a response after which the connection goes on; without it the response is the last.
pub(crate) fn keep_alive() -> (String, String) {
    ("connection".into(), "keep-alive".into())
}

fn head(status: u16, headers: &[(String, String)], length: &str) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Fake\r\n{length}\r\n");
    if !headers.contains(&keep_alive()) {
        head.push_str("connection: close\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    head.into_bytes()
}

/// A value of a query or a form.
pub(crate) fn decoded(text: &str) -> String {
    let mut out = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => out.push(b' '),
            b'%' => {
                let hex: Vec<u8> = rest.by_ref().take(2).collect();
                out.extend(u8::from_str_radix(&String::from_utf8_lossy(&hex), 16));
            }
            byte => out.push(byte),
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// A field of a form with files.
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) file_name: Option<String>,
    pub(crate) content_type: String,
    pub(crate) content: Vec<u8>,
}

/// The fields of a `multipart/form-data` body (RFC 7578); nothing when it is none.
pub(crate) fn fields(request: &HttpRequest) -> Option<Vec<Field>> {
    let kind = request.headers.get("content-type")?;
    let boundary = kind.strip_prefix("multipart/form-data; boundary=")?.trim_matches('"');
    let mut rest = request.body.strip_prefix(format!("--{boundary}\r\n").as_bytes())?;
    let end = format!("\r\n--{boundary}");
    let mut fields = Vec::new();
    loop {
        let head_ends = find(rest, b"\r\n\r\n")?;
        let (head, body) = (std::str::from_utf8(&rest[..head_ends]).ok()?, &rest[head_ends + 4..]);
        let content_ends = find(body, end.as_bytes())?;
        let header = |name: &str| {
            let lines = head.lines().filter_map(|line| line.split_once(": "));
            lines.filter(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned()).next()
        };
        let disposition = header("content-disposition")?;
        let value = |key: &str| {
            let value = disposition.split("; ").find_map(|part| part.strip_prefix(key)?.strip_prefix('='));
            value.map(|value| value.trim_matches('"').to_owned())
        };
        fields.push(Field {
            name: value("name")?,
            file_name: value("filename"),
            content_type: header("content-type").unwrap_or_default(),
            content: body[..content_ends].to_vec(),
        });
        match &body[content_ends + end.len()..] {
            b"--" | b"--\r\n" => return Some(fields),
            more => rest = more.strip_prefix(b"\r\n")?,
        }
    }
}

fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|window| window == wanted)
}
