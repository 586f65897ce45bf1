use std::time::Duration;

use adjutant_chat::{Delivery, Reconciliation};
use adjutant_fakes::slack::Fault;

use super::*;

const COMPLETE: &str = "files.completeUploadExternal";

fn report(place: &str, text: &str) -> Outbound {
    let file = Some(OutgoingFile { name: "visit-report.md".into(), text: text.into() });
    Outbound { part: 1, file, ..outbound(place, "The **report**.") }
}

/// A place in which something was said, and a report to it.
async fn start() -> (FakeSlack, Slack, Outbound) {
    let fake = FakeSlack::start();
    let (slack, place) = (connected(&fake), fake.dm("ada"));
    let asked = fake.say("ada", &place, "The report?");
    slack.seed(&address(&place), &[format!("{place}:{asked}")]).await;
    let report = report(&place, "All is well.");
    let checkpoint = slack.checkpoint(&report.address).await;
    (fake, slack, Outbound { checkpoint, ..report })
}

fn files(fake: &FakeSlack, place: &str) -> Vec<(String, Vec<u8>)> {
    fake.seen(place).into_iter().filter_map(|seen| seen.file).collect()
}

fn count(fake: &FakeSlack, method: &str) -> usize {
    fake.calls().iter().filter(|call| call.method == method).count()
}

