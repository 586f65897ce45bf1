//! `init`: what it asks at a terminal and what it writes, with fakes of the services it tests.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET};
use adjutant_fakes::dav_server::{self, Kind};
use adjutant_fakes::discord::{self, FakeDiscord};
use adjutant_fakes::mail_server;
use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::slack::{self, FakeSlack};
use adjutant_fakes::telegram::FakeTelegram;

use crate::process::Home;
use crate::terminal::{CTRL_C, Terminal};

const WRONG: &str = "1111111111:AAWrongWrongWrongWrongWrongWrongWro";

fn read(home: &Home) -> String {
    fs::read_to_string(home.path().join("config.toml")).unwrap()
}

fn mode(home: &Home) -> u32 {
    fs::metadata(home.path().join("config.toml")).unwrap().permissions().mode() & 0o777
}

/// The files of a home, except data.
fn files(home: &Home) -> Vec<String> {
    let names = fs::read_dir(home.path()).unwrap().map(|entry| entry.unwrap().file_name());
    names.map(|name| name.into_string().unwrap()).filter(|name| !name.starts_with(".local")).collect()
}

#[track_caller]
fn assert_checked(home: &Home) {
    let ended = home.run(&["config", "check"]);
    assert_eq!(ended.status, Some(0), "{ended:?}\n{}", read(home));
}

