# What the assistant says of its own accord.

reminder = Reminder: { $title }
reminder-due = Reminder: { $title } (due { $due })
# $schedule: its id. "resume schedule" and "delete schedule" are what the person writes.
schedule-stopped = “{ $text }” failed three times in a row, so I've paused it. Once the cause is fixed, write “resume schedule { $schedule }” to start it again, or “delete schedule { $schedule }”.
# $recipients: a line for each that it didn't reach, with the reason.
email-bounced =
    Your email “{ $subject }” couldn't be delivered. The email server says:
    { $recipients }
untitled-email-bounced =
    An email you sent couldn't be delivered. The email server says:
    { $recipients }
# The person has edited a message.
edited = I had already read that message before you changed it. If the change matters, send it as a new message.
# The person's own words, to the model: they have edited the message that it works on.
now-says = I have edited my message. It now says: { $text }
# To the owners. Strangers fill the list of pairing codes.
pairing-flood = { $count } strangers have asked to talk to me within the last hour, so I'm ignoring new ones for now. I'll mention this at most once a day. Someone with an invitation still gets in: run `adjutant pair invite` and send them the code.
