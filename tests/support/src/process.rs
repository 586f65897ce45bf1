//! Starts the real debug binary in its own home folder, talks to it by `chat --json`, and kills it.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use adjutant_store::{Store, check};
use adjutant_types::clock::SystemClock;
pub use serde_json::{Value, json};
use tempfile::TempDir;

use crate::programs::adjutant;

/// Events for a failed test's output, one per line.
pub fn lines(events: &[Value]) -> String {
    events.iter().filter(|it| it["event"] != "progress").map(|it| format!("\n{it}")).collect()
}

/// No line takes this long, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(30);

/// A folder in which the binary finds only what a test put there.
pub struct Home {
    dir: TempDir,
}

/// A process's result.
#[derive(Debug)]
pub struct Ended {
    pub status: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Home {
    pub fn new() -> Self {
        Self { dir: TempDir::new().unwrap() }
    }

    pub fn with_config(text: &str) -> Self {
        let home = Self::new();
        home.write("config.toml", text);
        home
    }

    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    pub fn data(&self) -> PathBuf {
        self.path().join(".local/share/adjutant")
    }

    pub fn write(&self, name: &str, text: &str) {
        let path = self.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(adjutant());
        command.args(words).env_clear().env("HOME", self.path()).env("TZ", "UTC").current_dir(self.path());
        command.env("PATH", "/usr/bin:/bin");
        command
    }

    pub fn run(&self, words: &[&str]) -> Ended {
        Ended::of(self.command(words).stdin(Stdio::null()).output().unwrap())
    }

    /// Runs a command with this stdin.
    pub fn feed(&self, words: &[&str], input: &[u8]) -> Ended {
        let mut command = self.command(words);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
        let ended = Ended::of(child.wait_with_output().unwrap());
        writer.join().unwrap();
        ended
    }

    /// `chat --json`
    pub fn chat(&self) -> Chat {
        Chat::start(self.command(&["chat", "--json"]))
    }

    /// `chat --json` that kills itself at a fail point.
    pub fn chat_until(&self, fail_point: &str) -> Chat {
        let mut command = self.command(&["chat", "--json"]);
        command.env("ADJUTANT_FAIL_POINT", fail_point);
        Chat::start(command)
    }

    /// The path of its default store.
    pub fn store_url(&self) -> String {
        format!("sqlite://{}", self.data().join("adjutant.db").display())
    }

    /// Queries the store, while other processes run.
    pub fn ask<T>(&self, question: impl AsyncFnOnce(&Store) -> T) -> T {
        ask(&self.store_url(), question)
    }

    pub fn count(&self, sql: &'static str) -> i64 {
        self.ask(async |store| store.count(sql, &[]).await.unwrap())
    }

    /// The titles of all tasks, sorted.
    pub fn tasks(&self) -> Vec<String> {
        self.ask(tasks)
    }

    /// After a clean exit no work of any kind is left open.
    #[track_caller]
    pub fn assert_tidy(&self, what: &str) {
        assert_eq!(self.ask(undone), [""; 0], "{what}");
    }
}

/// Queries the store at a URL, while other processes run.
pub fn ask<T>(url: &str, question: impl AsyncFnOnce(&Store) -> T) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(url, Arc::new(SystemClock)).await.unwrap();
        let answer = question(&store).await;
        store.close().await;
        answer
    })
}

/// The titles of all tasks, sorted.
pub async fn tasks(store: &Store) -> Vec<String> {
    let rows: Vec<(String,)> = store.all("SELECT title FROM tasks", &[]).await.unwrap();
    let mut titles: Vec<String> = rows.into_iter().map(|row| row.0).collect();
    titles.sort();
    titles
}

/// What the journal knows of the messages that end with these words: how each arrived, its turn, and its answer.
pub async fn history(store: &Store, words: &str) -> Vec<String> {
    const SQL: &str = "SELECT i.event, i.state, coalesce(t.id, 'no turn'), coalesce(t.status, ''), coalesce(t.text, ''), \
                       coalesce(o.text, 'no answer') FROM inbox i LEFT JOIN turns t ON t.id = i.turn_id \
                       LEFT JOIN outbox o ON o.turn_id = t.id WHERE i.text LIKE $1";
    let pattern = format!("%{words}");
    let rows: Vec<(String, String, String, String, String, String)> =
        store.all(SQL, &[pattern.into()]).await.unwrap();
    rows.into_iter().map(|row| format!("{words}: {row:?}")).collect()
}

/// Work that a clean exit wouldn't leave, and inconsistencies.
pub async fn undone(store: &Store) -> Vec<String> {
    let findings = check::findings(store).await.unwrap();
    let mut undone: Vec<String> = findings.iter().map(|finding| format!("{finding:?}")).collect();
    for (noun, sql) in [
        ("inbox row", "SELECT event FROM inbox WHERE state NOT IN ('done')"),
        ("turn", "SELECT id FROM turns WHERE ended_at IS NULL OR status IN ('dead', 'failed')"),
        ("execution", "SELECT id FROM executions WHERE ended_at IS NULL"),
        ("reply", "SELECT id FROM outbox WHERE state <> 'sent'"),
        ("question", "SELECT id FROM questions WHERE state = 'pending'"),
        ("lease", "SELECT name FROM leases WHERE instance IS NOT NULL"),
        ("instance", "SELECT id FROM instances"),
    ] {
        let open: Vec<(String,)> = store.all(sql, &[]).await.unwrap();
        undone.extend(open.into_iter().map(|row| format!("an open {noun}: {}", row.0)));
    }
    undone
}

