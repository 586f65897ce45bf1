use std::path::Path;

use adjutant_chat::{AgentProgress, Choice};
use adjutant_fakes::conformance::{self, Platform, Seen};

use super::*;
use crate::json::Entry;
use crate::tree::Changes;
use crate::tree::tests::Screen;
use crate::turn_taking::choice_for;

/// A stdout that a test can read, and that takes only so much.
#[derive(Clone)]
struct Paper {
    text: Arc<Mutex<Vec<u8>>>,
    room: Arc<Mutex<Option<usize>>>,
    full: io::ErrorKind,
}

impl Paper {
    fn new() -> Self {
        Self { text: Arc::default(), room: Arc::default(), full: io::ErrorKind::StorageFull }
    }

    fn text(&self) -> String {
        String::from_utf8(self.text.lock().clone()).expect("UTF-8")
    }

    fn set_room(&self, room: Option<usize>) {
        *self.room.lock() = room;
    }
}

impl Write for Paper {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut room = self.room.lock();
        let taken = room.map_or(bytes.len(), |room| room.min(bytes.len()));
        if let Some(room) = &mut *room {
            *room -= taken;
        }
        if taken == 0 {
            return Err(self.full.into());
        }
        self.text.lock().extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A terminal or a pipe for the conformance suite.
struct World {
    dir: tempfile::TempDir,
    paper: Paper,
    style: Style,
    turns: Mutex<Arc<TurnTaking>>,
}

impl World {
    fn new(style: Style) -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        Self { dir, paper: Paper::new(), style, turns: Mutex::default() }
    }

    fn port(&self) -> ConsolePort {
        port(self.dir.path(), &self.style, &self.paper, Tree::Off)
    }
}

fn port(dir: &Path, style: &Style, paper: &Paper, tree: Tree) -> ConsolePort {
    let theme = Theme { width: 80, colour: false };
    let settings = Settings { channel: "console".into(), style: style.clone(), data_dir: dir.into(), theme };
    ConsolePort::with_tree(settings, Box::new(paper.clone()), tree).expect("a port")
}

fn interactive() -> Style {
    Style::Interactive { conversation: "main".into() }
}

#[async_trait]
impl Platform for World {
    fn connect(&self) -> Arc<dyn ChatPort> {
        let port = self.port();
        *self.turns.lock() = port.turns();
        Arc::new(port)
    }

    fn address(&self) -> Address {
        Address { channel: "console".into(), place: "main".into() }
    }

    async fn seen(&self) -> Vec<Seen> {
        let text = self.paper.text();
        if self.style == Style::Json {
            replies(&text)
        } else {
            vec![on_screen(text, &self.turns.lock().choices())]
        }
    }
}

/// What a program reads out of the lines.
fn replies(text: &str) -> Vec<Seen> {
    let events = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON"));
    let string = |value: &serde_json::Value| value.as_str().expect("a string").to_owned();
    let button =
        |value: &serde_json::Value| Choice { id: string(&value["id"]), label: string(&value["label"]) };
    let reply = |event: serde_json::Value| {
        let buttons = event["buttons"].as_array().expect("buttons, even if there are none");
        Seen { text: string(&event["text"]), choices: buttons.iter().map(button).collect(), file: None }
    };
    events.filter(|event| event["event"] == "reply").map(reply).collect()
}

/// What a person sees: the numbered labels, and what typing the numbers would press.
fn on_screen(text: String, pressable: &[Choice]) -> Seen {
    let below = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    let labels: Vec<&str> = if below.starts_with("1  ") {
        below.split(['\n']).flat_map(|line| line.split("   ")).collect()
    } else {
        vec![]
    };
    let choice = |label: &&str| {
        let (number, label) = label.split_once("  ").expect("a number and a label");
        let id = choice_for(number, pressable).expect("a choice").id.clone();
        Choice { id, label: label.to_owned() }
    };
    Seen { choices: labels.iter().map(choice).collect(), text, file: None }
}

#[tokio::test]
async fn the_terminal_keeps_every_promise() {
    conformance::check_all(|| World::new(interactive())).await;
}

#[tokio::test]
async fn json_lines_keep_every_promise() {
    conformance::check_all(|| World::new(Style::Json)).await;
}

fn outbound(id: &str, answers: &[&str]) -> Outbound {
    Outbound {
        id: id.to_owned(),
        address: Address { channel: "console".into(), place: "main".into() },
        turn: Some("t".into()),
        answers: answers.iter().map(|event| (*event).to_owned()).collect(),
        text: "Done.".into(),
        choices: vec![],
        form: adjutant_chat::Form::Rich,
        part: 0,
        checkpoint: None,
        edit_of: None,
        file: None,
        voice: None,
    }
}

