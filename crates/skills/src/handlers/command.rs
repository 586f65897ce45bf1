//! Skills that run a program: no shell, a clean environment, a folder of its own, and nothing left behind, whether it
//! ends by itself, times out or is cancelled.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use adjutant_config::document::{Node, Problems, Table};
use adjutant_l10n::{http, programs};
use adjutant_sandbox::{Launcher, Permissions, Processes};
use adjutant_types::{ErrorText, FromCall, FromConfig, Own, ours};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{Child, Command};

use super::http::without;
use crate::arguments::Argument;
use crate::template::{Place, Template};
use crate::{Output, SkillError};

/// How much of a program's output is kept, unless the skill says otherwise.
pub(crate) const OUTPUT: usize = 64 * 1024;
/// The most that a skill can ask for.
const MAX_OUTPUT: usize = 1 << 20;
/// How much of a failed program's error output is shown, in bytes.
const SHOWN: usize = 2048;

#[derive(Debug, Clone)]
pub struct CommandHandler {
    program: String,
    words: Vec<Template>,
    output_cap: usize,
    permissions: Permissions,
}

impl CommandHandler {
    /// Reads `command = ["prog", "{{arg}}"]`, or `command = { argv = [...], output_cap = 1000 }`.
    pub(crate) fn read(
        node: &Node,
        outer: Table,
        arguments: &[Argument],
        problems: &mut Problems<'_>,
    ) -> Option<Self> {
        let (table, key) = match node.as_table() {
            Some(_) => (Table::of(node, "the command", problems)?, "argv"),
            None => (outer, "command"),
        };
        let (mut output_cap, mut permissions) = (OUTPUT, Permissions::default());
        if key == "argv" {
            table.only(&["argv", "output_cap", "network", "read", "write"], problems);
            output_cap = read_cap(table, problems);
            permissions = read_permissions(table, problems);
        }
        let words = table.texts(key, problems);
        let Some(((program, at), words)) = words.split_first() else {
            problems.add(table.place(key), "the command needs at least a program: [\"date\", \"-u\"]");
            return None;
        };
        if program.trim().is_empty() || program.contains("{{") || program.contains("{%") {
            problems.add(*at, "the program must be a fixed name, without a template");
        }
        if program.contains('/') && !program.starts_with('/') {
            problems.add(*at, "a program is a name found in PATH, or an absolute path");
        }
        let fixed = words.iter().map(|(word, _)| *word).filter(|word| !word.contains('{'));
        let permissions = permissions.with_script(fixed);
        let mut checked = Vec::new();
        for (word, at) in words {
            match Template::new(word, Place::Word, arguments) {
                Ok(template) => checked.push(template),
                Err(error) => problems.add(*at, format!("`command`: {error}")),
            }
        }
        Some(Self { program: (*program).to_owned(), words: checked, output_cap, permissions })
    }

    /// Checks that the program is there and may be run.
    pub(super) fn check_program(&self) -> Result<(), SkillError> {
        match adjutant_sandbox::find(&self.program).is_some() {
            true => Ok(()),
            false => Err(SkillError::tool(ours!(
                "the program '{}' is not installed (not found in PATH), or you may not run it",
                FromConfig(&self.program)
            ))),
        }
    }

    /// The permissions of the program besides its own folder.
    pub(super) fn permissions(&self) -> &Permissions {
        &self.permissions
    }

    /// `date -u {{format}}`.
    pub fn describe(&self) -> String {
        let words = self.words.iter().map(Template::source);
        std::iter::once(self.program.as_str()).chain(words).collect::<Vec<_>>().join(" ")
    }

    fn words(&self, arguments: &Value) -> Result<Vec<String>, SkillError> {
        let (mut words, mut options_are_over) = (Vec::new(), false);
        for template in &self.words {
            let Some(word) = template.render(arguments)? else { continue };
            // A model's argument must not become an option that the skill's author didn't think of.
            if word.starts_with('-') && template.begins_with_value() && !options_are_over {
                let message = ours!(programs::option, FromCall(word), FromConfig(&self.program));
                return Err(SkillError::params(message));
            }
            options_are_over |= template.source() == "--";
            words.push(word);
        }
        Ok(words)
    }
}

fn read_cap(table: Table, problems: &mut Problems<'_>) -> usize {
    let Some(node) = table.get("output_cap") else { return OUTPUT };
    match node.json().as_u64().and_then(|number| usize::try_from(number).ok()) {
        Some(cap) if (1..=MAX_OUTPUT).contains(&cap) => cap,
        _ => {
            problems.add(node.at, format!("`output_cap` must be a number of bytes from 1 to {MAX_OUTPUT}"));
            OUTPUT
        }
    }
}

