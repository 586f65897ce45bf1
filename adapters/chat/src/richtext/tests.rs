use proptest::prelude::*;

use super::*;

fn plain(markdown: &str) -> String {
    RichText::parse(markdown).plain()
}

fn words(text: &str) -> Inline {
    Inline::Text(text.to_owned())
}

#[test]
fn large_numbers_can_be_read() {
    assert_eq!([0, 999, 1_000, 1_238_737].map(count), ["0", "999", "1,000", "1,238,737"]);
}

#[test]
fn markdown_becomes_a_tree() {
    let text = RichText::parse(
        "# Plan *now*\n\nSee **[the site](https://example.org)** and `x`.\nNext ~~line~~\n\n---",
    );
    let bold =
        Inline::Bold(vec![Inline::Link { to: "https://example.org".into(), text: vec![words("the site")] }]);
    let paragraph = vec![
        words("See "),
        bold,
        words(" and "),
        Inline::Code("x".into()),
        words("."),
        Inline::Break,
        words("Next "),
        Inline::Strike(vec![words("line")]),
    ];
    let heading = Block::Heading { level: 1, text: vec![words("Plan "), Inline::Italic(vec![words("now")])] };
    assert_eq!(text.blocks, [heading, Block::Paragraph(paragraph), Block::Rule]);
}

#[test]
fn plain_text_reads_well() {
    let markdown = "\
# Today

3. Call **Bob** ([site](https://bob.example))
4. Then:
   - write
     - a lot
   - rest

> quoted
> words

```rust
fn main() {}
```

| Name | Age |
|---|---|
| Ada | 36 |";
    insta::assert_snapshot!(plain(markdown), @r"
    Today

    3. Call Bob (site (https://bob.example))
    4. Then:
       • write
         • a lot
       • rest

    > quoted
    > words

    fn main() {}

    Name | Age
    Ada | 36
    ");
}

#[test]
fn html_stays_the_text_it_is() {
    assert_eq!(plain("a <b>bold</b> claim"), "a <b>bold</b> claim");
    assert_eq!(plain("<script>\nalert(1)\n</script>"), "<script>\nalert(1)\n</script>");
    assert_eq!(plain("Ada <ada@example.org> wrote"), "Ada ada@example.org wrote");
    assert_eq!(plain("<!-- hidden -->"), "<!-- hidden -->");
}

#[test]
fn control_characters_are_made_visible() {
    assert_eq!(plain("a\u{1b}[2Jb\u{7}\u{9b}31m"), "a␛[2Jb␇\u{fffd}31m");
    assert_eq!(plain("an entity &#27;[0m, `code\u{1b}`"), "an entity ␛[0m, code␛");
    assert_eq!(plain("[x](<http://a/&#10;\u{1b}>)"), "x (http://a/ ␛)");
    assert_eq!(plain("one\r\ntwo"), "one\ntwo");
    assert_eq!(plain("txt\u{202e}exe"), "txt\u{fffd}exe");
}

#[test]
fn a_sentence_that_looks_like_a_definition_is_kept() {
    assert_eq!(plain("[Note]: done"), "[Note]: done");
    assert_eq!(plain("See [it][1].\n\n[1]: https://example.org"), "See it (https://example.org).");
}

#[test]
fn an_unclosed_mark_is_a_character() {
    assert_eq!(plain("2 ` 3 * 4 _ 5 ** 6"), "2 ` 3 * 4 _ 5 ** 6");
    let open_fence = RichText::parse("```\nnever closed");
    assert_eq!(open_fence.blocks, [Block::Code { language: None, text: "never closed".into() }]);
}

#[test]
fn an_item_keeps_text_and_list_apart() {
    let text = RichText::parse("- a\n  - b\n- c");
    let list = |items| Block::List { start: None, items };
    let paragraph = |text| Block::Paragraph(vec![words(text)]);
    assert_eq!(
        text.blocks,
        [list(vec![vec![paragraph("a"), list(vec![vec![paragraph("b")]])], vec![paragraph("c")]])]
    );
}

#[test]
fn nesting_without_end_keeps_its_text_and_the_stack() {
    for mark in [">", "> - ", "*a ", "[", "**_"] {
        let text = plain(&format!("{}deep", mark.repeat(3_000)));
        assert!(text.ends_with("deep"), "{mark}");
    }
}

proptest! {
    #[test]
    fn any_text_is_read_and_none_of_it_can_drive_a_terminal(text in any::<String>()) {
        let plain = plain(&text);
        prop_assert!(plain.chars().all(|char| !char.is_control() || char == '\n' || char == '\t'), "{plain:?}");
    }

    #[test]
    fn every_word_is_kept(words in prop::collection::vec("[a-z]{2,8}", 1..30), marks in "[*_`~#>|<! \n-]{1,40}") {
        let marks: Vec<char> = marks.chars().collect();
        let text: String =
            words.iter().enumerate().map(|(at, word)| format!("{}{word} ", marks[at % marks.len()])).collect();
        let plain = plain(&text);
        let mut rest = plain.as_str();
        for word in &words {
            let found = rest.find(word.as_str());
            prop_assert!(found.is_some(), "{word} of {text:?} is not in {plain:?}");
            rest = &rest[found.unwrap_or(0) + word.len()..];
        }
    }
}
