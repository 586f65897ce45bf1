use std::time::{SystemTime, UNIX_EPOCH};

use adjutant_chat::{WebhookRequest, WebhookResponse};
use adjutant_fakes::slack::{Fault, signature};
use serde_json::{Value, json};

use super::*;

fn listening(fake: &FakeSlack) -> Slack {
    let signing_secret = Some(SIGNING_SECRET.into());
    connect(Settings { app_token: None, signing_secret, ..settings(fake) }).unwrap()
}

fn now() -> u64 {
    #[expect(clippy::disallowed_methods, reason = "the time is signed")]
    let now = SystemTime::now();
    now.duration_since(UNIX_EPOCH).unwrap().as_secs()
}

fn signed(secret: &str, time: u64, body: &str) -> WebhookRequest {
    let headers = [
        ("x-slack-request-timestamp", time.to_string()),
        ("x-slack-signature", signature(secret, time, body)),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value)).into();
    WebhookRequest { headers, body: body.as_bytes().to_vec() }
}

async fn posted(slack: &Slack, journal: &Journal, body: &str) -> WebhookResponse {
    slack.webhook(journal, signed(SIGNING_SECRET, now(), body)).await
}

fn event(place: &str, ts: &str, text: &str) -> String {
    let event = json!({"type": "message", "channel": place, "user": "U1", "ts": ts, "text": text, "channel_type": "im"});
    json!({"type": "event_callback", "event": event}).to_string()
}

/// Runs a test while the adapter is ready for requests.
async fn receiving(slack: &Slack, journal: &Journal, test: impl AsyncFnOnce()) {
    tokio::select! {
        sentence = slack.receive(journal) => panic!("gave up: {sentence}"),
        () = async {
            until("ready", || slack.me.initialized()).await;
            test().await;
        } => {}
    }
}

#[tokio::test]
async fn only_what_slack_has_signed_lately_counts() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let slack = listening(&fake);
    let body = event("D1", "1.000000", "hi");
    let status = async |request: WebhookRequest| slack.webhook(&journal, request).await.status;
    receiving(&slack, &journal, async || {
        assert_eq!(status(signed("another secret", now(), &body)).await, 401);
        assert_eq!(status(signed(SIGNING_SECRET, now() - 301, &body)).await, 401);
        assert_eq!(status(signed(SIGNING_SECRET, now() + 310, &body)).await, 401);
        let mut changed = signed(SIGNING_SECRET, now(), &body);
        changed.body.push(b' ');
        assert_eq!(status(changed).await, 401);
        assert_eq!(status(WebhookRequest { headers: Vec::new(), body: body.clone().into() }).await, 401);
        assert_eq!(status(WebhookRequest { headers: Vec::new(), body: vec![0xff] }).await, 400);
        assert_eq!(journal.texts(), [""; 0]);
        assert_eq!(status(signed(SIGNING_SECRET, now() - 200, &body)).await, 200);
        assert_eq!(journal.texts(), ["hi"]);
    })
    .await;
    // Who has a socket alone is sent nothing; with both, either way counts.
    assert_eq!(connected(&fake).webhook(&journal, signed(SIGNING_SECRET, now(), &body)).await.status, 404);
    let both = Settings { signing_secret: Some(SIGNING_SECRET.into()), ..settings(&fake) };
    assert_eq!(posted(&connect(both).unwrap(), &journal, &event("D1", "2.000000", "ho")).await.status, 200);
    assert_eq!(journal.texts(), ["hi", "ho"]);
}

#[tokio::test]
async fn a_new_address_is_verified() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let body = json!({"type": "url_verification", "challenge": "3eZbrw1aB"}).to_string();
    let answer = posted(&listening(&fake), &journal, &body).await;
    assert_eq!(answer, WebhookResponse { status: 200, body: "3eZbrw1aB".into() });
}

