//! The test model: it answers from a script, notes every request, and refuses a malformed one as the
//! strictest provider would, so that no test passes on a history that a real provider would refuse.

mod check;

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use adjutant_models::price::Price;
use adjutant_models::{Model, ModelError, ModelErrorKind, ModelResponse, Request, Role, ToolCall, Usage};
use async_trait::async_trait;
use serde_json::Value;
use tokio::sync::{Semaphore, watch};

pub use self::check::check;

/// Who asks, told by the tools of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// The orchestrator: it has the tool `dispatch_agent`.
    Orchestrator,
    /// A sub-agent: it has the tool `use_skill`.
    Agent,
    /// The clean room, which reads what the person asked for.
    CleanRoom,
    /// A request for plain text: a summary, or whatever has neither tool.
    Plain,
}

impl Who {
    /// Who asks in this request.
    pub fn of(request: &Request) -> Self {
        let has = |name: &str| request.tools.iter().any(|tool| tool.name == name);
        if has("dispatch_agent") {
            Self::Orchestrator
        } else if has("use_skill") || has("delegate_to_agent") {
            Self::Agent
        } else if request.messages[0].text.starts_with("You read what a person asks their assistant to do.") {
            Self::CleanRoom
        } else {
            Self::Plain
        }
    }
}

/// One scripted reply: an answer, an error or a panic, at once, late, or behind a gate.
#[derive(Debug)]
pub struct Reply {
    outcome: Outcome,
    delay: Duration,
    gate: Option<Arc<Gate>>,
    /// What is written before that.
    written: String,
}

#[derive(Debug)]
enum Outcome {
    Answer(ModelResponse),
    Error(ModelError),
    Panic(String),
}

impl From<Outcome> for Reply {
    fn from(outcome: Outcome) -> Self {
        Self { outcome, delay: Duration::ZERO, gate: None, written: String::new() }
    }
}

impl Reply {
    /// The reply comes only after this time.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// The reply waits at the gate until the test lets it through.
    #[must_use]
    pub fn behind(mut self, gate: &Arc<Gate>) -> Self {
        self.gate = Some(Arc::clone(gate));
        self
    }

    /// These words are written before the reply waits for anything.
    #[must_use]
    pub fn writing(mut self, words: &str) -> Self {
        words.clone_into(&mut self.written);
        self
    }

    /// The answer reports these tokens.
    #[must_use]
    pub fn usage(mut self, usage: Usage) -> Self {
        if let Outcome::Answer(answer) = &mut self.outcome {
            answer.usage = usage;
        }
        self
    }

    /// The answer reports this cost in US dollars.
    #[must_use]
    pub fn cost(mut self, usd: f64) -> Self {
        if let Outcome::Answer(answer) = &mut self.outcome {
            answer.cost_usd = usd;
        }
        self
    }

    /// The answer says this beside its calls.
    #[must_use]
    pub fn saying(mut self, text: impl Into<String>) -> Self {
        if let Outcome::Answer(answer) = &mut self.outcome {
            answer.text = text.into();
        }
        self
    }
}

/// An answer in text.
pub fn text(text: impl Into<String>) -> Reply {
    Outcome::Answer(ModelResponse { text: text.into(), model: "scripted".into(), ..ModelResponse::default() })
        .into()
}

/// An answer that calls one tool.
pub fn call(name: &str, arguments: Value) -> Reply {
    raw_call(name, &arguments.to_string())
}

/// An answer that calls one tool with arguments as a careless model writes them.
pub fn raw_call(name: &str, arguments: &str) -> Reply {
    let call = ToolCall { id: String::new(), name: name.into(), arguments: arguments.into() };
    Outcome::Answer(ModelResponse {
        tool_calls: vec![call],
        model: "scripted".into(),
        ..ModelResponse::default()
    })
    .into()
}

