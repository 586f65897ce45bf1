//! The page in a real browser: seen live, answered, on a phone, without a script, and across a crash.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use adjutant_fakes::model::{FakeModel, Reply, has_tool, last_message};
use adjutant_fakes::speech::{FakeSpeech, note};
use adjutant_types::AccountState;
use serde_json::json;

use crate::chromium::Chromium;
use crate::client::Site;
use crate::gateway::{eventually, wait_until};
use crate::{accounts, plans, workflows};

/// A model whose researchers wait until the gate opens. The visit is planned by two of them side by side, whose work a
/// reviewer reads.
fn model(gate: &Arc<AtomicBool>) -> FakeModel {
    let gate = gate.clone();
    FakeModel::start(move |request| {
        let last = last_message(request);
        let agent = |id: &str, role: &str, mission: &str, needs: &[&str]| json!({"agent_id": id, "role": role, "mission": mission, "skills": ["tasks.search"], "depends_on": needs});
        if has_tool(request, "dispatch_agent") {
            if !last.contains("plan the visit") {
                return Reply::text(
                    "The visit is on **Thursday at 9:00**:\n\n1. Train at 8:12\n2. Lunch at *Rosa's*\n\n| who | when |\n|---|---|\n| Dana | 9:00 |\n| Lee | 11:30 |",
                );
            }
            let trains = agent("trains", "researcher", "Find a train that arrives before nine", &[]);
            let lunch = agent("lunch", "researcher", "Find a place for lunch near the office", &[]);
            let plan = agent("plan", "reviewer", "Put both into one plan for the day", &["trains", "lunch"]);
            let reply = Reply::call("dispatch_agent", &trains);
            let reply = reply.and_call("dispatch_agent", &lunch.to_string());
            return reply.and_call("dispatch_agent", &plan.to_string());
        }
        while !gate.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
        if last.contains("tasks") && !last.contains("No ") && !last.contains("\"tool\"") {
            return Reply::call("tasks.search", &json!({"text": "visit"}));
        }
        Reply::text("The 8:12 arrives at 8:51, and Rosa's has a table for four.")
    })
}

fn with_model(model: &FakeModel) -> String {
    format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[approval]\nmedium = \"ask\"\n[model]\nprovider = \"openai\"\nname = \"fake\"\nbase_url = \"{}\"\n",
        model.base_url()
    )
}

/// Signs in with the link from the chat, as a person who taps it.
pub(crate) fn sign_in(chromium: &mut Chromium, site: &Site, person: i64) {
    let link = site.link_for(person);
    chromium.run(&format!("await page.goto({}); await page.waitForURL(/8?\\/$/);", json!(link)));
}

pub(crate) fn goto(chromium: &mut Chromium, site: &Site, path: &str) {
    let address = format!("http://{}{path}", site.address);
    chromium.run(&format!("await page.goto({}); ", json!(address)));
    chromium.shows("body[data-live]");
}

/// The pages at all widths, in both schemes: what axe finds, and whether anything is wider than the window.
pub(crate) fn look_at_all(chromium: &mut Chromium, name: &str) {
    for scheme in ["light", "dark"] {
        for width in [320, 360, 768, 1440, 1920] {
            chromium.run(&format!(
                "await page.emulateMedia({{colorScheme: '{scheme}'}}); await page.setViewportSize({{width: {width}, height: 900}});"
            ));
            chromium.picture(&format!("{name}-{width}-{scheme}"));
            let wide = chromium
                .run("return page.evaluate(() => document.documentElement.scrollWidth - innerWidth);");
            assert!(wide.as_i64().unwrap() <= 0, "{name} is wider than {width}: {wide}");
        }
        let found = chromium.run("return axe();");
        assert_eq!(found, json!([]), "{name} in {scheme}");
    }
    chromium.run("await page.emulateMedia({colorScheme: 'light'});");
}

