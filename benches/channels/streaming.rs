//! How soon an answer is seen that a model is writing, and what that costs. The model writes a token of four letters
//! every 50 ms, which is 20 a second.

use std::thread::sleep;
use std::time::{Duration, Instant};

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_test_support::platform::{Make, STREAMING};
use adjutant_test_support::process::Home;
use serde_json::json;

use crate::{House, PEOPLE, house_with, ms, numbers, row};

const TOKEN: Duration = Duration::from_millis(50);
const CLOSING: &str = "and that is all of it";

/// How many answers the first words of are timed in each place.
const ANSWERS: usize = 20;
/// The tokens of a long answer.
const LONG: usize = 2_000;
/// For how long the gateway's processor time is measured.
const MEASURED: Duration = Duration::from_secs(10);

/// Longer than the longest answer takes.
const DEADLINE: Duration = Duration::from_mins(4);

/// In private, and in the room.
const PLACES: [(Option<usize>, &str); 2] = [(Some(0), "in private"), (None, "in a room")];

pub(crate) fn run() {
    STREAMING.into_iter().for_each(first_words);
    first_words_of_a_program();
    calls();
    STREAMING.into_iter().for_each(cpu);
}

/// What the answer to a message begins with, which is its first token.
fn word(number: usize) -> String {
    format!("w{number:03}")
}

/// A model that answers with so many tokens.
fn model(tokens: usize) -> FakeModel {
    FakeModel::start(move |request| {
        if !has_tool(request, "dispatch_agent") {
            return Reply::text("{}");
        }
        let number = numbers(&last_message(request)).next().unwrap_or_default();
        // Each of these words is a token with its space.
        let rest = " and".repeat(tokens.saturating_sub(1 + CLOSING.len().div_ceil(4)));
        Reply::text(&format!("{}{rest} {CLOSING}", word(number))).tokens(TOKEN)
    })
}

fn house(platforms: &[Make], people: usize, tokens: usize) -> House {
    house_with(platforms, people, model(tokens), "timeout = \"300s\"\n")
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < DEADLINE, "never: {what}");
        sleep(Duration::from_micros(500));
    }
}

impl House {
    fn write(&self, platform: usize, person: Option<usize>, number: usize) {
        let (platform, text) = (&self.platforms[platform], format!("m{number}"));
        match person {
            Some(person) => platform.say(person, &text),
            None => platform.say_in_room(0, &text),
        }
    }

    /// Waits until this platform has the whole answer to a message.
    fn is_whole(&self, platform: usize, number: usize) {
        let is_it = |text: &String| text.contains(CLOSING);
        let has_begun = |text: &String| text.contains(&word(number));
        wait_until("the whole answer", || {
            // A long one comes in several messages, or as a file beside its beginning.
            let said = self.platforms[platform].said();
            said.iter().position(has_begun).is_some_and(|at| said[at..].iter().any(is_it))
        });
    }

    /// Waits until no turn runs: a draft may be whole a little earlier.
    fn rests(&self) {
        while self.home.count("SELECT count(*) FROM turns WHERE ended_at IS NULL") > 0 {
            sleep(Duration::from_millis(5));
        }
    }
}

/// From the model's first token to the first word on the platform.
fn first_words(make: Make) {
    let house = house(&[make], 1, 20);
    let platform = &house.platforms[0];
    for (at, (person, place)) in PLACES.into_iter().enumerate() {
        let time = |number: usize| {
            let first = word(number);
            house.write(0, person, number);
            wait_until("the first token", || house.model.first_words().len() > number);
            let is_seen = || platform.on_screen(person).iter().any(|text| text.contains(&first));
            wait_until("the first word", is_seen);
            let took = house.model.first_words()[number].elapsed();
            house.is_whole(0, number);
            house.rests();
            took
        };
        let times = (at * ANSWERS..(at + 1) * ANSWERS).map(time).collect();
        first_words_row(&format!("{}, {place}", platform.name()), times);
    }
}

/// The same in `chat --json`.
fn first_words_of_a_program() {
    let model = model(20);
    let url = model.base_url();
    let home = Home::with_config(&format!(
        "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{url}\"\n"
    ));
    let mut chat = home.chat();
    let time = |number: usize| {
        let id = format!("i{number}");
        chat.send(&json!({"id": id, "text": format!("m{number}")}));
        let first = word(number);
        chat.find(|event| event["event"] == "text" && event["text"].to_string().contains(&first));
        let took = model.first_words()[number].elapsed();
        chat.reply(&id);
        took
    };
    let times = (0..ANSWERS).map(time).collect();
    first_words_row("a program", times);
    chat.finish_well();
}

fn first_words_row(place: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let what = format!("{place}: a model's first token to the first word seen, p50 / slowest");
    row(&what, &format!("{} / {}", ms(times[ANSWERS / 2]), ms(times[ANSWERS - 1])), "200 ms");
}

/// What the gateway calls for one long answer, on all platforms at once.
fn calls() {
    let house = house(&STREAMING, 1, LONG);
    for (person, place) in PLACES {
        let before: Vec<usize> = house.platforms.iter().map(|platform| platform.calls()).collect();
        let number = usize::from(person.is_none());
        (0..house.platforms.len()).for_each(|platform| house.write(platform, person, number));
        (0..house.platforms.len()).for_each(|platform| house.is_whole(platform, number));
        house.rests();
        for (platform, before) in house.platforms.iter().zip(before) {
            let what = format!("{}, {place}: calls for an answer of {LONG} tokens in 100 s", platform.name());
            row(&what, &(platform.calls() - before).to_string(), "");
        }
    }
}

/// The gateway's processor time while it streams to many people at once.
fn cpu(make: Make) {
    let house = house(&[make], PEOPLE, 500);
    (0..PEOPLE).for_each(|person| house.write(0, Some(person), person));
    wait_until("all answers begin", || house.model.first_words().len() == PEOPLE);
    let before = house.cpu();
    sleep(MEASURED);
    let share = (house.cpu() - before) / MEASURED.as_secs_f64() / 10.0;
    let name = house.platforms[0].name();
    let what = format!("{name}: the gateway's CPU for {PEOPLE} answers of 20 tokens a second at once");
    row(&what, &format!("{share:.0} % of a core"), "50 %");
}
