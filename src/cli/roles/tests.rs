use adjutant_skills::{Skills, builtin};
use tempfile::TempDir;

use super::*;

fn registry() -> Arc<Registry> {
    Skills::load(&[], &builtin::names(false)).unwrap().current()
}

fn files(all: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (name, text) in all {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The output of `roles check` for these files.
fn checked(all: &[(&str, &str)]) -> (String, bool) {
    let folder = files(all);
    let mut config = Config::in_dir("/data");
    config.roles = vec![folder.path().to_path_buf()];
    let (text, is_ok) = check(&config, None, &registry());
    (text.replace(&folder.path().display().to_string(), "FOLDER"), is_ok)
}

fn offered_here() -> BTreeMap<String, AccessLevel> {
    let services = build_services(&Config::in_dir("/nowhere"), BTreeMap::new()).unwrap();
    offered(&registry(), &services.accounts.of_owners(), true)
}

#[test]
fn the_built_in_roles_are_sound_and_the_reading_ones_only_read() {
    let set = RoleSet::load(&[], &registry());
    assert_eq!(set.problems, []);
    insta::assert_snapshot!(list(&set), @"
    executor    any   acts; can have it reviewed
    planner     read  plans large goals
    researcher  read  finds facts, with sources
    reviewer    read  judges work against criteria
    tester      read  checks that effects are there
    ");
    let offered = offered_here();
    for name in ["planner", "researcher", "reviewer", "tester"] {
        let role = set.get(name).unwrap();
        let grant =
            Grant::of(Rights { asked: None, role: Some(&role.rights), parent: None, offered: &offered });
        assert!(grant.skills.len() > 8, "{name} {:?}", grant.skills);
        assert!(grant.skills.iter().all(|skill| offered[skill] == AccessLevel::Read), "{name}");
        // Its patterns name nothing that it may not do.
        assert_eq!(grant.skills, role.rights.allow, "{name}");
    }
    let longest = set.roles.iter().map(|role| role.name.len() + role.description.len()).max();
    assert!(longest < Some(160), "{longest:?}: a role takes at most 400 bytes of the first request");
}

#[test]
fn a_role_names_the_accounts_that_it_may_use() {
    let role = |accounts: &str| {
        format!("name = \"clerk\"\ndescription = \"d\"\nprompt = \"p\"\naccounts = {accounts}\n")
    };
    let (text, is_ok) = checked(&[("clerk.toml", &role("[\"work\", \" \"]"))]);
    assert!(!is_ok && text.contains("`accounts`: a name is empty"), "{text}");
    let folder = files(&[("clerk.toml", &role("[\"work\"]"))]);
    let set = RoleSet::load(&[folder.path().to_path_buf()], &registry());
    let text = show_named(&set, "clerk", &offered_here()).unwrap();
    assert!(text.contains("accounts      work\n"), "{text}");
}

#[test]
fn a_role_is_shown_with_what_it_may_do() {
    let set = RoleSet::load(&[], &registry());
    let text = show_named(&set, "reviewer", &offered_here()).unwrap();
    let (head, prompt) = text.split_once("\nprompt\n").unwrap();
    assert!(prompt.starts_with("You are a reviewer."));
    insta::assert_snapshot!(head, @"
    reviewer
      judges work against criteria

    effects       read (it only reads)
    accounts      all
    model         the sub-agents'
    model calls   15
    skill calls   15
    time          5 minutes
    context       none
    delegates to  nobody
    file          skills/roles/reviewer.toml (built in)

    23 skills
      assistant.history
      calendar.check_availability
      calendar.list_events
      calendar.search
      contacts.get
      contacts.organizations
      contacts.search
      email.attachment
      email.read
      email.search
      email.status
      files.list
      files.read
      memory.list
      memory.search
      notes.list
      notes.read
      notes.search
      schedule.list
      tasks.search
      watch.list
      web.fetch
      web.search
    ");
    let error = show_named(&set, "reviewr", &offered_here()).unwrap_err().to_string();
    assert!(error.contains("did you mean") && error.contains("reviewer"), "{error}");
}

#[test]
fn a_markdown_file_from_elsewhere_is_a_role_and_its_own_tools_grant_nothing() {
    let lawyer = "---\nname: lawyer\ndescription: Reads contracts\nmodel: opus\ncolor: blue\n\
                  tools: Read, Grep, tasks.search\nskills: [\"email.read\"]\n---\n\nYou are a lawyer.\n";
    let (text, is_ok) = checked(&[("lawyer.md", lawyer)]);
    assert!(is_ok);
    insta::assert_snapshot!(text, @r#"
    FOLDER/lawyer.md:4: warning: the model 'opus' is left out; to use one, write model: { name: "..." }
    FOLDER/lawyer.md:5: warning: 'color' means nothing here and is left out
    FOLDER/lawyer.md:6: warning: there is no skill 'Grep' here; it grants nothing
    FOLDER/lawyer.md:6: warning: there is no skill 'Read' here; it grants nothing
    6 roles: 4 warnings
    "#);
    let folder = files(&[("lawyer.md", lawyer)]);
    let set = RoleSet::load(&[folder.path().to_path_buf()], &registry());
    let role = set.get("lawyer").unwrap();
    assert_eq!((role.prompt.as_str(), role.model.clone()), ("You are a lawyer.", None));
    assert_eq!(role.rights.allow, ["email.read", "tasks.search"]);
    assert_eq!(role.rights.effects, AccessLevel::Read);
}

#[test]
fn every_problem_is_told_with_its_line() {
    let long = format!("name = \"long\"\ndescription = \"Long\"\nprompt = \"{}\"\n", "x".repeat(40_000));
    let (text, is_ok) = checked(&[
        ("a.toml", "name = \"A b\"\ndescription = \"\"\ncolour = \"red\"\n"),
        (
            "b.toml",
            "name = \"b\"\ndescription = \"B\"\nprompt = \"p\"\nskills = [\"taks.*\", \"tasks.search\"]\n\
             deny = [\"tasks.serch\"]\neffects = \"write\"\nmax_duration = \"5 weeks\"\nmax_model_calls = 0\n\
             delegates_to = [\"reviwer\"]\ncontext = \"all\"\nmodel = \"x\"\n",
        ),
        (
            "c.toml",
            "name = \"c\"\ndescription = \"C\"\nprompt = \"p\"\nskills = [\"taks.*\"]\ndelegates_to = [\"reviwer\"]\n",
        ),
        ("d.md", "---\nname: d\ndescription: D\n"),
        ("e.md", "Only a prompt.\n"),
        ("f.toml", "name = \"f\"\ndescription = \"F\"\nprompt_file = \"none.md\"\n"),
        ("g.toml", "name = \"g\"\ndescription = \"G\"\nprompt = \"p\"\ndelegates_to = [\"h\"]\n"),
        ("h.toml", "name = \"h\"\ndescription = \"H\"\nprompt = \"p\"\ndelegates_to = [\"g\"]\n"),
        ("i.toml", "name = \"g\"\ndescription = \"G again\"\nprompt = \"p\"\n"),
        ("j.md", "---\nname: [\n---\nText\n"),
        ("k.toml", &long),
    ]);
    assert!(!is_ok);
    insta::assert_snapshot!(text, @r#"
    FOLDER/a.toml:1: 'A b' can't be a name: a role's name has up to 40 small letters, digits, '-' and '_', a letter first
    FOLDER/a.toml:1: the role has no prompt: write `prompt` or `prompt_file`
    FOLDER/a.toml:2: `description` is empty
    FOLDER/a.toml:3: the role has no key 'colour'; known here: name, description, prompt, prompt_file, model, skills, deny, effects, accounts, max_model_calls, max_skill_calls, max_duration, context, context_limit, delegates_to
    FOLDER/b.toml:6: 'write' isn't a valid `effects`; write one of read, own, any
    FOLDER/b.toml:7: `max_duration`: "5 weeks" isn't a duration; write a whole number and a unit (ms, s, m, h or d), such as "30s"
    FOLDER/b.toml:8: `max_model_calls` must be a whole number from 1 to 1000, not 0
    FOLDER/b.toml:10: 'all' isn't a valid `context`; write one of none, summary, selective, full
    FOLDER/b.toml:11: the model must be a table, not a text
    FOLDER/c.toml:4: `skills`: 'taks.*' matches no skill; `adjutant skills list` shows all
    FOLDER/c.toml:5: `delegates_to`: there is no role 'reviwer'; did you mean 'reviewer'?
    FOLDER/d.md:1: the file's head has no end; write a line --- after it
    FOLDER/e.md:1: warning: the file has no head (a line ---, keys in YAML, a line ---), so it's no role
    FOLDER/f.toml:3: `prompt_file`: FOLDER/none.md can't be read: No such file or directory (os error 2)
    FOLDER/g.toml:4: warning: `delegates_to` is a cycle: g → h → g; it ends at [limits] max_depth
    FOLDER/i.toml:1: warning: FOLDER/g.toml has the same name and is used instead; choose another
    FOLDER/j.md:2: not YAML: unclosed bracket '['
    FOLDER/k.toml:3: the prompt has 39 KB; the longest has 32
    15 problems; 7 roles without any
    "#);
}

#[test]
fn one_file_is_checked_alone_and_may_use_all_roles() {
    let role = "name = \"boss\"\ndescription = \"Leads\"\nprompt = \"p\"\ndelegates_to = [\"reviewer\"]\n";
    let folder = files(&[("boss.toml", role), ("broken.toml", "name = 1\n")]);
    let (text, is_ok) = check(&Config::in_dir("/data"), Some(&folder.path().join("boss.toml")), &registry());
    assert_eq!((text.as_str(), is_ok), ("1 role: no problems\n", true));
    let (text, is_ok) = check(&Config::in_dir("/data"), Some(&folder.path().join("none.toml")), &registry());
    assert!(!is_ok && text.contains("there is no such file or folder"), "{text}");
}

#[test]
fn a_model_that_is_not_there_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let file =
        "name = \"lawyer\"\ndescription = \"Reads\"\nprompt = \"You read.\"\nmodel = { name = \"big\" }\n";
    std::fs::write(folder.path().join("lawyer.toml"), file).unwrap();
    let mut config = Config::in_dir("/data");
    config.roles = vec![folder.path().to_path_buf()];
    let (text, is_ok) = check(&config, None, &registry());
    assert!(text.contains("lawyer.toml: warning: there is no model 'big'"), "{text}");
    assert!(is_ok);
    // Only the provider knows its models.
    config.model.main.first.provider = "openai".into();
    assert!(!check(&config, None, &registry()).0.contains("big"));
}
