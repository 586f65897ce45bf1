//! Voice notes as the platforms keep them: real bytes, and downloads that go wrong on demand.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};
use std::net::TcpStream;

use crate::http;

/// What goes wrong with a download.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Download {
    /// This status instead of the file; 429 asks for a second's pause.
    Status(u16),
    /// The connection is cut after half of the file.
    Cut,
    /// A page instead of the file.
    Page,
    /// Nothing ever comes.
    Hang,
}

/// The notes of one platform.
#[derive(Debug, Default)]
pub(crate) struct Sounds {
    files: BTreeMap<String, Vec<u8>>,
    troubles: VecDeque<Download>,
    /// How often all addresses have expired.
    pub(crate) age: u32,
    /// How often a file was asked for.
    pub(crate) asked: usize,
}

impl Sounds {
    /// Keeps a note; its name.
    pub(crate) fn keep(&mut self, content: &[u8]) -> String {
        let name = format!("voice{}.ogg", self.files.len());
        self.files.insert(name.clone(), content.to_vec());
        name
    }

    /// The next downloads go wrong.
    pub(crate) fn misbehave(&mut self, trouble: Download, times: usize) {
        self.troubles.extend(std::iter::repeat_n(trouble, times));
    }

    /// What becomes of a download: the file if there is one, and what goes wrong with it.
    pub(crate) fn ask(&mut self, name: &str) -> (Option<Vec<u8>>, Option<Download>) {
        self.asked += 1;
        (self.files.get(name).cloned(), self.troubles.pop_front())
    }
}

/// Answers a download.
pub(crate) fn send(
    stream: &mut TcpStream,
    (file, trouble): (Option<Vec<u8>>, Option<Download>),
) -> io::Result<()> {
    let kind = [("content-type".to_owned(), "audio/ogg".to_owned())];
    match (trouble, file) {
        (Some(Download::Status(status)), _) => {
            http::respond(stream, status, &[("retry-after".to_owned(), "1".to_owned())], "")
        }
        (Some(Download::Page), _) => http::respond(
            stream,
            200,
            &[("content-type".to_owned(), "text/html".to_owned())],
            "<html>Log in</html>",
        ),
        (Some(Download::Hang), _) => io::copy(stream, &mut io::sink()).map(drop),
        (Some(Download::Cut), Some(file)) => {
            let head = format!("HTTP/1.1 200 Fake\r\ncontent-length: {}\r\n\r\n", file.len());
            stream.write_all(head.as_bytes())?;
            stream.write_all(&file[..file.len() / 2])
        }
        (_, None) => http::respond(stream, 404, &[], "no such file"),
        (None, Some(file)) => http::respond_bytes(stream, 200, &kind, &file),
    }
}
