//! A model provider on 127.0.0.1: OpenAI's chat completions and Anthropic's messages, both streamed.
//! It notes what it is asked, refuses what a provider would refuse, and misbehaves on demand.
//!
//! ```
//! use adjutant_fakes::model::{FakeModel, Reply, has_tool};
//! use serde_json::json;
//!
//! let fake = FakeModel::start(|request| {
//!     if has_tool(request, "dispatch_agent") {
//!         return Reply::call("dispatch_agent", &json!({"agent_id": "a"}));
//!     }
//!     Reply::text("Hello!")
//! });
//! assert!(fake.base_url().starts_with("http://127.0.0.1:"));
//! ```

mod shapes;

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::http::{self, HttpRequest};
use crate::strict;

/// So many requests are kept, so that it can be asked for long.
const KEPT: usize = 1_000;

/// One request as the fake received it.
#[derive(Debug, Clone)]
pub struct Received {
    /// The path, as `/v1/chat/completions`.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The body.
    pub body: Value,
}

/// One tool call of a reply.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// How a streamed reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Proper,
    /// The response ends well, but without the mark that the answer is complete.
    Unfinished,
    Cut,
    Hang,
    /// It never ends: the last frame comes again and again.
    Endless,
}

/// What the fake replies.
#[derive(Debug, Clone)]
pub struct Reply {
    pub(crate) text: String,
    pub(crate) reasoning: String,
    pub(crate) calls: Vec<Call>,
    pub(crate) usage: Value,
    ending: Ending,
    failure: Option<(u16, String)>,
    headers: Vec<(String, String)>,
    frames: Option<Vec<String>>,
    waits: bool,
    gate: Option<Arc<AtomicBool>>,
    every: Option<Duration>,
    repeats: bool,
}

