//! `adjutant mcp`: what an owner sees of a server, and what a yes changes.

use adjutant_fakes::mcp::StandIn;
use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use serde_json::json;

use crate::process::Home;

/// A home with the stand-in as `[mcp.notes]`.
fn home(behaviour: &str) -> (Home, StandIn) {
    let home = Home::new();
    let server = StandIn::in_folder(home.path()).unwrap();
    home.write("config.toml", &server.section("notes", behaviour));
    (home, server)
}

#[test]
fn a_server_is_listed_looked_at_and_approved() {
    let (home, server) = home("");
    let listed = home.run(&["mcp", "list"]);
    assert!(listed.stdout.contains("0 approved tools") && listed.stdout.contains("mcp approve notes"));
    assert!(server.log().is_empty(), "a list starts nothing");
    assert!(home.run(&["doctor"]).stdout.contains("0 of 3 tools approved; 2 tools new, changed or gone"));

    let refused = home.run(&["mcp", "approve", "notes"]);
    assert_eq!(refused.status, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("use --yes"), "{refused:?}");
    assert!(!home.run(&["skills", "list"]).stdout.contains("notes.add_note"));

    let approved = home.run(&["mcp", "approve", "notes", "--yes"]);
    assert_eq!(approved.status, Some(0), "{approved:?}");
    for part in ["stand-in 1, MCP 2025-11-25: 3 tools", "addNote: new, risk high", "description: Add a note"]
    {
        assert!(approved.stdout.contains(part), "{part}: {approved:?}");
    }
    assert!(approved.stdout.contains("odd: can't be used: its schema can't be checked"), "{approved:?}");
    assert!(home.run(&["skills", "list"]).stdout.contains("notes.add_note"), "it is a skill now");
    assert!(home.run(&["mcp", "tools", "notes"]).stdout.contains("✓ addNote → notes.add_note: approved"));
    assert_eq!(server.calls(), 0);
}

#[test]
fn a_change_is_shown_before_it_is_approved() {
    let (home, server) = home("");
    home.run(&["mcp", "approve", "notes", "--yes"]);
    home.write("config.toml", &server.section("notes", "changed"));
    assert!(home.run(&["doctor"]).stdout.contains("1 of 3 tools approved; 1 tool new, changed or gone"));
    let shown = home.run(&["mcp", "approve", "notes"]);
    let difference =
        "addNote: changed, risk high\n  - description: Add a note\n  + description: Add a note.\n";
    assert!(shown.stdout.contains(difference), "{shown:?}");
    home.run(&["mcp", "approve", "notes", "--yes"]);
    let nothing = home.run(&["mcp", "approve", "notes"]);
    assert!(nothing.stdout.contains("Nothing to approve") && nothing.status == Some(0), "{nothing:?}");
}

#[test]
fn a_probe_needs_no_configuration_and_an_error_says_what_to_do() {
    let (home, server) = home("");
    let mut words = vec!["mcp".to_owned(), "probe".to_owned()];
    words.extend(server.words());
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let probed = home.run(&words);
    assert!(probed.stdout.contains("search-notes; it says that it only reads"), "{probed:?}");
    let missing = home.run(&["mcp", "probe", "no-such-program"]);
    assert_eq!(missing.status, Some(1));
    assert!(missing.stderr.contains("“no-such-program” is not installed"), "{missing:?}");
    let unknown = home.run(&["mcp", "tools", "nots"]);
    assert!(unknown.stderr.contains("there is no [mcp.nots] in the configuration: notes"), "{unknown:?}");
}

#[test]
fn a_name_of_other_skills_is_refused() {
    let (home, server) = home("");
    home.write("config.toml", &server.section("tasks", ""));
    let refused = home.run(&["skills", "list"]);
    let checked = home.run(&["config", "check"]);
    assert_eq!(checked.status, Some(78), "{refused:?} {checked:?}");
    assert!(checked.stderr.contains("there are skills called tasks.* already"), "{checked:?}");
}

/// A home whose model adds a note in the middle of which the server asks for a folder.
fn asking(behaviour: &str) -> (Home, StandIn, FakeModel) {
    let call = json!({"agent_id": "a", "mission": "add it", "role": "executor", "skills": ["notes.add_note"],
                      "arguments": {"text": "ask which"}});
    let model = FakeModel::start(move |request| {
        let is_new = has_tool(request, "dispatch_agent") && last_message(request).contains("note it");
        let told = || last_message(request).replace("[outside", "outside");
        if is_new { Reply::call("dispatch_agent", &call) } else { Reply::text(&told()) }
    });
    let home = Home::new();
    let server = StandIn::in_folder(home.path()).unwrap();
    let base_url = model.base_url();
    let config = server.section("notes", behaviour);
    let model_section =
        format!("[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{base_url}\"\n");
    home.write("config.toml", &format!("{model_section}[approval]\nhigh = \"auto\"\n{config}"));
    assert_eq!(home.run(&["mcp", "approve", "notes", "--yes"]).status, Some(0));
    (home, server, model)
}

fn answered(server: &StandIn) -> Vec<String> {
    server.log().into_iter().filter(|line| line.starts_with("answered")).collect()
}

#[test]
fn a_question_of_a_server_survives_a_restart_where_the_protocol_allows_it() {
    let (home, server, _model) = asking("stateless");
    let asked = home.run(&["chat", "--once", "note it"]);
    assert!(asked.stdout.contains("Which folder?"), "{asked:?}");
    let done = home.run(&["chat", "--once", "Recipes"]);
    assert!(done.stdout.contains("✓ notes.add_note"), "{done:?}");
    assert_eq!(answered(&server), [r#"answered {"action": "accept", "content": {"folder": "Recipes"}}"#]);
    home.assert_tidy("a question across processes");
}

#[test]
fn a_call_that_a_restart_has_cut_off_is_unknown_and_not_repeated() {
    let (home, server, _model) = asking("");
    let asked = home.feed(&["chat"], b"note it\n");
    assert!(asked.stdout.contains("Which folder?"), "{asked:?}");
    let gone = home.feed(&["chat"], b"Recipes\n");
    assert!(gone.stdout.contains("? Add a note: the connection"), "{gone:?}");
    assert!(gone.stdout.contains("the connection in which the MCP server notes asked is gone"), "{gone:?}");
    assert_eq!(server.calls(), 1, "nothing was called again");
    home.assert_tidy("a call that was cut off");
}

#[test]
fn a_pipe_answers_a_question_while_the_call_runs_and_once_declines_it() {
    let (home, server, _model) = asking("");
    let done = home.feed(&["chat"], b"note it\nRecipes\n");
    assert!(done.stdout.contains("✓ notes.add_note"), "{done:?}");
    // What the server returned is outside text, and with it in the history the next call would ask.
    home.run(&["chat", "--once", "/new"]);
    let declined = home.run(&["chat", "--once", "note it"]);
    assert!(!declined.stdout.contains("Which folder?"), "{declined:?}");
    let answers = [
        r#"answered {"action": "accept", "content": {"folder": "Recipes"}}"#,
        r#"answered {"action": "decline"}"#,
    ];
    assert_eq!(answered(&server), answers);
    home.assert_tidy("a question in a pipe");
}
