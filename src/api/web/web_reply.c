#include "api/web/web_reply.h"

#include <stdlib.h>
#include <string.h>

static int compare_path(const void *path, const void *asset)
{
    return strcmp(path, ((const struct web_asset *)asset)->path);
}

const struct web_asset *web_asset_find(const char *path)
{
    return bsearch(path, web_assets, web_asset_n, sizeof(web_assets[0]), compare_path);
}

void web_base_of(const char *path, struct strbuf *out)
{
    strbuf_adds(out, "./");
    for (const char *p = path; *p; p++)
        if (*p == '/')
            strbuf_adds(out, "../");
}

void web_page_with_base(const struct web_bytes *html, const char *base, struct strbuf *out)
{
    static const char mark[] = "<base href=\"./\">";
    const char *text = (const char *)html->data;
    const char *at = memmem(text, html->n, mark, sizeof(mark) - 1);
    if (!at) {
        strbuf_add(out, text, html->n);
        return;
    }
    strbuf_add(out, text, (size_t)(at - text));
    strbuf_addf(out, "<base href=\"%s\">", base);
    at += sizeof(mark) - 1;
    strbuf_add(out, at, html->n - (size_t)(at - text));
}
