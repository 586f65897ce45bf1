use adjutant_fakes::discord::plain;
use proptest::prelude::*;

use super::*;

#[track_caller]
fn part(markdown: &str) -> String {
    let mut parts = parts(markdown);
    assert_eq!(parts.len(), 1);
    parts.remove(0)
}

#[test]
fn all_forms() {
    let text = "# Today\n\nTwo **bold *and italic*** things, ~~not~~ `a*b`:\n\n1. one\n   - nested\n2. two\n   ```rust\n   \
                let a = 1;\n   ```\n\n> quoted\n>\n> > twice\n\n#### Small\n\n---\nA [link](https://example.org/a_b) and <https://x.org/_y>.";
    insta::assert_snapshot!(part(text), @r#"
    # Today
    Two **bold** ***and italic*** things, ~~not~~ `a*b`:

    1. one
       - nested
    2. two
    ```rust
    let a = 1;
    ```

    > quoted
    > 
    > twice

    **Small**
    ———

    A [link](<https://example.org/a_b>) (example.org) and <https://x.org/_y>.
    "#);
}

#[test]
fn text_is_not_markup() {
    let text = "snake_case 2 * 3 * 4 ||no|| \\`tick\\` <@123> <#5> \\[a\\](b) https://x.org/a_b_c?d=*e\n\\# no head\n\\> no quote\n\\- no list\n1\\. no number";
    insta::assert_snapshot!(part(text), @r#"
    snake\_case 2 \* 3 \* 4 \|\|no\|\| \`tick\` \<@123> \<#5> \[a\](b) https://x.org/a_b_c?d=%2Ae
    \# no head
    \> no quote
    \- no list
    1\. no number
    "#);
}

#[test]
fn links_that_could_deceive_show_where_they_lead() {
    let text = "[https://bank.example](https://evil.example) [mail](mailto:ada@example.org) [](https://x.org) ada@example.org";
    insta::assert_snapshot!(part(text), @r#"https://bank.example (<https://evil.example>) mail (mailto:ada@example.org) <https://x.org> ada@example.org"#);
}

#[test]
fn a_narrow_table_is_set_in_columns() {
    insta::assert_snapshot!(part("| Task | Due |\n|---|---|\n| **Buy** milk | today |\n| Call Bob 🦀 | tomorrow |"), @r#"
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
    insta::assert_snapshot!(part(text), @r#"
    - **Task**: Q1 report
      **Notes**: the numbers of the [third](<https://x.org>) (x.org) quarter, all of them, and why
    - **Task**: Milk
      **Notes**:
    "#);
}

#[test]
fn code_can_hold_fences_and_ticks() {
    insta::assert_snapshot!(part("````\n```\ninner\n```\n````\n\n`` a`b `` and `` `c` ``").replace('\u{200b}', "·"), @r#"
    ```
    `·`·`·
    inner
    `·`·`·
    ```
    ``a`b`` and `` `c` ``
    "#);
}

#[test]
fn neighbours_keep_their_marks_apart() {
    assert_eq!(part("**a***b* c").replace('\u{200b}', "·"), "**a**·*b* c");
}

#[test]
fn nothing_to_say_is_still_a_message() {
    for empty in ["", "  \n", "#", "```\n```", "|a|\n|-|"] {
        assert!(!part(empty).trim().is_empty(), "{empty:?}");
    }
}

#[test]
fn buttons_come_five_in_a_row() {
    let choices: Vec<Choice> = (0..27)
        .map(|number| Choice { id: format!("id{number}"), label: format!("{number}\n{}", "x".repeat(99)) })
        .collect();
    let rows = buttons(&choices);
    let lengths: Vec<usize> =
        rows.as_array().unwrap().iter().map(|row| row["components"].as_array().unwrap().len()).collect();
    assert_eq!(lengths, [5; 5]);
    let label = rows[0]["components"][3]["label"].as_str().unwrap();
    assert_eq!((label.chars().count(), label.starts_with("3 xxx"), label.ends_with('…')), (80, true, true));
}

/// Pieces that markdown, Discord or both could take for something.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,8} ",
        2 => prop::sample::select(vec!["*", "**", "_", "__", "~~", "`", "``", "```", "\n", "\n\n", "> ", "- ", "1. ", "# ", "|", "||",
            "[", "](", ")", "<", ">", "\\", "<@1>", "@everyone", "https://x.org/_a_b ", "[t](https://x.org/) ", "🦀", "\t", "  ",
            "| a | b |\n|---|---|\n| c | d |\n", "\n```rust\n", "\n```\n", ":", "&amp;", "<b>"]).prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..120).prop_map(|pieces| pieces.concat())
}

/// The letters and digits of a text, in their order.
fn letters(text: &str) -> String {
    text.chars().filter(|char| char.is_alphanumeric()).collect()
}

proptest! {
    #[test]
    fn every_part_fits_and_is_something(text in pieces(), times in 1_usize..30) {
        for part in parts(&text.repeat(times)) {
            prop_assert!((1..=MAX_LENGTH).contains(&part.trim().chars().count()), "{} characters", part.chars().count());
        }
    }

    /// Whatever the markdown meant, a bot sees the characters of the tree, none lost to a mark.
    #[test]
    fn a_reader_sees_the_whole_text(words in prop::collection::vec("[a-zA-Z0-9*_~`|<>#+.:@!(){}\\[\\]\\\\-]{1,12}", 1..30)) {
        let tree = RichText { blocks: vec![adjutant_chat::Block::Paragraph(vec![adjutant_chat::Inline::Text(words.join(" "))])] };
        prop_assert_eq!(plain(&rendered(&tree)), words.join(" "));
    }

    #[test]
    fn no_letter_is_lost(text in pieces()) {
        // Tables repeat their heads and lists their numbers; other tests look at those.
        let text = text.replace("1. ", "").replace("|---", "");
        let tree = RichText::parse(&text);
        let shown: String = parts(&text).iter().map(|part| plain(part)).collect();
        // A link shows its host too.
        prop_assert_eq!(letters(&shown.replace("(x.org)", "")), letters(&tree.plain()));
    }
}
