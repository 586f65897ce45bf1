//! Accounts at providers of mail, calendars and contacts.

use super::words;

words! {
    /// Where an account is, which decides how one logs in there.
    ProviderKind {
        Google = "google",
        Microsoft = "microsoft",
        /// Any other, by a password.
        Password = "password",
    }
}

words! {
    AccountService {
        Mail = "mail",
        Calendar = "calendar",
        Contacts = "contacts",
    }
}

words! {
    AccountState {
        Ready = "ready",
        NeedsLogin = "needs_login",
        /// Its tokens are being revoked; then it is deleted.
        Disconnecting = "disconnecting",
    }
}

words! {
    /// How far a login has come.
    LoginState {
        /// The person has the link.
        Offered = "offered",
        Opened = "opened",
        /// The provider's code is there.
        Arrived = "arrived",
        /// An instance exchanges the code for tokens.
        Exchanging = "exchanging",
        Done = "done",
        Refused = "refused",
        Expired = "expired",
    }
}
