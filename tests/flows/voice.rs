//! Voice notes: heard once, shown, answered; never silence, and nothing is done that wasn't said.

use adjutant_chat::{Attachment, DownloadError, VoiceNote};
use adjutant_config::{Config, Policy, VoiceService};
use adjutant_fakes::speech::{FakeSpeech, Reply, note};
use serde_json::json;

use crate::app::{Downloaded, Heard, TestApp, configured, direct, plan, scripted_with};
use crate::scripted::{Scripted, Who, text};

fn service(speech: &FakeSpeech) -> VoiceService {
    VoiceService {
        base_url: speech.base_url(),
        name: "whisper-1".into(),
        api_key: None,
        timeout: std::time::Duration::from_millis(300),
        price_per_minute: 0.6,
    }
}

fn listens(speech: &FakeSpeech) -> impl FnOnce(&mut Config) {
    let service = service(speech);
    |config| config.voice.transcribe = vec![service]
}

fn attachment(file: &str, seconds: Option<u64>, bytes: Option<u64>) -> Attachment {
    let voice = VoiceNote { file: file.into(), mime_type: "audio/ogg".into(), seconds, bytes };
    Attachment { name: "voice.ogg".into(), voice: Some(voice), ..Attachment::default() }
}

impl TestApp {
    /// A person says something in a voice note of three seconds, without waiting for the answer.
    async fn speaks(&self, who: &str, words: &str) -> String {
        self.keeps(words, vec![Ok(note(3, words))]);
        self.direct("home").sends(who, "", None, vec![attachment(words, Some(3), Some(2000))]).await
    }

    /// A note that can't be heard; returns what its writer is told.
    async fn fails_to_hear(&self, download: Downloaded, attached: Attachment) -> String {
        self.keeps(&attached.voice.as_ref().unwrap().file.clone(), vec![download]);
        let event = self.direct("home").sends("ada", "", None, vec![attached]).await;
        self.answer(&event).await.text
    }
}

fn echo() -> Scripted {
    Scripted::new().orchestrator(|request| {
        let said = request.messages.last().map(|message| message.text.clone()).unwrap_or_default();
        text(format!("You said: {said}"))
    })
}

#[tokio::test]
async fn a_voice_note_is_shown_and_done_in_basic_mode_too() {
    let speech = FakeSpeech::start();
    speech.knows(b"milk", "Add a task to buy milk.");
    let app = configured(listens(&speech)).await;
    let event = app.speaks("ada", "milk").await;
    let answer = app.answer(&event).await;
    assert_eq!(answer.text, "Added “buy milk”");
    assert_eq!(app.texts()[0], "🎤 “Add a task to buy milk.”");
    let asked = speech.asked();
    let (name, kind, content) = asked[0].file.clone().unwrap();
    assert_eq!((name.as_str(), kind.as_str(), content), ("voice.ogg", "audio/ogg", note(3, "milk")));
    assert_eq!(asked[0].fields["model"], "whisper-1");
    assert_eq!(asked.len(), 1, "it arrived twice and was heard once");
    let used = adjutant_store::usage::by_model(app.store(), 0, i64::MAX).await.unwrap();
    let voice = used.iter().find(|row| row.name == "whisper-1").unwrap();
    assert_eq!(voice.calls, 1);
    assert!((voice.cost_usd - 0.03).abs() < 1e-9, "three seconds of 0.6 dollars a minute");
    app.ends_well().await;
}

#[tokio::test]
async fn later_messages_wait_for_it_and_those_of_others_do_not() {
    let speech = FakeSpeech::start();
    speech.reply([Reply::Busy(4), Reply::Words("first".into())]);
    let app = scripted_with(echo(), listens(&speech)).await;
    let spoken = app.speaks("ada", "x").await;
    let typed = app.tells("ada", "second").await;
    let other = app.direct("elsewhere").says("bob", "meanwhile").await;
    assert_eq!(other.text, "You said: meanwhile");
    assert!(app.texts().iter().all(|text| !text.contains("second")), "{:?}", app.texts());
    let answer = app.answer(&typed).await;
    assert_eq!(answer.text, "You said: 🎤 first\nsecond");
    assert_eq!(app.answer(&spoken).await.text, answer.text);
    app.ends_well().await;
}

