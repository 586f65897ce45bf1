//! `doctor`: what it finds, and that it shows no secret.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::speech::{FakeSpeech, Reply as SpeechReply, note};
use adjutant_fakes::telegram::FakeTelegram;
use serde_json::Value;

use crate::gateway::Gateway;
use crate::process::{Ended, Home};

/// Each check of a JSON report: name, verdict and reason.
fn checks(ended: &Ended) -> Vec<(String, String, String)> {
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    let text = |check: &Value, key: &str| check[key].as_str().unwrap().to_owned();
    let checks = report["checks"].as_array().unwrap();
    assert_eq!(report["ok"], ended.status == Some(0), "{report:#}");
    checks.iter().map(|check| (text(check, "name"), text(check, "verdict"), text(check, "reason"))).collect()
}

pub(crate) fn has(ended: &Ended, name: &str, verdict: &str, reason: &str) -> bool {
    checks(ended).iter().any(|check| check.0 == name && check.1 == verdict && check.2.contains(reason))
}

#[test]
fn without_a_configuration_there_are_no_problems() {
    let ended = Home::new().run(&["doctor"]);
    assert_eq!((ended.status, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.contains("✓ configuration  no file; using the defaults\n"), "{ended:?}");
    let next =
        "\nNo problems.\nNext step: `adjutant init` adds a chat platform: Telegram, Discord or Slack.\n";
    assert!(ended.stdout.ends_with(next), "{ended:?}");
}

#[test]
fn each_part_is_checked_on_its_own() {
    let telegram = FakeTelegram::start();
    let model = FakeModel::start(|_| Reply::status(401, "{\"error\": {\"message\": \"no such key\"}}"));
    let config = |token: &str| {
        format!(
            "[assistant]\nowner = [\"telegram:1000\"]\n[http]\nlisten = \"127.0.0.1:1\"\n\
             [model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\napi_key = \"sk-secret\"\n\
             [channels.telegram]\ntoken = \"{token}\"\napi_url = \"{}\"\n",
            model.base_url(),
            telegram.api_url()
        )
    };
    let wrong = "1111111111:AAWrongWrongWrongWrongWrongWrongWro";
    let home = Home::with_config(&config(wrong));
    let ended = home.run(&["doctor", "--json"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(has(&ended, "channels.telegram", "fault", "Telegram rejects the token"), "{ended:?}");
    assert!(has(&ended, "model", "fault", "no such key"), "{ended:?}");
    assert!(has(&ended, "serve", "warning", "the service is not running"), "{ended:?}");
    assert!(has(&ended, "store", "ok", ""), "{ended:?}");
    assert!(!ended.stdout.contains(wrong) && !ended.stdout.contains("sk-secret"), "{ended:?}");
    let next = "Next step: do what the → under each ✗ says, then run `adjutant doctor` again.\n";
    assert!(home.run(&["doctor"]).stdout.ends_with(next));
    home.write("config.toml", &config(telegram.token()));
    let ended = home.run(&["doctor", "--json"]);
    assert!(has(&ended, "channels.telegram", "ok", "logged in as @"), "{ended:?}");
}

#[test]
fn a_watched_folder_that_cannot_be_read_is_a_fault() {
    let home = Home::with_config("[watching]\nfolders = [\".\", \"gone\"]\n");
    let ended = home.run(&["doctor", "--json"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(has(&ended, "watching", "ok", "can be read"), "{ended:?}");
    assert!(has(&ended, "watching", "fault", "read gone: No such file"), "{ended:?}");
    std::fs::create_dir(home.path().join("gone")).unwrap();
    assert_eq!(home.run(&["doctor"]).status, Some(0));
}

#[test]
fn the_services_for_voice_are_tried() {
    let (speech, key) = (FakeSpeech::start(), "sk-secret");
    speech.speaks(&note(1, "Ready."));
    let config = |fallback: &str| {
        let address = speech.base_url();
        format!(
            "[voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{address}\"\napi_key = \"{key}\"\n{fallback}\
             [voice.speak]\nname = \"tts-1\"\nbase_url = \"{address}\"\napi_key = \"{key}\"\n"
        )
    };
    let home = Home::with_config(&config(""));
    let ended = home.run(&["doctor", "--json"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(
        has(&ended, "voice.transcribe", "ok", "whisper-1 transcribed a second of silence in "),
        "{ended:?}"
    );
    assert!(has(&ended, "voice.speak", "ok", "tts-1 spoke in "), "{ended:?}");
    let asked = speech.asked();
    let (name, kind, wav) = asked[0].file.clone().unwrap();
    assert_eq!((name.as_str(), kind.as_str(), wav.len()), ("voice.wav", "audio/wav", 32_044));
    assert_eq!(asked[0].headers["authorization"], format!("Bearer {key}"));

    home.write(
        "config.toml",
        &config("fallback = [{ name = \"local\", base_url = \"http://127.0.0.1:1/v1/\" }]\n"),
    );
    speech.reply([SpeechReply::Status(401, "no such key"), SpeechReply::Status(404, "no such model")]);
    let ended = home.run(&["doctor", "--json"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    assert!(
        has(&ended, "voice.transcribe", "fault", "whisper-1: the provider rejected the key"),
        "{ended:?}"
    );
    assert!(has(&ended, "voice.transcribe", "fault", "local: can't connect to 127.0.0.1"), "{ended:?}");
    assert!(has(&ended, "voice.speak", "fault", "tts-1: the provider doesn't know this model"), "{ended:?}");
    assert!(!ended.stdout.contains(key), "{ended:?}");
    assert!(
        home.run(&["doctor"]).stdout.contains("→ start the service, or correct [voice.transcribe] base_url")
    );

    speech.speaks(b"no sound");
    let ended = home.run(&["doctor", "--json"]);
    assert!(has(&ended, "voice.speak", "fault", "no Opus in Ogg"), "{ended:?}");
    home.write(
        "config.toml",
        &config("").split_once("[voice.speak]").map(|both| format!("[voice.speak]{}", both.1)).unwrap(),
    );
    speech.speaks(&note(1, "Ready."));
    let ended = home.run(&["doctor", "--json"]);
    assert!(has(&ended, "voice.speak", "warning", "answers are never spoken"), "{ended:?}");
}

#[test]
fn the_search_engine_is_tried() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let home = Home::with_config(&format!("[web]\nsearch = {{ kind = \"searxng\", url = \"{url}\" }}\n"));
    std::thread::spawn(move || {
        for body in [
            r#"{"results": [{"title": "A", "url": "https://a.example/", "content": "a"}]}"#,
            r#"{"results": [], "unresponsive_engines": [["google", "timeout"]]}"#,
        ] {
            let (mut stream, _) = listener.accept().unwrap();
            let lines = BufReader::new(stream.try_clone().unwrap()).lines();
            lines.map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n", body.len());
            stream.write_all(format!("{head}\r\n{body}").as_bytes()).unwrap();
        }
    });
    let ended = home.run(&["doctor", "--json"]);
    assert!(has(&ended, "web", "ok", "the search engine answers"), "{ended:?}");
    let ended = home.run(&["doctor", "--json"]);
    assert!(has(&ended, "web", "fault", "google (timeout)"), "{ended:?}");
}

const SKILLS: &str = r#"
domain = "lab"
summary = "Tries things"
[[skill]]
name = "lab.there"
summary = "A program that is there"
risk = "low"
handler = { command = ["true"] }
[[skill]]
name = "lab.gone"
summary = "A program that is not there"
risk = "low"
handler = { command = ["no-such-program"] }
[[skill]]
name = "lab.secret"
summary = "A secret that is not there"
risk = "low"
handler.http = { url = "HOST/a", allow_hosts = ["127.0.0.1"], headers = { X = { env = "NO_SUCH_SECRET" } } }
[[skill]]
name = "lab.host"
summary = "A host that is not there"
risk = "low"
handler.http = { url = "http://127.0.0.1:1/a", allow_hosts = ["127.0.0.1"] }
"#;

#[test]
fn what_skills_need_is_tried() {
    let model = FakeModel::start(|_| Reply::status(404, "{}"));
    let home = Home::with_config("[skills]\npaths = [\"lab\"]\n");
    let host = model.base_url();
    let host = host.trim_end_matches('/').trim_end_matches("/v1");
    home.write("lab/lab.toml", &SKILLS.replace("HOST", host));
    let ended = home.run(&["doctor", "--json"]);
    assert_eq!(ended.status, Some(1), "{ended:?}");
    let missing: Vec<_> = checks(&ended).into_iter().filter(|check| check.1 != "ok").collect();
    let reasons: Vec<&str> = missing.iter().map(|check| check.2.as_str()).collect();
    insta::assert_snapshot!(reasons.join("\n"), @"
    lab.gone: the program 'no-such-program' is not installed (not found in PATH), or you may not run it
    lab.secret: the skill's secret can't be read: the environment variable NO_SUCH_SECRET is missing
    lab.host: I couldn't reach 127.0.0.1: no connection (Connection refused (os error 111))
    ");
    let sound = SKILLS.split("[[skill]]").take(2).collect::<Vec<_>>().join("[[skill]]");
    home.write("lab/lab.toml", &sound);
    let ended = home.run(&["doctor"]);
    assert!(ended.stdout.contains("\nNo problems.\nNext step: "), "{ended:?}");
}

#[test]
fn a_running_gateway_is_asked_for_its_state() {
    let telegram = FakeTelegram::start();
    let config = |listen: &str| {
        format!(
            "[assistant]\nowner = [\"telegram:1000\"]\n[http]\nlisten = \"{listen}\"\n\
             [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n",
            telegram.token(),
            telegram.api_url()
        )
    };
    let home = Home::with_config(&config("127.0.0.1:0"));
    let ada = telegram.person("Ada");
    telegram.say(ada, ada, "add a task to run");
    let mut gateway = Gateway::start(&home);
    let address = gateway.address();
    assert!(telegram.wait_for_said(1, crate::gateway::DEADLINE));
    // Not the gateway's own file, which it would read again.
    home.write("doctor.toml", &config(&address));
    let ended = home.run(&["doctor", "--json", "--config", "doctor.toml"]);
    assert_eq!(ended.status, Some(0), "{ended:?}");
    assert!(has(&ended, "serve", "ok", "all channels receive"), "{ended:?}");
    assert_eq!(gateway.stop().0, Some(0));
}

#[test]
fn every_problem_of_a_file_is_reported_and_it_ends_with_78() {
    let home = Home::with_config("[limits]\nagents_per_trun = 3\n[http]\nlisten = \"nowhere\"\n");
    let ended = home.run(&["doctor", "--json"]);
    assert_eq!(ended.status, Some(78), "{ended:?}");
    assert_eq!(checks(&ended).len(), 2, "{ended:?}");
    assert!(has(&ended, "configuration", "fault", "agents_per_turn"), "{ended:?}");
}
