//! A channel that takes everything at once, and how long an answer took to come there.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use adjutant::service::Service;
use adjutant_chat::{
    Address, ChatPort, Delivery, EventId, Inbound, IncomingMessage, Limits, Outbound, Progress,
    Reconciliation, SenderId,
};
use tokio::sync::oneshot;

/// It tells who waits for the answer to a message.
#[derive(Default)]
pub(crate) struct Sink {
    waiting: Mutex<HashMap<String, oneshot::Sender<(Instant, String)>>>,
}

#[async_trait::async_trait]
impl ChatPort for Sink {
    fn channel(&self) -> &'static str {
        "console"
    }
    fn limits(&self) -> Limits {
        Limits { edits: false, files: false }
    }
    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        let now = Instant::now();
        for event in &outbound.answers {
            if let Some(waiting) = self.waiting.lock().expect("lock").remove(event) {
                let _ = waiting.send((now, outbound.text.clone()));
            }
        }
        Delivery::Sent(outbound.id.clone())
    }
    async fn reconcile(&self, _: &Outbound) -> Reconciliation {
        Reconciliation::NotSent
    }
    async fn progress(&self, _: &Progress) {}
}

impl Sink {
    /// Says something in a place; the answer, and how long it took.
    pub(crate) async fn say(
        &self,
        service: &Service,
        place: &str,
        event: &str,
        text: &str,
    ) -> (Duration, String) {
        let (sender, receiver) = oneshot::channel();
        self.waiting.lock().expect("lock").insert(event.to_owned(), sender);
        let began = Instant::now();
        let said = IncomingMessage {
            event: EventId(event.to_owned()),
            address: Address { channel: "console".into(), place: place.to_owned() },
            sender: SenderId("local".into()),
            sender_name: "local".into(),
            direct: true,
            is_addressed: true,
            text: text.into(),
            mentions: Vec::new(),
            forwarded_from: None,
            reply_to: None,
            attachments: Vec::new(),
        };
        service.accept(Inbound::Message(said), async || {}).await.expect("journalled");
        let (ended, answer) = receiver.await.expect("answered");
        (ended - began, answer)
    }
}
