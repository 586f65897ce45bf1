use std::path::PathBuf;

use adjutant_chat::AgentProgress;
use adjutant_config::{McpClient, McpLaunch, McpRevision, OAuthConfig, Secret};
use adjutant_fakes::cloud::{CLIENT, FakeCloud, SECRET};
use adjutant_sandbox::Permissions;
use adjutant_test_support::journal::TestStore;
use adjutant_test_support::programs::launcher;
use serde_json::json;
use tempfile::TempDir;
use tokio::time::Instant;

use super::*;
use crate::ErrorKind;

const SERVER: &str = include_str!("../../../../../tests/fakes/src/mcp/server.py");

/// Makes a call whose server asks nothing.
async fn call(servers: &McpServers, tool: &McpTool, arguments: &Value) -> Result<Output, SkillError> {
    match answer(servers, tool, arguments, None).await? {
        WorkResult::Done(output) => Ok(output),
        WorkResult::Asks(asked) => panic!("{asked:?}"),
    }
}

async fn answer(
    servers: &McpServers,
    tool: &McpTool,
    arguments: &Value,
    asked: Option<&Asked>,
) -> Result<WorkResult, SkillError> {
    let ids = (&"turn".into(), &"call".into());
    let call = McpCall { tool, arguments, ids, asked, patience: IDLE, progress: None };
    servers.call(call).await.map(|(done, _)| done)
}

/// A stand-in server with a behaviour.
struct StandIn {
    servers: McpServers,
    folder: TempDir,
}

impl StandIn {
    fn new(behaviour: &str) -> Self {
        Self::idle_for(behaviour, IDLE)
    }

    fn idle_for(behaviour: &str, idle: Duration) -> Self {
        let folder = TempDir::new().unwrap();
        let script = folder.path().join("server.py");
        std::fs::write(&script, SERVER).unwrap();
        let log = folder.path().join("log").display().to_string();
        let env = [("BEHAVIOUR", behaviour), ("LOG", log.as_str())];
        let env = env.into_iter().filter(|(_, value)| !value.is_empty());
        let env = env.map(|(name, value)| (name.to_owned(), Secret::new(value))).collect();
        // Not by way of a program that only looks for it, whose processes are its own.
        let python = Path::new("/usr/bin/python3");
        let python = if python.is_file() { python } else { Path::new("python3") };
        let words = vec![python.display().to_string(), script.display().to_string()];
        let permissions = Permissions { write: vec![folder.path().to_owned()], ..Permissions::default() };
        let launch = McpLaunch::Command { words, env, permissions };
        let config = McpConfig::new(launch);
        let configs = BTreeMap::from([("notes".to_owned(), config)]);
        Self {
            servers: McpServers::with(
                &configs,
                &folder.path().join("mcp"),
                &launcher(),
                idle,
                &Arc::default(),
            ),
            folder,
        }
    }

    /// The tool as an honest server defines it.
    async fn tool(name: &str) -> McpTool {
        Self::new("").defines(name).await
    }

    /// The tool as this server defines it.
    async fn defines(&self, name: &str) -> McpTool {
        let found = self.servers.inspect("notes").await.unwrap();
        self.servers.stop().await;
        let (tool, _) = found.tools.into_iter().find(|(tool, _)| tool.name == name).unwrap();
        let (digest, only_reads) = (tool.digest(), tool.only_reads());
        McpTool { server: "notes".into(), name: name.into(), digest, only_reads, timeout: None }
    }

    async fn add(&self, tool: &McpTool, text: &str) -> Result<Output, SkillError> {
        call(&self.servers, tool, &json!({"text": text})).await
    }

    fn log(&self) -> Vec<String> {
        let text = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Waits until nothing runs any more.
    async fn is_gone(&self) {
        let until = Instant::now() + Duration::from_secs(20);
        while !self.processes().is_empty() {
            assert!(Instant::now() < until, "{:?} still run", self.processes());
            tokio::task::yield_now().await;
        }
    }

    fn processes(&self) -> Vec<PathBuf> {
        let here = self.folder.path().display().to_string();
        let entries = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok).map(|entry| entry.path());
        let runs = |path: &PathBuf| {
            let environment = std::fs::read(path.join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&environment).contains(&here)
        };
        entries.filter(runs).collect()
    }
}

