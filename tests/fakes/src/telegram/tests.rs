//! That the fake is as strict as Telegram.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::*;

/// A call with a body of JSON; nothing if the connection was cut.
fn call(telegram: &FakeTelegram, method: &str, body: &Value) -> Option<Value> {
    ask(telegram, &format!("/bot{TOKEN}/{method}"), "application/json", &body.to_string())
}

fn ask(telegram: &FakeTelegram, path: &str, kind: &str, body: &str) -> Option<Value> {
    let mut stream = TcpStream::connect(telegram.address).unwrap();
    let length = body.len();
    write!(stream, "POST {path} HTTP/1.1\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")
        .unwrap();
    let mut answer = String::new();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n")?.1).ok()
}

fn words(answer: Option<Value>) -> String {
    answer.unwrap()["description"].as_str().unwrap_or("it was done").to_owned()
}

#[test]
fn a_token_is_right_wrong_or_no_token() {
    let telegram = FakeTelegram::start();
    let path = |token: &str| format!("/bot{token}/getMe");
    let code = |token: &str| ask(&telegram, &path(token), "", "").unwrap()["error_code"].clone();
    assert_eq!(code(TOKEN), Value::Null);
    assert_eq!(code(&TOKEN.replace("42Fake", "43Fake").replace("AA", "BB")), 401);
    assert_eq!(code("42"), 404);
}

#[test]
fn markup_is_read_strictly() {
    let parsed = |html: &str| markup::parse(html).map(|(text, entities)| markup::trimmed(text, entities));
    let (text, entities) =
        parsed(" <b>🦀 &lt;x&gt;</b> <a href=\"https://a.example/?a=1&amp;b\">y</a>\n").unwrap();
    assert_eq!(text, "🦀 <x> y");
    assert_eq!(
        json!(entities),
        json!([{"type": "bold", "offset": 0, "length": 6},
            {"type": "text_link", "offset": 7, "length": 1, "url": "https://a.example/?a=1&b"}])
    );
    let (_, entities) = parsed("<pre><code class=\"language-rust\">fn</code></pre>").unwrap();
    assert_eq!(json!(entities), json!([{"type": "pre", "offset": 0, "length": 2, "language": "rust"}]));
    for bad in ["<b>x", "x</b>", "<b><i>x</b></i>", "<ada@example.org>", "a < b", "<script>x</script>"] {
        assert!(parsed(bad).is_err(), "{bad}");
    }
}

#[test]
fn messages_are_refused_as_telegram_refuses_them() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let send = |body: Value| words(call(&telegram, "SendMessage", &body));
    assert_eq!(send(json!({"chat_id": ada, "text": "x".repeat(4_096)})), "it was done");
    assert_eq!(send(json!({"chat_id": ada, "text": "x".repeat(4_097)})), "Bad Request: message is too long");
    let marked = format!("<b>{}</b>", "🦀".repeat(2_048));
    assert_eq!(send(json!({"chat_id": ada, "text": marked, "parse_mode": "HTML"})), "it was done");
    assert_eq!(send(json!({"chat_id": ada, "text": " \n"})), "Bad Request: message text is empty");
    assert_eq!(send(json!({"chat_id": 5, "text": "x"})), "Bad Request: chat not found");
    let keyboard =
        |data: usize| json!({"inline_keyboard": [[{"text": "Go", "callback_data": "k".repeat(data)}]]});
    assert_eq!(send(json!({"chat_id": ada, "text": "x", "reply_markup": keyboard(64)})), "it was done");
    assert_eq!(
        send(json!({"chat_id": ada, "text": "x", "reply_markup": keyboard(65)})),
        "Bad Request: BUTTON_DATA_INVALID"
    );
    telegram.close(ada, "bot was blocked by the user");
    assert_eq!(send(json!({"chat_id": ada, "text": "x"})), "Forbidden: bot was blocked by the user");
}

#[test]
fn a_form_is_as_good_as_json() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let form = format!(
        "chat_id={ada}&text=1+%3C+2&reply_markup=%7B%22inline_keyboard%22%3A%5B%5B%7B%22text%22%3A%22Go%22%2C%22callback_data%22%3A%22go%22%7D%5D%5D%7D"
    );
    let path = format!("/bot{TOKEN}/sendmessage");
    ask(&telegram, &path, "application/x-www-form-urlencoded", &form).unwrap();
    ask(&telegram, &format!("{path}?chat_id={ada}&text=again"), "", "").unwrap();
    let seen = telegram.seen(ada);
    assert_eq!(seen.iter().map(|seen| seen.text.as_str()).collect::<Vec<_>>(), ["1 < 2", "again"]);
    assert_eq!(seen[0].buttons, [[("Go".to_owned(), "go".to_owned())]]);
}

#[test]
fn only_what_is_ours_and_different_is_edited() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let hers = telegram.say(ada, ada, "Hello");
    let ours = call(&telegram, "sendMessage", &json!({"chat_id": ada, "text": "Hi"})).unwrap()["result"]["message_id"]
        .as_i64()
        .unwrap();
    assert_eq!(ours, hers + 1, "ids rise");
    let edit = |message: i64, text: &str| {
        words(call(
            &telegram,
            "editMessageText",
            &json!({"chat_id": ada, "message_id": message, "text": text}),
        ))
    };
    assert!(edit(ours, "Hi").contains("message is not modified"));
    assert_eq!(edit(ours, "Hi!"), "it was done");
    assert_eq!(edit(hers, "Hi"), "Bad Request: message can't be edited");
    assert_eq!(edit(ours + 1, "Hi"), "Bad Request: message to edit not found");
}

