//! Several real processes on one PostgreSQL that share the turns of one channel: each runs some, and what a person sees
//! is the same as with one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_fakes::model::{FakeModel, Reply, last_message};
use adjutant_fakes::postgres;
use adjutant_fakes::speech::{FakeSpeech, note};
use adjutant_fakes::telegram::FakeTelegram;
use serde_json::{Value, json};

use crate::gateway::{Gateway, wait_until};
use crate::process::{self, Home};
use crate::serve::sees;

/// How long the model thinks about each step.
const THINKING: Duration = Duration::from_millis(300);

/// Instances with one store, one bot and one model.
pub(crate) struct Cluster {
    pub(crate) telegram: FakeTelegram,
    pub(crate) url: String,
    pub(crate) gateways: Vec<Gateway>,
    pub(crate) homes: Vec<Home>,
    speech: FakeSpeech,
    /// Lets the model answer what it holds.
    gate: Arc<AtomicBool>,
    _model: FakeModel,
}

/// The last text of the person that a request is about.
fn said(request: &Value) -> String {
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let last = messages.iter().rfind(|message| message["role"] == "user");
    last.map(|message| message["content"].to_string()).unwrap_or_default()
}

/// Adds the task that is named, or just answers; what is to be held waits until the gate is open.
fn script(request: &Value, gate: &Arc<AtomicBool>) -> Reply {
    let said = said(request);
    while said.contains("hold") && !gate.load(Ordering::SeqCst) {
        std::thread::sleep(Duration::from_millis(10));
    }
    if said.contains("zebra") {
        return Reply::text("The first half, and the second one.").held(gate);
    }
    if said.contains("mail the file") {
        return mail_the_file(request);
    }
    let number = said.split("thing ").nth(1).unwrap_or_default();
    let number: String = number.chars().take_while(char::is_ascii_digit).collect();
    if number.is_empty() {
        return Reply::text(if said.contains("hold") { "Here it is." } else { "Hello." });
    }
    std::thread::sleep(THINKING);
    if last_message(request).contains("\"tool\"") {
        return Reply::text(&format!("Did {number}."));
    }
    let arguments = json!({"title": format!("thing {number}")});
    let agent =
        json!({"agent_id": "a", "mission": "Add it", "skills": ["tasks.create"], "arguments": arguments});
    Reply::call("dispatch_agent", &agent)
}

/// Mails the file that the request names, as it is.
fn mail_the_file(request: &Value) -> Reply {
    let last = last_message(request);
    if last.contains("isn't there anymore") {
        return Reply::text("Please send it again.");
    }
    if last.contains("\"tool\"") {
        return Reply::text("Mailed it.");
    }
    let request = request.to_string();
    let id = request.split("[file ").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    let mail = json!({"to": ["bob@example.org"], "subject": "The file", "body": "Here it is.",
        "attachments": [{"file": id}]});
    let agent = json!({"agent_id": "a", "mission": "Mail it", "skills": ["email.send"], "arguments": mail});
    Reply::call("dispatch_agent", &agent)
}

impl Cluster {
    /// Starts so many instances; none where there is no PostgreSQL.
    pub(crate) fn start(count: usize, more: &str) -> Option<Self> {
        let url = postgres::shared().unwrap()?.database().unwrap();
        Some(Self::start_on(&url, &vec![url.clone(); count], more, [None; 2]))
    }

