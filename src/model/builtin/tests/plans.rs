//! What is dispatched for what people type.

use super::*;

/// The plan of each line, with the built-in skills alone.
fn plans(lines: &str) -> String {
    show(&planner(&[MEMORY, TASKS]), lines)
}

/// The same with the domains that come later.
fn all_plans(lines: &str) -> String {
    show(&planner(&[LATER, MEMORY, TASKS]), lines)
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
    "), @"");
}

#[test]
fn memory_of_the_promise() {
    insta::assert_snapshot!(plans("
        add a task to send the report by Friday 5pm, and remember that Bob prefers mornings
        remember that my office is in Lyon
        what do you know about Bob?
        forget what I said about Bob
    "), @"");
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
    "), @"");
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
    "), @"");
}

#[test]
fn questions_about_tasks() {
    insta::assert_snapshot!(plans("
        what's left?
        what's overdue
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
    "), @"");
}

#[test]
fn changes_to_tasks() {
    insta::assert_snapshot!(plans("
        I finished the report
        done with milk
        I've done the laundry
        complete the report
        tick off milk
        the report is done
        mark milk as complete
        remove the milk task
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
    "), @"");
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
        remember Bob likes jazz
        remember to buy milk
        what did I say about Bob?
        forget Bob
        forget that my office is in Lyon
        delete the note about the alarm
        show my notes
    "), @"");
}

#[test]
fn several_requests_in_one_message() {
    insta::assert_snapshot!(all_plans("
        add a task to buy milk and show my tasks
        add a task to buy milk; add a task to call Bob; what do you know about Bob?
        Remember that my office is in Lyon. What is overdue?
        mark milk as done and mark the report as done
        find my overdue tasks and mark them as done
        mark milk as done, then delete the task about bread, then show what is left
        remember that the invoice is paid and the report is done
        if it rains tomorrow, delete the task about milk
        never delete the task about milk
        find overdue tasks and email them to bob@example.test
        email the report to bob@example.test
        email Bob: see you at noon
        find Bob's contact and email him: see you at noon
    "), @"");
}

#[test]
fn lines_that_were_taken_together_are_each_handled() {
    let shown = plan_of(&planner(&[MEMORY, TASKS]), &request("add a task to buy milk\nsing a song\nwhat is overdue?"));
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn a_mail_keeps_its_lines() {
    let shown = plan_of(&planner(&[LATER, MEMORY, TASKS]), &request("email bob@example.test: hello,\nI am late.\nAda"));
    insta::assert_snapshot!(shown, @"");
}

#[test]
fn it_is_what_the_last_answer_named() {
    let planner = planner(&[MEMORY, TASKS]);
    let mut request = request("mark it as done");
    insta::assert_snapshot!(plan_of(&planner, &request), @"");
    request.messages.insert(2, Message::new(Role::User, "add a task to buy milk"));
    request.messages.insert(3, Message::new(Role::Assistant, "Added “buy milk”."));
    insta::assert_snapshot!(plan_of(&planner, &request), @"");
}
