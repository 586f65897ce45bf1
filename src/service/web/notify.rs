//! Notifies browsers by their push services: of questions that wait, of what became of them, and of news.
//!
//! Properties:
//!
//! - A message is claimed, sent, and noted as sent. If we die in between, it is sent again, as long as its question is open;
//!   its tag makes it the same notification.
//! - A push service is one of the public internet, reached with TLS. One that fails is left alone for longer and longer.
//! - A browser whose person may no longer come is notified of nothing.

use std::time::Duration;

use adjutant_chat::backoff::{self, Backoff};
use adjutant_chat::{RichText, sanitized};
use adjutant_dav::retry_after;
use adjutant_l10n::page_notify;
use adjutant_skills::accounts::SecretsError;
use adjutant_store::pushes::{self, DueRow, PushReason, SubscriptionRow};
use adjutant_store::questions::{self, ClosedRow, QuestionRow};
use adjutant_store::{Batch, StoreError, secrets, timeline};
use adjutant_turn::journal::fail_point;
use adjutant_turn::wording::questions::choice_subject;
use adjutant_types::QuestionKind;
use adjutant_types::text::one_line;
use adjutant_web::views::{NotifyOf, PushAddress, Viewer};
use adjutant_web::{Result, SigningKey, sealed_for, without_code};
use futures::future::join_all;
use reqwest::header::{AUTHORIZATION, CONTENT_ENCODING};
use reqwest::{RequestBuilder, StatusCode, Url};
use serde_json::json;

use super::WebBackend;

/// The secret that is our key.
const KEY: &str = "push/key";
/// How long a push service may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long one that fails is left alone.
const BACKOFF: Backoff = Backoff::new(Duration::from_secs(5), LONGEST_WAIT);
const LONGEST_WAIT: Duration = Duration::from_hours(1);
/// How many are asked at once.
const SIDE_BY_SIDE: usize = 8;
/// For how long a push service keeps what a browser doesn't fetch, in seconds; a question at most until it expires.
const KEPT: i64 = 24 * 3600;
/// The longest line of a notification, in characters, and the longest address, in bytes.
const LINE: usize = 120;
const ADDRESS: usize = 1_000;

/// What a browser shows.
struct Notice {
    title: String,
    body: String,
    /// For how long it is kept for the browser, in seconds.
    kept: i64,
}

/// What a push service made of a message.
enum Outcome {
    Taken,
    /// It doesn't know the browser any more.
    Gone,
    /// After how long it wants to be asked again, if it said so.
    Failed(Option<Duration>),
}

impl WebBackend {
    /// Our key, made when the first browser wants to be notified. Without the one before, no browser can be reached that
    /// subscribed with it.
    pub(super) async fn signing_key(&self) -> Result<SigningKey, SecretsError> {
        let sealing = &self.conversations.services().secrets;
        loop {
            if let Some(row) = secrets::get(&self.store, KEY).await? {
                let stored = sealing.open(KEY, &row.sealed).await?;
                return SigningKey::open(stored.expose()).ok_or(SecretsError::Damaged);
            }
            let fresh = SigningKey::generate().ok_or(SecretsError::Damaged)?;
            let mut batch = Batch::new();
            secrets::add(&mut batch, KEY, &sealing.seal(KEY, &fresh).await?);
            pushes::unsubscribe_all(&mut batch);
            // Another instance may have been first.
            self.store.try_write(batch).await?;
        }
    }

    pub(super) async fn set_notified(
        &self,
        viewer: &Viewer,
        what: NotifyOf,
        at: PushAddress,
    ) -> Result<bool> {
        let mut batch = Batch::new();
        if what == NotifyOf::Nothing {
            pushes::unsubscribe(&mut batch, &viewer.session);
        } else if self.endpoint(&at.endpoint).is_none() || sealed_for(&at.browser_key, &at.auth, "").is_none()
        {
            return Ok(false);
        } else {
            let PushAddress { endpoint, browser_key, auth } = at;
            let (session_id, wants_news) = (viewer.session.clone(), what == NotifyOf::News);
            let row = SubscriptionRow { session_id, endpoint, browser_key, auth, wants_news };
            pushes::subscribe(&mut batch, &row, self.store.now());
        }
        self.store.write(batch).await?;
        Ok(true)
    }

    pub(super) async fn notify_all(&self) -> Result<(), SecretsError> {
        for reason in [PushReason::Asked, PushReason::Closed, PushReason::News] {
            let due = pushes::due(&self.store, reason).await?;
            if due.is_empty() {
                continue;
            }
            let key = self.signing_key().await?;
            for some in due.chunks(SIDE_BY_SIDE) {
                for done in join_all(some.iter().map(|row| self.push(&key, row, reason))).await {
                    done?;
                }
            }
        }
        Ok(())
    }

