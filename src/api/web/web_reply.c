#include "api/web/web_reply.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Whether the parameters that follow a coding refuse it: q=0, with or without digits behind the point. */
static bool is_refused(const char *parameters, size_t n)
{
    for (size_t i = 0; i + 1 < n; i++) {
        bool begins = i == 0 || strchr("; \t", parameters[i - 1]);
        if (begins && (parameters[i] == 'q' || parameters[i] == 'Q') && parameters[i + 1] == '=') {
            size_t digits = strspn(parameters + i + 2, "0.");
            size_t end = i + 2 + digits;
            return digits > 0 && (end >= n || strchr("; \t,", parameters[end]));
        }
    }
    return false;
}

bool web_accepts(const char *accept_encoding, const char *coding)
{
    size_t coding_n = strlen(coding);
    for (const char *p = accept_encoding; p && *p;) {
        p += strspn(p, " \t,");
        size_t n = strcspn(p, ","), name_n = strcspn(p, " \t,;");
        if (name_n == coding_n && strncasecmp(p, coding, name_n) == 0)
            return !is_refused(p + name_n, n - name_n);
        p += n;
    }
    return false;
}

bool web_tag_matches(const char *if_none_match, const char *tag)
{
    size_t tag_n = strlen(tag);
    for (const char *p = if_none_match; p && *p;) {
        p += strspn(p, " \t,");
        size_t n = strcspn(p, " \t,");
        if (n == 1 && *p == '*')
            return true;
        size_t weak = strncmp(p, "W/", 2) == 0 ? 2 : 0;
        if (n - weak == tag_n && strncmp(p + weak, tag, tag_n) == 0)
            return true;
        p += n;
    }
    return false;
}

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