    /// The same on one database, each instance by its own way. The first one receives. It and the others die at these
    /// fail points.
    pub(crate) fn start_on(url: &str, ways: &[String], more: &str, die: [Option<&str>; 2]) -> Self {
        let (telegram, speech, gate) =
            (FakeTelegram::start(), FakeSpeech::start(), Arc::new(AtomicBool::new(false)));
        let opened = gate.clone();
        let model = FakeModel::start(move |request| script(request, &opened));
        let home = |way: &String| {
            Home::with_config(&format!(
                "{more}[store]\nurl = \"{way}\"\n[http]\nlisten = \"127.0.0.1:0\"\n\
                 [model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
                 [voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{}\"\n\
                 [channels.telegram]\ntoken = \"{}\"\napi_url = \"{}\"\nallow = [\"*\"]\n",
                model.base_url(),
                speech.base_url(),
                telegram.token(),
                telegram.api_url()
            ))
        };
        let homes: Vec<Home> = ways.iter().map(home).collect();
        let url = url.to_owned();
        let mut cluster = Self { telegram, url, gateways: Vec::new(), homes, speech, gate, _model: model };
        for (at, home) in cluster.homes.iter().enumerate() {
            let variables = die[at.min(1)].map(|point| ("ADJUTANT_FAIL_POINT", point));
            cluster.gateways.push(Gateway::start_with(home, variables.as_slice()));
            if at == 0 {
                wait_until("the first one receives", || cluster.receiver().is_some());
            }
        }
        let others = format!("\"others\":{}", ways.len() - 1);
        cluster.gateways.iter_mut().for_each(|gateway| gateway.logs(&others));
        cluster
    }

    pub(crate) fn texts(&self, sql: &'static str) -> Vec<String> {
        process::ask(&self.url, async |store| {
            let rows: Vec<(String,)> = store.all(sql, &[]).await.unwrap();
            rows.into_iter().map(|row| row.0).collect()
        })
    }

    /// The id of the instance that receives.
    pub(crate) fn receiver(&self) -> Option<String> {
        self.texts("SELECT instance FROM leases WHERE name = 'channel:telegram' AND instance IS NOT NULL")
            .pop()
    }

    /// The place in [`Self::gateways`] of an instance.
    pub(crate) fn place_of(&mut self, instance: &str) -> usize {
        let pids = process::ask(&self.url, async |store| {
            let rows: Vec<(String, i64)> = store.all("SELECT id, pid FROM instances", &[]).await.unwrap();
            rows
        });
        let pid = pids.into_iter().find(|(id, _)| id == instance).unwrap().1;
        self.gateways.iter().position(|gateway| i64::from(gateway.pid()) == pid).unwrap()
    }

    /// Bob keeps the receiver busy, so that the next turn runs elsewhere.
    pub(crate) fn occupy(&self) -> String {
        let bob = self.telegram.person("Bob");
        self.telegram.say(bob, bob, "hold on");
        let receiver = self.receiver().unwrap();
        wait_until("Bob's turn runs", || self.runners() == [receiver.clone()]);
        receiver
    }

    /// The instances that run turns now.
    pub(crate) fn runners(&self) -> Vec<String> {
        self.texts("SELECT instance FROM turns WHERE status = 'running' ORDER BY seq")
    }

    /// Waits until a second turn runs, which is not where the first one does; returns its instance.
    pub(crate) fn runs_elsewhere(&self, receiver: &str) -> String {
        wait_until("a turn runs elsewhere", || self.runners().len() == 2);
        let runner = self.runners().pop().unwrap();
        assert_ne!(runner, receiver);
        runner
    }

    /// Has somebody say something that the model holds, until it runs elsewhere: the receiver may not know yet that another
    /// instance has room, and an instance that is slow once loses its turn to it. Returns the turn's instance.
    pub(crate) fn hold_elsewhere(&self, receiver: &str, person: i64, text: &str) -> String {
        for _ in 0..10 {
            self.telegram.say(person, person, text);
            wait_until("a second turn runs", || self.runners().len() == 2);
            let runner = self.runners().pop().unwrap();
            if runner != receiver {
                return runner;
            }
            self.telegram.say(person, person, "/stop");
            wait_until("it has ended", || self.runners().len() == 1);
        }
        panic!("ten turns ran where another one runs");
    }

    /// Waits until every turn has ended, also those that are to be tried again.
    pub(crate) fn all_end(&self) {
        wait_until("all turns end", || self.texts("SELECT id FROM turns WHERE ended_at IS NULL").is_empty());
    }

    pub(crate) fn open(&self) {
        self.gate.store(true, Ordering::SeqCst);
    }

    /// Stops all; nothing is left, and each message was carried out and answered once.
    pub(crate) fn ends_well(mut self, numbers: std::ops::Range<usize>, places: &[i64]) {
        // The receiver goes last: another one would take its channel, and one that ends at that moment leaves the lease to
        // be found dead.
        if let Some(receiver) = self.receiver() {
            let at = self.place_of(&receiver);
            let last = self.gateways.remove(at);
            self.gateways.push(last);
        }
        for gateway in self.gateways {
            let (status, log) = gateway.stop();
            assert_eq!(status, Some(0), "{log}");
        }
        let left = process::ask(&self.url, process::undone);
        assert_eq!(left, [""; 0]);
        let mut wanted: Vec<String> = numbers.clone().map(|number| format!("thing {number}")).collect();
        wanted.sort();
        assert_eq!(process::ask(&self.url, process::tasks), wanted);
        let mut answered = BTreeMap::<String, usize>::new();
        for seen in places.iter().flat_map(|place| self.telegram.seen(*place)) {
            let line = seen.text.lines().next().unwrap_or_default();
            *answered.entry(line.to_owned()).or_default() += 1;
        }
        let once: BTreeMap<String, usize> = numbers.map(|number| (format!("Did {number}."), 1)).collect();
        assert_eq!(answered, once);
        drop(self.homes);
    }
}

fn shares(count: usize) {
    let Some(cluster) = Cluster::start(count, "") else { return };
    let people: Vec<i64> = (0..16).map(|at| cluster.telegram.person(&format!("p{at}"))).collect();
    for (at, person) in people.iter().enumerate() {
        cluster.telegram.say(*person, *person, &format!("hold, then do thing {at}"));
        // Half of them one by one: an instance that is slow once has other chances, and none ends before all have run.
        if at < 8 {
            wait_until("the turn runs", || cluster.runners().len() == at + 1);
        }
    }
    wait_until("all turns run", || cluster.runners().len() == people.len());
    cluster.open();
    for (at, person) in people.iter().enumerate() {
        sees(&cluster.telegram, *person, &format!("Did {at}."));
    }
    let mut ran = BTreeMap::<String, usize>::new();
    for instance in cluster.texts("SELECT instance FROM turns") {
        *ran.entry(instance).or_default() += 1;
    }
    // How many is measured in `benches/instances.rs`: it depends on how busy each is, here with other tests as well.
    assert_eq!(ran.len(), count, "each ran some: {ran:?}");
    let senders: BTreeSet<String> = cluster.texts("SELECT instance FROM outbox").into_iter().collect();
    assert_eq!(senders, BTreeSet::from([cluster.receiver().unwrap()]), "the receiver sends");
    cluster.ends_well(0..16, &people);
}

#[test]
fn two_instances_share_the_turns_of_a_channel() {
    shares(2);
}

#[test]
fn four_instances_share_the_turns_of_a_channel() {
    shares(4);
}

#[test]
fn a_lane_that_waits_and_an_answer_are_told_at_once() {
    let Some(mut cluster) = Cluster::start(2, "[log]\nfilter = \"info,adjutant_engine::gateway=debug\"\n")
    else {
        return;
    };
    let ada = cluster.telegram.person("Ada");
    let receiver = cluster.occupy();
    let runner = cluster.hold_elsewhere(&receiver, ada, "hold this");
    let (receiver, runner) = (cluster.place_of(&receiver), cluster.place_of(&runner));
    cluster.gateways[runner].logs("tells of 1 waiting lanes");
    cluster.open();
    cluster.gateways[receiver].logs("and 1 waiting answers");
    sees(&cluster.telegram, ada, "Here it is.");
    for gateway in cluster.gateways {
        assert_eq!(gateway.stop().0, Some(0));
    }
}

#[test]
fn what_a_turn_shows_is_seen_wherever_it_runs() {
    let Some(mut cluster) = Cluster::start(2, "") else { return };
    let ada = cluster.telegram.person("Ada");
    let receiver = cluster.occupy();
    let runner = cluster.hold_elsewhere(&receiver, ada, "hold this");
    sees(&cluster.telegram, ada, "Working on it");
    tells_what_each_does(&mut cluster, [&receiver, &runner]);
    let telegram = &cluster.telegram;
    assert!(telegram.calls("sendchataction") > 0);
    // It ends at once where it runs.
    telegram.say(ada, ada, "/stop");
    sees(telegram, ada, "Stopped.");
    wait_until("the progress is gone", || {
        !telegram.seen(ada).iter().any(|seen| seen.text.contains("Working"))
    });
    // The answer stands alone.
    cluster.hold_elsewhere(&receiver, ada, "hold that");
    sees(telegram, ada, "Working on it");
    cluster.open();
    sees(telegram, ada, "Here it is.");
    wait_until("the progress is gone", || {
        !telegram.seen(ada).iter().any(|seen| seen.text.contains("Working"))
    });
    for gateway in cluster.gateways {
        assert_eq!(gateway.stop().0, Some(0));
    }
}

#[test]
fn an_answer_is_seen_while_it_is_written_elsewhere() {
    let Some(cluster) = Cluster::start(2, "") else { return };
    let ada = cluster.telegram.person("Ada");
    let receiver = cluster.occupy();
    cluster.hold_elsewhere(&receiver, ada, "what is a zebra?");
    let preview = || cluster.telegram.preview(ada);
    wait_until("its first words", || preview().is_some_and(|(_, text)| text.contains("The first")));
    cluster.open();
    sees(&cluster.telegram, ada, "The first half, and the second one.");
    assert_eq!(preview(), None);
    for gateway in cluster.gateways {
        assert_eq!(gateway.stop().0, Some(0));
    }
}

#[test]
fn what_is_written_while_a_turn_runs_elsewhere_joins_it() {
    let Some(cluster) = Cluster::start(2, "") else { return };
    let ada = cluster.telegram.person("Ada");
    let receiver = cluster.occupy();
    cluster.hold_elsewhere(&receiver, ada, "hold this");
    let text = || cluster.texts("SELECT text FROM turns WHERE status = 'running' ORDER BY seq").pop();
    let more = cluster.telegram.say(ada, ada, "hold that");
    wait_until("more joins it", || text().is_some_and(|text| text == "hold this\nhold that"));
    cluster.telegram.edit(ada, more, "hold those");
    wait_until("an edit joins it", || text().is_some_and(|text| text.ends_with("It now says: hold those")));
    cluster.open();
    sees(&cluster.telegram, ada, "Here it is.");
    cluster.all_end();
    let said = cluster.telegram.seen(ada);
    assert_eq!(said.iter().filter(|seen| seen.text == "Here it is.").count(), 1, "{said:#?}");
    for gateway in cluster.gateways {
        assert_eq!(gateway.stop().0, Some(0));
    }
}

/// `db status`, `/metrics` and `/readyz` say what each instance receives and runs.
fn tells_what_each_does(cluster: &mut Cluster, [receiver, runner]: [&str; 2]) {
    let status = cluster.homes[0].run(&["db", "status"]).stdout;
    let lines: Vec<&str> = status.lines().filter(|line| line.contains("running turns: 1")).collect();
    assert_eq!(lines.len(), 2, "{status}");
    assert_eq!(lines.iter().filter(|line| line.contains("receives telegram")).count(), 1, "{status}");
    let at = cluster.place_of(runner);
    let (_, metrics) = cluster.gateways[at].get("/metrics");
    for (instance, channels) in [(receiver, 1), (runner, 0)] {
        assert!(
            metrics.contains(&format!("adjutant_instance_turns{{instance=\"{instance}\"}} 1\n")),
            "{metrics}"
        );
        let channels = format!("adjutant_instance_channels{{instance=\"{instance}\"}} {channels}\n");
        assert!(metrics.contains(&channels), "{metrics}");
    }
    let ready = "ready\ntelegram: another instance receives it; this one runs its share of the turns\n";
    assert_eq!(cluster.gateways[at].get("/readyz"), ("200".to_owned(), ready.to_owned()));
}

#[test]
fn a_question_and_a_voice_note_of_a_turn_elsewhere_are_answered() {
    let Some(cluster) = Cluster::start(2, "[approval.skills]\n\"tasks.create\" = \"ask\"\n") else { return };
    let telegram = &cluster.telegram;
    let ada = telegram.person("Ada");
    let receiver = cluster.occupy();
    telegram.say(ada, ada, "do thing 1");
    cluster.runs_elsewhere(&receiver);
    let question = crate::gateway::eventually("the question", || {
        telegram.seen(ada).into_iter().find(|seen| !seen.buttons.is_empty())
    });
    telegram.press(ada, ada, question.id, "Approve");
    sees(telegram, ada, "Did 1.");
    telegram.say(ada, ada, "do thing 2");
    crate::gateway::eventually("the next question", || {
        // The buttons of the first one are taken away some time after its answer.
        telegram.seen(ada).into_iter().find(|seen| !seen.buttons.is_empty() && seen.id != question.id)
    });
    // A yes counts once the question's receipt is stored.
    wait_until("its receipt", || {
        cluster.texts("SELECT id FROM outbox WHERE state IN ('pending', 'sending')").is_empty()
    });
    telegram.say(ada, ada, "yes");
    sees(telegram, ada, "Did 2.");
    let words = "hello from the car";
    cluster.speech.knows(words.as_bytes(), words);
    telegram.speak(ada, ada, &note(3, words), 3);
    sees(telegram, ada, "Hello.");
    assert_eq!(telegram.downloads(), 1, "one listens");
    // Where it runs depends on how fast the two hear of each other's turns.
    assert_eq!(cluster.texts("SELECT id FROM turns WHERE text LIKE '%from the car%'").len(), 1);
    assert_eq!(process::ask(&cluster.url, process::tasks), ["thing 1", "thing 2"]);
    cluster.open();
    for gateway in cluster.gateways {
        assert_eq!(gateway.stop().0, Some(0));
    }
}

#[test]
fn a_persons_turns_are_counted_wherever_they_run() {
    let Some(cluster) = Cluster::start(2, "[limits]\nturns_per_minute = 2\n") else { return };
    let telegram = &cluster.telegram;
    let (ada, eve) = (telegram.person("Ada"), telegram.person("Eve"));
    let receiver = cluster.occupy();
    telegram.say(ada, ada, "do thing 1");
    let elsewhere = cluster.runs_elsewhere(&receiver);
    sees(telegram, ada, "Did 1.");
    cluster.open();
    wait_until("nothing runs", || cluster.runners().is_empty());
    telegram.say(ada, ada, "do thing 2");
    sees(telegram, ada, "Did 2.");
    telegram.say(ada, ada, "do thing 3");
    telegram.say(eve, eve, "do thing 4");
    sees(telegram, eve, "Did 4.");
    let ran = cluster.texts("SELECT instance FROM turns WHERE text LIKE 'do thing%' ORDER BY seq");
    assert_eq!(ran, [elsewhere, receiver.clone(), receiver], "the third one waits");
    assert_eq!(cluster.texts("SELECT text FROM inbox WHERE state = 'new'"), ["do thing 3"]);
}
