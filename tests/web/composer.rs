//! Writing on the page where the line is slow or breaks, and finding one's way without a mouse.

use serde_json::json;

use crate::browser::{goto, look_at_all, sign_in};
use crate::chromium::Chromium;
use crate::client::Site;
use crate::gateway::wait_until;

const BUSY: &str =
    "await page.waitForFunction(() => document.querySelector('#composer [type=\"submit\"]').disabled);";
const READY: &str =
    "await page.waitForFunction(() => !document.querySelector('#composer [type=\"submit\"]').disabled);";

#[test]
fn nothing_is_lost_of_what_is_written_while_something_is_on_its_way() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    goto(&mut chromium, &site, "/talk");
    // While a message is on its way, Enter sends nothing, and what was typed before it is sent next.
    chromium.run("await page.route('**/say', (route) => { globalThis.held = route; }, { times: 1 });");
    chromium.run("await page.fill('#text', 'add a task to call Ada'); await page.keyboard.press('Enter');");
    chromium.shows("#note >> text=Sending");
    chromium.run("await page.keyboard.type('add a task to call Bob'); await page.keyboard.press('Enter');");
    assert_eq!(site.home.tasks(), [""; 0]);
    chromium.run("await globalThis.held.continue();");
    wait_until("both are done", || site.home.tasks() == ["call Ada", "call Bob"]);
    chromium.run("await page.waitForFunction(() => document.querySelector('#text').value === '');");
    chromium.run(READY);

    // A file is uploaded until it is there, and its message waits for it.
    let choose = |name: &str| {
        format!(
            "await page.setInputFiles('#file', {{ name: '{name}', mimeType: 'text/plain', buffer: Buffer.from('x') }});"
        )
    };
    chromium.run("await page.route('**/upload', (route) => route.abort());");
    // As a proxy says while the server restarts.
    chromium.run("await page.route('**/upload', (route) => route.fulfill({ status: 502 }), { times: 1 });");
    chromium.run(&choose("a.txt"));
    chromium.shows("#files li.loading >> text=a.txt");
    chromium.run(BUSY);
    chromium.run("await page.fill('#text', 'this is for Dana'); await page.keyboard.press('Enter');");
    assert_eq!(chromium.run("return page.inputValue('#text');"), "this is for Dana");
    look_at_all(&mut chromium, "uploading");
    chromium.run("await page.unroute('**/upload');");
    chromium.shows("#files li:not(.loading) >> text=a.txt");
    // One that is dropped doesn't go along.
    chromium.run(&choose("b.txt"));
    chromium.shows("#files li:not(.loading) >> text=b.txt");
    chromium.run("await page.locator('#files li', {hasText: 'b.txt'}).locator('button').click(); await page.focus('#text'); await page.keyboard.press('Enter');");
    chromium.shows(".attached a >> text=a.txt");
    assert_eq!(chromium.run("return page.locator('#files li, .attached >> text=b.txt').count();"), 0);
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn what_is_changed_after_its_answer_was_lost_is_another_message() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    goto(&mut chromium, &site, "/talk");
    // The server takes the message, and the page doesn't hear of it.
    chromium.run(
        "await page.evaluate(() => { const real = fetch; let lost = 0; window.fetch = async (...request) => { \
         const answer = await real(...request); if (request[0] === '/say' && lost++ < 2) throw new TypeError('lost'); \
         return answer; }; });",
    );
    // The same once more is the same message.
    for end in ["", "\\n"] {
        chromium.run(&format!("await page.fill('#text', 'add a task to call Ada{end}');"));
        chromium.run("await page.keyboard.press('Enter');");
        chromium.run(READY);
        assert_eq!(chromium.run("return page.inputValue('#text');"), "add a task to call Ada");
    }
    chromium.run("await page.fill('#text', 'add a task to call Bob'); await page.keyboard.press('Enter');");
    chromium.run(READY);
    assert_eq!(chromium.run("return page.inputValue('#text');"), "");
    wait_until("both are done, and no more", || site.home.tasks() == ["call Ada", "call Bob"]);
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}

#[test]
fn on_a_phone_the_menu_closes_and_each_button_says_of_what_it_is() {
    let Some(mut chromium) = Chromium::start() else { return };
    let site = Site::start("");
    let ada = site.telegram.person("Ada");
    sign_in(&mut chromium, &site, ada);
    for task in ["call Ada", "call Bob", "buy milk"] {
        site.telegram.say(ada, ada, &format!("add a task to {task}"));
        wait_until("it is added", || site.home.tasks().iter().any(|one| one == task));
    }
    chromium.run("await page.setViewportSize({width: 320, height: 700});");
    goto(&mut chromium, &site, "/things");
    let is_open = "return page.locator('.more').evaluate((more) => more.open);";
    for close in ["await page.keyboard.press('Escape');", "await page.click('h1');"] {
        chromium.run("await page.click('.more summary');");
        assert_eq!(chromium.run(is_open), true);
        chromium.run(close);
        assert_eq!(chromium.run(is_open), false, "{close}");
    }
    chromium.run("await page.fill('.filter input', 'call');");
    assert_eq!(chromium.run("return page.textContent('#aloud');"), "Found: 2");
    let tree = chromium.run("return page.locator('main').ariaSnapshot();");
    let tree = tree.as_str().unwrap();
    for part in ["group \"call Ada\"", "group \"call Bob\"", "button \"Done\""] {
        assert!(tree.contains(part), "{part}: {tree}");
    }
    assert!(!tree.contains("group \"buy milk\""), "{tree}");
    chromium.run(&format!("await page.goto('http://{}/sessions');", site.address));
    let described = "return page.locator('[name=\"session\"]').first().evaluate((button) => \
                     document.getElementById(button.getAttribute('aria-describedby')).textContent);";
    let described = chromium.run(described);
    assert!(described.as_str().unwrap().contains("Chrome on Linux"), "{described}");
    // What was typed and not sent isn't left behind for the next one, in no tab.
    chromium.run(&format!(
        "globalThis.other = await context.newPage(); await globalThis.other.goto('http://{}/talk'); \
         await globalThis.other.fill('#text', 'another secret');",
        site.address
    ));
    goto(&mut chromium, &site, "/talk");
    chromium.run("await page.fill('#text', 'a secret'); await page.reload();");
    assert_eq!(chromium.run("return page.inputValue('#text');"), "a secret");
    chromium.run(&format!("await page.goto('http://{}/sessions');", site.address));
    chromium.run("await page.click('form[action=\"/logout\"] button'); await page.waitForURL(/login/);");
    chromium.shows("text=You're signed out.");
    assert_eq!(chromium.run("return page.evaluate(() => sessionStorage.length);"), 0);
    chromium.run("await globalThis.other.waitForFunction(() => sessionStorage.length === 0);");
    chromium.run(&format!("await page.goto('http://{}/login#OnlyAPart');", site.address));
    chromium.shows("text=That link isn't complete.");
    assert_eq!(chromium.run("return errors;"), json!([]));
    drop(chromium);
    site.stop();
}
