# The web page as an app: notifications, and what it says without a connection.

## On the page of the account

notifications = Notifications
notify-this-browser = Notify this browser
of-nothing = about nothing
of-questions = about questions for me
of-news = about questions and news, such as reminders
save-button = Save
# In the place of the form.
not-possible = This browser can't be notified. On an iPhone or iPad, add this page to the Home Screen first.
not-allowed = Your browser doesn't allow it. Change that in its settings for this page.
not-reached = Your browser's push service couldn't be reached. Try again later.

## A notification

asks = Your assistant asks
# $count: how many more questions stand in the same message.
and-more =
    { $count ->
        [one] { $question } (and one more)
       *[other] { $question } (and { $count } more)
    }
answered = Answered
says = News from your assistant

## Without a connection

offline = No connection
offline-why = Your assistant can't be reached right now. This page comes back by itself as soon as it can.
try-again = Try again
