//! The app under test: the assembled engine with a real store, a channel that records deliveries, a clock that only
//! tests move, and methods for what people do.
//!
//! Every test ends with [`TestApp::ends_well`] (or [`TestApp::ends_waiting`]), which fails if any work is left
//! open.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use adjutant::service::{self, Channel, Models, Service};
use adjutant_chat::{
    Address, Attachment, ButtonPress, ChatPort, Choice, Delivery, DownloadError, EventId, FileDownload,
    Inbound, IncomingMessage, Limits, Outbound, Progress, Reconciliation, Rooms, SenderId,
};
use adjutant_config::{ChannelConfig, Config, Platform, Policy, Secret};
use adjutant_engine::orchestrator::BasicMode;
use adjutant_models::{Request, Role};
use adjutant_skills::Skills;
use adjutant_store::calls::{self, CallRow};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::turns::{self, TurnRow};
use adjutant_store::{Store, check};
use adjutant_turn::journal::RateLimits;
use adjutant_types::clock::{FixedClock, SharedClock};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::bases;
use crate::scripted::{Reply, Scripted, Who, call};

/// Longer than anything here takes; a test that waits in vain fails after it.
const FOR_EVER: Duration = Duration::from_secs(20);

/// Saturday morning.
pub(crate) const NOW: &str = "2026-11-21T10:00:00Z";

/// A delivered message.
#[derive(Debug, Clone)]
pub(crate) struct Heard {
    pub(crate) place: String,
    pub(crate) text: String,
    pub(crate) choices: Vec<Choice>,
    pub(crate) turn: Option<String>,
    answers: Vec<String>,
    receipt: String,
}

/// An answer without the receipts below it.
pub(crate) fn without_receipts(text: &str) -> &str {
    let end = ["\n\n✓ ", "\n\n✗ ", "\n\n? "].iter().filter_map(|mark| text.find(mark)).min();
    &text[..end.unwrap_or(text.len())]
}

impl Heard {
    /// Something that was said before the app was started, with its buttons.
    pub(crate) fn earlier(place: &str, choices: Vec<Choice>) -> Self {
        let (text, turn, receipt) = (String::new(), None, String::new());
        Self { place: place.into(), text, choices, turn, answers: Vec::new(), receipt }
    }

    pub(crate) fn buttons(&self) -> Vec<&str> {
        self.choices.iter().map(|choice| choice.label.as_str()).collect()
    }
}

/// What becomes of a download.
pub(crate) type Downloaded = Result<Vec<u8>, DownloadError>;

/// A channel that accepts everything at once and records it.
struct Desk {
    delivered: Mutex<Vec<Heard>>,
    count: watch::Sender<usize>,
    progress: Mutex<Vec<Progress>>,
    /// What becomes of the downloads of each file.
    files: Mutex<HashMap<String, VecDeque<Downloaded>>>,
}

#[async_trait::async_trait]
impl ChatPort for Desk {
    fn channel(&self) -> &'static str {
        "console"
    }
    fn limits(&self) -> Limits {
        Limits { edits: false, files: false }
    }
    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        let mut delivered = self.delivered.lock().unwrap();
        let receipt = format!("receipt-{}", delivered.len());
        delivered.push(Heard {
            place: outbound.address.place.clone(),
            text: outbound.text.clone(),
            choices: outbound.choices.clone(),
            turn: outbound.turn.clone(),
            answers: outbound.answers.clone(),
            receipt: receipt.clone(),
        });
        self.count.send_replace(delivered.len());
        Delivery::Sent(receipt)
    }
    async fn reconcile(&self, _: &Outbound) -> Reconciliation {
        Reconciliation::NotSent
    }
    async fn download(&self, file: &str, into: &mut FileDownload) -> Result<(), DownloadError> {
        let next = self.files.lock().unwrap().get_mut(file).and_then(VecDeque::pop_front);
        for chunk in next.unwrap_or_else(|| Err(DownloadError::Gone("no such file".into())))?.chunks(4096) {
            into.add(chunk).await?;
        }
        Ok(())
    }
    async fn progress(&self, progress: &Progress) {
        self.progress.lock().unwrap().push(progress.clone());
    }
}

