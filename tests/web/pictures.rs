//! The pictures of the guides, with data that people could have. `cargo test --test web pictures` puts them into
//! `target/pictures`; those that the guides show are copied to `docs/pictures`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use chrono::{TimeDelta, Utc};
use serde_json::{Value, json};

use crate::chromium::Chromium;
use crate::client::Site;
use crate::gateway::wait_until;

const REPORT: &str = r#"workflow:
  name: visit-report
  description: Find what we know of a customer, write a report, and ask before it goes out
  inputs:
    - { name: customer, type: string, required: true, description: Who was visited }
  agents:
    finder: { name: Finder, prompt: "Find what we know about {{inputs.customer}}." }
    writer: { name: Writer, prompt: "Report on what was found: {{steps.find.output}}" }
  steps:
    - { id: find, agent: finder }
    - { id: write, agent: writer }
    - { id: approve, approval: { text: "Shall the report go out?", choices: [Send it, Leave it] } }
"#;

fn agent(name: &str, role: &str, mission: &str, needs: &[&str]) -> Value {
    json!({"agent_id": name, "role": role, "mission": mission, "skills": ["tasks.search"], "depends_on": needs})
}

/// What the orchestrator does for a message.
fn answer(message: &str) -> Reply {
    let direct = |skill: &str, mission: &str, arguments: Value| {
        let dispatch = json!({"agent_id": "a", "mission": mission, "skills": [skill], "arguments": arguments, "as_answer": true});
        Reply::call("dispatch_agent", &dispatch)
    };
    if message.contains("send the report") {
        #[expect(clippy::disallowed_methods, reason = "the page shows what is due from now on")]
        let due = (Utc::now() + TimeDelta::days(1)).format("%Y-%m-%dT17:00").to_string();
        return direct("tasks.create", "add a task", json!({"title": "Send the report", "due": due}));
    }
    if message.contains("ask bob@") {
        let body = "Hi Bob,\n\ncould we move the review tomorrow from 2 to 3 pm?\n\nThanks, Ada";
        let email = json!({"to": ["bob@acme.example"], "subject": "Review tomorrow at 3 pm?", "body": body});
        return direct("email.send", "email Bob", email);
    }
    if message.contains("plan the visit") {
        let plan = agent("plan", "reviewer", "Put both into one plan for the day", &["trains", "lunch"]);
        let trains = agent("trains", "researcher", "Find a train that arrives before nine", &[]);
        let lunch = agent("lunch", "researcher", "Find a place for lunch near the office", &[]);
        let reply = Reply::call("dispatch_agent", &trains);
        return reply
            .and_call("dispatch_agent", &lunch.to_string())
            .and_call("dispatch_agent", &plan.to_string());
    }
    if message.contains("arrives at 8:51") {
        return Reply::text("The visit is on **Thursday at 9:00**: take the 8:12, and lunch is at Rosa's.");
    }
    Reply::text(
        "Two things tomorrow:\n\n- **9:00** Stand-up\n- **14:00** Review with Bob\n\nThe report is due at 17:00.",
    )
}

fn plan() -> Reply {
    let step = |id: &str, role: &str, task: &str, criteria: &str, needs: &[&str]| json!({"id": id, "role": role, "task": task, "success_criteria": criteria, "skills": [], "depends_on": needs});
    let steps = [
        step(
            "figures",
            "researcher",
            "Find revenue, costs and headcount of the third quarter in the emails of October",
            "each figure is named with the email that it comes from",
            &[],
        ),
        step(
            "invitation",
            "executor",
            "Save a draft of an invitation for Friday with the three figures",
            "the draft exists, names Friday's date and has all three figures",
            &["figures"],
        ),
    ];
    let data = json!({"steps": steps, "uncertain": ["whether “Friday” is this Friday"], "will_ask": []});
    Reply::text(&json!({"summary": "A plan.", "data": data}).to_string())
}

