//! That the fake is as strict as Slack.

use std::io::{Read, Write};

use super::*;

fn call(slack: &FakeSlack, token: &str, method: &str, body: &Value) -> Value {
    let body = body.to_string();
    ask(
        slack,
        token,
        &format!("POST /api/{method}"),
        &format!("content-type: application/json\r\ncontent-length: {}", body.len()),
        &body,
    )
}

fn read(slack: &FakeSlack, path: &str) -> Value {
    ask(slack, BOT_TOKEN, &format!("GET /api/{path}"), "accept: */*", "")
}

fn ask(slack: &FakeSlack, token: &str, line: &str, headers: &str, body: &str) -> Value {
    let mut stream = TcpStream::connect(slack.shared.web).unwrap();
    write!(stream, "{line} HTTP/1.1\r\nauthorization: Bearer {token}\r\n{headers}\r\n\r\n{body}").unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    serde_json::from_str(answer.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn section(text: &str) -> Value {
    json!({"type": "section", "text": {"type": "mrkdwn", "text": text}})
}

#[test]
fn a_token_is_for_its_methods() {
    let slack = FakeSlack::start();
    let error = |token: &str, method: &str| call(&slack, token, method, &json!({}))["error"].clone();
    assert_eq!(error(BOT_TOKEN, "auth.test"), Value::Null);
    assert_eq!(error("xoxb-wrong", "auth.test"), "invalid_auth");
    assert_eq!(error(BOT_TOKEN, "apps.connections.open"), "not_allowed_token_type");
}

#[test]
fn messages_are_refused_as_slack_refuses_them() {
    let slack = FakeSlack::start();
    let place = slack.channel("general");
    let button =
        |id: &str| json!({"type": "button", "action_id": id, "text": {"type": "plain_text", "text": "x"}});
    let long = "x".repeat(3_001);
    for (fields, error) in [
        (json!({"text": " "}), "no_text"),
        (json!({"blocks": [section(&long)]}), "invalid_blocks"),
        (json!({"blocks": [section("")]}), "invalid_blocks"),
        (json!({"blocks": vec![section("x"); 51]}), "invalid_blocks"),
        (json!({"blocks": vec![section(&long[1..]); 4]}), "msg_blocks_too_long"),
        (json!({"blocks": [{"type": "actions", "elements": [button("a"), button("a")]}]}), "invalid_blocks"),
        (json!({"text": "x", "thread_ts": "1.000000"}), "thread_not_found"),
    ] {
        let mut arguments = fields;
        arguments["channel"] = json!(place);
        assert_eq!(call(&slack, BOT_TOKEN, "chat.postMessage", &arguments)["error"], error);
    }
    assert_eq!(
        call(&slack, BOT_TOKEN, "chat.postMessage", &json!({"channel": "C9", "text": "x"}))["error"],
        "channel_not_found"
    );
    assert!(slack.seen(&place).is_empty());
}

#[test]
fn metadata_and_threads_are_where_slack_has_them() {
    let slack = FakeSlack::start();
    let place = slack.channel("general");
    let root = slack.say("ada", &place, "a root");
    let metadata = json!({"event_type": "x", "event_payload": {}});
    let answer = json!({"channel": place, "text": "an answer", "thread_ts": root, "metadata": metadata});
    assert_eq!(call(&slack, BOT_TOKEN, "chat.postMessage", &answer)["ok"], true);
    let history = read(&slack, &format!("conversations.history?channel={place}"));
    assert_eq!(history["messages"].as_array().unwrap().len(), 1);
    let path = format!("conversations.replies?channel={place}&ts={root}");
    assert_eq!(read(&slack, &path)["messages"][1]["metadata"], Value::Null);
    assert_eq!(
        read(&slack, &format!("{path}&include_all_metadata=true"))["messages"][1]["metadata"],
        metadata
    );
    assert_eq!(slack.seen(&format!("{place}/{root}"))[0].text, "an answer");
}

#[test]
fn a_signature_is_slacks() {
    // The example of <https://docs.slack.dev/authentication/verifying-requests-from-slack>.
    let body = "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    assert_eq!(
        signature("8f742231b10e8888abcd99yyyzzz85a5", 1_531_420_618, body),
        "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"
    );
}

#[test]
fn places_are_shown_to_those_with_the_scope_and_who_are_in_them() {
    let slack = FakeSlack::start();
    let (open, secret) = (slack.channel("general"), slack.private_channel("secret"));
    let error = |path: &str| read(&slack, path)["error"].clone();
    let history = |place: &str| error(&format!("conversations.history?channel={place}"));
    assert_eq!((history(&open), history(&secret)), (Value::Null, Value::Null));
    assert_eq!(error("conversations.list?types=public_channel,rooms"), "invalid_types");
    assert_eq!(error("conversations.list?types=im&limit=1000"), "invalid_limit");
    assert_eq!(error(&format!("conversations.members?channel={open}&cursor=x")), "invalid_cursor");
    assert_eq!(error("users.info?user=U9999"), "user_not_found");
    slack.put_out(&open);
    slack.put_out(&secret);
    assert_eq!((history(&open), history(&secret)), (json!("not_in_channel"), json!("channel_not_found")));
    assert_eq!(error(&format!("conversations.info?channel={open}")), Value::Null);
    let listed = read(&slack, "conversations.list?types=public_channel,private_channel");
    assert_eq!(listed["channels"].as_array().map(Vec::len), Some(1));
    slack.withdraw("channels:read");
    for path in ["conversations.list?types=public_channel", &format!("conversations.members?channel={open}")]
    {
        let answer = read(&slack, path);
        assert_eq!((&answer["error"], &answer["needed"]), (&json!("missing_scope"), &json!("channels:read")));
    }
    assert!(slack.faults().is_empty());
    read(&slack, "users.list?presence=true");
    assert_eq!(slack.faults(), ["users.list has no argument presence"]);
}

#[test]
fn files_are_taken_as_slack_takes_them() {
    let slack = FakeSlack::start();
    let (place, secret) = (slack.channel("general"), slack.private_channel("secret"));
    slack.put_out(&secret);
    let announce = |query: &str| read(&slack, &format!("files.getUploadURLExternal?{query}"));
    for query in
        ["", "filename=x.md", "filename=x.md&length=0", "filename=&length=3", "filename=x.md&length=3a"]
    {
        assert_eq!(announce(query)["error"], "invalid_arguments", "{query}");
    }
    let ticket = announce("filename=x.md&length=3");
    let url = ticket["upload_url"].as_str().unwrap().to_owned();
    let store = |kind: &str, body: &str| {
        let path = &url[url.find("/upload").unwrap()..];
        let mut stream = TcpStream::connect(slack.shared.web).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST {path} HTTP/1.1\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer[9..12].to_owned()
    };
    let share = |id: &Value, fields: &Value| {
        let mut arguments = json!({"files": [{"id": id, "title": "y.md"}], "channel_id": place});
        for (key, value) in fields.as_object().unwrap() {
            arguments[key] = value.clone();
        }
        call(&slack, BOT_TOKEN, "files.completeUploadExternal", &arguments)["error"].clone()
    };
    let (id, raw) = (&ticket["file_id"], "application/octet-stream");
    assert_eq!(share(id, &json!({})), "file_not_found");
    assert_eq!((store("text/plain", "abc"), store(raw, "abcd")), ("400".into(), "400".into()));
    assert_eq!(slack.faults().len(), 2);
    assert_eq!((store(raw, "abc"), store(raw, "abc")), ("200".into(), "404".into()));
    for (fields, error) in [
        (json!({"files": []}), "invalid_arguments"),
        (json!({"channel_id": null}), "invalid_arguments"),
        (json!({"channel_id": "C9"}), "channel_not_found"),
        (json!({"channel_id": secret}), "channel_not_found"),
        (json!({"thread_ts": "1.000000"}), "thread_not_found"),
        (json!({"files": [{"id": "F9"}]}), "file_not_found"),
    ] {
        assert_eq!(share(id, &fields), error, "{fields}");
    }
    slack.withdraw("files:write");
    assert_eq!(share(id, &json!({})), "missing_scope");
    slack.grant("files:write");
    assert!(slack.seen(&place).is_empty());
    assert_eq!((share(id, &json!({})), share(id, &json!({}))), (Value::Null, json!("file_not_found")));
    assert_eq!(slack.seen(&place)[0].file, Some(("y.md".into(), b"abc".to_vec())));
    let history = read(&slack, &format!("conversations.history?channel={place}"));
    assert_eq!(history["messages"][0]["files"][0]["name"], "x.md");
    assert_eq!(call(&slack, BOT_TOKEN, "files.delete", &json!({"file": id}))["ok"], true);
    assert!(slack.seen(&place).is_empty());
}

#[test]
fn streams_are_taken_as_slack_takes_them() {
    let slack = FakeSlack::start();
    let (channel, direct) = (slack.channel("general"), slack.dm("ada"));
    let [root, other] = [&channel, &direct].map(|place| slack.say("ada", place, "a root"));
    let error = |method: &str, fields: Value| {
        let answer = call(&slack, BOT_TOKEN, method, &fields);
        answer["error"].as_str().unwrap_or_default().to_owned()
    };
    let full = json!({
        "channel": channel, "thread_ts": root, "markdown_text": "One", "recipient_team_id": "T0TEAM",
        "recipient_user_id": slack.person("ada"),
    });
    for (key, value, why) in [
        ("thread_ts", Value::Null, "invalid_thread_ts"),
        ("recipient_team_id", Value::Null, "missing_recipient_team_id"),
        ("recipient_user_id", Value::Null, "missing_recipient_user_id"),
        ("recipient_user_id", json!("U9999"), "user_not_found"),
        ("markdown_text", json!("x".repeat(12_001)), "msg_too_long"),
    ] {
        let mut fields = full.clone();
        fields[key] = value;
        assert_eq!(error("chat.startStream", fields), why);
    }
    let private = json!({"channel": direct, "thread_ts": other, "markdown_text": "One"});
    assert_eq!(error("chat.startStream", private), "");
    let ts = call(&slack, BOT_TOKEN, "chat.startStream", &full)["ts"].clone();
    let more = json!({"channel": channel, "ts": ts, "markdown_text": " two"});
    let message = json!({"channel": channel, "ts": ts});
    let edit = json!({"channel": channel, "ts": ts, "text": "Three"});
    assert_eq!(error("chat.appendStream", more.clone()), "");
    assert_eq!(slack.seen(&format!("{channel}/{root}"))[0].text, "One two");
    assert_eq!(error("chat.update", edit.clone()), "streaming_state_conflict");
    assert_eq!(error("chat.delete", message.clone()), "cant_delete_message");
    assert_eq!(error("chat.stopStream", message.clone()), "");
    for (method, fields) in [("chat.appendStream", more), ("chat.stopStream", message)] {
        assert_eq!(error(method, fields), "message_not_in_streaming_state");
    }
    assert_eq!(error("chat.update", edit), "");
    assert!(slack.faults().is_empty());
    for _ in 0..13 {
        assert_eq!(error("chat.startStream", full.clone()), "");
    }
    assert_eq!(error("chat.startStream", full), "ratelimited");
}
