//! Open questions have numbers that stay, so that an answer by number reaches the question that was read.

use std::sync::Arc;

use adjutant_config::Policy;
use serde_json::json;

use crate::app::{TestApp, direct, plan, results, scripted_with, user_text};
use crate::scripted::{Gate, Scripted, Who, calls, has_results, text};

/// An app where each message wants a yes for a task with its text.
async fn careful() -> TestApp {
    let gate = Gate::closed();
    gate.open();
    careful_behind(gate).await
}

/// The same, where an agent that looks waits for this.
async fn careful_behind(gate: Arc<Gate>) -> TestApp {
    let script = Scripted::new().orchestrator(|request| match (has_results(request), user_text(request)) {
        (true, _) if results(request).concat().contains("They wrote: “no!! what is that”") => {
            text("It's a list.")
        }
        (true, _) if results(request).concat().contains("“all except 2, make it oats instead”") => {
            text("So b becomes oats?")
        }
        (true, _) => text("done"),
        (false, "hello") => text("hi"),
        (false, "who is coming?") => text("Nobody is coming."),
        (false, said) if said.starts_with("who") || said.starts_with("when") => text("I don't know."),
        (false, "shall we?") => text("Shall I look it up?"),
        (false, "lunch?") => text("It's at noon. Shall I add lunch to your calendar?"),
        (false, "ja" | "yes please") => {
            direct("l", "calendar.create_event", json!({"title": "Lunch", "start": "2026-11-27T12:00"}))
        }
        (false, "no thx" | "no! leave that alone") => text("All right."),
        (false, "how?") => {
            direct("a", "tasks.create", json!({"title": "gold"})).saying("**1** short or **2** long?")
        }
        (false, "both") => calls(vec![
            direct("a", "tasks.create", json!({"title": "one"})),
            direct("b", "tasks.create", json!({"title": "other"})),
        ]),
        (false, "cards") => calls(vec![
            direct("a", "tasks.create", json!({"title": "card for Carol"})),
            direct("b", "tasks.create", json!({"title": "card for Bob"})),
        ]),
        (false, "five") => {
            calls(["a", "b", "c", "d", "e"].map(|id| direct(id, "tasks.create", json!({"title": id}))).into())
        }
        (false, "trip") => {
            let saved = ["tea", "salt", "rice", "oats"]
                .map(|what| direct(what, "memory.save", json!({"text": format!("Ada likes {what}")})));
            let asked = ["tent", "van"].map(|what| direct(what, "tasks.create", json!({"title": what})));
            calls(saved.into_iter().chain(asked).collect())
        }
        (false, said) => direct("a", "tasks.create", json!({"title": said})),
    });
    let found = json!({"summary": "It's at noon. Shall I add lunch to your calendar?"}).to_string();
    let script = script.agent(move |_| text(found.clone()).behind(&gate));
    scripted_with(script, |config| {
        config.approval.skills.insert("tasks.create".into(), Policy::Ask);
    })
    .await
}

async fn titles(app: &TestApp) -> Vec<String> {
    let rows: Vec<(String,)> = app.store().all("SELECT title FROM tasks ORDER BY title", &[]).await.unwrap();
    rows.into_iter().map(|(title,)| title).collect()
}

/// How many requests have this as the person's message.
fn messages(app: &TestApp, said: &str) -> usize {
    app.requests(Who::Orchestrator).iter().filter(|request| user_text(request) == said).count()
}