impl Ended {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { status: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

/// A running `chat --json` and its events.
pub struct Chat {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<Value>,
    stderr: Option<JoinHandle<String>>,
    /// Every event so far, in order.
    pub seen: Vec<Value>,
}

/// Whether an event is the reply to this message or press.
pub fn answers(event: &Value, id: &str) -> bool {
    event["event"] == "reply" && event["answers"].as_array().is_some_and(|ids| ids.iter().any(|it| it == id))
}

/// Whether an event is the reply that a killed process wrote as its last line: it may have died before the receipt,
/// which docs/promise.md names as a limit.
pub fn is_written_again(event: &Value, before: &[Value]) -> bool {
    event["event"] == "reply" && before.last() == Some(event)
}

/// The id of a reply's button.
#[track_caller]
pub fn button(reply: &Value, label: &str) -> String {
    let buttons = reply["buttons"].as_array().unwrap();
    let button = buttons.iter().find(|button| button["label"] == label);
    button.unwrap_or_else(|| panic!("no button {label} in {reply}"))["id"].as_str().unwrap().to_owned()
}

impl Chat {
    pub fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(stdout);
            let mut line = String::new();
            // A line that a killed process cut off doesn't count.
            while reader.read_line(&mut line).is_ok_and(|_| line.ends_with('\n')) {
                let event = serde_json::from_str(&line).unwrap_or_else(|e| panic!("{e}: {line}"));
                if sender.send(event).is_err() {
                    return;
                }
                line.clear();
            }
        });
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let stdin = child.stdin.take();
        Self { child, stdin, lines, stderr: Some(stderr), seen: Vec::new() }
    }

    pub fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).unwrap()
    }

    /// Writes a line; false if nothing reads it any more.
    pub fn send_raw(&mut self, line: &[u8]) -> bool {
        let Some(stdin) = &mut self.stdin else { return false };
        stdin.write_all(line).and_then(|()| stdin.write_all(b"\n")).and_then(|()| stdin.flush()).is_ok()
    }

    pub fn send(&mut self, line: &Value) -> bool {
        self.send_raw(line.to_string().as_bytes())
    }

    #[track_caller]
    pub fn next(&mut self) -> Option<Value> {
        match self.lines.recv_timeout(DEADLINE) {
            Ok(event) => {
                self.seen.push(event.clone());
                Some(event)
            }
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("nothing more was said after{}", lines(&self.seen)),
        }
    }

    /// Reads the next event within this time.
    pub fn next_within(&mut self, time: Duration) {
        if let Ok(event) = self.lines.recv_timeout(time) {
            self.seen.push(event);
        }
    }

    /// Waits for an event; none if the process ends first.
    #[track_caller]
    pub fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Option<Value> {
        let deadline = Instant::now() + DEADLINE;
        while Instant::now() < deadline {
            let event = self.next()?;
            if wanted(&event) {
                return Some(event);
            }
        }
        panic!("it did not come among{}", lines(&self.seen))
    }

    #[track_caller]
    pub fn reply(&mut self, id: &str) -> Value {
        match self.find(|event| answers(event, id)) {
            Some(reply) => reply,
            None => {
                let (status, stderr) = self.ended();
                panic!("no reply to {id} in{}\n{status:?} {stderr}", lines(&self.seen))
            }
        }
    }

    /// Sends a message and waits for its reply.
    #[track_caller]
    pub fn say(&mut self, id: &str, text: &str) -> Value {
        self.send(&json!({"id": id, "text": text}));
        self.reply(id)
    }

    /// Presses a button and waits for the reply.
    #[track_caller]
    pub fn press(&mut self, id: &str, button: &str) -> Value {
        self.send(&json!({"id": id, "press": button}));
        self.reply(id)
    }

    pub fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Closes stdin, reads the rest, and returns the exit status (none after a signal) and stderr.
    #[track_caller]
    pub fn finish(&mut self) -> (Option<i32>, String) {
        self.close_stdin();
        while self.next().is_some() {}
        self.ended()
    }

    fn ended(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap().code();
        let stderr = self.stderr.take().map(|it| it.join().unwrap()).unwrap_or_default();
        (status, stderr)
    }

    /// Closes stdin; the process must finish its work and exit with 0.
    #[track_caller]
    pub fn finish_well(&mut self) {
        let (status, stderr) = self.finish();
        assert_eq!((status, stderr.as_str()), (Some(0), ""), "{}", lines(&self.seen));
    }

    /// `kill -9`, after which its events are read.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        while self.next().is_some() {}
        let _ = self.child.wait();
    }

    /// Sends a signal by name, such as STOP.
    pub fn signal(&self, name: &str) {
        let done = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status().unwrap();
        assert!(done.success());
    }
}

impl Drop for Chat {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
