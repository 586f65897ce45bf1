//! Settings that owners change on the page, in the file itself.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use adjutant_fakes::model::{FakeModel, Reply};
use adjutant_store::secrets::digest as digest_of;

use crate::client::{Answer, Browser, Site};
use crate::gateway::wait_until;

const OURS: &str = "# Ours.\n[assistant]\nowner = [\"telegram:1000\"] # Ada\n[limits]\n# Money first.\n\
                    day_cost_usd = 2.5 # per person\n";

fn file(site: &Site) -> String {
    fs::read_to_string(site.home.path().join("config.toml")).unwrap()
}

/// Posts the form as it is on the page now.
fn post(browser: &mut Browser, fields: &[(&str, &str)]) -> Answer {
    let digest = browser.get("/settings").field("digest");
    let mut all = vec![("digest", digest.as_str())];
    all.extend(fields);
    browser.submit("/settings", &all)
}

#[test]
fn a_change_is_shown_written_into_the_file_and_undone() {
    let site = Site::start(OURS);
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let before = file(&site);
    // The file may be a link.
    let real = site.home.path().join("real.toml");
    fs::rename(site.home.path().join("config.toml"), &real).unwrap();
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    symlink(&real, site.home.path().join("config.toml")).unwrap();

    let cost = ("set.limits.day_cost_usd", "4");
    let shown = post(&mut browser, &[cost]);
    assert_eq!(shown.status, 200, "{}", shown.body);
    for part in
        ["<del>− day_cost_usd = 2.5 # per person</del>", "<ins>+ day_cost_usd = 4.0 # per person</ins>"]
    {
        assert!(shown.body.contains(part), "{part}: {}", shown.body);
    }
    assert_eq!(file(&site), before, "nothing is written yet");
    let written = post(&mut browser, &[cost, ("write", "yes")]);
    assert_eq!((written.status, written.header("location")), (303, Some("/settings")));
    assert_eq!(file(&site), before.replace("= 2.5", "= 4.0"));
    assert!(site.home.path().join("config.toml").is_symlink());
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    let page = browser.get("/settings").body;
    assert!(page.contains("Ada: limits.day_cost_usd") && page.contains("Undo the last change"), "{page}");
    assert!(!page.contains(site.telegram.token()), "the token isn't shown");
    assert!(page.contains("It's in the file itself."), "{page}");

    let undone = post(&mut browser, &[("undo", "yes")]);
    assert!(undone.body.contains("<ins>+ day_cost_usd = 2.5 # per person</ins>"), "{}", undone.body);
    assert_eq!(post(&mut browser, &[("undo", "yes"), ("write", "yes")]).status, 303);
    assert_eq!(file(&site), before);
    site.home.write("real.toml", &before.replace("= 2.5", "= 3.0"));
    assert!(!browser.get("/settings").body.contains("Undo the last change"), "it was changed by hand since");
    assert_eq!(post(&mut browser, &[("undo", "yes"), ("write", "yes")]).status, 409);
    assert_eq!(file(&site), before.replace("= 2.5", "= 3.0"));
    let log = site.stop();
    assert!(log.contains("an owner changes the configuration"), "{log}");
}

#[test]
fn what_is_wrong_or_comes_too_late_is_not_written() {
    let site = Site::start(OURS);
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let before = file(&site);
    for (field, why) in [
        (("set.limits.day_tokens", "many"), "must be a whole number"),
        (("set.model.api_key", "sk-1"), "say where the secret is"),
        (("set.model.provider", "opnai"), "did you mean <code>openai</code>?"),
        (("set.store.url", "sqlite:///tmp/x.db"), "isn't a setting here"),
        (("set.limits.day_cost_usd", "2.5"), "That changes nothing."),
    ] {
        let answer = post(&mut browser, &[field, ("write", "yes")]);
        assert_eq!(answer.status, 409, "{field:?}: {}", answer.body);
        assert!(answer.body.contains(why), "{field:?}: {}", answer.body);
        assert!(!answer.body.contains("value=\"sk-1\""), "a secret isn't sent back");
        assert_eq!(file(&site), before, "{field:?}");
    }
    let answer = post(&mut browser, &[("set.limits.day_tokens", "many")]);
    assert!(answer.body.contains("value=\"many\""), "what was typed stays: {}", answer.body);

    let digest = browser.get("/settings").field("digest");
    let by_hand = before.replace("# Money first.", "# By hand.");
    site.home.write("config.toml", &by_hand);
    let cost = ("set.limits.day_cost_usd", "4");
    let late = browser.submit("/settings", &[("digest", &digest), cost, ("write", "yes")]);
    assert!(late.status == 409 && late.body.contains("The file has changed meanwhile."), "{}", late.body);
    assert_eq!(file(&site), by_hand);
    assert_ne!(late.field("digest"), digest, "the new state is shown");
    site.stop();
}

