//! The terminal as a [`ChatPort`].

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use adjutant_chat::{
    Address, AnswerDraft, ChatPort, Delivery, DownloadError, EventId, FileDownload, Inbound, Limits,
    Outbound, Progress, Reconciliation, sanitized,
};
use async_trait::async_trait;
use parking_lot::Mutex;
use tokio::sync::Notify;

use crate::json;
use crate::receipts::Receipts;
use crate::render::{Theme, message};
use crate::tree::Tree;
use crate::turn_taking::TurnTaking;
use crate::writer::{Parts, Writer};

/// What this process is to its reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Style {
    /// A person at a terminal, in one conversation.
    Interactive { conversation: String },
    /// One message and its answer.
    Once {
        /// The message: only what answers it is shown.
        event: EventId,
    },
    /// A program that reads JSON lines, of every conversation of the channel.
    Json,
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub channel: String,
    pub style: Style,
    /// Where receipts are kept.
    pub data_dir: PathBuf,
    pub theme: Theme,
}

/// The terminal, or the pipe in its place.
pub struct ConsolePort {
    channel: String,
    style: Style,
    theme: Theme,
    receipts: Arc<Receipts>,
    tree: Arc<Mutex<Tree>>,
    turns: Arc<TurnTaking>,
    writer: Writer,
    reader_gone: Notify,
    /// The progress event that a program saw last.
    shown: Mutex<String>,
    /// What a program has of the answers that are being written, by their turns.
    drafts: Mutex<HashMap<String, String>>,
    /// The turn of the one message: it may have several questions.
    turn: OnceLock<String>,
}

/// This process's stdout without a buffer, so that a text is one system call.
pub fn stdout() -> io::Result<File> {
    Ok(File::from(io::stdout().as_fd().try_clone_to_owned()?))
}

impl ConsolePort {
    /// A console that writes to `out`; progress goes to stderr, in the JSON style to `out`.
    pub fn open(settings: Settings, out: Box<dyn Write + Send>) -> io::Result<Self> {
        let tree = match settings.style {
            Style::Json => Tree::Off,
            Style::Interactive { .. } | Style::Once { .. } => Tree::of_stderr(settings.theme.colour),
        };
        Self::with_tree(settings, out, tree)
    }

    pub(crate) fn with_tree(settings: Settings, out: Box<dyn Write + Send>, tree: Tree) -> io::Result<Self> {
        let receipts = Arc::new(Receipts::open(&settings.data_dir)?);
        let (tree, turns) = (Arc::new(Mutex::new(tree)), Arc::new(TurnTaking::default()));
        turns.set_tree(tree.clone());
        let parts = Parts { out, receipts: receipts.clone(), tree: tree.clone(), turns: turns.clone() };
        let writer = Writer::start(parts)?;
        let Settings { channel, style, theme, .. } = settings;
        let (reader_gone, shown, drafts, turn) = Default::default();
        Ok(Self { channel, style, theme, receipts, tree, turns, writer, reader_gone, shown, drafts, turn })
    }

    /// What the reading side of a terminal shares with this port.
    pub fn turns(&self) -> Arc<TurnTaking> {
        Arc::clone(&self.turns)
    }

    /// Waits until something found nobody who reads it; then it is time to leave.
    pub async fn reader_gone(&self) {
        self.reader_gone.notified().await;
    }

    /// Whether this process is the one to show a message; others wait for their own process.
    pub fn wants(&self, outbound: &Outbound) -> bool {
        outbound.address.channel == self.channel
            && match &self.style {
                Style::Interactive { conversation } => outbound.address.place == *conversation,
                Style::Once { event } => {
                    let turn = outbound.turn.as_ref();
                    if outbound.answers.contains(&event.0) {
                        turn.inspect(|turn| drop(self.turn.set((*turn).clone())));
                        return true;
                    }
                    turn.is_some() && self.turn.get() == turn
                }
                Style::Json => true,
            }
    }

    /// Tells a program that its line is journalled; says nothing to a person.
    pub async fn accepted(&self, inbound: &Inbound) -> Delivery {
        match self.style {
            Style::Json => self.write(json::accepted(inbound), None).await,
            _ => Delivery::Sent(String::new()),
        }
    }

    /// Tells the reader that input line `line` was not understood.
    pub async fn bad_line(&self, line: u64, message: &str) -> Delivery {
        let text = match self.style {
            Style::Json => json::error(line, message),
            _ => format!("{}\n", sanitized(message)),
        };
        self.write(text, None).await
    }