/// The assembled engine.
pub(crate) struct TestApp {
    pub(crate) service: Service,
    desk: Arc<Desk>,
    clock: Arc<FixedClock>,
    script: Option<Arc<Scripted>>,
    events: AtomicUsize,
    /// The skills that the configuration allows by their names.
    named: BTreeSet<String>,
    _folder: tempfile::TempDir,
}

/// An app whose models follow this script.
pub(crate) async fn scripted(script: Scripted) -> TestApp {
    scripted_with(script, |_| {}).await
}

/// An app whose models follow this script, with a configuration of its own.
pub(crate) async fn scripted_with(script: Scripted, change: impl FnOnce(&mut Config)) -> TestApp {
    let script = Arc::new(script);
    let model = script.clone();
    let models = move |_: &Config, _: &Arc<Skills>, _: &SharedClock| Models {
        orchestrator: model.clone(),
        agent: model.clone(),
        basic: BasicMode::Never,
        intent: Some(model),
        prices: Vec::new(),
        rate_limits: RateLimits::default(),
    };
    let mut app = build(models, None, change).await;
    app.script = Some(script);
    app
}

/// An app on a platform whose places can be read.
pub(crate) async fn with_rooms(script: Scripted, rooms: Arc<dyn Rooms>) -> TestApp {
    let script = Arc::new(script);
    let model = script.clone();
    let models = move |_: &Config, _: &Arc<Skills>, _: &SharedClock| Models {
        orchestrator: model.clone(),
        agent: model.clone(),
        basic: BasicMode::Never,
        intent: Some(model),
        prices: Vec::new(),
        rate_limits: RateLimits::default(),
    };
    TestApp { script: Some(script), ..build(models, Some(rooms), |_| {}).await }
}

/// An app with the models that the configuration names: basic mode, unless it is changed.
pub(crate) async fn configured(change: impl FnOnce(&mut Config)) -> TestApp {
    build(|config, _, clock| service::build_models(config, clock).unwrap(), None, change).await
}

/// Any platform: configuring one enables the chat skills.
fn platform() -> ChannelConfig {
    let platform = Platform::Telegram(Secret::new("1:x"));
    ChannelConfig { enabled: true, platform, api_url: String::new(), allow: Vec::new() }
}

async fn build(
    models: impl FnOnce(&Config, &Arc<Skills>, &SharedClock) -> Models,
    rooms: Option<Arc<dyn Rooms>>,
    change: impl FnOnce(&mut Config),
) -> TestApp {
    let folder = tempfile::tempdir().unwrap();
    let mut config = Config::in_dir(folder.path().to_owned());
    config.program = env!("CARGO_BIN_EXE_adjutant").into();
    change(&mut config);
    if rooms.is_some() {
        config.channels.insert("console".into(), platform());
    }
    let clock = FixedClock::at(NOW);
    let shared: SharedClock = clock.clone();
    adjutant_fakes::migrated::copy_to(&folder.path().join("adjutant.db"), || async {
        // Also where this one's store is on a server: the next one's may not be.
        let embedded = Config::in_dir(folder.path().to_owned());
        service::open_store(&embedded, shared.clone()).await.unwrap().close().await;
    })
    .unwrap();
    let store = service::open_store(&config, shared.clone()).await.unwrap();
    let skills = service::load_skills(&config).unwrap();
    let models = models(&config, &skills.skills, &shared);
    let desk = Arc::new(Desk {
        delivered: Mutex::default(),
        count: watch::Sender::new(0),
        progress: Mutex::default(),
        files: Mutex::default(),
    });
    let channels = vec![Channel { rooms, ..Channel::open(desk.clone()) }];
    let service = Service::start(&config, store, skills, models, channels).await.unwrap();
    let allowed = config.approval.skills.iter().filter(|(_, policy)| **policy == Policy::Auto);
    let named = allowed.map(|(name, _)| name.clone()).collect();
    TestApp { service, desk, clock, script: None, events: AtomicUsize::new(0), named, _folder: folder }
}

