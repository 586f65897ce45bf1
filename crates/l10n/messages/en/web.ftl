# Pages of the web, and searches of it.

## Results

found-nothing = The web search for “{ $query }” found nothing

## Errors

no-search-engine = no search engine is connected yet. Whoever runs me can set one up
search-address-wrong = the address of my search engine is wrong: { $why }
searxng-without-json = SearXNG on { $host } doesn't answer in JSON: add `json` to `search.formats` in its settings.yml, and restart it
search-without-json = my search engine on { $host } didn't answer with JSON
not-an-address = /url: "{ $text }" isn't an http or https address
hidden-characters = this address holds characters that can't be seen
endless-redirects = the page keeps redirecting
redirect-to-nowhere = the page redirects without saying where to
not-text = the page on { $host } isn't text but { $media-type }
