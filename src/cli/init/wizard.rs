//! The questions, in their order. What is answered is tried at once.

use adjutant_chat::SetupGuide;

use super::draft::Draft;
use super::look::{Part, has_fault, look};
use super::terminal::Terminal;
use super::{model, office};
use crate::cli::CliError;
use crate::config::Kind;
use crate::service;

/// How a secret may be given.
const SECRETS: &str = "Secrets go into that file, which only its owner can read; to keep one elsewhere,\n\
                       answer env:NAME, file:PATH or credential:NAME instead.";

/// A step's questions: puts the answers into the draft.
type Questions<'a> = &'a mut dyn FnMut(&mut Draft, &mut Terminal) -> Result<(), CliError>;

/// Asks for everything.
///
/// # Errors
/// When the person has had enough, or there is no terminal any more.
pub(super) async fn ask(draft: &mut Draft, terminal: &mut Terminal) -> Result<(), CliError> {
    let verb = if draft.path().exists() { "changed" } else { "written" };
    terminal.say(&format!(
        "{} will be {verb} when all is answered.\n{SECRETS}\n\
         Enter takes what stands in [brackets]; Ctrl-C leaves and writes nothing.",
        draft.path().display()
    ))?;
    for (name, kind) in channels(draft) {
        channel(draft, terminal, &name, kind).await?;
    }
    terminal.say("\nWho thinks?")?;
    settle(draft, terminal, &Part::Model, &mut |draft, terminal| model::ask(draft, terminal)).await?;
    terminal.say("")?;
    settle(draft, terminal, &Part::Assistant, &mut timezone).await?;
    office::ask(draft, terminal).await?;
    let Err(faults) = draft.read() else { return Ok(()) };
    terminal.say(&format!("\nThe file has faults:\n{faults}"))?;
    match terminal.yes("Write it all the same?", false)? {
        true => Ok(()),
        false => Err(CliError::plain("nothing was written")),
    }
}

/// Every channel of the file, and one of each platform besides.
fn channels(draft: &Draft) -> Vec<(String, Kind)> {
    let named = |name: String| {
        let written = draft.at(&["channels", &name, "kind"]);
        let kind = Kind::named(if written.is_empty() { &name } else { &written })?;
        Some((name, kind))
    };
    let mut channels: Vec<_> = draft.names(&["channels"]).into_iter().filter_map(named).collect();
    for (name, kind) in Kind::ALL {
        if !channels.iter().any(|(_, known)| *known == kind) {
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
            terminal.say("  Its answers are kept, but it is switched off.")?;
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
    if settle(draft, terminal, &part, &mut questions).await? {
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
    for question in &setup.credentials {
        let is_there = draft.has(&["channels", name, question.key]);
        if !is_there {
            terminal.say("")?;
            for (index, step) in question.steps.iter().enumerate() {
                terminal.say(&format!("  {}. {step}", index + 1))?;
            }
        }
        let answer = terminal.secret(question.name, if is_there { "keep it" } else { "" })?;
        if !answer.trim().is_empty() {
            draft.set_secret(&table, question.key, answer.trim());
        }
    }
    Ok(())
}

fn owner(draft: &mut Draft, terminal: &mut Terminal, name: &str, setup: &SetupGuide) -> Result<(), CliError> {
    terminal.say(&format!("  Your own id there: {}.", setup.own_id))?;
    let known = draft.owners(name).join(", ");
    let answer = terminal.optional("The owner's user id", &known)?;
    let ids = answer.split(',').map(str::trim).filter(|id| !id.is_empty());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    if ids.is_empty() {
        terminal.say(
            "  Then write to the bot once it runs: it gives you a code, and `adjutant pair approve CODE` lets you in.",
        )?;
    }
    if ids.join(", ") != known {
        draft.set_owners(name, &ids);
    }
    Ok(())
}

fn timezone(draft: &mut Draft, terminal: &mut Terminal) -> Result<(), CliError> {
    let zone = terminal.line("Time zone", &zone(draft))?;
    draft.set_text(&["assistant"], "timezone", &zone);
    Ok(())
}

/// The zone of the file, or else the machine's.
pub(super) fn zone(draft: &Draft) -> String {
    let written = draft.at(&["assistant", "timezone"]);
    if !written.is_empty() {
        return written;
    }
    draft.read_only(&["assistant"]).map_or("UTC", |config| config.assistant.timezone.name()).to_owned()
}

/// Asks a part's questions until what was answered works or the person is content. Whether it is in the draft.
pub(super) async fn settle(
    draft: &mut Draft,
    terminal: &mut Terminal,
    part: &Part,
    questions: Questions<'_>,
) -> Result<bool, CliError> {
    let before = draft.clone();
    questions(draft, terminal)?;
    loop {
        let findings = terminal.wait(look(draft, part)).await?;
        terminal.tell(&findings)?;
        if !has_fault(&findings) {
            return Ok(true);
        }
        let ways = ["Answer again", "Try it again", "Keep it all the same", "Leave it as it was"];
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
