//! Has Microsoft tell of new mail (<https://learn.microsoft.com/graph/change-notifications-delivery-webhooks>). That only says
//! that it is time to look.

use adjutant_mail::MailError;
use chrono::{DateTime, Utc};
use serde_json::json;

use crate::http::quoted;
use crate::mail::GraphMail;
use crate::{moment, text};

impl GraphMail {
    /// Has this address told of new mail in a folder, with these words as a proof, until a time at most a week away. It is
    /// asked first whether it wants that. Returns the id of the subscription.
    pub async fn subscribe(
        &self,
        folder: &str,
        (address, proof): (&str, &str),
        until: DateTime<Utc>,
    ) -> Result<String, MailError> {
        let folders = self.folders().await?;
        let body = json!({
            "changeType": "created",
            "resource": format!("me/mailFolders('{}')/messages", quoted(&folders.named(folder)?.id)),
            "notificationUrl": address,
            "lifecycleNotificationUrl": address,
            "clientState": proof,
            "expirationDateTime": moment(until),
        });
        let made = self.http.json(&self.http.post(&["subscriptions"], body)?).await?;
        Ok(text(&made, "id").to_owned())
    }

    /// Has a subscription go on until a time, also where it had to be allowed anew. Returns whether it is still there.
    pub async fn renew(&self, subscription: &str, until: DateTime<Utc>) -> Result<bool, MailError> {
        let body = json!({"expirationDateTime": moment(until)});
        let call = self.http.patch(&["subscriptions", subscription], body)?;
        Ok(self.http.optional(&call).await?.is_some())
    }
}
