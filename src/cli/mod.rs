//! The commands, a file each, and what they share: how a command ends and how it prints.

mod access;
mod args;
mod chat;
mod db;
mod error;
mod eval;
mod mcp;
mod memory;
mod plan;
mod roles;
mod serve;
mod setup;
mod skills;
mod trace;
mod usage;
mod workflow;

use std::io::{self, BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use adjutant_config::{Config, Env};
use adjutant_console::render;
use adjutant_store::Store;
use adjutant_types::clock::SystemClock;

use crate::logging::LogFilter;
use crate::service::open_store;
use access::{account, oauth, pair, secrets, web};
use setup::{config, doctor, generate, init, next, service, settings, update};

pub use args::Cli;
use args::{
    ChatArgs, Command, ConfigCommand, DbCommand, EvalArgs, EvalCommand, InitArgs, McpCommand, MemoryCommand,
    OAuthCommand, PairCommand, PlanArgs, PlanCommand, ReplayArgs, RolesCommand, RunArgs, SecretsCommand,
    ServiceCommand, SkillsCommand, TraceArgs, UsageArgs, UsageBy, WebCommand, WorkflowArgs, WorkflowCommand,
};
pub use error::CliError;

pub(crate) type Result<T, E = CliError> = std::result::Result<T, E>;

pub async fn run(cli: Cli, env: &Env, logs: &LogFilter) -> Result<ExitCode> {
    let load = || Config::load(cli.config.as_deref(), env);
    match cli.command {
        Command::Chat(args) if args.is_interactive() => {
            chat::run(init::with_found_model(load()?, env).await?, args).await
        }
        Command::Chat(args) => chat::run(load()?, args).await,
        Command::Serve => serve::run(load()?, env, logs).await,
        Command::Doctor { json } => doctor::run(load(), json).await,
        Command::Init(args) => match init::run(cli.config.as_deref(), env, &args).await? {
            Some(path) => serve::run(Config::load(Some(&path), env)?, env, logs).await,
            None => Ok(ExitCode::SUCCESS),
        },
        Command::Pair(command) => pair::run(load()?, command).await,
        Command::Memory(command) => memory::run(load()?, command).await,
        Command::Skills(command) => skills::command(&load()?, &command).await,
        Command::Mcp(command) => mcp::run(load()?, command).await,
        Command::Account(command) => account::run(load()?, command).await,
        Command::Oauth(command) => oauth::run(load()?, command).await,
        Command::Secrets(command) => secrets::run(load()?, command).await,
        Command::Roles(command) => roles::command(&load()?, &command),
        Command::Workflow(args) => workflow::run(&load()?, &args).await,
        Command::Plan(args) => plan::run(&load()?, &args).await,
        Command::Trace(args) => trace::run(load()?, args).await,
        Command::Usage(args) => usage::run(load()?, args).await,
        Command::Eval(args) => eval::run(&load()?, &args).await,
        Command::Config(ConfigCommand::Check) => config::check(cli.config.as_deref(), env),
        Command::Config(ConfigCommand::Set { settings }) => {
            config::set(cli.config.as_deref(), env, &settings)
        }
        Command::Db(command) => db::run(load()?, command).await,
        Command::Update { check } => update::run(&load()?, check).await,
        Command::Web(command) => web::run(load()?, command).await,
        Command::Service(command) => service::run(&command, env),
        Command::Completions { shell } => generate::completions(shell),
        Command::Man { folder } => generate::man(&folder),
    }
}

/// The width of the terminal at stdout, or 100 columns without one.
fn columns() -> usize {
    Some(render::columns(io::stdout())).filter(|columns| *columns > 0).unwrap_or(100)
}

/// Asks on the terminal; `instead` says what to use without one.
fn confirmed(sentence: &str, instead: &str) -> Result<bool> {
    Ok(matches!(answer(sentence, instead)?.as_str(), "yes" | "y"))
}

/// The answer in small letters.
fn answer(sentence: &str, instead: &str) -> Result<String> {
    if !io::stdin().is_terminal() {
        return Err(CliError::Usage(format!("can't ask for confirmation without a terminal; use {instead}")));
    }
    let failed = |error: io::Error| CliError::failed("can't ask for confirmation", error);
    let mut stderr = io::stderr();
    write!(stderr, "{sentence} yes/no: ").map_err(failed)?;
    stderr.flush().map_err(failed)?;
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer).map_err(failed)?;
    Ok(answer.trim().to_ascii_lowercase())
}

/// Writes a file that must not exist yet, and creates its folder; an empty path is the current folder.
fn write_new(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create_new(path)?.write_all(text.as_bytes())
}

/// Asks the store, and closes it whatever comes of that.
async fn on_store<T>(config: &Config, question: impl AsyncFnOnce(&Store) -> Result<T>) -> Result<T> {
    let store = open_store(config, Arc::new(SystemClock)).await?;
    let answer = question(&store).await;
    store.close().await;
    answer
}

/// As JSON for people and programs, with the end of its line.
fn json(value: &impl serde::Serialize) -> Result<String> {
    let text = serde_json::to_string_pretty(value);
    Ok(text.map_err(|error| CliError::failed("can't write JSON", error))? + "\n")
}

/// Ends a command that has done its work and says this.
fn say(text: &str) -> Result<ExitCode> {
    out(text).map(|()| ExitCode::SUCCESS)
}

/// The same where the exit status tells whether all is well.
fn conclude(text: &str, is_ok: bool) -> Result<ExitCode> {
    out(text).map(|()| if is_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Sentences, wrapped if stdout is a terminal.
fn wrapped(text: &str) -> String {
    render::plain(text, render::columns(io::stdout()))
}

/// Writes sentences to stdout, wrapped if that is a terminal.
fn tell(text: &str) -> Result<()> {
    out(&wrapped(text))
}

/// Writes to stdout; a closed pipe is an error, not a panic.
pub(crate) fn out(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| CliError::failed("can't write to stdout", error))
}