#[test]
fn only_owners_come_here_and_only_as_long_as_they_are() {
    let site = Site::start(OURS);
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut owner, mut other) = (site.browser(ada), site.browser(eve));
    let digest = owner.get("/settings").field("digest");
    let change = [("digest", digest.as_str()), ("set.limits.day_cost_usd", "9"), ("write", "yes")];
    assert_eq!((other.get("/settings").status, other.submit("/settings", &change).status), (404, 404));
    assert_eq!(owner.post("/settings", &change).status, 403, "without the token");
    assert!(!other.get("/talk").body.contains("href=\"/settings\""));
    let without = file(&site).replace("telegram:1000", "telegram:9");
    site.home.write("config.toml", &without);
    // What the file says counts, even before it has been read again.
    let now = digest_of(&without);
    for field in [change[1], ("set.assistant.owner", "telegram:9, telegram:1000")] {
        let late = owner.submit("/settings", &[("digest", now.as_str()), field, change[2]]);
        assert!(matches!(late.status, 404 | 409), "{field:?}: {}", late.status);
    }
    assert_eq!(file(&site), without);
    wait_until("she is no owner any more", || owner.get("/settings").status == 404);
    for field in [("write", "yes"), ("undo", "yes"), ("restart", "yes"), ("test", "model")] {
        assert_eq!(owner.submit("/settings", &[("digest", &digest), field]).status, 404, "{field:?}");
    }
    assert_eq!(file(&site), without);
    site.stop();
}

#[test]
fn people_roles_and_skills_are_set_and_nobody_locks_themselves_out() {
    let site = Site::start(OURS);
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let before = file(&site);
    let page = browser.get("/settings").body;
    for part in
        ["assistant.owner", "channels.telegram.allow", "roles.deny.researcher", "approval.skills.web.fetch"]
    {
        assert!(page.contains(&format!("name=\"set.{part}\"")), "{part}: {page}");
    }
    let alone = format!("telegram:{eve}");
    for (field, why) in [
        (("set.assistant.owner", alone.as_str()), "you wouldn't be an owner"),
        (("set.assistant.owner", ""), "you wouldn't be an owner"),
        (("set.assistant.owner", "Ada"), "must be CHANNEL:USER-ID"),
        (("set.connect.people", "all"), "must be CHANNEL:USER-ID"),
        (("set.roles.deny.researcher", "wbe.*"), "matches no skill"),
    ] {
        let answer = post(&mut browser, &[field, ("write", "yes")]);
        assert!(answer.status == 409 && answer.body.contains(why), "{field:?}: {}", answer.body);
        assert_eq!(file(&site), before, "{field:?}");
    }

    assert!(site.home.run(&["roles", "show", "researcher"]).stdout.contains("web.fetch"));
    let off = [("set.roles.deny.researcher", "web.*"), ("write", "yes")];
    let shown = post(&mut browser, &off[..1]);
    assert!(shown.body.contains("<ins>+ researcher = [&quot;web.*&quot;]</ins>"), "{}", shown.body);
    assert!(shown.body.contains("Needs a restart: roles.deny."), "{}", shown.body);
    assert_eq!(post(&mut browser, &off).status, 303);
    assert!(!site.home.run(&["roles", "show", "researcher"]).stdout.contains("web.fetch"));

    let both = format!("telegram:{ada}\r\n{alone}");
    assert_eq!(post(&mut browser, &[("set.assistant.owner", &both), ("write", "yes")]).status, 303);
    assert!(
        file(&site).contains(&format!("owner = [\"telegram:{ada}\", \"{alone}\"] # Ada")),
        "{}",
        file(&site)
    );
    wait_until("Eve is an owner", || other.get("/settings").status == 200);
    assert_eq!(post(&mut other, &[("set.assistant.owner", &alone), ("write", "yes")]).status, 303);
    wait_until("Ada is none any more", || browser.get("/settings").status == 404);
    site.stop();
}

