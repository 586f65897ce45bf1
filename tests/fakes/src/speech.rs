//! A service on 127.0.0.1 that transcribes and speaks by OpenAI's protocol: it hears what a test says it hears, and
//! misbehaves on demand.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::http::{self, HttpRequest};

/// What it does with a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// These words, of speech in English.
    Words(String),
    /// This transcript, as JSON.
    Transcript(Value),
    /// This status, with words of the provider's.
    Status(u16, &'static str),
    /// 429, and to come again after so many seconds.
    Busy(u64),
    /// A page instead of a transcript.
    Page,
    /// Never answers.
    Hang,
    /// Refuses the longer form of an answer, and hears this in the short one.
    Brief(String),
}

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// The path.
    pub path: String,
    /// The headers, names in lower case.
    pub headers: BTreeMap<String, String>,
    /// The fields of a form, or of JSON, but for the file.
    pub fields: BTreeMap<String, String>,
    /// The file: name, type, content.
    pub file: Option<(String, String, Vec<u8>)>,
}

#[derive(Default)]
struct Shared {
    replies: Mutex<VecDeque<Reply>>,
    /// What a file with this in it says, when no reply is left.
    speeches: Mutex<Vec<(Vec<u8>, String)>>,
    /// What it says aloud.
    sound: Mutex<Vec<u8>>,
    asked: Mutex<Vec<Asked>>,
    news: Condvar,
    stopped: AtomicBool,
}

/// The fake service; it stops when it is dropped.
pub struct FakeSpeech {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl FakeSpeech {
    /// Starts it on a free port.
    pub fn start() -> Self {
        let (listener, address) = http::listen(0);
        let shared = Arc::new(Shared::default());
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

    /// Replies to the next requests, one after the other. When none is left, it knows no words.
    pub fn reply(&self, replies: impl IntoIterator<Item = Reply>) {
        lock(&self.shared.replies).extend(replies);
    }

    /// From now on, a file that contains this says these words.
    pub fn knows(&self, content: &[u8], words: &str) {
        lock(&self.shared.speeches).push((content.to_vec(), words.to_owned()));
    }

    /// From now on, it speaks with this sound.
    pub fn speaks(&self, sound: &[u8]) {
        *lock(&self.shared.sound) = sound.to_vec();
    }

    /// All requests.
    pub fn asked(&self) -> Vec<Asked> {
        lock(&self.shared.asked).clone()
    }

    /// Waits until there were so many requests.
    pub fn wait_for_asked(&self, count: usize) {
        let asked = lock(&self.shared.asked);
        drop(self.shared.news.wait_while(asked, |asked| asked.len() < count));
    }
}

impl Drop for FakeSpeech {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which looks at the flag.
        let _ = TcpStream::connect(self.address);
    }
}

/// A note of Opus in Ogg, as far as anybody looks who doesn't play it: so many seconds, with these words in it.
pub fn note(seconds: u64, words: &str) -> Vec<u8> {
    let page = |granule: u64, packet: &[u8]| {
        let mut page = b"OggS\0\0".to_vec();
        page.extend(granule.to_le_bytes());
        page.resize(26, 0);
        page.extend([1, u8::try_from(packet.len()).unwrap_or(u8::MAX)]);
        page.extend(packet);
        page
    };
    let head = page(0, b"OpusHead\x01\x01\0\0\0\0\0\0\0\0\0");
    [head, page(0, words.as_bytes()), page(48_000 * seconds, &[0; 40])].concat()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let Some(request) = http::read(&stream)? else { return Ok(()) };
    if shared.stopped.load(Ordering::SeqCst) {
        return Ok(());
    }
    let asked = read(&request);
    let is_brief = asked.fields.get("response_format").is_some_and(|format| format == "json");
    let content = asked.file.as_ref().map(|(_, _, content)| content.clone()).unwrap_or_default();
    let path = asked.path.clone();
    lock(&shared.asked).push(asked);
    shared.news.notify_all();
    if path == "/v1/audio/speech" {
        return answer_aloud(&mut stream, shared);
    }
    if path != "/v1/audio/transcriptions" {
        return http::respond(&mut stream, 404, &[], "{\"error\": {\"message\": \"no such path\"}}");
    }
    let reply = match (lock(&shared.replies).pop_front(), is_brief) {
        (Some(Reply::Brief(words)), false) => {
            lock(&shared.replies).push_front(Reply::Brief(words));
            Some(Reply::Status(400, "response_format 'verbose_json' is not compatible with this model"))
        }
        (reply, _) => reply,
    };
    let known = || {
        let speeches = lock(&shared.speeches);
        let is_said = |mark: &[u8]| content.windows(mark.len()).any(|window| window == mark);
        let said = speeches.iter().filter(|(mark, _)| is_said(mark)).max_by_key(|(mark, _)| mark.len());
        Reply::Words(said.map_or_else(String::new, |(_, words)| words.clone()))
    };
    match reply.unwrap_or_else(known) {
        Reply::Words(words) | Reply::Brief(words) => {
            let words = json!({"text": words, "language": "english"});
            http::respond(&mut stream, 200, &[], &words.to_string())
        }
        Reply::Transcript(transcript) => http::respond(&mut stream, 200, &[], &transcript.to_string()),
        Reply::Status(status, words) => {
            let error = json!({"error": {"message": words}}).to_string();
            http::respond(&mut stream, status, &[], &error)
        }
        Reply::Busy(seconds) => {
            http::respond(&mut stream, 429, &[("retry-after".to_owned(), seconds.to_string())], "{}")
        }
        Reply::Page => http::respond(&mut stream, 200, &[], "<h1>Welcome</h1>"),
        Reply::Hang => io::copy(&mut stream.by_ref(), &mut io::sink()).map(drop),
    }
}

fn answer_aloud(stream: &mut TcpStream, shared: &Shared) -> io::Result<()> {
    match lock(&shared.replies).pop_front() {
        Some(Reply::Status(status, words)) => http::respond(stream, status, &[], words),
        _ => http::respond_bytes(stream, 200, &[], &lock(&shared.sound)),
    }
}

fn read(request: &HttpRequest) -> Asked {
    let (mut fields, mut file) = (BTreeMap::new(), None);
    for field in http::fields(request).into_iter().flatten() {
        match field.file_name {
            Some(name) => file = Some((name, field.content_type, field.content)),
            None => drop(fields.insert(field.name, String::from_utf8_lossy(&field.content).into_owned())),
        }
    }
    let json: BTreeMap<String, Value> = serde_json::from_slice(&request.body).unwrap_or_default();
    fields.extend(
        json.into_iter()
            .map(|(key, value)| (key, value.as_str().map_or_else(|| value.to_string(), str::to_owned))),
    );
    Asked { path: request.path.clone(), headers: request.headers.clone(), fields, file }
}