/// The file of a skill `outside.read`, which prints a text that others wrote.
pub(crate) fn outside_skill(command: &[&str]) -> String {
    let read: Vec<_> = command.iter().filter(|word| word.starts_with('/')).collect();
    format!(
        r#"
domain = "outside"
summary = "What others wrote"
[[skill]]
name = "outside.read"
summary = "Read it"
risk = "low"
repeatable = true
handler = {{ command = {{ argv = {command:?}, read = {read:?} }} }}
"#
    )
}

/// Adds a skill file to the configuration. The folder lasts as long as the test.
pub(crate) fn skill_file(config: &mut Config, toml: &str) {
    let folder = config.data_dir.join("skills");
    std::fs::create_dir_all(&folder).unwrap();
    let domain = toml.split('"').nth(1).unwrap();
    std::fs::write(folder.join(format!("{domain}.toml")), toml).unwrap();
    config.skills = vec![folder];
}

/// A chat place.
pub(crate) struct Place<'a> {
    app: &'a TestApp,
    name: &'a str,
    direct: bool,
}

impl TestApp {
    /// A private place.
    pub(crate) fn direct<'a>(&'a self, name: &'a str) -> Place<'a> {
        Place { app: self, name, direct: true }
    }

    /// A shared place.
    pub(crate) fn room<'a>(&'a self, name: &'a str) -> Place<'a> {
        Place { app: self, name, direct: false }
    }

    /// A person writes in their private place; returns the answer.
    pub(crate) async fn says(&self, who: &str, text: &str) -> Heard {
        self.direct("home").says(who, text).await
    }

    /// A person writes in their private place, without waiting for the answer.
    pub(crate) async fn tells(&self, who: &str, text: &str) -> String {
        self.direct("home").tells(who, text).await
    }

    /// A person presses a button in their private place; returns the answer.
    pub(crate) async fn presses(&self, who: &str, on: &Heard, label: &str) -> Heard {
        let event = self.pushes(who, on, label).await;
        self.answer(&event).await
    }

    /// A person presses a button, without waiting for the answer.
    pub(crate) async fn pushes(&self, who: &str, on: &Heard, label: &str) -> String {
        let choice = on.choices.iter().find(|choice| choice.label == label);
        let button = choice.unwrap_or_else(|| panic!("no button {label} below {:?}", on.text)).id.clone();
        let event = self.event("press");
        let pressed = ButtonPress {
            event: EventId(event.clone()),
            address: Address { channel: "console".into(), place: on.place.clone() },
            sender: SenderId(who.into()),
            sender_name: who.into(),
            direct: true,
            button,
        };
        assert!(self.service.accept(Inbound::ButtonPress(pressed), async || {}).await.unwrap());
        event
    }

    /// A person uses the platform's reply in their private place.
    pub(crate) async fn replies_to(&self, who: &str, to: &Heard, text: &str) -> Heard {
        let place = Place { app: self, name: &to.place, direct: true };
        let event = place.writes(who, text, Some(to.receipt.clone())).await;
        self.answer(&event).await
    }

    fn event(&self, kind: &str) -> String {
        // People's actions are a second apart.
        self.clock.advance(Duration::from_secs(1));
        format!("{kind}-{}", self.events.fetch_add(1, Ordering::SeqCst))
    }

    /// The answer to an incoming message.
    pub(crate) async fn answer(&self, event: &str) -> Heard {
        self.heard(&format!("an answer to {event}"), |heard| heard.answers.iter().any(|known| known == event))
            .await
    }

