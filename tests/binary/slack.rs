//! `serve` with a fake Slack on loopback, over Socket Mode and over HTTP.

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::slack::{APP_TOKEN, BOT_TOKEN, FakeSlack, SIGNING_SECRET, Seen};

use crate::gateway::{Gateway, eventually, wait_until};
use crate::process::Home;

fn home(slack: &FakeSlack, way: &str) -> Home {
    home_with(slack, way, "")
}

/// With `agent`, the table of the agents' model.
fn home_with(slack: &FakeSlack, way: &str, agent: &str) -> Home {
    let owner = slack.person("ada");
    Home::with_config(&format!(
        "[model]\nprovider = \"builtin\"\n{agent}[assistant]\nowner = [\"slack:{owner}\"]\n[http]\nlisten = \"127.0.0.1:0\"\n\
         [approval.skills]\n\"tasks.create\" = \"ask\"\n\
         [channels.slack]\nbot_token = \"{BOT_TOKEN}\"\n{way}\napi_url = \"{}\"\n",
        slack.api_url()
    ))
}

/// A model of agents that find nothing.
fn quiet() -> FakeModel {
    FakeModel::start(|_| Reply::text("All is quiet."))
}

fn agent(model: &FakeModel) -> String {
    format!("[model.agent]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n", model.base_url())
}

/// Waits for a message of the assistant that matches.
#[track_caller]
fn sees(slack: &FakeSlack, place: &str, is_it: impl Fn(&Seen) -> bool) -> Seen {
    eventually("the message", || slack.seen(place).into_iter().find(&is_it))
}

/// A message in, a question out, its button pressed, an answer out; then in a thread of a channel.
fn talk(slack: &FakeSlack, home: &Home, gateway: Gateway) {
    let (dm, room) = (slack.dm("ada"), slack.channel("general"));
    slack.say("ada", &dm, "add a task to buy milk &amp; bread");
    let asked = sees(slack, &dm, |seen| !seen.buttons.is_empty());
    let approve = asked.buttons.iter().find(|(_, label)| label == "Approve").unwrap();
    slack.press("ada", &dm, &asked.ts, &approve.0);
    sees(slack, &dm, |seen| seen.text.contains("Added “buy milk & bread”"));
    assert!(slack.seen(&dm).iter().all(|seen| seen.buttons.is_empty()), "{:#?}", slack.seen(&dm));
    let root = slack.say("bob", &room, "a root");
    let thread = format!("{room}/{root}");
    slack.say("ada", &thread, &format!("{} what is overdue?", slack.mention()));
    sees(slack, &thread, |seen| seen.text.contains("No overdue tasks"));
    slack.command("ada", &room, "/adjutant help");
    let told = || slack.ephemeral("ada").into_iter().find(|(place, _)| *place == room);
    let (_, help) = eventually("the answer to the command", told);
    assert!(help.contains("/adjutant new") && slack.seen(&room).is_empty(), "{help}");
    slack.command("ada", &room, "/adjutant spawn executor look around");
    let result = || slack.ephemeral("ada").into_iter().find(|(_, text)| text.contains("All is quiet"));
    let (place, _) = eventually("the result of the agent", result);
    assert!(place == room && slack.seen(&room).is_empty(), "others see it: {:?}", slack.seen(&room));
    wait_until("all is acknowledged", || slack.all_acknowledged());
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    for secret in [BOT_TOKEN, APP_TOKEN, SIGNING_SECRET] {
        assert!(!log.contains(secret), "a secret is in the log:\n{log}");
    }
    assert_eq!(slack.faults(), [""; 0]);
    assert_eq!(home.tasks(), ["buy milk & bread"]);
    home.assert_tidy("slack");
}

#[test]
fn over_a_socket_messages_are_answered_and_buttons_work() {
    let (slack, model) = (FakeSlack::start(), quiet());
    let home = home_with(&slack, &format!("app_token = \"{APP_TOKEN}\""), &agent(&model));
    talk(&slack, &home, Gateway::start(&home));
}

