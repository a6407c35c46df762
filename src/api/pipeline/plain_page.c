#include "api/pipeline/plain_page.h"

#include <string.h>

#include "net/http/http.h"

static void add_text(struct strbuf *out, const char *s)
{
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '<')
            strbuf_adds(out, "&lt;");
        else if (c == '>')
            strbuf_adds(out, "&gt;");
        else if (c == '&')
            strbuf_adds(out, "&amp;");
        else if (c == '"')
            strbuf_adds(out, "&quot;");
        else if (c >= ' ' || c == '\t')
            strbuf_addc(out, (char)c);
    }
}

static void add_buttons(struct strbuf *out, const struct plain_button *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (!b[i].text)
            continue;
        strbuf_adds(out, "<form method=\"post\" action=\"");
        add_text(out, b[i].action);
        strbuf_adds(out, "\"><button>");
        add_text(out, b[i].text);
        strbuf_adds(out, "</button></form>\n");
    }
}

void plain_page(const struct plain_page *p, struct strbuf *out)
{
    strbuf_adds(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width\">\n");
    if (p->reload_s)
        strbuf_addf(out, "<meta http-equiv=\"refresh\" content=\"%d\">\n", p->reload_s);
    strbuf_adds(out, "<title>");
    add_text(out, p->title);
    strbuf_adds(out,
                "</title>\n<style>:root{color-scheme:light dark}body{font:16px/1.5 sans-serif;max-width:48rem;"
                "margin:10vh auto;padding:0 1rem}pre{white-space:pre-wrap;overflow-wrap:anywhere;padding:.5rem;"
                "border:1px solid}form{display:inline-block;margin-right:1rem}button{font:inherit;padding:.4rem 1rem}"
                "</style></head>\n<body><h1>");
    add_text(out, p->title);
    strbuf_adds(out, "</h1>\n<p>");
    add_text(out, p->text);
    strbuf_adds(out, "</p>\n");
    if (p->line) {
        strbuf_adds(out, "<p>The last line of its log:</p>\n<pre>");
        add_text(out, p->line);
        strbuf_adds(out, "</pre>\n");
    }
    if (p->link) {
        strbuf_adds(out, "<p><a href=\"");
        add_text(out, p->link);
        strbuf_adds(out, "\">");
        add_text(out, p->link_text);
        strbuf_adds(out, "</a></p>\n");
    }
    add_buttons(out, p->button, sizeof(p->button) / sizeof(p->button[0]));
    if (p->reload_s)
        strbuf_adds(out, "<p>This page loads itself again until the task answers.</p>\n");
    strbuf_adds(out, "</body></html>\n");
}

bool plain_page_is_wanted(const struct http_request *http)
{
    const char *accept = http ? http_request_header(http, "Accept") : NULL;
    enum http_method m = http ? http_request_method(http) : HTTP_POST;
    return accept && strstr(accept, "text/html") && (m == HTTP_GET || m == HTTP_HEAD) &&
           !http_request_header(http, "Upgrade");
}