#[test]
fn with_defaults_nothing_is_asked_and_it_works() {
    let home = Home::new();
    let ended = home.run(&["init", "--defaults", "--config", "config.toml"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    insta::assert_snapshot!(ended.stdout, @r"

Written: config.toml

Still missing, until you run `adjutant init` again:
  a chat platform: Telegram, Discord or Slack; until then, it talks only in a terminal
  a language model; until then, it understands only simple sentences (basic mode)

Next step:
  adjutant chat                    starts a chat in this terminal
  adjutant doctor                  checks everything
");
    insta::assert_snapshot!(read(&home), @r#"
# Written by `adjutant init`. If you run it again, it keeps your changes.
# `adjutant config check` lists every problem in this file.

[assistant]
timezone = "UTC"

[model]
provider = "builtin"
"#);
    assert_eq!(mode(&home), 0o600);
    assert_eq!(files(&home), ["config.toml"], "it leaves nothing else behind");
    assert_checked(&home);
    let ended = home.run(&["chat", "--once", "add a task to buy milk"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
}

#[test]
fn defaults_keep_existing_answers() {
    let text = "# mine\n[model] # the small one\nprovider = \"ollama\"\nname = 'llama3.1'\n\n[limits]\nturn_tokens = 7 # few\n\
                [assistant]\ntimezone = \"Asia/Tokyo\"\nowner = [\"console:ada\"]\n";
    let home = Home::with_config(text);
    assert_eq!(home.run(&["init", "--defaults"]).status, Some(0));
    assert_eq!(read(&home), text);
    assert_checked(&home);
}

#[test]
fn a_link_is_followed_and_a_group_keeps_its_right_to_read() {
    let home = Home::new();
    for (before, after) in [(0o644, 0o600), (0o660, 0o640), (0o600, 0o600)] {
        home.write("etc/adjutant.toml", "");
        fs::set_permissions(home.path().join("etc/adjutant.toml"), PermissionsExt::from_mode(before))
            .unwrap();
        let link = home.path().join("config.toml");
        let _ = fs::remove_file(&link);
        std::os::unix::fs::symlink("etc/adjutant.toml", &link).unwrap();
        assert_eq!(home.run(&["init", "--timezone", "Asia/Tokyo"]).status, Some(0));
        assert!(link.is_symlink() && read(&home).contains("Asia/Tokyo"));
        assert_eq!(mode(&home), after, "{before:o}");
    }
}

#[test]
fn without_a_terminal_the_options_are_named() {
    let home = Home::new();
    let ended = home.run(&["init"]);
    assert_eq!(ended.status, Some(2), "{ended:?}");
    insta::assert_snapshot!(ended.stderr, @"adjutant: init needs an interactive terminal; use --defaults, or answer with --channel, --model, --timezone and --owner (see `adjutant init --help`)");
    assert_eq!(files(&home), [""; 0]);
}

#[test]
fn options_answer_for_a_script_and_a_failed_test_writes_nothing() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::start(|_| Reply::text("ready"));
    let home = Home::new();
    home.write("token", &format!("{WRONG}\n"));
    let (api, base) = (telegram.api_url(), model.base_url());
    let options = [
        "init",
        "--config",
        "new/config.toml",
        "--channel",
        "telegram",
        "--api-url",
        &api,
        "--token-file",
        "token",
        "--model",
        "openai/fake",
        "--base-url",
        &base,
        "--owner",
        "telegram:1000",
        "--timezone",
        "Europe/Berlin",
    ];
    let ended = home.run(&options);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("✗ Telegram rejects the token"), "{ended:?}");
    assert_eq!(ended.stderr, "adjutant: nothing was written; use --unchecked to write it without tests\n");
    assert!(!home.path().join("new").exists());

    home.write("token", &format!("{}\n", telegram.token()));
    let ended = home.run(&options);
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.contains("✓ logged in as @Adjutant_Bot"), "{ended:?}");
    assert!(ended.stdout.contains("✓ openai fake answered"), "{ended:?}");
    assert!(ended.stdout.contains("adjutant doctor --config "), "{ended:?}");
    let text = fs::read_to_string(home.path().join("new/config.toml")).unwrap();
    let text =
        text.replace(&home.path().display().to_string(), "~").replace(&api, "API").replace(&base, "BASE");
    insta::assert_snapshot!(text, @r#"
# Written by `adjutant init`. If you run it again, it keeps your changes.
# `adjutant config check` lists every problem in this file.

[assistant]
timezone = "Europe/Berlin"
owner = ["telegram:1000"]

[channels.telegram]
token = { file = "~/token" }
api_url = "API"

[model]
provider = "openai"
name = "fake"
base_url = "BASE"
"#);
    assert_eq!(home.run(&["config", "check", "--config", "new/config.toml"]).status, Some(0));
}

#[test]
fn bad_options_are_reported() {
    let home = Home::new();
    let run = |options: &[&str]| {
        let ended = home.run(&[&["init", "--config", "config.toml"], options].concat());
        assert_eq!(files(&home), [""; 0], "{options:?}");
        format!("{:?} {}", ended.status, ended.stderr.lines().last().unwrap())
    };
    let answers = [
        run(&["--channel", "slack", "--token-env", "SLACK_BOT_TOKEN"]),
        run(&["--channel", "telegram", "--token-env", "NO_SUCH_TOKEN"]),
        run(&["--timezone", "Europe/Berlim"]),
        run(&["--model", "openai/gpt-5-mini"]),
        run(&["--model", "opnai/gpt-5-mini"]),
        run(&["--owner", "ada"]),
        run(&["--channel", "telegram"]),
    ];
    insta::assert_snapshot!(answers.join("\n"), @r#"
Some(2) adjutant: slack has several tokens; write --token-env KEY=SLACK_BOT_TOKEN, where KEY is one of bot_token, app_token
Some(78) config.toml:8: channels.telegram.token: the environment variable "NO_SUCH_TOKEN" is unset or empty; set it
Some(2) adjutant: --timezone: unknown time zone "Europe/Berlim"; did you mean `Europe/Berlin`?
Some(78) config.toml:7: model.api_key: missing: openai needs a key; write api_key = { env = "OPENAI_API_KEY" } and set that variable
Some(78) config.toml:8: model.provider: unknown provider "opnai"; did you mean `openai`?
Some(2) adjutant: --owner "ada" must be CHANNEL:USER-ID
Some(2) adjutant: --channel telegram needs its bot's token: add --token-env NAME, or --token-file with a path
"#);
    let ended = home.run(&[
        "init",
        "--config",
        "config.toml",
        "--unchecked",
        "--channel",
        "telegram",
        "--token-env",
        "X",
    ]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(read(&home).contains("[channels.telegram]\ntoken = { env = \"X\" }\n"), "{}", read(&home));
    assert_eq!(home.run(&["init", "--channel", "icq"]).status, Some(2));
}

#[test]
fn a_file_that_is_not_toml_is_reported_before_any_question() {
    let home = Home::with_config("[model\n");
    let mut terminal = Terminal::start(&home, "init");
    terminal.expect("adjutant: the configuration has errors");
    terminal.expect(&format!("{}:1", home.path().join("config.toml").display()));
    assert_eq!(terminal.end(), Some(78));
    assert_eq!(read(&home), "[model\n");
}

/// Every platform and a model, and a home whose configuration points to them.
struct Fakes {
    telegram: FakeTelegram,
    discord: FakeDiscord,
    slack: FakeSlack,
    model: FakeModel,
    home: Home,
}

impl Fakes {
    fn start() -> Self {
        let (telegram, discord, slack) = (FakeTelegram::start(), FakeDiscord::start(), FakeSlack::start());
        let model = FakeModel::start(|_| Reply::text("ready"));
        discord.forbid_message_content();
        let config = format!(
            "# Kept.\n[channels.discord]\napi_url = \"{}\"\n[channels.slack]\napi_url = \"{}\"\n\
             [channels.telegram]\napi_url = \"{}\"\n[model]\nprovider = \"openai\"\nbase_url = \"{}\"\n",
            discord.api_url(),
            slack.api_url(),
            telegram.api_url(),
            model.base_url()
        );
        Self { telegram, discord, slack, model, home: Home::with_config(&config) }
    }

    /// The text without what differs between runs, and without Slack's long link.
    fn shown(&self, text: &str) -> String {
        let text = text.replace(&self.home.path().display().to_string(), "~");
        let text =
            text.replace(&self.telegram.api_url(), "TELEGRAM").replace(&self.discord.api_url(), "DISCORD");
        let text = text.replace(&self.slack.api_url(), "SLACK").replace(&self.model.base_url(), "MODEL");
        let text = regex::Regex::new("in [0-9]+ ms").unwrap().replace_all(&text, "in ... ms").into_owned();
        regex::Regex::new("(?s)%7B.*%7D").unwrap().replace_all(&text, "...").into_owned()
    }

    /// Answers every question, some incorrectly at first.
    fn answer_all(&self, terminal: &mut Terminal) {
        terminal.answer("Connect Discord?", "");
        terminal.answer("The bot's token", discord::TOKEN);
        terminal.expect("✗ Message Content Intent is off");
        terminal.answer("Number", "9");
        terminal.answer("Number", "3");
        terminal.answer("Owner's user id", "");
        terminal.answer("Connect Slack?", "y");
        terminal.answer("The bot's token", slack::BOT_TOKEN);
        terminal.answer("The app's token", slack::APP_TOKEN);
        terminal.answer("Waiting three minutes", "U0ADA, U0BOB");
        terminal.answer("Connect Telegram?", "yes");
        terminal.answer("The bot's token", WRONG);
        terminal.expect("✗ Telegram rejects the token");
        terminal.answer("Number", "");
        terminal.answer("The bot's token", &format!(" {} ", self.telegram.token()));
        terminal.expect("✓ logged in as @Adjutant_Bot; write to it at https://t.me/Adjutant_Bot");
        terminal.answer("Waiting three minutes", "1000");
        terminal.answer("Number [3]", "");
        terminal.answer("Model", "fake");
        terminal.expect("✓ openai fake answered");
        terminal.answer("Time zone [UTC]", "Europe/Berlim");
        terminal.expect(
            "✗ assistant.timezone: unknown time zone \"Europe/Berlim\"; did you mean `Europe/Berlin`?",
        );
        terminal.answer("Number", "1");
        terminal.answer("Time zone [Europe/Berlim]", "Europe/Berlin");
        terminal.answer("Connect any of them now? [y/N]", "");
        terminal.answer("Remember such facts? [y/N]", "y");
        terminal.answer("Compare them by meaning? [y/N]", "y");
        terminal.expect("Written: ");
        terminal.answer("Start the bot now? [Y/n]", "n");
        assert_eq!(terminal.end(), Some(0));
    }
}

#[test]
fn a_person_gets_from_tokens_to_a_working_configuration() {
    let fakes = Fakes::start();
    let mut terminal = Terminal::start(&fakes.home, "init");
    fakes.answer_all(&mut terminal);
    assert_screen(&fakes.shown(&terminal.text()));
    insta::assert_snapshot!(fakes.shown(&read(&fakes.home)), @r#"
# Kept.
[channels.discord]
api_url = "DISCORD"
token = "fake-discord-token.0123456789"
[channels.slack]
api_url = "SLACK"
bot_token = "xoxb-1234567890-fake-bot-token"
app_token = "xapp-1-A0FAKE-1234567890-fake-app-token"
[channels.telegram]
api_url = "TELEGRAM"
token = "4242424242:AAFakeFakeFakeFakeFakeFakeFakeFake42"
[model]
provider = "openai"
base_url = "MODEL"
name = "fake"

[assistant]
owner = ["slack:U0ADA", "slack:U0BOB", "telegram:1000"]
timezone = "Europe/Berlin"

[memory]
extract = true

[memory.embeddings]
provider = "ollama"
name = "nomic-embed-text"
"#);
    for secret in [discord::TOKEN, slack::BOT_TOKEN, slack::APP_TOKEN, fakes.telegram.token(), WRONG] {
        assert!(!terminal.raw().contains(secret), "a secret was shown");
    }
    assert_eq!(mode(&fakes.home), 0o600);
    assert_checked(&fakes.home);
}

#[test]
fn enter_at_every_question_changes_nothing() {
    let fakes = Fakes::start();
    fakes.answer_all(&mut Terminal::start(&fakes.home, "init"));
    let before = read(&fakes.home);
    let mut terminal = Terminal::start(&fakes.home, "init");
    terminal.answer("Connect Discord?", "");
    terminal.answer("The bot's token [Enter: keep it]", "");
    terminal.answer("Number", "3");
    for question in [
        "Owner's user id",
        "Connect Slack?",
        "The bot's token",
        "The app's token",
        "Owner's user id (-: none) [U0ADA, U0BOB]",
        "Connect Telegram?",
        "The bot's token",
        "Owner's user id (-: none) [1000]",
        "Number [3]",
        "Model [fake]",
        "Time zone [Europe/Berlin]",
        "Connect any of them now? [y/N]",
        "Remember such facts? [Y/n]",
    ] {
        terminal.answer(question, "");
    }
    terminal.answer("Start the bot now?", "n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    assert_eq!(read(&fakes.home), before);
}

#[expect(clippy::too_many_lines, reason = "most of it is what people read")]
fn assert_screen(screen: &str) {
    insta::assert_snapshot!(screen, @r#"
Hello! This sets up your assistant: a chat platform, a language model, your accounts. It takes about three minutes.
Enter takes the answer in [brackets], or the one in capitals. Ctrl-C quits without writing.
After the last question, ~/config.toml is changed. Only its owner can read it, so you can keep secrets in it.
To keep a secret elsewhere, answer env:NAME, file:PATH or credential:NAME.

Connect Discord? [Y/n]:

  1. Create an application: https://discord.com/developers/applications
  2. Under “Bot”, switch on “Message Content Intent”.
  3. On the same page, press “Reset Token” and copy the token.
The bot's token: *****************************
  ✓ logged in as adjutant
  ✓ add it to a server: https://discord.com/oauth2/authorize?client_id=900000000000000002&scope=bot+applications.commands&permissions=274878008384
  ✗ Message Content Intent is off
    → Discord doesn't let the bot of channels.discord read messages. Switch on “Message Content Intent” in the Developer Portal (your application, Bot, Privileged Gateway Intents).
  1  Answer again
  2  Test again
  3  Keep it anyway
  4  Skip it
Number [1]: 9
  Please type a number from 1 to 4.
Number [1]: 3

  Who is its owner? Write anything to your bot now, in private.
  Or type your user id (switch on “Developer Mode” (settings, “Advanced”), right-click your name, “Copy User ID”). Enter skips this.
  Waiting three minutes for your message…
Owner's user id (Enter: none):
  No owner yet, so nobody can let people in or use your accounts there.

Connect Slack? [Y/n]: y

  1. Create the app with this link, which fills everything in:
https://api.slack.com/apps?new_app=1&manifest_json=...
  2. Choose the workspace and press “Install to Workspace”.
  3. Under “OAuth & Permissions”, copy the “Bot User OAuth Token”, xoxb-...
The bot's token: ******************************

  1. Under “Basic Information”, “App-Level Tokens”, generate a token.
  2. Add the scope connections:write to it and copy it: xapp-...
The app's token: ***************************************
  ✓ logged in to Acme as adjutant; `/invite @adjutant` adds it to a channel

  Who is its owner? Write anything to your bot now, in private.
  Or type your user id (in your profile, under the three dots, “Copy member ID”). Enter skips this.
  Waiting three minutes for your message…
U0ADA, U0BOB

Connect Telegram? [Y/n]: yes

  1. Send /newbot to @BotFather, https://t.me/BotFather
  2. Copy the token that it gives you.
The bot's token: **********************************************
  ✗ Telegram rejects the token
    → Set channels.telegram.token to the one from @BotFather (https://t.me/BotFather, /mybots, API Token).
  1  Answer again
  2  Test again
  3  Keep it anyway
  4  Skip it
Number [1]:
The bot's token [Enter: keep it]: *************************************************
  ✓ logged in as @Adjutant_Bot; write to it at https://t.me/Adjutant_Bot

  Who is its owner? Write anything to your bot now, in private.
  Or type your user id (ask @userinfobot, https://t.me/userinfobot). Enter skips this.
  Waiting three minutes for your message…
1000

Language model. It lets you write as you talk. Without one, only simple sentences are understood.
  1  openrouter   models from many companies; key: https://openrouter.ai/keys
  2  anthropic    key: https://console.anthropic.com/settings/keys
  3  openai       key: https://platform.openai.com/api-keys
  4  gemini       key: https://aistudio.google.com/apikey
  5  ollama       free, on this machine; first run `ollama pull qwen3:8b`
  6  another provider
  7  none         basic mode: free, but it understands only simple sentences
Number [3]:
Model [gpt-5-mini]: fake
  ✓ openai fake answered in ... ms

Time zone [UTC]: Europe/Berlim
  ✗ assistant.timezone: unknown time zone "Europe/Berlim"; did you mean `Europe/Berlin`?
  1  Answer again
  2  Test again
  3  Keep it anyway
  4  Skip it
Number [1]: 1
Time zone [Europe/Berlim]: Europe/Berlin

Email, calendar and contacts. Without them, the assistant keeps its own calendar and contacts, and saves emails as files.
Connect any of them now? [y/N]:
  You can do that later: run `adjutant init` again.

The assistant can learn from what people write, with one short model call for every ten messages.
Remember such facts? [y/N]: y

Memories are found by their words. Ollama on this machine can compare them by meaning, too, with a small model:
`ollama pull nomic-embed-text`.
Compare them by meaning? [y/N]: y

Written: ~/config.toml

Next step:
  adjutant serve                   connects the bot, until you press Ctrl-C
  adjutant chat                    starts a chat in this terminal
  adjutant doctor                  checks everything

Start the bot now? [Y/n]: n
"#);
}

#[test]
fn an_unwanted_channel_is_switched_off_and_the_previous_providers_keys_are_removed() {
    let telegram = FakeTelegram::start();
    let config = format!(
        "[channels.work]\nkind = \"telegram\"\ntoken = \"{}\"\napi_url = \"{}\"\n\
         [channels.discord]\ntoken = \"x\"\nenabled = false # for now\n\
         [assistant]\nowner = [\"work:1000\"]\n\
         [model]\nprovider = \"openai\"\nname = \"gpt-5-mini\"\napi_key = \"sk-1\"\n",
        telegram.token(),
        telegram.api_url()
    );
    let home = Home::with_config(&config);
    for is_wanted in [true, false] {
        let mut terminal = Terminal::start(&home, "init");
        if is_wanted {
            terminal.answer("Connect Telegram ([channels.work])? [Y/n]", "");
            terminal.answer("The bot's token [Enter: keep it]", "");
            terminal.expect("✓ logged in as @Adjutant_Bot");
            terminal.answer("Owner's user id (-: none) [1000]", "-");
        } else {
            terminal.answer("Connect Telegram ([channels.work])? [Y/n]", "n");
            terminal.expect("Its settings are kept");
        }
        terminal.answer("Connect Discord? [y/N]", "");
        terminal.answer("Connect Slack?", "");
        terminal.answer("Number", "7");
        terminal.answer("Time zone", "");
        terminal.answer("Connect any of them now?", "");
        if is_wanted {
            terminal.answer("Start the bot now?", "n");
        }
        assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
        assert_checked(&home);
    }
    insta::assert_snapshot!(read(&home).replace(&telegram.api_url(), "TELEGRAM"), @r#"
[channels.work]
kind = "telegram"
token = "4242424242:AAFakeFakeFakeFakeFakeFakeFakeFake42"
api_url = "TELEGRAM"
enabled = false
[channels.discord]
token = "x"
enabled = false # for now
[assistant]
owner = []
timezone = "UTC"
[model]
provider = "builtin"
"#);
}

#[test]
fn ctrl_c_at_any_question_writes_nothing() {
    let telegram = FakeTelegram::start();
    let config = format!("# Kept.\n[channels.telegram]\napi_url = \"{}\"\n", telegram.api_url());
    let questions = [
        ("Connect Telegram?", "y"),
        ("The bot's token", telegram.token()),
        ("Waiting three minutes", "1"),
        ("Connect Discord?", ""),
        ("Connect Slack?", ""),
        ("Number [7]", ""),
        ("Time zone", "UTC"),
        ("Connect any of them now?", "y"),
        ("Connect an email account?", ""),
        ("Connect a calendar account?", ""),
        ("Connect a contacts account?", ""),
        ("Let people connect their own accounts?", ""),
    ];
    for last in 0..questions.len() {
        let home = Home::with_config(&config);
        let mut terminal = Terminal::start(&home, "init");
        for (question, answer) in &questions[..last] {
            terminal.answer(question, answer);
        }
        terminal.expect(questions[last].0);
        terminal.type_in(CTRL_C);
        assert_eq!(terminal.end(), Some(1), "{}", terminal.text());
        assert!(terminal.text().ends_with("adjutant: stopped; nothing was written\n"), "{}", terminal.text());
        assert_eq!((read(&home), files(&home).len()), (config.clone(), 1), "after {:?}", questions[last]);
    }
}

#[test]
fn a_test_can_be_stopped_and_secrets_can_be_elsewhere() {
    let model = FakeModel::start(|_| Reply::hang());
    let config = format!("[model]\nprovider = \"openai\"\nbase_url = \"{}\"\n", model.base_url());
    let home = Home::with_config(&config);
    home.write("discord.token", "x");
    let mut terminal = Terminal::start(&home, "init");
    terminal.answer("Connect Telegram? [Y/n]", "n");
    terminal.answer("Connect Discord?", "y");
    terminal.answer("The bot's token", "env:NO_SUCH_TOKEN");
    terminal.expect("✗ channels.discord.token: the environment variable \"NO_SUCH_TOKEN\" is unset");
    terminal.answer("Number", "4");
    terminal.answer("Connect Slack?", "");
    terminal.answer("Number [3]", "");
    terminal.answer("Model", "slow");
    terminal.expect("… testing");
    terminal.type_in(CTRL_C);
    assert_eq!(terminal.end(), Some(1));
    assert_eq!(read(&home), config);
}

/// Answers the questions before the accounts.
fn until_accounts(home: &Home) -> Terminal {
    let mut terminal = Terminal::start(home, "init --config config.toml");
    for platform in ["Telegram", "Discord", "Slack"] {
        terminal.answer(&format!("Connect {platform}?"), "n");
    }
    terminal.answer("Number [7]", "");
    terminal.answer("Time zone", "");
    terminal.answer("Connect any of them now?", "y");
    terminal
}

#[test]
fn a_mail_account_is_tested_before_it_is_written() {
    let Some(mail) = mail_server::shared().unwrap() else { return };
    let ca = mail.file("ca.pem").display().to_string();
    let home =
        Home::with_config(&format!("[mail.smtp]\nca_file = \"{ca}\"\n[mail.imap]\nca_file = \"{ca}\"\n"));
    let mut terminal = until_accounts(&home);
    terminal.answer("Connect an email account?", "y");
    terminal.answer("Sender", "Alice Adams <alice@example.test>");
    let smtp = format!("localhost:{}", mail.submissions);
    terminal.answer("Outgoing server (SMTP), HOST or HOST:PORT [smtp.example.test]", &smtp);
    terminal.answer("User name [alice@example.test]", "");
    terminal.answer("Password", "wrong");
    terminal.answer("Incoming server", &format!("localhost:{}", mail.imaps));
    terminal.answer("User name [alice@example.test]", "");
    terminal.answer("Password [Enter: the same]", "");
    terminal.expect("✗ ");
    terminal.answer("Number", "1");
    terminal.answer("Sender", "");
    terminal.answer("Outgoing server", "");
    terminal.answer("User name", "");
    terminal.answer("Password [Enter: keep it]", "alice-secret");
    terminal.answer("Incoming server", "");
    terminal.answer("User name", "");
    terminal.answer("Password [Enter: keep it]", "alice-secret");
    terminal.expect("✓ email can be sent");
    terminal.expect("✓ email can be read");
    terminal.answer("Connect a calendar account?", "n");
    terminal.answer("Connect a contacts account?", "n");
    terminal.answer("Let people connect their own accounts?", "n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    assert!(read(&home).contains("from = \"Alice Adams <alice@example.test>\"\n"), "{}", read(&home));
    assert!(!terminal.raw().contains("alice-secret"), "a password was shown");
    assert_checked(&home);
}

#[test]
fn calendar_and_contacts_are_tested_before_they_are_written() {
    let Some(dav) = dav_server::shared().unwrap() else { return };
    dav.collection("me", "init-events", Kind::Calendar).unwrap();
    dav.collection("me", "init-people", Kind::AddressBook).unwrap();
    let home = Home::new();
    let mut terminal = until_accounts(&home);
    terminal.answer("Connect an email account?", "n");
    terminal.answer("Connect a calendar account?", "y");
    terminal.answer("Server address", &dav.url());
    terminal.answer("User name", "me");
    terminal.answer("Password", "wrong");
    terminal.expect("✗ ");
    terminal.answer("Number", "1");
    terminal.answer(&format!("Server address, https://... [{}]", dav.url()), "");
    terminal.answer("User name [me]", "");
    terminal.answer("Password [Enter: keep it]", "me-secret");
    terminal.expect("✓ logged in; calendars: ");
    terminal.answer("Connect a contacts account?", "y");
    terminal.answer(&format!("Server address, https://... [{}]", dav.url()), "");
    terminal.answer("User name [me]", "");
    terminal.answer("Password [Enter: the same]", "");
    terminal.expect("✓ logged in; address books: ");
    terminal.answer("Let people connect their own accounts?", "n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    assert_checked(&home);
}

#[test]
fn an_application_is_asked_about_before_it_is_written() {
    let cloud = FakeCloud::start();
    let urls = format!("auth_url = \"{0}/authorize\"\ntoken_url = \"{0}/token\"\n", cloud.origin());
    let home = Home::with_config(&format!("[connect.google]\n{urls}"));
    let mut terminal = until_accounts(&home);
    for what in ["an email", "a calendar", "a contacts"] {
        terminal.answer(&format!("Connect {what} account?"), "");
    }
    terminal.answer("Let people connect their own accounts? [Y/n]", "");
    terminal.answer("Accounts of Google? [Y/n]", "");
    terminal.answer("Client id", "somebody-else");
    terminal.answer("Client secret [Enter: none]", SECRET);
    terminal.answer("Is it internal, for your own Workspace only? [y/N]", "y");
    terminal.answer("Accounts of Microsoft 365 and Outlook.com? [y/N]", "");
    terminal.expect("✗ the provider refuses the application: HTTP 4");
    terminal.answer("Number", "1");
    terminal.answer("Accounts of Google? [Y/n]", "");
    terminal.answer("Client id [somebody-else]", CLIENT);
    terminal.answer("Client secret [Enter: keep it]", "");
    terminal.answer("Is it internal, for your own Workspace only? [Y/n]", "");
    terminal.answer("Accounts of Microsoft 365 and Outlook.com? [y/N]", "");
    terminal.expect("✓ the provider knows the application");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    let text = read(&home);
    let client = format!("client_id = \"{CLIENT}\"\n");
    for part in [client.as_str(), "internal = true", "people = \"everybody\""] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(!terminal.raw().contains(SECRET), "a secret was shown");
    assert_checked(&home);
}