    /// Takes a message for shown that its reader gets in another form. The floor stays the assistant's.
    pub fn keep_back(&self, outbound: &Outbound) -> Delivery {
        self.tree.lock().clear();
        // As with one that is written: a full disk at most shows it once more.
        let _ = self.receipts.add(&outbound.id);
        Delivery::Sent(outbound.id.clone())
    }

    async fn write(&self, text: String, outbound: Option<Outbound>) -> Delivery {
        let delivery = self.writer.write(text, outbound).await;
        if let Delivery::Gone(_) = delivery {
            self.reader_gone.notify_one();
        }
        delivery
    }

    fn text(&self, outbound: &Outbound) -> String {
        let text = |theme| message(&outbound.text, &outbound.choices, theme);
        match self.style {
            Style::Json => json::reply(outbound),
            Style::Once { .. } => text(self.theme),
            // An empty line between what is said and what is typed.
            Style::Interactive { .. } => format!("{}\n", text(self.theme)),
        }
    }

    fn shows_progress_of(&self, address: &Address) -> bool {
        address.channel == self.channel
            && match &self.style {
                Style::Interactive { conversation } => address.place == *conversation,
                Style::Once { .. } | Style::Json => true,
            }
    }

    /// Whether an answer is drawn while it is written: on a terminal, while the floor isn't the person's.
    fn draws(&self, draft: &AnswerDraft<'_>) -> bool {
        let is_wanted = match &self.style {
            Style::Interactive { .. } => !self.turns.is_free(),
            Style::Once { event } => draft.event == Some(event.0.as_str()),
            Style::Json => false,
        };
        // Only a terminal has a width.
        is_wanted && self.theme.width > 0
    }

    /// Tells a program what of an answer has changed.
    fn tell(&self, draft: &AnswerDraft<'_>) {
        let mut drafts = self.drafts.lock();
        let shown = drafts.entry(draft.turn.to_owned()).or_default();
        if self.writer.write_soon(json::text(draft, shown)) {
            *shown = sanitized(draft.text).into_owned();
        }
    }
}

#[async_trait]
impl ChatPort for ConsolePort {
    fn channel(&self) -> &str {
        &self.channel
    }

    fn limits(&self) -> Limits {
        Limits { edits: false, files: false }
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        if !self.wants(outbound) {
            return Delivery::Retry(None);
        }
        if let Some(turn) = &outbound.turn {
            self.drafts.lock().remove(turn);
        }
        match self.write(self.text(outbound), Some(outbound.clone())).await {
            // Only this process's reader is gone, not the conversation: the next process shows it.
            Delivery::Gone(_) => Delivery::Retry(None),
            delivery => delivery,
        }
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        match self.receipts.has(&outbound.id) {
            Ok(true) => Reconciliation::Sent(outbound.id.clone()),
            Ok(false) => Reconciliation::NotSent,
            Err(_) => Reconciliation::Unavailable,
        }
    }

    async fn download(&self, file: &str, into: &mut FileDownload) -> Result<(), DownloadError> {
        into.copy(Path::new(file)).await
    }

    async fn progress(&self, progress: &Progress) {
        if !self.shows_progress_of(&progress.address) {
            return;
        }
        if self.style == Style::Json {
            if progress.step.is_none() {
                self.drafts.lock().remove(&progress.turn);
            }
            let event = json::progress(progress);
            let mut shown = self.shown.lock();
            if *shown != event {
                shown.clone_from(&event);
                self.writer.write_soon(event);
            }
            return;
        }
        // Never waits: while a text is being written the tree stays away.
        let Some(mut tree) = self.tree.try_lock() else { return };
        // So it does while the floor, and with it the screen around the prompt, is the person's.
        match matches!(self.style, Style::Interactive { .. }) && self.turns.is_free() {
            true => tree.clear(),
            false => tree.show(progress),
        }
    }

    /// What is shown is no message, so it has no receipt.
    async fn show_draft(&self, draft: &AnswerDraft<'_>) -> Delivery {
        if self.shows_progress_of(draft.address) {
            if self.style == Style::Json {
                self.tell(draft);
            } else if self.draws(draft)
                && let Some(mut tree) = self.tree.try_lock()
            {
                tree.draft(&message(draft.text, &[], self.theme));
            }
        }
        Delivery::Sent(String::new())
    }

    fn draft_pace(&self, _: &Address) -> Duration {
        Duration::from_millis(80)
    }
}

#[cfg(test)]
mod tests;