#[tokio::test]
async fn an_honest_server_is_started_once_and_only_when_needed() {
    let (tool, search) = (StandIn::tool("addNote").await, StandIn::tool("search-notes").await);
    let server = StandIn::new("");
    assert_eq!(server.log(), [""; 0], "nothing runs yet");
    let done = server.add(&tool, "milk").await.unwrap();
    assert_eq!((done.summary.as_str(), !done.ours), ("added: milk", true));
    let found = call(&server.servers, &search, &json!({"query": "milk"})).await.unwrap();
    assert_eq!((found.summary.as_str(), &found.data["count"]), ("2 notes about milk", &json!(2)));
    let wrong = server.add(&tool, "bad").await.unwrap_err();
    assert_eq!((wrong.kind, wrong.unknown), (ErrorKind::Params, false));
    assert_eq!(wrong.to_string(), "the MCP server notes answered: the note is too bad");
    let started: Vec<String> = server.log().into_iter().filter(|line| line.starts_with("started")).collect();
    assert_eq!(started.len(), 1, "{started:?}");
    assert!(!started[0].contains("CARGO"), "nothing of our environment: {started:?}");
    server.servers.stop().await;
    server.is_gone().await;
}

#[tokio::test]
async fn both_revisions_of_the_protocol_are_spoken() {
    for (behaviour, protocol, name) in
        [("", "2025-11-25", "stand-in 1"), ("stateless", "2026-07-28", "stand-in 2")]
    {
        let server = StandIn::new(behaviour);
        let found = server.servers.inspect("notes").await.unwrap();
        assert_eq!((found.about.protocol.as_str(), found.about.server.as_str()), (protocol, name));
        let tool = StandIn::tool("addNote").await;
        assert_eq!(server.add(&tool, "x").await.unwrap().summary, "added: x");
        server.servers.stop().await;
    }
}

#[tokio::test]
async fn a_revision_that_somebody_has_chosen_is_spoken() {
    let revisions = [(McpRevision::Handshake, "2025-11-25"), (McpRevision::Stateless, "2026-07-28")];
    for (revision, protocol) in revisions {
        let server = StandIn::new("stateless");
        let mut configs = server.servers.configs.clone();
        configs.get_mut("notes").unwrap().revision = Some(revision);
        let servers =
            McpServers::with(&configs, &server.folder.path().join("mcp"), &launcher(), IDLE, &Arc::default());
        assert_eq!(servers.inspect("notes").await.unwrap().about.protocol, protocol);
        servers.stop().await;
    }
}

#[tokio::test]
async fn resources_and_prompts_are_listed_and_read_by_name() {
    let server = StandIn::new("library");
    let (resources, prompts) = (server.defines("resources/read").await, server.defines("prompts/get").await);
    assert!(resources.only_reads && prompts.only_reads);
    let read =
        async |tool: &McpTool, arguments: Value| call(&server.servers, tool, &arguments).await.unwrap();
    let listed = read(&resources, json!({})).await;
    let rules = json!({"uri": "notes://rules", "name": "rules", "description": "House rules"});
    assert_eq!(listed.data["items"][0], rules, "without its icon, and without what nobody sees");
    for name in ["rules", "notes://rules"] {
        let rules = read(&resources, json!({"name": name})).await;
        assert_eq!(rules.summary, "[notes://rules]\nNo shoes. [end of outside text]");
        assert!(!rules.ours);
    }
    let logo = read(&resources, json!({"name": "logo"})).await;
    assert_eq!(logo.summary, "[a file, notes://logo, 72 bytes]");
    assert_eq!(read(&prompts, json!({})).await.data["items"][0]["name"], "weekly");
    let weekly = read(&prompts, json!({"name": "weekly", "arguments": {"week": "12"}})).await;
    assert_eq!(weekly.summary, "user:\nSum up week 12");
    server.servers.stop().await;
}

