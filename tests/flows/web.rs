//! A service on 127.0.0.1 that skills call, and that misbehaves on demand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

/// The reply to a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// This status, extra header lines and body.
    Status(u16, &'static str, String),
    /// 200, once the test releases it.
    Held,
    /// None: the connection is cut.
    Cut,
}

/// The service.
pub(crate) struct Web {
    origin: String,
    shared: Arc<Shared>,
    server: tokio::task::JoinHandle<()>,
}

struct Shared {
    script: Mutex<VecDeque<Answer>>,
    requests: watch::Sender<Vec<String>>,
    gate: Semaphore,
}

impl Web {
    /// Starts it. Requests get these replies in order, then 200.
    pub(crate) async fn start(script: impl IntoIterator<Item = Answer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let shared = Arc::new(Shared {
            script: Mutex::new(script.into_iter().collect()),
            requests: watch::Sender::new(Vec::new()),
            gate: Semaphore::new(0),
        });
        let serving = shared.clone();
        let server = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, serving.clone()));
            }
        });
        Self { origin, shared, server }
    }

    /// Its address.
    pub(crate) fn origin(&self) -> &str {
        &self.origin
    }

    /// The skills that call it: `web.read` (a read), `web.post` (not repeatable), `web.careful` (asks).
    pub(crate) fn skills(&self) -> String {
        let skill = |name: &str, method: &str, more: &str| {
            format!(
                "[[skill]]\nname = \"web.{name}\"\nsummary = \"Calls the service\"\n{more}\n\
                 [skill.handler.http]\nmethod = \"{method}\"\nurl = \"{}/{name}/{{{{id}}}}\"\nallow_hosts = [\"127.0.0.1\"]\n\
                 [skill.parameters]\nrequired = [\"id\"]\n[skill.parameters.properties.id]\ntype = \"string\"\n",
                self.origin
            )
        };
        [
            "domain = \"web\"\nsummary = \"The service\"\n".to_owned(),
            skill("read", "GET", "risk = \"low\"\nrepeatable = true"),
            skill("post", "POST", "risk = \"low\"\nrepeatable = false"),
            skill("quick", "POST", "risk = \"low\"\nrepeatable = false\ntimeout = \"2s\""),
            skill("slow", "GET", "risk = \"low\"\nrepeatable = true\ntimeout = \"2s\""),
            skill("careful", "POST", "risk = \"high\"\nrepeatable = false"),
        ]
        .concat()
    }

    /// The requests so far, such as `GET /read/1`.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.borrow().clone()
    }

    /// Waits until this many requests have arrived.
    pub(crate) async fn arrived(&self, count: usize) {
        let mut requests = self.shared.requests.subscribe();
        let arrived = requests.wait_for(|requests| requests.len() >= count);
        tokio::time::timeout(Duration::from_secs(30), arrived).await.expect("never called").unwrap();
    }

    /// Releases all held requests, now and later.
    pub(crate) fn open(&self) {
        self.shared.gate.close();
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn serve(mut socket: TcpStream, shared: Arc<Shared>) {
    let mut request = Vec::new();
    let mut buffer = [0; 4096];
    while !request.windows(4).any(|window| window == b"\r\n\r\n") {
        match socket.read(&mut buffer).await {
            Ok(read) if read > 0 => request.extend_from_slice(&buffer[..read]),
            _ => return,
        }
    }
    let line = String::from_utf8_lossy(&request).lines().next().unwrap_or_default().to_owned();
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    shared.requests.send_modify(|requests| requests.push(line.clone()));
    let answer = shared.script.lock().unwrap().pop_front();
    let (status, headers, body) = match answer.unwrap_or(Answer::Status(200, "", format!("did {line}"))) {
        Answer::Status(status, headers, body) => (status, headers, body),
        Answer::Held => {
            let _ = shared.gate.acquire().await;
            (200, "", format!("did {line}"))
        }
        Answer::Cut => return,
    };
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n{headers}\r\n",
        body.len()
    );
    let _ = socket.write_all(format!("{head}{body}").as_bytes()).await;
}