#[test]
fn ids_are_counted_together_but_in_supergroups() {
    let telegram = FakeTelegram::start();
    let (ada, group) = (telegram.person("Ada"), telegram.group("group"));
    let super_group = telegram.supergroup("supergroup");
    let ids = [(ada, 1), (group, 2), (super_group, 1), (ada, 3), (super_group, 2)];
    for (chat, id) in ids {
        assert_eq!(telegram.say(ada, chat, "x"), id);
    }
}

#[test]
fn updates_come_until_they_are_confirmed() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let poll =
        |body: Value| call(&telegram, "getUpdates", &body).unwrap()["result"].as_array().unwrap().clone();
    assert_eq!(poll(json!({})).len(), 0);
    telegram.say(ada, ada, "one");
    telegram.say(ada, ada, "two");
    for _ in 0..2 {
        assert_eq!(poll(json!({"timeout": 60})).len(), 2);
    }
    let next = poll(json!({"limit": 1}))[0]["update_id"].as_i64().unwrap() + 1;
    assert_eq!(poll(json!({"offset": next}))[0]["message"]["text"], "two");
    assert_eq!(telegram.unconfirmed(), 1);
}

#[test]
fn a_second_poll_ends_the_first_and_news_ends_a_poll() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    std::thread::scope(|scope| {
        let poll = || call(&telegram, "getUpdates", &json!({"timeout": 60})).unwrap();
        let first = scope.spawn(poll);
        while telegram.calls("getUpdates") == 0 || telegram.shared.world().poll == 0 {
            std::thread::yield_now();
        }
        let second = scope.spawn(poll);
        assert_eq!(first.join().unwrap()["error_code"], 409);
        telegram.say(ada, ada, "news");
        assert_eq!(second.join().unwrap()["result"][0]["message"]["text"], "news");
    });
}

#[test]
fn what_was_cut_off_is_done() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let body = json!({"chat_id": ada, "text": "Hi"});
    telegram.misbehave("sendMessage", &Fault::Cut, 1);
    telegram.misbehave("sendMessage", &Fault::Flood(7), 1);
    assert_eq!(call(&telegram, "sendMessage", &body), None);
    assert_eq!(call(&telegram, "sendMessage", &body).unwrap()["parameters"]["retry_after"], 7);
    assert_eq!((telegram.seen(ada).len(), telegram.calls("SENDMESSAGE")), (1, 2));
}

#[test]
fn a_draft_is_seen_in_a_private_chat_until_the_next_message() {
    let telegram = FakeTelegram::start();
    let (ada, group) = (telegram.person("Ada"), telegram.group("group"));
    let draft = |chat: i64, id: i64, text: &str| {
        words(call(&telegram, "sendMessageDraft", &json!({"chat_id": chat, "draft_id": id, "text": text})))
    };
    assert_eq!(draft(group, 7, "x"), "Bad Request: TEXTDRAFT_PEER_INVALID");
    assert_eq!(draft(ada, 0, "x"), "Bad Request: RANDOM_ID_INVALID");
    assert_eq!(draft(ada, 7, &"x".repeat(4_097)), "Bad Request: message is too long");
    assert_eq!(telegram.preview(ada), None);
    assert_eq!(draft(ada, 7, "The"), "it was done");
    assert_eq!(telegram.preview(ada), Some((7, "The".to_owned())));
    assert_eq!(draft(ada, 7, ""), "it was done");
    assert_eq!(telegram.preview(ada), Some((7, "Thinking…".to_owned())));
    call(&telegram, "sendMessage", &json!({"chat_id": ada, "text": "The answer"})).unwrap();
    assert_eq!(telegram.preview(ada), None);
    let refusals = (0..30).filter(|_| draft(ada, 8, "x").starts_with("Too Many Requests")).count();
    assert_eq!(refusals, 5, "27 drafts are taken at once, two of which were before");
}

#[test]
fn a_bot_gives_one_reaction_of_those_that_exist() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let said = telegram.say(ada, ada, "Hello");
    let react = |message: i64, emojis: &[&str]| {
        let reaction: Vec<Value> =
            emojis.iter().map(|emoji| json!({"type": "emoji", "emoji": emoji})).collect();
        let body = json!({"chat_id": ada, "message_id": message, "reaction": reaction});
        words(call(&telegram, "setMessageReaction", &body))
    };
    assert_eq!(react(said, &["✅"]), "Bad Request: REACTION_INVALID");
    assert_eq!(react(said, &["👀", "👌"]), "Bad Request: REACTIONS_TOO_MANY");
    assert_eq!(react(said + 1, &["👀"]), "Bad Request: message to react not found");
    assert_eq!(react(said, &["👀"]), "it was done");
    assert_eq!(telegram.reaction(ada, said).as_deref(), Some("👀"));
    assert_eq!(react(said, &[]), "it was done");
    assert_eq!(telegram.reaction(ada, said), None);
}
