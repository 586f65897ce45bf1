//! `chat --once`, `chat` in a pipe, and several processes on one store.

use crate::process::{Home, answers, button, json};

#[test]
fn once_prints_the_answer_alone_and_progress_on_stderr() {
    let home = Home::new();
    let ended = home.run(&["chat", "--once", "add a task to buy milk"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(0), "Added “buy milk”\n"));
    assert!(ended.stderr.contains("a1"), "{}", ended.stderr);
    home.assert_tidy("--once");
}

#[test]
fn once_asks_and_the_next_one_answers() {
    let home = Home::with_config("[approval]\nmedium = \"ask\"\n");
    home.run(&["chat", "--once", "add a task to buy milk"]);
    let asked = home.run(&["chat", "--once", "delete the task about milk"]);
    assert_eq!(asked.status, Some(0), "{asked:?}");
    assert!(asked.stdout.contains("buy milk"), "{asked:?}");
    assert_eq!(home.tasks(), ["buy milk"]);
    let done = home.run(&["chat", "--once", "yes"]);
    assert_eq!((done.status, done.stdout.as_str()), (Some(0), "Deleted “buy milk”\n"), "{done:?}");
    home.assert_tidy("--once yes");
}

#[test]
fn once_prints_each_question_of_its_turn() {
    let home = Home::with_config("[approval]\nmedium = \"ask\"\n");
    home.run(&["chat", "--once", "add a task to buy milk, and add a task to buy bread"]);
    let asked = home.run(&["chat", "--once", "delete the task about milk, and delete the task about bread"]);
    assert!(asked.stdout.contains("buy milk") && asked.stdout.contains("buy bread"), "{asked:?}");
    assert_eq!(home.tasks().len(), 2);
    // A yes to a message is a yes to all in it.
    home.run(&["chat", "--once", "yes"]);
    assert_eq!(home.tasks(), [""; 0]);
    home.assert_tidy("--once with two questions");
}

#[test]
fn lines_of_a_pipe_are_answered_one_after_the_other() {
    let home = Home::new();
    let ended = home.feed(
        &["chat"],
        "add a task to send the report by Friday 5pm, and remember that Bob prefers mornings\n\
         what is overdue?\n\
         {\"text\": \"is no JSON here\"}\n\
         mark the report as done, then show what is left\n"
            .as_bytes(),
    );
    assert_eq!(ended.status, Some(0), "{ended:?}");
    let order = ["send the report", "Bob prefers mornings", "overdue", "understand", "Done", "No open tasks"];
    let places: Vec<Option<usize>> = order.iter().map(|it| ended.stdout.find(it)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{places:?}\n{}", ended.stdout);
    home.assert_tidy("a pipe");
}

#[test]
fn a_pipe_ends_at_quit() {
    let home = Home::new();
    let ended = home.feed(&["chat"], b"add a task to keep\n/quit\nadd a task to be too late\n");
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(0), "Added “keep”\n\n"), "{ended:?}");
    assert_eq!(home.tasks(), ["keep"]);
}

#[test]
fn once_beside_a_running_chat_in_the_same_conversation() {
    let home = Home::new();
    let mut chat = home.chat();
    chat.say("m1", "add a task to buy milk");
    for number in 0..5 {
        chat.send(&json!({"id": format!("x{number}"), "text": format!("add a task to do thing {number}")}));
        let text = format!("add a task to help {number}");
        let ended = home.run(&["chat", "--once", &text]);
        assert_eq!((ended.status, ended.stdout), (Some(0), format!("Added “help {number}”\n")));
    }
    chat.finish_well();
    let replies: Vec<_> = chat.seen.iter().filter(|it| it["event"] == "reply").collect();
    assert!(!replies.iter().any(|it| it["text"].as_str().unwrap().contains("help")), "{replies:#?}");
    for number in 0..5 {
        assert_eq!(chat.seen.iter().filter(|it| answers(it, &format!("x{number}"))).count(), 1);
    }
    assert_eq!(home.tasks().len(), 11);
    home.assert_tidy("two processes");
}

#[test]
fn two_programs_at_once_each_hear_their_own() {
    let home = Home::new();
    let mut chats = [home.chat(), home.chat()];
    for number in 0..10 {
        for (which, chat) in chats.iter_mut().enumerate() {
            chat.send(
                &json!({"id": format!("p{which}n{number}"), "conversation": format!("c{}", number % 3),
                              "text": format!("add a task to do p{which}n{number}")}),
            );
        }
    }
    for (which, chat) in chats.iter_mut().enumerate() {
        chat.finish_well();
        let mut heard: Vec<String> = Vec::new();
        for reply in chat.seen.iter().filter(|it| it["event"] == "reply") {
            heard.extend(
                reply["answers"].as_array().unwrap().iter().map(|it| it.as_str().unwrap().to_owned()),
            );
        }
        heard.sort();
        let own: Vec<String> = (0..10).map(|number| format!("p{which}n{number}")).collect();
        assert_eq!(heard, own);
    }
    assert_eq!(home.tasks().len(), 20);
    home.assert_tidy("two programs");
}

#[test]
fn what_a_killed_neighbour_left_is_taken_up_while_running() {
    let home = Home::new();
    let mut keeper = home.chat();
    keeper.say("k1", "add a task to keep");
    let mut victim = home.chat_until("dispatched");
    victim.send(&json!({"id": "v1", "text": "add a task to inherit", "conversation": "theirs"}));
    assert!(victim.find(|it| answers(it, "v1")).is_none());
    let reply = keeper.reply("v1");
    assert_eq!((&reply["conversation"], &reply["text"]), (&json!("theirs"), &json!("Added “inherit”")));
    keeper.finish_well();
    assert_eq!(home.tasks(), ["inherit", "keep"]);
    home.assert_tidy("inheritance");
}