/// The steps of a request in two panes, on its page.
fn look_at_steps(chromium: &mut Chromium) {
    chromium.run("await page.setViewportSize({width: 1440, height: 900});");
    chromium.shows("#request >> text=Thursday at 9:00");
    chromium.run("await page.locator('#steps li a', {hasText: 'Find a train'}).first().click();");
    chromium.shows("#detail .body >> text=Find a train that arrives before nine");
    chromium.hides("#request");
    chromium.run("await page.evaluate(() => refreshAll());");
    assert_eq!(chromium.run("return page.locator('.filter').count();"), 1);
    chromium.shows("#detail .body >> text=Find a train that arrives before nine");
    look_at_all(chromium, "steps");
    let shown = "return page.locator('#steps > li[data-state]').filter({visible: true}).count();";
    chromium.run("await page.fill('.filter input', 'lunch near');");
    assert_eq!(chromium.run(shown), 1);
    chromium.run("await page.fill('.filter input', ''); await page.click('.filter >> text=Running');");
    assert_eq!(chromium.run(shown), 0);
}

/// The pages about what was used and logged, with something on them.
fn look_behind(chromium: &mut Chromium, site: &Site) {
    let turn = chromium.run("return page.locator('article.turn').first().getAttribute('id');");
    let log = turn.as_str().unwrap().replace("turn-", "/log/");
    for (path, name) in [(log.as_str(), "log"), ("/usage", "usage-used"), ("/system", "system-used")] {
        chromium.run(&format!("await page.goto('http://{}{path}');", site.address));
        look_at_all(chromium, name);
    }
    let csv = format!("return (await page.request.get('http://{}/usage.csv')).text();", site.address);
    let csv = chromium.run(&csv);
    assert!(csv.as_str().unwrap().contains("role,\"researcher\","), "{csv}");
    chromium.run("await page.setViewportSize({width: 360, height: 700}); await page.reload();");
    let is_seen = "return page.evaluate(() => { const here = document.querySelector('nav [aria-current]')\
                   .getBoundingClientRect(); return here.left >= 0 && here.right <= innerWidth; });";
    assert_eq!(chromium.run(is_seen), true, "the page's own entry in the navigation is in sight");
}

