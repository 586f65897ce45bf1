//! A proxy before Radicale that is as strict as Google: it wants an access token, knows no `If…` header but `If-Match`,
//! no MKCALENDAR and no free-busy report.
//
// https://developers.google.com/workspace/calendar/caldav/v2/guide

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::prelude::{BASE64_STANDARD, Engine};

use crate::dav_server::Server;
use crate::http::{self, HttpRequest};

/// A running proxy, for as long as the process lasts.
#[derive(Debug, Clone)]
pub struct Proxy {
    at: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Radicale.
    server: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Whose each token is.
    tokens: BTreeMap<String, String>,
    requests: Vec<Request>,
}

/// A request that came through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// Who logged in.
    pub person: String,
    pub method: String,
    pub path: String,
}

impl Proxy {
    /// Starts one.
    #[must_use]
    pub fn start(server: &Server) -> Self {
        let address = server.url();
        let server = address.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let shared = Arc::new(Shared { server, state: Mutex::default() });
        let (listener, at) = http::listen(0);
        http::accept(listener, &shared, |_| false, serve);
        Self { at, shared }
    }

    /// The proxy's root.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.at)
    }

    /// From now on this token is one of somebody's in [`crate::dav_server::PEOPLE`].
    pub fn allow(&self, token: &str, person: &str) {
        self.shared.state().tokens.insert(token.to_owned(), person.to_owned());
    }

    /// The token has ended.
    pub fn revoke(&self, token: &str) {
        self.shared.state().tokens.remove(token);
    }

    /// What came through so far.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.shared.state().requests.clone()
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn serve(mut stream: TcpStream, shared: &Arc<Shared>) -> io::Result<()> {
    let Some(request) = http::read(&stream)? else { return Ok(()) };
    let token = request.headers.get("authorization").and_then(|value| value.strip_prefix("Bearer "));
    let person = token.and_then(|token| shared.state().tokens.get(token).cloned());
    let Some(person) = person else {
        let challenge = ("www-authenticate".to_owned(), "Bearer".to_owned());
        return http::respond(&mut stream, 401, &[challenge], "Login Required");
    };
    if let Some(why) = refused(&request) {
        return http::respond(&mut stream, 400, &[], why);
    }
    let (method, path) = (request.method.clone(), request.path.clone());
    shared.state().requests.push(Request { person: person.clone(), method, path });
    let login = BASE64_STANDARD.encode(format!("{person}:{person}-secret"));
    let line = format!("{} {} HTTP/1.1", request.method, request.path);
    let mut head = format!("{line}\r\nauthorization: Basic {login}\r\n");
    for (name, value) in &request.headers {
        if !matches!(name.as_str(), "authorization" | "connection") {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
    }
    head.push_str("connection: close\r\n\r\n");
    let mut server = TcpStream::connect(&shared.server)?;
    server.write_all(head.as_bytes())?;
    server.write_all(&request.body)?;
    io::copy(&mut server, &mut stream).map(drop)
}

/// Why Google doesn't take it.
fn refused(request: &HttpRequest) -> Option<&'static str> {
    if request.headers.keys().any(|name| name.starts_with("if-") && name != "if-match") {
        return Some("only If-Match is supported");
    }
    let is_known = ["GET", "PUT", "HEAD", "DELETE", "POST", "OPTIONS", "PROPFIND", "PROPPATCH", "REPORT"]
        .contains(&request.method.as_str());
    if !is_known {
        return Some("the method is not supported");
    }
    let body = String::from_utf8_lossy(&request.body);
    body.contains("free-busy-query").then_some("the report is not supported")
}
