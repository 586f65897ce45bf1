//! Kills the service at each step of connecting an account: in the end it is connected once, or not at all.

use adjutant_fakes::cloud::FakeCloud;
use adjutant_store::Batch;

use crate::accounts::home;
use crate::process::{Chat, Value, json};

/// Begins a login, and somebody allows it. Returns the address at which they end.
pub(crate) fn allowed(cloud: &FakeCloud, chat: &mut Chat, id: &str) -> String {
    let said = chat.say(id, "/connect google");
    let mut words = said["text"].as_str().unwrap().split_whitespace();
    let link = words.find(|word| word.contains("/authorize?")).unwrap_or_else(|| panic!("{said}"));
    cloud.opens(link.trim_matches(['<', '>']))
}

fn says(event: &Value, part: &str) -> bool {
    event["text"].as_str().is_some_and(|text| text.contains(part))
}

pub(crate) fn is_connected(event: &Value) -> bool {
    says(event, "✓ Connected")
}

fn is_refused(event: &Value) -> bool {
    says(event, "connected nothing")
}

#[test]
fn killed_at_each_step_a_login_connects_one_account_or_none() {
    for point in ["login-arrived", "login-exchanged"] {
        let cloud = FakeCloud::start();
        cloud.state().logins.person = "ada@example.test".into();
        let home = home(&cloud);
        let mut chat = home.chat_until(point);
        let back = allowed(&cloud, &mut chat, "m1");
        chat.send(&json!({"id": "m2", "text": back}));
        while chat.next().is_some() {}
        chat.kill();
        assert_eq!(home.count("SELECT count(*) FROM connected_accounts"), 0, "{point}: half connected");
        // An exchange whose process has died is given up after a minute.
        home.ask(async |store| {
            let mut batch = Batch::new();
            batch.run("UPDATE logins SET changed_at = 1 WHERE state = 'exchanging'", []);
            store.write(batch).await.unwrap();
        });
        let mut chat = home.chat();
        chat.send(&json!({"id": "m2", "text": back}));
        let end = chat.find(|event| is_connected(event) || is_refused(event));
        if !is_connected(&end.unwrap_or_else(|| panic!("{point}: it ended"))) {
            let back = allowed(&cloud, &mut chat, "m3");
            chat.send(&json!({"id": "m4", "text": back}));
            chat.find(is_connected);
        }
        chat.finish();
        for (what, sql, expected) in [
            ("accounts", "SELECT count(*) FROM connected_accounts WHERE address = 'ada@example.test'", 1),
            ("secrets", "SELECT count(*) FROM secrets WHERE name LIKE 'account/%'", 1),
            ("open", "SELECT count(*) FROM logins WHERE state NOT IN ('done', 'refused', 'expired')", 0),
            ("codes", "SELECT count(*) FROM inbox WHERE text LIKE '%t0ken%'", 0),
            ("tokens", "SELECT count(*) FROM secrets WHERE sealed LIKE '%t0ken%'", 0),
        ] {
            assert_eq!(home.count(sql), expected, "{point}: {what}");
        }
        let state = cloud.state();
        let asked = state.requests.iter().filter(|request| *request == "POST /token").count();
        assert!(asked <= 2, "{point}: the provider was asked again and again");
        assert_eq!(state.complaints, [""; 0], "{point}");
        home.assert_tidy(point);
    }
}

#[test]
fn killed_while_it_renews_a_token_it_goes_on_or_asks_for_a_new_login_once() {
    // Where a refresh token is good once, the one that was never stored is lost.
    for is_lasting in [true, false] {
        let cloud = FakeCloud::start();
        {
            let mut state = cloud.state();
            state.logins.person = "ada@example.test".into();
            state.logins.lifetime = Some(30);
            state.logins.has_lasting_refreshes = is_lasting;
        }
        let home = home(&cloud);
        let mut chat = home.chat_until("token-renewed");
        let back = allowed(&cloud, &mut chat, "m1");
        chat.send(&json!({"id": "m2", "text": back}));
        chat.find(is_connected);
        chat.send(&json!({"id": "m3", "text": "what is on my calendar on 2030-03-04?"}));
        while chat.next().is_some() {}
        chat.kill();
        // The dead process's lock is given up after half a minute.
        home.ask(async |store| {
            let mut batch = Batch::new();
            batch.run("UPDATE secrets SET locked_until = 0", []);
            store.write(batch).await.unwrap();
        });
        let mut chat = home.chat();
        if !is_lasting {
            let asked = chat.reply("m3");
            assert!(says(&asked, "its login has ended"), "{asked}");
            let back = allowed(&cloud, &mut chat, "m4");
            chat.send(&json!({"id": "m5", "text": back}));
            chat.find(|event| says(event, "✓ ada@example.test is connected again")).unwrap();
        }
        chat.find(|event| says(event, "be reached")).unwrap_or_else(|| panic!("{is_lasting}: it ended"));
        chat.finish();
        for (what, sql, expected) in [
            ("accounts", "SELECT count(*) FROM connected_accounts WHERE state = 'ready'", 1),
            ("secrets", "SELECT count(*) FROM secrets WHERE name LIKE 'account/%' AND locked_until = 0", 1),
            (
                "news",
                "SELECT count(*) FROM outbox WHERE text LIKE '%login has ended%'",
                i64::from(!is_lasting),
            ),
        ] {
            assert_eq!(home.count(sql), expected, "{is_lasting}: {what}");
        }
        assert_eq!(cloud.state().complaints, [""; 0], "{is_lasting}");
        home.assert_tidy("token-renewed");
    }
}
