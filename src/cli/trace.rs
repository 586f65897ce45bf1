//! `adjutant trace`: what happened in a turn.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use super::{CliError, TraceArgs};
use crate::clock::SystemClock;
use crate::config::Config;
use crate::store::turns::{self, TurnRow};
use crate::store::{Store, StoreError, people};
use crate::trace::{self, Style, one_line};

/// How many turns are named when a beginning fits several.
const NAMED: i64 = 5;

/// Runs `adjutant trace`.
pub(super) async fn run(config: Config, args: TraceArgs) -> Result<ExitCode, CliError> {
    let store = Store::open(config.store.url.expose(), Arc::new(SystemClock)).await.map_err(failed)?;
    let shown = show(&store, &args, style(), &mut io::stdout()).await;
    store.close().await;
    shown.map(|()| ExitCode::SUCCESS)
}

/// Writes the traces that were asked for.
///
/// # Errors
/// When there is no such turn or conversation, and when the store or the writer fails.
pub(crate) async fn show(
    store: &Store,
    args: &TraceArgs,
    style: Style,
    out: &mut (dyn Write + Send),
) -> Result<(), CliError> {
    for (number, turn) in wanted(store, args).await?.iter().enumerate() {
        let trace = trace::load(store, turn, args.calls).await.map_err(failed)?;
        let text = if args.json {
            let json = serde_json::to_string(&trace);
            json.map_err(|error| CliError::failed("the trace can't be written as JSON", error))? + "\n"
        } else {
            let gap = if number > 0 { "\n\n" } else { "" };
            format!("{gap}{}", trace::draw(&trace, style))
        };
        let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        written.map_err(|error| CliError::failed("the answer could not be written to stdout", error))?;
    }
    Ok(())
}

/// The turns that were asked for: at least one.
async fn wanted(store: &Store, args: &TraceArgs) -> Result<Vec<TurnRow>, CliError> {
    if let Some(name) = &args.conversation {
        return of_conversation(store, name).await;
    }
    if args.turn == "last" {
        let last = turns::last(store).await.map_err(failed)?;
        return last
            .map(|turn| vec![turn])
            .ok_or_else(|| CliError::plain("there is no turn yet; `adjutant chat` begins one"));
    }
    let mut found = turns::beginning_with(store, &args.turn, NAMED + 1).await.map_err(failed)?;
    match found.len() {
        0 => Err(CliError::plain(format!(
            "there is no turn {}; `adjutant trace last` shows the last one, `adjutant trace --conversation NAME` all of a conversation",
            one_line(&args.turn)
        ))),
        1 => Ok(found),
        several => {
            found.truncate(NAMED as usize);
            let lines: String = found.iter().map(|turn| format!("\n  {}  {}", turn.id, said(turn))).collect();
            let more = if several > found.len() { "\n  and more" } else { "" };
            let beginning = one_line(&args.turn);
            Err(CliError::plain(format!(
                "several turns begin with '{beginning}'; write more of the id:{lines}{more}"
            )))
        }
    }
}

fn said(turn: &TurnRow) -> String {
    one_line(&turn.text).chars().take(60).collect()
}

async fn of_conversation(store: &Store, name: &str) -> Result<Vec<TurnRow>, CliError> {
    let found = people::conversations_named(store, name).await.map_err(failed)?;
    let conversation = match found.as_slice() {
        [one] => one,
        [] => return Err(CliError::plain(format!("there is no conversation '{}'", one_line(name)))),
        several => {
            let places: Vec<String> =
                several.iter().map(|it| one_line(&format!("{}:{}", it.channel, it.place))).collect();
            let name = one_line(name);
            let places = places.join(", ");
            return Err(CliError::plain(format!(
                "several conversations are called '{name}'; write one of {places}"
            )));
        }
    };
    let turns = turns::of_conversation(store, &conversation.id).await.map_err(failed)?;
    if turns.is_empty() {
        return Err(CliError::plain(format!(
            "there is no turn yet in the conversation '{}'",
            one_line(name)
        )));
    }
    Ok(turns)
}

fn failed(error: StoreError) -> CliError {
    CliError::plain(error.to_string())
}

/// As wide as the terminal, and coloured there unless `NO_COLOR` says otherwise; plain for a pipe.
fn style() -> Style {
    let stdout = io::stdout();
    let colour = stdout.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let size = rustix::termios::tcgetwinsize(&stdout).ok();
    let width = size.map(|size| usize::from(size.ws_col)).filter(|width| *width > 0).unwrap_or(100);
    Style { width, colour }
}
