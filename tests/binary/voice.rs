//! Voice notes on every platform, in the real binary: heard and answered once, whatever dies or breaks off.

use std::collections::BTreeMap;

use adjutant_fakes::discord::FakeDiscord;
use adjutant_fakes::sounds::Download;
use adjutant_fakes::speech::{FakeSpeech, note};
use adjutant_fakes::speech_judge::SpeechJudge;
use adjutant_fakes::telegram::FakeTelegram;

use crate::answers::wait_for_answers;
use crate::gateway::{DEADLINE, Gateway, wait_until};
use crate::platform::{Make, PLATFORMS, Platform};
use crate::process::Home;

const WORDS: &str = "add a task to call Ada";

struct World {
    platform: Box<dyn Platform>,
    speech: FakeSpeech,
    home: Home,
}

impl World {
    fn new(make: Make) -> Self {
        Self::with(make, false)
    }

    fn with(make: Make, speaks: bool) -> Self {
        let (platform, speech) = (make(3), FakeSpeech::start());
        let address = speech.base_url();
        let speak =
            format!("[voice.speak]\nname = \"tts-1\"\nbase_url = \"{address}\"\nprice_per_minute = 0.6\n");
        let config = format!(
            "[http]\nlisten = \"\"\n{}[voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{address}\"\n{}",
            platform.config(),
            if speaks { speak.as_str() } else { "" }
        );
        let home = Home::with_config(&config);
        speech.speaks(&note(2, "It is done."));
        speech.knows(WORDS.as_bytes(), WORDS);
        Self { platform, speech, home }
    }

    /// Starts the gateway, and waits until it receives.
    fn start(&self, variables: &[(&str, &str)]) -> Gateway {
        let before = self.platform.heard();
        let gateway = Gateway::start_with(&self.home, variables);
        wait_until("it receives", || self.platform.heard() > before);
        gateway
    }

    /// Waits for what was heard and the answer, and that there is no more of either.
    #[track_caller]
    fn is_answered_once(&self, what: &str) {
        let name = self.platform.name();
        wait_for_answers(&*self.platform, 2, what);
        let mut said: BTreeMap<String, usize> = BTreeMap::new();
        self.platform.said().into_iter().for_each(|text| *said.entry(text).or_default() += 1);
        let heard = format!("🎤 “{WORDS}”");
        assert_eq!(said.get(&heard), Some(&1), "{name} {what}: {said:?}");
        assert_eq!(said.len(), 2, "{name} {what}: {said:?}");
        assert!(said.values().all(|times| *times == 1), "{name} {what}: {said:?}");
        assert_eq!(self.home.tasks(), ["call Ada"], "{name} {what}");
    }
}

#[test]
fn killed_at_each_step_a_voice_note_is_answered_once() {
    let points = [
        "journalled",
        "voice-downloaded",
        "voice-transcribed",
        "voice-heard",
        "turn-started",
        "outbox-sent",
        "turn-ended",
    ];
    // Each platform takes part, and each step on the one whose turn it is.
    for (number, point) in points.into_iter().enumerate() {
        let world = World::new(PLATFORMS[number % PLATFORMS.len()]);
        let gateway = world.start(&[("ADJUTANT_FAIL_POINT", point)]);
        world.platform.speak(0, &note(3, WORDS), 3);
        gateway.dies();
        let gateway = world.start(&[]);
        world.is_answered_once(point);
        assert_eq!(gateway.stop().0, Some(0));
        world.home.assert_tidy(point);
        let heard = world.speech.asked().len();
        let twice = ["voice-transcribed"].contains(&point);
        assert_eq!(heard, if twice { 2 } else { 1 }, "{point}");
    }
}

#[test]
fn downloads_that_break_off_are_repeated_on_every_platform() {
    for make in PLATFORMS {
        let world = World::new(make);
        world.platform.spoil_downloads(Download::Status(429), 1);
        world.platform.spoil_downloads(Download::Cut, 1);
        let gateway = world.start(&[]);
        world.platform.speak(0, &note(3, WORDS), 3);
        world.is_answered_once("after 429 and a cut");
        assert_eq!(gateway.stop().0, Some(0));
        assert_eq!(world.speech.asked().len(), 1);
    }
}

