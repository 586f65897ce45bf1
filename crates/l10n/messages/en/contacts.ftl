# Contacts: what is asked before one changes, receipts, results and errors.
# $contact: a name, and in parentheses its addresses, numbers and organization.

## Asking before a contact changes

# What changes follows, a line each.
change-contact = Change the contact { $name }:
# Of a person with several accounts.
change-contact-of = Change the contact { $name } ({ $label }):
name-changes = name: { $old } → { $new }
emails-change = addresses: { $old } → { $new }
phones-change = phones: { $old } → { $new }
organization-changes = organization: { $old } → { $new }
notes-change = notes: { $old } → { $new }
# Why it is asked, after "Note: ".
changes-address = it changes where email to a contact goes

## Receipts

added = Added the contact { $contact }
changed = Changed the contact { $contact }

## Lists. The contacts or organizations follow, a line each.

found =
    { $count ->
        [one] 1 contact:
       *[other] { $count } contacts:
    }
# There are more than are shown.
found-first = { $count } contacts, the first { $shown }:
none-yet = There are no contacts yet
none-found = I found no such contact
organizations = Organizations, and how many of their people you know:
no-organization = I found no such organization

## Whether an email address can be right

valid = { $address } is a well-formed email address; I didn't check whether it exists
accepts-email = { $address } is a well-formed email address, and its domain accepts email
accepts-none = { $address } can't receive email: its domain accepts none
invalid = { $address } isn't an email address: { $why }

## Errors. What begins with a slash is an argument's name.

no-name = /name: give the contact a name
not-found = there is no contact { $id }; contacts.search lists the ids
none-called = there is no contact “{ $name }”; give the email address
several-called = several contacts are called “{ $name }”: { $contacts }. Say which one
no-address = the contact { $contact } has no email address
no-address-book = the account has no such address book
changed-meanwhile = somebody else changed or deleted the contact at the same time, so I changed nothing. Look at it and try again