#[test]
fn by_requests_messages_are_answered_and_buttons_work() {
    let (slack, model) = (FakeSlack::start(), quiet());
    let home = home_with(&slack, &format!("signing_secret = \"{SIGNING_SECRET}\""), &agent(&model));
    let mut gateway = Gateway::start(&home);
    slack.send_events_to(&format!("http://{}/hooks/slack", gateway.address()));
    talk(&slack, &home, gateway);
}

#[test]
fn a_thumb_is_a_yes_of_who_was_asked_where_that_is_configured() {
    let slack = FakeSlack::start();
    let home = home(&slack, &format!("app_token = \"{APP_TOKEN}\"\nallow = [\"*\"]"));
    let (dm, other) = (slack.dm("ada"), slack.dm("bob"));
    let gateway = Gateway::start(&home);
    slack.say("bob", &other, "what is overdue?");
    sees(&slack, &other, |seen| seen.text.contains("No overdue tasks"));
    slack.say("ada", &dm, "add a task to buy milk");
    let asked = sees(&slack, &dm, |seen| !seen.buttons.is_empty());
    let sent = "SELECT count(*) FROM outbox WHERE state = 'sent' AND choices <> '[]'";
    wait_until("its receipt is stored", || home.count(sent) == 1);
    slack.react("ada", &dm, &asked.ts, "+1");
    wait_until("it is acknowledged", || slack.all_acknowledged());
    assert_eq!(gateway.stop().0, Some(0));
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write(
        "config.toml",
        &config.replace("[approval.skills]", "[approval]\nreactions = true\n[approval.skills]"),
    );
    let gateway = Gateway::start(&home);
    // It means something else, is somebody else's, or is elsewhere.
    let said = slack.say("ada", &dm, "what is overdue?");
    for (person, ts, name) in
        [("ada", &asked.ts, "tada"), ("ada", &asked.ts, "-1"), ("bob", &asked.ts, "+1"), ("ada", &said, "+1")]
    {
        slack.react(person, &dm, ts, name);
    }
    wait_until("all is acknowledged", || slack.all_acknowledged());
    assert_eq!(home.count("SELECT count(*) FROM inbox WHERE kind = 'press'"), 0);
    slack.react("ada", &dm, &asked.ts, "+1::skin-tone-3");
    sees(&slack, &dm, |seen| seen.text.contains("Added “buy milk”"));
    assert_eq!(home.count("SELECT count(*) FROM inbox WHERE kind = 'press'"), 1);
    assert_eq!(gateway.stop().0, Some(0));
    assert_eq!(slack.faults(), [""; 0]);
    home.assert_tidy("reactions");
}