#[test]
fn two_people_speak_at_once_and_a_file_that_is_gone_is_said() {
    for make in PLATFORMS {
        let world = World::new(make);
        world.speech.knows(b"milk", "add a task to buy milk");
        let gateway = world.start(&[]);
        world.platform.speak(0, &note(3, WORDS), 3);
        world.platform.speak(1, &note(3, "milk"), 3);
        wait_for_answers(&*world.platform, 4, "both are answered");
        assert_eq!(world.home.tasks(), ["buy milk", "call Ada"]);
        // Discord's address is renewed, and then it is gone for good.
        world.platform.spoil_downloads(Download::Status(404), 2);
        world.platform.speak(2, &note(3, WORDS), 3);
        wait_for_answers(&*world.platform, 5, "it is said");
        let told = world.platform.said().into_iter().find(|text| text.contains("couldn't listen"));
        assert!(told.is_some_and(|told| told.contains("the file isn't there anymore")));
        assert_eq!(gateway.stop().0, Some(0));
        assert_eq!(world.home.tasks().len(), 2);
    }
}

#[test]
fn an_answer_to_a_voice_note_is_spoken_once() {
    for (make, point) in PLATFORMS.into_iter().zip(["speech-made", "outbox-claimed:3", "outbox-sent:3"]) {
        let world = World::with(make, true);
        let gateway = world.start(&[("ADJUTANT_FAIL_POINT", point)]);
        world.platform.speak(0, &note(3, WORDS), 3);
        gateway.dies();
        let gateway = world.start(&[]);
        assert!(world.platform.wait_for_said(3, DEADLINE), "{point}: {:?}", world.platform.said());
        wait_until("it is spoken", || world.platform.voices() > 0);
        // A typed message has a written answer.
        world.platform.say(0, "add a task to buy bread");
        wait_until("it is written", || world.platform.said().iter().any(|text| text.contains("buy bread")));
        assert_eq!(gateway.stop().0, Some(0));
        assert_eq!(world.platform.voices(), 1, "{point}: {:?}", world.platform.said());
        let asked = world.speech.asked();
        let spoken: Vec<_> = asked.iter().filter(|asked| asked.path == "/v1/audio/speech").collect();
        assert_eq!(spoken.len(), 1, "{point}");
        assert_eq!(spoken[0].fields["voice"], "alloy");
        assert!(spoken[0].fields["input"].contains("call Ada"), "{:?}", spoken[0].fields);
        let cost = "SELECT count(*) FROM background_calls WHERE model = 'tts-1' AND audio_ms = 2000 AND cost_usd > 0.0199";
        assert_eq!(world.home.count(cost), 1);
        world.home.assert_tidy(point);
    }
}

#[test]
fn an_answer_that_cannot_be_spoken_is_read() {
    for make in PLATFORMS {
        let world = World::with(make, true);
        world.speech.speaks(b"no sound");
        let gateway = world.start(&[]);
        world.platform.speak(0, &note(3, WORDS), 3);
        world.is_answered_once("with a service that says nothing");
        assert_eq!(gateway.stop().0, Some(0));
        assert_eq!(world.platform.voices(), 0);
        world.home.assert_tidy("with a service that says nothing");
    }
}

#[test]
fn a_strangers_note_is_downloaded_only_once_they_are_let_in() {
    let (telegram, speech) = (FakeTelegram::start(), FakeSpeech::start());
    let (ada, bob) = (telegram.person("Ada"), telegram.person("Bob"));
    speech.knows(WORDS.as_bytes(), WORDS);
    let home = Home::with_config(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[http]\nlisten = \"\"\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\n\
         [voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{}\"\n",
        telegram.token(),
        telegram.api_url(),
        speech.base_url()
    ));
    let gateway = Gateway::start(&home);
    telegram.speak(bob, bob, &note(3, WORDS), 3);
    wait_until("he is asked for a code", || telegram.seen(bob).len() == 1);
    assert_eq!(gateway.stop().0, Some(0));
    // Nor when the next process looks at what is left to do.
    let gateway = Gateway::start(&home);
    telegram.say(ada, ada, "add a task to wait");
    wait_until("it works", || home.tasks() == ["wait"]);
    assert_eq!((telegram.downloads(), speech.asked().len()), (0, 0));
    let code = telegram.seen(bob)[0].text.lines().last().unwrap().to_owned();
    let approved = home.run(&["pair", "approve", &code]);
    assert_eq!(approved.status, Some(0), "{approved:?}");
    wait_until("it is done", || home.tasks() == ["call Ada", "wait"]);
    let texts = || telegram.seen(bob).into_iter().map(|seen| seen.text).collect::<Vec<_>>();
    wait_until("it is answered", || texts().iter().any(|text| text.starts_with("Added")));
    assert_eq!(gateway.stop().0, Some(0));
    assert!(texts().contains(&format!("🎤 “{WORDS}”")), "{:?}", texts());
    assert_eq!((telegram.downloads(), speech.asked().len()), (1, 1));
    home.assert_tidy("after a stranger's note");
}

