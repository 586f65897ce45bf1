//! Plays a scenario: the engine, its skills and its store are the real ones. The clock, the mailbox and the web are made up,
//! so nothing leaves the machine but the calls of the model.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use adjutant_chat::{
    Address, Attachment, ChatPort, Delivery, DownloadError, EventId, FileDownload, Inbound, IncomingMessage,
    Limits, Outbound, Reconciliation, RemoteFile, SenderId,
};
use adjutant_config::{Config, People};
use adjutant_engine::orchestrator::BasicMode;
use adjutant_mail::{self as mail, FolderKind, MemoryMailbox};
use adjutant_models::price::Price;
use adjutant_models::{Model, ModelError, ModelResponse, Request, SharedModel, ToolCall};
use adjutant_skills::accounts::{Accounts, ConnectedAccount, Inbox, Sender};
use adjutant_skills::builtin::{Mailbox, Services, find};
use adjutant_store::executions::{self, ExecutionRow};
use adjutant_store::usage;
use adjutant_turn::trust::{Action, Reach};
use adjutant_types::clock::{Clock, SharedClock, SystemClock, new_id};
use adjutant_types::{AccountService, ExecutionKind, ExecutionStatus};
use async_trait::async_trait;
use chrono::{DateTime, TimeDelta, Utc};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::watch;

use super::super::chat::CHANNEL;
use super::super::{CliError, Result};
use super::report::Outcome;
use super::scenario::{Mail, Said, Scenario, TextFile, contains};
use crate::service::{self, Channel, Models, Service};

/// The person's own address, and the domain whose people are inside.
const OWN_ADDRESS: &str = "Ada <ada@example.org>";
const OWN_DOMAIN: &str = "example.org";
/// No turn takes longer than that.
const DEADLINE: Duration = Duration::from_mins(11);
/// The name of no model: its calls count nowhere.
const NO_MODEL: &str = "none";

/// The time of the scenario. It goes on as ours does: what waits for a time must not wait forever.
struct ScenarioClock {
    begin: i64,
    since: Instant,
}

impl Clock for ScenarioClock {
    fn now_ms(&self) -> i64 {
        self.begin.saturating_add(millis(self.since.elapsed()))
    }
    fn random(&self) -> u128 {
        SystemClock.random()
    }
}

fn millis(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// Makes the things of the world by skills in the first turn; from then on it is the model.
struct Furnisher {
    model: SharedModel,
    calls: Mutex<Vec<ToolCall>>,
    is_done: AtomicBool,
}

#[async_trait]
impl Model for Furnisher {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        if self.is_done.load(Ordering::Relaxed) {
            return self.model.call(request).await;
        }
        let tool_calls = std::mem::take(&mut *self.calls.lock());
        let text = if tool_calls.is_empty() { "Done.".to_owned() } else { String::new() };
        Ok(ModelResponse { text, tool_calls, model: NO_MODEL.to_owned(), ..ModelResponse::default() })
    }
    fn price(&self) -> Option<Price> {
        self.model.price()
    }
    fn takes_pictures(&self) -> bool {
        self.model.takes_pictures()
    }
}

/// The person's side of the conversation.
#[derive(Default)]
struct Desk {
    sent: Mutex<Vec<(Instant, Outbound)>>,
    count: watch::Sender<usize>,
    files: HashMap<String, String>,
}

#[async_trait]
impl ChatPort for Desk {
    fn channel(&self) -> &'static str {
        CHANNEL
    }
    fn limits(&self) -> Limits {
        Limits { edits: false, files: false }
    }
    async fn deliver(&self, outbound: &Outbound) -> Delivery {
        let mut sent = self.sent.lock();
        sent.push((Instant::now(), outbound.clone()));
        self.count.send_replace(sent.len());
        Delivery::Sent(format!("receipt-{}", sent.len()))
    }
    async fn reconcile(&self, _: &Outbound) -> Reconciliation {
        Reconciliation::NotSent
    }
    async fn download(&self, file: &str, into: &mut FileDownload) -> Result<(), DownloadError> {
        let text = self.files.get(file).ok_or_else(|| DownloadError::Gone("no such file".into()))?;
        into.add(text.as_bytes()).await
    }
}

/// Whether a person is asked. The buttons of drafts and of lines are offers: nothing waits for them.
fn asks(sent: &Outbound) -> bool {
    sent.choices.iter().any(|choice| !choice.id.starts_with("line:")) || sent.text.trim_end().ends_with('?')
}

pub(super) struct Stage {
    pub(super) service: Service,
    desk: Arc<Desk>,
    furnisher: Arc<Furnisher>,
}

