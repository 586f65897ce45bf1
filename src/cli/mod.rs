//! The commands, a file each. This one holds what they share: how a command ends and what it may print.

mod args;
mod chat;
mod completions;
mod config;
mod db;
mod doctor;
mod error;
mod init;
mod man;
mod pair;
mod serve;
mod service;
mod skills;
mod trace;
mod usage;
mod workflow;

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use crate::config::{Config, Env};
use crate::logging::Logs;

pub use args::{
    ChatArgs, Cli, Command, CompletionsArgs, ConfigArgs, ConfigCommand, DbArgs, DbCommand, DoctorArgs,
    InitArgs, ManArgs, PairArgs, PairCommand, RunArgs, ServeArgs, ServiceArgs, ServiceCommand, SkillsArgs,
    SkillsCommand, TraceArgs, UsageArgs, UsageBy, WorkflowArgs, WorkflowCommand,
};
pub use error::CliError;

/// Runs the command that was asked for.
///
/// # Errors
/// [`CliError`], which knows its exit status and how it is reported.
pub async fn run(cli: Cli, env: &Env, logs: &Logs) -> Result<ExitCode, CliError> {
    let load = || Config::load(cli.config.as_deref(), env);
    match cli.command {
        Command::Chat(args) => chat::run(load()?, args).await,
        Command::Serve(_) => serve::run(load()?, env, logs).await,
        Command::Doctor(args) => doctor::run(load(), &args).await,
        Command::Init(args) => init::run(cli.config.as_deref(), env, &args).await,
        Command::Pair(args) => pair::run(load()?, args).await,
        Command::Skills(args) => skills::command(&load()?, &args),
        Command::Workflow(args) => workflow::run(&load()?, &args).await,
        Command::Trace(args) => trace::run(load()?, args).await,
        Command::Usage(args) => usage::run(load()?, args).await,
        Command::Config(args) => config::run(&load()?, &args),
        Command::Db(args) => db::run(load()?, args).await,
        Command::Service(args) => service::run(&args, env),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    }
}

/// How wide the terminal at stdout is; 100 columns where there is none.
fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok();
    size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(100)
}

/// Writes a file that must not exist yet, and its folder where that is missing; an empty one is here.
fn write_new(folder: &Path, path: &Path, text: &str) -> io::Result<()> {
    if !folder.as_os_str().is_empty() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create_new(path)?.write_all(text.as_bytes())
}

/// Writes an answer to stdout; a reader that has gone away is an error like any other, not a panic.
pub(crate) fn out(text: &str) -> Result<(), CliError> {
    let mut stdout = io::stdout().lock();
    let written = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    written.map_err(|error| CliError::failed("the answer could not be written to stdout", error))
}
