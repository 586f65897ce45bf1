//! The questions, in order. Each answer is tested at once.

use adjutant_chat::SetupGuide;
use adjutant_config::{BUILTIN, Kind};

use super::check::{Part, check, has_problem, shown};
use super::draft::Draft;
use super::terminal::Terminal;
use super::{accounts, found, model, owner};
use crate::cli::{CliError, Result, tell};
use crate::service;

/// The questions of a part; the answers go into the draft.
type Questions<'a> = &'a mut dyn FnMut(&mut Draft, &mut Terminal) -> Result<()>;

pub(super) async fn ask(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
    let verb = if draft.path().exists() { "changed" } else { "written" };
    terminal.say(&format!(
        "Hello! This sets up your assistant: a chat platform, a language model, your accounts. It takes about three minutes.\n\
         Enter takes the answer in [brackets], or the one in capitals. Ctrl-C quits without writing.\n\
         After the last question, {} is {verb}. Only its owner can read it, so you can keep secrets in it.\n\
         To keep a secret elsewhere, answer env:NAME, file:PATH or credential:NAME.",
        draft.path().display()
    ))?;
    let is_first = draft.names(&["channels"]).is_empty();
    for (index, (name, kind)) in channels(draft).into_iter().enumerate() {
        channel(draft, terminal, &name, kind, is_first && index == 0).await?;
    }
    language_model(draft, terminal).await?;
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
pub(in crate::cli) fn channels(draft: &Draft) -> Vec<(String, Kind)> {
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

/// Asks for the model, and first whether to use one that is here already.
async fn language_model(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
    terminal.say(
        "\nLanguage model. It lets you write as you talk. Without one, only simple sentences are understood.",
    )?;
    let written = draft.at(&["model", "provider"]);
    let mut found = Vec::new();
    if written.is_empty() || written == BUILTIN {
        terminal.say("Looking for one on this machine; nothing is sent anywhere.")?;
        found = found::find(draft.env()).await;
    }
    let mut questions = |draft: &mut Draft, terminal: &mut Terminal| {
        // After a failed test, all of them can be chosen.
        match found::offer(&std::mem::take(&mut found), draft, terminal)? {
            true => Ok(()),
            false => model::ask(draft, terminal),
        }
    };
    ask_part(draft, terminal, &Part::Model, &mut questions).await.map(drop)
}

async fn channel(
    draft: &mut Draft,
    terminal: &mut Terminal,
    name: &str,
    kind: Kind,
    is_suggested: bool,
) -> Result<()> {
    let setup = service::setup(kind);
    let table = ["channels", name];
    let enabled = [&table[..], &["enabled"]].concat();
    let is_off = draft.item(&enabled).and_then(|item| item.as_bool()) == Some(false);
    let is_there = draft.has(&table);
    let other = if Kind::named(name) == Some(kind) { String::new() } else { format!(" ([channels.{name}])") };
    terminal.say("")?;
    let is_wanted = is_suggested || is_there && !is_off;
    let wanted = terminal.yes(&format!("Connect {}{other}?", setup.platform), is_wanted)?;
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
        owner::ask(draft, terminal, name, &setup).await?;
    }
    Ok(())
}

fn tokens(draft: &mut Draft, terminal: &mut Terminal, name: &str, setup: &SetupGuide) -> Result<()> {
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

/// Asks whether memory grows by itself.
fn memory(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
    terminal.say(
        "\nThe assistant can learn from what people write, with one short model call for every ten messages.",
    )?;
    let is_on = draft.item(&["memory", "extract"]).and_then(|item| item.as_bool()) == Some(true);
    let wanted = terminal.yes("Remember such facts?", is_on)?;
    if wanted != is_on {
        draft.set(&["memory"], "extract", wanted);
    }
    Ok(())
}

/// Asks whether memories are compared by meaning, unless the file says how.
fn meaning(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
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

fn timezone(draft: &mut Draft, terminal: &mut Terminal) -> Result<()> {
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
) -> Result<bool> {
    let before = draft.clone();
    questions(draft, terminal)?;
    loop {
        let findings = terminal.wait(check(draft, part)).await?;
        tell(&shown(&findings))?;
        if !has_problem(&findings) {
            return Ok(true);
        }
        let ways = ["Answer again", "Test again", "Keep it anyway", "Skip it"];
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