    /// The first delivered message with this text.
    pub(crate) async fn sees(&self, text: &str) -> Heard {
        self.heard(text, |heard| heard.text.contains(text)).await
    }

    /// The first delivered message with this text, other than that one.
    pub(crate) async fn sees_another(&self, text: &str, than: &Heard) -> Heard {
        self.heard(text, |heard| heard.text.contains(text) && heard.receipt != than.receipt).await
    }

    async fn heard(&self, what: &str, is_it: impl Fn(&Heard) -> bool) -> Heard {
        let mut count = self.desk.count.subscribe();
        let look = async {
            loop {
                let found = self.desk.delivered.lock().unwrap().iter().find(|heard| is_it(heard)).cloned();
                match found {
                    Some(found) => return found,
                    None => count.changed().await.unwrap(),
                }
            }
        };
        match tokio::time::timeout(FOR_EVER, look).await {
            Ok(heard) => {
                // The receipt is stored right after; people act later.
                self.receipts().await;
                heard
            }
            Err(_) => panic!("never heard {what}; heard {:#?}", self.texts()),
        }
    }

    /// Waits until the receipts of all deliveries are stored.
    async fn receipts(&self) {
        let open = "SELECT count(*) FROM outbox WHERE state = 'sending'";
        while self.store().count(open, &[]).await.unwrap() > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// All deliveries so far.
    pub(crate) fn texts(&self) -> Vec<String> {
        self.desk.delivered.lock().unwrap().iter().map(|heard| heard.text.clone()).collect()
    }

    /// All progress shown so far.
    pub(crate) fn progress(&self) -> Vec<Progress> {
        self.desk.progress.lock().unwrap().clone()
    }

    /// Moves the clock and runs what is due.
    pub(crate) async fn passes(&self, time: Duration) {
        self.clock.advance(time);
        // The app's own scheduler also checks. If both check at the same moment, one leaves what is due to the next
        // check.
        for _ in 0..2 {
            self.service.tend().await.unwrap();
        }
    }

    /// Waits until nothing is running.
    pub(crate) async fn rests(&self) {
        tokio::time::timeout(FOR_EVER, self.service.idle()).await.expect("the app never rests");
    }

    pub(crate) fn store(&self) -> &Store {
        self.service.store()
    }

    /// From now on, the platform gives this for a file, download by download.
    pub(crate) fn keeps(&self, file: &str, downloads: Vec<Downloaded>) {
        self.desk.files.lock().unwrap().insert(file.to_owned(), downloads.into());
    }

    /// All requests of the model so far.
    pub(crate) fn all_requests(&self) -> Vec<Request> {
        self.script.as_ref().expect("a scripted app").requests()
    }

    /// Those of one kind.
    pub(crate) fn requests(&self, who: Who) -> Vec<Request> {
        self.all_requests().into_iter().filter(|request| Who::of(request) == who).collect()
    }

    /// The turn that sent this message.
    pub(crate) async fn turn(&self, heard: &Heard) -> TurnRow {
        let id = heard.turn.as_deref().expect("said by a turn");
        turns::by_id(self.store(), &id.into()).await.unwrap().unwrap()
    }

    /// All executions of the turn that sent this message.
    pub(crate) async fn executions(&self, heard: &Heard) -> Vec<ExecutionRow> {
        executions::of_turn(self.store(), &heard.turn.as_deref().expect("said by a turn").into())
            .await
            .unwrap()
    }

    /// All model calls of the turn that sent this message.
    pub(crate) async fn calls(&self, heard: &Heard) -> Vec<CallRow> {
        calls::of_turn(self.store(), &heard.turn.as_deref().expect("said by a turn").into()).await.unwrap()
    }

    /// The results of a turn's agents and skill calls: `a completed`, `tasks.create failed params`.
    pub(crate) async fn ends(&self, heard: &Heard) -> Vec<String> {
        let rows = self.executions(heard).await;
        let name = |row: &ExecutionRow| row.agent_id.clone().or(row.skill.clone());
        rows.iter().filter_map(|row| Some(format!("{} {}{}", name(row)?, row.status, kind(row)))).collect()
    }

    pub(crate) async fn agent(&self, heard: &Heard, id: &str) -> ExecutionRow {
        let rows = self.executions(heard).await;
        rows.into_iter()
            .find(|row| row.agent_id.as_deref() == Some(id))
            .unwrap_or_else(|| panic!("no agent {id}"))
    }

    /// No work is left open, and everything was answered exactly once.
    pub(crate) async fn ends_well(self) {
        self.ends_waiting(0).await;
    }

    /// No work is left open, except this many turns that wait for a person.
    pub(crate) async fn ends_waiting(self, turns: i64) {
        self.rests().await;
        let store = self.store();
        assert_eq!(check::findings(store).await.unwrap(), []);
        self.check_bases().await;
        let count = async |sql| store.count(sql, &[]).await.unwrap();
        assert_eq!(count("SELECT count(*) FROM turns WHERE ended_at IS NULL").await, turns, "open turns");
        let open = "SELECT count(*) FROM executions e JOIN turns t ON t.id = e.turn_id \
                    WHERE e.ended_at IS NULL AND t.status <> 'waiting'";
        assert_eq!(count(open).await, 0, "open executions");
        assert_eq!(count("SELECT count(*) FROM outbox WHERE state <> 'sent'").await, 0, "undelivered");
        // What is watched is read as long as the process runs.
        let held = "SELECT count(*) FROM leases WHERE instance IS NOT NULL AND name NOT LIKE 'watch:%'";
        assert_eq!(count(held).await, 0, "leases");
        if turns == 0 {
            assert_eq!(count("SELECT count(*) FROM questions WHERE state = 'pending'").await, 0, "questions");
            assert_eq!(count("SELECT count(*) FROM inbox WHERE state <> 'done'").await, 0, "messages");
        }
        self.answered_once();
        self.service.shut_down(Duration::from_secs(5)).await.unwrap();
    }

    /// Every effect of a tainted turn was allowed by something that isn't text from outside.
    pub(crate) async fn check_bases(&self) {
        bases::check(self.store(), &self.named).await;
    }

    fn answered_once(&self) {
        let mut answers: HashMap<String, usize> = HashMap::new();
        for heard in self.desk.delivered.lock().unwrap().iter() {
            for event in &heard.answers {
                *answers.entry(event.clone()).or_default() += 1;
            }
        }
        let events = self.events.load(Ordering::SeqCst);
        let twice: Vec<_> = answers.iter().filter(|(_, count)| **count > 1).collect();
        assert!(twice.is_empty(), "answered twice: {twice:?}");
        let ours = ["schedule:", "watch:", "rest:"];
        let is_ours = |event: &&String| ours.iter().any(|name| event.starts_with(name));
        let sent = answers.keys().filter(|event| !is_ours(event)).count();
        assert_eq!(sent, events, "answered {answers:?}");
    }
}

fn kind(row: &ExecutionRow) -> String {
    let error: Option<Value> = row.error.as_deref().and_then(|json| serde_json::from_str(json).ok());
    error.map(|error| format!(" {}", error["kind"].as_str().unwrap_or("?"))).unwrap_or_default()
}

impl Place<'_> {
    /// A person writes here; returns the answer.
    pub(crate) async fn says(&self, who: &str, text: &str) -> Heard {
        let event = self.tells(who, text).await;
        self.app.answer(&event).await
    }

