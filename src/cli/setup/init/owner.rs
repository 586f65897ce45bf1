//! Who the owner is: whoever writes to the bot now, and says here that it was them.

use std::time::Duration;

use adjutant_chat::{
    Address, ChannelIntake, ConnectionEvent, Delivery, Inbound, IncomingMessage, IntakeError, IntakeOutcome,
    MessageEdit, SetupGuide,
};
use adjutant_l10n::channels;
use adjutant_types::text::shortened;
use adjutant_workflows::trace::one_line;
use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::draft::Draft;
use super::terminal::{Terminal, Waited};
use crate::cli::Result;
use crate::service::{self, Channel};

/// How long to wait for the first message.
const PATIENCE: Duration = Duration::from_mins(3);

/// Sees who writes in private. It takes nothing in, so that the platform keeps each message for `adjutant serve`.
struct Observer {
    writers: mpsc::Sender<IncomingMessage>,
    /// Who isn't the owner.
    others: Vec<String>,
}

#[async_trait]
impl ChannelIntake for Observer {
    async fn accept(&self, inbound: Inbound) -> Result<IntakeOutcome, IntakeError> {
        if let Inbound::Message(message) = inbound
            && message.direct
            && !self.others.contains(&message.sender.0)
        {
            let _ = self.writers.try_send(message);
        }
        Err(IntakeError)
    }

    async fn edit(&self, _: MessageEdit) -> Result<(), IntakeError> {
        Err(IntakeError)
    }

    async fn places(&self) -> Vec<(Address, String)> {
        Vec::new()
    }

    fn report(&self, _: ConnectionEvent) {}
}

/// Asks who owns a channel's bot.
pub(super) async fn ask(
    draft: &mut Draft,
    terminal: &mut Terminal,
    name: &str,
    setup: &SetupGuide,
) -> Result<()> {
    let existing = draft.owners(name).join(", ");
    let config = draft.read_only(&["channels", name]).ok();
    let channel = config.and_then(|config| service::connect(&config).ok()?.pop());
    let answer = match channel.filter(|_| existing.is_empty()) {
        Some(channel) => writer(terminal, &channel, setup).await?,
        None => {
            terminal.say(&format!("  Your user id there: {}.", setup.own_id))?;
            terminal.optional("Owner's user id", &existing)?
        }
    };
    let ids = answer.split(',').map(str::trim).filter(|id| !id.is_empty());
    let ids: Vec<String> = ids.map(str::to_owned).collect();
    if ids.is_empty() {
        terminal.say("  No owner yet, so nobody can let people in or use your accounts there.")?;
    }
    if ids.join(", ") != existing {
        draft.set_owners(name, &ids);
    }
    Ok(())
}

/// The id of the first who writes and is the person at this terminal, or what they type instead.
async fn writer(terminal: &mut Terminal, channel: &Channel, setup: &SetupGuide) -> Result<String> {
    terminal.say("\n  Who is its owner? Write anything to your bot now, in private.")?;
    terminal.say(&format!("  Or type your user id ({}). Enter skips this.", setup.own_id))?;
    terminal.say("  Waiting three minutes for your message…")?;
    let deadline = Instant::now() + PATIENCE;
    let mut others = Vec::new();
    loop {
        let (writers, mut written) = mpsc::channel(1);
        let observer = Observer { writers, others: others.clone() };
        let first = async {
            match &channel.connection {
                // It ends only if the platform shuts us out, which the check has said.
                Some(connection) => tokio::select! {
                    _ = connection.receive(&observer) => None,
                    message = written.recv() => message,
                },
                None => None,
            }
        };
        let left = deadline.saturating_duration_since(Instant::now());
        let message = match terminal.wait_or_line(first, left).await? {
            Waited::Line(line) => return Ok(line),
            Waited::Result(None) => return terminal.optional("Owner's user id", ""),
            Waited::Result(Some(message)) => message,
        };
        let (name, id) = (one_line(&message.sender_name), message.sender.0);
        let text = one_line(&shortened(&message.text, 40));
        if terminal.yes(&format!("  {name} (id {id}) wrote “{text}”. Is this you?"), true)? {
            let answered = channel.port.show(&message.address, None, &channels::hello_owner(name)).await;
            terminal.say(match answered {
                Delivery::Sent(_) => "  ✓ it has answered you there",
                _ => "  ! it couldn't answer you there; `adjutant doctor` may say why",
            })?;
            return Ok(id);
        }
        others.push(id);
    }
}
