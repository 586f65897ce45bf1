//! A turn: who ran when, asking for the same again, and times in the viewer's zone.

use crate::client::{Browser, Site};
use crate::gateway::{eventually, wait_until};

const TURNS: &str = "SELECT count(*) FROM turns";

/// The id behind the first of these marks on a page.
fn id(page: &str, mark: &str) -> String {
    page.split(mark).nth(1).unwrap_or_else(|| panic!("{mark} is missing: {page}"))[..22].to_owned()
}

#[test]
fn a_turn_is_drawn_on_a_time_line() {
    let site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    site.telegram.say(ada, ada, "add a task to call Bob");
    let mut browser = site.browser(ada);
    let turn = id(&browser.sees("/talk", "Added “call Bob”"), "id=\"turn-");
    let page = browser.get(&format!("/turn/{turn}")).body;
    for part in ["class=\"trace\"", "rect class=\"open\"", "tasks.create", "class=\"bar done\""] {
        assert!(page.contains(part), "{part} is missing: {page}");
    }
    assert!(!page.contains("style=\""), "nothing is inline");
    let part = browser.get(&format!("/turn/{turn}?part")).body;
    assert!(part.starts_with("<article") && part.contains("tasks.create"), "{part}");
    let mut other = site.browser(eve);
    assert_eq!(other.get(&format!("/turn/{turn}")).status, 404);
    site.stop();
}

/// Ada's turn that waited for her yes and was stopped, which can be asked for again.
fn stopped(site: &Site, ada: i64, browser: &mut Browser) -> String {
    site.telegram.say(ada, ada, "add a task to buy milk");
    wait_until("it is added", || site.home.tasks() == ["buy milk"]);
    site.telegram.say(ada, ada, "delete the task about milk");
    browser.sees("/", ">Approve</button>");
    let turn = id(&browser.sees("/", ">Stop</button>"), "name=\"turn\" value=\"");
    assert_eq!(browser.submit("/repeat", &[("turn", &turn)]).status, 409, "it is still running");
    assert_eq!(browser.submit("/stop", &[("turn", &turn)]).status, 303);
    browser.sees("/talk", "Try again");
    turn
}

#[test]
fn a_thousand_presses_ask_once_more() {
    let site = Site::start("[approval]\nmedium = \"ask\"\n");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let turn = stopped(&site, ada, &mut browser);
    assert_eq!(other.submit("/repeat", &[("turn", &turn)]).status, 409, "it isn't hers");
    let last = site.telegram.seen(ada).iter().map(|seen| seen.id).max();
    let last = last.unwrap_or_default();
    let (before, token) = (site.home.count(TURNS), browser.get("/talk").field("token"));
    let presses: Vec<_> = (0..20)
        .map(|_| {
            let (mut browser, token, turn) = (browser.clone(), token.clone(), turn.clone());
            std::thread::spawn(move || {
                for _ in 0..50 {
                    let status = browser.post("/repeat", &[("token", &token), ("turn", &turn)]).status;
                    assert!(matches!(status, 303 | 409), "{status}");
                }
            })
        })
        .collect();
    presses.into_iter().for_each(|press| press.join().unwrap());
    // It is asked where it was asked before.
    let question = eventually("the question", || {
        let asked =
            site.telegram.seen(ada).into_iter().filter(|seen| seen.id > last && !seen.buttons.is_empty());
        asked.map(|seen| seen.id).next()
    });
    site.telegram.press(ada, ada, question, "Approve");
    wait_until("the task is deleted", || site.home.tasks().is_empty());
    assert_eq!(site.home.count(TURNS), before + 1);
    let page = browser.sees("/talk", "Ask again");
    assert!(!page.contains(">Try again<"), "it was asked again already: {page}");
    site.stop();
}

/// Minutes since midnight of each time on a page: as it is shown, and in UTC.
fn times(page: &str) -> Vec<(i64, i64)> {
    let minutes = |text: &str| {
        let (hour, minute) = text.split_once(':').unwrap();
        hour.parse::<i64>().unwrap() * 60 + minute[..2].parse::<i64>().unwrap()
    };
    let time = |part: &str| {
        let shown = part.split(['>', '<']).nth(1).unwrap();
        (minutes(&shown[shown.len() - 5..]), minutes(&part[11..16]))
    };
    page.split("<time datetime=\"").skip(1).map(time).collect()
}

#[test]
fn times_are_in_the_zone_of_the_browser_or_else_of_the_person() {
    let site = Site::start("[assistant]\ntimezone = \"Asia/Kolkata\"\n");
    let ada = site.telegram.person("Ada");
    let mut browser = site.browser(ada);
    site.telegram.say(ada, ada, "thanks");
    browser.sees("/talk", "re welcome!");
    let cookie = browser.cookie.clone().unwrap();
    // The zone that the script tells, and how far its clocks are ahead, in minutes.
    for (zone, ahead) in
        [("", 330), ("; zone=Asia%2FTokyo", 540), ("; zone=Mars%2FOlympus", 330), ("; zone=%22", 330)]
    {
        browser.cookie = Some(format!("{cookie}{zone}"));
        for path in ["/talk", "/sessions"] {
            let times = times(&browser.get(path).body);
            assert!(!times.is_empty(), "{path}");
            for (shown, utc) in times {
                assert_eq!(shown, (utc + ahead) % 1_440, "{zone} {path}");
            }
        }
    }
    site.stop();
}
