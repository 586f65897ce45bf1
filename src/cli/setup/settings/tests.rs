use adjutant_config::Env;
use proptest::prelude::*;

use super::*;

const EXAMPLE: &str = include_str!("../../../../config.example.toml");

fn draft(text: &str) -> Draft {
    let env = Env::made_up([("HOME", "/home/ada"), ("KEY", "sk-1")], "/nowhere");
    Draft::of_text(text, Path::new("config.toml"), &env).unwrap()
}

fn all(draft: &Draft) -> Vec<Group> {
    groups(draft, &service::load_skills(&Config::in_dir("/nowhere")).unwrap())
}

/// What a file is after these changes, and which keys they were.
fn changed(text: &str, typed: &[(&str, &str)]) -> Result<(String, Vec<String>), SettingError> {
    let mut draft = draft(text);
    let groups = all(&draft);
    let typed = typed.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let keys = change(&mut draft, &groups, &typed)?;
    Ok((draft.text(), keys))
}

const WRITTEN: &str = r#"# Ours.
[model] # who thinks
provider = "openai"
name = "small" # enough
# In the vault.
api_key = "sk-very-secret" # of May
[channels.work]
kind = "discord"
token = 'd-very-secret'
allow = [ "1", # Ada
  "2" ] # both
[limits]
# Money first.
day_cost_usd = 2.5 # per person

# The end.
"#;

