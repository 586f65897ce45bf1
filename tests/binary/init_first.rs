//! The first five minutes: `init` and `chat` find what is there already, and end with a bot that answers.

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::telegram::FakeTelegram;

use crate::gateway::wait_until;
use crate::process::Home;
use crate::terminal::{CTRL_C, Terminal};

/// The variables of a machine on which this model runs.
fn with_model(model: &FakeModel) -> String {
    format!("ADJUTANT_LOCAL_MODELS=Ollama={}", model.base_url())
}

fn telegram_home(telegram: &FakeTelegram) -> Home {
    let config = format!(
        "[channels.telegram]\napi_url = \"{}\"\n[http]\nlisten = \"127.0.0.1:0\"\n",
        telegram.api_url()
    );
    Home::with_config(&config)
}

fn read(home: &Home) -> String {
    std::fs::read_to_string(home.path().join("config.toml")).unwrap()
}

#[test]
fn a_token_and_eleven_keystrokes_make_a_bot_that_answers() {
    let (telegram, model) =
        (FakeTelegram::start(), FakeModel::start(|_| Reply::text("Hello from the model")));
    let (ada, bob) = (telegram.person("Ada"), telegram.person("Bob"));
    let home = telegram_home(&telegram);
    let mut terminal = Terminal::start_with(&home, 300, &with_model(&model), "init");
    terminal.answer("Connect Telegram? [Y/n]", "");
    terminal.answer("The bot's token", telegram.token());
    terminal.expect("✓ logged in as @Adjutant_Bot");
    terminal.expect("Waiting three minutes");
    telegram.say(ada, ada, "hi");
    terminal.answer("Ada (id 1000) wrote “hi”. Is this you? [Y/n]", "");
    terminal.expect("✓ it has answered you there");
    assert!(telegram.seen(ada)[0].text.starts_with("Hi Ada! I'm connected, and you're my owner."));
    assert_eq!(telegram.unconfirmed(), 1, "`serve` has to answer it");
    assert_eq!(model.received().len(), 0, "something was sent before the yes");
    for question in [
        "Connect Discord? [y/N]",
        "Connect Slack? [y/N]",
        "I found Ollama with fake on this machine. Use it? [Y/n]",
        "Time zone",
        "Connect any of them now?",
        "Remember such facts?",
        "Compare them by meaning?",
        "Start the bot now? [Y/n]",
    ] {
        terminal.answer(question, "");
    }
    terminal.expect("Next step: write to it in a chat.");
    assert!(!terminal.text().contains("Still missing"), "{}", terminal.text());
    wait_until("the first message is answered", || {
        telegram.seen(ada).iter().any(|seen| seen.text == "Hello from the model")
    });
    assert!(telegram.seen(bob).is_empty());
    terminal.type_in(CTRL_C);
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    assert!(read(&home).contains("owner = [\"telegram:1000\"]"), "{}", read(&home));
}

#[test]
fn whoever_else_writes_does_not_become_the_owner() {
    let telegram = FakeTelegram::start();
    let (ada, eve) = (telegram.person("Ada"), telegram.person("Eve"));
    let home = telegram_home(&telegram);
    telegram.say(eve, eve, "I'm the owner\u{1b}[2J");
    let mut terminal = Terminal::start(&home, "init");
    terminal.answer("Connect Telegram?", "");
    terminal.answer("The bot's token", telegram.token());
    terminal.answer("Eve (id 1001) wrote “I'm the owner", "n");
    telegram.say(ada, ada, "it's me");
    terminal.answer("Ada (id 1000) wrote “it's me”. Is this you?", "y");
    for question in
        ["Connect Discord?", "Connect Slack?", "Number [7]", "Time zone", "Connect any of them now?"]
    {
        terminal.answer(question, "");
    }
    terminal.expect("a language model; until then, it understands only simple sentences (basic mode)");
    terminal.answer("Start the bot now?", "n");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    assert!(read(&home).contains("owner = [\"telegram:1000\"]"), "{}", read(&home));
    assert!(telegram.seen(eve).is_empty());
}