#[tokio::test]
async fn a_number_means_the_same_question_after_another_was_answered() {
    let app = careful().await;
    for title in ["bread", "milk", "salt"] {
        app.says("ada", title).await;
    }
    insta::assert_snapshot!(app.says("ada", "yes").await.text, @"
    Which one do you mean?
    **13** Add a task: “bread”
    **14** Add a task: “milk”
    **15** Add a task: “salt”

    Reply “yes to 13” or “no to 14”.
    ");
    app.says("ada", "/answer 13 yes").await;
    app.says("ada", "yes to 14").await;
    insta::assert_snapshot!(app.says("ada", "/answer 14 yes").await.text, @"
    No open question has the number 14. Do you mean this?
    **15** Add a task: “salt”

    Reply “yes to 15” or “no to 15”.
    ");
    app.rests().await;
    assert_eq!(titles(&app).await, ["bread", "milk"]);
    insta::assert_snapshot!(app.says("ada", "/answer 15").await.text, @"Send `/answer 15 yes` or `/answer 15 no`.");
    app.says("ada", "no to 15").await;
    app.ends_well().await;
}

#[tokio::test]
async fn after_which_one_a_choice_alone_means_the_yes_or_the_no_before_it() {
    for (said, which, done) in [
        ("yes", "both", &["bread", "milk"] as &[&str]),
        ("no", "both", &[]),
        ("yes", "14", &["milk"]),
        ("no", "13", &[]),
    ] {
        let app = careful().await;
        app.says("ada", "bread").await;
        app.says("ada", "milk").await;
        let asked = app.says("ada", said).await;
        assert!(asked.text.starts_with("Which one do you mean?"), "{}", asked.text);
        let heard = app.says("ada", which).await;
        assert!(!heard.text.starts_with("Which one"), "{said} {which}: {}", heard.text);
        app.rests().await;
        assert_eq!(titles(&app).await, done, "{said} {which}");
        if which != "both" {
            app.says("ada", "no to all").await;
        }
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_yes_to_do_you_mean_this_is_an_answer() {
    for (answer, done) in [("yes", 1), ("no", 0)] {
        let app = careful().await;
        app.says("ada", "bread").await;
        app.says("ada", "shall we?").await;
        let asked = app.says("ada", answer).await.text;
        let reply = if answer == "no" { "“no to 13”" } else { "“yes to 13” or “no to 13”" };
        assert_eq!(asked, format!("Do you mean this?\n**13** Add a task: “bread”\n\nReply {reply}."));
        app.says("ada", answer).await;
        app.rests().await;
        assert_eq!(titles(&app).await.len(), done, "{answer}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_no_right_after_an_offer_is_for_that_if_it_thanks_and_else_asked_back_without_a_yes() {
    let app = careful().await;
    app.says("ada", "bread").await;
    app.says("ada", "shall we?").await;
    assert_eq!(app.says("ada", "no thx").await.text, "All right.");
    app.says("ada", "shall we?").await;
    let which = app.says("ada", "nah").await;
    insta::assert_snapshot!(which.text, @"
    Do you mean this?
    **13** Add a task: “bread”

    Reply “no to 13”.
    ");
    assert_eq!(which.buttons(), ["No to 13", "Something else"]);
    app.presses("ada", &which, "No to 13").await;
    app.rests().await;
    // Where the offer isn't what was said last, a thanked no is asked back, too.
    app.says("ada", "milk").await;
    app.says("ada", "shall we?").await;
    app.says("ada", "hello").await;
    let which = app.says("ada", "no thx").await;
    assert_eq!(which.buttons(), ["No to 14", "Something else"], "{}", which.text);
    app.presses("ada", &which, "No to 14").await;
    app.rests().await;
    assert!(titles(&app).await.is_empty());
    app.ends_well().await;
}

#[tokio::test]
async fn a_bare_yes_right_after_an_offer_for_own_things_is_for_that_and_approves_nothing() {
    for (before, answer, is_for_offer) in [
        (&["lunch?"] as &[&str], "ja", true),
        (&["lunch?"], "yes please", true),
        (&["lunch?"], "do it", false),
        (&["lunch?", "hello"], "ja", false),
        (&["shall we?"], "ja", false),
    ] {
        let app = careful().await;
        app.says("ada", "bread").await;
        for said in before {
            app.says("ada", said).await;
        }
        let heard = app.says("ada", answer).await.text;
        assert_eq!(heard.starts_with("Do you mean this?\n**13** "), !is_for_offer, "{answer}: {heard}");
        app.rests().await;
        let events =
            app.store().count("SELECT count(*) FROM objects WHERE kind = 'event'", &[]).await.unwrap();
        assert_eq!((events, titles(&app).await.len()), (i64::from(is_for_offer), 0), "{answer}: {heard}");
        // The task still waits.
        app.says("ada", "yes to 13").await;
        app.rests().await;
        assert_eq!(titles(&app).await, ["bread"], "{answer}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn an_offer_below_a_question_that_answers_nothing_typed_since_takes_no_yes() {
    let gate = Gate::closed();
    let app = careful_behind(gate.clone()).await;
    app.says("ada", "/spawn researcher lunch").await;
    gate.arrived(1).await;
    app.says("ada", "bread").await;
    gate.open();
    app.sees("Shall I add lunch to your calendar?").await;
    app.rests().await;
    let heard = app.says("ada", "ja").await.text;
    assert!(heard.starts_with("Do you mean this?\n**13** "), "{heard}");
    app.says("ada", "no to 13").await;
    app.rests().await;
    app.ends_well().await;
}

#[tokio::test]
async fn a_press_says_that_something_else_was_meant_and_the_question_stays_open() {
    let app = careful().await;
    app.says("ada", "bread").await;
    app.says("ada", "shall we?").await;
    let which = app.says("ada", "yes").await;
    assert_eq!(which.buttons(), ["Yes to 13", "No to 13", "Something else"]);
    let answer = app.presses("ada", &which, "Something else").await;
    assert!(answer.text.starts_with("OK, this one still waits"), "{}", answer.text);
    assert!(titles(&app).await.is_empty());
    app.presses("ada", &which, "Yes to 13").await;
    app.rests().await;
    assert_eq!(titles(&app).await, ["bread"]);
    app.ends_well().await;
}

#[tokio::test]
async fn what_may_be_for_the_models_own_text_above_a_question_is_asked_back() {
    for answer in ["1", "perfect"] {
        let app = careful().await;
        let asked = app.says("ada", "how?").await;
        let above = "**1** short or **2** long?\n\nBefore I go on:\n\nAdd a task: “gold”";
        assert!(asked.text.starts_with(above), "{}", asked.text);
        let which = app.says("ada", answer).await;
        assert!(which.text.starts_with("Do you mean this?"), "{answer}: {}", which.text);
        let which = app.replies_to("ada", &asked, answer).await;
        assert!(which.text.starts_with("Do you mean this?"), "{answer}: {}", which.text);
        app.presses("ada", &which, "Something else").await;
        app.presses("ada", &asked, "Reject").await;
        app.rests().await;
        assert!(titles(&app).await.is_empty());
        app.ends_well().await;
    }
}

#[tokio::test]
async fn the_questions_of_one_message_are_answered_after_another_message_too() {
    for (answer, done) in [
        ("no to all", 0),
        ("yes to all", 2),
        ("both", 2),
        ("ok do it", 2),
        ("yes to all but the second", 1),
        ("alle außer 1", 1),
        ("2以外は全部はい", 1),
    ] {
        let app = careful().await;
        app.says("ada", "both").await;
        app.says("ada", "hello").await;
        app.says("ada", answer).await;
        app.rests().await;
        assert_eq!(titles(&app).await.len(), done, "{answer}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn of_two_a_number_alone_and_half_an_answer_are_asked_back() {
    let app = careful().await;
    app.says("ada", "both").await;
    for unclear in ["1", "2", "yes to", "no and", "yes to 7"] {
        let asked = app.says("ada", unclear).await.text;
        assert!(asked.contains("Which one do you mean?"), "{unclear}: {asked}");
    }
    app.says("ada", "yes to 1").await;
    app.says("ada", "no").await;
    app.rests().await;
    assert_eq!(titles(&app).await.len(), 1);
    app.ends_well().await;
}

#[tokio::test]
async fn which_one_is_asked_with_the_numbers_of_the_message_and_with_buttons() {
    let app = careful().await;
    app.says("ada", "both").await;
    let which = app.says("ada", "1").await;
    insta::assert_snapshot!(which.text, @"
    Which one do you mean?
    **1** Add a task: “one”
    **2** Add a task: “other”

    Reply “yes to 1” or “no to 2”.
    ");
    assert_eq!(which.buttons(), ["Yes to 1", "No to 1", "Yes to 2", "No to 2"]);
    let noted = app.presses("ada", &which, "Yes to 2").await;
    assert_eq!(noted.text, "Approved: Add a task: “other”. Going ahead.");
    app.rests().await;
    app.says("ada", "/answer 1 no").await;
    app.rests().await;
    assert_eq!(titles(&app).await, ["other"]);
    app.ends_well().await;
}

#[tokio::test]
async fn which_one_is_answered_by_all_of_them_or_by_a_number() {
    for (answer, done) in [("all of them", 2), ("yes to 2", 1)] {
        let app = careful().await;
        app.says("ada", "both").await;
        // A yes may be for that.
        app.says("ada", "shall we?").await;
        let asked = app.says("ada", "ok do it").await.text;
        assert!(asked.starts_with("Which one do you mean?\n**1** "), "{asked}");
        app.says("ada", answer).await;
        app.rests().await;
        assert_eq!(titles(&app).await.len(), done, "{answer}");
        if done == 1 {
            app.says("ada", "no to all").await;
        }
        app.ends_well().await;
    }
}

#[tokio::test]
async fn all_of_several_messages_is_asked_back_without_a_model() {
    for answer in ["all of them", "the second", "both"] {
        let app = careful().await;
        app.says("ada", "bread").await;
        app.says("ada", "milk").await;
        let which = app.says("ada", answer).await;
        assert!(which.text.starts_with("Which one do you mean?\n**13** "), "{answer}: {}", which.text);
        assert_eq!(which.buttons(), ["Yes to 13", "No to 13", "Yes to 14", "No to 14"]);
        assert_eq!(app.requests(Who::Orchestrator).len(), 2, "{answer}");
        app.presses("ada", &which, "No to 13").await;
        app.presses("ada", &which, "Yes to 14").await;
        app.rests().await;
        assert_eq!(titles(&app).await, ["milk"], "{answer}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_yes_with_words_of_the_question_is_a_yes_to_it() {
    let app = careful().await;
    app.says("ada", "call Bob Miller").await;
    app.says("ada", "yep, miller").await;
    assert_eq!(titles(&app).await, ["call Bob Miller"]);
    assert_eq!(app.requests(Who::Orchestrator).len(), 2, "no model reads it");
    // Of two things, the one that it names.
    let asked = app.says("ada", "cards").await;
    let noted = app.says("ada", "yes to carol").await;
    insta::assert_snapshot!(noted.text, @"Approved: Add a task: “card for Carol”. Going ahead.");
    app.presses("ada", &asked, "Reject 2").await;
    assert_eq!(titles(&app).await, ["call Bob Miller", "card for Carol"]);
    // Another wish is none.
    app.says("ada", "call Ann").await;
    app.says("ada", "yes, and call Bob").await;
    assert_eq!(titles(&app).await, ["call Bob Miller", "card for Carol"]);
    app.says("ada", "no to all").await;
    app.ends_well().await;
}

#[tokio::test]
async fn a_no_with_a_question_declines_and_the_question_is_answered() {
    let app = careful().await;
    app.says("ada", "both").await;
    let answer = app.says("ada", "no!! what is that").await;
    assert_eq!(answer.text, "It's a list.");
    assert_eq!((titles(&app).await, app.requests(Who::Orchestrator).len()), (Vec::new(), 2));
    app.says("ada", "both").await;
    app.says("ada", "no to all. who is this mallory").await;
    app.rests().await;
    assert_eq!(messages(&app, "who is this mallory"), 1);
    assert!(titles(&app).await.is_empty());
    app.ends_well().await;
}

#[tokio::test]
async fn a_no_to_all_with_a_question_declines_what_every_message_asks() {
    let app = careful().await;
    for title in ["bread", "both", "salt"] {
        app.says("ada", title).await;
    }
    insta::assert_snapshot!(app.says("ada", "no to all. who is coming?").await.text, @"
    OK, I won't do this: Add a task: “bread”.
    OK, I won't do this: Add a task: “one”.
    OK, I won't do this: Add a task: “other”.
    OK, I won't do this: Add a task: “salt”.
    ");
    app.rests().await;
    let told = app.texts().iter().filter(|text| text.starts_with("Nobody is coming.")).count();
    assert_eq!(told, 1, "a turn of its own answers it: {:#?}", app.texts());
    assert!(titles(&app).await.is_empty());
    // Without "all" it is for what was asked last, and so is one in reply to an older message.
    let asked = app.says("ada", "tea").await;
    app.says("ada", "milk").await;
    app.says("ada", "no!! what is that").await;
    let newest = app.says("ada", "rice").await;
    app.replies_to("ada", &asked, "no to all. who is coming?").await;
    app.presses("ada", &newest, "Approve").await;
    app.rests().await;
    assert_eq!(titles(&app).await, ["rice"]);
    app.ends_well().await;
}

#[tokio::test]
async fn what_else_follows_a_no_to_all_is_a_message_that_one_turn_answers() {
    for (said, rest) in [
        ("no to all. whens the planning, and did Frank write?", "whens the planning, and did Frank write?"),
        ("No to all, when's the planning?", "when's the planning?"),
    ] {
        let app = careful().await;
        for before in ["bread", "both", "hello"] {
            app.says("ada", before).await;
        }
        let noted = app.says("ada", said).await.text;
        assert_eq!(noted.matches("OK, I won't do this: ").count(), 3, "{said}: {noted}");
        app.rests().await;
        assert_eq!(messages(&app, rest), 1, "{said}");
        assert_eq!(app.texts().iter().filter(|text| **text == "I don't know.").count(), 1, "{said}");
        let heard = app.requests(Who::Orchestrator);
        assert!(!heard.iter().any(|request| results(request).concat().contains("They wrote")), "{said}");
        assert!(titles(&app).await.is_empty());
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_no_to_both_is_for_what_its_own_message_asks_and_the_rest_is_a_message() {
    let app = careful().await;
    let older = app.says("ada", "bread").await;
    app.says("ada", "both").await;
    insta::assert_snapshot!(app.says("ada", "no to both. when's the planning?").await.text, @"
    OK, I won't do this: Add a task: “one”.
    OK, I won't do this: Add a task: “other”.
    ");
    app.rests().await;
    assert_eq!(messages(&app, "when's the planning?"), 1);
    // Of messages that ask one thing each, it may mean any two: a model hears it.
    app.says("ada", "milk").await;
    app.says("ada", "no to both. when's the planning?").await;
    assert!(messages(&app, "no to both. when's the planning?") > 0, "{:#?}", app.texts());
    // And so it may of what was asked since.
    app.says("ada", "both").await;
    app.says("ada", "shall we?").await;
    app.says("ada", "no to both. who is coming?").await;
    assert!(messages(&app, "no to both. who is coming?") > 0, "{:#?}", app.texts());
    app.presses("ada", &older, "Approve").await;
    app.says("ada", "no to all").await;
    app.rests().await;
    assert_eq!(titles(&app).await, ["bread"]);
    app.ends_well().await;
}

#[tokio::test]
async fn one_of_two_is_chosen_alone_or_left_out_by_its_name() {
    for (answer, done) in [("only the first one", "card for Carol"), ("except carol", "card for Bob")] {
        let app = careful().await;
        app.says("ada", "cards").await;
        app.says("ada", answer).await;
        app.rests().await;
        assert_eq!(titles(&app).await, [done], "{answer}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn what_is_left_out_for_a_reason_is_refused_by_name() {
    let app = careful().await;
    let asked = app.says("ada", "five").await;
    assert_eq!(asked.buttons(), ["Approve all", "Reject all"], "more would fill the screen");
    let noted = app.says("ada", "yes to all except 5, I paid that one already").await;
    insta::assert_snapshot!(noted.text, @"
    Approved: Add a task: “a”. Going ahead.
    Approved: Add a task: “b”. Going ahead.
    Approved: Add a task: “c”. Going ahead.
    Approved: Add a task: “d”. Going ahead.
    OK, I won't do this: Add a task: “e”.
    ");
    app.rests().await;
    assert_eq!(titles(&app).await, ["a", "b", "c", "d"]);
    app.ends_well().await;
}

#[tokio::test]
async fn a_change_of_what_is_left_out_reaches_the_model_and_the_rest_is_done() {
    let app = careful().await;
    app.says("ada", "five").await;
    let answer = app.says("ada", "all except 2, make it oats instead").await;
    assert!(answer.text.starts_with("So b becomes oats?"), "{}", answer.text);
    assert_eq!(titles(&app).await, ["a", "c", "d", "e"]);
    // What may be about the others goes to the model whole.
    app.says("ada", "five").await;
    app.says("ada", "all except 2, if it rains").await;
    assert_eq!(titles(&app).await.len(), 4);
    app.says("ada", "no to all").await;
    app.ends_well().await;
}

#[tokio::test]
async fn what_is_done_stands_above_a_question_and_a_number_means_what_is_asked() {
    let app = careful().await;
    let asked = app.says("ada", "trip").await;
    insta::assert_snapshot!(asked.text, @"
    ✓ I'll remember: Ada likes tea
    ✓ I'll remember: Ada likes salt
    ✓ I'll remember: Ada likes rice
    and 1 more

    **1.** Add a task: “tent”

    **2.** Add a task: “van”

    You asked: “trip”. Shall I do these 2 things? Answer “yes”, “no”, “yes to 1” or “all except 2”.
    ");
    let which = app.says("ada", "yes to all except 4").await;
    assert!(which.text.starts_with("Which one do you mean?\n**1** Add a task: “tent”\n"), "{}", which.text);
    let done = app.says("ada", "yes to all except 2").await;
    assert_eq!(done.text, "done\n\n✓ I'll remember: Ada likes oats\n✓ Added “tent”", "each is told once");
    assert_eq!(titles(&app).await, ["tent"]);
    app.ends_well().await;
}

#[tokio::test]
async fn an_unknown_number_is_said() {
    let app = scripted_with(
        Scripted::new().orchestrator(plan(|| direct("a", "tasks.create", json!({"title": "x"})))),
        |config| {
            config.approval.low = Policy::Ask;
        },
    )
    .await;
    insta::assert_snapshot!(app.says("ada", "/answer 9 yes").await.text, @"No question is open.");
    app.says("ada", "go").await;
    insta::assert_snapshot!(app.says("ada", "/answer 9 yes").await.text, @"
    No open question has the number 9. Do you mean this?
    **13** Add a task: “x”

    Reply “yes to 13” or “no to 13”.
    ");
    app.says("ada", "no to 13").await;
    app.ends_well().await;
}

#[tokio::test]
async fn no_to_all_is_a_no_to_every_message_and_yes_to_all_is_asked_back() {
    let app = careful().await;
    for title in ["bread", "both", "salt"] {
        app.says("ada", title).await;
    }
    let asked = app.says("ada", "yes to all").await.text;
    assert!(asked.starts_with("Which one do you mean?"), "{asked}");
    insta::assert_snapshot!(app.says("ada", "no to all").await.text, @"
    OK, I won't do this: Add a task: “bread”.
    OK, I won't do this: Add a task: “one”.
    OK, I won't do this: Add a task: “other”.
    OK, I won't do this: Add a task: “salt”.
    ");
    app.rests().await;
    let open =
        app.store().count("SELECT count(*) FROM questions WHERE state = 'pending'", &[]).await.unwrap();
    assert_eq!((titles(&app).await.len(), open), (0, 0));
    app.ends_well().await;
}

#[tokio::test]
async fn what_was_listed_is_answered_by_all_or_by_its_numbers() {
    for is_by_number in [false, true] {
        let app = careful().await;
        app.says("ada", "bread").await;
        app.says("ada", "salt").await;
        let listed = app.says("ada", "yes to all").await.text;
        assert!(listed.starts_with("Which one do you mean?"), "{listed}");
        let numbers: Vec<&str> = listed.split("**").skip(1).step_by(2).collect();
        let answer = match is_by_number {
            true => format!("yes to {}", numbers.join(" and ")),
            false => "yes to all".to_owned(),
        };
        let done = app.says("ada", &answer).await.text;
        app.rests().await;
        assert_eq!(titles(&app).await.len(), 2, "{answer}: {done}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_yes_is_for_the_only_open_question_after_another_message_too() {
    for (answer, done) in [("yes please", 1), ("ja", 1), ("はい", 1), ("no", 0), ("nein danke", 0)] {
        let app = careful().await;
        app.says("ada", "bread").await;
        app.says("ada", "hello").await;
        app.says("ada", answer).await;
        app.rests().await;
        let open =
            app.store().count("SELECT count(*) FROM questions WHERE state = 'pending'", &[]).await.unwrap();
        assert_eq!((titles(&app).await.len(), open), (done, 0), "{answer}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn an_ok_after_another_message_is_for_that() {
    let app = careful().await;
    app.says("ada", "bread").await;
    app.says("ada", "hello").await;
    app.says("ada", "ok").await;
    app.rests().await;
    assert!(titles(&app).await.is_empty());
    app.says("ada", "/stop").await;
    app.rests().await;
    app.ends_well().await;
}

#[tokio::test]
async fn a_yes_after_a_no_is_no_yes() {
    let app = careful().await;
    app.says("ada", "bread").await;
    app.says("ada", "shall we?").await;
    let asked = app.says("ada", "no").await.text;
    assert!(asked.starts_with("Do you mean this?"), "{asked}");
    let again = app.says("ada", "yes").await.text;
    assert!(again.starts_with("Do you mean this?"), "that may mean the no: {again}");
    app.rests().await;
    assert!(titles(&app).await.is_empty());
    app.says("ada", "no").await;
    app.rests().await;
    assert!(titles(&app).await.is_empty());
    let open =
        app.store().count("SELECT count(*) FROM questions WHERE state = 'pending'", &[]).await.unwrap();
    assert_eq!(open, 0);
    app.ends_well().await;
}

#[tokio::test]
async fn a_yes_after_a_text_that_begins_with_a_no_is_asked_back() {
    for (said, is_which) in [("no! leave that alone", false), ("no! 10.45", true)] {
        let app = careful().await;
        app.says("ada", "bread").await;
        let heard = app.says("ada", said).await;
        if is_which {
            assert!(heard.text.starts_with("Do you mean this?"), "{}", heard.text);
            assert_eq!(heard.buttons(), ["No to 13", "Something else"]);
        }
        let which = app.says("ada", "yes").await;
        assert!(which.text.starts_with("Do you mean this?\n**13** "), "{said}: {}", which.text);
        app.rests().await;
        assert!(titles(&app).await.is_empty(), "{said}");
        app.says("ada", "yes").await;
        app.rests().await;
        assert_eq!(titles(&app).await, ["bread"], "{said}");
        app.ends_well().await;
    }
}

#[tokio::test]
async fn a_yes_after_another_answer_is_asked_back() {
    let app = careful().await;
    app.says("ada", "bread").await;
    app.says("ada", "milk").await;
    app.says("ada", "no to 13").await;
    let asked = app.says("ada", "yes").await.text;
    assert!(asked.starts_with("Do you mean this?"), "{asked}");
    app.rests().await;
    assert!(titles(&app).await.is_empty());
    app.says("ada", "yes").await;
    app.rests().await;
    assert_eq!(titles(&app).await, ["milk"]);
    app.ends_well().await;
}