impl Reply {
    /// An answer in text.
    pub fn text(text: &str) -> Self {
        Self {
            text: text.into(),
            reasoning: String::new(),
            calls: Vec::new(),
            usage: json!({"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}),
            ending: Ending::Proper,
            failure: None,
            headers: Vec::new(),
            frames: None,
            waits: false,
            gate: None,
            every: None,
            repeats: false,
        }
    }

    /// An answer without text and without calls.
    pub fn empty() -> Self {
        Self::text("")
    }

    /// An answer that calls one tool.
    pub fn call(name: &str, arguments: &Value) -> Self {
        Self::empty().and_call(name, &arguments.to_string())
    }

    /// One more call; the arguments go over the wire as they are, JSON or not.
    #[must_use]
    pub fn and_call(mut self, name: &str, arguments: &str) -> Self {
        let id = Some(format!("call_{}_{}", name, self.calls.len() + 1));
        self.calls.push(Call { id, name: name.into(), arguments: arguments.into() });
        self
    }

    /// Every call gets this id, or none at all.
    #[must_use]
    pub fn ids(mut self, id: Option<&str>) -> Self {
        for call in &mut self.calls {
            call.id = id.map(String::from);
        }
        self
    }

    /// The answer thinks aloud first.
    #[must_use]
    pub fn reasoning(mut self, reasoning: &str) -> Self {
        self.reasoning = reasoning.into();
        self
    }

    /// What the answer says of its tokens, in the words of the protocol that is spoken.
    #[must_use]
    pub fn usage(mut self, usage: Value) -> Self {
        self.usage = usage;
        self
    }

    /// A failure with this status and body. `{key}` in the body becomes the key that the client sent.
    pub fn status(status: u16, body: &str) -> Self {
        Self { failure: Some((status, body.into())), ..Self::empty() }
    }

    /// A header of the response.
    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// These frames go over the wire instead of the answer; `{key}` as in [`Reply::status`].
    pub fn frames(frames: &[&str]) -> Self {
        Self { frames: Some(frames.iter().map(|frame| (*frame).into()).collect()), ..Self::empty() }
    }

    /// Never answers: holds the connection until the client gives up.
    pub fn hang() -> Self {
        Self { waits: true, ..Self::empty() }
    }

    /// A text that goes on, a kilobyte at a time, until the client leaves.
    pub fn endless() -> Self {
        Self { ending: Ending::Endless, ..Self::text(&"word ".repeat(400)) }
    }

    /// The text comes in tokens of four letters, this long after one another.
    #[must_use]
    pub fn tokens(mut self, every: Duration) -> Self {
        self.every = Some(every);
        self
    }

    /// The frame in the middle comes twice.
    #[must_use]
    pub fn repeating(mut self) -> Self {
        self.repeats = true;
        self
    }

    /// The answer stops half-way and the connection stays open.
    #[must_use]
    pub fn hang_midway(mut self) -> Self {
        self.ending = Ending::Hang;
        self
    }

    /// Only the first third of the frames, which is half of a text, comes before the gate opens.
    #[must_use]
    pub fn held(mut self, gate: &Arc<AtomicBool>) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// The connection is cut half-way through the answer.
    #[must_use]
    pub fn cut(mut self) -> Self {
        self.ending = Ending::Cut;
        self
    }

    /// The response ends half-way, politely.
    #[must_use]
    pub fn unfinished(mut self) -> Self {
        self.ending = Ending::Unfinished;
        self
    }
}

/// Whether a request offers this tool, in either protocol.
pub fn has_tool(request: &Value, name: &str) -> bool {
    let named = |tool: &Value| tool["function"]["name"] == name || tool["name"] == name;
    request["tools"].as_array().into_iter().flatten().any(named)
}

/// The last message of a request, as JSON text: for looking whether it holds something.
pub fn last_message(request: &Value) -> String {
    let messages = request["messages"].as_array();
    messages.and_then(|messages| messages.last()).map(Value::to_string).unwrap_or_default()
}

type Script = Box<dyn Fn(&Value) -> Reply + Send + Sync>;

struct Shared {
    script: Script,
    received: Mutex<VecDeque<Received>>,
    /// When the first words of answers in tokens were sent.
    first_words: Mutex<Vec<Instant>>,
    stopped: AtomicBool,
}

/// The fake provider; it stops when it is dropped.
pub struct FakeModel {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl FakeModel {
    /// Starts it on a free port. The script sees the body of each well-formed request.
    pub fn start(script: impl Fn(&Value) -> Reply + Send + Sync + 'static) -> Self {
        let (listener, address) = http::listen(0);
        let shared = Arc::new(Shared {
            script: Box::new(script),
            received: Mutex::default(),
            first_words: Mutex::default(),
            stopped: AtomicBool::new(false),
        });
        http::accept(
            listener,
            &shared,
            |shared| shared.stopped.load(Ordering::SeqCst),
            |stream, shared| serve(stream, shared),
        );
        Self { address, shared }
    }

    /// What to write as `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://{}/v1/", self.address)
    }

    /// The last thousand requests, refused ones too.
    pub fn received(&self) -> Vec<Received> {
        self.shared.received.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// When the first word of each answer in tokens was sent.
    pub fn first_words(&self) -> Vec<Instant> {
        self.shared.first_words.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for FakeModel {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which looks at the flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    while let Some(request) = http::read(&stream)? {
        if shared.stopped.load(Ordering::SeqCst) || !serve_one(&mut stream, request, shared)? {
            break;
        }
    }
    Ok(())
}

/// Whether the connection goes on.
fn serve_one(stream: &mut TcpStream, request: HttpRequest, shared: &Shared) -> io::Result<bool> {
    if request.method == "GET" {
        let models = json!({"object": "list", "data": [{"id": "fake", "object": "model"}]}).to_string();
        return http::respond(stream, 200, &[json_type()], &models).map(|()| false);
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let (path, headers) = (request.path, request.headers);
    let bearer = headers.get("authorization").map(|value| value.trim_start_matches("Bearer ").to_owned());
    let key = headers.get("x-api-key").cloned().or(bearer).unwrap_or_default();
    let received = Received { path: path.clone(), headers, body: body.clone() };
    {
        let mut all = shared.received.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() == KEPT {
            all.pop_front();
        }
        all.push_back(received);
    }

    let anthropic = path.ends_with("/messages");
    let known = anthropic || path.ends_with("/chat/completions");
    let fault = if anthropic { strict::anthropic_fault(&body) } else { strict::openai_fault(&body) };
    let reply = match fault {
        _ if !known => Reply::status(404, r#"{"error":{"message":"no such path"}}"#),
        _ if body["stream"] != true => refusal("this fake only streams"),
        Some(fault) => refusal(&fault),
        None => (shared.script)(&body),
    };
    if reply.waits {
        return until_the_client_leaves(stream);
    }
    if let Some((status, body)) = &reply.failure {
        let mut headers = reply.headers.clone();
        headers.push(json_type());
        return http::respond(stream, *status, &headers, &body.replace("{key}", &key)).map(|()| false);
    }
    let mut frames: Vec<String> = match &reply.frames {
        Some(frames) => {
            frames.iter().map(|frame| format!("data: {}\n\n", frame.replace("{key}", &key))).collect()
        }
        None if anthropic => shapes::anthropic(&reply, &body),
        None => shapes::openai(&reply, &body),
    };
    if reply.repeats {
        let middle = frames.len() / 2;
        frames.insert(middle, frames[middle].clone());
    }
    send(stream, &reply, &frames, shared)
}

fn refusal(message: &str) -> Reply {
    let error = json!({"error": {"message": message, "type": "invalid_request_error"}});
    Reply::status(400, &error.to_string())
}

fn json_type() -> (String, String) {
    ("content-type".into(), "application/json".into())
}

fn send(stream: &mut TcpStream, reply: &Reply, frames: &[String], shared: &Shared) -> io::Result<bool> {
    let mut headers = reply.headers.clone();
    headers.push(("content-type".into(), "text/event-stream".into()));
    if reply.ending == Ending::Proper {
        headers.push(http::keep_alive());
    }
    http::begin_chunks(stream, &headers)?;
    let whole = reply.ending == Ending::Proper;
    let sent = if whole { frames } else { &frames[..frames.len() / 2] };
    let mut is_begun = false;
    for (at, frame) in sent.iter().enumerate() {
        let is_open = || reply.gate.as_ref().is_none_or(|gate| gate.load(Ordering::SeqCst));
        while at == frames.len() / 3 && !is_open() {
            std::thread::sleep(Duration::from_millis(10));
        }
        if let Some(every) = reply.every.filter(|_| is_text(frame)) {
            std::thread::sleep(every);
            if !std::mem::replace(&mut is_begun, true) {
                let mut all = shared.first_words.lock().unwrap_or_else(PoisonError::into_inner);
                all.push(Instant::now());
            }
        }
        http::chunk(stream, frame)?;
    }
    match reply.ending {
        Ending::Proper => http::chunk(stream, "").map(|()| true),
        Ending::Unfinished => http::chunk(stream, "").map(|()| false),
        Ending::Cut => Ok(false),
        Ending::Hang => until_the_client_leaves(stream),
        Ending::Endless => loop {
            http::chunk(stream, sent.last().map_or("", String::as_str))?;
        },
    }
}

/// Whether a frame has words of the answer, in either protocol.
fn is_text(frame: &str) -> bool {
    let is_openai = frame.contains("\"content\":\"") && !frame.contains("\"content\":\"\"");
    is_openai || frame.contains("text_delta")
}

fn until_the_client_leaves(stream: &mut TcpStream) -> io::Result<bool> {
    io::copy(&mut stream.by_ref(), &mut io::sink()).map(|_| false)
}
