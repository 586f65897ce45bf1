//! What our own code fails on, on every platform: after three tries it is set aside, `doctor` shows it, and the next
//! message is taken.

use adjutant_store::Batch;

use crate::answers::wait_for_answers;
use crate::gateway::{Gateway, wait_until};
use crate::platform::PLATFORMS;
use crate::process::Home;

#[test]
fn an_update_that_our_code_fails_on_is_set_aside_and_the_next_one_is_taken() {
    for make in PLATFORMS {
        let platform = make(1);
        let name = platform.name();
        let home = Home::with_config(&format!("[http]\nlisten = \"\"\n{}", platform.config()));
        assert_eq!(home.run(&["db", "migrate"]).status, Some(0));
        home.ask(async |store| {
            let mut batch = Batch::new();
            batch.run(
                "CREATE TRIGGER poison BEFORE INSERT ON inbox WHEN NEW.text LIKE '%poison%' \
                 BEGIN SELECT RAISE(ABORT, 'it is poisoned'); END",
                [],
            );
            store.write(batch).await.unwrap();
        });
        let mut gateway = Gateway::start(&home);
        wait_until("it receives", || platform.heard() > 0);
        platform.say(0, "this is poison");
        platform.say(0, "add a task to survive");
        wait_for_answers(&*platform, 1, name);
        assert_eq!(platform.said().len(), 1, "{name}: {:?}", platform.said());
        gateway.logs("it is set aside, and the next one is taken");
        let doctor = home.run(&["doctor"]);
        let told = "1 arrival set aside because our code failed on it three times";
        assert!(doctor.stdout.contains(told), "{name}: {doctor:?}");
        assert_eq!(gateway.stop().0, Some(0), "{name}");
        assert_eq!(home.tasks(), ["survive"], "{name}");
    }
}
