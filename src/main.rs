//! The command `adjutant`: arguments, TLS, logging, and over to the command asked for.

use std::process::ExitCode;

use adjutant::cli::{self, Cli, CliError};
use adjutant::config::Env;
use adjutant::{heap, logging};
use clap::Parser;

fn main() -> ExitCode {
    heap::keep_together();
    run(Cli::parse()).unwrap_or_else(|error| error.report())
}

fn run(cli: Cli) -> Result<ExitCode, CliError> {
    let env = Env::of_process();
    let logs = logging::init(&env, cli.command.log_filter())?;
    // With two providers in the tree rustls wants to be told which; an error says that it was told before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::failed("no threads could be started", error))?;
    let result = runtime.block_on(cli::run(cli, &env, &logs));
    // A thread that still waits for a line of stdin must not hold the process back.
    runtime.shutdown_background();
    result
}
