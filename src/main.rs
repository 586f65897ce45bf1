//! The `adjutant` program: parses arguments, sets up TLS and logging, runs the command.

use std::process::ExitCode;

use adjutant::cli::{self, Cli, CliError};
use adjutant::{heap, logging};
use adjutant_config::Env;
use adjutant_files::apart;
use adjutant_models::provider::install_tls;
use clap::Parser;
use rustix::process::{DumpableBehavior, set_dumpable_behavior};

fn main() -> ExitCode {
    let mut words = std::env::args_os().skip(1);
    heap::use_one_arena();
    match words.next() {
        Some(word) if word == apart::COMMAND => return apart::run(words.next()),
        Some(word) if word == adjutant_sandbox::COMMAND => return adjutant_sandbox::run(words),
        _ => {}
    }
    // Without it, another program of the same user could read our secrets from our memory. (prctl(2))
    let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    adjutant_config::clear_initial_environment();
    run(Cli::parse()).unwrap_or_else(|error| error.report())
}

fn run(cli: Cli) -> Result<ExitCode, CliError> {
    let env = Env::of_process();
    let logs = logging::init(&env, cli.log_filter())?;
    install_tls();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CliError::failed("can't start threads", error))?;
    let result = runtime.block_on(cli::run(cli, &env, &logs));
    // Don't wait for a thread that is still reading stdin.
    runtime.shutdown_background();
    result
}
