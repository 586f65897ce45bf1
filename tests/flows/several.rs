//! What people say in short: of several things in one breath, a time alone, a choice in a word.

use crate::repeated::talk;

#[tokio::test]
async fn what_is_on_are_the_days_events_and_tasks() {
    let said = talk(&[
        "what's on tomorrow?",
        "add a task to buy milk tomorrow",
        "add a task to call the bank on monday",
        "schedule lunch with Ann tomorrow at noon",
        "what's on tomorrow?",
        "what's on my calendar tomorrow?",
        "remind me to take a pill every day",
        "what's on friday afternoon?",
        "what's on tomorrow and cancel it",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > what's on tomorrow?
    - No events in that period (Sun 22 Nov 2026)
    - No open tasks due then
    > add a task to buy milk tomorrow
    Added “buy milk”, due Sun 22 Nov 2026
    > add a task to call the bank on monday
    Added “call the bank”, due Mon 23 Nov 2026
    > schedule lunch with Ann tomorrow at noon
    Created “Lunch with Ann”, Sun 22 Nov 2026, 12:00–13:00
    > what's on tomorrow?
    - 1 event:
      - Sun 22 Nov 2026, 12:00–13:00: Lunch with Ann
    - 1 open task:
      - buy milk (due Sun 22 Nov 2026)
    > what's on my calendar tomorrow?
    1 event:
    - Sun 22 Nov 2026, 12:00–13:00: Lunch with Ann
    > remind me to take a pill every day
    Added “take a pill”, due Sat 21 Nov 2026, repeating every day
    > what's on friday afternoon?
    - No events in that period (Fri 27 Nov 2026, 12:00–18:00)
    - 1 open task:
      - take a pill (due Fri 27 Nov 2026, repeating every day)
    > what's on tomorrow and cancel it
    - 1 event:
      - Sun 22 Nov 2026, 12:00–13:00: Lunch with Ann
    - 2 open tasks:
      - take a pill (due Sun 22 Nov 2026, repeating every day)
      - buy milk (due Sun 22 Nov 2026)
    - Deleted “Lunch with Ann”
    ");
}

#[tokio::test]
async fn a_time_alone_is_for_what_was_just_made_or_moved() {
    let said = talk(&[
        "remind me to call Bob on friday",
        "at 5pm",
        "every friday at 4pm",
        "schedule the review on friday at 2pm",
        "3pm",
        "mark call bob as done",
        "tomorrow",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > remind me to call Bob on friday
    Added “call Bob”, due Fri 27 Nov 2026
    > at 5pm
    Changed “call Bob” (due Fri 27 Nov 2026, 17:00)
    > every friday at 4pm
    Changed “call Bob” (due Fri 27 Nov 2026, 16:00, repeating every Friday)
    > schedule the review on friday at 2pm
    Created “Review”, Fri 27 Nov 2026, 14:00–15:00
    > 3pm
    Changed “Review”, Fri 27 Nov 2026, 15:00–16:00. It was Fri 27 Nov 2026, 14:00–15:00
    > mark call bob as done
    Done: “call Bob”; the next one is due Fri 4 Dec 2026, 16:00
    > tomorrow
    I didn't understand “tomorrow”. I'm only the built-in planner; set up a language model in `[model]` for more. For example, I understand:
    - what's on tomorrow?
    - remind me to call Bob tomorrow at 9
    - what did you do yesterday?
    - who works at Acme?
    ");
}

#[tokio::test]
async fn a_choice_waits_for_words_that_are_understood() {
    let said = talk(&[
        "add a task buy milk",
        "add a task milk the cow",
        "mark milk as done",
        "the blue one",
        "neither",
        "mark milk as done",
        "the blue one",
        "the last one please",
        "undo",
        "mark milk as done",
        "both",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task buy milk
    Added “buy milk”
    > add a task milk the cow
    Added “milk the cow”
    > mark milk as done
    Several things match “milk”, so I changed nothing. Which one do you mean?
    - buy milk
    - milk the cow
    > the blue one
    I can't tell which one “the blue one” is. Which one do you mean?
    - buy milk
    - milk the cow
    > neither
    OK, I changed nothing.
    > mark milk as done
    Several things match “milk”, so I changed nothing. Which one do you mean?
    - buy milk
    - milk the cow
    > the blue one
    I can't tell which one “the blue one” is. Which one do you mean?
    - buy milk
    - milk the cow
    > the last one please
    Done: “milk the cow”
    > undo
    Taken back: Done: “milk the cow”
    > mark milk as done
    Several things match “milk”, so I changed nothing. Which one do you mean?
    - buy milk
    - milk the cow
    > both
    - Done: “buy milk”
    - Done: “milk the cow”
    ");
}

#[tokio::test]
async fn several_things_are_named_in_one_breath() {
    let said = talk(&[
        "add a task buy milk",
        "add a task buy bread",
        "add a task salt and pepper",
        "mark milk and bread as done",
        "mark salt and pepper as done",
        "undo",
        "schedule lunch with Ann on friday at noon",
        "schedule dinner on friday at 7pm",
        "cancel lunch and supper",
        "cancel lunch and dinner",
        "cancel lunch with Ann and dinner",
        "add a task buy tea",
        "add a task drink tea",
        "delete tea and salt",
        "delete tea, salt and pepper",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task buy milk
    Added “buy milk”
    > add a task buy bread
    Added “buy bread”
    > add a task salt and pepper
    Added “salt and pepper”
    > mark milk and bread as done
    Done: “buy milk”
    Done: “buy bread”
    > mark salt and pepper as done
    Done: “salt and pepper”
    > undo
    Taken back: Done: “salt and pepper”
    > schedule lunch with Ann on friday at noon
    Created “Lunch with Ann”, Fri 27 Nov 2026, 12:00–13:00
    > schedule dinner on friday at 7pm
    Created “Dinner”, Fri 27 Nov 2026, 19:00–20:00
    > cancel lunch and supper
    I found no event that matches “supper”, so I changed nothing.
    > cancel lunch and dinner
    I'm not sure that you mean these, so I changed nothing. Name each of them in full:
    - Lunch with Ann (Fri 27 Nov 2026, 12:00)
    - Dinner (Fri 27 Nov 2026, 19:00)
    > cancel lunch with Ann and dinner
    Deleted “Lunch with Ann”
    Deleted “Dinner”
    > add a task buy tea
    Added “buy tea”
    > add a task drink tea
    Added “drink tea”
    > delete tea and salt
    Several things match “tea”, so I changed nothing. Name each of them in full.
    > delete tea, salt and pepper
    I do this with at most 2 things at a time, so I changed nothing. Name fewer of them.
    ");
}

#[tokio::test]
async fn parts_that_match_differently_are_not_all_meant() {
    let said = talk(&[
        "add a task buy apples",
        "add a task sell oranges",
        "delete buy apples and oranges",
        "add a task paint the red door",
        "add a task buy blue paint",
        "delete red and blue paint",
        "schedule lunch with Bob tomorrow at noon",
        "schedule meeting with Ann tomorrow at 3pm",
        "cancel lunch with Bob and Ann",
        "schedule call with Bob on friday at 3pm",
        "cancel lunch and call Bob",
        "delete 'apples and oranges'",
        "add a task buy pears",
        "delete apples, pears and plums",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task buy apples
    Added “buy apples”
    > add a task sell oranges
    Added “sell oranges”
    > delete buy apples and oranges
    I'm not sure that you mean these, so I changed nothing. Name each of them in full:
    - buy apples
    - sell oranges
    > add a task paint the red door
    Added “paint the red door”
    > add a task buy blue paint
    Added “buy blue paint”
    > delete red and blue paint
    I'm not sure that you mean these, so I changed nothing. Name each of them in full:
    - paint the red door
    - buy blue paint
    > schedule lunch with Bob tomorrow at noon
    Created “Lunch with Bob”, Sun 22 Nov 2026, 12:00–13:00
    > schedule meeting with Ann tomorrow at 3pm
    Created “Meeting with Ann”, Sun 22 Nov 2026, 15:00–16:00
    > cancel lunch with Bob and Ann
    I'm not sure that you mean these, so I changed nothing. Name each of them in full:
    - Lunch with Bob (Sun 22 Nov 2026, 12:00)
    - Meeting with Ann (Sun 22 Nov 2026, 15:00)
    > schedule call with Bob on friday at 3pm
    Created “Call with Bob”, Fri 27 Nov 2026, 15:00–16:00
    > cancel lunch and call Bob
    I'm not sure that you mean these, so I changed nothing. Name each of them in full:
    - Lunch with Bob (Sun 22 Nov 2026, 12:00)
    - Call with Bob (Fri 27 Nov 2026, 15:00)
    > delete 'apples and oranges'
    I found no task that matches “apples and oranges”, so I changed nothing.
    > add a task buy pears
    Added “buy pears”
    > delete apples, pears and plums
    I do this with at most 2 things at a time, so I changed nothing. Name fewer of them.
    ");
}

#[tokio::test]
async fn them_are_all_that_a_message_made() {
    let said = talk(&[
        "add a task to pack, schedule a trip on friday at 9am, then delete them",
        "what's on friday?",
        "show my tasks",
        "add a task to pay and schedule a walk on friday at 9am and cancel them",
        "add a task to sow and schedule a walk on friday at 9am and mark them as done",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task to pack, schedule a trip on friday at 9am, then delete them
    - Added “pack”
    - Created “Trip”, Fri 27 Nov 2026, 09:00–10:00
    - Deleted “Trip”
    - Deleted “pack”
    > what's on friday?
    - No events in that period (Fri 27 Nov 2026)
    - No open tasks due then
    > show my tasks
    No open tasks
    > add a task to pay and schedule a walk on friday at 9am and cancel them
    - Added “pay”
    - Created “Walk”, Fri 27 Nov 2026, 09:00–10:00
    - Deleted “Walk”
    - Deleted “pay”
    > add a task to sow and schedule a walk on friday at 9am and mark them as done
    - Added “sow”
    - Created “Walk”, Fri 27 Nov 2026, 09:00–10:00

    I don't know what “them” refers to, so I did nothing. What do you mean?
    ");
}

#[tokio::test]
async fn a_dinner_stays_in_the_evening_and_keeps_its_time_on_another_day() {
    let said = talk(&[
        "schedule dinner on friday at 7pm",
        "at 8",
        "schedule a football match on friday at 10am",
        "move the football match to sunday",
        "schedule a quiz on saturday",
        "make it at 8",
        "8pm",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > schedule dinner on friday at 7pm
    Created “Dinner”, Fri 27 Nov 2026, 19:00–20:00
    > at 8
    Changed “Dinner”, Fri 27 Nov 2026, 20:00–21:00. It was Fri 27 Nov 2026, 19:00–20:00
    > schedule a football match on friday at 10am
    Created “Football match”, Fri 27 Nov 2026, 10:00–11:00
    > move the football match to sunday
    I found no task that matches “football match”, so I changed nothing. For the event, say “cancel Football match” or “move the event Football match to …”.
    > schedule a quiz on saturday
    Created “Quiz”, Sat 28 Nov 2026, all day
    > make it at 8
    “Quiz” in the morning, Sat 28 Nov 2026, 08:00? Say am or pm with the time.
    > 8pm
    Changed “Quiz”, Sat 28 Nov 2026, 20:00–21:00. It was Sat 28 Nov 2026, all day
    ");
}

#[tokio::test]
async fn a_day_chooses_and_is_no_new_time() {
    let said = talk(&[
        "add a task write the report on friday",
        "add a task read the report on wednesday",
        "move the report to monday",
        "friday",
        "show my tasks",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > add a task write the report on friday
    Added “write the report”, due Fri 27 Nov 2026
    > add a task read the report on wednesday
    Added “read the report”, due Wed 25 Nov 2026
    > move the report to monday
    Several things match “report”, so I changed nothing. Which one do you mean?
    - read the report (due Wed 25 Nov 2026)
    - write the report (due Fri 27 Nov 2026)
    > friday
    Changed “write the report” (due Mon 23 Nov 2026)
    > show my tasks
    2 open tasks:
    - write the report (due Mon 23 Nov 2026)
    - read the report (due Wed 25 Nov 2026)
    ");
}

#[tokio::test]
async fn an_hour_alone_is_of_the_nearer_half_and_undo_of_what_was_done() {
    let said = talk(&[
        "schedule a flight on friday at 6am",
        "at 5",
        "schedule a party on saturday at 11pm",
        "make it at 1",
        "undo",
        "undo",
        "schedule team meeting every wednesday at 10am",
        "move the event team meeting to thursday",
        "at 11",
        "am I free on friday at 6?",
    ])
    .await;
    insta::assert_snapshot!(said, @"
    > schedule a flight on friday at 6am
    Created “Flight”, Fri 27 Nov 2026, 06:00–07:00
    > at 5
    Changed “Flight”, Fri 27 Nov 2026, 05:00–06:00. It was Fri 27 Nov 2026, 06:00–07:00
    > schedule a party on saturday at 11pm
    Created “Party”, Sat 28 Nov 2026, 23:00 to Sun 29 Nov 2026, 00:00
    > make it at 1
    I can't tell in which half of the day “Party” should be, so I changed nothing. Say am or pm.
    > undo
    I did nothing for your last message. Say “undo” again to take back what I did before it.
    > undo
    Taken back: Created “Party”, Sat 28 Nov 2026, 23:00 to Sun 29 Nov 2026, 00:00
    > schedule team meeting every wednesday at 10am
    Created “Team meeting”, Wed 25 Nov 2026, 10:00–11:00, repeating every Wednesday
    > move the event team meeting to thursday
    “Team meeting” repeats, and I can't tell which of its days you mean, so I changed nothing.
    > at 11
    I didn't understand “at 11”. I'm only the built-in planner; set up a language model in `[model]` for more. For example, I understand:
    - what did you do yesterday?
    - what's on tomorrow?
    - who works at Acme?
    - email bob@example.test: running late, start without me
    > am I free on friday at 6?
    I understood everything but “on friday at 6: am or pm?”, so I did nothing. Please say it another way; if it belongs to a name, put the name in quotes.
    ");
}
