//! `[store]`: the database.

use std::path::Path;

use crate::Secret;
use crate::document::Node;
use crate::read::{ConfigReader, Section};
use crate::secret::secret;

const SCHEMES: [&str; 3] = ["sqlite:", "postgres://", "postgresql://"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Store {
    /// Its address, a secret because it may contain a password.
    pub url: Secret,
}

impl Store {
    /// The embedded store in this folder.
    pub(crate) fn in_dir(data_dir: &Path) -> Self {
        // In a URL, `%` starts an escape and `?` starts the options.
        let path = data_dir.join("adjutant.db").to_string_lossy().replace('%', "%25").replace('?', "%3F");
        Self { url: Secret::new(format!("sqlite://{path}")) }
    }

    pub(crate) fn read(section: &mut Section<'_>, mut store: Self) -> Self {
        section.set("url", &mut store.url, url);
        store
    }

    /// Whether it is a server rather than a file.
    pub(crate) fn is_server(&self) -> bool {
        !self.url.expose().starts_with(SCHEMES[0])
    }

    /// The address without its password and options, for messages.
    pub fn shown(&self) -> String {
        let url = self.url.expose();
        let url = url.split_once(['?', '#']).map_or(url, |(url, _)| url);
        match (url.split_once("://"), url.rsplit_once('@')) {
            (Some((scheme, _)), Some((who, host))) if !url.starts_with("sqlite:") => {
                let user = who.split_once("://").map_or("", |(_, who)| who);
                let user = user.split_once(':').map_or(user, |(user, _)| user);
                format!("{scheme}://{user}@{host}")
            }
            _ => url.to_owned(),
        }
    }
}

fn url(value: &Node, reader: &ConfigReader<'_>) -> Result<Secret, String> {
    let url = secret(value, reader)?;
    if SCHEMES.iter().any(|scheme| url.expose().len() > scheme.len() && url.expose().starts_with(scheme)) {
        return Ok(url);
    }
    Err("must begin with sqlite: or postgres://, such as \"sqlite:///var/lib/adjutant/adjutant.db\" \
         or \"postgres://USER@HOST/DB\""
        .to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_has_no_password() {
        let shown = |url: &str| Store { url: Secret::new(url) }.shown();
        assert_eq!(
            shown("postgres://ada:p@ss:w/rd@db.example.org/adjutant?sslmode=require"),
            "postgres://ada@db.example.org/adjutant"
        );
        assert_eq!(shown("postgres://db.example.org/adjutant"), "postgres://db.example.org/adjutant");
        assert_eq!(
            shown("postgres://db.example.org/adjutant?user=ada&password=x"),
            "postgres://db.example.org/adjutant"
        );
        assert_eq!(shown("sqlite:///home/ada@home/a:b.db?mode=rwc"), "sqlite:///home/ada@home/a:b.db");
    }

    #[test]
    fn a_folder_with_odd_letters_is_escaped() {
        let store = Store::in_dir(Path::new("/data/100%?"));
        assert_eq!(store.url.expose(), "sqlite:///data/100%25%3F/adjutant.db");
    }
}
