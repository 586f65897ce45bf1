//! `adjutant workflow run`: a message in a conversation of its own, with the machinery of `chat`. Questions and progress go to
//! stderr, so that stdout has the report alone.

use std::io::{self, IsTerminal, Write, stderr, stdin};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_chat::{ChatPort, Delivery, EventId, Inbound, Limits, Outbound, Progress, Reconciliation};
use adjutant_config::Config;
use adjutant_console::input::{self, Event, Source};
use adjutant_console::json::{Entry, MAX_LENGTH};
use adjutant_console::{ConsolePort, Style};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Store, StoreError, runs as rows};
use adjutant_types::clock::{self, SharedClock, SystemClock};
use adjutant_types::{RunStatus, TurnStatus};
use adjutant_workflows::command::written;
use adjutant_workflows::language::inputs::resolve;
use adjutant_workflows::run::RunRequest;
use adjutant_workflows::trace::one_line;
use adjutant_workflows::view::report::Report;
use adjutant_workflows::{Workflow, is_name};
use async_trait::async_trait;
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use tempfile::TempDir;
use tokio::sync::mpsc::Receiver;

use super::{Workspace, given, runs};
use crate::cli::args::RunArgs;
use crate::cli::chat::{CHANNEL, PATIENCE, Session};
use crate::cli::{CliError, Result, columns, out, write_new};

pub(super) async fn run(workspace: &Workspace<'_>, args: &RunArgs) -> Result<ExitCode> {
    if let Some(path) = args.output.as_deref().filter(|path| path.exists()) {
        return Err(CliError::Usage(format!("{} already exists; choose another file", path.display())));
    }
    let is_person = stdin().is_terminal() && stderr().is_terminal();
    let (_, workflow) = workspace.find(&args.name)?;
    let line = match (&args.of, &args.from) {
        (Some(of), Some(from)) => again(workspace.config, &workflow, of, from).await?,
        _ => line(&workflow, args, is_person)?,
    };
    let mut config = workspace.config.clone();
    let temporary =
        if super::is_file(&args.name) { Some(add_temporary(&mut config, &workflow)?) } else { None };
    let (end, conversation) = converse(&config, "workflow", line).await;
    drop(temporary);
    match end? {
        RunEnd::Report(report) => print_report(*report, args, &conversation),
        RunEnd::Answered(turn) => {
            let open =
                || format!("the run has not begun; to go on: adjutant chat --conversation {conversation}");
            Err(CliError::plain(turn.answer.unwrap_or_else(open)))
        }
    }
}

/// The outcome of a line that runs something.
pub(in crate::cli) enum RunEnd {
    /// It ran, or runs.
    Report(Box<Report>),
    /// It never began: its turn's answer says why, if there is one.
    Answered(Box<TurnRow>),
}

/// Says a line that runs something in a conversation of its own, and watches it. Returns the conversation's name, too.
pub(in crate::cli) async fn converse(
    config: &Config,
    prefix: &str,
    line: String,
) -> (Result<RunEnd>, String) {
    let is_person = stdin().is_terminal() && stderr().is_terminal();
    let clock: SharedClock = Arc::new(SystemClock);
    let conversation = format!("{prefix}-{}", clock::new_id(&*clock));
    let before = if is_person { tcgetattr(stdin()).ok() } else { None };
    let done = RunSession { config, clock, name: &conversation, is_person }.run(line).await;
    if let Some(before) = before {
        // The line editor may have left the terminal in raw mode.
        let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
    }
    (done, conversation)
}

/// The message that runs it. Without a person at the terminal, missing inputs are an error.
fn line(workflow: &Workflow, args: &RunArgs, is_person: bool) -> Result<String> {
    let given = given(&args.input);
    let inputs = resolve(workflow, &given).map_err(|problems| CliError::Usage(problems.join("\n")))?;
    if !is_person && !inputs.missing.is_empty() {
        let missing = inputs.missing.iter().map(|input| format!("--input {}=...", input.name));
        let missing: Vec<String> = missing.collect();
        return Err(CliError::Usage(format!("{} needs {}", workflow.name, missing.join(" "))));
    }
    let (workflow, given) = (workflow.name.clone(), given.into_iter().collect());
    let line = written(&RunRequest { workflow, given, ..RunRequest::default() });
    match line.chars().count() {
        0..=MAX_LENGTH => Ok(line),
        _ => Err(CliError::Usage(format!(
            "the inputs are longer than {MAX_LENGTH} characters together; name a file in a `file_path` input instead"
        ))),
    }
}