#[tokio::test]
async fn a_file_arrives_byte_by_byte() {
    let (fake, slack, report) = start().await;
    let place = &report.address.place;
    let line = "# Größe\r\n🦀 & <!channel> \u{202e}\u{0}\t\"x\"\n\r";
    for text in ["x".into(), line.into(), line.repeat(200_000 / line.len() + 1), "\u{feff}ü".to_owned()] {
        let name = format!("{}.json", text.len());
        let file = Some(OutgoingFile { name: name.clone(), text: text.clone() });
        let report = Outbound { id: format!("{:022}", text.len()), file, ..report.clone() };
        let Delivery::Sent(ts) = slack.deliver(&report).await else { panic!("{name} was not sent") };
        assert_eq!(fake.seen(place).last().map(|seen| seen.ts.clone()), Some(ts.clone()));
        assert!(files(&fake, place).last() == Some(&(name, text.into_bytes())));
        // What is known of the place goes on from there.
        assert_eq!(slack.checkpoint(&report.address).await, Some(ts));
    }
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn what_is_shown_becomes_the_text_and_the_file_follows() {
    for in_thread in [false, true] {
        let (fake, slack, mut report) = start().await;
        if in_thread {
            let root = fake.say("ada", &report.address.place, "Here.");
            report.address.place = format!("{}/{root}", report.address.place);
        }
        let address = report.address.clone();
        let Delivery::Sent(shown) = slack.show(&address, None, "At work.").await else { panic!() };
        report.choices = vec![Choice { id: "0f3Zx:go".into(), label: "Go on".into() }];
        let text = Outbound { part: 0, edit_of: Some(shown.clone()), ..report.clone() };
        assert_eq!(slack.parts(&text), 2);
        assert_eq!(slack.deliver(&text).await, Delivery::Sent(shown));
        assert!(matches!(slack.deliver(&report).await, Delivery::Sent(_)));
        let seen = fake.seen(&address.place);
        assert_eq!((seen[0].text.as_str(), seen[0].buttons.len()), ("The report.", 1));
        let file = ("visit-report.md".to_owned(), b"All is well.".to_vec());
        assert_eq!((seen.len(), &seen[1].file, seen[1].buttons.len()), (2, &Some(file), 0));
        let none = Outbound { part: 2, ..report };
        assert_eq!(slack.deliver(&none).await, Delivery::Refused("the message has no part 2".into()));
    }
}

#[tokio::test]
async fn where_files_are_not_allowed_is_told() {
    let no_file = |why: &str| Delivery::FileRefused(why.to_owned());
    for (method, error) in [
        ("files.getUploadURLExternal", "file_uploads_disabled"),
        ("files.getUploadURLExternal", "file_upload_size_restricted"),
        ("files.getUploadURLExternal", "unknown_method"),
        ("files.getUploadURLExternal", "access_denied"),
        (COMPLETE, "file_type_not_allowed"),
        (COMPLETE, "method_not_supported_for_channel_type"),
        (COMPLETE, "posting_to_channel_denied"),
        (COMPLETE, "not_in_channel"),
        (COMPLETE, "file_not_found"),
    ] {
        let (fake, slack, report) = start().await;
        fake.misbehave(method, 1, Fault::Error(error));
        assert_eq!(slack.deliver(&report).await, no_file(error));
        assert_eq!(files(&fake, &report.address.place), []);
    }
    let (fake, slack, report) = start().await;
    fake.misbehave(COMPLETE, 1, Fault::Error("not_allowed_token_type"));
    assert_eq!(slack.deliver(&report).await, no_file("Slack rejects the token (not_allowed_token_type)"));
    fake.misbehave("upload", 1, Fault::Page(403));
    assert_eq!(slack.deliver(&report).await, no_file("Slack's file server responds with 403 Forbidden"));
    for (host, why) in [
        ("http://127.0.0.1:1", "Slack asked for an unencrypted upload"),
        ("https://127.0.0.1:1", "Slack's file server can't be reached"),
    ] {
        fake.store_files_at(host);
        assert_eq!(slack.deliver(&report).await, no_file(why));
    }
    fake.withdraw("files:write");
    assert_eq!(slack.deliver(&report).await, no_file("the Slack app lacks the scope files:write"));
    assert_eq!((files(&fake, &report.address.place).len(), count(&fake, COMPLETE)), (0, 1));
}

#[tokio::test]
async fn a_file_that_is_surely_not_shared_is_tried_again() {
    let (fake, slack, report) = start().await;
    let second = Some(Duration::from_secs(1));
    for (method, fault, pause) in [
        ("files.getUploadURLExternal", Fault::Status(429), second),
        ("files.getUploadURLExternal", Fault::Cut, None),
        ("files.getUploadURLExternal", Fault::DoneThenStatus(502), None),
        ("files.getUploadURLExternal", Fault::Page(200), None),
        ("files.getUploadURLExternal", Fault::Error("token_revoked"), None),
        ("upload", Fault::Status(429), None),
        ("upload", Fault::Cut, None),
        ("upload", Fault::DoneThenCut, None),
        ("upload", Fault::DoneThenStatus(503), None),
        ("upload", Fault::Hang, None),
        (COMPLETE, Fault::Status(429), second),
        (COMPLETE, Fault::Page(403), None),
        (COMPLETE, Fault::Error("invalid_auth"), None),
    ] {
        fake.misbehave(method, 1, fault);
        assert_eq!(slack.deliver(&report).await, Delivery::Retry(pause), "{method} {fault:?}");
    }
    assert_eq!(files(&fake, &report.address.place), []);
    assert!(matches!(slack.deliver(&report).await, Delivery::Sent(_)));
    assert_eq!(files(&fake, &report.address.place).len(), 1);
    fake.close(&report.address.place, "is_archived");
    assert_eq!(slack.deliver(&report).await, Delivery::Gone("is_archived".into()));
}

#[tokio::test]
async fn a_file_that_may_have_been_shared_is_found() {
    for (fault, is_there) in [
        (Fault::DoneThenCut, true),
        (Fault::DoneThenStatus(502), true),
        (Fault::DoneThenError("internal_error"), true),
        (Fault::Cut, false),
        (Fault::Status(500), false),
        (Fault::Error("fatal_error"), false),
    ] {
        for in_thread in [false, true] {
            let (fake, slack, mut report) = start().await;
            if in_thread {
                let root = fake.say("ada", &report.address.place, "Here.");
                report.address.place = format!("{}/{root}", report.address.place);
            }
            // Slack takes its time.
            fake.share_after(2);
            fake.misbehave(COMPLETE, 1, fault);
            assert_eq!(slack.deliver(&report).await, Delivery::Unknown, "{fault:?}");
            let found = connected(&fake).reconcile(&report).await;
            let seen = fake.seen(&report.address.place);
            match is_there {
                true => assert_eq!(found, Reconciliation::Sent(seen[0].ts.clone()), "{fault:?}"),
                false => assert_eq!((found, seen.len()), (Reconciliation::NotSent, 0), "{fault:?}"),
            }
            assert_eq!(count(&fake, COMPLETE), 1);
        }
    }
}

#[tokio::test]
async fn neither_another_file_nor_the_text_is_taken_for_it() {
    let (fake, slack, report) = start().await;
    let place = &report.address.place;
    let text = Outbound { part: 0, ..report.clone() };
    assert!(matches!(slack.deliver(&text).await, Delivery::Sent(_)));
    // The same once more, and the same from somebody else.
    let again = Outbound { id: "0123456789abcdefghijAC".into(), ..report.clone() };
    let Delivery::Sent(of_again) = slack.deliver(&again).await else { panic!() };
    fake.attach("ada", place, "", ("visit-report.md", "text/plain", "All is well."));
    assert_eq!(slack.reconcile(&report).await, Reconciliation::NotSent);
    let Delivery::Sent(of_report) = slack.deliver(&report).await else { panic!() };
    assert_eq!(slack.reconcile(&report).await, Reconciliation::Sent(of_report));
    assert_eq!(slack.reconcile(&again).await, Reconciliation::Sent(of_again));
    assert_eq!(slack.reconcile(&text).await, Reconciliation::Sent(fake.seen(place)[0].ts.clone()));
    fake.misbehave("conversations.history", 99, Fault::Status(503));
    assert_eq!(slack.reconcile(&report).await, Reconciliation::Unavailable);
}

#[tokio::test]
async fn a_file_that_slack_takes_and_never_shows_is_taken_back() {
    let (fake, slack, report) = start().await;
    let place = &report.address.place;
    fake.share_after(3);
    assert!(matches!(slack.deliver(&report).await, Delivery::Sent(_)), "late");
    assert_eq!(files(&fake, place).len(), 1);
    let report = Outbound { id: "0123456789abcdefghijAD".into(), ..report.clone() };
    fake.share_after(usize::MAX);
    let never = Delivery::FileRefused("Slack took the file but doesn't show it".into());
    assert_eq!(slack.deliver(&report).await, never);
    // Somebody else was faster.
    fake.misbehave("files.delete", 1, Fault::Error("file_deleted"));
    assert_eq!(slack.deliver(&report).await, never);
    // It may still appear.
    fake.misbehave("files.delete", 1, Fault::Status(500));
    assert_eq!(slack.deliver(&report).await, Delivery::Unknown);
    assert_eq!((files(&fake, place).len(), count(&fake, "files.delete")), (1, 3));
    // Nothing can be seen: then Slack's word has to do.
    fake.misbehave("conversations.history", 99, Fault::Error("missing_scope"));
    let delivery = slack.deliver(&report).await;
    assert!(matches!(&delivery, Delivery::Sent(id) if id.starts_with('F')), "{delivery:?}");
    assert_eq!(fake.faults(), [""; 0]);
}

#[tokio::test]
async fn without_the_scope_for_files_an_app_is_well() {
    let fake = FakeSlack::start();
    fake.withdraw("files:write");
    insta::assert_snapshot!(format!("{:#?}", connected(&fake).check().await), @r#"
[
    Finding {
        status: Ok,
        reason: "logged in to Acme as adjutant; `/invite @adjutant` adds it to a channel",
        fix: "",
    },
    Finding {
        status: Warning,
        reason: "the bot lacks the scope files:write; long outputs come as messages instead of files",
        fix: "add it on the app's page at api.slack.com/apps, under “OAuth & Permissions”, “Bot Token Scopes”, reinstall the app, and if the token has changed, set channels.slack.bot_token to the new one",
    },
]
"#);
}