#[tokio::test]
async fn once_shows_only_what_answers_its_message() {
    let world = World::new(Style::Once { event: EventId("main:1".into()) });
    let port = world.port();
    let other = Outbound { turn: Some("u".into()), ..outbound("a", &["main:0"]) };
    let ours = outbound("b", &["main:0", "main:1"]);
    assert!(!port.wants(&other) && port.wants(&ours));
    assert_eq!(port.deliver(&other).await, Delivery::Retry(None));
    assert_eq!(port.deliver(&ours).await, Delivery::Sent("b".into()));
    assert_eq!(world.paper.text(), "Done.\n");
}

#[test]
fn once_shows_all_that_the_turn_of_its_message_asks() {
    let port = World::new(Style::Once { event: EventId("main:1".into()) }).port();
    let of = |turn: Option<&str>, answers: &[&str]| Outbound {
        turn: turn.map(str::to_owned),
        ..outbound("a", answers)
    };
    assert!(!port.wants(&of(Some("t"), &[])), "whose turn it is, is not known yet");
    assert!(port.wants(&of(Some("t"), &["main:1"])));
    let wanted = [Some("t"), Some("u"), None].map(|turn| port.wants(&of(turn, &[])));
    assert_eq!(wanted, [true, false, false]);
}

#[test]
fn a_terminal_wants_its_conversation_and_a_program_its_channel() {
    let (person, program) = (World::new(interactive()).port(), World::new(Style::Json).port());
    let with = |channel: &str, place: &str| Outbound {
        address: Address { channel: channel.into(), place: place.into() },
        ..outbound("a", &[])
    };
    let wanted = |port: &ConsolePort| {
        [("console", "main"), ("console", "b"), ("slack", "main")].map(|(c, p)| port.wants(&with(c, p)))
    };
    assert_eq!(wanted(&person), [true, false, false]);
    assert_eq!(wanted(&program), [true, true, false]);
}

#[tokio::test]
async fn a_closed_pipe_leaves_it_to_the_next_process_and_a_full_disk_is_tried_again() {
    let mut world = World::new(Style::Json);
    world.paper.full = io::ErrorKind::BrokenPipe;
    world.paper.set_room(Some(0));
    let port = world.port();
    assert_eq!(port.deliver(&outbound("a", &[])).await, Delivery::Retry(None));
    port.reader_gone().await;
    world.paper.full = io::ErrorKind::StorageFull;
    let port = world.port();
    assert_eq!(port.deliver(&outbound("a", &[])).await, Delivery::Retry(None));
    world.paper.set_room(Some(10));
    assert_eq!(port.deliver(&outbound("a", &[])).await, Delivery::Unknown);
    assert_eq!(port.reconcile(&outbound("a", &[])).await, Reconciliation::NotSent);
    world.paper.set_room(None);
    assert_eq!(port.deliver(&outbound("a", &[])).await, Delivery::Sent("a".into()));
    let whole =
        world.paper.text().lines().nth(1).map(|line| serde_json::from_str::<serde_json::Value>(line).is_ok());
    assert_eq!(whole, Some(true), "{}", world.paper.text());
}