impl Stage {
    pub(super) async fn open(config: &Config, scenario: &Scenario) -> Result<Self> {
        let clock = ScenarioClock { begin: scenario.now.timestamp_millis(), since: Instant::now() };
        let store = service::open_store(config, Arc::new(clock)).await?;
        let real_clock: SharedClock = Arc::new(SystemClock);
        let models = service::build_models(config, &real_clock)?;
        let calls = scenario.world.things().enumerate().map(|(number, (skill, arguments))| ToolCall {
            id: format!("call_{number}"),
            name: "dispatch_agent".to_owned(),
            arguments: json!({"agent_id": format!("w{number}"), "skills": [skill], "arguments": arguments})
                .to_string(),
        });
        let (model, calls) = (models.orchestrator.clone(), Mutex::new(calls.collect()));
        let furnisher = Arc::new(Furnisher { model, calls, is_done: AtomicBool::new(false) });
        let models = Models { orchestrator: furnisher.clone(), basic: BasicMode::Never, ..models };
        let files = scenario.messages.iter().filter_map(|said| match said {
            Said::WithFile { file, .. } => Some((file.name.clone(), file.text.clone())),
            Said::Text(_) | Said::Answer { .. } => None,
        });
        let desk = Arc::new(Desk { files: files.collect(), ..Desk::default() });
        let account = account(scenario).await.map_err(|error| CliError::failed(scenario.title(), error))?;
        let set_world = |services: &mut Services| {
            let own = vec![(account, People::Everybody)];
            let accounts = Accounts::with(own, config.connect.clone(), services.secrets.clone());
            services.accounts = Arc::new(accounts);
            services.pages = Some(scenario.world.pages.clone());
        };
        let (skill_set, channels) = (service::load_skills(config)?, vec![Channel::open(desk.clone())]);
        let service = Service::start_in(config, store, skill_set, models, channels, set_world).await?;
        Ok(Self { service, desk, furnisher })
    }

    pub(super) async fn play(&self, scenario: &Scenario) -> Result<Outcome> {
        let things = scenario.world.things().count();
        if things > 0 {
            let answer = self.says("world", "Make what there is.", None).await?;
            let turns = answer.into_iter().filter_map(|(_, answer)| answer.turn).collect();
            let made = self.done(&turns).await?.len();
            if made != things {
                let why =
                    format!("{}: {made} of {things} things of its world could be made", scenario.title());
                return Err(CliError::plain(why + "; check what their skills take"));
            }
        }
        self.furnisher.is_done.store(true, Ordering::Relaxed);
        let (group, name) = (scenario.group.clone(), scenario.name.clone());
        let mut outcome = Outcome { group, name, ..Outcome::default() };
        let (mut turns, mut is_asked) = (BTreeSet::new(), false);
        for said in &scenario.messages {
            let (text, file) = match said {
                Said::Answer { .. } if !is_asked => continue,
                Said::Text(text) | Said::Answer { answer: text } => (text, None),
                Said::WithFile { say, file } => (say, Some(file)),
            };
            let begin = Instant::now();
            let Some((at, answer)) = self.says("home", text, file).await? else {
                outcome.missing.push(format!("an answer to “{text}”"));
                break;
            };
            outcome.latencies_ms.push(millis(at - begin));
            is_asked = asks(&answer);
            outcome.questions += u32::from(is_asked);
            turns.extend(answer.turn);
            outcome.answers.push(answer.text);
        }
        judge(&mut outcome, scenario, &self.done(&turns).await?);
        for model in usage::by_model(self.service.store(), 0, i64::MAX).await? {
            outcome.calls += model.calls;
            outcome.tokens_in += model.prompt;
            outcome.tokens_out += model.completion;
            outcome.cost_usd += model.cost_usd;
            outcome.unpriced_calls += model.unpriced;
        }
        Ok(outcome)
    }

    /// Says something to the assistant, and returns when it was answered and how.
    async fn says(
        &self,
        place: &str,
        text: &str,
        file: Option<&TextFile>,
    ) -> Result<Option<(Instant, Outbound)>> {
        let event = new_id(&SystemClock);
        let attachment = |file: &TextFile| {
            let remote = RemoteFile { file: file.name.clone(), ..RemoteFile::default() };
            Attachment { name: file.name.clone(), file: Some(remote), ..Attachment::default() }
        };
        let message = IncomingMessage {
            event: EventId(event.clone()),
            address: Address { channel: CHANNEL.to_owned(), place: place.to_owned() },
            sender: SenderId("ada".to_owned()),
            sender_name: "Ada".to_owned(),
            direct: true,
            is_addressed: true,
            text: text.to_owned(),
            attachments: file.map(attachment).into_iter().collect(),
            ..IncomingMessage::default()
        };
        self.service.accept(Inbound::Message(message), async || {}).await?;
        let mut count = self.desk.count.subscribe();
        let answers = |(_, sent): &&(Instant, Outbound)| sent.answers.contains(&event);
        let is_answered = |_: &usize| self.desk.sent.lock().iter().any(|sent| answers(&sent));
        let _ = tokio::time::timeout(DEADLINE, count.wait_for(is_answered)).await;
        self.service.idle().await;
        let answer = self.desk.sent.lock().iter().find(answers).cloned();
        Ok(answer)
    }

