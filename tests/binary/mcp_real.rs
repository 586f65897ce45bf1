//! Real servers, made with the libraries that most are made with, against the real binary.

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::python;
use serde_json::{Value, json};

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
fn model() -> FakeModel {
    let calls = [
        ("shelve it", "shelf.shelve", json!({"text": "milk"})),
        ("read the rules", "shelf.resources_read", json!({"name": "rules"})),
        ("get the prompt", "shelf.prompts_get", json!({"name": "weekly", "arguments": {"week": "12"}})),
    ];
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

#[test]
fn servers_of_the_usual_libraries_ask_and_are_read() {
    let Some(python) = python::with("mcp-venv", &PACKAGES, "the tests on real MCP servers").unwrap() else {
        return;
    };
    let base = python::run(&python, "import sys; print(sys.base_prefix, end='')", &[]).unwrap();
    // The environment's own python is a link, which must stay one.
    let folder = python.parent().unwrap().parent().unwrap().canonicalize().unwrap();
    for (library, source) in [("fastmcp", FASTMCP), ("mcp", SDK)] {
        let (home, model) = (Home::new(), model());
        home.write("server.py", source);
        let words = [folder.join("bin/python"), home.path().join("server.py")];
        let base_url = model.base_url();
        let model_section =
            format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{base_url}\"\n");
        let section = format!("[mcp.shelf]\ncommand = {words:?}\nread = [{folder:?}, {base:?}]\n");
        home.write("config.toml", &format!("{model_section}[approval]\nhigh = \"auto\"\n{section}"));
        let approved = home.run(&["mcp", "approve", "shelf", "--yes"]);
        assert!(approved.stdout.contains("MCP 2026-07-28: 3 tools"), "{library}: {approved:?}");
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
