//! Answers a server's questions: a person does, as long as one of the server's calls is under way. Shows how far it is.

use std::sync::Arc;

use adjutant_l10n::mcp;
use adjutant_turn::journal::SubProgress;
use adjutant_types::invisible_chars::unbracketed;
use parking_lot::Mutex;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, ProgressNotificationParam,
    ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::{mpsc, oneshot};

/// How many questions of one call may wait. More are declined at once.
const WAITING: usize = 8;
/// How much of a server's words about its progress is shown, in characters.
const MAX_PROGRESS: usize = 40;

/// Our side of a connection: no folders, no model, and a person's answers while a call runs.
#[derive(Default)]
pub(super) struct Client {
    calls: Arc<Calls>,
}

/// The calls of a connection that are under way.
#[derive(Default)]
pub(super) struct Calls {
    under_way: Mutex<UnderWay>,
}

#[derive(Default)]
struct UnderWay {
    calls: Vec<Call>,
    next: u64,
}

struct Call {
    number: u64,
    /// Whether it waits for a person.
    is_parked: bool,
    questions: mpsc::Sender<Question>,
    progress: Option<ProgressLine>,
}

/// Where a call's progress is shown.
#[derive(Debug, Clone)]
pub struct ProgressLine {
    pub display: Arc<SubProgress>,
    /// The name of the agent that makes the call.
    pub agent: String,
}

/// A server's question, and where its answer goes. Dropping it cancels the question.
pub(super) struct Question {
    pub(super) params: ElicitRequestParams,
    pub(super) reply: oneshot::Sender<ElicitResult>,
}

/// Hears a call's questions until it is dropped.
pub(super) struct Listener {
    number: u64,
    calls: Arc<Calls>,
    questions: mpsc::Receiver<Question>,
}

impl Client {
    pub(super) fn calls(&self) -> Arc<Calls> {
        Arc::clone(&self.calls)
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        let about = Implementation::new("adjutant", env!("CARGO_PKG_VERSION"));
        let mut capabilities = ClientCapabilities::default();
        let asks = ElicitationCapability::new();
        let asks = asks.with_form(FormElicitationCapability::new()).with_url(UrlElicitationCapability::new());
        capabilities.elicitation = Some(asks);
        let mut config = ClientConfig::new(capabilities, about);
        config.protocol_version = ProtocolVersion::V_2025_11_25;
        config
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answered = async {
            let answer = self.calls.ask(params)?;
            answer.await.ok()
        };
        let answer = tokio::select! {
            answer = answered => answer,
            () = context.ct.cancelled() => None,
        };
        Ok(answer.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Cancel)))
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.calls.show(&params);
    }
}

impl Calls {
    /// Hears the questions of a call that begins.
    pub(super) fn listen(self: &Arc<Self>) -> Listener {
        let (sender, questions) = mpsc::channel(WAITING);
        let mut under_way = self.under_way.lock();
        let number = under_way.next;
        under_way.next += 1;
        under_way.calls.push(Call { number, is_parked: false, questions: sender, progress: None });
        drop(under_way);
        Listener { number, calls: Arc::clone(self), questions }
    }

    /// Passes a question on to the call that it belongs to; nobody else may be asked.
    fn ask(&self, params: ElicitRequestParams) -> Option<oneshot::Receiver<ElicitResult>> {
        let under_way = self.under_way.lock();
        let call = under_way.only()?;
        let (reply, answer) = oneshot::channel();
        call.questions.try_send(Question { params, reply }).ok()?;
        Some(answer)
    }

    /// Shows how far the call is that a server tells of.
    fn show(&self, params: &ProgressNotificationParam) {
        let under_way = self.under_way.lock();
        let line = under_way.only().and_then(|call| call.progress.as_ref());
        if let (Some(line), Some(progress)) = (line, in_words(params)) {
            line.display.call(&line.agent, Some(progress));
        }
    }
}

impl UnderWay {
    /// The call that a server speaks of. It doesn't say which one that is, so it must be the only one that runs.
    fn only(&self) -> Option<&Call> {
        let running: Vec<&Call> = self.calls.iter().filter(|call| !call.is_parked).collect();
        match (running.as_slice(), self.calls.as_slice()) {
            ([only], _) => Some(*only),
            ([], [only]) => Some(only),
            _ => None,
        }
    }
}

/// How far a call is, as a server says.
fn in_words(params: &ProgressNotificationParam) -> Option<String> {
    let share = params.total.filter(|total| *total > 0.0).map(|total| params.progress / total * 100.0);
    let share = share.map(|share| mcp::progress_share(format!("{:.0}", share.clamp(0.0, 100.0))));
    // No platform makes a link of it.
    let words = params.message.as_deref().map(|words| unbracketed(&words.replace("://", " "), MAX_PROGRESS));
    let words = words.filter(|words| !words.is_empty()).map(mcp::progress_words);
    let parts: Vec<String> = [share, words].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(" "))
}

impl Listener {
    pub(super) async fn next(&mut self) -> Question {
        match self.questions.recv().await {
            Some(question) => question,
            // The sender lives as long as this.
            None => std::future::pending().await,
        }
    }

    /// Shows the call's progress here from now on.
    pub(super) fn show_in(&self, line: Option<&ProgressLine>) {
        self.change(|call| call.progress = line.cloned());
    }

    /// Notes whether the call waits for a person.
    pub(super) fn park(&self, is_parked: bool) {
        self.change(|call| call.is_parked = is_parked);
    }

    fn change(&self, change: impl FnOnce(&mut Call)) {
        let mut under_way = self.calls.under_way.lock();
        if let Some(call) = under_way.calls.iter_mut().find(|call| call.number == self.number) {
            change(call);
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let mut under_way = self.calls.under_way.lock();
        let gone = under_way.calls.iter().position(|call| call.number == self.number);
        let line = gone.and_then(|at| under_way.calls.swap_remove(at).progress);
        drop(under_way);
        if let Some(line) = line {
            line.display.call(&line.agent, None);
        }
    }
}
