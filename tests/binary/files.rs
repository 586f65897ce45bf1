//! Files on every platform and in the terminal, in the real binary: fetched and answered once, whatever dies.

use serde_json::json;

use crate::answers::wait_for_answers;
use crate::gateway::{Gateway, wait_until};
use crate::platform::{Make, PLATFORMS, Platform};
use crate::process::Home;

const CONTENT: &str = "The code is 1234";

struct World {
    platform: Box<dyn Platform>,
    home: Home,
}

impl World {
    fn new(make: Make) -> Self {
        let platform = make(1);
        let home = Home::with_config(&format!("[http]\nlisten = \"\"\n{}", platform.config()));
        Self { platform, home }
    }

    fn start(&self, variables: &[(&str, &str)]) -> Gateway {
        let before = self.platform.heard();
        let gateway = Gateway::start_with(&self.home, variables);
        wait_until("it receives", || self.platform.heard() > before);
        gateway
    }

    #[track_caller]
    fn is_answered_once(&self, what: &str) {
        let name = self.platform.name();
        wait_for_answers(&*self.platform, 1, what);
        let said = self.platform.said();
        assert_eq!(said.len(), 1, "{name} {what}: {said:?}");
        assert!(said[0].contains(CONTENT), "{name} {what}: {said:?}");
    }
}

#[test]
fn killed_at_each_step_a_file_is_read_and_answered_once() {
    let points = ["journalled", "file-kept", "files-fetched", "turn-started", "skill-worked", "turn-ended"];
    for (number, point) in points.into_iter().enumerate() {
        let world = World::new(PLATFORMS[number % PLATFORMS.len()]);
        let gateway = world.start(&[("ADJUTANT_FAIL_POINT", point)]);
        world.platform.send_file(0, "read this file", "note.txt", CONTENT);
        gateway.dies();
        let gateway = world.start(&[]);
        world.is_answered_once(point);
        assert_eq!(gateway.stop().0, Some(0));
        world.home.assert_tidy(point);
        assert_eq!(world.home.count("SELECT count(*) FROM attachments"), 1, "{point}");
        let kept = std::fs::read_dir(world.home.data().join("files")).unwrap();
        assert_eq!(kept.count(), 1, "{point}");
    }
}

#[test]
fn the_terminal_and_programs_send_files_by_their_paths() {
    let home = Home::new();
    home.write("my note.txt", CONTENT);
    home.write("empty.txt", "");
    let path = home.path().join("my note.txt");
    let mut chat = home.chat();
    assert!(chat.send(&json!({"text": "read this file", "id": "a", "files": [path]})));
    assert!(chat.reply("a")["text"].as_str().unwrap().contains(CONTENT));
    assert!(chat.send_raw(format!("/attach \"{}\" read the file\n", path.display()).as_bytes()));
    let answered = chat.find(|event| event["event"] == "reply").unwrap();
    assert!(answered["text"].as_str().unwrap().contains(CONTENT), "{answered}");
    let empty = home.path().join("empty.txt");
    assert!(chat.send(&json!({"id": "e", "files": [empty]})));
    assert_eq!(chat.reply("e")["text"], "“empty.txt” is empty. Please send it again.");
    for line in [
        json!({"text": "read it", "files": ["/nowhere/at.all"]}),
        json!({"text": "read it", "files": [home.path()]}),
        json!({"text": "read it", "files": "x"}),
        json!({"press": "p", "files": [path]}),
    ] {
        assert!(chat.send(&line));
        let error = chat.find(|event| event["event"] == "error").unwrap();
        assert!(!error["message"].as_str().unwrap().is_empty(), "{line}");
    }
    chat.finish_well();
    let once = home.run(&["chat", "--once", &format!("/attach \"{}\" read this file", path.display())]);
    assert!(once.stdout.contains(CONTENT), "{}", once.stdout);
    home.assert_tidy("files");
}
