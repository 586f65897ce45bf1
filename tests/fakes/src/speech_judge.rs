//! Real speech without a network: a service that speaks with espeak-ng and understands with pocketsphinx, both from PyPI.
//! What it may be told is in the grammar of `speech_judge.py`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use crate::python;

const PACKAGES: [&str; 4] =
    ["espeakng-loader==0.2.4", "numpy==2.4.6", "pocketsphinx==5.1.1", "soundfile==0.14.0"];

/// The service; it stops when it is dropped.
pub struct SpeechJudge {
    process: Child,
    port: u16,
}

impl SpeechJudge {
    /// Starts it; none where its packages can't be installed.
    ///
    /// # Errors
    /// When it must be there and isn't, or doesn't start.
    pub fn start() -> Result<Option<Self>, String> {
        let Some(python) = python::with("speech-venv", &PACKAGES, "the tests on real speech")? else {
            return Ok(None);
        };
        let mut command = Command::new(python);
        command.args(["-c", include_str!("speech_judge.py")]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.spawn().map_err(|error| error.to_string())?;
        let mut line = String::new();
        let told = process.stdout.take().map(BufReader::new).map(|mut told| told.read_line(&mut line));
        let port = line.trim().parse().map_err(|_| format!("the judge of speech didn't start: {told:?}"))?;
        Ok(Some(Self { process, port }))
    }

    /// What to write as `base_url`.
    pub fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/", self.port)
    }

    /// These words as Opus in Ogg.
    ///
    /// # Errors
    /// When it can't be reached.
    pub fn say(&self, words: &str) -> Result<Vec<u8>, String> {
        let body = json!({"model": "espeak", "voice": "en", "input": words}).to_string();
        self.ask("speech", "application/json", body.as_bytes())
    }

    /// What it understands in a sound.
    ///
    /// # Errors
    /// When it can't be reached, or its answer is none.
    pub fn hear(&self, sound: &[u8]) -> Result<String, String> {
        let head = b"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.ogg\"\r\n\
            Content-Type: audio/ogg\r\nContent-Transfer-Encoding: binary\r\n\r\n";
        let body = [head.as_slice(), sound, b"\r\n--x--\r\n"].concat();
        let answer = self.ask("transcriptions", "multipart/form-data; boundary=x", &body)?;
        let heard: Value = serde_json::from_slice(&answer).map_err(|error| error.to_string())?;
        Ok(heard["text"].as_str().unwrap_or_default().to_owned())
    }

    fn ask(&self, path: &str, kind: &str, body: &[u8]) -> Result<Vec<u8>, String> {
        let head = format!(
            "POST /v1/audio/{path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\n\
             content-length: {}\r\n\r\n",
            body.len()
        );
        let ask = || {
            let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
            stream.write_all(head.as_bytes())?;
            stream.write_all(body)?;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer)?;
            Ok::<_, std::io::Error>(answer)
        };
        let answer = ask().map_err(|error| error.to_string())?;
        let head = answer.windows(4).position(|window| window == b"\r\n\r\n").ok_or("no answer")?;
        Ok(answer[head + 4..].to_vec())
    }
}

impl Drop for SpeechJudge {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
