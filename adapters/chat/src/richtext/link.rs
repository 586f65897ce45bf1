//! Where links lead, said beside them: a text can name one place and lead to another.

use url::Url;

/// What to show beside a link's text: the host, or for anything but the web the address. Nothing if the text itself
/// says it.
pub fn link_target(to: &str, text: &str) -> Option<String> {
    let text = text.trim();
    let target = match Url::parse(to) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => url.host_str().unwrap_or(to).to_owned(),
        Ok(url) if url.scheme() == "mailto" => url.path().to_owned(),
        _ => to.to_owned(),
    };
    let says_it = text == target || says_host(text, &target);
    (!says_it).then_some(target)
}

/// Whether a text is the address of something on this host. One with a name before the host, or with letters that
/// could pass for others, doesn't count.
fn says_host(text: &str, host: &str) -> bool {
    let rest = text.split_once("://").map_or(text, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    // Slashes too many are skipped, so a host may come behind them.
    let is_clear = rest.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.is_ascii()
        && !text.contains(char::is_whitespace)
        && !authority.contains(['@', '\\']);
    let url = if text.contains("://") { Url::parse(text) } else { Url::parse(&format!("https://{text}")) };
    is_clear && url.is_ok_and(|url| url.host_str() == Some(host))
}

/// An address without a user's name before its host, which would hide where it leads.
pub(super) fn without_user(to: &str) -> String {
    match Url::parse(to) {
        Ok(mut url) if url.username() != "" || url.password().is_some() => {
            let is_clean = url.set_username("").is_ok() && url.set_password(None).is_ok();
            if is_clean { url.into() } else { to.to_owned() }
        }
        _ => to.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_link_shows_its_host_unless_its_text_does() {
        for (to, text, shown) in [
            ("https://evil.example/x", "reset here", Some("evil.example")),
            ("https://evil.example/x", "https://bank.example/x", Some("evil.example")),
            ("https://evil.example/x", "bank.example", Some("evil.example")),
            ("https://evil.example/x", "https://evil.example@bank.example", Some("evil.example")),
            ("https://evil.example/x", "evil.example bank.example", Some("evil.example")),
            ("https://evil.example/x", "evil.example\\.bank.example", Some("evil.example")),
            ("https://evil.example/x", "/bank.example@evil.example", Some("evil.example")),
            ("https://bank.example@evil.example/", "bank.example", Some("evil.example")),
            (
                "https://bank.example@evil.example/",
                "https://bank.example@evil.example/",
                Some("evil.example"),
            ),
            ("HTTPS:\\\\evil.example", "here", Some("evil.example")),
            ("https://b\u{430}nk.example", "b\u{430}nk.example", Some("xn--bnk-6cd.example")),
            ("https://evil.example", "", Some("evil.example")),
            ("mailto:eve@evil.example?subject=x", "Bob", Some("eve@evil.example")),
            ("tg://user?id=1", "Bob", Some("tg://user?id=1")),
            ("/relative", "x", Some("/relative")),
            ("https://bank.example/x?y=@z", "https://bank.example/x?y=@z", None),
            ("https://bank.example/x", " Bank.Example/other ", None),
            ("mailto:bob@bank.example", "bob@bank.example", None),
        ] {
            assert_eq!(link_target(to, text).as_deref(), shown, "{to} {text}");
        }
    }

    #[test]
    fn a_name_before_the_host_is_taken_off() {
        assert_eq!(without_user("https://bank.example:x@evil.example/a?b"), "https://evil.example/a?b");
        for kept in ["https://x.org/@a", "mailto:a@b.example", "x@y", "https://X.org"] {
            assert_eq!(without_user(kept), kept);
        }
    }

    proptest! {
        #[test]
        fn no_text_hides_another_host(text in "(https?://)?(bank\\.example|evil\\.example|[@/\\\\.:?# а\u{202e}]){0,5}") {
            if link_target("https://evil.example/", &text).is_none() {
                let shown = text.trim();
                let shown = shown.split_once("://").map_or(shown, |(_, rest)| rest);
                prop_assert!(shown.trim_start_matches('/').starts_with("evil.example"), "{text}");
            }
        }
    }
}
