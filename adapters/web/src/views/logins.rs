//! Logins at providers, by links from a chat.

/// Whose login a link is, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginOffer {
    /// The name of the person who asked for it.
    pub person: String,
    pub provider: String,
    /// Whether one logs in by an address and a password on our page.
    pub is_by_password: bool,
}

/// What comes next. It can't be printed.
#[derive(Clone, PartialEq, Eq)]
pub enum LoginStep {
    /// The provider's page. The browser has to bring the secret back.
    Onward { to: String, browser_secret: String },
    /// The form once more, and why.
    Again(String),
    /// Nothing, and why.
    Ended(String),
}
