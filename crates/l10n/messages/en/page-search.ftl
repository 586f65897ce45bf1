# The web page: the search over everything that a person has and said.

title = Search
# Before and in its field.
what = Search everything
find = Find
nothing = Nothing was found for “{ $query }”.
said = Conversations
