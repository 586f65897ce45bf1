use adjutant_fakes::slack::plain;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn section(markdown: &str) -> String {
    let mut parts = parts(markdown);
    assert_eq!((parts.len(), parts[0].sections.len()), (1, 1));
    parts.remove(0).sections.remove(0).replace('\u{200b}', "·")
}

#[test]
fn all_forms() {
    let text = "# Today\n\nTwo **bold *and italic*** things, ~~not~~ `a*b`:\n\n1. one\n   - nested\n2. two\n   ```rust\n   \
                let a = b && c;\n   ```\n\n> quoted\n>\n> > twice\n\n#### Small\n\n---\nA [link](https://example.org/a_b?c&d) and <https://x.org/_y>.";
    insta::assert_snapshot!(section(text), @r#"
    *Today*
    Two *bold* *_and italic_* things, ~not~ `a*b`:

    1. one
        • nested
    2. two
    ```
    let a = b &amp;&amp; c;
    ```

    > quoted
    > 
    > twice

    *Small*
    ———

    A <https://example.org/a_b?c&amp;d|link> (example.org) and <https://x.org/_y>.
    "#);
}

#[test]
fn text_is_not_markup() {
    let text = "snake_case 2 * 3 * 4 \\*no\\* \\`tick\\` \\_it\\_ f(\\*args, \\*\\*more) <@U123> <!channel> &lt;#C1&gt; https://x.org/a_b_c?d=*e.\n\\> no quote";
    insta::assert_snapshot!(section(text), @r#"
    snake_case 2 * 3 * 4 *·no·* ‵tick‵ _·it·_ f(·*·args, *·*·more) &lt;@U123&gt; &lt;!channel&gt; &lt;#C1&gt; <https://x.org/a_b_c?d=*e>.
    ·&gt; no quote
    "#);
}

#[test]
fn links_that_could_deceive_show_where_they_lead() {
    let text = "[https://bank.example](https://evil.example) [mail](mailto:ada@example.org) [](https://x.org) ada@example.org [file](file:///etc) [a|b](https://x.org/|>)";
    insta::assert_snapshot!(section(text), @r#"<https://bank.example> (<https://evil.example>) <mailto:ada@example.org|mail> (ada@example.org) <https://x.org> ada@example.org file (file:///etc) <https://x.org/%7C%3E|a|b> (x.org)"#);
}

#[test]
fn a_narrow_table_is_set_in_columns() {
    insta::assert_snapshot!(section("| Task | Due |\n|---|---|\n| **Buy** milk | today |\n| Call Bob 🦀 | tomorrow |"), @r#"
    ```
    Task         Due
    ───────────  ────────
    Buy milk     today
    Call Bob 🦀  tomorrow
    ```
    "#);
}

#[test]
fn a_wide_table_is_told_row_by_row() {
    let text = "| Task | Notes |\n|---|---|\n| Q1 report | the numbers of the [third](https://x.org) quarter, all of them, and why |\n| Milk | |";
    insta::assert_snapshot!(section(text), @r#"
    • *Task*: Q1 report
        *Notes*: the numbers of the <https://x.org|third> (x.org) quarter, all of them, and why
    • *Task*: Milk
        *Notes*:
    "#);
}

#[test]
fn commands_are_named_as_they_are_typed() {
    assert_eq!(
        section("- `/help`: help\n- `/run NAME` or `/statusx` or `a /new`"),
        "• `/adjutant help`: help\n• `/adjutant run NAME` or `/statusx` or `a /new`"
    );
}

#[test]
fn code_can_hold_fences_and_ticks() {
    insta::assert_snapshot!(section("````\n```\ninner\n```\n````\n\n`` a`b `` and `` `c` ``"), @r#"
    ```
    `·`·`·
    inner
    `·`·`·
    ```
    a‵b and ‵c‵
    "#);
}

#[test]
fn neighbours_keep_their_marks_apart() {
    assert_eq!(section("**a***b* c"), "*a*·_b_ c");
    assert_eq!(section("foo**bar**baz"), "foo·*bar*·baz");
}

#[test]
fn nothing_to_say_is_still_a_message() {
    for empty in ["", "  \n", "#", "```\n```", "|a|\n|-|"] {
        assert!(!section(empty).trim().is_empty(), "{empty:?}");
    }
}

#[test]
fn buttons_have_short_labels() {
    let choices: Vec<Choice> = (0..27)
        .map(|number| Choice { id: format!("id{number}"), label: format!("{number}\n{}", "x".repeat(99)) })
        .collect();
    let blocks = parts("Continue?")[0].blocks(&choices);
    let buttons = blocks[1]["elements"].as_array().unwrap();
    assert_eq!((buttons.len(), &buttons[3]["value"]), (25, &json!("id3")));
    let label = buttons[3]["text"]["text"].as_str().unwrap();
    assert_eq!((label.chars().count(), label.starts_with("3 xxx"), label.ends_with('…')), (75, true, true));
}

#[test]
fn a_notification_is_short_and_harmless() {
    assert_eq!(parts("**Done** <!here>")[0].notification(), "Done &lt;!here&gt;");
    for length in 290..302 {
        let notification = parts(&format!("{}&&&&&", "x".repeat(length)))[0].notification();
        assert!(notification.chars().count() <= NOTIFICATION + 1, "{notification}");
        assert_eq!(notification.replace("&amp;", "").matches('&').count(), 0, "{notification}");
    }
}

/// Pieces that markdown, Slack or both could take for something.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,8} ",
        2 => prop::sample::select(vec!["*", "**", "_", "__", "~", "~~", "`", "``", "```", "\n", "\n\n", "> ", "- ", "1. ", "# ", "|",
            "[", "](", ")", "<", ">", "\\", "<@U1>", "<!channel>", "<#C1|x>", "&", "https://x.org/_a_b ", "[t](https://x.org/) ", "🦀", "\t",
            "  ", "| a | b |\n|---|---|\n| c | d |\n", "\n```rust\n", "\n```\n", ":", "&amp;", "<b>"]).prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

/// The letters and digits of a text, in their order.
fn letters(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).collect()
}

proptest! {
    #[test]
    fn every_part_fits_and_is_something(text in pieces(), times in 1_usize..12) {
        for part in parts(&text.repeat(times)) {
            prop_assert!((1..=SECTIONS).contains(&part.sections.len()));
            for section in &part.sections {
                prop_assert!((1..=SECTION).contains(&section.chars().count()), "{} characters", section.chars().count());
                prop_assert!(!section.trim().is_empty());
            }
        }
    }

    /// Nothing but links has angles of its own, so nothing reaches anybody.
    #[test]
    fn nobody_is_pinged(text in pieces()) {
        for part in parts(&text) {
            for text in part.sections.iter().chain([&part.plain, &part.notification()]) {
                for (at, _) in text.match_indices('<') {
                    prop_assert!(text[at..].starts_with("<http"), "{text}");
                }
            }
        }
    }

    /// Whatever the markdown meant, a bot sees the characters of the tree, none lost to a mark.
    #[test]
    fn a_reader_sees_the_whole_text(words in prop::collection::vec("[a-zA-Z0-9*_~`|<>#+.:@!(){}\\[\\]\\\\&;-]{1,12}", 1..30)) {
        let tree = RichText { blocks: vec![adjutant_chat::Block::Paragraph(vec![adjutant_chat::Inline::Text(words.join(" "))])] };
        prop_assert_eq!(plain(&rendered(&tree)), words.join(" ").replace('`', "\u{2035}"));
    }

    #[test]
    fn no_letter_is_lost(text in pieces()) {
        // Tables repeat their heads and lists their numbers; other tests look at those.
        let text = text.replace("1. ", "").replace("|---", "");
        let tree = RichText::parse(&text);
        let shown: String = parts(&text).iter().flat_map(|part| &part.sections).map(|one| plain(one)).collect();
        // A link shows its host too.
        prop_assert_eq!(letters(&shown.replace("(x.org)", "")), letters(&tree.plain()));
    }
}
