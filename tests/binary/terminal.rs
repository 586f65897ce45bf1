//! The binary at a real pseudo-terminal, and a person who reads and types there.

use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::process::Home;

/// Nothing takes this long, even on a busy machine.
const DEADLINE: Duration = Duration::from_secs(60);

pub(crate) const CTRL_C: &str = "\x03";

/// A running command at a terminal made by util-linux's `script`.
pub(crate) struct Terminal {
    child: Child,
    stdin: ChildStdin,
    shown: Receiver<Vec<u8>>,
    bytes: Vec<u8>,
    /// How much of the screen has been read.
    read: usize,
}

impl Terminal {
    /// Starts `adjutant` with these arguments, none of which needs quoting.
    pub(crate) fn start(home: &Home, words: &str) -> Self {
        Self::start_with(home, 300, "ADJUTANT_LOCAL_MODELS=none", words)
    }

    /// The same, so many columns wide and with these variables.
    pub(crate) fn start_with(home: &Home, columns: u16, vars: &str, words: &str) -> Self {
        let program = env!("CARGO_BIN_EXE_adjutant");
        let line = format!("stty rows 50 cols {columns}; exec env {vars} {program} {words}");
        let mut command = Command::new("script");
        command.args(["-qefc", &line, "/dev/null"]).current_dir(home.path()).env_clear();
        command.env("HOME", home.path()).env("TZ", "UTC").env("PATH", "/usr/bin:/bin").env("TERM", "xterm");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let (sender, shown) = channel();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count) = stdout.read(&mut bytes) {
                if count == 0 || sender.send(bytes[..count].to_vec()).is_err() {
                    return;
                }
            }
        });
        Self { child, stdin, shown, bytes: Vec::new(), read: 0 }
    }

    /// Waits for an unread line with this prefix, and marks it read.
    #[track_caller]
    pub(crate) fn expect(&mut self, text: &str) {
        let deadline = Instant::now() + DEADLINE;
        loop {
            let lines = screen(&self.bytes);
            let found = lines.iter().skip(self.read).position(|line| line.trim_start().starts_with(text));
            if let Some(index) = found {
                self.read += index + 1;
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            match self.shown.recv_timeout(left) {
                Ok(bytes) => self.bytes.extend(bytes),
                Err(error) => panic!("no line {text:?} in\n{}\n({error})", self.text()),
            }
        }
    }

    /// Types something.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.stdin.write_all(text.as_bytes()).and_then(|()| self.stdin.flush()).unwrap();
    }

    /// Waits for a question and answers it.
    #[track_caller]
    pub(crate) fn answer(&mut self, question: &str, answer: &str) {
        self.expect(question);
        self.type_in(&format!("{answer}\r"));
    }

    /// Waits for the end; returns the exit status.
    #[track_caller]
    pub(crate) fn end(&mut self) -> Option<i32> {
        loop {
            match self.shown.recv_timeout(DEADLINE) {
                Ok(bytes) => self.bytes.extend(bytes),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end after\n{}", self.text()),
            }
        }
        self.child.wait().unwrap().code()
    }

    /// All bytes sent to the terminal.
    pub(crate) fn raw(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }

    /// The screen's contents.
    pub(crate) fn text(&self) -> String {
        let lines =
            screen(&self.bytes).iter().map(|line| line.trim_end().to_owned() + "\n").collect::<String>();
        lines.trim().to_owned() + "\n"
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The lines of a large enough screen after these bytes.
fn screen(bytes: &[u8]) -> Vec<String> {
    let text = String::from_utf8_lossy(bytes);
    let (mut lines, mut column) = (vec![Vec::new()], 0);
    let mut chars = text.chars();
    while let Some(char) = chars.next() {
        let line: &mut Vec<char> = lines.last_mut().unwrap();
        match char {
            '\n' => lines.push(Vec::new()),
            '\r' => column = 0,
            '\x1b' => {
                let mut number = String::new();
                let end = chars.by_ref().skip_while(|char| *char == '[');
                let end = end.inspect(|char| number.push(*char)).find(|char| char.is_ascii_alphabetic());
                let number = number.trim_end_matches(char::is_alphabetic).parse().unwrap_or(1);
                match end {
                    Some('K' | 'J') => line.truncate(column),
                    Some('C') => column += number,
                    Some('D') => column = column.saturating_sub(number),
                    _ => {}
                }
            }
            char if char.is_control() => {}
            char => {
                line.resize(line.len().max(column + 1), ' ');
                line[column] = char;
                column += 1;
            }
        }
    }
    lines.into_iter().map(String::from_iter).collect()
}

#[test]
fn lines_that_are_pasted_at_once_are_all_answered() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home, "chat");
    terminal.expect("Say what you need");
    terminal.type_in("add a task to sweep\radd a task to mop\rwhat are my tasks?\r");
    terminal.expect("Added “sweep”");
    terminal.expect("Added “mop”");
    terminal.expect("2 open tasks");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end(), Some(0));
}
