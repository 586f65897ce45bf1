use adjutant_config::Kind;
use proptest::prelude::*;

use super::*;
use crate::cli::init::{accounts, model};

fn draft(text: &str) -> Draft {
    Draft::of_text(text, Path::new("config.toml"), &env()).unwrap()
}

fn env() -> Env {
    Env::made_up([("HOME", "/home/ada"), ("KEY", "sk-1")], "/nowhere")
}

const WRITTEN: &str = r#"# Ours.
[model] # who thinks
provider = 'openai'   # since May
name = "gpt-5-mini"
api_key = { env = "KEY" } # in the vault
timeout = "30s"

[model.agent]
name = "small"

# Everybody.
[assistant]
owner = [ "main:1", # Ada
  "side:2" ]

[channels]
main.token = "1:a" # dotted
side = { token = "d", allow = ["*"] }
# The end.
"#;

#[test]
fn what_is_there_stays_and_answers_are_put_in() {
    let mut draft = draft(WRITTEN);
    draft.set_text(&["model"], "name", "gpt-6");
    draft.set_secret(&["model"], "api_key", "file:keys/openai");
    draft.set_text(&["assistant"], "timezone", "Europe/Berlin");
    draft.set_owners("main", &["1".to_owned(), "3".to_owned()]);
    draft.set_owners("side", &[]);
    draft.set_secret(&["channels", "main"], "token", "2:b");
    draft.set_secret(&["channels", "side"], "token", "env:KEY");
    draft.set_secret(&["channels", "other"], "bot_token", "xoxb-1");
    accounts::set_server(&mut draft, &["mail", "smtp"], "mail.example.org:587");
    insta::assert_snapshot!(draft.text(), @r#"
# Ours.
[model] # who thinks
provider = 'openai'   # since May
name = "gpt-6"
api_key = { file = "keys/openai" } # in the vault
timeout = "30s"

[model.agent]
name = "small"

# Everybody.
[assistant]
owner = [ "main:1", "main:3" # Ada
  ]
timezone = "Europe/Berlin"

[channels]
main.token = "2:b" # dotted
side = { token = { env = "KEY" }, allow = ["*"] }

[channels.other]
bot_token = "xoxb-1"

[mail.smtp]
host = "mail.example.org"
port = 587
tls = "starttls"
# The end.
"#);
}

#[test]
fn another_provider_gets_nothing_of_the_one_before() {
    let mut draft = draft(WRITTEN);
    model::set_provider(&mut draft, "openai");
    assert_eq!(draft.text(), WRITTEN);
    model::set_provider(&mut draft, "anthropic");
    let text = draft.text();
    for gone in ["KEY", "gpt-5-mini", "small"] {
        assert!(!text.contains(gone), "{text}");
    }
    assert!(
        text.contains("timeout = \"30s\"") && text.contains("provider = \"anthropic\"   # since May"),
        "{text}"
    );
}

#[test]
fn a_file_that_can_not_be_filled_in_is_told_with_its_faults() {
    let opened = |text: &str| {
        let error = Draft::of_text(text, Path::new("config.toml"), &env()).err().unwrap();
        assert!(matches!(error, CliError::Config(_)));
        error.to_string()
    };
    insta::assert_snapshot!(opened("[model\n"), @"
    the configuration has errors
    config.toml:1: not TOML: unclosed table, expected `]`
    ");
    insta::assert_snapshot!(opened("model = 3\n[[mail]]\n[calendar]\n[channels]\nmain = 1\n").lines().take(4).collect::<Vec<_>>().join("\n"), @"
    the configuration has errors
    config.toml:1: model: must be a table of keys, not a whole number
    config.toml:2: mail: must be a table of keys, not a list
    config.toml:5: channels.main: must be a table of keys, not a whole number
    ");
}

#[test]
fn one_part_is_read_without_the_faults_of_the_others() {
    let [(right, _), _, (faulty, _)] = Kind::BOTS;
    let text = format!(
        "nonsense = 1\n[limits]\nturn_timeout = 1\n[channels.{right}]\ntoken = \"1:a\"\n[channels.{faulty}]\n"
    );
    let draft = draft(&text);
    assert!(draft.read().is_err());
    assert_eq!(draft.read_only(&["channels", right]).unwrap().channels.len(), 1);
    assert!(draft.read_only(&["channels", faulty]).is_err());
    assert!(draft.read_only(&["mail"]).unwrap().mail.is_none());
}

/// Answers as people, and others, may type them.
fn answer() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{1,12}",
        any::<String>(),
        "[\"'\\\\\n\t\r#=\\[\\]{}, \u{1}-\u{1f}\u{7f}\u{85}]{0,6}",
        "[a-z]{1,9}"
    ]
}

proptest! {
    #[test]
    fn what_each_part_takes_the_whole_file_takes(
        name in answer(),
        token in answer(),
        key in answer(),
        from in answer(),
        host in answer(),
        user in answer(),
        password in answer(),
        id in answer(),
        is_new: bool,
        kind in 0..Kind::BOTS.len(),
    ) {
        let mut draft = if is_new { draft(NEW) } else { draft("# Kept. \n\n[limits] # too\nagents_per_turn = 3\n") };
        let (channel, _) = Kind::BOTS[kind];
        model::set_provider(&mut draft, "openai");
        draft.set_text(&["model"], "name", &name);
        draft.set_secret(&["model"], "api_key", &key);
        for key in crate::service::setup(Kind::BOTS[kind].1).credentials.iter().map(|credential| credential.key) {
            draft.set_secret(&["channels", channel], key, &token);
        }
        draft.set_owners(channel, std::slice::from_ref(&id));
        draft.set_text(&["mail"], "from", &format!("{from} <a@example.org>"));
        accounts::set_server(&mut draft, &["mail", "smtp"], &host);
        draft.set_text(&["mail", "smtp"], "user", &user);
        draft.set_secret(&["mail", "smtp"], "password", &password);

        // What was written is what is read, as TOML.
        let text = draft.text();
        let again = Draft::of_text(&text, draft.path(), &env()).unwrap();
        prop_assert_eq!(again.text(), text.clone());
        prop_assert_eq!(again.at(&["model", "name"]), name.clone());
        prop_assert_eq!(again.at(&["mail", "smtp", "user"]), user.clone());
        prop_assert_eq!(again.owners(channel), [id]);
        prop_assert!(is_new || text.contains("# Kept. \n\n[limits] # too\nagents_per_turn = 3\n"), "{}", text);

        let parts: [&[&str]; 4] = [&["assistant"], &["channels", channel], &["model"], &["mail"]];
        let read = parts.iter().all(|part| draft.read_only(part).is_ok());
        prop_assert_eq!(draft.read().is_ok(), read, "{}", text);
        if let Ok(config) = draft.read() {
            prop_assert_eq!(config.model.main.first.name, name);
            prop_assert_eq!(config.mail.unwrap().smtp.user, user);
            prop_assert_eq!(config.channels.len(), 1);
        }
    }
}