#[tokio::test]
async fn the_progress_of_a_call_is_shown_until_it_is_over() {
    let tool = StandIn::tool("addNote").await;
    let server = StandIn::new("");
    let line = ProgressLine { display: Arc::default(), agent: "a".to_owned() };
    let agent = AgentProgress {
        agent_id: "a".to_owned(),
        status: "running".to_owned(),
        mission: "Note it".to_owned(),
        skill: None,
        depends_on: Vec::new(),
        elapsed_ms: 0,
    };
    let shown = || line.display.noted(agent.clone()).mission;
    let arguments = &json!({"text": "ask which"});
    let ids = (&"turn".into(), &"call".into());
    let progress = Some(&line);
    let call = McpCall { tool: &tool, arguments, ids, asked: None, patience: IDLE, progress };
    let (asks, _) = server.servers.call(call).await.unwrap();
    let WorkResult::Asks(mut asked) = asks else { panic!("{asks:?}") };
    let until = Instant::now() + Duration::from_secs(20);
    while shown() == "Note it" {
        assert!(Instant::now() < until, "nothing is shown");
        tokio::task::yield_now().await;
    }
    assert_eq!(shown(), "25% “ahttps evil.example” · Note it");
    asked.take(Some("Recipes"));
    let (done, _) = server.servers.call(McpCall { asked: Some(&asked), ..call }).await.unwrap();
    assert!(matches!(done, WorkResult::Done(_)), "{done:?}");
    assert_eq!(shown(), "Note it");
    server.servers.stop().await;
}

/// A stand-in that speaks HTTP, and its address.
#[expect(clippy::zombie_processes, reason = "who asked for it kills it and waits for it")]
fn over_http(behaviour: &str, key: &str, folder: &TempDir) -> (std::process::Child, String) {
    let (script, port) = (folder.path().join("server.py"), folder.path().join("port"));
    std::fs::write(&script, SERVER).unwrap();
    let mut command = std::process::Command::new("python3");
    command.arg(&script).arg("--http").arg(&port).env("BEHAVIOUR", behaviour).env("HTTP_KEY", key);
    let process = command.env("LOG", folder.path().join("log")).spawn().unwrap();
    let until = std::time::Instant::now() + Duration::from_secs(20);
    loop {
        if let Ok(port) = std::fs::read_to_string(&port) {
            return (process, format!("http://127.0.0.1:{port}/mcp"));
        }
        assert!(std::time::Instant::now() < until, "it doesn't start");
        std::thread::yield_now();
    }
}

#[tokio::test]
async fn both_revisions_are_spoken_over_http_and_a_wrong_key_is_named() {
    for (behaviour, protocol) in [("honest", "2025-11-25"), ("stateless", "2026-07-28")] {
        let folder = TempDir::new().unwrap();
        let (mut process, url) = over_http(behaviour, "key-12345678", &folder);
        let servers = |key: &str| {
            let headers = [("Authorization".to_owned(), Secret::new(format!("Bearer {key}")))].into();
            let launch =
                McpLaunch::Url { url: url.clone(), headers, oauth: None, client: McpClient::default() };
            let config = McpConfig::new(launch);
            McpServers::with(
                &BTreeMap::from([("notes".to_owned(), config)]),
                folder.path(),
                &launcher(),
                IDLE,
                &Arc::default(),
            )
        };
        let refused = servers("wrong-key").inspect("notes").await.unwrap_err();
        assert_eq!(refused.kind, ErrorKind::Auth, "{refused:?}");
        assert!(
            refused.to_string().ends_with("rejects my credential. Whoever runs me can set one up"),
            "{refused:?}"
        );
        let right = servers("key-12345678");
        assert_eq!(right.inspect("notes").await.unwrap().about.protocol, protocol);
        let tool = StandIn::tool("addNote").await;
        let done = call(&right, &tool, &json!({"text": "x"})).await.unwrap();
        assert_eq!((done.summary.as_str(), !done.ours), ("added: x", true), "{behaviour}");
        right.stop().await;
        process.kill().unwrap();
        process.wait().unwrap();
        let lost = call(&right, &tool, &json!({"text": "x"})).await.unwrap_err();
        assert!(!lost.unknown, "nothing was sent: {lost:?}");
    }
}

