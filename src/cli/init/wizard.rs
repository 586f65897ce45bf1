//! The questions, in order. Each answer is tested at once.

use adjutant_chat::SetupGuide;
use adjutant_config::{BUILTIN, Kind};

use super::check::{Part, check, has_problem, shown};
use super::draft::Draft;
use super::terminal::Terminal;
use super::{accounts, model};
use crate::cli::{CliError, out};
use crate::service;

/// The ways to give a secret.
const SECRETS: &str = "Secrets go into that file, which only its owner can read. To keep a secret elsewhere,\n\
                       answer env:NAME, file:PATH or credential:NAME.";

/// The questions of a part; the answers go into the draft.
type Questions<'a> = &'a mut dyn FnMut(&mut Draft, &mut Terminal) -> Result<(), CliError>;

/// Asks for everything.
pub(super) async fn ask(draft: &mut Draft, terminal: &mut Terminal) -> Result<(), CliError> {
    let verb = if draft.path().exists() { "changed" } else { "written" };
    terminal.say(&format!(
        "{} will be {verb} after the last question.\n{SECRETS}\n\
         Enter takes the value in [brackets]; Ctrl-C quits without writing.",
        draft.path().display()
    ))?;
    for (name, kind) in channels(draft) {
        channel(draft, terminal, &name, kind).await?;
    }
    terminal.say("\nLanguage model:")?;
    ask_part(draft, terminal, &Part::Model, &mut |draft, terminal| model::ask(draft, terminal)).await?;
    terminal.say("")?;
    ask_part(draft, terminal, &Part::Assistant, &mut timezone).await?;
    accounts::ask(draft, terminal).await?;
    let provider = draft.at(&["model", "provider"]);
    if !provider.is_empty() && provider != BUILTIN {
        memory(draft, terminal)?;
        meaning(draft, terminal)?;
    }
    let Err(error) = draft.read() else { return Ok(()) };
    terminal.say(&format!("\nThe file has errors:\n{error}"))?;
    match terminal.yes("Write it anyway?", false)? {
        true => Ok(()),
        false => Err(CliError::plain("nothing was written")),
    }
}

/// Every channel in the file, and one of each other platform.
fn channels(draft: &Draft) -> Vec<(String, Kind)> {
    let named = |name: String| {
        let written = draft.at(&["channels", &name, "kind"]);
        let kind = Kind::named(if written.is_empty() { &name } else { &written })?;
        Some((name, kind))
    };
    let mut channels: Vec<_> = draft.names(&["channels"]).into_iter().filter_map(named).collect();
    for (name, kind) in Kind::BOTS {
        if !channels.iter().any(|(_, existing)| *existing == kind) {
            channels.push((name.to_owned(), kind));
        }
    }
    channels
}

async fn channel(draft: &mut Draft, terminal: &mut Terminal, name: &str, kind: Kind) -> Result<(), CliError> {
    let setup = service::setup(kind);
    let table = ["channels", name];
    let enabled = [&table[..], &["enabled"]].concat();
    let is_off = draft.item(&enabled).and_then(|item| item.as_bool()) == Some(false);
    let is_there = draft.has(&table);
    let other = if Kind::named(name) == Some(kind) { String::new() } else { format!(" ([channels.{name}])") };
    terminal.say("")?;
    let wanted = terminal.yes(&format!("Connect {}{other}?", setup.platform), is_there && !is_off)?;
    if !wanted {
        if is_there && !is_off {
            draft.set(&table, "enabled", false);
            terminal.say("  Its settings are kept, and it is switched off.")?;
        }
        return Ok(());
    }
    let part = Part::Channel(name.to_owned());
    let mut questions = |draft: &mut Draft, terminal: &mut Terminal| {
        if is_off {
            draft.set(&table, "enabled", true);
        }
        tokens(draft, terminal, name, &setup)
    };
    if ask_part(draft, terminal, &part, &mut questions).await? {
        owner(draft, terminal, name, &setup)?;
    }
    Ok(())
}