#[test]
fn what_is_changed_keeps_its_comments_and_what_goes_takes_its_line_alone() {
    let typed = [
        ("limits.day_cost_usd", ""),
        ("limits.day_tokens", "5"),
        ("model.name", "large"),
        ("model.timeout", ""),
        ("channels.work.allow", "2\n3"),
        ("channels.work.enabled", "false"),
        ("approval.skills.tasks.delete", "deny"),
    ];
    let (text, keys) = changed(WRITTEN, &typed).unwrap();
    insta::assert_snapshot!(text, @r#"
    # Ours.
    [model] # who thinks
    provider = "openai"
    name = "large" # enough
    # In the vault.
    api_key = "sk-very-secret" # of May
    [channels.work]
    kind = "discord"
    token = 'd-very-secret'
    allow = [ # Ada
      "2" , "3"] # both
    enabled = false
    [limits]
    day_tokens = 5
    # Money first.

    [approval.skills]
    "tasks.delete" = "deny"

    # The end.
    "#);
    let [removed, ..] = typed;
    assert!(keys.contains(&removed.0.to_owned()) && !keys.contains(&"model.timeout".to_owned()), "{keys:?}");
    assert_eq!(keys.len(), 6);
}

#[test]
fn people_and_what_roles_may_do_are_fields_like_any_other() {
    let calendar = "[calendar] # ours\nurl = \"https://dav.example.org/\"\npeople = \"owners\" # so far\n";
    let people = [
        ("assistant.owner", "telegram:1, slack:U2"),
        ("channels.telegram.allow", "1\n3"),
        ("calendar.people", "telegram:1\ntelegram:3"),
        ("roles.deny.researcher", "web.*"),
    ];
    let (text, keys) = changed(calendar, &people).unwrap();
    insta::assert_snapshot!(text, @r#"
    [calendar] # ours
    url = "https://dav.example.org/"
    people = ["telegram:1", "telegram:3"] # so far

    [assistant]
    owner = ["telegram:1", "slack:U2"]

    [channels.telegram]
    allow = ["1", "3"]

    [roles.deny]
    researcher = ["web.*"]
    "#);
    assert_eq!(keys.len(), 4);
    let (text, _) =
        changed(&text, &[("calendar.people", "everybody"), ("roles.deny.researcher", "")]).unwrap();
    assert!(text.contains("people = \"everybody\" # so far") && !text.contains("researcher"), "{text}");
    for key in ["contacts.people", "roles.deny.nobody", "roles.paths"] {
        assert!(matches!(changed(calendar, &[(key, "x")]), Err(SettingError::Unknown(_))), "{key}");
    }
    let draft = draft(calendar);
    let groups = all(&draft);
    let of = |title: String| groups.iter().find(|group| group.title == title).unwrap().settings.iter();
    let names: Vec<_> = of(words::people()).map(Setting::name).collect();
    let channels = ["telegram", "discord", "slack"].map(|name| format!("channels.{name}.allow"));
    let channels = channels.each_ref().map(String::as_str);
    assert_eq!(names, [&["assistant.owner"], &channels[..], &["connect.people", "calendar.people"]].concat());
    assert!(of(words::assistant()).all(|setting| setting.key.name != "owner"));
}

#[test]
fn a_secret_for_one_server_goes_to_no_other_and_is_never_typed_in() {
    let (text, _) = changed(WRITTEN, &[("model.base_url", "https://example.org/v1/")]).unwrap();
    assert!(!text.contains("sk-very-secret") && text.contains("# In the vault."), "{text}");
    assert!(text.contains("d-very-secret"), "{text}");
    let again = [("model.base_url", "https://example.org/v1/"), ("model.api_key", "env:KEY")];
    assert!(changed(WRITTEN, &again).unwrap().0.contains("api_key = { env = \"KEY\" }"));
    let (text, _) = changed(WRITTEN, &[("model.provider", "anthropic")]).unwrap();
    assert!(!text.contains("small") && !text.contains("sk-very-secret"), "{text}");
    // Where they say nothing else, the other models are on the same server.
    let others = format!(
        "{WRITTEN}[model.agent]\nname = \"a\"\napi_key = \"sk-agent\"\n[model.intent]\nprovider = \"gemini\"\napi_key = \"sk-intent\"\n"
    );
    let (text, _) = changed(&others, &[("model.base_url", "https://example.org/v1/")]).unwrap();
    assert!(!text.contains("sk-agent") && text.contains("sk-intent"), "{text}");
    let refused = changed(WRITTEN, &[("model.api_key", "sk-2")]).unwrap_err();
    assert!(matches!(&refused, SettingError::NotASource(key) if key == "model.api_key"), "{refused}");
    for key in ["store.url", "mcp.github.command", "channels.web.listen", "nothing"] {
        assert!(matches!(changed(WRITTEN, &[(key, "x")]), Err(SettingError::Unknown(_))), "{key}");
    }
}

#[test]
fn a_difference_shows_no_secret() {
    let before = draft(WRITTEN);
    let mut after = before.clone();
    let typed = BTreeMap::from([
        ("model.provider".to_owned(), "anthropic".to_owned()),
        ("channels.work.token".to_owned(), "file:keys/discord".to_owned()),
    ]);
    change(&mut after, &all(&before), &typed).unwrap();
    let lines = difference(&before, &after);
    let shown: Vec<String> =
        lines.iter().map(|(is_new, line)| format!("{}{line}", if *is_new { '+' } else { '-' })).collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    -provider = "openai"
    -name = "small" # enough
    +provider = "anthropic"
    -api_key = "…" # of May
    -token = "…"
    +token = { file = "keys/discord" }
    "#);
    let reference =
        draft("[model]\napi_key = { env = \"KEY\" }\n[mcp.a]\nenv = { A = \"x\", B = { env = \"C\" } }\n");
    let text = reference.without_secrets();
    assert!(text.contains("env = \"KEY\"") && text.contains("A = \"…\", B = { env = \"C\" }"), "{text}");
}

#[test]
fn the_command_is_quoted_for_a_shell() {
    let typed = BTreeMap::from([
        ("assistant.name".to_owned(), "Ada's; rm -rf /".to_owned()),
        ("assistant.timezone".to_owned(), "UTC".to_owned()),
    ]);
    let command = command(Path::new("/etc/adjutant/config.toml"), &typed, &["assistant.name".to_owned()]);
    let wanted =
        r"sudo adjutant config set --config '/etc/adjutant/config.toml' 'assistant.name=Ada'\''s; rm -rf /'";
    assert_eq!(command, wanted);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever is set in the example, all its other lines stay as they are, and what was set is read again.
    #[test]
    fn every_setting_of_the_example_is_set_and_no_other_line_is_touched(
        wanted in proptest::collection::vec(any::<bool>(), 400),
        text in "[a-zé'\"\\\\#\\[{]{1,9}",
        number in 1..9_999_i64,
    ) {
        let before = draft(EXAMPLE);
        let groups = all(&before);
        let settings: Vec<&Setting> = groups.iter().flat_map(|group| &group.settings).collect();
        prop_assert!(settings.len() > 100);
        let chosen: Vec<&Setting> =
            settings.into_iter().zip(&wanted).filter_map(|(setting, wanted)| wanted.then_some(setting)).collect();
        let typed: BTreeMap<String, String> = chosen
            .iter()
            .map(|setting| {
                let value = match setting.key.kind {
                    KeyKind::Flag => "true".to_owned(),
                    KeyKind::Whole => number.to_string(),
                    KeyKind::Decimal => format!("{number}.5"),
                    KeyKind::Policy => "deny".to_owned(),
                    KeyKind::Secret => "env:KEY".to_owned(),
                    KeyKind::Text => text.clone(),
                    KeyKind::List | KeyKind::People => format!("{text}\nb"),
                };
                (setting.name(), value)
            })
            .collect();
        let mut after = before.clone();
        change(&mut after, &groups, &typed).unwrap();
        for setting in &chosen {
            let is_read = match setting.key.kind {
                KeyKind::Secret => setting.source(&after).as_deref() == Some("env:KEY"),
                _ => setting.value(&after).as_ref() == typed.get(&setting.name()),
            };
            prop_assert!(is_read, "{} in\n{}", setting.name(), after.text());
        }
        let is_set = |line: &str| {
            let name = line.split_once(" = ").map(|(name, _)| name.trim_matches('"'));
            name.is_some_and(|name| chosen.iter().any(|setting| setting.key.name == name))
        };
        let text = after.text();
        let mut lines = text.lines();
        for line in EXAMPLE.lines().filter(|line| line.starts_with('#') || !is_set(line)) {
            prop_assert!(lines.any(|kept| kept == line), "{:?} is gone or moved in\n{}", line, text);
        }
    }
}
