//! Answers that are claimed in the commit that ends their turn: the process dies before, while and after they are sent.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_fakes::telegram::FakeTelegram;

use crate::gateway::{DEADLINE, Gateway, wait_until};
use crate::platform::PLATFORMS;
use crate::process::Home;

/// What a dead process left of the answer, by the point where it died.
const LEFT: [(&str, &str); 4] = [
    ("turn-before-end:2", ""),
    ("turn-ended:2", "sending"),
    ("outbox-sent:2", "sending"),
    ("outbox-receipt:2", "sent"),
];

#[test]
fn an_answer_claimed_with_the_end_of_its_turn_is_said_once_wherever_the_process_dies() {
    for (number, (point, state)) in LEFT.into_iter().enumerate() {
        let platform = PLATFORMS[number % PLATFORMS.len()](1);
        let home = Home::with_config(&format!("[http]\nlisten = \"\"\n{}", platform.config()));
        let first = Gateway::start_with(&home, &[("ADJUTANT_FAIL_POINT", point)]);
        // The adapter learns the place with the first message.
        wait_until("it receives", || platform.heard() > 0);
        platform.say(0, "add a task to call Ada");
        assert!(platform.wait_for_said(1, DEADLINE), "{point}");
        wait_until("its receipt is stored", || {
            home.count("SELECT count(*) FROM outbox WHERE state = 'sent'") == 1
        });
        platform.say(0, "add a task to buy milk");
        first.dies();
        let claimed = home.count("SELECT count(*) FROM outbox WHERE state = 'sending' AND attempts = 1");
        let settled = home.count("SELECT count(*) FROM outbox WHERE state = 'sent'") - 1;
        let left = match (claimed, settled) {
            (1, 0) => "sending",
            (0, 1) => "sent",
            _ => "",
        };
        assert_eq!(left, state, "{} {point}", platform.name());
        let second = Gateway::start(&home);
        platform.say(0, "add a task to buy bread");
        wait_until("all is sent", || home.count("SELECT count(*) FROM outbox WHERE state = 'sent'") == 3);
        assert_eq!(second.stop().0, Some(0));
        let mut said = platform.said();
        said.sort();
        assert_eq!(
            said,
            ["Added “buy bread”", "Added “buy milk”", "Added “call Ada”"],
            "{} {point}",
            platform.name()
        );
        home.assert_tidy(point);
    }
}

#[test]
fn the_part_that_a_progress_message_became_stays_after_a_crash() {
    let telegram = FakeTelegram::start();
    let ada = telegram.person("Ada");
    let is_open = Arc::new(AtomicBool::new(false));
    let gate = is_open.clone();
    let model = FakeModel::start(move |_| {
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        Reply::text(&"a long line\n".repeat(500))
    });
    let home = Home::with_config(&format!(
        "[http]\nlisten = \"\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
         [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
        model.base_url(),
        telegram.token(),
        telegram.api_url()
    ));
    let first = Gateway::start_with(&home, &[("ADJUTANT_FAIL_POINT", "outbox-receipt")]);
    telegram.say(ada, ada, "write");
    let seen = || telegram.seen(ada).into_iter().map(|seen| seen.text).collect::<Vec<_>>();
    wait_until("its progress is shown", || seen().iter().any(|text| text.contains("Working on it")));
    is_open.store(true, Ordering::SeqCst);
    first.dies();
    assert_eq!(seen().len(), 1, "the first part stands in the place of the progress");
    assert_eq!(home.count("SELECT count(*) FROM turns WHERE progress_receipt IS NOT NULL"), 0);
    let second = Gateway::start(&home);
    wait_until("all is sent", || home.count("SELECT count(*) FROM outbox WHERE state = 'sent'") == 1);
    assert_eq!(second.stop().0, Some(0));
    let lines: usize = seen().iter().map(|text| text.matches("a long line").count()).sum();
    assert_eq!((seen().len(), lines), (2, 500), "{:?}", seen());
}