#[test]
fn who_skips_everything_is_told_what_is_missing_on_any_terminal() {
    let home = Home::new();
    let vars = "ADJUTANT_LOCAL_MODELS=none NO_COLOR=1";
    let mut terminal = Terminal::start_with(&home, 40, vars, "init --config config.toml");
    terminal.answer("Connect Telegram? [Y/n]", "n");
    for question in
        ["Connect Discord?", "Connect Slack?", "Number [7]", "Time zone", "Connect any of them now?"]
    {
        terminal.answer(question, "");
    }
    terminal.expect("Still missing, until you run");
    terminal.expect("a chat platform: Telegram, Discord or");
    terminal.expect("Slack; until then, it talks only in a");
    terminal.expect("a language model; until then, it");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
    assert_narrow(&terminal.text());
    for (words, status) in [("doctor", 0), ("web login", 78)] {
        let mut terminal = Terminal::start_with(&home, 40, vars, words);
        assert_eq!(terminal.end(), Some(status), "{}", terminal.text());
        assert_narrow(&terminal.text());
    }
}

#[test]
fn what_is_printed_fits_a_narrow_terminal_and_breaks_no_word() {
    let home = Home::new();
    assert_eq!(home.run(&["chat", "--once", "add a task to buy milk"]).status, Some(0));
    for words in
        ["--help", "usage --help", "plan --help", "skills list", "skills show tasks.create", "roles list"]
    {
        let wide = home.run(&words.split(' ').collect::<Vec<_>>()).stdout;
        let mut terminal = Terminal::start_with(&home, 40, "NO_COLOR=1", words);
        assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
        assert_narrow(&terminal.text());
        let narrow = terminal.text();
        let (narrow, wide) = (narrow.split_whitespace(), wide.split_whitespace());
        assert_eq!(narrow.collect::<Vec<_>>(), wide.collect::<Vec<_>>(), "{words}");
    }
    for (words, shown) in [
        ("usage", "builtin"),
        ("usage --by skill", "tasks.create"),
        ("usage --questions", "no questions since"),
        ("trace", "Request "),
        ("chat --once /trace", "Request "),
    ] {
        let mut terminal = Terminal::start_with(&home, 40, "NO_COLOR=1", words);
        assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
        assert!(terminal.text().contains(shown), "{words}: {}", terminal.text());
        assert_narrow(&terminal.text());
    }
}

/// No line is wider than 40 columns, except where people copy something: a path, an address or a command.
#[track_caller]
fn assert_narrow(text: &str) {
    let is_wide = |line: &&str| line.chars().count() > 40 && !line.contains(['/', '`']);
    assert_eq!(text.lines().find(is_wide), None, "{text}");
}

#[test]
fn a_model_that_answers_with_a_page_is_refused_in_a_sentence() {
    let page = FakeModel::start(|_| Reply::status(200, "<!DOCTYPE html><title>It works!</title>"));
    let home = Home::new();
    let base = page.base_url();
    let ended = home.run(&["init", "--model", "openai/x", "--base-url", &base, "--config", "config.toml"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    let why = "✗ openai x: the server sent no answer of a model";
    assert!(ended.stdout.contains(why) && ended.stdout.contains("→ "), "{ended:?}");
    assert!(!home.path().join("config.toml").exists());
}

#[test]
fn the_first_chat_offers_the_model_that_is_there_and_asks_once() {
    let model = FakeModel::start(|_| Reply::text("Hello from the model"));
    for is_wanted in [true, false] {
        let home = Home::new();
        let mut terminal = Terminal::start_with(&home, 300, &with_model(&model), "chat");
        let answer = if is_wanted { "" } else { "n" };
        terminal.answer("I found Ollama with fake on this machine. Use it? [Y/n]", answer);
        terminal.expect("Say what you need");
        terminal.type_in("/quit\r");
        assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
        assert_eq!(terminal.text().contains("is ready, using fake."), is_wanted, "{}", terminal.text());
        assert_eq!(home.path().join(".config/adjutant/config.toml").exists(), is_wanted);
        let mut again = Terminal::start_with(&home, 300, &with_model(&model), "chat");
        again.expect("Say what you need");
        again.type_in("/quit\r");
        assert_eq!(again.end(), Some(0), "{}", again.text());
        assert!(!again.text().contains("I found"), "{}", again.text());
    }
}

#[test]
fn a_model_that_is_down_is_told_at_once() {
    let config = "[model]\nprovider = \"openai\"\nname = \"x\"\nbase_url = \"http://127.0.0.1:1/v1/\"\n";
    let home = Home::with_config(config);
    let mut terminal = Terminal::start(&home, "chat");
    terminal.expect("Say what you need");
    terminal.expect("Nothing answers at 127.0.0.1:1, where my language model should run.");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end(), Some(0), "{}", terminal.text());
}
