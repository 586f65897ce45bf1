//! A server on 127.0.0.1 with OpenAI's `/embeddings`: its vectors are what a test makes of a text, and it misbehaves on
//! demand.

use std::collections::VecDeque;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use crate::http;

/// What it does with a request.
#[derive(Debug, Clone)]
pub enum Reply {
    /// This status, with words of the server's.
    Status(u16, &'static str),
    /// Vectors of so many numbers.
    Length(usize),
    /// Vectors in which a number is none.
    NotANumber,
    /// A vector too few.
    TooFew,
    /// Never answers.
    Hang,
}

type Meaning = Box<dyn Fn(&str) -> Vec<f64> + Send + Sync>;

struct Shared {
    meaning: Meaning,
    replies: Mutex<VecDeque<Reply>>,
    /// What it does with every request for which no reply is left.
    always: Mutex<Option<Reply>>,
    asked: Mutex<Vec<Vec<String>>>,
    stopped: AtomicBool,
}

/// The fake server; it stops when it is dropped.
pub struct FakeEmbeddings {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl FakeEmbeddings {
    /// Starts it on a free port, with this meaning of texts.
    pub fn start(meaning: impl Fn(&str) -> Vec<f64> + Send + Sync + 'static) -> Self {
        let (listener, address) = http::listen(0);
        let shared = Arc::new(Shared {
            meaning: Box::new(meaning),
            replies: Mutex::default(),
            always: Mutex::default(),
            asked: Mutex::default(),
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

    /// Replies to the next requests, one after the other; then it has its vectors again.
    pub fn reply(&self, replies: impl IntoIterator<Item = Reply>) {
        lock(&self.shared.replies).extend(replies);
    }

    /// From now on it does this with every request; without anything, it has its vectors again.
    pub fn always(&self, reply: Option<Reply>) {
        *lock(&self.shared.always) = reply;
    }

    /// The texts of all requests.
    pub fn asked(&self) -> Vec<Vec<String>> {
        lock(&self.shared.asked).clone()
    }
}

impl Drop for FakeEmbeddings {
    fn drop(&mut self) {
        self.shared.stopped.store(true, Ordering::SeqCst);
        // Wakes the listener, which looks at the flag.
        let _ = TcpStream::connect(self.address);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn serve(mut stream: TcpStream, shared: &Shared) -> io::Result<()> {
    let Some(request) = http::read(&stream)? else { return Ok(()) };
    if shared.stopped.load(Ordering::SeqCst) {
        return Ok(());
    }
    if request.path != "/v1/embeddings" {
        return http::respond(&mut stream, 404, &[], "{\"error\": {\"message\": \"no such path\"}}");
    }
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    let texts: Vec<String> =
        body["input"].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    lock(&shared.asked).push(texts.clone());
    let reply = lock(&shared.replies).pop_front().or_else(|| lock(&shared.always).clone());
    let mut vectors: Vec<Vec<f64>> = texts.iter().map(|text| (shared.meaning)(text)).collect();
    match reply {
        Some(Reply::Status(status, words)) => {
            let error = json!({"error": {"message": words}}).to_string();
            return http::respond(&mut stream, status, &[], &error);
        }
        Some(Reply::Hang) => return io::copy(&mut stream, &mut io::sink()).map(drop),
        Some(Reply::Length(length)) => vectors.iter_mut().for_each(|vector| vector.resize(length, 0.5)),
        Some(Reply::TooFew) => drop(vectors.pop()),
        Some(Reply::NotANumber) | None => {}
    }
    // From the last to the first: the protocol promises no order.
    let data: Vec<Value> = vectors
        .into_iter()
        .enumerate()
        .rev()
        .map(|(index, vector)| json!({"object": "embedding", "index": index, "embedding": vector}))
        .collect();
    let answer = json!({"data": data, "usage": {"prompt_tokens": texts.len()}}).to_string();
    let answer = match reply {
        // As some servers write it, though no JSON has it.
        Some(Reply::NotANumber) => answer.replacen("\"embedding\":[", "\"embedding\":[NaN,", 1),
        _ => answer,
    };
    http::respond(&mut stream, 200, &[], &answer)
}