    async fn push(&self, key: &SigningKey, row: &DueRow, reason: PushReason) -> Result<(), StoreError> {
        let mut batch = Batch::new();
        if !self.may_come(&row.person_id).await? {
            pushes::gone(&mut batch, row);
            return self.store.write(batch).await.map(drop);
        }
        let Some(notice) = self.notice(row, reason).await? else { return Ok(()) };
        let waiting = timeline::count_open_questions(&self.store, &row.person_id).await?;
        let text = json!({
            "tag": row.message_id.as_str(),
            "title": notice.title,
            "body": notice.body,
            "url": format!("/turn/{}", row.turn_id),
            "waiting": waiting,
            "closed": reason == PushReason::Closed,
        });
        pushes::claim(&mut batch, row, reason, self.store.now());
        if !self.store.try_write(batch).await? {
            // It was answered just now, or another instance sends it.
            return Ok(());
        }
        fail_point("push-claimed");
        let outcome = match self.request(key, row, reason, &text.to_string()) {
            Some(request) => send(request.header("TTL", notice.kept)).await,
            None => Outcome::Gone,
        };
        fail_point("push-sent");
        let (mut batch, now) = (Batch::new(), self.store.now());
        match outcome {
            Outcome::Taken => pushes::sent(&mut batch, row, now),
            Outcome::Gone => pushes::gone(&mut batch, row),
            Outcome::Failed(wait) => {
                let failures = u32::try_from(row.failures + 1).unwrap_or(u32::MAX);
                let wait = wait.unwrap_or_default().max(BACKOFF.after(failures, backoff::random()));
                let wait = i64::try_from(wait.min(LONGEST_WAIT).as_millis()).unwrap_or(i64::MAX);
                pushes::failed(&mut batch, row, now + wait);
            }
        }
        self.store.write(batch).await.map(drop)
    }

    /// What a browser is to show; none if there is nothing any more.
    async fn notice(&self, row: &DueRow, reason: PushReason) -> Result<Option<Notice>, StoreError> {
        let store = &self.store;
        Ok(match reason {
            PushReason::Asked => {
                let all = questions::of_message(store, &row.message_id).await?;
                asked(&all.iter().filter(|question| question.is_open()).collect::<Vec<_>>(), store.now())
            }
            PushReason::Closed => {
                let mut all = questions::closed_in(store, &row.turn_id).await?;
                all.retain(|one| one.question.outbox_id == row.message_id);
                let view = self.view_of(row.person_id.clone(), self.conversations.zone);
                let outcome = |one: &ClosedRow| {
                    let outcome = view.outcome(one, all.len() == 1);
                    format!("{} {}", outcome.what, outcome.place)
                };
                let body = shown(&all.iter().map(outcome).collect::<Vec<_>>().join(" · "));
                Some(Notice { title: page_notify::answered(), body, kept: KEPT })
            }
            PushReason::News => timeline::reply(store, &row.message_id).await?.map(|reply| {
                let body = shown(&RichText::parse(&without_code(&reply.text)).plain());
                Notice { title: page_notify::says(), body, kept: KEPT }
            }),
        })
    }

    /// A request to a browser's push service; none if the browser can't be reached.
    fn request(
        &self,
        key: &SigningKey,
        row: &DueRow,
        reason: PushReason,
        text: &str,
    ) -> Option<RequestBuilder> {
        let endpoint = self.endpoint(&row.endpoint)?;
        let body = sealed_for(&row.browser_key, &row.auth, text)?;
        // A contact is an address of the web with TLS, or of mail.
        let contact = self.public_url.replacen("http://", "https://", 1);
        let authorization = key.authorization(&endpoint, &contact, self.store.now() / 1000)?;
        let client = self.http.for_url(&endpoint, &self.push_hosts).ok()?;
        let request = client.post(endpoint).header(AUTHORIZATION, authorization);
        let urgency = if reason == PushReason::Asked { "high" } else { "normal" };
        let request = request.header(CONTENT_ENCODING, "aes128gcm").header("Urgency", urgency);
        // What became of a question takes its place if the browser hasn't fetched it yet.
        Some(request.header("Topic", row.message_id.as_str()).body(body).timeout(PATIENCE))
    }

    /// The address, if we may send to it.
    fn endpoint(&self, address: &str) -> Option<Url> {
        let url = Url::parse(address).ok().filter(|_| address.len() <= ADDRESS)?;
        let is_own = self.push_hosts.iter().any(|host| url.host_str() == Some(host.as_str()));
        let is_allowed = url.scheme() == "https" || is_own && url.scheme() == "http";
        let has_login = !url.username().is_empty() || url.password().is_some();
        (is_allowed && !has_login && self.http.for_url(&url, &self.push_hosts).is_ok()).then_some(url)
    }
}

fn asked(open: &[&QuestionRow], now: i64) -> Option<Notice> {
    let (first, more) = open.split_first()?;
    let question = shown(match &first.kind {
        QuestionKind::Continue { text, .. } => text,
        QuestionKind::Approval { preview, .. } => preview.lines().next().unwrap_or_default(),
        QuestionKind::Choice { subject, .. } => choice_subject(subject).lines().next().unwrap_or_default(),
        QuestionKind::Plan { goal } => goal,
        QuestionKind::Input { name } => name,
    });
    let body = if more.is_empty() { question } else { page_notify::and_more(more.len(), question) };
    let until = open.iter().map(|question| question.expires_at).max().unwrap_or(now);
    Some(Notice { title: page_notify::asks(), body, kept: ((until - now) / 1000).clamp(60, KEPT) })
}

fn shown(text: &str) -> String {
    sanitized(&one_line(text, LINE)).into_owned()
}

/// Nothing of an answer but its head is read.
async fn send(request: RequestBuilder) -> Outcome {
    match request.send().await {
        Ok(answer) if answer.status().is_success() => Outcome::Taken,
        Ok(answer) if matches!(answer.status(), StatusCode::NOT_FOUND | StatusCode::GONE) => Outcome::Gone,
        Ok(answer) => {
            let host = answer.url().host_str().unwrap_or_default();
            tracing::warn!(host, status = answer.status().as_u16(), "a push service refused a notification");
            Outcome::Failed(retry_after(answer.headers()))
        }
        Err(error) => {
            // Whoever knows the address could use it.
            tracing::warn!(error = %error.without_url(), "a push service wasn't reached");
            Outcome::Failed(None)
        }
    }
}