/// A model whose researchers wait until the gate opens.
fn model(gate: &Arc<AtomicBool>) -> FakeModel {
    let gate = gate.clone();
    FakeModel::start(move |request| {
        let (first, last) = (request["messages"][0]["content"].to_string(), last_message(request));
        if has_tool(request, "dispatch_agent") {
            return answer(&last);
        }
        if first.contains("You are a planner.") {
            return plan();
        }
        if last.contains("Report on what was found") {
            return Reply::text("# Acme\n\nThe visit on Tuesday went well: they want an offer by Friday.");
        }
        if last.contains("Find what we know") {
            return Reply::text("Two emails of this week, and the visit on Tuesday.");
        }
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Reply::text("The 8:12 arrives at 8:51, and Rosa's has a table for four.")
    })
}

/// Opens a page in a window of this size and waits until it shows something.
fn open(chromium: &mut Chromium, site: &Site, path: &str, (width, height): (u32, u32), shown: &str) {
    chromium.run(&format!(
        "await page.setViewportSize({{width: {width}, height: {height}}}); await page.goto('http://{}{path}');",
        site.address
    ));
    chromium.shows(shown);
}

#[test]
fn pictures_of_the_guides() {
    let Some(mut chromium) = Chromium::start() else { return };
    let gate = Arc::new(AtomicBool::new(false));
    let model = model(&gate);
    let config = format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n\
         [mail]\nfrom = \"Ada <ada@example.org>\"\ninternal_domains = [\"example.org\"]\n\
         [mail.smtp]\nhost = \"127.0.0.1\"\nport = 1\nuser = \"ada\"\npassword = \"x\"\ntls = \"none\"\n\
         [skills]\npaths = [\"mine\"]\n",
        model.base_url()
    );
    let site = Site::start_with(&config, &[("mine/workflows/visit-report.yaml", REPORT)]);
    let ada = site.telegram.person("Ada");
    site.telegram.say(ada, ada, "remind me to send the report tomorrow at 5pm");
    wait_until("the task is there", || site.home.tasks() == ["Send the report"]);
    // The link is asked for outside of the chat, which is in the pictures.
    let link = site.home.run(&["web", "login", &format!("telegram:{ada}")]).stdout;
    chromium.run(&format!("await page.goto({}); await page.waitForURL(/\\/$/);", json!(link.trim())));

    site.telegram.say(ada, ada, "plan the visit of the people from Basel on Thursday");
    open(&mut chromium, &site, "/talk", (768, 900), "text=Find a place for lunch near the office");
    chromium.picture("web-live");
    gate.store(true, Ordering::SeqCst);
    let open_turns = "SELECT count(*) FROM turns WHERE ended_at IS NULL";
    wait_until("the visit is planned", || site.home.count(open_turns) == 0);

    site.telegram.say(ada, ada, "what's on tomorrow?");
    wait_until("tomorrow is told", || {
        site.telegram.seen(ada).iter().any(|seen| seen.text.contains("Stand-up"))
    });
    site.telegram.say(ada, ada, "ask bob@acme.example whether we can move the review to 3 pm");
    open(&mut chromium, &site, "/talk", (390, 800), ".choices button >> text=Approve");
    chromium.run(
        "await page.evaluate(() => { document.querySelectorAll('.tree').forEach((tree) => { tree.open = false; }); \
         [...document.querySelectorAll('.said.person')].at(-1).scrollIntoView(); });",
    );
    chromium.picture("chat-phone");
    open(&mut chromium, &site, "/plans", (1024, 900), "#goal");
    chromium.run(
        "await page.fill('#goal', 'prepare the board meeting on Friday: find the three figures in my email, draft the invitation'); \
         await page.click('button:text-is(\"Make a plan\")');",
    );
    chromium.shows("text=Shall it run?");
    chromium.shows("text=Save a draft of an invitation");
    chromium.picture("web-plan");
    open(&mut chromium, &site, "/workflows/visit-report", (1024, 900), "[name=\"in.customer\"]");
    chromium.run(
        "await page.fill('[name=\"in.customer\"]', 'Acme'); await page.click('button:text-is(\"Run\")');",
    );
    chromium.shows("g.waiting >> text=approve");
    chromium.picture("web-run");
    chromium.run("await page.emulateMedia({colorScheme: 'dark'});");
    open(&mut chromium, &site, "/", (390, 844), "text=Shall the report go out?");
    chromium.shows("text=Send the report");
    chromium.picture("web-now-phone");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}
