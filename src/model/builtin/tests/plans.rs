//! What is dispatched for what people type.

use super::*;

/// The plan of each line, with the built-in skills alone.
fn plans(lines: &str) -> String {
    show(&planner(&[MEMORY, TASKS]), lines)
}

/// The same with the domains that come later.
fn all_plans(lines: &str) -> String {
    show(&planner(&[EMAIL, CALENDAR, CONTACTS, MEMORY, TASKS]), lines)
}

fn show(planner: &Planner, lines: &str) -> String {
    let shown = lines.lines().map(str::trim).filter(|line| !line.is_empty());
    shown.map(|line| format!("> {line}\n{}", plan_of(planner, &request(line)))).collect::<Vec<_>>().join("\n")
}

#[test]
fn tasks_of_the_promise() {
    insta::assert_snapshot!(plans("
        add a task to buy milk
        add a task to finalize the Q1 report, due 2024-02-15
        remind me to call Bob tomorrow at 9
        what is overdue?
        show my open tasks
        mark the report as done, then show what is left
        delete the task about milk
        🎤 add a task to sing
    "), @r#"
    > add a task to buy milk
    a1 tasks.create {"title":"buy milk"}
    > add a task to finalize the Q1 report, due 2024-02-15
    a1 tasks.create {"due":"2024-02-15","title":"finalize the Q1 report"}
    > remind me to call Bob tomorrow at 9
    a1 tasks.create {"due":"2026-11-22T09:00","title":"call Bob"}
    > what is overdue?
    a1 tasks.search {"state":"overdue"}
    > show my open tasks
    a1 tasks.search {"state":"open"}
    > mark the report as done, then show what is left
    a1 tasks.complete+tasks.search “mark the report as done”
    a2 tasks.search {"state":"open"} after ["a1"]
    > delete the task about milk
    a1 tasks.delete+tasks.search “delete the task about milk”
    > 🎤 add a task to sing
    a1 tasks.create {"title":"sing"}
    "#);
    insta::assert_snapshot!(plan_of(&planner(&[TASKS]), &request("add a task to buy milk\n🎤 add a task to sing")), @r#"
    a1 tasks.create {"title":"buy milk"}
    a2 tasks.create {"title":"sing"}
    "#);
}

#[test]
fn memory_of_the_promise() {
    insta::assert_snapshot!(plans("
        add a task to send the report by Friday 5pm, and remember that Bob prefers mornings
        remember that my office is in Lyon
        what do you know about Bob?
        forget what I said about Bob
    "), @r#"
    > add a task to send the report by Friday 5pm, and remember that Bob prefers mornings
    a1 tasks.create {"due":"2026-11-27T17:00","title":"send the report"}
    a2 memory.save {"kind":"fact","text":"Bob prefers mornings"}
    > remember that my office is in Lyon
    a1 memory.save {"kind":"fact","text":"my office is in Lyon"}
    > what do you know about Bob?
    a1 memory.search {"query":"Bob"}
    > forget what I said about Bob
    a1 memory.forget {"query":"Bob"}
    "#);
}

#[test]
fn later_domains_of_the_promise() {
    insta::assert_snapshot!(all_plans("
        what is on my calendar tomorrow?
        am I free on Friday at 3pm?
        schedule a meeting with bob@example.test next Tuesday at 2pm for 30 minutes
        cancel the review
        email bob@example.test: running late, start without me
        find mails from alice about the budget
        who works at Acme?
        Find my overdue tasks, email the report to bob@example.test, then create a follow-up meeting with bob@example.test tomorrow at 2pm
    "), @r#"
    > what is on my calendar tomorrow?
    a1 calendar.list_events {"end":"2026-11-22","start":"2026-11-22"}
    > am I free on Friday at 3pm?
    a1 calendar.check_availability {"end":"2026-11-27T16:00","start":"2026-11-27T15:00"}
    > schedule a meeting with bob@example.test next Tuesday at 2pm for 30 minutes
    a1 calendar.create_event {"attendees":["bob@example.test"],"end":"2026-11-24T14:30","start":"2026-11-24T14:00","title":"Meeting with bob@example.test"}
    > cancel the review
    a1 calendar.delete_event+calendar.search “cancel the review”
    > email bob@example.test: running late, start without me
    a1 email.send {"body":"running late, start without me","subject":"Running late, start without me","to":["bob@example.test"]}
    > find mails from alice about the budget
    a1 email.search {"from":"alice","text":"budget"}
    > who works at Acme?
    a1 contacts.search {"organization":"Acme"}
    > Find my overdue tasks, email the report to bob@example.test, then create a follow-up meeting with bob@example.test tomorrow at 2pm
    a1 tasks.search {"state":"overdue"}
    a2 email.send “email the report to bob@example.test” after ["a1"]
    a3 calendar.create_event {"attendees":["bob@example.test"],"start":"2026-11-22T14:00","title":"Follow-up meeting with bob@example.test"} after ["a1"]
    "#);
}

#[test]
fn tasks_as_people_type_them() {
    insta::assert_snapshot!(plans("
        todo: buy milk
        Add task buy milk and bread
        please add a todo: water the plants every Monday at 9
        add a high priority task to pay the rent by the end of the month
        add a task to pay the rent with high priority
        Could you remind me tomorrow at 9 to call Bob?
        remind me in 2 hours to stretch
        remind me about the dentist on 3 December at 14:30
        remind me to take a pill daily at 8am
        don't forget to buy stamps #errands
        I need to call the bank on Monday
        put eggs on my list
        add a reminder to read 1984 by Sunday
        set a reminder to leave tonight
        add a task \"buy milk and show my tasks\"
    "), @r#"
    > todo: buy milk
    a1 tasks.create {"title":"buy milk"}
    > Add task buy milk and bread
    a1 tasks.create {"title":"buy milk and bread"}
    > please add a todo: water the plants every Monday at 9
    a1 tasks.create {"due":"2026-11-23T09:00","recurrence":"FREQ=WEEKLY;BYDAY=MO","title":"water the plants"}
    > add a high priority task to pay the rent by the end of the month
    a1 tasks.create {"due":"2026-11-30","priority":"high","title":"pay the rent"}
    > add a task to pay the rent with high priority
    a1 tasks.create {"priority":"high","title":"pay the rent"}
    > Could you remind me tomorrow at 9 to call Bob?
    a1 tasks.create {"due":"2026-11-22T09:00","title":"call Bob"}
    > remind me in 2 hours to stretch
    a1 tasks.create {"due":"2026-11-21T12:15","title":"stretch"}
    > remind me about the dentist on 3 December at 14:30
    a1 tasks.create {"due":"2026-12-03T14:30","title":"the dentist"}
    > remind me to take a pill daily at 8am
    a1 tasks.create {"due":"2026-11-22T08:00","recurrence":"FREQ=DAILY","title":"take a pill"}
    > don't forget to buy stamps #errands
    a1 tasks.create {"tags":["errands"],"title":"buy stamps"}
    > I need to call the bank on Monday
    a1 tasks.create {"due":"2026-11-23","title":"call the bank"}
    > put eggs on my list
    a1 tasks.create {"title":"eggs"}
    > add a reminder to read 1984 by Sunday
    a1 tasks.create {"due":"2026-11-22","title":"read 1984"}
    > set a reminder to leave tonight
    a1 tasks.create {"due":"2026-11-21T20:00","title":"leave"}
    > add a task "buy milk and show my tasks"
    a1 tasks.create {"title":"buy milk and show my tasks"}
    "#);
}

const QUESTIONS_ABOUT_TASKS: &str = "
        what's left?
        what's overdue
        what is due?
        I need to know what is overdue
        show overdue tasks
        do I have any overdue tasks?
        is anything overdue?
        list my tasks
        my tasks
        what are my tasks?
        what do I have to do today
        what do I have to do?
        what should I do this week?
        what is due tomorrow?
        show my tasks for next week
        show what is left
        what have I done?
        show completed tasks
        find tasks about the report
        show tasks tagged errands
        Find my overdue tasks
    ";

#[test]
fn questions_about_tasks() {
    insta::assert_snapshot!(plans(QUESTIONS_ABOUT_TASKS), @r#"
    > what's left?
    a1 tasks.search {"state":"open"}
    > what's overdue
    a1 tasks.search {"state":"overdue"}
    > what is due?
    a1 tasks.search {"state":"open"}
    > I need to know what is overdue
    a1 tasks.search {"state":"overdue"}
    > show overdue tasks
    a1 tasks.search {"state":"overdue"}
    > do I have any overdue tasks?
    a1 tasks.search {"state":"overdue"}
    > is anything overdue?
    a1 tasks.search {"state":"overdue"}
    > list my tasks
    a1 tasks.search {"state":"open"}
    > my tasks
    a1 tasks.search {"state":"open"}
    > what are my tasks?
    a1 tasks.search {"state":"open"}
    > what do I have to do today
    a1 tasks.search {"due_before":"2026-11-22","state":"open"}
    > what do I have to do?
    a1 tasks.search {"state":"open"}
    > what should I do this week?
    a1 tasks.search {"due_before":"2026-11-23","state":"open"}
    > what is due tomorrow?
    a1 tasks.search {"due_after":"2026-11-22","due_before":"2026-11-23","state":"open"}
    > show my tasks for next week
    a1 tasks.search {"due_after":"2026-11-23","due_before":"2026-11-30","state":"open"}
    > show what is left
    a1 tasks.search {"state":"open"}
    > what have I done?
    a1 tasks.search {"state":"done"}
    > show completed tasks
    a1 tasks.search {"state":"done"}
    > find tasks about the report
    a1 tasks.search {"query":"report"}
    > show tasks tagged errands
    a1 tasks.search {"state":"open","tag":"errands"}
    > Find my overdue tasks
    a1 tasks.search {"state":"overdue"}
    "#);
}

const CHANGES_TO_TASKS: &str = "
        I finished the report
        done with milk
        I've done the laundry
        complete the report
        tick off milk
        the report is done
        mark milk as complete
        remove the milk task
        delete milk
        delete the note about milk
        cancel the task to call Bob
        take milk off my list
        change the report's due date to Monday
        move the report to Friday at noon
        postpone milk until next week
        change the due date of the report to someday
        tag milk with shopping
        tag milk with shopping and errands
        set priority of the report to high
        make the report high priority
        rename milk to oat milk
        add a note to the report: see the annex
    ";

#[test]
fn changes_to_tasks() {
    insta::assert_snapshot!(plans(CHANGES_TO_TASKS), @r#"
    > I finished the report
    a1 tasks.complete+tasks.search “I finished the report”
    > done with milk
    a1 tasks.complete+tasks.search “done with milk”
    > I've done the laundry
    a1 tasks.complete+tasks.search “I've done the laundry”
    > complete the report
    a1 tasks.complete+tasks.search “complete the report”
    > tick off milk
    a1 tasks.complete+tasks.search “tick off milk”
    > the report is done
    a1 tasks.complete+tasks.search “the report is done”
    > mark milk as complete
    a1 tasks.complete+tasks.search “mark milk as complete”
    > remove the milk task
    a1 tasks.delete+tasks.search “remove the milk task”
    > delete milk
    a1 tasks.delete+tasks.search “delete milk”
    > delete the note about milk
    a1 memory.forget {"query":"milk"}
    > cancel the task to call Bob
    a1 tasks.delete+tasks.search “cancel the task to call Bob”
    > take milk off my list
    a1 tasks.delete+tasks.search “take milk off my list”
    > change the report's due date to Monday
    a1 tasks.search+tasks.update “change the report's due date to Monday”
    > move the report to Friday at noon
    a1 tasks.search+tasks.update “move the report to Friday at noon”
    > postpone milk until next week
    SAYS I understood everything but “next week”, so I did nothing. Please say it another way; if it belongs to a name, put the name in quotes.
    > change the due date of the report to someday
    SAYS I understood everything but “someday”, so I did nothing. Please say it another way; if it belongs to a name, put the name in quotes.
    > tag milk with shopping
    a1 tasks.search+tasks.update “tag milk with shopping”
    > tag milk with shopping and errands
    a1 tasks.search+tasks.update “tag milk with shopping and errands”
    > set priority of the report to high
    a1 tasks.search+tasks.update “set priority of the report to high”
    > make the report high priority
    a1 tasks.search+tasks.update “make the report high priority”
    > rename milk to oat milk
    a1 tasks.search+tasks.update “rename milk to oat milk”
    > add a note to the report: see the annex
    a1 tasks.search+tasks.update “add a note to the report: see the annex”
    "#);
}

#[test]
fn talk_about_memory() {
    insta::assert_snapshot!(plans("
        what do you remember?
        what do you remember about me
        what do you know about my office?
        note that the office closes at 6
        note: the alarm code is in the safe
        remember: the door sticks
        remember I prefer tea
        remember that I like jazz
        remember Bob likes jazz
        remember to buy milk
        what did I say about Bob?
        forget Bob
        forget that my office is in Lyon
        delete the note about the alarm
        show my notes
    "), @r#"
    > what do you remember?
    a1 memory.list {}
    > what do you remember about me
    a1 memory.list {}
    > what do you know about my office?
    a1 memory.search {"query":"my office"}
    > note that the office closes at 6
    a1 memory.save {"kind":"note","text":"the office closes at 6"}
    > note: the alarm code is in the safe
    a1 memory.save {"kind":"note","text":"the alarm code is in the safe"}
    > remember: the door sticks
    a1 memory.save {"kind":"fact","text":"the door sticks"}
    > remember I prefer tea
    a1 memory.save {"kind":"preference","text":"I prefer tea"}
    > remember that I like jazz
    a1 memory.save {"kind":"preference","text":"I like jazz"}
    > remember Bob likes jazz
    a1 memory.save {"kind":"fact","text":"Bob likes jazz"}
    > remember to buy milk
    a1 tasks.create {"title":"buy milk"}
    > what did I say about Bob?
    a1 memory.search {"query":"Bob"}
    > forget Bob
    a1 memory.forget {"query":"Bob"}
    > forget that my office is in Lyon
    a1 memory.forget {"query":"my office is in Lyon"}
    > delete the note about the alarm
    a1 memory.forget {"query":"the alarm"}
    > show my notes
    a1 memory.list {"kind":"note"}
    "#);
}

const SEVERAL_REQUESTS_IN_ONE_MESSAGE: &str = "
        add a task to buy milk and show my tasks
        add a task to buy milk; add a task to call Bob; what do you know about Bob?
        Remember that my office is in Lyon. What is overdue?
        mark milk as done and mark the report as done
        find my overdue tasks and mark them as done
        mark milk as done, then delete the task about bread, then show what is left
        remember that the invoice is paid and the report is done
        add a task to clean up and delete old files
        add a task to review and finish the draft
        what is overdue and cancel the review
        if it rains tomorrow, delete the task about milk
        never delete the task about milk
        find overdue tasks and email them to bob@example.test
        email the report to bob@example.test
        email Bob: see you at noon
        find Bob's contact and email him: see you at noon
    ";

#[test]
fn several_requests_in_one_message() {
    insta::assert_snapshot!(all_plans(SEVERAL_REQUESTS_IN_ONE_MESSAGE), @r#"
    > add a task to buy milk and show my tasks
    a1 tasks.create {"title":"buy milk"}
    a2 tasks.search {"state":"open"} after ["a1"]
    > add a task to buy milk; add a task to call Bob; what do you know about Bob?
    a1 tasks.create {"title":"buy milk"}
    a2 tasks.create {"title":"call Bob"}
    a3 memory.search {"query":"Bob"}
    > Remember that my office is in Lyon. What is overdue?
    a1 memory.save {"kind":"fact","text":"my office is in Lyon"}
    a2 tasks.search {"state":"overdue"}
    > mark milk as done and mark the report as done
    a1 tasks.complete+tasks.search “mark milk as done”
    a2 tasks.complete+tasks.search “mark the report as done”
    > find my overdue tasks and mark them as done
    a1 tasks.search {"state":"overdue"}
    a2 tasks.complete+tasks.search “mark them as done” after ["a1"]
    > mark milk as done, then delete the task about bread, then show what is left
    a1 tasks.complete+tasks.search “mark milk as done”
    a2 tasks.delete+tasks.search “delete the task about bread” after ["a1"]
    a3 tasks.search {"state":"open"} after ["a1","a2"]
    > remember that the invoice is paid and the report is done
    a1 memory.save {"kind":"fact","text":"the invoice is paid and the report is done"}
    > add a task to clean up and delete old files
    a1 tasks.create {"title":"clean up and delete old files"}
    > add a task to review and finish the draft
    a1 tasks.create {"title":"review and finish the draft"}
    > what is overdue and cancel the review
    a1 tasks.search {"state":"overdue"}
    a2 calendar.delete_event+calendar.search “cancel the review”
    > if it rains tomorrow, delete the task about milk
    SAYS I didn't understand “if it rains tomorrow, delete the task about milk”. I'm only the built-in planner; set up a language model in `[model]` for more. For example, I understand:
    - delete the task about milk
    - what's on tomorrow?
    - add a task to send the report by Friday 5pm
    - remind me to call Bob tomorrow at 9
    > never delete the task about milk
    SAYS I didn't understand “never delete the task about milk”. I'm only the built-in planner; set up a language model in `[model]` for more. For example, I understand:
    - delete the task about milk
    - add a task to send the report by Friday 5pm
    - add milk to my to-do list
    - email bob@example.test: running late, start without me
    > find overdue tasks and email them to bob@example.test
    a1 tasks.search {"state":"overdue"}
    a2 email.send “email them to bob@example.test” after ["a1"]
    > email the report to bob@example.test
    SAYS I didn't understand “email the report to bob@example.test”. I'm only the built-in planner; set up a language model in `[model]` for more. For example, I understand:
    - email bob@example.test: running late, start without me
    - add a task to send the report by Friday 5pm
    - draft a mail to bob@example.test: the offer comes on Monday
    - schedule a meeting with bob@example.test next Tuesday at 2pm
    > email Bob: see you at noon
    a1 contacts.search+email.send “email Bob: see you at noon”
    > find Bob's contact and email him: see you at noon
    a1 contacts.search {"query":"Bob"}
    a2 contacts.search+email.send “email him: see you at noon” after ["a1"]
    "#);
}

#[test]
fn lines_that_were_taken_together_are_each_handled() {
    let shown = plan_of(
        &planner(&[MEMORY, TASKS]),
        &request("add a task to buy milk\nsing a song\nwhat is overdue?"),
    );
    insta::assert_snapshot!(shown, @r#"
    a1 tasks.create {"title":"buy milk"}
    a2 tasks.search {"state":"overdue"} after ["a1"]
    "#);
}

#[test]
fn a_mail_keeps_its_lines() {
    let shown = plan_of(
        &planner(&[EMAIL, CALENDAR, CONTACTS, MEMORY, TASKS]),
        &request("email bob@example.test: hello,\nI am late.\nAda"),
    );
    insta::assert_snapshot!(shown, @r#"a1 email.send {"body":"hello,\nI am late.\nAda","subject":"Hello","to":["bob@example.test"]}"#);
}

#[test]
fn it_is_what_the_last_answer_named() {
    let planner = planner(&[MEMORY, TASKS]);
    let mut request = request("mark it as done");
    insta::assert_snapshot!(plan_of(&planner, &request), @"SAYS I don't know what “it” refers to, so I did nothing. What do you mean?");
    request.messages.insert(2, Message::new(Role::User, "add a task to buy milk"));
    request.messages.insert(3, Message::new(Role::Assistant, "Added “buy milk”."));
    insta::assert_snapshot!(plan_of(&planner, &request), @"a1 tasks.complete+tasks.search “mark “buy milk” as done”");
}

/// The skill files as JSON, each skill by its name.
fn skills() -> Vec<Value> {
    let files = [MEMORY, TASKS].map(|file| toml::from_str::<Value>(file).unwrap());
    files.iter().flat_map(|file| file["skill"].as_array().unwrap().clone()).collect()
}

#[test]
fn every_example_asks_for_its_own_skill() {
    let planner = planner(&[MEMORY, TASKS]);
    for skill in skills() {
        let examples =
            skill["intents"].as_array().unwrap().iter().filter_map(|intent| intent["example"].as_str());
        let mut count = 0;
        for example in examples {
            let plan = plan_of(&planner, &request(example));
            assert!(plan.contains(skill["name"].as_str().unwrap()), "{example}: {plan}");
            count += 1;
        }
        assert!(count > 0, "{} shows no example", skill["name"]);
    }
}

#[test]
fn direct_arguments_fit_their_schema() {
    let (planner, skills) = (planner(&[MEMORY, TASKS]), skills());
    let said = CHANGES_TO_TASKS.lines().chain([
        "add a high priority task to pay the rent every Monday at 9 #home",
        "what is overdue?",
        "what do I have to do today?",
        "remember that Bob prefers mornings",
        "note: the door sticks",
        "what do you remember?",
        "what do you know about Bob?",
        "forget Bob",
        "show tasks tagged home",
    ]);
    let mut checked = 0;
    for call in said.flat_map(|text| ask(&planner, &request(text)).tool_calls) {
        let dispatch: Value = serde_json::from_str(&call.arguments).unwrap();
        let Some(arguments) = dispatch.get("arguments") else { continue };
        let skill = skills.iter().find(|skill| skill["name"] == dispatch["skills"][0]).unwrap();
        let fault = jsonschema::validator_for(&skill["parameters"])
            .unwrap()
            .validate(arguments)
            .map_err(|e| e.to_string());
        assert_eq!(fault, Ok(()), "{}", call.arguments);
        checked += 1;
    }
    assert!(checked >= 9, "{checked}");
}

#[test]
fn the_catalogue_stays_small() {
    for skill in skills() {
        assert!(skill["summary"].as_str().unwrap().len() < 70, "{}", skill["name"]);
        let properties = skill["parameters"]["properties"].as_object().unwrap();
        assert!(properties.values().all(|property| property["description"].is_string()), "{}", skill["name"]);
        assert_eq!(skill["parameters"]["additionalProperties"], false);
    }
}
