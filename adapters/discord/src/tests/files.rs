use adjutant_chat::{Delivery, Reconciliation};
use adjutant_fakes::discord::Fault;
use serde_json::json;

use super::*;

/// A message whose part 1 is this file, in a channel of the guild.
fn report(place: &str, name: &str, text: &str) -> Outbound {
    let file = Some(OutgoingFile { name: name.into(), text: text.into() });
    Outbound { part: 1, file, ..outbound(place, "It is done.") }
}

fn start() -> (FakeDiscord, Discord, String) {
    let fake = FakeDiscord::start();
    let (discord, place) = (connected(&fake), fake.channel("general"));
    (fake, discord, place)
}

#[tokio::test]
async fn a_file_arrives_byte_by_byte() {
    let line = "\u{feff}Grüße, \"Ärger\" 🦀\r\n--\r\nContent-Disposition: form-data; name=\"payload_json\"\r\n\r\n\0{}\t\n";
    for text in [String::new(), line.to_owned(), line.repeat(200 * 1024 / line.len() + 1)] {
        let (fake, discord, place) = start();
        let part = report(&place, "visit-report.md", &text);
        let Delivery::Sent(receipt) = discord.deliver(&part).await else { panic!() };
        let seen = fake.seen(&place).remove(0);
        assert_eq!((seen.id, seen.content, seen.buttons), (receipt, String::new(), Vec::new()));
        assert!(seen.file == Some(("visit-report.md".into(), text)), "it is another file");
        assert_eq!(fake.faults(), Vec::<String>::new());
    }
}

#[tokio::test]
async fn a_file_goes_with_what_every_message_has() {
    let (fake, discord, place) = start();
    let part = Outbound { answers: vec!["1".into()], ..report(&place, "all.json", "[1]") };
    assert!(matches!(discord.deliver(&part).await, Delivery::Sent(_)));
    let sent = fake.calls().pop().unwrap().body;
    let wanted = json!({
        "content": "",
        "attachments": [{"id": 0, "filename": "all.json"}],
        "components": [],
        "flags": 4,
        "allowed_mentions": {"parse": [], "replied_user": false},
        "nonce": "0123456789abcdefghijAB001",
        "enforce_nonce": true,
    });
    assert_eq!(sent, wanted);
}

#[tokio::test]
async fn where_no_file_is_taken_its_text_can_be_said() {
    let refused = |delivery: Delivery| match delivery {
        Delivery::FileRefused(why) => why,
        other => panic!("{other:?}"),
    };
    let (fake, discord, place) = start();
    fake.forbid_files();
    let part = report(&place, "report.md", "All.");
    assert_eq!(refused(discord.deliver(&part).await), "Missing Permissions (50013)");
    // The text is taken; in a direct conversation there is nothing to permit.
    assert!(matches!(discord.deliver(&Outbound { part: 0, ..part }).await, Delivery::Sent(_)));
    let direct = report(&fake.dm("ada"), "report.md", "All.");
    assert!(matches!(discord.deliver(&direct).await, Delivery::Sent(_)));
    assert!(fake.seen(&place).iter().all(|seen| seen.file.is_none()));

    // Ten megabytes are the most, says Discord or what stands before it; and it has codes that it does not document.
    let (fake, discord, place) = start();
    let part = report(&place, "report.md", &"x".repeat(10 * 1024 * 1024 + 1));
    assert_eq!(refused(discord.deliver(&part).await), "it is too large for Discord");
    let part = report(&place, "report.md", "All.");
    for fault in [Fault::Page(413), Fault::Status(413), Fault::Status(400), Fault::Status(403)] {
        fake.misbehave("POST", "/messages", 1, fault);
        refused(discord.deliver(&part).await);
    }
    fake.close(&place, 403, 400001);
    refused(discord.deliver(&part).await);
    assert_eq!(fake.seen(&place), []);
}

#[tokio::test]
async fn a_file_waits_or_is_given_up_as_a_text_is() {
    let (fake, discord, place) = start();
    let part = report(&place, "report.md", "All.");
    let pause = Some(Duration::from_millis(300));
    for (fault, pause) in [(Fault::Status(429), pause), (Fault::Page(403), None)] {
        fake.misbehave("POST", "/messages", 1, fault);
        assert_eq!(discord.deliver(&part).await, Delivery::Retry(pause), "{fault:?}");
    }
    let nowhere = Settings { api_url: "http://127.0.0.1:1".into(), ..settings(&fake) };
    assert_eq!(connect(nowhere).unwrap().deliver(&part).await, Delivery::Retry(None));
    let stranger = Settings { token: "wrong".into(), ..settings(&fake) };
    assert_eq!(connect(stranger).unwrap().deliver(&part).await, Delivery::Retry(None));
    for (status, code) in [(404, 10003), (403, 50001), (403, 50007)] {
        fake.close(&place, status, code);
        assert!(matches!(discord.deliver(&part).await, Delivery::Gone(_)), "{code}");
    }
    assert!(matches!(discord.deliver(&report("general", "a.md", "All.")).await, Delivery::Gone(_)));
    let too_far = Outbound { part: 2, ..part };
    assert!(matches!(discord.deliver(&too_far).await, Delivery::Refused(_)));
    assert_eq!(discord.reconcile(&too_far).await, Reconciliation::NotSent);
    assert_eq!(fake.seen(&place), []);
}

