//! What connected accounts cost: connecting one, a question over two, renewing a token, and a search. The providers are
//! stand-ins on this machine. `cargo bench --bench accounts` prints a table, and fails if a target is missed.

#![cfg(test)] // so that the lints know the helpers for tests

#[expect(dead_code, reason = "the flows use more of it")]
#[path = "../tests/flows/app.rs"]
mod app;
#[path = "../tests/flows/bases.rs"]
mod bases;

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use adjutant_config::{Config, ConnectConfig, MicrosoftConfig, People, Secret};
use adjutant_credential::TokenSource;
use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET};
use adjutant_fakes::graph::FakeGraph;
use adjutant_graph::{GraphAccount, GraphMail};
use adjutant_mail::Query;
use adjutant_skills::accounts::SecretStore;
use adjutant_store::connected;
use adjutant_test_support::scripted;
use adjutant_types::ProviderKind;
use futures::FutureExt as _;
use futures::future::join_all;
use reqwest::Url;
use serde_json::json;

use app::{TestApp, direct, results, scripted_with};
use scripted::{Scripted, has_results, text};

const TOMORROW: &str = "what's on tomorrow?";
const MAILS: usize = 50_000;
/// How many instances need a new token at the same moment, and how often each.
const INSTANCES: (usize, usize) = (4, 25);
/// What a search may take beyond the server's own time.
const MORE: Duration = Duration::from_millis(50);

/// An app whose person connects accounts at Microsoft.
struct World {
    cloud: FakeCloud,
    graph: FakeGraph,
    app: TestApp,
    config: Config,
}

impl World {
    async fn new() -> Self {
        let (cloud, graph) = (FakeCloud::start(), FakeGraph::start());
        let (mut used, origin) = (None, cloud.origin());
        let day = || json!({"start": "2026-11-22", "end": "2026-11-22"});
        let model = Scripted::new().orchestrator(move |request| match has_results(request) {
            true => text(results(request).join("\n")),
            false => direct("look", "calendar.list_events", day()),
        });
        let app = scripted_with(model, |config: &mut Config| {
            let secret = Some(Secret::new(SECRET));
            let mut microsoft = MicrosoftConfig::new(CLIENT.into(), secret, "common");
            microsoft.oauth.auth_url = Some(format!("{origin}/authorize"));
            microsoft.oauth.token_url = format!("{origin}/token");
            microsoft.oauth.device_url = None;
            microsoft.api_url = graph.url();
            let (offer, people) = (vec![ProviderKind::Microsoft], People::Everybody);
            config.connect = Some(ConnectConfig { offer, people, google: None, microsoft: Some(microsoft) });
            used = Some(config.clone());
        })
        .await;
        Self { cloud, graph, app, config: used.unwrap() }
    }

    /// From `/connect` to the account that is connected.
    async fn connects(&self, address: &str) {
        let next = {
            let mut cloud = self.cloud.state();
            cloud.logins.person = address.to_owned();
            cloud.logins.given.len()
        };
        // The code comes first.
        self.graph.state().person(&format!("access-{:04}-t0ken", next + 1), address);
        let asked = self.app.says("ada", "/connect microsoft").await;
        let mut words = asked.text.split_whitespace().map(|word| word.trim_matches(['<', '>']));
        let link = words.find(|word| word.starts_with("http")).unwrap();
        self.app.says("ada", &self.cloud.opens(link)).await;
        self.app.sees(&format!("✓ Connected {address}")).await;
    }

    /// How many requests the question takes, and how many of them there are at once at most.
    async fn tomorrow(&self) -> (usize, usize) {
        // The first time, the calendars are discovered.
        self.app.says("ada", TOMORROW).await;
        {
            let mut graph = self.graph.state();
            graph.requests.clear();
            (graph.most_at_once, graph.gate) = (0, 2);
        }
        self.app.says("ada", TOMORROW).await;
        let graph = self.graph.state();
        (graph.requests.len(), graph.most_at_once)
    }

    /// How many requests it takes when all instances need another token at the same moment, and how long they wait.
    async fn renewal(&self) -> (usize, Duration) {
        let oauth = self.config.connect.as_ref().and_then(|connect| connect.microsoft.as_ref());
        let oauth = &oauth.unwrap().oauth;
        let account = connected::all(self.app.store()).await.unwrap().remove(0).id;
        let source = |_| {
            let secrets = Arc::new(SecretStore::new(&self.config));
            secrets.attach(self.app.store());
            secrets.token_source(&account, ProviderKind::Microsoft, oauth)
        };
        let instances: Vec<TokenSource> = (0..INSTANCES.0).map(source).collect();
        let refused = &instances[0](None).await.unwrap();
        let before = self.asked_for_tokens();
        let begun = Instant::now();
        let all =
            instances.iter().flat_map(|source| (0..INSTANCES.1).map(move |_| source(Some(refused.clone()))));
        let renewed = join_all(all).await;
        let took = begun.elapsed();
        assert!(renewed.iter().all(|token| *token == renewed[0] && token.as_ref() != Ok(refused)));
        (self.asked_for_tokens() - before, took)
    }