#[test]
fn a_file_that_may_not_be_written_says_which_command_does_it() {
    // Nothing is forbidden to root.
    if rustix::process::geteuid().is_root() {
        return;
    }
    let site = Site::start(OURS);
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let (folder, before) = (site.home.path().to_owned(), file(&site));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o500)).unwrap();
    for write in [None, Some(("write", "yes"))] {
        let fields: Vec<_> = [("set.limits.day_cost_usd", "4")].into_iter().chain(write).collect();
        let answer = post(&mut browser, &fields).body;
        assert!(answer.contains("I'm not allowed to write this file."), "{answer}");
        assert!(answer.contains("sudo adjutant config set --config"), "{answer}");
        assert!(answer.contains("limits.day_cost_usd=4"), "{answer}");
    }
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!(file(&site), before);
    site.stop();
}

#[test]
fn a_model_and_a_channel_are_tested_and_a_restart_applies_what_needs_one() {
    let model = FakeModel::start(|_| Reply::text("ready"));
    let mut site = Site::start(&format!(
        "{OURS}[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    ));
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    let tested = browser.submit("/settings", &[("test", "model")]);
    assert!(tested.status == 200 && tested.body.contains("answered in"), "{}", tested.body);
    let tested = browser.submit("/settings", &[("test", "channels.telegram")]);
    assert!(tested.status == 200 && tested.body.contains("badge done"), "{}", tested.body);
    assert_eq!(browser.submit("/settings", &[("test", "channels.none")]).status, 404);

    let change = [("set.retention.bodies", "365d"), ("set.retention.traces", ""), ("write", "yes")];
    let shown = post(&mut browser, &change[..2]);
    assert!(shown.body.contains("Needs a restart: retention."), "{}", shown.body);
    assert_eq!(post(&mut browser, &change).status, 303);
    assert!(file(&site).contains("[retention]\nbodies = \"365d\"\n"), "{}", file(&site));
    assert!(browser.get("/settings").body.contains("Waits for a restart: retention."));
    let process = site.gateway.as_ref().unwrap().pid();
    assert_eq!(browser.submit("/settings", &[("restart", "yes")]).status, 303);
    site.gateway.as_mut().unwrap().logs_times("Web page: ", 2);
    assert_eq!(site.gateway.as_ref().unwrap().pid(), process);
    assert!(!browser.get("/settings").body.contains("Waits for a restart"));
    site.telegram.say(ada, ada, "do you go on?");
    wait_until("it goes on", || site.telegram.seen(ada).iter().any(|seen| seen.text == "ready"));
    site.stop();
}

#[test]
fn the_command_line_writes_the_same() {
    let site = Site::start(OURS);
    let before = file(&site);
    let set = site.home.run(&["config", "set", "limits.day_cost_usd=4"]);
    assert_eq!(
        (set.status, set.stdout.as_str()),
        (Some(0), "- day_cost_usd = 2.5 # per person\n+ day_cost_usd = 4.0 # per person\n"),
        "{set:?}"
    );
    assert_eq!(file(&site), before.replace("= 2.5", "= 4.0"));
    for (setting, status, why) in [
        ("limits.day_cost_usd=-1", 78, "must not be negative"),
        ("model.api_key=sk-1", 2, "instead of the secret itself"),
        ("mcp.x.command=rm", 2, "edit the file"),
        ("limits", 2, "must be KEY=VALUE"),
    ] {
        let refused = site.home.run(&["config", "set", setting]);
        assert!(refused.status == Some(status) && refused.stderr.contains(why), "{setting}: {refused:?}");
    }
    assert_eq!(file(&site), before.replace("= 2.5", "= 4.0"));
    site.stop();
}
