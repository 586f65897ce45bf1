use insta::assert_snapshot;
use proptest::prelude::*;

use super::*;

/// A text as Telegram's markup, a part after the other.
fn html(markdown: &str) -> String {
    parts(markdown).iter().map(|part| part.html.as_str()).collect::<Vec<_>>().join("\n=====\n")
}

fn choice(label: &str) -> Choice {
    Choice { id: label.to_lowercase(), label: label.to_owned() }
}

/// What a reader sees of markup, checked as Telegram would: known tags, properly nested.
fn seen(html: &str) -> Result<String, String> {
    let (mut text, mut open, mut rest) = (String::new(), Vec::new(), html);
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        let end = at + rest[at..].find('>').ok_or("a tag does not end")?;
        let tag = &rest[at + 1..end];
        match tag.strip_prefix('/') {
            Some(tag) if open.pop() != Some(tag) => return Err(format!("{tag} is not open")),
            Some(_) => {}
            None => {
                let name = tag.split(' ').next().unwrap_or_default();
                if !["a", "b", "i", "s", "code", "pre", "blockquote"].contains(&name) {
                    return Err(format!("{name} is no tag of Telegram's"));
                }
                if name == "blockquote" && open.contains(&name) {
                    return Err("quotes are nested".to_owned());
                }
                open.push(name);
            }
        }
        rest = &rest[end + 1..];
    }
    text.push_str(rest);
    if !open.is_empty() || text.contains('>') {
        return Err(format!("{open:?} is open, or something is not escaped"));
    }
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    Ok(plain.replace("&amp;", "&"))
}

