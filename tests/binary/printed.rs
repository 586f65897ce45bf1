//! The conversations that the guides print, held in basic mode.

use regex::Regex;

use crate::process::Home;

/// What is said behind `›`, and what a page prints below it.
fn conversations(page: &'static str) -> Vec<Vec<(&'static str, String)>> {
    let blocks = page.split("```text\n").skip(1).filter_map(|rest| rest.split("\n```").next());
    let conversation = |block: &'static str| {
        let mut said: Vec<(&'static str, String)> = Vec::new();
        for line in block.lines() {
            match (line.strip_prefix("› "), said.last_mut()) {
                (Some(text), _) => said.push((text, String::new())),
                (None, Some((_, answer))) => answer.push_str(&format!("{line}\n")),
                (None, None) => {}
            }
        }
        said
    };
    blocks.filter(|block| block.starts_with("› ")).map(conversation).collect()
}

/// A text whose days are all the same one.
fn undated(text: &str) -> String {
    let day = Regex::new(r"\d{1,2} [A-Z][a-z]{2} \d{4}").unwrap();
    day.replace_all(text, "DAY").into_owned()
}

#[test]
fn conversations_are_as_printed() {
    let pages = [include_str!("../../README.md"), include_str!("../../docs/getting-started.md")];
    let mut answers = 0;
    for conversation in pages.into_iter().flat_map(conversations) {
        let home = Home::new();
        for (text, printed) in conversation {
            let ended = home.run(&["chat", "--once", text]);
            assert_eq!(ended.status, Some(0), "{ended:?}");
            assert_eq!(undated(&ended.stdout), undated(&printed), "{text}");
            answers += 1;
        }
        home.assert_tidy("a conversation of a guide");
    }
    assert!(answers >= 8, "only {answers} answers were found");
}
