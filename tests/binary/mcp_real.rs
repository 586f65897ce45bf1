//! Real servers, made with the libraries that most are made with, against the real binary.

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::python;
use serde_json::{Value, json};

use crate::mcp_conformance::reference_server;
use crate::process::Home;

const PACKAGES: [&str; 2] = ["fastmcp==4.2.3", "mcp==2.3.0"];

/// Both say that they speak the newer revision, and ask as the older one has it.
const FASTMCP: &str = r#"
from dataclasses import dataclass
from fastmcp import Context, FastMCP

server = FastMCP("shelf")

@dataclass
class Place:
    folder: str

@server.tool
async def shelve(text: str, ctx: Context) -> str:
    """Put a text on the shelf"""
    place = await ctx.elicit("Which folder?", response_type=Place)
    return f"shelved {text} in {place.data.folder}"

@server.resource("shelf://rules", name="rules")
def rules() -> str:
    return "Two books a day"

@server.prompt
def weekly(week: str) -> str:
    return f"Sum up week {week}"

server.run(show_banner=False)
"#;
const SDK: &str = r#"
from mcp.server import MCPServer
from mcp.server.mcpserver import Context
from pydantic import BaseModel

server = MCPServer("shelf")

class Place(BaseModel):
    folder: str

@server.tool()
async def shelve(text: str, ctx: Context) -> str:
    """Put a text on the shelf"""
    place = await ctx.elicit("Which folder?", schema=Place)
    return f"shelved {text} in {place.data.folder}"

@server.resource("shelf://rules", name="rules")
def rules() -> str:
    return "Two books a day"

@server.prompt()
def weekly(week: str) -> str:
    return f"Sum up week {week}"

server.run()
"#;

/// A model that calls a skill for each of these words.
fn model<const N: usize>(calls: [(&'static str, &'static str, Value); N]) -> FakeModel {
    FakeModel::start(move |request: &Value| {
        let last = last_message(request);
        let wanted = calls.iter().find(|(words, ..)| last.contains(words));
        match wanted.filter(|_| has_tool(request, "dispatch_agent")) {
            Some((_, skill, arguments)) => Reply::call(
                "dispatch_agent",
                &json!({"agent_id": "a", "mission": "do it", "role": "executor", "skills": [skill],
                        "arguments": arguments}),
            ),
            None => Reply::text(&last.replace("[outside", "outside")),
        }
    })
}

/// Configures this model and this server.
fn configure(home: &Home, model: &FakeModel, server: &str) {
    let base_url = model.base_url();
    let model = format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{base_url}\"\n");
    home.write("config.toml", &format!("{model}[approval]\nhigh = \"auto\"\n{server}"));
}

#[test]
fn the_reference_server_is_called_and_read() {
    let Some((modules, command)) = reference_server() else { return };
    let model = model([
        ("add them", "every.get_sum", json!({"a": 2, "b": 3})),
        ("draw the sign", "every.get_tiny_image", json!({})),
        ("open the guide", "every.resources_read", json!({"name": "features.md"})),
        (
            "put the question",
            "every.prompts_get",
            json!({"name": "args-prompt", "arguments": {"city": "Lyon"}}),
        ),
    ]);
    let home = Home::new();
    configure(&home, &model, &format!("[mcp.every]\ncommand = {command:?}\nread = [{modules:?}]\n"));
    let approved = home.run(&["mcp", "approve", "every", "--yes"]);
    assert!(approved.stdout.contains("MCP 2025-11-25: "), "{approved:?}");
    for (said, shown) in [
        ("add them\n", "The sum of 2 and 3 is 5."),
        // A picture is a file.
        ("draw the sign\n", "“every-1.png” (picture, 4 KB)"),
        ("open the guide\n", "Everything Server"),
        ("put the question\n", "What's weather in Lyon?"),
    ] {
        let done = home.feed(&["chat"], said.as_bytes());
        assert!(done.stdout.contains(shown), "{said}: {done:?}");
        home.run(&["chat", "--once", "/new"]);
    }
}

#[test]
fn servers_of_the_usual_libraries_ask_and_are_read() {
    let Some(python) = python::with("mcp-venv", &PACKAGES, "the tests on real MCP servers").unwrap() else {
        return;
    };
    // The first import of the libraries is slow.
    let about = "import sys, fastmcp, mcp.server.mcpserver; print(sys.base_prefix, end='')";
    let base = python::run(&python, about, &[]).unwrap();
    // The environment's own python is a link, which must stay one.
    let folder = python.parent().unwrap().parent().unwrap().canonicalize().unwrap();
    for (library, source) in [("fastmcp", FASTMCP), ("mcp", SDK)] {
        let model = model([
            ("shelve it", "shelf.shelve", json!({"text": "milk"})),
            ("read the rules", "shelf.resources_read", json!({"name": "rules"})),
            ("get the prompt", "shelf.prompts_get", json!({"name": "weekly", "arguments": {"week": "12"}})),
        ]);
        let home = Home::new();
        home.write("server.py", source);
        let words = [folder.join("bin/python"), home.path().join("server.py")];
        let section = format!("[mcp.shelf]\ncommand = {words:?}\nread = [{folder:?}, {base:?}]\n");
        configure(&home, &model, &section);
        let approve = |_| home.run(&["mcp", "approve", "shelf", "--yes"]).stdout;
        // A server that takes over ten seconds to answer, on a busy machine, is taken for one of the older revision.
        let mut approved = (0..3).map(approve);
        assert!(approved.any(|told| told.contains("MCP 2026-07-28: 3 tools")), "{library}");
        for (said, shown) in [
            ("shelve it\nPoems\n", "✓ shelf.shelve"),
            ("read the rules\n", "Two books a day"),
            ("get the prompt\n", "Sum up week 12"),
        ] {
            let done = home.feed(&["chat"], said.as_bytes());
            assert!(done.stdout.contains(shown), "{library}: {done:?}");
            home.run(&["chat", "--once", "/new"]);
        }
    }
}