#[tokio::test]
async fn each_failure_is_a_sentence() {
    let speech = FakeSpeech::start();
    let app = scripted_with(echo(), listens(&speech)).await;
    let fine = || Ok(note(3, "fine"));
    let told = [
        app.fails_to_hear(fine(), attachment("long", Some(3 * 3600), Some(9))).await,
        app.fails_to_hear(Ok(note(3 * 3600, "")), attachment("lies", Some(3), None)).await,
        app.fails_to_hear(fine(), attachment("big", Some(3), Some(200 << 20))).await,
        app.fails_to_hear(Ok(vec![b'O'; 21 << 20]), attachment("bigger", Some(3), None)).await,
        app.fails_to_hear(fine(), attachment("zero", Some(0), Some(0))).await,
        app.fails_to_hear(Ok(b"<html>".to_vec()), attachment("page", Some(3), None)).await,
        app.fails_to_hear(Ok(Vec::new()), attachment("nothing", Some(3), None)).await,
        app.fails_to_hear(Err(DownloadError::Gone("expired".into())), attachment("gone", None, None)).await,
    ];
    assert_eq!(speech.asked().len(), 0, "nobody pays for these");
    speech.reply([
        Reply::Status(401, "bad key"),
        Reply::Status(400, "unknown codec"),
        Reply::Status(400, "unknown codec"),
    ]);
    let refused = [
        app.fails_to_hear(fine(), attachment("key", Some(3), None)).await,
        app.fails_to_hear(fine(), attachment("codec", Some(3), None)).await,
    ];
    let mut starts: Vec<String> = Vec::new();
    for text in told.iter().chain(&refused) {
        starts.push(text.split(['.', ';']).next().unwrap().to_owned());
        assert!(text.contains("again") || text.contains("type") || text.contains("pieces"), "{text}");
    }
    assert_eq!(
        starts,
        [
            "That voice note is too long: I listen to 10 minutes at most",
            "That voice note is too long: I listen to 10 minutes at most",
            "That voice note is too big: I take up to 20 MB",
            "That voice note is too big: I take up to 20 MB",
            "That voice note is empty",
            "I can't play that file: it isn't sound in a format I know",
            "I can't play that file: it isn't sound in a format I know",
            "I couldn't listen to your voice note: the file isn't there anymore",
            "I couldn't listen to your voice note: I can't sign in to the transcription service",
            "I couldn't listen to your voice note: the transcription service refused the recording",
        ]
    );
    app.ends_well().await;
}

#[tokio::test]
async fn a_service_that_passes_through_trouble_is_asked_again_and_then_the_next_one() {
    let (first, second) = (FakeSpeech::start(), FakeSpeech::start());
    first.reply([
        Reply::Status(500, "oops"),
        Reply::Page,
        Reply::Words("one".into()),
        Reply::Hang,
        Reply::Hang,
    ]);
    second.reply([Reply::Words("two".into())]);
    let (one, two) = (service(&first), VoiceService { name: "local".into(), ..service(&second) });
    let app = scripted_with(echo(), |config| config.voice.transcribe = vec![one, two]).await;
    let event = app.speaks("ada", "a").await;
    assert_eq!(app.answer(&event).await.text, "You said: 🎤 one");
    // The second note's download breaks off once.
    let broken = Err(DownloadError::Passing("cut".into(), None));
    app.keeps("b", vec![broken, Ok(note(1, "b"))]);
    let event = app.direct("home").sends("ada", "", None, vec![attachment("b", None, None)]).await;
    assert_eq!(app.answer(&event).await.text, "You said: 🎤 two");
    app.ends_well().await;
}

#[tokio::test]
async fn a_service_that_stays_in_trouble_is_a_sentence_and_what_comes_next_is_answered() {
    for_each_trouble([
        (Reply::Status(500, "oops"), "I can't reach the transcription service right now"),
        (Reply::Page, "the transcription service gave no usable answer"),
        (Reply::Busy(60), "the transcription service is overloaded or its quota is used up"),
        (Reply::Hang, "the transcription service took too long"),
    ])
    .await;
}

async fn for_each_trouble<const N: usize>(troubles: [(Reply, &str); N]) {
    futures::future::join_all(troubles.map(async |(trouble, told)| {
        let speech = FakeSpeech::start();
        speech.reply(std::iter::repeat_n(trouble.clone(), 4));
        // Long enough for every try; what hangs is waited for twice.
        let timeout =
            std::time::Duration::from_millis(if matches!(trouble, Reply::Hang) { 100 } else { 9_000 });
        let service = VoiceService { timeout, ..service(&speech) };
        let app = scripted_with(echo(), |config| config.voice.transcribe = vec![service]).await;
        let heard = app.fails_to_hear(Ok(note(1, "a")), attachment("a", Some(1), None)).await;
        assert_eq!(
            heard,
            format!("I couldn't listen to your voice note: {told}. Please send it again later, or type it.")
        );
        assert!(!speech.asked().is_empty());
        assert_eq!(app.says("ada", "typed then").await.text, "You said: typed then");
        app.ends_well().await;
    }))
    .await;
}

#[tokio::test]
async fn words_in_another_language_are_asked_about() {
    let speech = FakeSpeech::start();
    let app = scripted_with(echo(), |config| {
        listens(&speech)(config);
        config.voice.languages = vec!["en".into(), "de".into()];
    })
    .await;
    let in_language =
        |text: &str, language: &str| Reply::Transcript(json!({"text": text, "language": language}));
    speech.reply([in_language("Gracias por todo", "spanish"), in_language("Ruf Ada an", "german")]);
    let event = app.speaks("ada", "a").await;
    let told = app.answer(&event).await.text;
    assert!(
        told.starts_with("🎤 “Gracias por todo”\nDid you really say that? It isn't a language"),
        "{told}"
    );
    let event = app.speaks("ada", "b").await;
    assert_eq!(app.answer(&event).await.text, "You said: 🎤 Ruf Ada an");
    app.ends_well().await;
}