/// Asks for a platform's secrets.
fn tokens(
    draft: &mut Draft,
    terminal: &mut Terminal,
    name: &str,
    setup: &SetupGuide,
) -> Result<(), CliError> {
    let table = ["channels", name];
    for credential in &setup.credentials {
        let is_there = draft.has(&["channels", name, credential.key]);
        if !is_there {
            terminal.say("")?;
            for (index, step) in credential.steps.iter().enumerate() {
                terminal.say(&format!("  {}. {step}", index + 1))?;
            }
        }
        let answer = terminal.secret(credential.name, if is_there { "keep it" } else { "" })?;
        if !answer.trim().is_empty() {
            draft.set_secret(&table, credential.key, answer.trim());
        }
    }
    Ok(())
}

fn owner(draft: &mut Draft, terminal: &mut Terminal, name: &str, setup: &SetupGuide) -> Result<(), CliError> {
    terminal.say(&format!("  Your user id there: {}.", setup.own_id))?;
    let existing = draft.owners(name).join(", ");
    let answer = terminal.optional("Owner's user id", &existing)?;
    let ids = answer.split(',').map(str::trim).filter(|id| !id.is_empty());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    if ids.is_empty() {
        terminal.say(
            "  Then write to the bot once it runs: it sends you a code, and `adjutant pair approve CODE` lets you in.",
        )?;
    }
    if ids.join(", ") != existing {
        draft.set_owners(name, &ids);
    }
    Ok(())
}

/// Asks whether memory grows by itself.
fn memory(draft: &mut Draft, terminal: &mut Terminal) -> Result<(), CliError> {
    terminal.say("\nThe assistant can learn facts from what people write, with one short model call for every ten messages.")?;
    let is_on = draft.item(&["memory", "extract"]).and_then(|item| item.as_bool()) == Some(true);
    let wanted = terminal.yes("Remember such facts?", is_on)?;
    if wanted != is_on {
        draft.set(&["memory"], "extract", wanted);
    }
    Ok(())
}

/// Asks whether memories are compared by meaning, unless the file says how.
fn meaning(draft: &mut Draft, terminal: &mut Terminal) -> Result<(), CliError> {
    const TABLE: [&str; 2] = ["memory", "embeddings"];
    if draft.has(&TABLE) {
        return Ok(());
    }
    terminal.say(
        "\nMemories are found by their words. Ollama on this machine can compare them by meaning, too, with a small model:\n\
         `ollama pull nomic-embed-text`.",
    )?;
    if terminal.yes("Compare them by meaning?", false)? {
        draft.set(&TABLE, "provider", "ollama");
        draft.set(&TABLE, "name", "nomic-embed-text");
    }
    Ok(())
}

fn timezone(draft: &mut Draft, terminal: &mut Terminal) -> Result<(), CliError> {
    let zone = terminal.line("Time zone", &zone(draft))?;
    draft.set_text(&["assistant"], "timezone", &zone);
    Ok(())
}

/// The zone in the file, or else the machine's.
pub(super) fn zone(draft: &Draft) -> String {
    let written = draft.at(&["assistant", "timezone"]);
    if !written.is_empty() {
        return written;
    }
    draft.read_only(&["assistant"]).map_or("UTC", |config| config.assistant.timezone.name()).to_owned()
}

/// Asks a part's questions until the answers work or the person accepts them. Returns whether they are in the draft.
pub(super) async fn ask_part(
    draft: &mut Draft,
    terminal: &mut Terminal,
    part: &Part,
    questions: Questions<'_>,
) -> Result<bool, CliError> {
    let before = draft.clone();
    questions(draft, terminal)?;
    loop {
        let findings = terminal.wait(check(draft, part)).await?;
        out(&shown(&findings))?;
        if !has_problem(&findings) {
            return Ok(true);
        }
        let ways = ["Answer again", "Test again", "Keep it anyway", "Undo"];
        match terminal.choose(&ways, 0)? {
            0 => questions(draft, terminal)?,
            1 => {}
            2 => return Ok(true),
            _ => {
                *draft = before;
                return Ok(false);
            }
        }
    }
}
