//! Answers a server's questions: a person does, as long as one of the server's calls is under way.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use rmcp::model::{
    ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationAction,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, ProtocolVersion,
    UrlElicitationCapability,
};
use rmcp::service::RequestContext;
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::{mpsc, oneshot};

/// How many questions of one call may wait. More are declined at once.
const WAITING: usize = 8;

/// Our side of a connection: no folders, no model, and a person's answers while a call runs.
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
    pub(super) fn new() -> Self {
        Self { calls: Arc::default() }
    }

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
}

impl Calls {
    /// Hears the questions of a call that begins.
    pub(super) fn listen(self: &Arc<Self>) -> Listener {
        let (sender, questions) = mpsc::channel(WAITING);
        let mut under_way = self.under_way();
        let number = under_way.next;
        under_way.next += 1;
        under_way.calls.push(Call { number, is_parked: false, questions: sender });
        drop(under_way);
        Listener { number, calls: Arc::clone(self), questions }
    }

    /// Passes a question on to the call that it belongs to. A server doesn't say which one that is, so it must be the
    /// only one that runs; nobody else may be asked.
    fn ask(&self, params: ElicitRequestParams) -> Option<oneshot::Receiver<ElicitResult>> {
        let under_way = self.under_way();
        let running: Vec<&Call> = under_way.calls.iter().filter(|call| !call.is_parked).collect();
        let call = match (running.as_slice(), under_way.calls.as_slice()) {
            ([only], _) => only,
            ([], [only]) => only,
            _ => return None,
        };
        let (reply, answer) = oneshot::channel();
        call.questions.try_send(Question { params, reply }).ok()?;
        Some(answer)
    }

    fn under_way(&self) -> MutexGuard<'_, UnderWay> {
        self.under_way.lock()
    }
}

impl Listener {
    pub(super) async fn next(&mut self) -> Question {
        match self.questions.recv().await {
            Some(question) => question,
            // The sender lives as long as this.
            None => std::future::pending().await,
        }
    }

    /// Notes whether the call waits for a person.
    pub(super) fn park(&self, is_parked: bool) {
        let mut under_way = self.calls.under_way();
        let call = under_way.calls.iter_mut().find(|call| call.number == self.number);
        if let Some(call) = call {
            call.is_parked = is_parked;
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.calls.under_way().calls.retain(|call| call.number != self.number);
    }
}
