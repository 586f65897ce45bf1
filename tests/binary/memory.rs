//! Memory beside the turns of `serve`: it grows, and is compared by meaning.

use adjutant_fakes::embeddings::{FakeEmbeddings, Reply as Vectors};
use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::telegram::FakeTelegram;
use serde_json::json;

use crate::doctor::has;
use crate::gateway::{Gateway, wait_until};
use crate::process::Home;

const SAID: &str = "We moved to Lyon last week, near the opera";

/// Takes one fact from what was said, and answers everything else.
fn model() -> FakeModel {
    let fact = json!({"message": 1, "quote": "We moved to Lyon last week", "fact": "Ada moved to Lyon near the opera",
        "kind": "fact", "topic": "home town"});
    let facts = json!({"facts": [fact]}).to_string();
    FakeModel::start(move |request| match request.to_string() {
        text if text.contains("Below are messages that one person wrote") => Reply::text(&facts),
        text if text.contains("Each number below has words") => Reply::text(r#"{"hold": [1]}"#),
        _ => Reply::text("Congratulations!"),
    })
}

#[test]
fn it_grows_and_gets_vectors_in_the_real_process() {
    let (telegram, model) = (FakeTelegram::start(), model());
    let embeddings = FakeEmbeddings::start(|text| vec![text.len() as f64, 1.0, -2.0]);
    let ada = telegram.person("Ada");
    let config = format!(
        "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
        model.base_url(),
        telegram.token(),
        telegram.api_url()
    );
    let home = Home::with_config(&config);
    let gateway = Gateway::start(&home);
    // Ten turns are enough at once, and each message is to be one.
    for n in 0..10 {
        telegram.say(ada, ada, &if n == 0 { SAID.to_owned() } else { format!("message {n}") });
        wait_until("it is answered", || telegram.seen(ada).len() == n + 1);
    }
    assert_eq!(gateway.stop().0, Some(0));
    assert_eq!(home.count("SELECT count(*) FROM memories"), 0, "it is off by default");

    let memory = format!(
        "[memory]\nextract = true\nembeddings = {{ name = \"known\", base_url = \"{}\" }}\n",
        embeddings.base_url()
    );
    home.write("config.toml", &format!("{config}{memory}"));
    let gateway = Gateway::start(&home);
    wait_until("a fact is kept", || {
        home.count("SELECT count(*) FROM memories WHERE text LIKE '%Lyon%'") == 1
    });
    let made = "SELECT count(*) FROM search_vectors v JOIN memories m ON v.document = m.seq * 2 + 1 WHERE v.vector <> ''";
    wait_until("it has a vector", || home.count(made) == 1);
    let doctor = home.run(&["doctor", "--json"]);
    assert!(has(&doctor, "memory.embeddings", "ok", "known/3 answers"), "{doctor:?}");
    assert_eq!(gateway.stop().0, Some(0));
    let list = home.run(&["memory", "list"]).stdout;
    assert!(
        list.contains("Ada moved to Lyon near the opera") && list.contains("“We moved to Lyon last week”"),
        "{list}"
    );
    home.assert_tidy("after growing");

    embeddings.always(Some(Vectors::Length(2)));
    let doctor = home.run(&["doctor", "--json"]);
    assert!(has(&doctor, "memory.embeddings", "warning", "known/2 answers"), "{doctor:?}");
    embeddings.always(Some(Vectors::Status(401, "wrong key")));
    let doctor = home.run(&["doctor", "--json"]);
    assert!(has(&doctor, "memory.embeddings", "fault", "memories are found by words alone"), "{doctor:?}");
    // Without the table, the next start drops them.
    home.write("config.toml", &config);
    let doctor = home.run(&["doctor", "--json"]);
    assert!(!doctor.stdout.contains("memory.embeddings"), "nothing is wrong without: {doctor:?}");
    let gateway = Gateway::start(&home);
    wait_until("the vectors are gone", || home.count("SELECT count(*) FROM search_vectors") == 0);
    assert_eq!(gateway.stop().0, Some(0));
}