#[test]
fn a_turn_is_seen_live_by_two_agents_and_across_a_crash() {
    let Some(mut chromium) = Chromium::start() else { return };
    let gate = Arc::new(AtomicBool::new(false));
    let model = model(&gate);
    let mut site = Site::start(&with_model(&model));
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    goto(&mut chromium, &site, "/talk");
    site.telegram.say(ada, ada, "plan the visit of the people from Basel on Thursday");
    chromium.shows(".agent .badge.running");
    chromium.shows("text=Find a place for lunch near the office");
    let running = "const all = page.locator('.agent > details > summary > .badge.running'); \
                   await all.nth(1).waitFor(); return all.count();";
    let running = chromium.run(running);
    assert_eq!(running, 2, "two agents side by side, and one that waits for them");
    chromium.shows("text=after trains, lunch");
    look_at_all(&mut chromium, "live");
    chromium.run("await page.locator('.ways a').first().click();");
    chromium.shows(".trace .bar.running");
    chromium.shows("body[data-live]");
    look_at_all(&mut chromium, "steps-live");
    chromium.run("await page.goBack();");
    chromium.shows("text=Find a place for lunch near the office");
    chromium.shows("body[data-live]");
    site.kill();
    chromium.shows("text=The connection is interrupted");
    site.begin();
    chromium.shows("body[data-live]");
    gate.store(true, Ordering::SeqCst);
    chromium.shows("text=Thursday at 9:00");
    chromium.shows(".work > .badge.done");
    chromium.shows(".said table");
    assert_eq!(
        chromium.run("return page.locator('.said.assistant:has-text(\"Thursday at 9:00\")').count();"),
        1
    );
    // Nobody opened the steps, so they fold once the request has ended.
    chromium.run("await page.locator('.tree > summary').first().click();");
    chromium.run("await page.locator('.ways a').first().click();");
    chromium.shows(".trace .bar.done");
    look_at_steps(&mut chromium);
    goto(&mut chromium, &site, "/talk");
    chromium.run("await page.locator('.tree > summary').first().click();");
    chromium.run("await page.locator('.orchestrator details[data-load] > summary').first().click();");
    chromium.run("await page.locator('.body summary', {hasText: ': asked'}).first().click();");
    chromium.shows(".body pre >> text=plan the visit");
    look_at_all(&mut chromium, "talk");
    chromium.run("await page.setViewportSize({width: 320, height: 900});");
    let texts = "page.locator('pre:has(.copy)').filter({visible: true})";
    let covered = format!(
        "await {texts}.first().waitFor(); return {texts}.evaluateAll((all) => all.filter((pre) => {{ \
         const button = pre.querySelector('.copy').getBoundingClientRect(); const range = document.createRange(); \
         range.selectNodeContents(pre.lastChild); return [...range.getClientRects()].some((line) => \
         line.left < button.right && button.left < line.right && line.top < button.bottom && button.top < line.bottom); \
         }}).length);"
    );
    assert_eq!(chromium.run(&covered), 0, "a button covers the text that it copies");
    look_behind(&mut chromium, &site);
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn an_answer_is_read_while_it_is_written_and_stands_there_once() {
    let Some(mut chromium) = Chromium::start() else { return };
    let gate = Arc::new(AtomicBool::new(false));
    let held = gate.clone();
    let answer = "The visit is on **Thursday**, as [Dana](https://plan.example/a) wrote.\n\n1. Train at 8:12\n2. Lunch at \
                  *Rosa's*\n\nThen everybody walks to the office, and those from Basel leave at five.";
    let model = FakeModel::start(move |_| Reply::text(answer).held(&held));
    let mut site = Site::start(&with_model(&model));
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    goto(&mut chromium, &site, "/talk");
    chromium.run("await page.locator('#text').focus(); await page.keyboard.type('plan the visit'); await page.keyboard.press('Enter');");
    chromium.shows(".draft strong >> text=Thursday");
    chromium.shows(".draft >> text=(plan.example)");
    chromium.shows(".work > .badge.running");
    goto(&mut chromium, &site, "/talk");
    chromium.shows(".draft >> text=(plan.example)");
    look_at_all(&mut chromium, "draft");
    let aloud = chromium.run("return page.locator('#aloud').textContent();");
    assert_eq!(aloud, "The visit is on Thursday, as Dana (plan.example) wrote.", "the list isn't whole yet");
    chromium.run("await page.evaluate(() => refreshAll());");
    assert_eq!(chromium.run("return page.locator('article > .draft').count();"), 1);
    site.kill();
    chromium.shows("text=The connection is interrupted");
    site.begin();
    chromium.shows("body[data-live]");
    chromium.shows(".draft strong >> text=Thursday");
    gate.store(true, Ordering::SeqCst);
    chromium.shows(".said.assistant:not(.draft) >> text=leave at five");
    assert_eq!(chromium.run("return page.locator('.said.assistant:has-text(\"Thursday\")').count();"), 1);
    chromium.shows(".work > .badge.done");
    let aloud = chromium.run("return page.locator('#aloud').textContent();");
    assert!(aloud.as_str().unwrap().ends_with("leave at five."), "{aloud}");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn a_question_is_answered_here_and_there_and_a_message_is_written_by_keyboard() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("[assistant]\nowner = [\"telegram:1000\"]\n[approval]\nmedium = \"ask\"\n");
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    goto(&mut chromium, &site, "/talk");
    chromium.run("await page.keyboard.press('Tab'); await page.keyboard.press('Enter');");
    chromium.run("await page.locator('#text').focus(); await page.keyboard.type('add a task to buy milk'); await page.keyboard.press('Enter');");
    chromium.shows("text=Added “buy milk”");
    assert_eq!(chromium.run("return page.locator('#text').inputValue();"), "");
    // What takes long is said to be on its way.
    chromium.run("await page.route('**/say', (route) => { globalThis.held = route; }); await page.fill('#text', 'what is overdue?'); await page.keyboard.press('Enter');");
    chromium.shows("#note >> text=Sending");
    chromium.run("await globalThis.held.continue(); await page.unroute('**/say');");
    chromium.shows("text=No overdue tasks");
    chromium.hides("#note");
    site.telegram.say(ada, ada, "delete the task about milk");
    chromium.shows(".choices button >> text=Approve");
    goto(&mut chromium, &site, "/");
    look_at_all(&mut chromium, "now");
    let tree = chromium.run("return page.locator('main').ariaSnapshot();");
    for part in
        ["region \"Waiting for you 1\"", "group \"Delete a task for good: buy milk", "button \"Approve\""]
    {
        assert!(tree.as_str().unwrap().contains(part), "{part}: {tree}");
    }
    chromium.run("await page.locator('.choices button', {hasText: 'Reject'}).first().focus(); await page.keyboard.press('Enter');");
    chromium.hides(".choices");
    chromium.run("await page.waitForFunction(() => document.activeElement.id === 'main');");
    wait_until("Telegram's buttons are gone", || {
        site.telegram.seen(ada).iter().all(|seen| seen.buttons.is_empty())
    });
    assert_eq!(site.home.tasks(), ["buy milk"]);
    site.telegram.say(ada, ada, "delete the task about milk");
    chromium.shows(".choices button >> text=Approve");
    let question = eventually("the question", || {
        site.telegram.seen(ada).into_iter().find(|seen| !seen.buttons.is_empty()).map(|seen| seen.id)
    });
    site.telegram.press(ada, ada, question, "Approve");
    chromium.hides(".choices");
    wait_until("the task is deleted", || site.home.tasks().is_empty());
    accounts::connect(&site, ada, "a1", "private", AccountState::Ready);
    accounts::connect(&site, ada, "a2", "work", AccountState::NeedsLogin);
    for (path, name) in [
        ("/sessions", "sessions"),
        ("/people", "people"),
        ("/things", "things"),
        ("/accounts", "accounts"),
        ("/usage", "usage"),
        ("/system", "system"),
        ("/settings", "settings"),
    ] {
        chromium.run(&format!("await page.goto('http://{}{path}');", site.address));
        look_at_all(&mut chromium, name);
    }
    change_a_setting(&mut chromium);
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

/// Sets a budget on the open page of settings, with all its sections open, and undoes that.
fn change_a_setting(chromium: &mut Chromium) {
    let open = "await page.evaluate(() => document.querySelectorAll('main details').forEach(one => one.open = true));";
    chromium.run(open);
    look_at_all(chromium, "settings-open");
    chromium.run("await page.fill('[name=\"set.limits.day_tokens\"]', '500000');");
    chromium.run("await page.locator('form', {has: page.locator('[name=\"set.limits.day_tokens\"]')}).getByText('Show the change').click();");
    chromium.shows("ins >> text=day_tokens = 500000");
    look_at_all(chromium, "settings-change");
    chromium.run("await page.click('text=Write it');");
    chromium.shows("text=Ada: limits.day_tokens");
    chromium.run(open);
    assert_eq!(
        chromium.run("return page.locator('[name=\"set.limits.day_tokens\"]').inputValue();"),
        "500000"
    );
    chromium.run("await page.click('text=Undo the last change');");
    chromium.shows("del >> text=day_tokens = 500000");
    chromium.run("await page.click('text=Write it');");
    chromium.shows("text=Undo the last change");
    chromium.run(open);
    assert_eq!(chromium.run("return page.locator('[name=\"set.limits.day_tokens\"]').inputValue();"), "");
}

#[test]
fn a_thing_is_changed_in_one_tab_seen_in_another_and_found() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    site.telegram.say(ada, ada, "add a task to buy milk");
    wait_until("it is added", || site.home.tasks() == ["buy milk"]);
    goto(&mut chromium, &site, "/things");
    chromium.run(
        "globalThis.other = await context.newPage(); await other.goto(page.url()); \
         await other.locator('body[data-live]').waitFor();",
    );
    chromium.run("await page.locator('td.act summary', {hasText: 'Edit'}).click();");
    look_at_all(&mut chromium, "things-edit");
    chromium.run("await page.fill('.edit [name=\"text\"] >> nth=0', 'buy oat milk'); await page.click('.edit button');");
    chromium.shows("td >> text=buy oat milk");
    chromium.hides(".edit");
    chromium.run("await other.locator('td', {hasText: 'buy oat milk'}).waitFor();");
    chromium.run("await page.click('td.act button >> text=Done');");
    chromium.run("await other.locator('button', {hasText: 'Open again'}).waitFor(); await other.close();");
    chromium.run("await page.click('nav >> text=Search'); await page.fill('[name=\"q\"]', 'milk'); await page.keyboard.press('Enter');");
    chromium.shows("a >> text=add a task to buy milk");
    look_at_all(&mut chromium, "search");
    chromium.run("await page.click('a >> text=add a task to buy milk');");
    chromium.shows(".turn:target");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn a_voice_note_is_recorded_sent_and_answered() {
    let Some(mut chromium) = Chromium::start() else { return };
    const WORDS: &str = "add a task to call Ada";
    let speech = FakeSpeech::start();
    speech.knows(WORDS.as_bytes(), WORDS);
    let site = Site::start(&format!(
        "[voice.transcribe]\nname = \"whisper-1\"\nbase_url = \"{}\"\n",
        speech.base_url()
    ));
    let ada = site.telegram.person("Ada");
    // A microphone that hears these words.
    chromium.run(&format!(
        "await context.addInitScript((bytes) => {{ navigator.mediaDevices.getUserMedia = async () => ({{ getTracks: () => [] }}); \
         window.MediaRecorder = class extends EventTarget {{ static isTypeSupported() {{ return true; }} start() {{}} \
         stop() {{ const data = new Blob([new Uint8Array(bytes)]); \
         this.dispatchEvent(Object.assign(new Event('dataavailable'), {{ data }})); this.dispatchEvent(new Event('stop')); }} }}; }}, {});",
        json!(note(3, WORDS))
    ));
    sign_in(&mut chromium, &site, ada);
    goto(&mut chromium, &site, "/talk");
    chromium.run("await page.click('#speak');");
    chromium.shows("#files >> text=Recording");
    look_at_all(&mut chromium, "recording");
    // Dropped, it is never sent.
    chromium.run("await page.click('#files button');");
    chromium.hides("#files li");
    chromium.shows("#speak:not([aria-label])");
    chromium.run("await page.click('#speak');");
    chromium.shows("#speak[aria-label=\"Stop and send\"]");
    // What a proxy says while the server restarts loses nothing.
    for path in ["upload", "say"] {
        chromium.run(&format!(
            "await page.route('**/{path}', (route) => route.fulfill({{ status: 502 }}), {{ times: 1 }});"
        ));
    }
    chromium.run("await page.click('#speak');");
    chromium.shows("text=Added “call Ada”");
    assert_eq!(site.home.tasks(), ["call Ada"]);
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn updates_disturb_nobody_and_ten_tabs_are_alive() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("[approval]\nmedium = \"ask\"\n");
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    site.telegram.say(ada, ada, "add a task to buy milk");
    wait_until("it is added", || site.home.tasks() == ["buy milk"]);
    site.telegram.say(ada, ada, "delete the task about milk");
    goto(&mut chromium, &site, "/");
    chromium.shows(".choices button >> text=Reject");
    assert!(chromium.run("return page.title();").as_str().unwrap().starts_with("(1) "));
    chromium.run("await page.locator('.choices button', {hasText: 'Reject'}).first().focus();");
    let often = "for (let n = 0; n < 100; n++) await page.evaluate(() => refreshAll());";
    chromium.run(often);
    assert_eq!(chromium.run("return page.evaluate(() => document.activeElement.textContent);"), "Reject");
    goto(&mut chromium, &site, "/talk");
    chromium.shows("text=Added “buy milk”");
    chromium.run("await page.evaluate(() => getSelection().selectAllChildren([...document.querySelectorAll('.said.person .text p')].find(p => p.textContent.includes('buy milk'))));");
    chromium.run(often);
    site.telegram.say(ada, ada, "what is overdue?");
    chromium.shows("text=No overdue tasks");
    assert_eq!(
        chromium.run("return page.evaluate(() => getSelection().toString());"),
        "add a task to buy milk"
    );
    // A browser allows six connections to a host, and those out of sight give theirs back.
    let address = json!(format!("http://{}/talk", site.address));
    chromium.run(&format!(
        "for (let n = 0; n < 10; n++) {{ const tab = await context.newPage(); await tab.goto({address}); \
         await tab.locator('body[data-live]').waitFor(); await tab.evaluate(() => {{ \
         Object.defineProperty(document, 'hidden', {{ get: () => true }}); \
         document.dispatchEvent(new Event('visibilitychange')); }}); }}"
    ));
    site.telegram.say(ada, ada, "show my tasks");
    chromium.shows("text=show my tasks");
    chromium.run("await page.fill('#text', 'x'.repeat(20001));");
    chromium.shows("text=Characters over the limit: 1");
    assert_eq!(chromium.run("return page.locator('#composer button').isDisabled();"), true);
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn a_workflow_runs_on_its_drawing_and_times_are_the_browsers() {
    let Some(mut chromium) = Chromium::start() else { return };
    let gate = Arc::new(AtomicBool::new(false));
    let (site, _model) = workflows::site(&gate);
    let ada = site.telegram.person("Ada");
    chromium.run("await open({timezoneId: 'Asia/Tokyo'});");
    sign_in(&mut chromium, &site, ada);
    chromium.run("await page.click('nav >> text=Workflows');");
    chromium.shows("text=No workflow has run yet.");
    look_at_all(&mut chromium, "workflows");
    chromium.run("await page.click('text=multi-angle-analysis');");
    look_at_all(&mut chromium, "workflow");
    chromium.run(&format!("await page.goto('http://{}/workflows/visit');", site.address));
    chromium.run("await page.fill('[name=\"in.customer\"]', 'Acme'); await page.click('text=Dry run');");
    chromium.shows("text=Dry run of visit: nothing runs.");
    assert_eq!(chromium.run("return page.inputValue('[name=\"in.customer\"]');"), "Acme");
    look_at_all(&mut chromium, "plan");
    chromium.run("await page.click('button:text-is(\"Run\")');");
    chromium.shows("g.running >> text=find");
    chromium.shows("g.pending >> text=write");
    look_at_all(&mut chromium, "run-live");
    gate.store(true, Ordering::SeqCst);
    chromium.shows("g.done >> text=write");
    chromium.shows("g.waiting >> text=sure");
    look_at_all(&mut chromium, "run-waits");
    chromium.run("await page.click('.choices button >> text=Leave it');");
    chromium.shows("text=Run again from here");
    look_at_all(&mut chromium, "run-done");
    let wrong = "return page.evaluate(() => [...document.querySelectorAll('time')].filter((one) => !one.textContent.endsWith(
        new Date(one.dateTime).toLocaleTimeString('en-GB', {timeZone: 'Asia/Tokyo', hour: '2-digit', minute: '2-digit'}))).length);";
    assert_eq!(chromium.run(wrong), 0, "all times are those of Tokyo");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn a_plan_is_changed_in_words_and_runs_on_its_drawing() {
    let Some(mut chromium) = Chromium::start() else { return };
    let gate = Arc::new(AtomicBool::new(false));
    let (site, _model) = plans::site(&gate);
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    chromium.run("await page.click('nav >> text=Plans');");
    chromium.shows("text=There is no plan yet.");
    chromium.run("await page.fill('#goal', 'prepare the board meeting on Friday: find the three figures, draft the invitation'); \
                  await page.click('button:text-is(\"Make a plan\")');");
    chromium.shows("text=Shall it run?");
    chromium.shows("text=Work on invitation");
    look_at_all(&mut chromium, "plan-asks");
    // What is being typed stays while the page changes under it.
    chromium.run("await page.locator('.words textarea').pressSequentially('only the fig');");
    site.telegram.say(ada, ada, "add a task to buy milk");
    chromium.shows("[id^=turn-]");
    chromium.run("await page.evaluate(() => refreshAll());");
    chromium.run("await page.keyboard.type('ures');");
    assert_eq!(chromium.run("return page.inputValue('.words textarea');"), "only the figures");
    chromium.run(
        "await page.fill('.words textarea', 'without the invitation'); await page.click('text=\"Change\"');",
    );
    chromium.shows("text=version 2");
    chromium.hides("ol.plan >> text=Work on invitation");
    chromium.run("await page.click('.choices button >> text=Run');");
    chromium.shows("g.running >> text=figures");
    chromium.hides(".choices");
    look_at_all(&mut chromium, "plan-live");
    gate.store(true, Ordering::SeqCst);
    chromium.shows("text=Review: done as planned");
    chromium.shows("g.done >> text=figures");
    look_at_all(&mut chromium, "plan-done");
    chromium.run("await page.click('text=All plans');");
    chromium.shows(".badge.done");
    look_at_all(&mut chromium, "plans");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn without_a_script_it_can_be_read_and_written() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    site.telegram.say(ada, ada, "add a task to call Bob");
    wait_until("it is done", || site.home.tasks() == ["call Bob"]);
    chromium.run("await open({javaScriptEnabled: false});");
    let link = site.link_for(ada);
    let (page, code) = link.split_once('#').unwrap();
    chromium.run(&format!("await page.goto({}); ", json!(page)));
    chromium.picture("login");
    chromium.run(&format!("await page.fill('#code', {}); await page.click('button'); ", json!(code)));
    chromium.run("await page.click('nav >> text=Conversation');");
    chromium.shows("text=Added “call Bob”");
    chromium.run("await page.fill('#text', 'what is overdue?'); await page.click('#composer button');");
    let asked = "SELECT count(*) FROM turns WHERE ended_at IS NOT NULL";
    wait_until("it is answered", || site.home.count(asked) == 2);
    chromium.run("await page.reload();");
    chromium.shows("text=No overdue tasks");
    drop(chromium);
    site.stop();
}

#[test]
fn a_request_alone_and_one_that_waits_for_its_turn_read_well() {
    let Some(mut chromium) = Chromium::start() else { return };
    let gate = Arc::new(AtomicBool::new(false));
    let (site, _model) = workflows::site(&gate);
    let ada = site.telegram.person("Ada");
    // axe is a script itself, so only the page's own is kept away.
    chromium.run("await context.route('**/page.js*', (route) => route.abort());");
    let link = site.link_for(ada);
    let (page, code) = link.split_once('#').unwrap();
    chromium.run(&format!("await page.goto({}); ", json!(page)));
    chromium.run(&format!("await page.fill('#code', {}); await page.click('button'); ", json!(code)));
    let visit = |chromium: &mut Chromium| {
        chromium.run(&format!("await page.goto('http://{}/workflows/visit');", site.address));
        chromium.run(
            "await page.fill('[name=\"in.customer\"]', 'Acme'); await page.click('button:text-is(\"Run\")');",
        );
    };
    // The first one is at work, so the second one waits.
    visit(&mut chromium);
    let running = "SELECT count(*) FROM runs WHERE ended_at IS NULL";
    wait_until("the first one runs", || site.home.count(running) == 1);
    visit(&mut chromium);
    chromium.shows("text=It begins in a moment.");
    look_at_all(&mut chromium, "waiting");
    let address = chromium.run("return page.url();");
    gate.store(true, Ordering::SeqCst);
    wait_until("both ask", || site.home.count("SELECT count(*) FROM questions") >= 1);
    let turn = site.home.ask(async |store| {
        let row: Option<(String,)> =
            store.first("SELECT id FROM turns ORDER BY seq LIMIT 1", &[]).await.unwrap();
        row.unwrap().0
    });
    chromium.run(&format!("await page.goto('http://{}/turn/{turn}');", site.address));
    chromium.shows("text=One request");
    look_at_all(&mut chromium, "turn");
    chromium.run(&format!("await page.goto({address});"));
    chromium.shows("h1");
    drop(chromium);
    site.stop();
}