/// Of two who talk at once, a service hears bits of both, and isn't sure of them.
#[tokio::test]
async fn two_voices_in_one_note_are_asked_about() {
    let speech = FakeSpeech::start();
    let app = scripted_with(echo(), listens(&speech)).await;
    speech.reply([Reply::Transcript(
        json!({"text": "call no the blue delete one", "language": "english", "segments": [
            {"start": 0.0, "end": 1.5, "avg_logprob": -1.9, "no_speech_prob": 0.2},
            {"start": 1.5, "end": 3.0, "avg_logprob": -0.7, "no_speech_prob": 0.1},
        ]}),
    )]);
    let event = app.speaks("ada", "a").await;
    let told = app.answer(&event).await.text;
    assert!(told.starts_with("🎤 “call no the blue delete one”\nI'm not sure"), "{told}");
    assert!(app.requests(Who::Orchestrator).is_empty(), "no model acts on it");
    app.ends_well().await;
}

#[tokio::test]
async fn without_a_service_it_says_so_and_what_was_written_beside_it_counts() {
    let app = scripted_with(echo(), |_| {}).await;
    let event = app.speaks("ada", "hello").await;
    let told = app.answer(&event).await.text;
    assert!(told.contains("no transcription service is set up"), "{told}");
    let event =
        app.direct("home").sends("ada", "keep this", None, vec![attachment("song", Some(3), None)]).await;
    assert_eq!(app.answer(&event).await.text, "You said: keep this\n\n[file voice.ogg, which I can't read]");
    app.ends_well().await;
}

#[tokio::test]
async fn doubtful_words_are_asked_about_and_a_yes_confirms_them() {
    let speech = FakeSpeech::start();
    let app = scripted_with(echo(), listens(&speech)).await;
    speech.reply([
        Reply::Words("Thank you.".into()),
        Reply::Words(String::new()),
        Reply::Words("and so on ".repeat(60)),
        Reply::Transcript(
            json!({"text": "call Ada", "segments": [{"avg_logprob": -1.7, "no_speech_prob": 0.2}]}),
        ),
    ]);
    for (file, told) in [
        ("a", "🎤 “Thank you.”\nDid you say that? It may just have been silence."),
        ("b", "I couldn't hear any words"),
        ("c", "That transcript can't be right, so I ignored it."),
    ] {
        let event = app.speaks("ada", file).await;
        let answer = app.answer(&event).await.text;
        assert!(answer.starts_with(told), "{answer}");
    }
    assert_eq!(app.says("ada", "yes").await.text, "You said: yes", "nothing was heard that could be meant");
    let event = app.speaks("ada", "d").await;
    assert!(app.answer(&event).await.text.contains("I'm not sure that I heard that right"));
    assert_eq!(app.says("ada", "Yes!").await.text, "You said: 🎤 call Ada");
    assert_eq!(app.says("ada", "yes").await.text, "You said: yes", "once");
    app.ends_well().await;
}

#[tokio::test]
async fn a_spoken_yes_approves_nothing_and_a_spoken_no_rejects() {
    let speech = FakeSpeech::start();
    let send = || direct("a", "tasks.create", json!({"title": "pay"}));
    let script = Scripted::new().orchestrator(plan(send));
    let app = scripted_with(script, |config| {
        listens(&speech)(config);
        config.approval.low = Policy::Ask;
    })
    .await;
    speech.reply(["Yes.", "Approve!", "No."].map(|words| Reply::Words(words.into())));
    let question: Heard = app.says("ada", "pay it").await;
    assert_eq!(question.buttons(), ["Approve", "Reject"]);
    for file in ["a", "b"] {
        let event = app.speaks("ada", file).await;
        let told = app.answer(&event).await.text;
        assert!(told.contains("A spoken yes isn't enough"), "{told}");
    }
    let open = "SELECT count(*) FROM questions WHERE state = 'pending'";
    assert_eq!(app.store().count(open, &[]).await.unwrap(), 1);
    let event = app.speaks("ada", "c").await;
    app.answer(&event).await;
    assert_eq!(app.store().count(open, &[]).await.unwrap(), 0);
    app.ends_well().await;
}

#[tokio::test]
async fn a_budget_that_is_used_up_is_said_before_anything_is_paid() {
    let speech = FakeSpeech::start();
    speech.knows(b"a", "one");
    let app = scripted_with(echo(), |config| {
        listens(&speech)(config);
        config.limits.day_cost_usd = 0.05;
    })
    .await;
    let event = app.speaks("ada", "a").await;
    assert_eq!(app.answer(&event).await.text, "You said: 🎤 one");
    let event = app.speaks("ada", "a2").await;
    let told = app.answer(&event).await.text;
    assert!(told.contains("today's budget is used up"), "{told}");
    assert_eq!(speech.asked().len(), 1);
    app.ends_well().await;
}
