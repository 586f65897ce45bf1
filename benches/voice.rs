//! What voice notes cost those who type, and how much memory they take: `cargo bench --bench voice`. Prints a table;
//! nothing here fails on a figure.
//!
//! The real binary on a loopback fake of Telegram, with a model server and a transcription service on loopback that
//! answer at once, and the embedded store with full durability.

#![cfg(test)] // so that the lints know it for no part of the product

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, last_message};
use adjutant_fakes::speech::{FakeSpeech, note};
use adjutant_test_support::platform::{Make, PLATFORMS, Platform};
use adjutant_test_support::process::Home;

/// Longer than anything here takes.
const DEADLINE: Duration = Duration::from_mins(1);

/// One who types, and those who speak.
const TYPIST: usize = 0;
const SPEAKERS: usize = 10;
/// Typed messages that are timed, after some that aren't.
const MESSAGES: usize = 1000;
const UNTIMED: usize = 200;
/// The size of a note whose memory is measured, in bytes.
const BIG: usize = 15 << 20;

/// The gateway with its surroundings.
struct Running {
    platform: Box<dyn Platform>,
    gateway: Child,
    said: usize,
    _home: Home,
    _model: FakeModel,
    _speech: FakeSpeech,
}

impl Running {
    fn start(make: Make, listens: bool) -> Self {
        let platform = make(1 + SPEAKERS);
        let model = FakeModel::start(|request| {
            let told = last_message(request);
            Reply::text(if told.contains("typed") { "typed" } else { "spoken" })
        });
        let speech = FakeSpeech::start();
        speech.knows(b"OpusHead", "a note of mine");
        let voice =
            format!("[voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{}\"\n", speech.base_url());
        let home = Home::with_config(&format!(
            "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n{}{}",
            model.base_url(),
            platform.config(),
            if listens { voice.as_str() } else { "" }
        ));
        let mut command = home.command(&["serve"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let gateway = command.spawn().unwrap();
        let begun = Instant::now();
        while platform.heard() == 0 {
            assert!(begun.elapsed() < DEADLINE, "it doesn't listen");
            std::thread::sleep(Duration::from_millis(1));
        }
        Self { platform, gateway, said: 0, _home: home, _model: model, _speech: speech }
    }

    /// Waits until the bot has said so much more.
    fn wait_for(&mut self, more: usize) {
        self.said += more;
        assert!(self.platform.wait_for_said(self.said, DEADLINE), "{:?}", self.platform.said().last());
    }

    /// The median and the 99th percentile of a typed message, in and out, one after the other.
    fn typed(&mut self) -> String {
        let mut times = Vec::new();
        for number in 0..UNTIMED + MESSAGES {
            let begun = Instant::now();
            self.platform.say(TYPIST, "typed");
            self.wait_for(1);
            if number >= UNTIMED {
                times.push(begun.elapsed());
            }
        }
        figures(&mut times)
    }

    /// The same, each right after somebody else's note, whose two messages may come earlier or later.
    fn typed_beside_notes(&mut self) -> String {
        let sound = note(3, &"x".repeat(200));
        let answered =
            |platform: &dyn Platform| platform.said().iter().filter(|text| *text == "typed").count();
        let mut times = Vec::new();
        let before = answered(&*self.platform);
        for number in 0..MESSAGES / 10 {
            self.platform.speak(1 + number % SPEAKERS, &sound, 3);
            let begun = Instant::now();
            self.platform.say(TYPIST, "typed");
            while answered(&*self.platform) <= before + number {
                assert!(begun.elapsed() < DEADLINE, "a typed message wasn't answered");
                std::thread::sleep(Duration::from_micros(100));
            }
            times.push(begun.elapsed());
            self.wait_for(3);
        }
        figures(&mut times)
    }

    /// A line of the process's status, in MB.
    fn status(&self, line: &str) -> f64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.gateway.id())).unwrap();
        let line = status.lines().find(|one| one.starts_with(line)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<f64>().unwrap() / 1024.0
    }

    /// How much more memory the process has at its peak than before, while it listens to big notes, all at once.
    fn growth(&mut self) -> f64 {
        let mut sound = note(60, &"x".repeat(200));
        let end = sound.split_off(sound.len() - 68);
        sound.resize(BIG - end.len(), 0);
        sound.extend(end);
        // Until their memory is as it stays: the first notes load code and buffers.
        for speaker in 0..2 {
            self.platform.speak(1 + speaker, &note(3, "first"), 3);
            self.wait_for(2);
        }
        std::thread::sleep(Duration::from_secs(3));
        let before = self.status("VmRSS:");
        std::fs::write(format!("/proc/{}/clear_refs", self.gateway.id()), "5").unwrap();
        for speaker in 0..SPEAKERS {
            self.platform.speak(1 + speaker, &sound, 60);
        }
        self.wait_for(2 * SPEAKERS);
        self.status("VmHWM:") - before
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.gateway.kill();
        let _ = self.gateway.wait();
    }
}

fn figures(times: &mut [Duration]) -> String {
    times.sort_unstable();
    let at = |percent: usize| times[times.len() * percent / 100].as_secs_f64() * 1000.0;
    format!("{:.1} / {:.1} ms", at(50), at(99))
}

fn row(what: &str, figure: &str, wanted: &str) {
    println!("| {what} | {figure} | {wanted} |");
}

fn main() {
    row("what", "measured", "target");
    row("---", "---", "---");
    let telegram = PLATFORMS[0];
    // Twice, because the machine isn't the same from one minute to the next.
    for _ in 0..2 {
        let typed = Running::start(telegram, false).typed();
        row("a typed message, without `[voice]`, p50 / p99", &typed, "");
        let typed = Running::start(telegram, true).typed();
        row("the same, with a transcription service", &typed, "the same");
    }
    let beside = Running::start(telegram, true).typed_beside_notes();
    row("the same, each right after somebody else's note", &beside, "");
    let name = format!("{SPEAKERS} notes of {} MB at once: memory at the peak, beyond before", BIG >> 20);
    for make in PLATFORMS {
        let mut running = Running::start(make, true);
        let growth = running.growth();
        row(&format!("{}: {name}", running.platform.name()), &format!("{growth:.1} MB"), "20 MB");
    }
}
