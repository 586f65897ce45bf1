# Pages of the web, and searches of it.

## Results

found-nothing = The web search for “{ $query }” found nothing

## Errors

no-search-engine = no search engine is connected yet. Whoever runs me can set one up
search-address-wrong = the address of my search engine is wrong: { $why }
searxng-without-json = SearXNG on { $host } doesn't answer in JSON: add `json` to `search.formats` in its settings.yml, and restart it
search-without-json = my search engine on { $host } didn't answer with JSON
search-key-rejected = my search engine on { $host } rejects its key: correct `key` of `search` under [web]
search-redirects = my search engine on { $host } redirects to { $address }: if that's right, make it the `url` of `search` under [web]
# $engines: such as "google (timeout), brave (too many requests)".
engines-silent = my search engine on { $host } got no answer from those that it asks: { $engines }
not-an-address = /url: "{ $text }" isn't an http or https address
hidden-characters = this address holds characters that can't be seen
private-page = { $host } is in a private network, and I only read pages of the public internet
page-needs-login = the page on { $host } wants a login, which I don't have
endless-redirects = the page keeps redirecting
redirect-to-nowhere = the page redirects without saying where to
not-text = the page on { $host } isn't text but { $media-type }
