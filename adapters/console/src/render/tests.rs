use proptest::prelude::*;

use super::*;

const PLAIN: Theme = Theme { width: 40, colour: false };
const COLOUR: Theme = Theme { width: 40, colour: true };

const TEXT: &str = "\
# Your day

You have **two** overdue tasks, and [the report](https://example.org/r) is *nearly* late:

1. Send the report
   - to Bob, who waits for it since Tuesday morning
2. Call `ada@example.org`

> Be kind.

| Task | Due |
|:--|:--|
| 日本語 report | Friday |
| Milk | — |

```sh
rm -rf\t./target
```
---
Done.";

fn choices(labels: &[&str]) -> Vec<Choice> {
    labels.iter().map(|label| Choice { id: label.to_lowercase(), label: (*label).to_owned() }).collect()
}

#[test]
fn a_message_reads_well_without_colours() {
    insta::assert_snapshot!(message(TEXT, &choices(&["Continue", "Summarise", "Stop"]), PLAIN), @r#"
    Your day

    You have two overdue tasks, and the
    report (https://example.org/r) is nearly
    late:

    1. Send the report
       • to Bob, who waits for it since
         Tuesday morning
    2. Call ada@example.org

    │ Be kind.

    Task          │ Due
    ──────────────┼───────
    日本語 report │ Friday
    Milk          │ —

        rm -rf    ./target

    ────────────────────────────────────────

    Done.

    1  Continue   2  Summarise   3  Stop
    "#);
}

#[test]
fn colours_change_no_character() {
    let coloured = message(TEXT, &choices(&["Go"]), COLOUR);
    insta::assert_snapshot!(message("**Due** `x`", &choices(&["Go"]), COLOUR).replace('\x1b', "^"), @r#"
    ^[1mDue^[0m ^[36mx^[0m

    ^[1m1^[0m  Go
    "#);
    assert_eq!(without_colours(&coloured), message(TEXT, &choices(&["Go"]), PLAIN));
}

#[test]
fn a_table_that_is_too_wide_becomes_a_list() {
    let table = "| Name | Note |\n|--|--|\n| Ada | a note that is far longer than forty columns are |\n| Bob | short |";
    insta::assert_snapshot!(message(table, &[], PLAIN), @r#"
    Name: Ada
    Note: a note that is far longer than
    forty columns are

    Name: Bob
    Note: short
    "#);
}

#[test]
fn many_choices_stand_below_one_another() {
    let labels = ["A rather long answer", "Another long answer", "No\u{1b}[2J"];
    insta::assert_snapshot!(message("Which?", &choices(&labels), PLAIN), @r#"
    Which?

    1  A rather long answer
    2  Another long answer
    3  No␛[2J
    "#);
}

#[test]
fn an_endless_word_is_broken_and_a_pipe_is_not_wrapped() {
    assert_eq!(message(&"x".repeat(50), &[], PLAIN), format!("{}\n{}\n", "x".repeat(40), "x".repeat(10)));
    assert_eq!(message(&"x y ".repeat(50), &[], Theme { width: 0, colour: false }).lines().count(), 1);
}

#[test]
fn what_people_copy_stays_in_one_piece() {
    let text = "To go on, run `adjutant workflow resume 0352z6FbsPBL0t12stAEce` or open \
                https://example.org/a/rather/long/address/of/a/page now";
    insta::assert_snapshot!(message(text, &[], PLAIN), @"
    To go on, run
    adjutant workflow resume 0352z6FbsPBL0t12stAEce
    or open
    https://example.org/a/rather/long/address/of/a/page
    now
    ");
}

const REPORT: &str = "\
✗ store     the file can't be written (A04)
            → give it to the user that runs Adjutant: `chown adjutant /var/lib/adjutant/adjutant.db`
  1. Create an application: https://discord.com/developers/applications
  adjutant serve                   connects the bot, until you press Ctrl-C
Next step: `adjutant init` adds a chat platform: Telegram, Discord or Slack.";

#[test]
fn plain_text_goes_on_below_its_own_text() {
    insta::assert_snapshot!(plain(REPORT, 60), @"
    ✗ store     the file can't be written (A04)
                → give it to the user that runs Adjutant:
                  `chown adjutant /var/lib/adjutant/adjutant.db`
      1. Create an application:
         https://discord.com/developers/applications
      adjutant serve                   connects the bot, until
                                       you press Ctrl-C
    Next step: `adjutant init` adds a chat platform: Telegram,
    Discord or Slack.
    ");
    insta::assert_snapshot!(plain(REPORT, 40), @"
    ✗ store     the file can't be written
                (A04)
                → give it to the user that
                  runs Adjutant:
                  `chown adjutant /var/lib/adjutant/adjutant.db`
      1. Create an application:
         https://discord.com/developers/applications
      adjutant serve  connects the bot,
        until you press Ctrl-C
    Next step: `adjutant init` adds a chat
    platform: Telegram, Discord or Slack.
    ");
    assert_eq!(plain(REPORT, 0), REPORT);
}

const LIST: &str = "calendar: The person's calendar
  calendar.list_events   low     List the events of a period; default: the next 7 days
  calendar.create_event  medium  Create an event, and invite people to it";

#[test]
fn columns_that_leave_no_room_for_the_text_stand_above_it() {
    insta::assert_snapshot!(plain(LIST, 60), @"
    calendar: The person's calendar
      calendar.list_events   low     List the events of a
                                     period; default: the next 7
                                     days
      calendar.create_event  medium  Create an event, and invite
                                     people to it
    ");
    insta::assert_snapshot!(plain(LIST, 40), @"
    calendar: The person's calendar
      calendar.list_events   low
        List the events of a period;
        default: the next 7 days
      calendar.create_event  medium
        Create an event, and invite people
        to it
    ");
}

#[test]
fn a_drawing_as_wide_as_the_terminal_keeps_its_lines() {
    let block = |width: usize| message(&format!("```\n{}\n```", "x".repeat(width)), &[], PLAIN);
    assert_eq!(block(36), format!("    {}\n", "x".repeat(36)));
    assert_eq!(block(37), format!("{}\n", "x".repeat(37)));
}

fn without_colours(text: &str) -> String {
    let mut pieces = text.split('\x1b');
    let first = pieces.next().unwrap_or_default().to_owned();
    first + &pieces.map(|piece| piece.split_once('m').map_or("", |(_, after)| after)).collect::<String>()
}

proptest! {
    #[test]
    fn no_text_drives_the_terminal(text in "(\\PC|[\u{0}-\u{1f}\u{7f}-\u{9f}]|[#>*_`|~\\[\\]()<&;\n-]|\u{1b}\\[){0,120}", label in any::<String>()) {
        let choices = choices(&[&label]);
        let harmful = |char: char| char.is_control() && char != '\n';
        let plain = message(&text, &choices, PLAIN);
        prop_assert!(!plain.contains(harmful), "{plain:?}");
        let colour = message(&text, &choices, COLOUR);
        for (number, piece) in colour.split('\x1b').enumerate() {
            let code = piece.strip_prefix('[').and_then(|piece| piece.split_once('m'));
            let ours = number == 0 || code.is_some_and(|(code, _)| code.chars().all(|char| char.is_ascii_digit() || char == ';'));
            prop_assert!(ours, "{piece:?}");
            prop_assert!(!piece.contains(harmful), "{piece:?}");
        }
    }

    #[test]
    fn no_line_of_words_is_wider_than_the_terminal(text in "([a-zé日]{1,60} ?){0,40}") {
        for line in message(&text, &[], PLAIN).lines() {
            prop_assert!(width_of(line) <= 40, "{line}");
        }
    }

    #[test]
    fn wrapping_loses_no_word(text in "([✓→1.`/a-zé日]{1,30} {0,3}|\n){0,40}", width in 0_usize..90) {
        let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let wrapped = plain(&text, width);
        prop_assert_eq!(words(&wrapped).concat(), words(&text).concat());
    }
}
