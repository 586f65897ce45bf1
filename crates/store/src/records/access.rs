//! The list of allowed accounts, and the codes by which strangers get onto it.

use sqlx::FromRow;

use crate::{Batch, Result, Stale, Store, Value};

/// How long a stranger's code is valid, in milliseconds.
pub const CODE_MS: i64 = 3600 * 1000;

/// An open code: a stranger's, or an invitation.
#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Pairing {
    /// `XXXX-XXXX`.
    pub code: String,
    /// Where the stranger wrote; none for an invitation.
    pub channel: Option<String>,
    /// The stranger's id on the platform.
    pub user_id: Option<String>,
    /// The stranger's name on the platform.
    pub name: Option<String>,
    pub expires_at: i64,
}

#[derive(Debug, Clone, PartialEq, Eq, FromRow)]
pub struct Allowed {
    pub channel: String,
    pub user_id: String,
    /// Their name on the platform at the time.
    pub name: String,
    pub since: i64,
}

pub async fn is_allowed(store: &Store, channel: &str, user: &str) -> Result<bool> {
    let sql = "SELECT count(*) FROM allowed WHERE channel = $1 AND user_id = $2";
    Ok(store.count(sql, &[channel.into(), user.into()]).await? > 0)
}

/// All accounts on the list, oldest first.
pub async fn allowed(store: &Store) -> Result<Vec<Allowed>> {
    store.all("SELECT channel, user_id, name, since FROM allowed ORDER BY since, channel, user_id", &[]).await
}

/// The valid codes, oldest first.
pub async fn open_codes(store: &Store) -> Result<Vec<Pairing>> {
    let sql = "SELECT code, channel, user_id, name, expires_at FROM pairings WHERE expires_at > $1 \
        ORDER BY created_at, code";
    store.all(sql, &[store.now().into()]).await
}

/// Adds a code, which replaces an older one of the same stranger.
pub fn add_code(batch: &mut Batch, pairing: &Pairing, now: i64) {
    batch.run(
        "DELETE FROM pairings WHERE channel = $1 AND user_id = $2",
        [pairing.channel.clone().into(), pairing.user_id.clone().into()],
    );
    batch.run(
        "INSERT INTO pairings (code, channel, user_id, name, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6)",
        values! {
            &pairing.code, pairing.channel.clone(), pairing.user_id.clone(), pairing.name.clone(), now,
            pairing.expires_at
        },
    );
}

/// Puts the stranger with this code on the list and releases their messages. Returns the stranger; none when no
/// stranger has such a code.
pub async fn approve(store: &Store, code: &str) -> Result<Option<Pairing>> {
    let sql = "SELECT code, channel, user_id, name, expires_at FROM pairings \
        WHERE code = $1 AND user_id IS NOT NULL AND expires_at > $2";
    let pairing: Option<Pairing> = store.first(sql, &[code.into(), store.now().into()]).await?;
    let Some(pairing) = pairing else { return Ok(None) };
    let (channel, user): (Value, Value) = (pairing.channel.clone().into(), pairing.user_id.clone().into());
    let mut batch = Batch::new();
    batch.must(Stale::CodeUsed, "DELETE FROM pairings WHERE code = $1", [code.into()]);
    let name = pairing.name.as_deref().unwrap_or_default();
    allow(&mut batch, channel.clone(), user.clone(), name, store.now());
    batch.run(
        "UPDATE inbox SET held = 0 WHERE held = 1 AND person_id = \
         (SELECT person_id FROM accounts WHERE channel = $1 AND user_id = $2)",
        [channel, user],
    );
    Ok(store.try_write(batch).await?.then_some(pairing))
}

/// Puts an account with an invitation on the list. False when the invitation is unknown or used.
pub async fn accept_invitation(
    store: &Store,
    code: &str,
    channel: &str,
    user: &str,
    name: &str,
) -> Result<bool> {
    let mut batch = Batch::new();
    let sql = "DELETE FROM pairings WHERE code = $1 AND user_id IS NULL AND expires_at > $2";
    batch.must(Stale::NoSuchInvitation, sql, [code.into(), store.now().into()]);
    allow(&mut batch, channel.into(), user.into(), name, store.now());
    store.try_write(batch).await
}

fn allow(batch: &mut Batch, channel: Value, user: Value, name: &str, now: i64) {
    let sql =
        "INSERT INTO allowed (channel, user_id, name, since) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
    batch.run(sql, [channel, user, name.into(), now.into()]);
}

/// Removes an account from the list. False when it wasn't there.
pub async fn revoke(store: &Store, channel: &str, user: &str) -> Result<bool> {
    let sql = "DELETE FROM allowed WHERE channel = $1 AND user_id = $2";
    store.try_write(Batch::requiring(Stale::NotAllowed, sql, [channel.into(), user.into()])).await
}

/// Deletes expired codes, and closes the messages of strangers without a code.
pub async fn expire(store: &Store) -> Result<()> {
    let now = store.now();
    if store.count("SELECT count(*) FROM pairings WHERE expires_at <= $1", &[now.into()]).await? == 0 {
        return Ok(());
    }
    let mut batch = Batch::new();
    batch.run("DELETE FROM pairings WHERE expires_at <= $1", [now.into()]);
    let sql = "UPDATE inbox SET held = 0, state = 'done' WHERE held = 1 AND NOT EXISTS (SELECT 1 FROM accounts a \
        JOIN pairings p ON p.channel = a.channel AND p.user_id = a.user_id WHERE a.person_id = inbox.person_id)";
    batch.run(sql, []);
    store.write(batch).await.map(|_| ())
}

/// A new code: `XXXX-XXXX`, of letters and digits that look different from one another.
pub fn new_code(mut random: u128) -> String {
    const LETTERS: &[u8; 32] = b"ABCDEFGHJKLMNPQRSTUVWXYZ23456789";
    let mut code = String::with_capacity(9);
    for index in 0..8 {
        if index == 4 {
            code.push('-');
        }
        code.push(char::from(LETTERS[(random % 32) as usize]));
        random /= 32;
    }
    code
}

/// The code in a text: its last word, in either case.
pub fn code_in(text: &str) -> Option<String> {
    let word = text.split_whitespace().next_back()?.to_ascii_uppercase();
    let is_letter = |c: char| (c.is_ascii_uppercase() && !"OI".contains(c)) || ('2'..='9').contains(&c);
    let (front, back) = word.split_once('-')?;
    let fits = |part: &str| part.len() == 4 && part.chars().all(is_letter);
    (fits(front) && fits(back)).then(|| word.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_read_as_it_was_written() {
        for random in [0, 7, u128::MAX, 0x1234_5678_9abc_def0] {
            let code = new_code(random);
            assert_eq!(code_in(&code).as_deref(), Some(code.as_str()));
            assert_eq!(code_in(&format!("/start {}", code.to_lowercase())), Some(code));
        }
        for none in ["", "hello", "ABCD-EFG", "ABCD-EFG0", "ABCI-EFGH", "ABCD-EFGH now", "ÄBCD-EFGH"] {
            assert_eq!(code_in(none), None, "{none}");
        }
    }
}