#[test]
fn markdown_becomes_telegrams_html() {
    let text = "# Today\n\nTwo *open* tasks, **one** ~~late~~ <now> & `a < b`:\n\n1. Call [Bob](https://example.org/?a=1&b=\"2\")\n2. Write\n   - to Ann\n   - to Cy\n\n> He said:\n> > so\n\n```rust\nfn main() {}\n```\n\n---\nDone.";
    assert_snapshot!(html(text), @r#"
    <b>Today</b>

    Two <i>open</i> tasks, <b>one</b> <s>late</s> &lt;now&gt; &amp; <code>a &lt; b</code>:

    1. Call <a href="https://example.org/?a=1&amp;b=&quot;2&quot;">Bob</a> (example.org)
    2. Write
       • to Ann
       • to Cy

    <blockquote>He said:

    &gt; so</blockquote>

    <pre><code class="language-rust">fn main() {}</code></pre>

    ———

    Done.
    "#);
}

#[test]
fn code_in_a_list_keeps_its_left_edge() {
    assert_snapshot!(html("- run\n\n  ```\n  a\n    b\n  ```\n- > quoted\n  > twice"), @"
    • run
    <pre>a
      b</pre>
    • &gt; quoted
      &gt; twice
    ");
}

#[test]
fn a_narrow_table_is_aligned_and_a_wide_one_is_listed() {
    assert_snapshot!(html("| Task | Due |\n|---|---|\n| Tea 🫖 | **now** |\n| [Report](https://a.example) | |"), @"
    <pre>Task                       │ Due
    ───────────────────────────┼────
    Tea 🫖                     │ now
    Report (https://a.example) │</pre>
    ");
    assert_snapshot!(
        html("| Task | Where to find it |\n|---|---|\n| Tea | in the kitchen, on the upper shelf |\n| Report | [here](https://a.example) |"),
        @r#"
    <b>Task</b>: Tea
    <b>Where to find it</b>: in the kitchen, on the upper shelf

    <b>Task</b>: Report
    <b>Where to find it</b>: <a href="https://a.example">here</a> (a.example)
    "#
    );
}

#[test]
fn a_table_stays_aligned_up_to_what_a_phone_shows() {
    let table = |width: usize| html(&format!("| {} | b |\n|---|---|\n| c | d |", "a".repeat(width - 4)));
    assert!(table(36).starts_with("<pre>"), "{}", table(36));
    assert!(table(37).starts_with("<b>aaa"), "{}", table(37));
    assert!(table(37).ends_with("</b>: c\n<b>b</b>: d"), "{}", table(37));
}

#[test]
fn links_that_telegram_would_drop_keep_their_address() {
    assert_snapshot!(
        html("[me](mailto:me@example.org) <me@example.org> [x](tg://user?id=1) [l](http://localhost/) [`c` d](https://a.example/x) <https://a.example/y> [](https://a.example/z)"),
        @r#"me (mailto:me@example.org) me@example.org x (tg://user?id=1) l (http://localhost/) <a href="https://a.example/x">c d</a> (a.example) https://a.example/y https://a.example/z"#
    );
}

#[test]
fn nobody_is_called() {
    let shown = parts("@everyone (@bob) a@b.example https://a.example/@bob `@code`")[0]
        .plain
        .replace('\u{2060}', "·");
    assert_snapshot!(shown, @"@·everyone (@·bob) a@b.example https://a.example/@bob @code");
}

#[test]
fn a_blank_text_is_still_a_message() {
    for text in ["", " \n", "&#32;"] {
        assert_eq!(html(text), "…", "{text:?}");
    }
}

#[test]
fn short_buttons_share_rows() {
    let rows = |labels: &[&str]| {
        let choices: Vec<Choice> = labels.iter().map(|label| choice(label)).collect();
        keyboard(&choices).map(|keyboard| keyboard.inline_keyboard.iter().map(Vec::len).collect::<Vec<_>>())
    };
    assert_eq!(rows(&[]), None);
    assert_eq!(rows(&["Approve", "Reject"]), Some(vec![2]));
    assert_eq!(rows(&["Continue", "Summarise", "Stop", "More"]), Some(vec![3, 1]));
    assert_eq!(rows(&["Send it to everybody in the house", "No"]), Some(vec![1, 1]));
}

#[test]
fn links_after_the_hundredth_entity_are_not_lost() {
    let text: String = (0..250).map(|number| format!("[l{number}](https://a.example/{number}) ")).collect();
    let parts = parts(&text);
    assert!(parts.iter().all(|part| part.html.matches("<a ").count() <= ENTITIES));
    assert_eq!(parts.iter().map(|part| part.html.matches("<a ").count()).sum::<usize>(), 250);
}

/// Markdown of any kind, and pieces that are often wrong.
fn markdown() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "\\PC{0,40}",
        "[a-z ]{1,400}",
        Just("\n\n".to_owned()),
        Just("\n> ".to_owned()),
        Just("\n- ".to_owned()),
        Just("\n```rust\n".to_owned()),
        Just("\n| a | b |\n|---|---|\n| c | d |\n".to_owned()),
        Just("**".to_owned()),
        Just("[x](https://a.example/\"<&>)".to_owned()),
        Just("<b>&amp;@name".to_owned()),
        Just("🦀".repeat(300)),
        Just("w".repeat(3_000)),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn every_part_fits_and_is_well_formed(text in markdown()) {
        for part in parts(&text) {
            let seen = seen(&part.html);
            prop_assert!(seen.is_ok(), "{seen:?}: {:?}", part.html);
            let seen = seen.unwrap_or_default();
            prop_assert!(LengthUnit::Utf16.length(&seen) <= MAX_LENGTH);
            prop_assert!(LengthUnit::Utf16.length(&part.plain) <= MAX_LENGTH);
            prop_assert!(part.html.len() <= MAX_LENGTH * MARKUP);
            prop_assert!(!seen.trim().is_empty());
        }
    }

    #[test]
    fn nothing_is_dropped(words in prop::collection::vec("[a-z]{1,40}", 1..800)) {
        let numbered: Vec<String> = words.iter().enumerate().map(|(at, word)| format!("{word}{at}")).collect();
        let text: String = numbered.iter().enumerate().map(|(at, word)| match at % 9 {
            0 => format!("\n\n- {word} "),
            1 => format!("**{word}** "),
            2 => format!("\n> {word}\n\n"),
            3 => format!("\n| {word} | b |\n|---|---|\n\n"),
            4 => format!("\n```\n{word}\n```\n"),
            _ => format!("{word} "),
        }).collect();
        let all: String = parts(&text).iter().map(|part| format!("{}\n", part.plain)).collect();
        let found: Vec<&str> = all.split(|char: char| !char.is_ascii_alphanumeric())
            .filter(|word| word.ends_with(|char: char| char.is_ascii_digit())).collect();
        prop_assert_eq!(found, numbered);
    }
}
