//! The `adjutant` program: parses arguments, sets up TLS and logging, runs the command.

use std::process::ExitCode;

use adjutant::cli::{self, Cli, CliError};
use adjutant::config::Env;
use adjutant::files::apart;
use adjutant::{heap, logging};
use clap::Parser;

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    if words.next().is_some_and(|word| word == apart::COMMAND) {
        return apart::run(words.next());
    }
    heap::use_one_arena();
    run(Cli::parse()).unwrap_or_else(|error| error.report())
}

fn run(cli: Cli) -> Result<ExitCode, CliError> {
    let env = Env::of_process();
    let logs = logging::init(&env, cli.log_filter())?;
    // Our dependencies bring two providers, so rustls needs a default; an error means it has one already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::failed("can't start threads", error))?;
    let result = runtime.block_on(cli::run(cli, &env, &logs));
    // Don't wait for a thread that is still reading stdin.
    runtime.shutdown_background();
    result
}
