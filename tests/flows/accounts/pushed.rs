//! New mail of which Microsoft tells us.

use std::sync::Arc;
use std::time::Duration;

use adjutant::http::{HttpServer, Webhooks};
use adjutant_chat::WebhookRequest;
use adjutant_config::{ChannelConfig, Platform};
use adjutant_engine::gateway::watcher::Watcher;
use adjutant_fakes::graph::{FakeGraph, State};
use adjutant_skills::builtin::watches::new_row;
use adjutant_store::connected::AccountRow;
use adjutant_store::{people, watches};
use adjutant_types::{AccountService, ProviderKind, WatchSource, WatchTrigger};
use futures::FutureExt;
use reqwest::Url;

use super::providers::microsoft;
use super::world::{World, account_row};
use crate::groupware::skill_caller;

const CAROL: &str = "carol@example.test";
/// Less than the time from one look to the next.
const SOON: Duration = Duration::from_secs(15);

/// Carol's mailbox at Microsoft, which ada has connected, and a page that Microsoft reaches.
async fn world(graph: &FakeGraph) -> World {
    graph.state().person("token-carol", CAROL);
    let platform = Platform::Web {
        listen: "127.0.0.1:1".parse().unwrap(),
        public_url: "https://us.test".into(),
        push_hosts: Vec::new(),
    };
    let page = ChannelConfig { enabled: true, platform, api_url: String::new(), allow: Vec::new() };
    let world = World::with(skill_caller(), |config| {
        microsoft(config, graph);
        config.channels.insert("web".into(), page);
    })
    .await;
    let row = AccountRow {
        provider: ProviderKind::Microsoft,
        services: vec![AccountService::Mail],
        ..account_row("carol", "private")
    };
    world.connect_at("ada", row, None).await;
    world
}

fn hooks(watcher: Arc<Watcher>) -> Webhooks {
    Arc::new(move |(to, query), request| {
        let watcher = watcher.clone();
        async move {
            assert_eq!(to, "graph");
            let url = Url::parse(&format!("http://localhost/?{query}")).unwrap();
            let token = url.query_pairs().next().map(|(_, token)| token.into_owned());
            watcher.take_push(token, &request)
        }
        .boxed()
    })
}

/// Waits until this is so of Microsoft.
async fn becomes(graph: &FakeGraph, is_so: impl Fn(&State) -> bool) {
    let look = async {
        while !is_so(&graph.state()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(SOON, look).await.expect("it never becomes so");
}

fn asked(state: &State, what: &str) -> usize {
    state.requests.iter().filter(|request| request.starts_with(what)).count()
}

fn letter(subject: &str) -> String {
    format!(
        "From: Eve <eve@acme.test>\nTo: {CAROL}\nSubject: {subject}\nMessage-ID: <{subject}@acme.test>\n\nHi\n"
    )
}

// The stand-in holds its state while it asks us whether we want to be told.
#[tokio::test(flavor = "multi_thread")]
async fn microsoft_tells_of_new_mail_where_it_reaches_us() {
    let graph = FakeGraph::start();
    let world = world(&graph).await;
    let (app, server) = (&world.app, HttpServer::bind("127.0.0.1:0".parse().unwrap()).await.unwrap());
    graph.state().hooks = Some(server.address().unwrap());
    let routes = server.hook_routes(hooks(app.service.watcher.clone()));
    let serving = tokio::spawn(server.serve_routes(routes));
    app.says("ada", "tasks.search {}").await;
    let here = people::find_conversation(app.store(), "console", "home").await.unwrap().unwrap();
    let source = WatchSource { trigger: WatchTrigger::Mail, account: "carol".into(), place: "INBOX".into() };
    let row = new_row(app.store(), (&here.id, &here.person_id), source);
    world.write(|batch| watches::insert(batch, &row)).await;
    app.passes(Duration::ZERO).await;
    becomes(&graph, |state| state.subscriptions.len() == 1).await;

    graph.state().deliver(CAROL, &letter("First"));
    let told = tokio::time::timeout(SOON, app.sees("“First”")).await.expect("it isn't told at once");
    assert!(told.text.contains("Why you get this"), "{}", told.text);

    graph.state().tell(CAROL, Some("reauthorizationRequired"));
    becomes(&graph, |state| asked(state, "PATCH /subscriptions/") == 1).await;
    graph.state().end_subscriptions(CAROL);
    becomes(&graph, |state| state.subscriptions.len() == 1 && asked(state, "POST /subscriptions") == 2).await;
    let looks = asked(&graph.state(), "GET /me/mailFolders/folder-inbox/messages/delta");
    graph.state().tell(CAROL, Some("missed"));
    let delta = "GET /me/mailFolders/folder-inbox/messages/delta";
    becomes(&graph, |state| asked(state, delta) > looks).await;

    // Who doesn't know the proof wakes nobody, and isn't told so.
    let body = br#"{"value": [{"clientState": "guessed"}, 7], "other": null}"#.to_vec();
    let forged = app.service.watcher.take_push(None, &WebhookRequest { headers: Vec::new(), body });
    assert_eq!((forged.status, forged.body.as_str()), (202, ""));
    world.write(|batch| watches::delete(batch, &row.id)).await;
    app.passes(Duration::ZERO).await;
    serving.abort();
    assert_eq!(graph.state().complaints, [""; 0]);
    world.ends_well().await;
}