#[tokio::test]
async fn a_server_gets_the_token_of_a_login_and_another_one_when_it_rejects_that() {
    let (folder, cloud) = (TempDir::new().unwrap(), FakeCloud::start());
    let mut config = Config::in_dir(folder.path());
    let login = OAuthConfig {
        auth_url: Some(format!("{}/authorize", cloud.origin())),
        token_url: format!("{}/token", cloud.origin()),
        device_url: None,
        client_id: CLIENT.to_owned(),
        client_secret: Some(Secret::new(SECRET)),
        scopes: vec!["mcp".to_owned()],
        params: BTreeMap::new(),
        redirect: None,
    };
    config.oauth.insert("wiki".to_owned(), login);
    // The token after the one of the login.
    let (mut process, url) = over_http("honest", "access-0003-t0ken", &folder);
    let launch = McpLaunch::Url {
        url,
        headers: BTreeMap::new(),
        oauth: Some("wiki".to_owned()),
        client: McpClient::default(),
    };
    let server = McpConfig::new(launch);
    config.mcp.insert("notes".to_owned(), server);
    let (servers, tool) = (McpServers::new(&config), StandIn::tool("addNote").await);
    let test = TestStore::open().await;
    servers.load(&test.store).await.unwrap();
    let error = call(&servers, &tool, &json!({"text": "x"})).await.unwrap_err();
    assert!(
        error.message.whole().contains("An owner can do it with `adjutant oauth login wiki`"),
        "{error:?}"
    );
    let oauth = OAuth::new(&config);
    oauth.attach(&test.store);
    let login = oauth.log_in("wiki").await.unwrap();
    let back = cloud.opens(login.page());
    login.finish(std::future::ready(back)).await.unwrap();
    let done = call(&servers, &tool, &json!({"text": "access-0003-t0ken"})).await.unwrap();
    assert_eq!(done.summary, "added: [secret]", "what it repeats of the token isn't passed on");
    cloud.state().logins.revoke();
    servers.stop().await;
    process.kill().unwrap();
    process.wait().unwrap();
}

#[tokio::test]
async fn a_key_that_a_server_repeats_is_not_passed_on() {
    let mut server = StandIn::new("");
    let config = server.servers.configs.get_mut("notes").unwrap();
    if let McpLaunch::Command { env, .. } = &mut config.launch {
        env.insert("KEY".into(), Secret::new("key-12345678"));
    }
    server.servers = McpServers::with(
        &server.servers.configs.clone(),
        &server.folder.path().join("mcp"),
        &launcher(),
        IDLE,
        &Arc::default(),
    );
    let leaked = server.add(&StandIn::tool("addNote").await, "leak").await.unwrap();
    assert_eq!(leaked.summary, "your key is [secret]");
    assert_eq!(leaked.data, json!({"key": "[secret]"}));
}

#[tokio::test]
async fn a_thousand_mutations_are_never_called() {
    let tool = StandIn::tool("addNote").await;
    let server = StandIn::new("mutates");
    assert_eq!(server.add(&tool, "first").await.unwrap().summary, "added: first");
    for number in 0..1000 {
        let refused = server.add(&tool, "again").await.unwrap_err();
        assert!(
            matches!(refused.kind, ErrorKind::Permission | ErrorKind::NotFound),
            "mutation {number}: {refused:?}"
        );
    }
    let calls = server.log().iter().filter(|line| line.as_str() == "tools/call").count();
    assert_eq!(calls, 1, "only the first");
}

#[tokio::test]
async fn a_hundred_cycles_of_a_forking_server_leave_no_process() {
    let tool = StandIn::tool("addNote").await;
    let server = StandIn::new("forks");
    for cycle in 0..100 {
        assert!(server.add(&tool, "x").await.is_ok());
        if cycle % 10 == 0 {
            // It has forked, also out of its group.
            while server.processes().len() < 4 {
                tokio::task::yield_now().await;
            }
        }
        // Asked to end, or killed without a word.
        match cycle % 25 {
            0 => server.servers.stop().await,
            _ => server.servers.kill().await,
        }
        server.is_gone().await;
    }
}

#[tokio::test]
async fn a_flood_ends_the_server_and_the_call_is_unknown() {
    let tool = StandIn::tool("addNote").await;
    for behaviour in ["floods", "long line"] {
        let server = StandIn::new(behaviour);
        let error = server.add(&tool, "x").await.unwrap_err();
        assert_eq!(
            error.message.whole(),
            "the MCP server notes has written more than 32 MB, so it was stopped"
        );
        assert!(error.unknown && error.kind == ErrorKind::Network);
        server.is_gone().await;
    }
}

