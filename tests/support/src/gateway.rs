//! Starts the real `serve` in its own home folder, and stops or kills it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::process::Home;

/// Longer than anything here takes, even on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Tries until there is a result.
#[track_caller]
pub fn eventually<T>(what: &str, mut attempt: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        assert!(started.elapsed() < DEADLINE, "never: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Waits until it is so.
#[track_caller]
pub fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    eventually(what, || is_so().then_some(()));
}

/// A running gateway, and what it logged.
pub struct Gateway {
    child: Child,
    lines: Receiver<String>,
    log: Vec<String>,
}

impl Gateway {
    pub fn start(home: &Home) -> Self {
        Self::start_with(home, &[])
    }

    /// Starts it with these environment variables.
    pub fn start_with(home: &Home, variables: &[(&str, &str)]) -> Self {
        let mut command = home.command(&["serve"]);
        command.envs(variables.iter().copied());
        let mut child =
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = child.stderr.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines, log: Vec::new() }
    }

    /// The response of its HTTP endpoint: status and text.
    #[track_caller]
    pub fn get(&mut self, path: &str) -> (String, String) {
        let address = self.address();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (head.split_whitespace().nth(1).unwrap().to_owned(), body.to_owned())
    }

    /// Its address, from its log.
    #[track_caller]
    pub fn address(&mut self) -> String {
        self.logs("http://");
        let said = self.log.iter().find_map(|line| line.split_once("http://")?.1.split('/').next());
        said.unwrap_or_default().to_owned()
    }

    /// Waits until it logs this text.
    #[track_caller]
    pub fn logs(&mut self, words: &str) {
        self.logs_times(words, 1);
    }

    /// Waits until it has logged this text this many times.
    #[track_caller]
    pub fn logs_times(&mut self, words: &str, times: usize) {
        let begun = Instant::now();
        // Log lines are JSON, where quotes are escaped.
        let quoted = words.replace('"', "\\\"");
        let is_it = |line: &&String| line.contains(words) || line.contains(&quoted);
        while self.log.iter().filter(is_it).count() < times {
            assert!(begun.elapsed() < DEADLINE, "it never logged {words}: {:#?}", self.log);
            self.log.extend(self.lines.recv_timeout(Duration::from_millis(100)));
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name, such as TERM.
    pub fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").arg(format!("-{name}")).arg(pid).status().unwrap().success());
    }

    /// Stops it as a service manager does; returns its exit status and log.
    pub fn stop(mut self) -> (Option<i32>, String) {
        self.signal("TERM");
        self.wait()
    }

    /// Waits for it to exit; returns its exit status (none after a signal) and log.
    pub fn wait(&mut self) -> (Option<i32>, String) {
        let status = self.child.wait().unwrap().code();
        self.log.extend(self.lines.iter());
        (status, self.log.join("\n"))
    }

    /// Waits until it has died by itself.
    #[track_caller]
    pub fn dies(mut self) {
        wait_until("it died", || self.child.try_wait().unwrap().is_some());
    }

    /// `kill -9`; returns the log.
    pub fn kill(mut self) -> String {
        let _ = self.child.kill();
        self.wait().1
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