/// The message that reruns it from a step.
async fn again(config: &Config, workflow: &Workflow, of: &str, from: &str) -> Result<String> {
    let name = &workflow.name;
    // The run's own file decides whether there is such a step.
    if !is_name(from) {
        return Err(CliError::Usage(format!("'{}' isn't a valid step name", one_line(from))));
    }
    let row = super::on_store(config, async |store| runs::find(store, of).await).await?;
    if row.workflow != *name {
        return Err(CliError::Usage(format!("run {} belongs to {}, not to {name}", row.id, row.workflow)));
    }
    let again = Some((row.id, from.to_owned()));
    Ok(written(&RunRequest { workflow: name.clone(), again, ..RunRequest::default() }))
}

/// Makes a workflow from any file available to this process, by a temporary entry at the front of `[skills] paths`.
fn add_temporary(config: &mut Config, workflow: &Workflow) -> Result<TempDir> {
    let failed =
        |error: io::Error| CliError::failed("the workflow can't be copied to a temporary folder", error);
    let folder = tempfile::tempdir().map_err(failed)?;
    let is_toml = Path::new(&workflow.file).extension().is_some_and(|extension| extension == "toml");
    let subfolder = folder.path().join("workflows");
    let file = subfolder.join(format!("{}.{}", workflow.name, if is_toml { "toml" } else { "yaml" }));
    write_new(&subfolder, &file, &workflow.text).map_err(failed)?;
    config.skills = [vec![folder.path().to_path_buf()], config.skill_paths()].concat();
    Ok(folder)
}

/// Prints the report to stdout or to a file.
fn print_report(mut report: Report, args: &RunArgs, name: &str) -> Result<ExitCode> {
    let json = args.json.then(|| runs::json(&report)).transpose()?;
    if let Some(path) = args.output.as_deref().filter(|_| !report.run.output.is_empty()) {
        let folder = path.parent().unwrap_or(Path::new(""));
        let failed = |error| CliError::failed(format!("{} can't be written", path.display()), error);
        write_new(folder, path, &report.run.output).map_err(failed)?;
        report.run.output = format!("The output is in {}.", path.display());
    }
    out(&json.unwrap_or_else(|| report.text(columns())))?;
    ended(&report, name)
}

/// The exit status of a run; how to go on with one that hasn't ended.
pub(in crate::cli) fn ended(report: &Report, name: &str) -> Result<ExitCode> {
    let note = match report.run.status {
        RunStatus::Waiting => "It is waiting for an answer",
        RunStatus::Running => "It hasn't ended",
        RunStatus::Complete => return Ok(ExitCode::SUCCESS),
        RunStatus::Partial | RunStatus::Failed | RunStatus::Cancelled => return Ok(ExitCode::from(1)),
    };
    // Without a stderr there is nowhere to report it.
    let _ = writeln!(stderr(), "{note}; to go on: adjutant chat --conversation {name}");
    Ok(ExitCode::from(1))
}

/// The conversation that a run is watched in.
struct RunSession<'d> {
    config: &'d Config,
    clock: SharedClock,
    name: &'d str,
    is_person: bool,
}

