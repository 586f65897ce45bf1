# Errors of the accounts on servers that the skills use.

only-owners = only my owners can use this account
# Of the calendar or of the contacts.
rejected-login = the server rejected my login: { $why }