/// One answer with the calls of all these.
pub fn calls(replies: Vec<Reply>) -> Reply {
    let mut together = ModelResponse { model: "scripted".into(), ..ModelResponse::default() };
    for reply in replies {
        if let Outcome::Answer(answer) = reply.outcome {
            together.text.push_str(&answer.text);
            together.tool_calls.extend(answer.tool_calls);
        }
    }
    Outcome::Answer(together).into()
}

/// A failure.
pub fn fails(kind: ModelErrorKind, message: &str) -> Reply {
    error(ModelError::new(kind, message))
}

/// This failure.
pub fn error(error: ModelError) -> Reply {
    Outcome::Error(error).into()
}

/// A panic inside the model, to show what it takes down with it.
pub fn panics(message: &str) -> Reply {
    Outcome::Panic(message.into()).into()
}

/// These replies one after the other; a request too many is an error.
pub fn in_order(
    replies: impl IntoIterator<Item = Reply>,
) -> impl Fn(&Request) -> Reply + Send + Sync + 'static {
    let replies = Mutex::new(replies.into_iter().collect::<VecDeque<_>>());
    move |_| {
        lock(&replies).pop_front().unwrap_or_else(|| fails(ModelErrorKind::Refused, "the script is used up"))
    }
}

/// Whether the request ends with results of tool calls, that is, whether the model was asked before.
pub fn has_results(request: &Request) -> bool {
    request.messages.last().is_some_and(|message| message.role == Role::Tool)
}

/// The text of the last message.
pub fn last_text(request: &Request) -> &str {
    request.messages.last().map_or("", |message| &message.text)
}

/// A gate where replies wait for the test.
#[derive(Debug)]
pub struct Gate {
    permits: Semaphore,
    arrived: watch::Sender<usize>,
}

impl Gate {
    /// A closed gate.
    pub fn closed() -> Arc<Self> {
        Arc::new(Self { permits: Semaphore::new(0), arrived: watch::Sender::new(0) })
    }

    /// Lets all through, now and later.
    pub fn open(&self) {
        self.permits.close();
    }

    /// Lets this many through.
    pub fn let_through(&self, replies: usize) {
        self.permits.add_permits(replies);
    }

    /// Waits until this many replies in all have arrived at the gate.
    pub async fn arrived(&self, replies: usize) {
        // It fails only when the sender is gone, and that is `self`.
        let _ = self.arrived.subscribe().wait_for(|arrived| *arrived >= replies).await;
    }

    async fn pass(&self) {
        self.arrived.send_modify(|arrived| *arrived += 1);
        if let Ok(permit) = self.permits.acquire().await {
            permit.forget();
        }
    }
}

type Script = Box<dyn Fn(&Request) -> Reply + Send + Sync>;

struct Rule {
    who: Who,
    contains: Option<String>,
    script: Script,
}

/// The test model.
pub struct Scripted {
    rules: Vec<Rule>,
    delay: Duration,
    price: Option<Price>,
    sees: bool,
    keeps: bool,
    seen: Mutex<Vec<Request>>,
    count: AtomicUsize,
}

impl Default for Scripted {
    fn default() -> Self {
        Self::new()
    }
}

impl Scripted {
    /// A model with an empty script: every request is an error.
    pub fn new() -> Self {
        Self {
            rules: Vec::new(),
            delay: Duration::ZERO,
            price: None,
            sees: false,
            keeps: true,
            seen: Mutex::default(),
            count: AtomicUsize::new(0),
        }
    }

    /// What the orchestrator is answered. Of several rules that fit, the first added counts.
    #[must_use]
    pub fn orchestrator(self, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        self.rule(Who::Orchestrator, None, Box::new(script))
    }

    /// What sub-agents are answered.
    #[must_use]
    pub fn agent(self, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        self.rule(Who::Agent, None, Box::new(script))
    }

