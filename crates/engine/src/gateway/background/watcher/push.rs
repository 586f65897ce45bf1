//! What Microsoft tells of new mail. It only wakes who looks for that: without it all is found, some seconds later.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Weak};

use adjutant_chat::{WebhookRequest, WebhookResponse};
use adjutant_skills::accounts::{MailSource, PushSignal};
use adjutant_store::secrets::digest;
use parking_lot::Mutex;
use serde_json::Value;

use super::Watcher;

/// Who is woken, by the digest of what Microsoft gives as a proof.
pub(super) type Pushes = Mutex<BTreeMap<String, Weak<PushSignal>>>;

/// The longest proof of an address, in bytes.
const MAX_TOKEN: usize = 4_096;
/// The most changes of a call that are looked at, and the longest proof in them, in bytes: anybody can call.
const MAX_CHANGES: usize = 1_000;
const MAX_PROOF: usize = 128;

impl Watcher {
    /// Has Microsoft tell of new mail where it can reach us.
    pub(super) fn pushing(&self, mut mailbox: MailSource) -> MailSource {
        let settings = self.conversations.settings.current();
        if let Some(page) = settings.page.as_ref().filter(|page| page.starts_with("https://")) {
            let proof: String = self.store().new_id();
            if let Some(signal) = mailbox.set_push(&format!("{page}/hooks/graph"), &proof) {
                self.pushes.lock().insert(digest(&proof), Arc::downgrade(&signal));
            }
        }
        mailbox
    }

    /// Takes what Microsoft says: by a token that it wants back whether this address is ours, or that there may be new mail.
    pub fn take_push(&self, token: Option<String>, request: &WebhookRequest) -> WebhookResponse {
        if let Some(token) = token {
            return match token.len() <= MAX_TOKEN {
                true => WebhookResponse { status: 200, body: token },
                false => WebhookResponse::not_found(),
            };
        }
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        self.pushes.lock().retain(|_, signal| signal.strong_count() > 0);
        for change in body["value"].as_array().into_iter().flatten().take(MAX_CHANGES) {
            let proof = change["clientState"].as_str().filter(|proof| proof.len() <= MAX_PROOF);
            let Some(proof) = proof.map(digest) else { continue };
            let Some(signal) = self.pushes.lock().get(&proof).and_then(Weak::upgrade) else { continue };
            // A third event is `missed`, after which it is enough to look.
            let event = change["lifecycleEvent"].as_str();
            if matches!(event, Some("reauthorizationRequired" | "subscriptionRemoved")) {
                signal.is_ending.store(true, Ordering::Relaxed);
            }
            signal.woken.notify_one();
        }
        // Of what isn't ours nothing is said, and it isn't to be sent again.
        WebhookResponse { status: 202, body: String::new() }
    }
}
