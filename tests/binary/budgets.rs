//! Daily budgets: the person is told, an owner is asked in their own chat, and approves.

use adjutant_fakes::model::{FakeModel, Reply, last_message};
use adjutant_fakes::telegram::{FakeTelegram, Seen};
use serde_json::{Value, json};

use crate::gateway::{Gateway, eventually, wait_until};
use crate::process::Home;
use crate::serve::sees;

fn config(telegram: &FakeTelegram, model: &FakeModel, owner: i64, more: &str) -> String {
    format!(
        "[assistant]\ntimezone = \"Europe/Berlin\"\nowner = [\"telegram:{owner}\"]\n[http]\nlisten = \"127.0.0.1:0\"\n\
         [model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n{more}\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
        model.base_url(),
        telegram.token(),
        telegram.api_url()
    )
}

/// The last word of the person's last message.
fn last_word(request: &Value) -> String {
    let last = last_message(request);
    let is_said = |word: &&str| !["", "role", "user", "content", "type", "text"].contains(word);
    last.split(|c: char| !c.is_alphanumeric()).rfind(is_said).unwrap_or_default().to_owned()
}

/// Waits for a question with buttons.
#[track_caller]
fn question(telegram: &FakeTelegram, chat: i64) -> Seen {
    eventually("a question", || telegram.seen(chat).into_iter().find(|seen| !seen.buttons.is_empty()))
}

#[test]
fn what_was_set_aside_for_a_call_that_a_crash_cut_off_is_given_back() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let model = FakeModel::start(|request| match last_message(request).contains("hang") {
        true => Reply::hang(),
        false => Reply::text("All is well."),
    });
    let budget = "[limits]\nday_tokens = 15000\n";
    let home = Home::with_config(&config(&telegram, &model, 1, budget));
    let gateway = Gateway::start(&home);
    telegram.say(ada, ada, "hang, please");
    wait_until("a reservation", || {
        home.count("SELECT count(*) FROM reservations") > 0 && !model.received().is_empty()
    });
    assert_eq!(home.count("SELECT count(*) FROM spending WHERE reserved_tokens > 4096"), 2);
    gateway.kill();
    // It's called again, and reserves its share again.
    let gateway = Gateway::start(&home);
    wait_until("the second call", || model.received().len() >= 2);
    assert_eq!(home.count("SELECT count(*) FROM reservations"), 1);
    telegram.say(ada, ada, "/stop");
    sees(&telegram, ada, "Stopped. Nothing was done.");
    telegram.say(ada, ada, "and now?");
    sees(&telegram, ada, "All is well.");
    assert_eq!(home.count("SELECT count(*) FROM reservations"), 0);
    assert_eq!(home.count("SELECT count(*) FROM spending WHERE tokens = 110 AND reserved_tokens = 0"), 2);
    assert_eq!(gateway.stop().0, Some(0));
    home.assert_tidy("a crash");
}

#[test]
fn an_owner_says_whether_somebody_goes_on_beyond_the_day() {
    let telegram = FakeTelegram::start();
    let (ada, olga) = (telegram.person("Ada"), telegram.person("Olga"));
    // A call reserves 900,000 tokens, so a day has room for one.
    let model = FakeModel::start(|request| {
        let usage = json!({"prompt_tokens": 900_000, "completion_tokens": 0, "total_tokens": 900_000});
        Reply::text(&format!("Heard {}.", last_word(request))).usage(usage)
    });
    let budget = "price = { input = 1.0, output = 1.0 }\n[limits]\nday_cost_usd = 0.90\n";
    let home = Home::with_config(&config(&telegram, &model, olga, budget));
    let mut gateway = Gateway::start(&home);
    telegram.say(olga, olga, "first");
    sees(&telegram, olga, "Heard first");
    telegram.say(ada, ada, "second");
    sees(&telegram, ada, "Heard second.\n\nYou've used 100% of your $0.90 for today.");
    telegram.say(ada, ada, "third");
    let told = sees(&telegram, ada, "doesn't cover the next step");
    assert!(told.contains("Your budget for today ($0.90)") && told.contains("asked an owner"), "{told}");
    assert!(told.contains("at midnight (Europe/Berlin)"), "{told}");
    assert_eq!(model.received().len(), 2, "nothing was called for it");

    let asked = question(&telegram, olga);
    assert!(
        asked.text.contains("A request from Ada (telegram) has reached today's limit of $0.90"),
        "{asked:?}"
    );
    assert!(!asked.text.contains("third"), "what she wrote is hers: {asked:?}");
    // It survives a crash.
    gateway.kill();
    gateway = Gateway::start(&home);
    telegram.press(olga, olga, asked.id, "Continue");
    sees(&telegram, olga, "OK, I'll continue.");
    sees(&telegram, ada, "Heard third");

    home.write("config.toml", &config(&telegram, &model, olga, "[limits]\nall_day_cost_usd = 9.0\n"));
    gateway.logs("the new configuration is in use");
    gateway.logs("no price is set for this model");
    let (_, metrics) = gateway.get("/metrics");
    assert!(metrics.contains("\nadjutant_day_cost_limit_usd 9\n"), "{metrics}");
    assert!(metrics.contains("\nadjutant_day_tokens 2700000\n"), "{metrics}");
    telegram.say(ada, ada, "fourth");
    sees(&telegram, ada, "Heard fourth");
    assert_eq!(gateway.stop().0, Some(0));
    home.assert_tidy("budgets");
    let doctor = home.run(&["doctor"]);
    assert!(doctor.stdout.contains("openai fake has no price, so cost budgets count only"), "{doctor:?}");
}