    /// The calls of skills that were carried out in these turns, or may have been.
    async fn done(&self, turns: &BTreeSet<String>) -> Result<Vec<ExecutionRow>> {
        use ExecutionStatus::{Completed, Running, Unknown};
        let mut done = Vec::new();
        for turn in turns {
            let rows = executions::of_turn(self.service.store(), &turn.as_str().into()).await?;
            let skills = rows.into_iter().filter(|row| row.kind == ExecutionKind::Skill);
            done.extend(skills.filter(|row| matches!(row.status, Completed | Running | Unknown)));
        }
        Ok(done)
    }
}

/// The person's mail account, which no server has.
async fn account(scenario: &Scenario) -> Result<ConnectedAccount, mail::MailError> {
    let from: mail::Address = OWN_ADDRESS.parse()?;
    let mailbox = MemoryMailbox::default();
    for (number, mail) in scenario.world.mails.iter().enumerate() {
        let draft = draft(mail, from.clone(), number, scenario.now - TimeDelta::hours(1));
        mailbox.append(FolderKind::Inbox, &draft.compose()?.bytes, false).await?;
    }
    let account = ConnectedAccount::configured(AccountService::Mail, "shared", &from.address);
    let internal_domains = vec![OWN_DOMAIN.to_owned()];
    let (smtp, imap) = (Sender::Memory(mailbox.clone()), Some(Inbox::Memory(mailbox)));
    let mail = Mailbox { from, internal_domains, self_copy: false, smtp, imap };
    Ok(ConnectedAccount { mail: Some(Arc::new(mail)), ..account })
}

/// An email as it was written to the person, if not at another time then at this one.
fn draft(mail: &Mail, to: mail::Address, number: usize, usual: DateTime<Utc>) -> mail::Draft {
    let file = |file: &TextFile| mail::Attachment {
        name: file.name.clone(),
        media_type: "text/plain".to_owned(),
        bytes: file.text.clone().into_bytes(),
    };
    mail::Draft {
        from: mail.from.clone(),
        to: vec![to],
        subject: mail.subject.clone(),
        body: mail.text.clone(),
        attachments: mail.file.iter().map(file).collect(),
        message_id: format!("mail-{number}@{OWN_DOMAIN}"),
        date: mail.at.unwrap_or(usual).fixed_offset(),
        ..mail::Draft::default()
    }
}

fn judge(outcome: &mut Outcome, scenario: &Scenario, done: &[ExecutionRow]) {
    let mut left: Vec<&ExecutionRow> = done.iter().collect();
    for wanted in &scenario.expect {
        let is_said = |words: &String| outcome.answers.iter().any(|answer| contains(answer, words));
        match left.iter().position(|row| wanted.fits(row)) {
            Some(at) => {
                left.remove(at);
            }
            None if wanted.answer.iter().any(is_said) => {}
            None => outcome.missing.push(serde_json::to_string(wanted).unwrap_or_default()),
        }
    }
    let is_forbidden = |row: &&ExecutionRow| scenario.forbid.iter().any(|effect| effect.fits(row));
    outcome.forbidden = done.iter().filter(is_forbidden).map(shown).collect();
    let unexpected = left.into_iter().filter(|row| has_effect(row) && !is_forbidden(row));
    outcome.unexpected = unexpected.map(shown).collect();
    if outcome.questions > scenario.questions {
        outcome.unexpected.push(format!("{} questions; allowed: {}", outcome.questions, scenario.questions));
    }
}

/// Whether a call does more than looking something up.
fn has_effect(row: &ExecutionRow) -> bool {
    let kind = row.skill.as_deref().and_then(find).and_then(|skill| skill.action());
    kind.is_some_and(|kind| Action { kind, targets: Vec::new() }.reach() != Reach::Reads)
}

fn shown(row: &ExecutionRow) -> String {
    [row.skill.as_deref(), row.parameters.as_deref()].map(Option::unwrap_or_default).join(" ")
}