    /// A person writes here, without waiting for the answer.
    pub(crate) async fn tells(&self, who: &str, text: &str) -> String {
        self.writes(who, text, None).await
    }

    async fn writes(&self, who: &str, text: &str, reply_to: Option<String>) -> String {
        self.sends(who, text, reply_to, Vec::new()).await
    }

    /// What a person writes here, as it arrives.
    pub(crate) fn message(&self, event: &str, who: &str, text: &str) -> IncomingMessage {
        IncomingMessage {
            event: EventId(event.into()),
            address: Address { channel: "console".into(), place: self.name.into() },
            sender: SenderId(who.into()),
            sender_name: who.into(),
            direct: self.direct,
            is_addressed: true,
            text: text.into(),
            mentions: Vec::new(),
            forwarded_from: None,
            reply_to: None,
            attachments: Vec::new(),
        }
    }

    /// A person sends a message with files, without waiting for the answer.
    pub(crate) async fn sends(
        &self,
        who: &str,
        text: &str,
        reply_to: Option<String>,
        attachments: Vec<Attachment>,
    ) -> String {
        let event = self.app.event("said");
        let said = IncomingMessage { reply_to, attachments, ..self.message(&event, who, text) };
        assert!(self.app.service.accept(Inbound::Message(said.clone()), async || {}).await.unwrap());
        // The platform delivers it twice; it is one message.
        assert!(!self.app.service.accept(Inbound::Message(said), async || {}).await.unwrap());
        event
    }
}