    /// The wishes that the clean room reads in the person's words; without this it reads none.
    #[must_use]
    pub fn clean_room(self, wishes: impl Fn(&Request) -> Value + Send + Sync + 'static) -> Self {
        let script =
            move |request: &Request| text(serde_json::json!({"wishes": wishes(request)}).to_string());
        self.rule(Who::CleanRoom, None, Box::new(script))
    }

    /// What a request for plain text is answered.
    #[must_use]
    pub fn plain(self, script: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Self {
        self.rule(Who::Plain, None, Box::new(script))
    }

    /// What is answered when a message of the request contains this text; to be added before the
    /// rule without a text.
    #[must_use]
    pub fn when(
        self,
        who: Who,
        contains: &str,
        script: impl Fn(&Request) -> Reply + Send + Sync + 'static,
    ) -> Self {
        self.rule(who, Some(contains.into()), Box::new(script))
    }

    /// Every answer takes this long.
    #[must_use]
    pub fn delay(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// What a call is expected to cost; what it did cost is the reply's [`Reply::cost`].
    #[must_use]
    pub fn priced(mut self, price: Price) -> Self {
        self.price = Some(price);
        self
    }

    /// It looks at pictures.
    #[must_use]
    pub fn seeing(mut self) -> Self {
        self.sees = true;
        self
    }

    /// Requests are counted but not kept; for benches.
    #[must_use]
    pub fn forgetful(mut self) -> Self {
        self.keeps = false;
        self
    }

    /// Every request so far, refused ones too, in the order of arrival.
    pub fn requests(&self) -> Vec<Request> {
        lock(&self.seen).clone()
    }

    /// How many requests came so far.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    fn rule(mut self, who: Who, contains: Option<String>, script: Script) -> Self {
        self.rules.push(Rule { who, contains, script });
        self
    }

    fn reply(&self, request: &Request) -> Reply {
        let who = Who::of(request);
        let fits = |rule: &&Rule| {
            let said = |text: &String| request.messages.iter().any(|message| message.text.contains(text));
            rule.who == who && rule.contains.as_ref().is_none_or(said)
        };
        match self.rules.iter().find(fits) {
            Some(rule) => (rule.script)(request),
            None if who == Who::CleanRoom => text(r#"{"wishes":[]}"#),
            None => fails(
                ModelErrorKind::Refused,
                &format!("the script has no answer for {who:?} to {:?}", last_text(request)),
            ),
        }
    }
}

#[async_trait]
impl Model for Scripted {
    async fn call(&self, request: &Request) -> Result<ModelResponse, ModelError> {
        self.count.fetch_add(1, Ordering::SeqCst);
        if self.keeps {
            lock(&self.seen).push(request.clone());
        }
        check(request)?;
        let reply = self.reply(request);
        if let Some(live) = &request.live {
            live.restart();
            live.push(&reply.written);
        }
        let delay = self.delay + reply.delay;
        if !delay.is_zero() {
            tokio::time::sleep(delay).await;
        }
        if let Some(gate) = reply.gate {
            gate.pass().await;
        }
        match reply.outcome {
            Outcome::Answer(answer) => {
                if let Some(live) = request.live.as_ref().filter(|_| !answer.tool_calls.is_empty()) {
                    live.withdraw();
                }
                Ok(with_ids(answer, request))
            }
            Outcome::Error(error) => Err(error),
            Outcome::Panic(message) => panic!("{message}"),
        }
    }

    fn price(&self) -> Option<Price> {
        self.price
    }

    fn takes_pictures(&self) -> bool {
        self.sees
    }
}

/// Numbers the calls on from those in the request, so that ids stay unique after a restart too.
fn with_ids(mut answer: ModelResponse, request: &Request) -> ModelResponse {
    let before: usize = request.messages.iter().map(|message| message.tool_calls.len()).sum();
    for (index, call) in answer.tool_calls.iter_mut().enumerate() {
        call.id = format!("call_{}", before + index + 1);
    }
    answer
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