#[tokio::test]
async fn all_that_slack_sends_is_understood() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let slack = listening(&fake);
    receiving(&slack, &journal, async || {
        let status = async |body: &str| posted(&slack, &journal, body).await.status;
        assert_eq!(status("command=%2Fadjutant&text=trace+3&channel_id=C1&user_id=U1&user_name=ada&trigger_id=1.2.x").await, 200);
        let payload = json!({
            "type": "block_actions", "user": {"id": "U1"}, "actions": [{"value": "a b", "action_ts": "9.000001"}],
            "container": {"channel_id": "C1", "message_ts": "5.000000"},
        });
        let payload = payload.to_string().replace('%', "%25").replace('&', "%26").replace(' ', "+");
        assert_eq!(status(&format!("payload={payload}")).await, 200);
        assert_eq!(journal.texts(), ["/trace 3", "pressed a b"]);
        for strange in ["{}", "", "ssl_check=1", "payload=7", "{\"type\":\"event_callback\",\"event\":7}", "command=x"] {
            let status = status(strange).await;
            assert!(status == 200 || status == 400, "{strange} {status}");
        }
    })
    .await;
}

#[tokio::test]
async fn what_is_not_journalled_is_answered_so_that_it_comes_again() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let slack = listening(&fake);
    let body = event("D1", "1.000000", "hi");
    receiving(&slack, &journal, async || {
        *journal.fails.lock().unwrap() = 1;
        let command = "command=%2Fnew&text=&channel_id=C1&user_id=U1&trigger_id=1.2.x";
        assert_eq!(posted(&slack, &journal, command).await.status, 500);
        // So long that Slack waits no longer; it is journalled all the same.
        *journal.fails.lock().unwrap() = 6;
        assert_eq!(posted(&slack, &journal, &body).await.status, 500);
        until("journalled", || journal.texts() == ["hi"]).await;
        assert_eq!(posted(&slack, &journal, &body).await.status, 200);
        assert_eq!(journal.texts(), ["hi"]);
    })
    .await;
}

#[tokio::test]
async fn who_stands_by_journals_too() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let slack = listening(&fake);
    let body = event("D1", "1.000000", "hi");
    fake.misbehave("auth.test", 1, Fault::Status(503));
    assert_eq!(posted(&slack, &journal, &body).await.status, 500, "who we are is not known");
    assert_eq!(posted(&slack, &journal, &body).await.status, 200);
    assert_eq!(journal.texts(), ["hi"]);
}

#[tokio::test]
async fn a_wrong_presser_is_told_alone() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let (slack, place, bob) = (listening(&fake), fake.channel("general"), fake.person("bob"));
    *journal.notice.lock().unwrap() = Some("Not yours.".to_owned());
    let payload: Value = json!({
        "type": "block_actions", "user": {"id": bob}, "actions": [{"value": "a", "action_ts": "9.000001"}],
        "container": {"channel_id": place, "message_ts": "5.000000"},
    });
    assert_eq!(posted(&slack, &journal, &format!("payload={payload}")).await.status, 200);
    assert_eq!(fake.ephemeral("bob"), [(place, "Not yours.".to_owned())]);
}

#[tokio::test]
async fn our_own_calls_are_the_sign_of_life_and_after_trouble_it_is_caught_up() {
    let (fake, journal) = (FakeSlack::start(), Journal::default());
    let (slack, place) = (listening(&fake), fake.dm("ada"));
    let ts = fake.say("ada", &place, "seen");
    journal.knows(&place, &format!("{place}:{ts}"));
    receiving(&slack, &journal, async || {
        fake.misbehave("auth.test", 1, Fault::Status(503));
        until("told", || journal.is_in_trouble("no valid response")).await;
        fake.say("ada", &place, "missed");
        until("caught up", || journal.texts() == ["missed"]).await;
    })
    .await;
    fake.misbehave("auth.test", 1, Fault::Error("token_revoked"));
    let sentence = slack.receive(&journal).await;
    assert!(sentence.contains("channels.slack.bot_token"), "{sentence}");
}
