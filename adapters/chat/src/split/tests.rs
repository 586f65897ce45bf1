use proptest::prelude::*;

use super::*;
use crate::LengthUnit;
use crate::richtext::Alignment;

/// A measure that counts markup, as tags would.
fn measured(text: &RichText) -> usize {
    fn inlines(text: &[Inline]) -> usize {
        text.iter()
            .map(|inline| match inline {
                Inline::Text(text) => LengthUnit::Utf16.length(text),
                Inline::Code(text) => LengthUnit::Utf16.length(text) + 13,
                Inline::Bold(inner) | Inline::Italic(inner) | Inline::Strike(inner) => inlines(inner) + 7,
                Inline::Link { to, text } => inlines(text) + 15 + LengthUnit::Utf16.length(to),
                Inline::Break => 1,
            })
            .sum()
    }
    fn blocks(list: &[Block]) -> usize {
        list.iter().map(|block| one(block) + 2).sum()
    }
    fn one(block: &Block) -> usize {
        match block {
            Block::Paragraph(text) => inlines(text),
            Block::Heading { text, .. } => inlines(text) + 7,
            Block::Code { language, text } => {
                text.encode_utf16().count() + language.as_ref().map_or(0, String::len) + 8
            }
            Block::Quote(inner) => blocks(inner) + 12,
            Block::List { items, .. } => items.iter().map(|item| blocks(item) + 4).sum(),
            Block::Table { header, rows, .. } => {
                std::iter::once(header).chain(rows).flatten().map(|cell| inlines(cell) + 3).sum()
            }
            Block::Rule => 3,
        }
    }
    blocks(&text.blocks)
}

fn parts(markdown: &str, limit: usize) -> Vec<RichText> {
    split(&RichText::parse(markdown), limit, measured)
}

fn shown(parts: &[RichText]) -> String {
    parts.iter().map(RichText::plain).collect::<Vec<_>>().join("\n=====\n")
}

/// The characters a reader sees, without what only shapes them: addresses of links, heads of tables.
fn content(text: &RichText) -> String {
    fn blocks(list: &[Block]) -> String {
        list.iter().map(one).collect()
    }
    fn one(block: &Block) -> String {
        match block {
            Block::Paragraph(text) | Block::Heading { text, .. } => crate::inline_text(text),
            Block::Code { text, .. } => text.clone(),
            Block::Quote(inner) => blocks(inner),
            Block::List { items, .. } => items.iter().map(|item| blocks(item)).collect(),
            Block::Table { header, rows, .. } => {
                std::iter::once(header).chain(rows).flatten().map(|cell| crate::inline_text(cell)).collect()
            }
            Block::Rule => "-".to_owned(),
        }
    }
    // H marks the words of heads, which may be repeated; the colon and bar come with a broken table.
    blocks(&text.blocks).chars().filter(|char| !char.is_whitespace() && !"H:|".contains(*char)).collect()
}

#[test]
fn a_short_text_stays_one_part() {
    assert_eq!(parts("Hello *you*", 100), [RichText::parse("Hello *you*")]);
    assert_eq!(parts("", 100).len(), 1);
}