fn read_permissions(table: Table, problems: &mut Problems<'_>) -> Permissions {
    let network = table.flag("network", problems).unwrap_or(false);
    let mut paths = |key| {
        let paths = table.texts(key, problems);
        for (_, at) in paths.iter().filter(|(path, _)| !path.starts_with('/')) {
            problems.add(*at, format!("`{key}` needs absolute paths"));
        }
        paths.into_iter().map(|(path, _)| PathBuf::from(path)).collect()
    };
    Permissions { network, read: paths("read"), write: paths("write"), ..Permissions::default() }
}

/// Runs the program in a fresh folder below `work_dir`, which is removed afterwards. A failure is reported with the
/// last lines of its error output.
pub async fn call(
    handler: &CommandHandler,
    arguments: &Value,
    work_dir: &Path,
    launcher: &Launcher,
) -> Result<Output, SkillError> {
    let run = Run {
        program: &handler.program,
        words: handler.words(arguments)?,
        output_cap: handler.output_cap,
        permissions: &handler.permissions,
        env: &[],
        hint: programs::permit_in_file(),
    };
    let folder = WorkFolder::new(work_dir, run.program)?;
    run.in_folder(&folder.0, &folder.0, launcher).await
}

pub(crate) struct Run<'a> {
    pub(crate) program: &'a str,
    pub(crate) words: Vec<String>,
    pub(crate) output_cap: usize,
    pub(crate) permissions: &'a Permissions,
    /// Its environment besides what every program has; secrets.
    pub(crate) env: &'a [(&'a str, &'a str)],
    /// Where an owner permits more.
    pub(crate) hint: String,
}

impl Run<'_> {
    /// Runs it with a home folder, in `place`, which is that folder or one inside.
    pub(crate) async fn in_folder(
        self,
        home: &Path,
        place: &Path,
        launcher: &Launcher,
    ) -> Result<Output, SkillError> {
        let program = self.program;
        let tool = |message: ErrorText| SkillError::tool(message);
        let name = FromConfig(program);
        let command = launcher.command(program, &self.words, home, self.permissions);
        let started = command.and_then(|mut command| {
            command.envs(self.env.iter().copied()).current_dir(place);
            start(command)
        });
        // It is dropped before the folder, which is the caller's: first all processes end, then the folder goes.
        let (mut child, processes) = started.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => tool(ours!(programs::not_installed, name)),
            _ => tool(ours!(programs::not_started, name, Own(error))),
        })?;
        let (mut out, mut err) = (Kept::new(self.output_cap), Kept { is_end: true, ..Kept::new(OUTPUT) });
        // The processes that the program leaves running end with it, which closes the pipes.
        tokio::join!(out.fill(child.stdout.take()), err.fill(child.stderr.take()));
        let status = child.wait().await;
        drop(processes);
        let status = status.map_err(|error| tool(ours!(programs::contact_lost, name, Own(error))))?;
        let secrets: Vec<String> = self.env.iter().map(|(_, secret)| (*secret).to_owned()).collect();
        if status.success() {
            Ok(output(program, without(out.text(), &secrets), out.is_cut()))
        } else {
            let said = without(String::from_utf8_lossy(&err.bytes).into_owned(), &secrets);
            Err(tool(ending(program, status, &said, self.hint)))
        }
    }
}

fn start(mut command: Command) -> io::Result<(Child, Processes)> {
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let processes = Processes::of(&child)?;
    Ok((child, processes))
}

/// The start of a stream, or its end; the rest is read and dropped.
struct Kept {
    bytes: Vec<u8>,
    cap: usize,
    is_end: bool,
    length: u64,
}

impl Kept {
    fn new(cap: usize) -> Self {
        Self { bytes: Vec::new(), cap, is_end: false, length: 0 }
    }

    async fn fill(&mut self, stream: Option<impl AsyncRead + Unpin>) {
        let Some(mut stream) = stream else { return };
        let mut buffer = vec![0; 16 * 1024];
        while let Ok(read @ 1..) = stream.read(&mut buffer).await {
            let room = if self.is_end { read } else { self.cap - self.bytes.len() };
            self.bytes.extend_from_slice(&buffer[..read.min(room)]);
            let over = self.bytes.len().saturating_sub(self.cap);
            self.bytes.drain(..over);
            self.length += read as u64;
        }
    }

    fn text(&self) -> String {
        let mut text = String::from_utf8_lossy(&self.bytes).trim_end().to_owned();
        if self.is_cut() {
            text.push_str(&format!("\n{}", programs::cut(self.cap, self.length)));
        }
        text
    }

    fn is_cut(&self) -> bool {
        self.length > self.bytes.len() as u64
    }
}

