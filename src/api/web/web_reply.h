/* What of a request for a file of the web interface can be decided without the request: which file it is, and where
 * the interface's root is as seen from a page. */
#ifndef DET_API_WEB_WEB_REPLY_H
#define DET_API_WEB_WEB_REPLY_H

#include "api/web/assets.h"
#include "common/base/strbuf.h"

/* The asset with this path below /det/, NULL if there is none. */
const struct web_asset *web_asset_find(const char *path);

/* The relative address of /det/ as seen from a page at /det/PATH: "./", or "../" as often as PATH has a slash. So the
 * pages work below whatever prefix a reverse proxy puts before /det/. */
void web_base_of(const char *path, struct strbuf *out);

/* Writes the page `html` with `base` instead of "./" in its <base href="./">. */
void web_page_with_base(const struct web_bytes *html, const char *base, struct strbuf *out);

#endif
