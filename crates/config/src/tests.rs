use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const EXAMPLE: &str = include_str!("../../../config.example.toml");
const HOME: (&str, &str) = ("HOME", "/home/ada");

fn read_with(source: &str, vars: &[(&str, &str)]) -> Result<Config, ConfigError> {
    let env = Env::made_up(vars.iter().copied(), "/nowhere");
    sound(Config::in_dir("/data").parse(source, Path::new("config.toml"), &env))
}

fn read(source: &str) -> Config {
    read_with(source, &[("KEY", "sk-1")]).unwrap()
}

fn faults(source: &str) -> String {
    read_with(source, &[("KEY", "sk-1")]).unwrap_err().to_string()
}

/// The example with its optional keys, which stand behind a `#` without a blank.
fn whole_example() -> String {
    let lines = EXAMPLE.lines().map(|line| match line.strip_prefix('#') {
        Some(key) if !key.starts_with(' ') => key,
        _ => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_example_is_the_defaults() {
    assert_eq!(read(EXAMPLE), Config::in_dir("/data"));
}

#[test]
fn the_example_with_its_optional_keys_is_right() {
    let vars = [
        ("OPENROUTER_API_KEY", "sk-or"),
        ("OPENAI_API_KEY", "sk-oa"),
        ("TELEGRAM_BOT_TOKEN", "1:a"),
        ("SLACK_BOT_TOKEN", "xoxb-1"),
        ("SLACK_APP_TOKEN", "xapp-1"),
        ("MAIL_PASSWORD", "m"),
        ("DAV_PASSWORD", "d"),
        ("OTLP_TEAM", "t"),
        ("GITHUB_TOKEN", "g"),
        ("WIKI_TOKEN", "w"),
        ("GOOGLE_CLIENT_SECRET", "gs"),
        ("MICROSOFT_CLIENT_SECRET", "ms"),
        ("ISSUES_CLIENT_SECRET", "is"),
        ("SEARCH_KEY", "s"),
    ];
    let config = read_with(&whole_example().replace("builtin\"", "openrouter\""), &vars).unwrap();
    assert_eq!(config.assistant.timezone, Tz::Europe__Berlin);
    assert_eq!(config.model.main.fallback[0].name, "gpt-5-mini");
    assert_eq!(config.model.main.first.requests_per_minute, Some(60));
    assert_eq!(config.model.main.fallback[0].requests_per_minute, None);
    assert_eq!(
        config.model.main.first.price,
        Some(Price { input: 3.0, cached_input: Some(0.3), output: 15.0 })
    );
    assert_eq!(config.approval.skills["tasks.delete"], Policy::Ask);
}

#[test]
fn the_examples_of_the_document_are_right() {
    let document = include_str!("../../../docs/configuration.md");
    let blocks = document.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
    let mut checked = 0;
    for block in blocks.filter(|block| block.starts_with('[')) {
        let is_part = block.starts_with("[model.");
        let model = if is_part { "[model]\nprovider = \"ollama\"\nname = \"m\"\n" } else { "" };
        let vars = ["OPENROUTER_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_API_KEY"].map(|name| (name, "sk-1"));
        if let Err(error) = read_with(&format!("{model}{block}"), &vars) {
            panic!("{block}\n{error}");
        }
        checked += 1;
    }
    assert!(checked >= 8, "only {checked} examples were found");
}

#[test]
fn a_channel_has_the_secrets_that_its_platform_wants() {
    let read = |keys: &str| read_with(&format!("[channels.slack]\n{keys}"), &[]).map(|_| ());
    assert_eq!(read("bot_token = \"xoxb-1\"\napp_token = \"xapp-1\""), Ok(()));
    assert_eq!(read("bot_token = \"xoxb-1\"\nsigning_secret = \"s\""), Ok(()));
    assert_eq!(read("bot_token = \"xoxb-1\"\napp_token = \"xapp-1\"\nsigning_secret = \"s\""), Ok(()));
    assert_eq!(
        read("enabled = false\nbot_token = { env = \"NONE\" }\napp_token = { env = \"NONE\" }"),
        Ok(())
    );
    let all = [
        "[channels.slack]",
        "[channels.slack]\ntoken = \"xoxb-1\"\napp_token = \"a\"\nsigning_secret = \"b\"",
        "[channels.telegram]\nbot_token = \"1:a\"",
        "[channels.work]\nbot_token = \"1:a\"",
    ];
    insta::assert_snapshot!(all.map(faults).join("\n---\n"), @r#"
    config.toml:1: channels.slack.bot_token: missing: the bot's token (xoxb-...), such as { env = "SLACK_BOT_TOKEN" }
    config.toml:1: channels.slack.app_token: missing: the app's token (xapp-...) for Socket Mode, such as { env = "SLACK_APP_TOKEN" }; or signing_secret, if Slack posts to our HTTP endpoint
    ---
    config.toml:1: channels.slack.bot_token: missing: the bot's token (xoxb-...), such as { env = "SLACK_BOT_TOKEN" }
    config.toml:2: channels.slack.token: Slack has several tokens; put the bot's token in bot_token
    ---
    config.toml:1: channels.telegram.token: missing: the bot's token, such as { env = "TELEGRAM_BOT_TOKEN" }
    config.toml:2: channels.telegram.bot_token: unknown key; known here: kind, enabled, token, api_url, allow
    ---
    config.toml:1: channels.work.kind: missing: say which platform "work" is, such as kind = "telegram"
    "#);
}

#[test]
fn a_login_has_its_addresses_and_sends_secrets_by_https_alone() {
    let problems = [
        "[oauth.google]\nscopes = [\"drive\"]",
        "[oauth.Google]\nauth_url = \"https://a.org\"\ntoken_url = \"https://a.org\"\nclient_id = \"x\"",
        "[oauth.a]\nauth_url = \"http://a.org\"\ntoken_url = \"https://u:p@a.org\"\nclient_id = \"x\"",
        "[oauth.a]\ndevice_url = \"http://127.0.0.1:9/d\"\ntoken_url = \"https://a.org\"\nclient_id = \"x\"\nredirect = \"https://a.org/\"",
        "[mcp.a]\nurl = \"https://a.org\"\noauth = \"a\"\nheaders = { authorization = \"x\" }",
        "[mcp.a]\ncommand = [\"a\"]\noauth = \"a\"",
    ];
    insta::assert_snapshot!(problems.map(faults).join("\n---\n"), @r#"
    config.toml:1: oauth.google.token_url: missing: the service's address for tokens, such as "https://oauth2.googleapis.com/token"
    config.toml:1: oauth.google.client_id: missing: the id that the service has given your application
    config.toml:1: oauth.google.auth_url: missing: the address where you allow access in a browser, or `device_url`
    ---
    config.toml:3: oauth.Google.token_url: "Google" can't be a login's name; write small letters, digits and '_', at most 40
    ---
    config.toml:2: oauth.a.auth_url: must begin with https://, because secrets are sent there
    config.toml:3: oauth.a.token_url: must not hold a user or password; put them into `client_id` and `client_secret`
    ---
    config.toml:5: oauth.a.redirect: must be an address of this machine with a port, such as "http://localhost:8765/callback"
    ---
    config.toml:3: mcp.a.oauth: it sends the header Authorization; take that out of `headers`
    ---
    config.toml:3: mcp.a.oauth: a program gets no token; only a server at a `url` does
    "#);
}

#[test]
fn an_mcp_server_is_a_program_or_an_address() {
    let all = [
        "[mcp.github]\ncommand = [\"gh\"]\nurl = \"https://x.org\"",
        "[mcp.github]\nallow = [\"*\"]",
        "[mcp.GitHub]\ncommand = [\"gh\"]",
        "[mcp.github]\nurl = \"https://u:p@x.org\"",
        "[mcp.github]\ncommand = [\"./gh\"]\nheaders = { A = \"b\" }\nrisk = { \"*\" = \"none\" }",
        "[mcp.github]\ncommand = [\"gh\"]\nenv = { TOKEN = { env = \"NONE\" } }\ntimeout = \"2h\"",
        "[mcp.github]\ncommand = [\"gh\"]\nrevision = \"2024-11-05\"",
    ];
    insta::assert_snapshot!(all.map(faults).join("\n---\n"), @r#"
    config.toml:2: mcp.github.command: both are set; keep one: a program as command = ["PROGRAM", "WORD"], or url = "https://..."
    ---
    config.toml:1: mcp.github.command: missing: a program as command = ["PROGRAM", "WORD"], or url = "https://..."
    ---
    config.toml:2: mcp.GitHub.command: "GitHub" can't be a server's name; write small letters, digits and '_', a letter first, at most 24
    ---
    config.toml:2: mcp.github.url: must not hold a user or password; put a key into `headers`
    ---
    config.toml:2: mcp.github.command: the program must be a name found in PATH, or an absolute path
    config.toml:3: mcp.github.headers: a program gets no headers; use `env`
    config.toml:4: mcp.github.risk."*": "none" is no risk; write "low", "medium" or "high"
    ---
    config.toml:3: mcp.github.env.TOKEN: the environment variable "NONE" is unset or empty; set it
    config.toml:4: mcp.github.timeout: too long; the longest timeout is "1h"
    ---
    config.toml:3: mcp.github.revision: "2024-11-05" is no revision; write "2025-11-25" or "2026-07-28"
    "#);
}

#[test]
fn scripts_of_instructions_get_secrets_by_their_names() {
    let config = read("[instructions.pdf_forms]\nenv = { PDF_KEY = { env = \"KEY\" } }");
    assert_eq!(config.instructions["pdf_forms"]["PDF_KEY"], Secret::new("sk-1"));
    insta::assert_snapshot!(faults("[instructions.a]\nenv = { K = { env = \"NONE\" } }\nevn = 1"), @r#"
    config.toml:2: instructions.a.env.K: the environment variable "NONE" is unset or empty; set it
    config.toml:3: instructions.a.evn: unknown key; did you mean `env`?
    "#);
}

/// A section names all it knows when it meets a word that is near to none of it.
#[test]
fn every_known_key_is_in_the_example_with_a_line_about_it() {
    let example = whole_example();
    let (table, _) = toml::de::DeTable::parse_recoverable(&example);
    let mut checked = 0;
    for section in [
        "assistant",
        "store",
        "model",
        "model.price",
        "limits",
        "approval",
        "skills",
        "memory",
        "retention",
        "backup",
        "otlp",
        "voice",
        "voice.transcribe",
        "voice.speak",
    ] {
        let message = faults(&format!("[{section}]\nqqqqqqqqqqqq = 1"));
        let listed = message
            .lines()
            .find_map(|line| line.split_once("qqqqqqqqqqqq: unknown key; known here: "))
            .unwrap()
            .1;
        let written =
            section.split('.').fold(table.get_ref(), |table, name| table[name].get_ref().as_table().unwrap());
        let written: BTreeSet<&str> = written.keys().map(|key| &**key.get_ref()).collect();
        assert_eq!(listed.split(", ").collect::<BTreeSet<_>>(), written, "in [{section}]");
        checked += written.len();
    }
    assert!(checked > 30, "only {checked} keys were compared");
    let lines: Vec<&str> = EXAMPLE.lines().collect();
    for pair in lines.windows(2).filter(|pair| pair[1].contains(" = ") && !pair[1].starts_with("# ")) {
        let [above, key] = pair else { unreachable!() };
        assert!(
            above.starts_with("# ") || *key == "#name = \"anthropic/claude-haiku-4.5\"",
            "no line about {key}"
        );
    }
}

#[test]
fn each_key_of_the_example_has_its_kind_and_says_what_it_is_for() {
    let found = |table: &str, name: &str| {
        let key = keys().iter().find(|key| key.table == table && key.name == name);
        key.map(|key| (key.kind, key.example, key.about.as_str()))
    };
    let about = "Tokens per person and day; 0: no limit. Days are in [assistant] timezone. Only an owner can allow more.";
    assert_eq!(found("limits", "day_tokens"), Some((KeyKind::Whole, "0", about)));
    let kinds = [
        found("limits", "turn_cost_usd"),
        found("model", "api_key"),
        found("assistant", "owner"),
        found("approval.skills", "tasks.delete"),
        found("memory", "extract"),
        found("retention", "bodies"),
        found("connect", "people"),
    ];
    let kinds = kinds.map(|key| key.map(|(kind, ..)| kind));
    let wanted = [
        KeyKind::Decimal,
        KeyKind::Secret,
        KeyKind::List,
        KeyKind::Policy,
        KeyKind::Flag,
        KeyKind::Text,
        KeyKind::People,
    ];
    assert_eq!(kinds, wanted.map(Some));
    assert_eq!(found("model", "fallback"), None, "a list of tables is for the file");
    assert_eq!(found("limits", "max_concurrent_agents"), None, "its new name is there");
    assert!(keys().len() > 100);
    let names = |kind| channel_keys(kind).map(|key| key.name).collect::<Vec<_>>();
    assert_eq!(names(Kind::Discord), ["enabled", "token", "api_url", "allow"]);
    assert_eq!(names(Kind::Slack), ["enabled", "api_url", "allow", "bot_token", "app_token"]);
}

#[test]
fn accounts_that_people_connect_are_offered_if_they_are_set_up() {
    use adjutant_types::ProviderKind::{Google, Microsoft, Password};

    assert_eq!(read("").connect, None);
    let offer = |keys: &str| read(&format!("[connect]\n{keys}")).connect.unwrap().offer;
    assert_eq!(offer(""), [Password]);
    assert_eq!(offer("[connect.google]\nclient_id = \"g\""), [Google, Password]);
    assert_eq!(offer("offer = [\"microsoft\"]\n[connect.microsoft]\nclient_id = \"m\""), [Microsoft]);
    let tenant = "[connect.microsoft]\nclient_id = \"m\"\ntenant = \"corp.example\"";
    let microsoft = read(tenant).connect.unwrap().microsoft.unwrap();
    assert_eq!(microsoft.oauth.token_url, "https://login.microsoftonline.com/corp.example/oauth2/v2.0/token");
    insta::assert_snapshot!(faults("[connect]\noffer = [\"google\", \"gogle\"]\npeople = \"all\"\n[connect.microsoft]\ntenant = \"a/b\"\napi_url = \"http://example.org\""), @r#"
    config.toml:2: connect.offer[1]: unknown provider "gogle"; did you mean `google`?
    config.toml:2: connect.offer: google isn't set up; add [connect.google] with its client_id
    config.toml:3: connect.people: must be "owners", "everybody" or a list such as ["console:ada"]
    config.toml:4: connect.microsoft.client_id: missing: the id that Microsoft has given your application
    config.toml:5: connect.microsoft.tenant: "a/b" must be "common", a tenant's id or its domain
    config.toml:6: connect.microsoft.api_url: must begin with https://, because secrets are sent there
    "#);
}

#[test]
fn an_account_of_the_file_is_the_owners_unless_it_says_whose() {
    let calendar = "[calendar]\nurl = \"https://dav.example.org/\"\nuser = \"a\"\npassword = \"p\"\n";
    let of = |keys: &str| read(&format!("{calendar}{keys}")).calendar.unwrap();
    assert_eq!((of("").people, of("").label.as_str()), (People::Owners, "shared"));
    assert_eq!(of("people = \"everybody\"\nlabel = \"office\"").people, People::Everybody);
    assert_eq!(of("people = [\"console:ada\"]").people, People::Listed(vec!["console:ada".into()]));
    insta::assert_snapshot!(faults(&format!("{calendar}people = [\"ada\"]")), @r#"config.toml:5: calendar.people: "ada" must be CHANNEL:USER-ID, such as "telegram:123456789""#);
}

#[test]
fn logins_are_sealed_with_one_key() {
    let key = |written: &str| read(&format!("[secrets]\nkey = {written}")).secrets;
    assert_eq!(read("").secrets, SecretsConfig::File("/data/secrets.key".into()));
    assert_eq!(key("{ file = \"/keys/a\" }"), SecretsConfig::File("/keys/a".into()));
    assert_eq!(key("{ passphrase = { env = \"KEY\" } }"), SecretsConfig::Passphrase(Secret::new("sk-1")));
    insta::assert_snapshot!(faults("[secrets]\nkey = { file = \"a\", passphrase = \"b\" }"), @"config.toml:2: secrets.key.passphrase: must be the only one of file, credential and passphrase");
}

#[test]
fn watches_are_read_and_their_faults_have_their_lines() {
    use adjutant_types::{Bounds, WatchAction, WatchTrigger};

    let first = "[[watches]]\nname = \"a\"\nperson = \"console:ada\"\non = \"mail\"\n";
    let all = read(first).watches;
    assert_eq!((all[0].action, all[0].bounds.every_s), (WatchAction::Tell, Bounds::MIN_EVERY_S_OF_ALL));
    let some = format!(
        "{first}from = [\"@acme.test\"]\ndo = \"run\"\nworkflow = \"briefing\"\nquiet = \"22:00-07:00\""
    );
    let all = read(&some).watches;
    assert_eq!((all[0].words.as_str(), all[0].trigger), ("/run briefing", WatchTrigger::Mail));
    assert_eq!((all[0].bounds.every_s, all[0].bounds.quiet.as_deref()), (60, Some("22:00-07:00")));
    let until = |day: &str| format!("{first}until = \"{day}\"\n[assistant]\ntimezone = \"Europe/Berlin\"");
    // 2026-11-27T23:00Z: with the day, where the assistant lives.
    assert_eq!(read(&until("2026-11-27")).watches[0].bounds.until, Some(1_795_820_400_000));
    insta::assert_snapshot!(faults(&until("soon")), @"config.toml:5: watches[0].until: “soon” isn't a date or time; write 2026-11-27, 2026-11-27T17:00 or 2026-11-27T17:00:00+01:00");
    insta::assert_snapshot!(faults("[[watches]]\nname = \"a\"\non = \"webhook\"\ndo = \"ask\"\nquiet = \"at night\"\nfro = 1"), @r#"
    config.toml:1: watches[0].person: missing: whom it tells, such as "telegram:123"
    config.toml:1: watches[0].words: missing: what to do
    config.toml:3: watches[0].on: unknown "webhook"; known here: mail, event_begins, event_changes, task_due, file
    config.toml:5: watches[0].quiet: must be two times, such as "22:00-07:00"
    config.toml:6: watches[0].fro: unknown key; did you mean `from`?
    "#);
    insta::assert_snapshot!(faults(&format!("{first}{first}")), @"config.toml:1: watches: two have the same name");
    let files = first.replace("mail", "file");
    insta::assert_snapshot!(faults(&files), @"config.toml:1: watches[0].folder: missing: one of [watching] folders");
    let all = read(&format!("[watching]\nfolders = [\"/srv/scans\"]\n{files}folder = \"/srv/scans\""));
    assert_eq!(all.watches[0].folder.as_ref(), all.watched_folders.first());
    assert_eq!(all.watched_folders, ["/srv/scans"]);
}

#[test]
fn only_a_file_is_copied() {
    let backup = read("[backup]\nkeep = 3\npath = \"copies\"").backup.unwrap();
    assert_eq!((backup.every, backup.keep), (Duration::from_hours(24), 3));
    assert_eq!(backup.path, Path::new("copies"));
    assert_eq!(read("[backup]").backup.unwrap().path, Path::new("/data/backups"));
    assert_eq!(read("").backup, None);
    insta::assert_snapshot!(faults("[store]\nurl = \"postgres://db/adjutant\"\n[backup]\nevery = \"12h\"\nkeep = 0"), @"
    config.toml:4: backup.every: `serve` backs up SQLite stores only; remove [backup], and run `adjutant db backup` (it calls pg_dump) from a timer
    config.toml:5: backup.keep: must be at least 1
    ");
}

#[test]
fn nothing_is_for_ever() {
    let retention = |text: &str| read(&format!("[retention]\nbodies = \"{text}\"")).retention.bodies;
    assert_eq!(retention("0s"), None);
    assert_eq!(retention("0d"), None);
    assert_eq!(retention("30d"), Some(Duration::from_hours(30 * 24)));
    assert_eq!(read("").retention.traces, Some(Duration::from_hours(90 * 24)));
    insta::assert_snapshot!(faults("[retention]\nbodies = \"0\"\ntraces = \"-1d\"\nmemories = 0"), @r#"
    config.toml:2: retention.bodies: "0" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
    config.toml:3: retention.traces: "-1d" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
    config.toml:4: retention.memories: must be a duration in quotes, such as "30s", not a whole number
    "#);
}

const BROKEN: &str = r#"
asistant = { name = "Ada" }
channels = 3
[assistant]
name = ""
timezone = "Europe/Belin"
owner = ["console:ada", "ada", 7]
[store]
url = "mysql://ada:hunter2@localhost/db"
[model]
provider = "opnai"
nmae = "gpt-5"
api_key = { env = "NO_SUCH_KEY" }
base_url = "https://ada:hunter2@example.org/"
timeout = 60
fallback = [{ provider = "openai", api_key = { enw = "KEY" } }, { provider = "anthropic", name = "claude" }]
price = { input = -3, ouput = 15 }
[model.agent]
provider = "ollama"
[limits]
agents_per_turn = -1
skill_calls_per_turn = "30"
skill_calls_per_agent = 5.5
parallel_agents = 0
conversation_calls = 99999999999
turn_tokens = 99999999999999999999999
turn_cost_usd = nan
skill_timeout = "30"
agent_timeout = "0s"
turn_timeout = "1 fortnight"
[approval]
low = "aks"
high = true
skills = { "email.send" = "never", "tasks.\u001bdelete" = 3 }
[skills]
paths = "skills"
"#;

#[test]
fn a_really_broken_file_has_every_fault_named() {
    insta::assert_snapshot!(faults(BROKEN), @r#"
    config.toml:2: asistant: unknown key; did you mean `assistant`?
    config.toml:3: channels: must be a table of keys, not a whole number
    config.toml:5: assistant.name: must not be empty; leave the key out to have its default
    config.toml:6: assistant.timezone: unknown time zone "Europe/Belin"; did you mean `Europe/Berlin`?
    config.toml:7: assistant.owner[1]: "ada" must be CHANNEL:USER-ID, such as "telegram:123456789"
    config.toml:7: assistant.owner[2]: must be a text in quotes, not a whole number
    config.toml:9: store.url: must begin with sqlite: or postgres://, such as "sqlite:///var/lib/adjutant/adjutant.db" or "postgres://USER@HOST/DB"
    config.toml:11: model.provider: unknown provider "opnai"; did you mean `openai`?
    config.toml:12: model.nmae: unknown key; did you mean `name`?
    config.toml:13: model.api_key: the environment variable "NO_SUCH_KEY" is unset or empty; set it
    config.toml:14: model.base_url: must not hold a user or password; put the key in `api_key`
    config.toml:15: model.timeout: must be a duration in quotes, such as "30s", not a whole number
    config.toml:16: model.fallback[0].api_key: unknown key `enw`; did you mean `env`?
    config.toml:16: model.fallback[0].name: missing: which model of openai to use
    config.toml:16: model.fallback[1].api_key: missing: anthropic needs a key; write api_key = { env = "ANTHROPIC_API_KEY" } and set that variable
    config.toml:17: model.price.input: must not be negative, as -3 is
    config.toml:17: model.price.output: missing: US dollars per million tokens
    config.toml:17: model.price.ouput: unknown key; did you mean `output`?
    config.toml:18: model.agent.name: missing: which model of ollama to use
    config.toml:21: limits.agents_per_turn: must not be negative, as -1 is
    config.toml:22: limits.skill_calls_per_turn: must be a whole number, not a text
    config.toml:23: limits.skill_calls_per_agent: must be a whole number, not a decimal number
    config.toml:24: limits.parallel_agents: must be at least 1
    config.toml:25: limits.conversation_calls: must be at most 4294967295
    config.toml:26: limits.turn_tokens: must be at most 9223372036854775807
    config.toml:27: limits.turn_cost_usd: must be a number of ordinary size
    config.toml:28: limits.skill_timeout: "30" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
    config.toml:29: limits.agent_timeout: must be longer than 0
    config.toml:30: limits.turn_timeout: "1 fortnight" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
    config.toml:32: approval.low: unknown word "aks"; did you mean `ask`?
    config.toml:33: approval.high: must be "auto", "ask" or "deny", not true or false
    config.toml:34: approval.skills."email.send": unknown word "never"; known here: auto, ask, deny
    config.toml:34: approval.skills."tasks.\u{1b}delete": must be "auto", "ask" or "deny", not a whole number
    config.toml:36: skills.paths: must be a list in [brackets], not a text
    "#);
}

#[test]
fn what_is_no_toml_is_named_with_the_other_faults() {
    insta::assert_snapshot!(faults("[limits]\nagents_per_turn = 3 4\n[model]\nname = openai\nprovider = \"openai\"\napi_key = \"hunter2\n[approval]\nlow = \"aut\"\nlow = \"auto\"\n"), @r#"
    config.toml:2: not TOML: string values must be quoted, expected literal string
    config.toml:4: not TOML: string values must be quoted, expected literal string
    config.toml:6: not TOML: invalid basic string, expected `"`
    config.toml:8: approval.low: unknown word "aut"; did you mean `auto`?
    config.toml:9: not TOML: duplicate key
    "#);
}

#[test]
fn a_file_of_another_kind_is_named_and_a_broken_header_once() {
    let yaml = faults("model:\n  provider: openai\n");
    assert!(
        yaml.contains("config.toml:1: not TOML: this looks like YAML or JSON; write key = value"),
        "{yaml}"
    );
    let broken = faults("[model\nprovider = \"openai\"\nname = \"gpt-5\"\n");
    assert!(broken.starts_with("config.toml:1: not TOML: ") && !broken.contains("unknown key"), "{broken}");
    insta::assert_snapshot!(faults("[log]\nfilter = \"loud\"\n"), @r#"config.toml:2: log.filter: there is no level "loud"; write a level such as "info", or "warn,adjutant=debug""#);
}

#[test]
fn what_a_broken_line_may_have_said_is_not_missed() {
    insta::assert_snapshot!(faults("[model]\nprovider \"openai\"\nname = \"gpt-5\"\nprice = {}\n"), @"config.toml:2: not TOML: key with no value, expected `=`");
}

#[test]
fn a_model_says_what_it_lacks() {
    insta::assert_snapshot!(faults("[model]\nprovider = \"openrouter\""), @r#"
    config.toml:1: model.name: missing: which model of openrouter to use
    config.toml:1: model.api_key: missing: openrouter needs a key; write api_key = { env = "OPENROUTER_API_KEY" } and set that variable
    "#);
    insta::assert_snapshot!(faults("[model]\nname = \"gpt-5\"\napi_key = \"x\""), @r#"
    config.toml:2: model.name: basic mode doesn't use it; set `provider`, such as provider = "openai"
    config.toml:3: model.api_key: basic mode doesn't use it; set `provider`, such as provider = "openai"
    "#);
    insta::assert_snapshot!(faults("[model]\nprovider = \"ollama\"\nname = \"m\"\nrequests_per_minute = 0"), @"config.toml:4: model.requests_per_minute: must be at least 1");
    insta::assert_snapshot!(faults("model = { provider = \"grmpf\" }"), @r#"config.toml:1: model.provider: unknown provider "grmpf"; known are builtin, openai, anthropic, gemini, openrouter, ollama and more; for another server with OpenAI's protocol, set provider = "openai" and base_url"#);
    insta::assert_snapshot!(faults("[model]\nprovider = \"openai\"\nname = \"gpt-5\"\nbase_url = \"http://192.0.2.7/v1/\""), @r#"config.toml:1: model.api_key: missing: openai needs a key; write api_key = { env = "OPENAI_API_KEY" } and set that variable"#);
    insta::assert_snapshot!(faults("[model]\nprovider = \"openai\"\nname = \"m\"\nbase_url = \"localhost:80\""), @r#"config.toml:4: model.base_url: must be an address such as "http://127.0.0.1:9000/v1/""#);
}

#[test]
fn models_on_this_machine_need_no_key() {
    for model in [
        "provider = \"ollama\"",
        "provider = \"openai\"\nbase_url = \"http://127.0.0.1:9000/v1/\"",
        "provider = \"openai\"\nbase_url = \"http://[::1]:9000/v1/\"",
        "provider = \"openai\"\nbase_url = \"http://localhost/v1/\"",
    ] {
        let config = read(&format!("[model]\nname = \"llama\"\n{model}"));
        assert_eq!(config.model.main.first.name, "llama");
        assert_eq!(config.model.main.first.api_key, None);
    }
}

#[test]
fn sub_agents_start_from_the_model_unless_it_is_another_provider() {
    let model = "[model]\nprovider = \"OpenAI\"\nname = \"big\"\napi_key = { env = \"KEY\" }\ntimeout = \"5s\"\nprice = { input = 3, output = 4 }\n";
    assert_eq!(read(model).model.agent, None);
    assert_eq!(read(model).model.main.first.provider, "openai");

    let agent = read(&format!("{model}[model.agent]\nname = \"small\"")).model.agent.unwrap().first;
    assert_eq!((agent.provider.as_str(), agent.name.as_str()), ("openai", "small"));
    assert_eq!(agent.api_key, Some(Secret::new("sk-1")));
    assert_eq!(agent.timeout, Duration::from_secs(5));
    assert_eq!(agent.price, None, "the price is the other model's");

    let agent =
        read(&format!("{model}[model.agent]\nprovider = \"ollama\"\nname = \"small\"")).model.agent.unwrap();
    assert_eq!(agent.first.api_key, None, "the key went to another provider");
    let elsewhere = format!("{model}[model.agent]\nname = \"m\"\nbase_url = \"http://192.0.2.7/\"");
    insta::assert_snapshot!(faults(&elsewhere), @r#"config.toml:7: model.agent.api_key: missing: openai needs a key; write api_key = { env = "OPENAI_API_KEY" } and set that variable"#);
}

#[test]
fn secrets_come_from_where_they_lie_and_are_never_shown() {
    let home = TempDir::new().unwrap();
    fs::write(home.path().join("key"), "sk-2\r\n").unwrap();
    let creds = home.path().to_str().unwrap();
    let key = |written: &str| {
        let path = home.path().join("config.toml");
        fs::write(&path, format!("[model]\nprovider = \"openai\"\nname = \"m\"\napi_key = {written}"))
            .unwrap();
        let env = Env::made_up([HOME, ("CREDENTIALS_DIRECTORY", creds), ("KEY", "sk-1")], home.path());
        Config::load(None, &env).map(|config| {
            let shown = format!("{config:?} {}", config.model.main.first.api_key.as_ref().unwrap());
            assert!(!shown.contains("sk-"), "{shown}");
            config.model.main.first.api_key.unwrap().expose().to_owned()
        })
    };
    assert_eq!(key("\"sk-0\"").unwrap(), "sk-0");
    assert_eq!(key("{ env = \"KEY\" }").unwrap(), "sk-1");
    assert_eq!(key("{ file = \"key\" }").unwrap(), "sk-2");
    assert_eq!(key("{ credential = \"key\" }").unwrap(), "sk-2");
    for wrong in [
        "\"\"",
        "\"sk-\\n0\"",
        "7",
        "{}",
        "{ env = \"KEY\", file = \"key\" }",
        "{ env = 3 }",
        "{ file = \"none\" }",
        "{ credential = \"../key\" }",
        "{ credential = \"none\" }",
    ] {
        let error = key(wrong).unwrap_err();
        assert_eq!(error.problems.len(), 1, "{wrong}: {error}");
        assert_eq!(
            (error.problems[0].position.line, error.problems[0].key.as_deref()),
            (4, Some("model.api_key")),
            "{error}"
        );
        assert!(!error.to_string().contains("sk-"), "{error}");
    }
    // A folder that systemd loads as a whole: its name comes first.
    fs::write(home.path().join("adjutant_key"), "sk-3").unwrap();
    assert_eq!(key("{ credential = \"key\" }").unwrap(), "sk-3");
    insta::assert_snapshot!(faults("[model]\nprovider = \"openai\"\nname = \"m\"\napi_key = { credential = \"key\" }"), @r#"config.toml:4: model.api_key: there is no credential "key", because $CREDENTIALS_DIRECTORY isn't set; systemd sets it for units with LoadCredential="#);
}

#[test]
fn a_command_beside_the_service_finds_its_credentials() {
    let home = TempDir::new().unwrap();
    let text = "[model]\nprovider = \"openai\"\nname = \"m\"\napi_key = { credential = \"key\" }";
    fs::write(home.path().join("config.toml"), text).unwrap();
    let env = Env::made_up([("HOME", home.path().to_str().unwrap())], home.path());
    let key = || {
        Config::load(None, &env).map(|config| config.model.main.first.api_key.unwrap().expose().to_owned())
    };
    for (folder, secret) in [("etc/credentials", "sk-machine"), (".config/adjutant/credentials", "sk-own")] {
        let folder = home.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("key"), format!("{secret}\n")).unwrap();
        assert_eq!(key().unwrap(), secret);
    }
    fs::remove_file(home.path().join(".config/adjutant/credentials/key")).unwrap();
    assert_eq!(key().unwrap(), "sk-machine");
    fs::remove_file(home.path().join("etc/credentials/key")).unwrap();
    assert!(key().unwrap_err().to_string().contains("etc/credentials/key\" can't be read"), "no such file");
}

#[test]
fn the_first_file_of_the_usual_places_is_read() {
    let home = TempDir::new().unwrap();
    let folder = home.path().to_str().unwrap().to_owned();
    let (own, named, given) =
        (format!("{folder}/own"), format!("{folder}/named.toml"), home.path().join("given.toml"));
    let vars = [("HOME", folder.as_str()), ("XDG_CONFIG_HOME", &own), ("ADJUTANT_CONFIG", &named)];
    let env = Env::made_up(vars, home.path());
    let found = || Config::load(None, &env).unwrap().path;
    let write = |path: &str| {
        let path = home.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "[assistant]\n").unwrap();
        Some(path)
    };
    assert_eq!(found(), None);
    for name in ["etc/config.toml", "own/adjutant/config.toml", "config.toml", "named.toml"] {
        let path = write(name);
        assert_eq!(found(), path);
    }
    write("given.toml");
    assert_eq!(Config::load(Some(&given), &env).unwrap().path, Some(given));
}

#[test]
fn a_file_is_written_where_it_will_be_found() {
    let home = TempDir::new().unwrap();
    let folder = home.path().to_str().unwrap().to_owned();
    let vars = [("HOME", folder.as_str())];
    let env = Env::made_up(vars, home.path());
    let paths = |env: &Env| [true, false].map(|is_root| default_path(env, is_root));
    let (etc, own) = (home.path().join("etc/config.toml"), home.path().join(".config/adjutant/config.toml"));
    assert_eq!(paths(&env), [Some(etc.clone()), Some(own.clone())]);
    assert_eq!(paths(&Env::made_up([], home.path())), [Some(etc), None]);
    for path in [own, home.path().join("config.toml")] {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "[assistant]\n").unwrap();
        assert_eq!(paths(&env), [Some(path.clone()), Some(path)], "it would hide another");
    }
    fs::write(home.path().join("config.toml"), "[tool]\n").unwrap();
    assert_eq!(
        paths(&env)[1],
        Some(home.path().join(".config/adjutant/config.toml")),
        "it's another program's"
    );
    fs::write(home.path().join("config.toml"), "[model\nprovider = \"ollama\"\n").unwrap();
    assert_eq!(paths(&env)[1], Some(home.path().join("config.toml")), "ours, with an error to tell");
    let named = Env::made_up([vars[0], ("ADJUTANT_CONFIG", "/named.toml")], home.path());
    assert_eq!(paths(&named), [Some("/named.toml".into()), Some("/named.toml".into())]);
}

#[test]
fn a_rule_for_an_unknown_skill_is_named() {
    let home = TempDir::new().unwrap();
    let path = home.path().join("config.toml");
    fs::write(
        &path,
        "# tasks.delet\n[approval.skills]\n\"tasks.add\" = \"ask\"\n\"tasks.delet\" = \"ask\"\nx = \"ask\"",
    )
    .unwrap();
    let config = Config::load(Some(&path), &Env::made_up([HOME], home.path())).unwrap();
    assert_eq!(config.check_skills(&["tasks.add", "tasks.delet", "x"]), Ok(()));
    let message = config.check_skills(&["tasks.add", "tasks.delete"]).unwrap_err().to_string();
    insta::assert_snapshot!(message.replace(home.path().to_str().unwrap(), "HOME"), @r#"
    HOME/config.toml:4: approval.skills."tasks.delet": unknown skill; did you mean `tasks.delete`?
    HOME/config.toml:5: approval.skills."x": unknown skill; `adjutant skills list` shows all
    "#);
}

#[test]
fn data_and_skills_lie_where_the_surroundings_say() {
    let data = |vars: &[(&str, &str)]| {
        let config = Config::load(None, &Env::made_up(vars.iter().copied(), "/nowhere")).unwrap();
        (config.data_dir.display().to_string(), config.store.shown())
    };
    let expected = |dir: &str| (dir.to_owned(), format!("sqlite://{dir}/adjutant.db"));
    assert_eq!(data(&[HOME]), expected("/home/ada/.local/share/adjutant"));
    assert_eq!(data(&[HOME, ("XDG_DATA_HOME", "/xdg")]), expected("/xdg/adjutant"));
    assert_eq!(data(&[HOME, ("XDG_DATA_HOME", "relative")]), expected("/home/ada/.local/share/adjutant"));
    assert_eq!(data(&[("ADJUTANT_DATA_DIR", "/data")]), expected("/data"));

    let env = Env::made_up([], "/nowhere");
    let (config, _) = Config::in_dir("/d").parse(
        "[skills]\npaths = [\"skills\", \"/abs\"]",
        Path::new("/etc/a/config.toml"),
        &env,
    );
    assert_eq!(config.skills, [PathBuf::from("/etc/a/skills"), PathBuf::from("/abs")]);
}

#[test]
fn commands_beside_the_machines_service_use_its_data() {
    let folder = TempDir::new().unwrap();
    let env = |vars| Env::made_up(vars, folder.path());
    let data = |path: &str, env: Env| Config::of_text("", &folder.path().join(path), &env).unwrap().data_dir;
    let own = PathBuf::from("/home/ada/.local/share/adjutant");
    assert_eq!(data("etc/config.toml", env(vec![HOME])), own, "there is no service");
    std::fs::create_dir(folder.path().join("state")).unwrap();
    assert_eq!(data("etc/config.toml", env(vec![HOME])), folder.path().join("state"));
    assert_eq!(data("config.toml", env(vec![HOME])), own);
    assert_eq!(
        data("etc/config.toml", env(vec![HOME, ("ADJUTANT_DATA_DIR", "/data")])),
        PathBuf::from("/data")
    );
}

#[test]
fn the_zone_is_the_machines_unless_something_says_otherwise() {
    let zone = |vars: &[(&str, &str)], machine: Option<&str>| {
        let mut env = Env::made_up([HOME].into_iter().chain(vars.iter().copied()), "/nowhere");
        env.zone = machine.map(str::to_owned);
        Config::load(None, &env).unwrap().assistant.timezone
    };
    assert_eq!(zone(&[], None), Tz::UTC);
    assert_eq!(zone(&[], Some("Local/Odd")), Tz::UTC);
    assert_eq!(zone(&[], Some("Asia/Tokyo")), Tz::Asia__Tokyo);
    assert_eq!(zone(&[("TZ", ":Europe/Paris")], Some("Asia/Tokyo")), Tz::Europe__Paris);
}

#[test]
fn a_collector_of_traces_has_an_address_and_headers() {
    assert_eq!(read("").otlp, None);
    let otlp = read("[otlp]\nendpoint = \"http://127.0.0.1:4318\"").otlp.unwrap();
    assert_eq!((otlp.endpoint.as_str(), otlp.headers.len()), ("http://127.0.0.1:4318", 0));
    let otlp =
        read("[otlp]\nendpoint = \"https://t.example.org/otlp/\"\nheaders = { X-Team = { env = \"KEY\" } }");
    let otlp = otlp.otlp.unwrap();
    assert_eq!(otlp.headers["X-Team"], Secret::new("sk-1"));
    assert!(!format!("{otlp:?}").contains("sk-1"));
    let all = [
        "[otlp]",
        "[otlp]\nendpoint = \"localhost:4318\"\nheader = {}",
        "[otlp]\nendpoint = \"http://ada:hunter2@t.example.org\"",
        "[otlp]\nendpoint = \"http://t.example.org/?key=hunter2\"",
        "[otlp]\nendpoint = \"http://t.example.org/v1/traces\"\nheaders = { x = \"hunter2\\n\", y = \"\" }",
        "[otlp]\nendpoint = \"http://t.example.org\"\nheaders = { \"x y\" = \"hunter2\", Content-Type = \"hunter2\" }",
    ];
    insta::assert_snapshot!(all.map(faults).join("\n---\n"), @r#"
    config.toml:1: otlp.endpoint: missing: the collector's address, such as "http://127.0.0.1:4318"
    ---
    config.toml:2: otlp.endpoint: must be an address such as "http://127.0.0.1:4318"
    config.toml:3: otlp.header: unknown key; did you mean `headers`?
    ---
    config.toml:2: otlp.endpoint: must not hold a user or password; put credentials in `headers`
    ---
    config.toml:2: otlp.endpoint: must be a base address without ? or #; put a key in `headers`
    ---
    config.toml:2: otlp.endpoint: must be the base address; remove /v1/traces, which is appended
    config.toml:3: otlp.headers.x: it contains a line break or another control character; remove it
    config.toml:3: otlp.headers.y: it is empty
    ---
    config.toml:3: otlp.headers: the protocol sets "Content-Type"; remove it
    config.toml:3: otlp.headers: "x y" is not a valid header name
    "#);
}

#[test]
fn a_file_that_cant_be_read_is_named() {
    let home = TempDir::new().unwrap();
    let env = Env::made_up([HOME], home.path());
    let error = |path: &Path| {
        let message = Config::load(Some(path), &env).unwrap_err().to_string();
        message.replace(home.path().to_str().unwrap(), "HOME")
    };
    fs::write(home.path().join("latin1.toml"), b"# a\n# caf\xe9\n").unwrap();
    insta::assert_snapshot!(error(&home.path().join("none.toml")), @"HOME/none.toml: can't be read: No such file or directory (os error 2)");
    insta::assert_snapshot!(error(home.path()), @"HOME: can't be read: Is a directory (os error 21)");
    insta::assert_snapshot!(error(&home.path().join("latin1.toml")), @"HOME/latin1.toml:2: not UTF-8; save the file as UTF-8");
    insta::assert_snapshot!(Config::load(None, &Env::made_up([], home.path())).unwrap_err(), @"$HOME isn't set, so there is no folder for data; set $ADJUTANT_DATA_DIR");
}

#[test]
fn the_orchestrators_own_limits_can_be_said_in_the_words_of_a_role() {
    let config = read(
        "[limits]\nturn_timeout = \"10m\"\n[roles]\npaths = [\"a\"]\n[roles.main]\nmax_model_calls = 3\n\
         max_skill_calls = 12\nmax_duration = \"4m\"\n",
    );
    let limits = &config.limits;
    assert_eq!((limits.orchestrator_calls_per_turn, limits.skill_calls_per_turn), (3, 12));
    assert_eq!((limits.turn_timeout, config.roles.len()), (Duration::from_mins(4), 1));
    assert!(faults("[roles.main]\nmax_calls = 3\n").contains("max_calls"));
}

#[test]
fn skills_are_taken_from_roles_by_name() {
    let config = read("[roles.deny]\nresearcher = [\"web.*\"]\n");
    assert_eq!(config.role_denials["researcher"], ["web.*"]);
    insta::assert_snapshot!(faults("[roles]\ndeny = { a = \"web.*\", b = [1] }\n"), @r#"
    config.toml:2: roles.deny.a: must be a list in [brackets], not a text
    config.toml:2: roles.deny.b: must be a text in quotes, not a whole number
    "#);
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused_with_a_line_of_it(source in "(\\[(model|limits|approval|x)\\]\n|[a-z_]{1,8} = [0-9\"{}\\[\\]a-z,. ]{0,9}\n|\\PC{0,12}\n){0,12}") {
        if let Err(error) = read_with(&source, &[]) {
            prop_assert!(!error.problems.is_empty());
            for problem in error.problems {
                prop_assert!(problem.position.line <= 1 + source.matches('\n').count(), "{}", problem);
            }
        }
    }
}
