//! What a person needs to set up a channel.

/// How to set up a channel of a platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SetupGuide {
    /// The platform's name, as people write it.
    pub platform: &'static str,
    /// What to ask for, in this order.
    pub credentials: Vec<Credential>,
    /// Where people find their own user id there.
    pub own_id: &'static str,
}

/// A secret that the person has to get from the platform.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Credential {
    /// Its key in the channel's table of the configuration.
    pub key: &'static str,
    /// Its name, such as "The bot's token".
    pub name: &'static str,
    /// How to get it, step by step, with the link and the names of the buttons to press.
    pub steps: Vec<String>,
}