#[tokio::test]
async fn a_file_that_may_have_been_sent_is_found() {
    for (fault, is_there) in [
        (Fault::DoneThenCut, true),
        (Fault::DoneThenStatus(502), true),
        (Fault::Cut, false),
        (Fault::Status(500), false),
        (Fault::Hang, false),
    ] {
        // Discord takes the line off the beginning of a name.
        for name in ["report.md", "_nightly_.json"] {
            let (fake, discord, place) = start();
            let text = "Grüße 🦀\r\n";
            let earlier = Outbound { id: "another000000000000000".into(), ..report(&place, name, text) };
            discord.deliver(&earlier).await;
            let checkpoint = discord.checkpoint(&address(&place)).await;
            // What others attach, and what we say, is not it.
            fake.attach("ada", &place, "", (name, "text/markdown", text));
            discord.deliver(&Outbound { part: 0, file: None, ..earlier.clone() }).await;
            let part = Outbound { checkpoint, ..report(&place, name, text) };
            assert_eq!(discord.reconcile(&part).await, Reconciliation::NotSent);
            fake.misbehave("POST", "/messages", 1, fault);
            assert_eq!(discord.deliver(&part).await, Delivery::Unknown, "{fault:?}");
            // Another process, minutes later.
            fake.forget_nonces();
            let found = connected(&fake).reconcile(&part).await;
            let mut seen = fake.seen(&place);
            match is_there {
                true => assert_eq!(found, Reconciliation::Sent(seen.remove(2).id), "{fault:?}"),
                false => assert_eq!((found, seen.len()), (Reconciliation::NotSent, 2), "{fault:?}"),
            }
            for (name, text) in [("other.md", text), (name, "Grüße 🦀\n")] {
                let other = Outbound { checkpoint: part.checkpoint.clone(), ..report(&place, name, text) };
                assert_eq!(
                    connected(&fake).reconcile(&other).await,
                    Reconciliation::NotSent,
                    "{name}: {text}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_second_sending_of_a_file_soon_after_is_the_first() {
    deliver::is_sent_once(start(), |place| report(place, "report.md", "All.")).await;
}

#[tokio::test]
async fn what_was_shown_becomes_the_text_and_the_file_follows() {
    let (fake, discord, place) = start();
    let Delivery::Sent(shown) = discord.show(&address(&place), None, "At work.").await else { panic!() };
    let mut part = report(&place, "report.md", "All.");
    part.choices = vec![Choice { id: "again".into(), label: "Again".into() }];
    (part.part, part.edit_of) = (0, Some(shown.clone()));
    assert_eq!(discord.parts(&part), 2);
    assert_eq!(discord.deliver(&part).await, Delivery::Sent(shown.clone()));
    part.part = 1;
    let Delivery::Sent(receipt) = discord.deliver(&part).await else { panic!() };
    let seen = fake.seen(&place);
    let told: Vec<_> =
        seen.iter().map(|seen| (seen.id.clone(), seen.text.as_str(), seen.buttons.len())).collect();
    assert_eq!(told, [(shown, "It is done.", 1), (receipt, "", 0)]);
    assert_eq!(seen[1].file, Some(("report.md".into(), "All.".into())));
}

#[tokio::test]
async fn servers_without_files_are_noted() {
    let fake = FakeDiscord::start();
    let notes = async || {
        let found = connected(&fake).check().await.into_iter();
        found.map(|one| (one.status, one.reason)).skip(2).collect::<Vec<_>>()
    };
    assert_eq!(notes().await, []);
    fake.forbid_files();
    insta::assert_debug_snapshot!(notes().await, @r#"
[
    (
        Ok,
        "can't attach files on “Home”, so long outputs come as messages there; the permission is “Attach Files”",
    ),
]
"#);
    fake.join_guilds(4);
    insta::assert_debug_snapshot!(notes().await, @r#"
[
    (
        Ok,
        "can't attach files on “Home”, “Guild 1”, “Guild 2” and 2 more, so long outputs come as messages there; the permission is “Attach Files”",
    ),
]
"#);
    fake.misbehave("GET", "/guilds", 1, Fault::Status(500));
    assert_eq!(notes().await, [], "what is not told is no note");
}