    fn asked_for_tokens(&self) -> usize {
        self.cloud.state().requests.iter().filter(|request| *request == "POST /token").count()
    }
}

/// A mailbox with many mails.
fn mailbox() -> FakeGraph {
    let graph = FakeGraph::start();
    {
        let mut state = graph.state();
        state.person("token", "ada@x.test");
        for n in 0..MAILS {
            let person = n % 100;
            state.deliver(
                "ada@x.test",
                &format!(
                    "From: Person {person} <person-{person}@acme.test>\r\nTo: ada@x.test\r\nSubject: Offer {n}\r\n\
                     Message-ID: <{n}@acme.test>\r\n\r\nCould we talk about offer {n} on Friday?\r\n"
                ),
            );
        }
    }
    graph
}

/// How long the server itself takes for the first mails with these words.
fn own_time(graph: &FakeGraph, words: &str) -> Duration {
    let options = [("$search", words), ("$top", "20"), ("$select", "subject")];
    let url = Url::parse_with_params(&format!("{}/me/messages", graph.url()), options).unwrap();
    let (path, query) = (url.path(), url.query().unwrap());
    let begun = Instant::now();
    let mut stream = TcpStream::connect(url.authority()).unwrap();
    write!(
        stream,
        "GET {path}?{query} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer token\r\n\
         prefer: IdType=\"ImmutableId\"\r\nconnection: close\r\n\r\n",
        url.authority()
    )
    .unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
    begun.elapsed()
}

/// The best of three.
async fn searched(mail: &GraphMail, query: &Query) -> Duration {
    let mut best = Duration::MAX;
    for _ in 0..3 {
        let begun = Instant::now();
        mail.search(query).await.unwrap();
        best = best.min(begun.elapsed());
    }
    best
}

/// Prints a line; whether its target is met.
fn row(what: &str, measured: &str, target: &str, is_met: bool) -> bool {
    println!("| {what} | {measured} | {target} |");
    is_met
}

async fn table() -> bool {
    println!("| what | measured | target |\n| --- | --- | --- |");
    let world = World::new().await;
    let begun = Instant::now();
    world.connects("ada@x.test").await;
    world.app.says("ada", TOMORROW).await;
    let first = begun.elapsed();
    let mut is_well = row(
        "from `/connect` to the first answer, without the person and the model",
        &format!("{} ms", first.as_millis()),
        "2,000 ms",
        first < Duration::from_secs(2),
    );
    world.connects("ada@work.test").await;
    let (requests, at_once) = world.tomorrow().await;
    let measured = format!("{requests}, {at_once} at once");
    is_well &= row("requests for “what's on tomorrow?” over two accounts", &measured, "2", requests == 2);
    let (requests, took) = world.renewal().await;
    let what = format!("requests when {} instances need a new token {} times each", INSTANCES.0, INSTANCES.1);
    let measured = format!("{requests}, after {} ms all have it", took.as_millis());
    is_well &= row(&what, &measured, "1", requests == 1);
    world.app.ends_well().await;

    let graph = mailbox();
    let token: TokenSource = Arc::new(|_| async { Ok("token".to_owned()) }.boxed());
    let mail = GraphMail::new(&GraphAccount::new(&graph.url(), token, Duration::from_secs(60)));
    let query = || Query { limit: 20, ..Query::default() };
    for (what, words, query) in [
        (
            "by sender",
            r#""from:\"person-7@acme.test\"""#,
            Query { from: Some("person-7@acme.test".to_owned()), ..query() },
        ),
        (
            "by text, not found",
            r#""\"no such thing\"""#,
            Query { text: Some("no such thing".to_owned()), ..query() },
        ),
    ] {
        let ours = searched(&mail, &query).await;
        let own = (0..3).map(|_| own_time(&graph, words)).min().unwrap();
        let measured = format!("{} ms, the server's own {} ms", ours.as_millis(), own.as_millis());
        let what = format!("a search in {MAILS} mails at Microsoft {what}, 20 mails");
        is_well &= row(&what, &measured, "50 ms more", ours <= own + MORE);
    }
    is_well
}

fn main() -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    if runtime.block_on(table()) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