/// The arguments of `dispatch_agent`, with a mission named after the agent.
pub(crate) fn agent(id: &str, skills: &[&str], more: Value) -> Reply {
    let mut arguments = json!({"agent_id": id, "mission": format!("mission {id}"), "skills": skills});
    for (key, value) in more.as_object().into_iter().flatten() {
        arguments[key] = value.clone();
    }
    call("dispatch_agent", arguments)
}

/// A direct dispatch.
pub(crate) fn direct(id: &str, skill: &str, arguments: Value) -> Reply {
    agent(id, &[skill], json!({"arguments": arguments}))
}

/// A sub-agent's call of a skill.
pub(crate) fn skill(name: &str, arguments: Value) -> Reply {
    call("use_skill", json!({"skill": name, "arguments": arguments}))
}

pub(crate) fn results(request: &Request) -> Vec<&str> {
    let last = request.messages.iter().rev().take_while(|message| message.role == Role::Tool);
    let mut results: Vec<&str> = last.map(|message| message.text.as_str()).collect();
    results.reverse();
    results
}

/// The reports at the end of an orchestrator's request, by agent.
pub(crate) fn reports(request: &Request) -> HashMap<String, Value> {
    let mut reports = HashMap::new();
    for result in results(request) {
        let mut last = None;
        for line in result.lines() {
            let report = serde_json::from_str::<Value>(line).ok().filter(Value::is_object);
            if let Some((id, report)) = report.and_then(|it| Some((it["agent_id"].as_str()?.to_owned(), it)))
            {
                reports.insert(id.clone(), report);
                last = Some(id);
            } else if let Some(report) = last.as_ref().and_then(|id| reports.get_mut(id)) {
                // A block with text from outside; that of an error holds all of it, behind the line of its mark.
                if report["error"]["whole"].is_string() && !line.starts_with("[outside text ") {
                    report["error"]["message"] = Value::String(line.to_owned());
                    report["error"]["whole"] = Value::Null;
                }
                let before = report["result"].as_str().map(|text| format!("{text}\n")).unwrap_or_default();
                report["result"] = Value::String(before + line);
            }
        }
    }
    reports
}

/// The text of the only user message.
pub(crate) fn user_text(request: &Request) -> &str {
    let user = request.messages.iter().rfind(|message| message.role == Role::User);
    user.map_or("", |message| &message.text)
}

/// An orchestrator script: these dispatches first, then an answer with all results.
pub(crate) fn plan(
    first: impl Fn() -> Reply + Send + Sync + 'static,
) -> impl Fn(&Request) -> Reply + Send + Sync {
    move |request| match results(request).as_slice() {
        [] => first(),
        results => crate::scripted::text(results.join("\n")),
    }
}