#[tokio::test]
async fn a_program_is_told_what_was_taken_and_what_was_not() {
    let world = World::new(Style::Json);
    let port = world.port();
    let inbound = Entry { id: Some("m1".into()), ..Entry::text("hi") }.into_inbound("console", &String::new);
    port.accepted(&inbound).await;
    port.bad_line(2, "No.").await;
    insta::assert_snapshot!(world.paper.text(), @r#"
    {"event":"accepted","id":"m1","conversation":"main"}
    {"event":"error","line":2,"message":"No."}
    "#);
    let person = World::new(interactive());
    person.port().accepted(&inbound).await;
    person.port().bad_line(2, "No.\u{1b}[2J").await;
    assert_eq!(person.paper.text(), "No.␛[2J\n");
}

fn progress(status: &str) -> Progress {
    let agent = AgentProgress {
        agent_id: "find".into(),
        status: status.into(),
        mission: "Find it".into(),
        skill: None,
        depends_on: vec![],
        elapsed_ms: 0,
    };
    let address = Address { channel: "console".into(), place: "main".into() };
    Progress { address, turn: "t".into(), step: Some("thinking".into()), agents: vec![agent], live: None }
}

#[tokio::test]
async fn progress_is_plain_lines_where_nothing_can_be_drawn() {
    let world = World::new(Style::Once { event: EventId("main:1".into()) });
    let stderr = Paper::new();
    let tree = Tree::Plain(Box::new(stderr.clone()), Changes::default());
    let port = port(world.dir.path(), &world.style, &world.paper, tree);
    for status in ["running", "running", "completed"] {
        port.progress(&progress(status)).await;
    }
    assert_eq!(stderr.text(), "› find running: Find it\n✓ find completed: Find it\n");
    assert_eq!(world.paper.text(), "");
}

#[tokio::test]
async fn no_tree_is_drawn_while_the_floor_is_the_persons() {
    let world = World::new(interactive());
    let stderr = Paper::new();
    let tree = Tree::Plain(Box::new(stderr.clone()), Changes::default());
    let port = port(world.dir.path(), &world.style, &world.paper, tree);
    port.progress(&progress("running")).await;
    assert_eq!(stderr.text(), "");
    port.turns().sent(&EventId("main:1".into()));
    port.progress(&progress("running")).await;
    assert_eq!(stderr.text(), "› find running: Find it\n");
    port.deliver(&outbound("a", &["main:1"])).await;
    assert!(port.turns().is_free());
}

#[tokio::test]
async fn a_program_sees_progress_in_order() {
    let world = World::new(Style::Json);
    let port = world.port();
    port.progress(&progress("running")).await;
    port.progress(&progress("running")).await;
    port.progress(&progress("completed")).await;
    port.deliver(&outbound("a", &[])).await;
    let text = world.paper.text();
    let words: Vec<&str> =
        ["running", "completed", "Done."].into_iter().filter(|word| text.contains(word)).collect();
    assert_eq!((words.len(), text.lines().count()), (3, 3), "{text}");
}

async fn show_draft(port: &ConsolePort, event: Option<&str>, place: &str, text: &str) {
    let address = &Address { channel: "console".into(), place: place.into() };
    let draft = AnswerDraft { turn: "t", event, address, receipt: None, text };
    assert_eq!(port.show_draft(&draft).await, Delivery::Sent(String::new()), "it is no message");
}

#[tokio::test]
async fn a_program_reads_an_answer_while_it_is_written() {
    let world = World::new(Style::Json);
    let port = world.port();
    for text in ["Zwölf", "Zwölf tasks\u{1b}", "Zwei", ""] {
        show_draft(&port, None, "main", text).await;
    }
    port.deliver(&outbound("a", &[])).await;
    show_draft(&port, None, "main", "Zwei").await;
    port.deliver(&Outbound { turn: None, ..outbound("b", &[]) }).await;
    insta::assert_snapshot!(world.paper.text(), @r#"
    {"event":"text","turn":"t","at":0,"text":"Zwölf"}
    {"event":"text","turn":"t","at":5,"text":" tasks␛"}
    {"event":"text","turn":"t","at":2,"text":"ei"}
    {"event":"text","turn":"t","at":0,"text":""}
    {"event":"reply","conversation":"main","turn":"t","answers":[],"text":"Done.","buttons":[]}
    {"event":"text","turn":"t","at":0,"text":"Zwei"}
    {"event":"reply","conversation":"main","turn":null,"answers":[],"text":"Done.","buttons":[]}
    "#);
}

#[tokio::test]
async fn an_answer_grows_on_a_terminal_and_is_written_there_once() {
    let world = World::new(interactive());
    let screen = Screen::default();
    let port = port(world.dir.path(), &world.style, &world.paper, screen.tree());
    show_draft(&port, None, "main", "Too early").await;
    assert_eq!(screen.text(), "");
    port.turns().sent(&EventId("main:1".into()));
    show_draft(&port, None, "main", "Two **tasks** \u{1b}[2J").await;
    show_draft(&port, None, "b", "Elsewhere").await;
    assert_eq!(screen.text(), "Two tasks ␛[2J");
    port.deliver(&outbound("a", &["main:1"])).await;
    show_draft(&port, None, "main", "Too late").await;
    assert_eq!((screen.text(), world.paper.text()), (String::new(), "Done.\n\n".to_owned()));
}

#[tokio::test]
async fn once_draws_only_what_answers_its_message_and_nothing_into_a_pipe() {
    let world = World::new(Style::Once { event: EventId("main:1".into()) });
    let screen = Screen::default();
    let mut port = port(world.dir.path(), &world.style, &world.paper, screen.tree());
    show_draft(&port, Some("main:0"), "main", "Another").await;
    assert_eq!(screen.text(), "");
    show_draft(&port, Some("main:1"), "main", "Ours").await;
    assert_eq!(screen.text(), "Ours");
    show_draft(&port, Some("main:1"), "main", "").await;
    assert_eq!(screen.text(), "");
    port.theme.width = 0;
    show_draft(&port, Some("main:1"), "main", "Ours").await;
    assert_eq!((screen.text(), world.paper.text()), (String::new(), String::new()));
}
