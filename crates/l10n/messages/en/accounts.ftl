# Errors of the accounts on servers that the skills use.

only-owners = only my owners can use this account
# $why: in the server's words.
rejected-login = the server rejected my login: { $why }
# Of a person who may connect an account of their own.
not-connected = no account is connected for this yet; `/connect` does it
ask-in-private = others read here, and that account is private: ask me in our direct chat
beyond-role = the agent's role may not use the account for this
# The labels are what people call their accounts: “private”, “work”.
which = there are several accounts ({ $labels }); say which one
no-such-account = there is no account “{ $name }” for this; there are { $labels }
none-called = there is no account “{ $name }” for this
not-reached = “{ $label }” couldn't be reached
login-ended = the login of “{ $label }” has ended; `/connect` logs in again
of-account = { $line } ({ $label })
# In a question.
account = account: { $label }
disconnected = that account was disconnected
not-set-up = { $provider } isn't set up here anymore

## A call waits for a new login

log-in-again = I can't get into your account “{ $label }” anymore: its login has ended. Log in again with `/connect`, and I'll go on.
log-in-subject = a new login for “{ $label }”
