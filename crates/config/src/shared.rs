//! Settings that several instances on one store should have in common.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// Tables that may differ from machine to machine.
const OWN: [&str; 7] = ["backup", "http", "log", "otlp", "store", "dns", "update"];
/// Parts of names of keys whose values are secret, and of keys that may differ.
const LEFT_OUT: [&str; 6] = ["key", "listen", "password", "path", "secret", "token"];

/// A digest of each setting of a file, by its dotted key. Secrets are left out: a digest of a short one can be guessed.
pub(super) fn digests(source: &str) -> BTreeMap<String, String> {
    let mut digests = BTreeMap::new();
    for (name, value) in source.parse::<toml::Table>().unwrap_or_default() {
        if !OWN.contains(&name.as_str()) {
            add(&mut digests, name, &value);
        }
    }
    digests
}

fn add(digests: &mut BTreeMap<String, String>, key: String, value: &toml::Value) {
    let last = key.rsplit('.').next().unwrap_or_default();
    if LEFT_OUT.iter().any(|part| last.contains(part)) {
        return;
    }
    match value {
        toml::Value::Table(table) => {
            table.iter().for_each(|(name, value)| add(digests, format!("{key}.{name}"), value));
        }
        value => {
            let digest = Sha256::digest(value.to_string());
            digests.insert(key, digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_compared_without_secrets_and_what_is_a_machines_own() {
        let all = "[limits]\nturns_per_minute = 5\n[http]\nlisten = \"127.0.0.1:1\"\n[channels.phone]\n\
                   platform = \"telegram\"\ntoken = { env = \"A\" }\napi_key = \"x\"\n";
        let keys = |source: &str| digests(source).into_keys().collect::<Vec<_>>();
        assert_eq!(keys(all), ["channels.phone.platform", "limits.turns_per_minute"]);
        let other = digests(&all.replace("= 5", "= 6"));
        assert_ne!(digests(all)["limits.turns_per_minute"], other["limits.turns_per_minute"]);
        assert_eq!(digests(all)["channels.phone.platform"], other["channels.phone.platform"]);
        assert!(digests("not = [toml").is_empty());
    }
}