#[test]
fn paragraphs_part_between_words() {
    insta::assert_snapshot!(shown(&parts("one two three four five\n\nsix seven", 16)), @r"
    one two three 
    =====
    four five
    =====
    six seven
    ");
}

#[test]
fn a_long_code_block_is_fenced_again_in_each_part() {
    let parts = parts("Look:\n\n```rust\nlet a = 1;\n\nlet b = 2;\nlet c = 3;\n```", 40);
    let code = |text: &str| Block::Code { language: Some("rust".into()), text: text.into() };
    let blocks: Vec<Block> = parts.into_iter().flat_map(|part| part.blocks).skip(1).collect();
    assert_eq!(blocks, [code("let a = 1;\n\nlet b = 2;"), code("let c = 3;")]);
}

#[test]
fn a_table_repeats_its_head_and_keeps_its_rows() {
    let table = "| H | HH |\n|---|---|\n| a | 1 |\n| b | 2 |\n| c | 3 |";
    insta::assert_snapshot!(shown(&parts(table, 28)), @r"
    H | HH
    a | 1
    b | 2
    =====
    H | HH
    c | 3
    ");
}

#[test]
fn the_parts_of_a_table_keep_how_its_columns_are_aligned() {
    let long = "x".repeat(40);
    let table = format!("| H | HH |\n|:-:|--:|\n| a | 1 |\n| b | 2 |\n| {long} | 3 |\n| c | 4 |");
    let aligned: Vec<_> = parts(&table, 28)
        .into_iter()
        .flat_map(|part| part.blocks)
        .filter_map(|block| if let Block::Table { align, .. } = block { Some(align) } else { None })
        .collect();
    let is_kept = |align: &Vec<Alignment>| *align == [Alignment::Center, Alignment::Right];
    assert!(aligned.len() > 1 && aligned.iter().all(is_kept), "{aligned:?}");
}

#[test]
fn a_row_as_long_as_a_message_keeps_its_text() {
    let table = format!("| Name | Note |\n|---|---|\n| Ada | {} |\n| Bob | short |", "long ".repeat(12));
    insta::assert_snapshot!(shown(&parts(&table, 50)), @r"
    Name: Ada
    Note: long long long long long long 
    =====
    long long long long long long
    =====
    Name | Note
    Bob | short
    ");
}

#[test]
fn an_address_longer_than_a_message_becomes_text() {
    let markdown = format!("See [it](https://example.org/{}) now", "x".repeat(60));
    let parts = parts(&markdown, 40);
    let text: String = parts.iter().map(content).collect();
    assert_eq!(text, format!("Seeit(https//example.org/{})now", "x".repeat(60)));
    assert!(parts.iter().all(|part| measured(part) <= 40));
}

#[test]
fn a_heading_stays_with_its_text_and_numbers_go_on() {
    let markdown = "First paragraph.\n\n## Steps\n\n1. alpha alpha\n2. beta beta\n3. gamma gamma";
    insta::assert_snapshot!(shown(&parts(markdown, 45)), @r"
    First paragraph.
    =====
    Steps

    1. alpha alpha
    =====
    2. beta beta
    3. gamma gamma
    ");
}

#[test]
fn a_person_made_of_several_characters_is_not_cut() {
    let parts = parts(&"👩\u{200d}🚀".repeat(4), 14);
    assert!(parts.iter().all(|part| !part.plain().starts_with('\u{200d}')), "{}", shown(&parts));
}

fn fragment() -> impl Strategy<Value = String> {
    let words = "[a-z0-9🦀é]{1,12}( [a-z0-9🦀é]{1,12}){0,30}";
    prop_oneof![
        words.prop_map(String::from),
        words.prop_map(|text| format!("# {text}")),
        words.prop_map(|text| format!("before **bold {text}** [{text}](x://y) `{text}` ~~*{text}*~~")),
        words.prop_map(|text| format!("```sh\n{}\n```", text.replace(' ', "\n"))),
        words.prop_map(|text| format!("> > {text}\n> - {text}\n> - {text}")),
        words.prop_map(|text| format!("3. {text}\n   - {text}\n     {text}\n4. {text}")),
        words.prop_map(|text| {
            let rows: String = text.split(' ').map(|word| format!("| {word} | {word} |\n")).collect();
            format!("| H | HHHH |\n|---|---|\n{rows}")
        }),
        Just("---".to_owned()),
    ]
}

proptest! {
    #[test]
    fn everything_arrives_in_order_and_every_part_fits(
        fragments in prop::collection::vec(fragment(), 0..8),
        limit in 45_usize..400,
    ) {
        let text = RichText::parse(&fragments.join("\n\n"));
        let parts = split(&text, limit, measured);
        for part in &parts {
            prop_assert!(measured(part) <= limit, "{} > {limit}: {part:?}", measured(part));
        }
        let arrived: String = parts.iter().map(content).collect();
        prop_assert_eq!(arrived, content(&text));
    }

    #[test]
    fn any_text_and_any_limit_keep_everything(markdown in "(\\PC|\n|[>*_`#|1. -]){0,200}", limit in 0_usize..60) {
        let text = RichText::parse(&markdown);
        let arrived: String = split(&text, limit, |text| text.plain().len()).iter().map(content).collect();
        let wanted = content(&text);
        // A link may have lost its form, so its address may now stand in the text.
        let mut chars = arrived.chars();
        for char in wanted.chars() {
            prop_assert!(chars.any(|other| other == char), "{char:?} is missing in {arrived}");
        }
    }
}