#[test]
fn what_a_killed_neighbour_left_is_taken_up_though_another_buried_it() {
    let home = Home::new();
    let mut keeper = home.chat();
    keeper.say("k1", "add a task to keep");
    let mut victim = home.chat_until("dispatched");
    victim.send(&json!({"id": "v1", "text": "add a task to inherit", "conversation": "theirs"}));
    assert!(victim.find(|it| answers(it, "v1")).is_none());
    // A short-lived process cleans up after the dead one, but handles only its own conversation.
    assert_eq!(home.run(&["chat", "--once", "what is overdue?"]).status, Some(0));
    assert_eq!(keeper.reply("v1")["text"], "Added “inherit”");
    keeper.finish_well();
    home.assert_tidy("inheritance");
}

#[test]
fn what_once_took_over_but_does_not_print_is_printed_by_the_program() {
    let home = Home::new();
    let mut victim = home.chat_until("dispatched");
    victim.send(&json!({"id": "v1", "text": "add a task to inherit"}));
    assert!(victim.find(|it| answers(it, "v1")).is_none());
    let ended = home.run(&["chat", "--once", "add a task to go first"]);
    assert_eq!((ended.status, ended.stdout.as_str()), (Some(0), "Added “go first”\n"));
    let mut chat = home.chat();
    assert_eq!(chat.reply("v1")["text"], "Added “inherit”");
    chat.finish_well();
    assert_eq!(home.tasks(), ["go first", "inherit"]);
    home.assert_tidy("once after a crash");
}

#[test]
fn a_question_of_one_process_is_answered_in_another() {
    let home = Home::with_config("[approval]\nmedium = \"ask\"\n");
    let mut asking = home.chat();
    asking.say("m1", "add a task to buy milk");
    let question = asking.say("m2", "delete the task about milk");
    let mut answering = home.chat();
    let done = answering.press("p1", &button(&question, "Approve"));
    assert_eq!(done["text"], "Deleted “buy milk”");
    answering.finish_well();
    asking.finish_well();
    assert!(!asking.seen.iter().any(|it| answers(it, "p1")));
    assert_eq!(home.tasks(), [""; 0]);
    home.assert_tidy("a question over processes");
}

/// A skill that reads a pipe until the test closes the other end.
const WAIT: &str = r#"
domain = "receiver"
summary = "A receiver"

[[skill]]
name = "receiver.wait"
summary = "Wait at the receiver"
risk = "low"
repeatable = false
handler = { command = { argv = ["/bin/sh", "-c", "cat \"$0\"", "PIPE"], read = ["PIPE"] } }
[skill.parameters]
type = "object"
additionalProperties = false
[[skill.forms]]
say = "wait at the receiver"
"#;

/// A home with [`WAIT`], and its pipe.
fn with_door() -> (Home, std::path::PathBuf) {
    let home = Home::with_config("[skills]\npaths = [\"skills\"]\n");
    let pipe = home.path().join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    home.write("skills/receiver.toml", &WAIT.replace("PIPE", pipe.to_str().unwrap()));
    (home, pipe)
}

#[test]
fn a_turn_is_stopped_from_another_process() {
    let (home, _pipe) = with_door();
    let (mut waiting, mut other) = (home.chat(), home.chat());
    waiting.send(&json!({"id": "s1", "text": "wait at the receiver"}));
    waiting.find(|it| it["event"] == "progress" && it.to_string().contains("running"));
    assert_eq!(other.say("o1", "/stop")["text"], "Stopping.");
    let stopped = waiting.reply("s1")["text"].as_str().unwrap().to_owned();
    assert!(stopped.starts_with("Stopped."), "{stopped}");
    waiting.finish_well();
    other.finish_well();
    home.assert_tidy("stopped from elsewhere");
}

#[test]
fn a_process_that_was_stopped_for_a_while_changes_nothing_wrong() {
    let (home, pipe) = with_door();
    let (mut sleeper, mut other) = (home.chat(), home.chat());
    other.say("o1", "add a task to go on");
    sleeper.send(&json!({"id": "s1", "text": "wait at the receiver"}));
    sleeper.find(|it| it["event"] == "progress" && it.to_string().contains("running"));
    // The program is running and the process holds its conversation.
    let file = std::fs::File::options().write(true).open(&pipe).unwrap();
    sleeper.signal("STOP");
    sleeper.send(&json!({"id": "s2", "text": "add a task to sleep"}));
    other.send(&json!({"id": "o2", "text": "add a task to wait for the lane"}));
    other.send(&json!({"id": "o3", "text": "add a task to go elsewhere", "conversation": "other"}));
    assert_eq!(other.reply("o3")["text"], "Added “go elsewhere”");
    assert!(!other.seen.iter().any(|it| answers(it, "o2")), "the conversation is another's");
    sleeper.signal("CONT");
    drop(file);
    sleeper.finish_well();
    other.finish_well();
    for (chat, ids) in [(&sleeper, ["s1", "s2"]), (&other, ["o2", "o3"])] {
        for id in ids {
            assert_eq!(chat.seen.iter().filter(|it| answers(it, id)).count(), 1, "{id}");
        }
    }
    assert_eq!(home.tasks(), ["go elsewhere", "go on", "sleep", "wait for the lane"]);
    home.assert_tidy("a stopped process");
}