impl RunSession<'_> {
    async fn run(&self, line: String) -> Result<RunEnd> {
        let ids = self.clock.clone();
        let source = Source {
            channel: CHANNEL.to_owned(),
            conversation: self.name.to_owned(),
            new_id: Arc::new(move || clock::new_id(&*ids)),
        };
        let style = Style::Interactive { conversation: self.name.to_owned() };
        let (clock, conversation) = (self.clock.clone(), self.name.to_owned());
        let stage = |console, store: &Store| -> Arc<dyn ChatPort> {
            Arc::new(RunConsole { console, store: store.clone() })
        };
        let session =
            Session::start_on(self.config, clock, conversation, style, Box::new(stderr()), stage).await?;
        let first = self.say(&source, line);
        let event = first.event().clone();
        // Until the run asks something the terminal is not the person's.
        session.port.turns().sent(&event);
        session.accept(first).await?;
        let watched = session.while_read(self.watch(&session, source, &event)).await;
        let report = async {
            watched?;
            self.report(session.service.store(), &event).await
        };
        let report = report.await;
        session.service.shut_down(PATIENCE).await?;
        report
    }

    fn say(&self, source: &Source, text: String) -> Inbound {
        source.inbound(Entry { conversation: self.name.to_owned(), ..Entry::text(text) })
    }

    /// Watches the run until it ends, waits for somebody else, or the person leaves.
    async fn watch(&self, session: &Session, source: Source, first: &EventId) -> Result<()> {
        let mut events = match self.is_person {
            true => Some(
                input::terminal(session.port.turns(), &self.config.data_dir, source.clone())
                    .map_err(|error| CliError::failed("stdin can't be read", error))?,
            ),
            false => None,
        };
        let mut interrupted = false;
        let over = self.over(session, first);
        tokio::pin!(over);
        loop {
            let next = tokio::select! {
                done = &mut over => return done,
                next = next(&mut events) => next,
            };
            match next {
                Event::Line(inbound) => session.accept(inbound).await?,
                Event::Bad { line, message } => drop(session.port.bad_line(line, &message).await),
                Event::Interrupt if interrupted => {
                    let conversation = self.name;
                    return Err(CliError::plain(format!(
                        "left; what was under way goes on with `adjutant chat --conversation {conversation}`"
                    )));
                }
                Event::Interrupt => {
                    interrupted = true;
                    session.accept(self.say(&source, "/stop".to_owned())).await?;
                }
                Event::Eof => return Ok(()),
            }
        }
    }

    async fn over(&self, session: &Session, first: &EventId) -> Result<()> {
        loop {
            session.service.idle().await;
            let turn = turn(session.service.store(), first).await?;
            let waits = |turn: &TurnRow| turn.status == TurnStatus::Waiting && !self.is_person;
            if turn.is_some_and(|turn| turn.ended_at.is_some() || waits(&turn)) {
                return Ok(());
            }
            // A person answers, or its time comes.
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
    }

    /// The report of the run, or its turn if it never began.
    async fn report(&self, store: &Store, first: &EventId) -> Result<RunEnd> {
        let Some(turn) = turn(store, first).await? else {
            return Err(CliError::plain("the run has not begun"));
        };
        match rows::of_turn(store, &turn.id).await?.first() {
            Some(row) => Ok(RunEnd::Report(Box::new(runs::report(store, row).await?))),
            None => Ok(RunEnd::Answered(Box::new(turn))),
        }
    }
}

async fn turn(store: &Store, first: &EventId) -> Result<Option<TurnRow>, StoreError> {
    turns::of_event(store, &format!("{CHANNEL} {}", first.0)).await
}

/// What the person does; without one their Ctrl-C.
async fn next(events: &mut Option<Receiver<Event>>) -> Event {
    match events {
        Some(events) => events.recv().await.unwrap_or(Event::Eof),
        None => {
            // Where signals can't be listened to, Ctrl-C ends the process.
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
            Event::Interrupt
        }
    }
}

/// The terminal of a run. The last word of its turn is kept back: the report is printed in its place.
struct RunConsole {
    console: Arc<ConsolePort>,
    store: Store,
}

#[async_trait]
impl ChatPort for RunConsole {
    fn channel(&self) -> &str {
        self.console.channel()
    }

    fn limits(&self) -> Limits {
        self.console.limits()
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        let turn = match outbound.turn.as_deref().filter(|_| self.console.wants(outbound)) {
            Some(turn) => turns::by_id(&self.store, &turn.into()).await,
            None => Ok(None),
        };
        match turn {
            Ok(Some(turn)) if turn.ended_at.is_some() => self.console.keep_back(outbound),
            Ok(_) => self.console.deliver(outbound).await,
            Err(_) => Delivery::Retry(None),
        }
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        self.console.reconcile(outbound).await
    }

    async fn progress(&self, progress: &Progress) {
        self.console.progress(progress).await;
    }
}
