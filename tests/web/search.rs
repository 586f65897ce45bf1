//! The search, what it leads to, and the notes.

use crate::client::Site;
use crate::gateway::wait_until;

/// The first address on a page that begins like this.
#[track_caller]
fn address(page: &str, begin: &str) -> String {
    let at = page.find(&format!("href=\"{begin}")).unwrap_or_else(|| panic!("{begin}: {page}"));
    page[at..].split('"').nth(1).unwrap().to_owned()
}

#[test]
fn everything_of_ones_own_is_found_and_leads_to_where_it_is() {
    let site = Site::start("");
    let (ada, eve) = (site.telegram.person("Ada"), site.telegram.person("Eve"));
    for text in ["add a task to buy oat milk", "remember that Bob drinks oat milk <b>cold</b>"] {
        let before = site.telegram.seen(ada).len();
        site.telegram.say(ada, ada, text);
        wait_until("the answer", || site.telegram.seen(ada).len() > before);
    }
    let (mut browser, mut other) = (site.browser(ada), site.browser(eve));
    let once = browser.get("/talk").field("once");
    let file = format!("{}:oat prices.txt", browser.upload("the milk is cheap"));
    assert_eq!(browser.submit("/say", &[("once", &once), ("text", ""), ("file", &file)]).status, 303);
    browser.sees("/talk", "href=\"/sent/");
    let page = browser.sees("/search?q=oat", "oat prices.txt");
    for group in ["<h2>Conversations", "<h2>Tasks", "<h2>Memories", "<h2>Files"] {
        assert!(page.contains(group), "{group}: {page}");
    }
    assert!(page.contains("&lt;b&gt;cold&lt;/b&gt;") && !page.contains("<b>cold"), "{page}");
    // Each leads to the very thing.
    let (path, name) =
        address(&page, "/things#task-").split_once('#').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(browser.get(&path).body.contains(&format!("id=\"{name}\"")));
    let (path, name) =
        address(&page, "/talk?before=").split_once('#').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
    assert!(browser.get(&path).body.contains(&format!("id=\"{name}\"")));
    assert_eq!(browser.get(&address(&page, "/sent/")).status, 200);
    // Nobody else finds it, and a question is a text.
    assert!(other.get("/search?q=oat").body.contains("Nothing was found for “oat”."));
    let hostile = other.get("/search?q=%3Cscript%3Ealert(1)%3C/script%3E").body;
    assert!(hostile.contains("&lt;script&gt;alert(1)") && !hostile.contains("<script>alert"), "{hostile}");
    assert_eq!(other.get(&format!("/search?q={}", "a".repeat(3_000))).status, 200);
    assert_eq!(site.stranger().get("/search?q=oat").status, 401);
    site.stop();
}

#[test]
fn whoever_signs_in_lands_where_they_wanted_to_be() {
    let site = Site::start("");
    let code = site.link_for(site.telegram.person("Ada")).split_once('#').unwrap().1.to_owned();
    let answer = site.stranger().post("/login", &[("code", &code), ("next", "/talk?before=2#turn-1")]);
    assert_eq!((answer.status, answer.header("location")), (303, Some("/talk?before=2#turn-1")));
    site.stop();
}

#[test]
fn an_owner_changes_a_note_that_nobody_else_sees() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("Visit & more.md");
    std::fs::write(&file, "# Visit\r\n\r\n<b>On</b> Thursday\r\n").unwrap();
    let site = Site::start(&format!(
        "[assistant]\nowner = [\"telegram:1000\"]\n[notes]\npath = {:?}\n",
        folder.path().to_str().unwrap()
    ));
    let (mut owner, mut other) =
        (site.browser(site.telegram.person("Ada")), site.browser(site.telegram.person("Eve")));
    let path = address(&owner.get("/things").body, "/note?");
    assert_eq!(path, "/note?path=Visit+%26+more.md");
    assert!(owner.get("/search?q=thursday").body.contains(&path));
    let page = owner.get(&path);
    assert!(page.body.contains("&lt;b&gt;On&lt;/b&gt; Thursday"), "{}", page.body);
    let name = ("path", "Visit & more.md");
    let (version, text) = (page.field("version"), "# Visit\r\n\r\nOn Friday");
    let fields = [name, ("version", version.as_str()), ("text", text)];
    for hidden in [other.get(&path), other.submit("/note", &fields), owner.get("/note?path=../config.toml")] {
        assert_eq!(hidden.status, 404, "{}", hidden.body);
    }
    assert!(!other.get("/things").body.contains("/note?"));
    assert!(other.get("/search?q=thursday").body.contains("Nothing was found"));
    assert_eq!(owner.submit("/note", &fields).status, 303);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), text, "the ends of its lines stay");
    assert_eq!(owner.submit("/note", &fields).status, 409, "somebody has changed it");
    site.telegram.say(1000, 1000, "/undo");
    let before = "# Visit\r\n\r\n<b>On</b> Thursday\r\n";
    wait_until("it is undone", || std::fs::read_to_string(&file).unwrap() == before);
    std::fs::write(&file, "turned \u{202e}around").unwrap();
    let version = owner.get(&path).field("version");
    assert_eq!(owner.submit("/note", &[name, ("version", &version), ("text", "x")]).status, 409);
    site.stop();
}