fn output(program: &str, text: String, is_cut: bool) -> Output {
    let json = (!is_cut).then(|| serde_json::from_str::<Value>(&text).ok()).flatten();
    let message = json.as_ref().and_then(|json| json.get("summary")).and_then(Value::as_str);
    let summary = match (&json, message) {
        (_, Some(message)) => message.to_owned(),
        (Some(Value::Array(_) | Value::Object(_)), None) => programs::answered(program),
        (Some(Value::String(message)), None) => message.clone(),
        _ if text.is_empty() => programs::no_output(program),
        _ => text,
    };
    Output::new(summary, json.unwrap_or_default())
}

/// The last whole lines of a text, as far as they are shown; of a line that is longer its end.
fn last_lines(text: &str) -> String {
    let text = text.trim();
    let end = &text[text.ceil_char_boundary(text.len().saturating_sub(SHOWN))..];
    match end.split_once('\n') {
        _ if end.len() == text.len() => end.to_owned(),
        Some((_, lines)) => lines.to_owned(),
        None => format!("…{end}"),
    }
}

fn ending(program: &str, status: ExitStatus, said: &str, hint: String) -> ErrorText {
    let last = last_lines(said);
    let program = FromConfig(program);
    let mut message = match (status.code(), status.signal()) {
        (Some(code), _) => ours!(programs::ended_with_status, program, Own(code)),
        (None, Some(signal)) => ours!(programs::ended_by_signal, program, Own(signal)),
        (None, None) => ours!(programs::ended_badly, program),
    };
    if !last.is_empty() {
        message = ours!(http::with_words, message, last);
    }
    if adjutant_sandbox::was_denied(said) { ours!(programs::denied, message, Own(hint)) } else { message }
}

/// A call's own folder; removed with all that is in it when it is dropped.
pub(crate) struct WorkFolder(pub(crate) PathBuf);

impl WorkFolder {
    pub(crate) fn new(work_dir: &Path, program: &str) -> Result<Self, SkillError> {
        let failed = |error: io::Error| ours!(programs::no_folder, FromConfig(program), Own(error));
        Self::create(work_dir).map_err(|error| SkillError::tool(failed(error)))
    }

    fn create(work_dir: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        std::fs::create_dir_all(work_dir)?;
        let work_dir = work_dir.canonicalize()?;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = work_dir.join(format!("run-{}-{number}", std::process::id()));
            match std::fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self(path)),
                // Left by an earlier process that had the same id.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Drop for WorkFolder {
    fn drop(&mut self) {
        // A process that is just ending may still write into it, so we try twice; then the next start removes it.
        if std::fs::remove_dir_all(&self.0).is_err() && std::fs::remove_dir_all(&self.0).is_err() {
            tracing::warn!(folder = %self.0.display(), "can't remove a command's folder");
        }
    }
}

#[cfg(test)]
mod tests {
    use adjutant_test_support::programs::launcher;
    use serde_json::json;
    use tempfile::TempDir;

    use super::*;
    use crate::{ErrorKind, Handler, parse};

    /// A command skill with the optional text `a` and the optional number `n`.
    fn handler(command: &str) -> CommandHandler {
        let toml = format!(
            "domain = 'c'\nsummary = 'C'\n[[skill]]\nname = 'c.run'\nsummary = 'R'\nrisk = 'low'\n\
             handler = {{ command = {command} }}\n[skill.parameters.properties]\na = {{ type = 'string' }}\n\
             n = {{ type = 'integer' }}\n"
        );
        let domain = parse("c.toml", &toml, &[]).unwrap();
        let Handler::Command(handler) = &domain.skills[0].handler else { panic!("no command") };
        handler.clone()
    }