#[test]
fn an_address_of_discord_that_expired_meanwhile_is_renewed() {
    let (discord, speech) = (FakeDiscord::start(), FakeSpeech::start());
    let place = discord.dm("ada");
    speech.knows(WORDS.as_bytes(), WORDS);
    let home = Home::with_config(&format!(
        "[http]\nlisten = \"\"\n[channels.discord]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n\
         [voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{}\"\n",
        adjutant_fakes::discord::TOKEN,
        discord.api_url(),
        speech.base_url()
    ));
    // The process dies with the note in its journal; before the next one starts, the address is too old.
    let gateway = Gateway::start_with(&home, &[("ADJUTANT_FAIL_POINT", "journalled")]);
    wait_until("it receives", || discord.sessions().0 > 0);
    discord.speak("ada", &place, &note(3, WORDS), 3);
    gateway.dies();
    discord.expire_addresses();
    let gateway = Gateway::start(&home);
    wait_until("it is done", || home.tasks() == ["call Ada"]);
    wait_until("it is answered", || discord.seen(&place).len() == 2);
    assert_eq!(gateway.stop().0, Some(0));
    assert_eq!(discord.seen(&place)[0].text, format!("🎤 “{WORDS}”"));
    assert_eq!(discord.downloads(), 2, "with the former address, and with the new one");
    assert_eq!(speech.asked().len(), 1);
    home.assert_tidy("after an expired address");
}

/// A round trip without a network: espeak-ng speaks, pocketsphinx understands.
#[test]
fn real_speech_is_understood() {
    let Some(judge) = SpeechJudge::start().unwrap() else { return };
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let config = format!(
        "[http]\nlisten = \"\"\n[channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n\
         [voice.transcribe]\nname = \"pocketsphinx\"\nbase_url = \"{judge}\"\n\
         [voice.speak]\nname = \"espeak\"\nbase_url = \"{judge}\"\n",
        telegram.token(),
        telegram.api_url(),
        judge = judge.base_url()
    );
    let home = Home::with_config(&config);
    let gateway = Gateway::start(&home);
    for (number, words) in (1..).zip(["add a task to buy milk", "add a task to call the doctor"]) {
        let sound = judge.say(words).unwrap();
        telegram.speak(ada, ada, &sound, 3);
        // What was heard, the answer, and the answer aloud.
        wait_until("it is answered", || telegram.seen(ada).len() == 3 * number);
        let seen = telegram.seen(ada);
        assert_eq!(seen[3 * number - 3].text, format!("🎤 “{words}”"));
        let (seconds, sound) = telegram.voices(ada).remove(number - 1);
        assert!(seconds > 0, "{seconds} s");
        let answer = &seen[3 * number - 2].text;
        assert_eq!(judge.hear(&sound).unwrap(), words.replace("add a task to", "added"), "{answer}");
    }
    assert_eq!(home.tasks(), ["buy milk", "call the doctor"]);
    // A second of silence, and a file that only looks like sound.
    telegram.speak(ada, ada, &judge.say("").unwrap(), 1);
    wait_until("silence is answered", || telegram.seen(ada).len() == 7);
    assert!(telegram.seen(ada)[6].text.contains("couldn't hear any words"), "{:?}", telegram.seen(ada)[6]);
    telegram.speak(ada, ada, &note(1, "no codec at all"), 1);
    wait_until("an unknown codec is answered", || telegram.seen(ada).len() == 8);
    assert!(telegram.seen(ada)[7].text.contains("refused the recording"), "{:?}", telegram.seen(ada)[7]);
    assert_eq!(gateway.stop().0, Some(0));
    home.assert_tidy("after real speech");
}