#[test]
fn an_answer_with_a_thumb_down_is_one_in_the_next_request() {
    let (slack, model) = (FakeSlack::start(), FakeModel::start(|_| Reply::text("It is sunny.")));
    let home = home(&slack, &format!("app_token = \"{APP_TOKEN}\""));
    let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    let fake = format!("provider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"", model.base_url());
    home.write("config.toml", &config.replace("provider = \"builtin\"", &fake));
    let dm = slack.dm("ada");
    let gateway = Gateway::start(&home);
    let sent = "SELECT count(*) FROM outbox WHERE state = 'sent' AND text = 'It is sunny.'";
    slack.say("ada", &dm, "how is the weather?");
    let answer = sees(&slack, &dm, |seen| seen.text == "It is sunny.");
    wait_until("its receipt is stored", || home.count(sent) == 1);
    slack.react("ada", &dm, &answer.ts, "x");
    wait_until("it is kept", || home.count("SELECT count(*) FROM turns WHERE disliked_at IS NOT NULL") == 1);
    slack.say("ada", &dm, "and tomorrow?");
    let told = r"It is sunny.\n(the person put 👎 under this answer)";
    let is_told = || model.received().iter().any(|request| request.body.to_string().contains(told));
    wait_until("the model is told", is_told);
    wait_until("its receipt is stored", || home.count(sent) == 2);
    slack.unreact("ada", &dm, &answer.ts, "x");
    wait_until("it is gone", || home.count("SELECT count(*) FROM turns WHERE disliked_at IS NOT NULL") == 0);
    slack.say("ada", &dm, "and on Sunday?");
    wait_until("it is answered", || home.count(sent) == 3);
    let received = model.received();
    let asked = received.iter().rfind(|request| request.body.to_string().contains("and on Sunday?")).unwrap();
    assert!(!asked.body.to_string().contains(told), "{}", asked.body);
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn wrong_tokens_end_with_78_and_say_the_fix() {
    let slack = FakeSlack::start();
    let socket = format!("app_token = \"{APP_TOKEN}\"");
    for (way, right, wrong, key) in [
        (socket.as_str(), BOT_TOKEN, "xoxb-999-wrong", "channels.slack.bot_token"),
        (socket.as_str(), APP_TOKEN, "xapp-999-wrong", "channels.slack.app_token"),
        ("signing_secret = \"s\"", BOT_TOKEN, "xoxb-999-wrong", "channels.slack.bot_token"),
        // Refused before any request to Slack.
        (socket.as_str(), BOT_TOKEN, "xapp-999-wrong", "channels.slack.bot_token"),
    ] {
        let home = home(&slack, way);
        let config = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
        home.write("config.toml", &config.replace(right, wrong));
        let (status, log) = Gateway::start(&home).wait();
        assert_eq!(status, Some(78), "{log}");
        assert!(log.contains(key) && !log.contains(wrong), "{log}");
    }
}

#[test]
fn a_channel_is_read_searched_and_posted_into_by_who_is_in_it() {
    let slack = FakeSlack::start();
    let home = home(&slack, &format!("app_token = \"{APP_TOKEN}\""));
    let (dm, room, secret) = (slack.dm("ada"), slack.channel("general"), slack.private_channel("secret"));
    slack.join("ada", &room);
    slack.say("bob", &room, "the budget is 5 & not 6");
    slack.say("bob", &secret, "ada must not see this");
    let gateway = Gateway::start(&home);
    slack.say("ada", &dm, "read #general");
    let read = sees(&slack, &dm, |seen| seen.text.contains("1 message in #general"));
    assert!(read.text.contains("bob: the budget is 5 & not 6"), "{}", read.text);
    slack.say("ada", &dm, "read #secret");
    sees(&slack, &dm, |seen| seen.text.contains("there is no chat “#secret” on slack that we are both in"));
    slack.say("ada", &dm, "post to #general: **lunch** is here");
    let asked = sees(&slack, &dm, |seen| !seen.buttons.is_empty());
    assert!(asked.text.contains("Post to #general (slack)"), "{}", asked.text);
    assert_eq!(slack.seen(&room).len(), 0, "it is there before the yes");
    let approve = asked.buttons.iter().find(|(_, label)| label == "Approve").unwrap();
    slack.press("ada", &dm, &asked.ts, &approve.0);
    sees(&slack, &dm, |seen| seen.text.contains("Posted to #general (slack)"));
    sees(&slack, &room, |seen| seen.text.contains("lunch"));
    // She left between the question and the approval.
    slack.say("ada", &dm, "post to #general: dinner is here");
    let asked = sees(&slack, &dm, |seen| !seen.buttons.is_empty());
    slack.leave("ada", &room);
    let approve = asked.buttons.iter().find(|(_, label)| label == "Approve").unwrap();
    slack.press("ada", &dm, &asked.ts, &approve.0);
    sees(&slack, &dm, |seen| seen.text.contains("there is no chat “#general”"));
    let (status, log) = gateway.stop();
    assert_eq!(status, Some(0), "{log}");
    let posted: Vec<String> = slack.seen(&room).into_iter().map(|seen| seen.text).collect();
    assert_eq!(posted.len(), 1, "{posted:?}");
    assert!(!slack.seen(&dm).iter().any(|seen| seen.text.contains("must not see")));
    assert_eq!(slack.faults(), [""; 0]);
    home.assert_tidy("rooms");
}