    async fn run(command: &str, arguments: Value) -> Result<Output, SkillError> {
        let folder = TempDir::new().unwrap();
        let result = call(&handler(command), &arguments, folder.path(), &launcher()).await;
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "its folder is removed");
        result
    }

    async fn words(command: &str, arguments: Value) -> String {
        run(command, arguments).await.unwrap().summary
    }

    #[tokio::test]
    async fn arguments_are_words_and_no_shell_sees_them() {
        let odd = json!({"a": "x; touch /tmp/y $(id) `id` 'q' \"d\" *\n", "n": 3});
        let text = words(r#"["printf", "<%s>", "{{a}}", "n={{n}}", "end"]"#, odd).await;
        insta::assert_snapshot!(text, @r#"
        <x; touch /tmp/y $(id) `id` 'q' "d" *
        ><n=3><end>
        "#);
        assert_eq!(words(r#"["printf", "<%s>", "{{a}}", "n={{n}}", "end"]"#, json!({})).await, "<end>");
        assert_eq!(words(r#"["printf", "<%s>", "n={{n|default(7)}}"]"#, json!({})).await, "<n=7>");
        assert_eq!(words(r#"["printf", "<%s>", "{{a}}"]"#, json!({"a": ""})).await, "<>");
    }

    #[tokio::test]
    async fn a_value_does_not_become_an_option() {
        let error = run(r#"["ls", "{{a}}"]"#, json!({"a": "-la"})).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Params);
        insta::assert_snapshot!(error, @"“-la” begins with “-”, which ls may take for an option");
        assert_eq!(words(r#"["printf", "--", "<%s>", "{{a}}"]"#, json!({"a": "-la"})).await, "<-la>");
        assert_eq!(words(r#"["printf", "<%s>", "a={{a}}"]"#, json!({"a": "-la"})).await, "<a=-la>");
        assert!(run(r#"["printf", "{{a}}"]"#, json!({"a": "x\0y"})).await.is_err());
    }

    #[tokio::test]
    async fn the_environment_is_clean_and_the_folder_its_own() {
        let text = words(r#"["sh", "-c", "env | cut -d= -f1 | sort | tr '\\n' ' '; test \"$HOME\" = \"$PWD\" && echo home; cat"]"#, json!({})).await;
        let names: Vec<&str> =
            text.split_whitespace().filter(|name| !["_", "SHLVL", "OLDPWD"].contains(name)).collect();
        assert_eq!(names, ["HOME", "LANG", "PATH", "PWD", "TMPDIR", "home"]);
    }

    #[tokio::test]
    async fn json_becomes_data() {
        let output = run(r#"["echo", '{"summary": "Two hits", "hits": [1, 2]}']"#, json!({})).await.unwrap();
        assert_eq!((output.summary.as_str(), &output.data["hits"]), ("Two hits", &json!([1, 2])));
        assert!(!output.ours);
        let output = run(r#"["echo", "[1]"]"#, json!({})).await.unwrap();
        assert_eq!((output.summary.as_str(), &output.data), ("echo answered.", &json!([1])));
        let output = run(r#"["echo", "plain words"]"#, json!({})).await.unwrap();
        assert_eq!((output.summary.as_str(), &output.data), ("plain words", &Value::Null));
    }

    #[tokio::test]
    async fn a_bad_end_is_told_with_the_last_lines_of_stderr() {
        let fail =
            |command: &'static str| async move { run(command, json!({})).await.unwrap_err().to_string() };
        insta::assert_snapshot!(fail(r#"["sh", "-c", "echo first >&2; echo last >&2; echo >&2; exit 3"]"#).await, @"
        sh ended with status 3: first
        last
        ");
        insta::assert_snapshot!(fail(r#"["sh", "-c", "kill -9 $$"]"#).await, @"sh was ended by signal 9");
        insta::assert_snapshot!(fail(r#"["no-such-program-here"]"#).await, @"the program “no-such-program-here” is not installed (not found in PATH)");
        let long = fail(r#"["sh", "-c", "seq 1 20000 >&2; exit 1"]"#).await;
        let numbers = long.trim_start_matches("sh ended with status 1: ").lines();
        let numbers: Vec<u32> = numbers.map(|line| line.parse().unwrap()).collect();
        assert_eq!(numbers.last(), Some(&20_000), "the end is shown, however much there was");
        assert!((300..400).contains(&numbers.len()) && numbers.is_sorted(), "{long}");
        assert_eq!(last_lines(&"x".repeat(5000)).chars().count(), 2049);
    }

    #[tokio::test]
    async fn much_output_is_cut_and_drained() {
        let output = run(r#"{ argv = ["sh", "-c", "yes | head -c 3000000"], output_cap = 10 }"#, json!({}))
            .await
            .unwrap();
        insta::assert_snapshot!(output.summary, @"
        y
        y
        y
        y
        y
        [cut: the first 10 of 3000000 bytes]
        ");
    }

    #[tokio::test]
    async fn an_endless_program_dies_with_all_its_children_when_the_call_is_dropped() {
        let folder = TempDir::new().unwrap();
        let marks = TempDir::new().unwrap();
        let mark = marks.path().join("pid");
        // A child of the program, which a plain kill of the program would leave running.
        let argv = r#"["sh", "-c", "sh -c 'echo $$ > $0.new; mv $0.new $0; yes' $0 & wait", "{{a}}"]"#;
        let handler = handler(&format!("{{ argv = {argv}, write = ['{}'] }}", marks.path().display()));
        let arguments = json!({"a": mark});
        {
            let launcher = launcher();
            let call = call(&handler, &arguments, folder.path(), &launcher);
            let started = async {
                while !mark.exists() {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                _ = call => panic!("it ended by itself"),
                () = started => {}
            }
        }
        let pid = std::fs::read_to_string(&mark).unwrap();
        // Gone, or dead and waiting to be buried.
        let state = || std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        while !(state().is_empty() || state().contains(") Z ")) {
            tokio::task::yield_now().await;
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    async fn what_a_program_leaves_running_ends_with_it() {
        assert_eq!(
            words(r#"["sh", "-c", "yes > /dev/null & sleep 1000 & echo done"]"#, json!({})).await,
            "done"
        );
    }
}