#[tokio::test]
async fn garbage_and_endless_questions_change_nothing() {
    let tool = StandIn::tool("addNote").await;
    let garbage = StandIn::new("garbage");
    assert_eq!(garbage.add(&tool, "x").await.unwrap().summary, "added: x");
    // All its questions at once, and it doesn't wait for an answer: its result or its sixth question is read first.
    let asking = StandIn::new("asks");
    let (mut asked, arguments) = (None, json!({"text": "x"}));
    let done = loop {
        match answer(&asking.servers, &tool, &arguments, asked.as_ref()).await {
            Ok(WorkResult::Done(done)) => break done.summary,
            Ok(WorkResult::Asks(now)) => {
                let asked: &mut Asked = asked.insert(now);
                asked.take(Some("no"));
            }
            Err(error) => break error.message.whole(),
        }
    };
    let too_often = "the MCP server notes asked more than 5 times during one call, so I stopped there";
    assert!(["added: x", too_often].contains(&&*done), "{done}");
    let endless = StandIn::new("endless");
    assert_eq!(endless.servers.inspect("notes").await.unwrap().tools.len(), 1000);
}

#[tokio::test]
async fn a_server_that_dies_is_unknown_and_started_again_after_a_pause() {
    let tool = StandIn::tool("addNote").await;
    let server = StandIn::new("dies");
    for _ in 0..2 {
        let died = server.add(&tool, "x").await.unwrap_err();
        assert_eq!(died.to_string(), "the MCP server notes stopped in the middle of the call: out of paper");
        assert!(died.unknown);
    }
    let paused = server.add(&tool, "x").await.unwrap_err();
    assert!(paused.to_string().ends_with("It's tried again in 1 second"), "{paused}");
    assert!(!paused.unknown && paused.retry_after.is_some());
    let calls = server.log().iter().filter(|line| line.as_str() == "tools/call").count();
    assert_eq!(calls, 2, "the paused call reached nobody");
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_ends_a_server_that_hangs() {
    let tool = StandIn::tool("addNote").await;
    let server = StandIn::new("hangs");
    let called = async {
        while !server.log().iter().any(|line| line.starts_with("addNote")) {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        done = server.add(&tool, "x") => panic!("{done:?}"),
        () = called => {}
    }
    server.is_gone().await;
}

#[tokio::test]
async fn an_idle_server_is_stopped_and_started_again() {
    let tool = StandIn::tool("addNote").await;
    let server = StandIn::idle_for("", Duration::from_millis(50));
    for _ in 0..2 {
        assert!(server.add(&tool, "x").await.is_ok());
        server.is_gone().await;
    }
    let started = server.log().iter().filter(|line| line.starts_with("started")).count();
    assert_eq!(started, 2);
}

#[tokio::test]
async fn what_cannot_be_started_says_why() {
    let folder = TempDir::new().unwrap();
    let failing = |words: &[&str]| {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let launch = McpLaunch::Command { words, env: BTreeMap::new(), permissions: Permissions::default() };
        let config = McpConfig::new(launch);
        McpServers::with(
            &BTreeMap::from([("s".to_owned(), config)]),
            folder.path(),
            &launcher(),
            IDLE,
            &Arc::default(),
        )
    };
    for (words, why) in [
        (&["no-such-program"][..], "the program “no-such-program” is not installed (not found in PATH)"),
        (
            &["sh", "-c", "echo no key >&2; exit 1"][..],
            "it ended before it answered: no key (it has no network; `network = true` would give it one)",
        ),
        (
            &["true"][..],
            "it ended before it answered (it has no network; `network = true` would give it one)",
        ),
    ] {
        let servers = failing(words);
        let error = servers.inspect("s").await.unwrap_err();
        assert_eq!(error.message.whole(), format!("the MCP server s can't be used: {why}"));
        assert!(!error.unknown);
    }
}

/// Prints what a call costs: `cargo test -p adjutant --lib mcp::tests::a_call_costs -- --nocapture`.
#[tokio::test]
async fn a_call_costs_little() {
    let tool = StandIn::tool("addNote").await;
    let server = StandIn::new("");
    server.add(&tool, "x").await.unwrap();
    let started = std::time::Instant::now();
    for _ in 0..200 {
        server.add(&tool, "x").await.unwrap();
    }
    println!("{:?} a call with its check", started.elapsed() / 200);
    let calls = server.log().iter().filter(|line| line.as_str() == "tools/list").count();
    assert_eq!(calls, 201, "each call compares the definition");
}
