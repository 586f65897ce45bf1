//! `adjutant mcp`: what an owner sees of a server, and what a yes changes.

use adjutant_fakes::mcp::StandIn;

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
    assert!(missing.stderr.contains("'no-such-program' is not installed"), "{missing:?}");
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
