//! The channel. What is in the outbox is on the page, so delivery has nothing to send.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use adjutant_chat::{
    Address, AnswerDraft, ChannelIntake, ChatPort, Connection, ConnectionEvent, Delivery, DownloadError,
    FileDownload, Finding, Limits, Outbound, Reconciliation,
};
use async_trait::async_trait;

use crate::drafts::Drafts;
use crate::{Backend, pages};

/// How often the channel tells that it is alive.
const ALIVE: Duration = Duration::from_secs(20);
/// How often a draft grows.
const DRAFT_PACE: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    pub channel: String,
    pub listen: SocketAddr,
    /// The address that people open, without a slash at its end.
    pub public_url: String,
    /// The hosts of push services that may be in our own network, and without TLS.
    pub push_hosts: Vec<String>,
    pub assistant: String,
}

/// The page as a channel.
pub struct Web {
    settings: Settings,
    backend: OnceLock<Arc<dyn Backend>>,
    pub(crate) drafts: Arc<Drafts>,
}

impl Web {
    pub fn new(settings: Settings) -> Self {
        Self { settings, backend: OnceLock::new(), drafts: Arc::default() }
    }

    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Connects it to the engine; only the first call counts.
    pub fn connect(&self, backend: Arc<dyn Backend>) {
        let _ = self.backend.set(backend);
    }
}

#[async_trait]
impl ChatPort for Web {
    fn channel(&self) -> &str {
        &self.settings.channel
    }

    fn limits(&self) -> Limits {
        // The page shows the file of an outbox row itself.
        Limits { edits: false, files: false }
    }

    async fn show_draft(&self, draft: &AnswerDraft<'_>) -> Delivery {
        // A place is a person here.
        let AnswerDraft { turn, address, text, .. } = *draft;
        self.drafts.show(
            turn,
            &address.place,
            &pages::draft(&self.settings.assistant, &address.channel, text),
        );
        Delivery::Sent(String::new())
    }

    fn draft_pace(&self, _: &Address) -> Duration {
        DRAFT_PACE
    }

    async fn download(&self, file: &str, into: &mut FileDownload) -> Result<(), DownloadError> {
        let path = self.backend.get().and_then(|backend| backend.upload_path(file));
        let path = path.ok_or_else(|| DownloadError::Gone("it isn't an upload".to_owned()))?;
        into.copy(&path).await
    }

    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        outbound.turn.iter().for_each(|turn| self.drafts.end(turn));
        match self.reconcile(outbound).await {
            Reconciliation::Sent(receipt) => Delivery::Sent(receipt),
            Reconciliation::NotSent | Reconciliation::Unavailable => Delivery::Retry(None),
        }
    }

    async fn reconcile(&self, outbound: &Outbound) -> Reconciliation {
        match self.backend.get() {
            None => Reconciliation::Unavailable,
            Some(backend) if backend.is_shown(&outbound.id).await => {
                Reconciliation::Sent(outbound.id.clone())
            }
            Some(_) => Reconciliation::NotSent,
        }
    }
}

#[async_trait]
impl Connection for Web {
    async fn receive(&self, intake: &dyn ChannelIntake) -> String {
        // Requests arrive at every instance, and each journals what it gets.
        loop {
            intake.report(ConnectionEvent::Alive);
            tokio::time::sleep(ALIVE).await;
        }
    }

    fn shows_notices(&self) -> bool {
        true
    }

    async fn check(&self) -> Vec<Finding> {
        let Settings { listen, public_url, .. } = &self.settings;
        vec![Finding::ok(format!("is set to listen on {listen}; people open {public_url}"))]
    }
}
