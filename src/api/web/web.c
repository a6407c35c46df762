/* GET / and GET /det/…: the web interface, from the files in the program (assets.h). No path leads to a file system: a
 * path is looked up in a sorted table, and what is not there is the interface's one page, whose script knows the pages
 * of people's addresses. */
#include <string.h>

#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "api/web/login_page.h"
#include "api/web/web_reply.h"
#include "net/http/http.h"

#define PAGE_PATH "index.html"

/* Scripts and styles are files of the interface, and nothing within a page is executed. Trusted Types make the browser
 * refuse text that a script would turn into markup. */
#define PAGE_POLICY \
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " \
    "connect-src 'self'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'; " \
    "require-trusted-types-for 'script'; trusted-types 'none'"

static void redirect_to_folder(struct req *r, const char *to)
{
    r->reply.status = 301;
    req_add_header(r, "Location", to);
}

static void add_common_headers(struct req *r)
{
    req_add_header(r, "Referrer-Policy", "same-origin");
    req_add_header(r, "Content-Security-Policy", PAGE_POLICY);
}

/* Answers 304 if the browser shows this tag. */
static bool is_known(struct req *r, const char *tag)
{
    req_add_header(r, "ETag", tag);
    if (!http_tag_matches(http_request_header(r->http, "If-None-Match"), tag))
        return false;
    r->reply.status = 304;
    return true;
}

static void reply_with_asset(struct req *r, const struct web_asset *asset)
{
    const char *accepted = http_request_header(r->http, "Accept-Encoding"), *coding = NULL;
    const struct web_bytes *bytes = &asset->plain;
    if (asset->brotli.data && http_accepts_coding(accepted, "br")) {
        bytes = &asset->brotli;
        coding = "br";
    } else if (asset->gzip.data && http_accepts_coding(accepted, "gzip")) {
        bytes = &asset->gzip;
        coding = "gzip";
    }
    add_common_headers(r);
    req_add_header(r, "Vary", "Accept-Encoding");
    req_add_header(r, "Cache-Control", asset->hashed ? "public, max-age=31536000, immutable" : "no-cache");
    if (is_known(r, arena_printf(&r->arena, "\"%s%s%s\"", asset->tag, coding ? "-" : "", coding ? coding : "")))
        return;
    r->reply.content_type = asset->content_type;
    if (coding)
        req_add_header(r, "Content-Encoding", coding);
    strbuf_add(&r->reply.body, (const char *)bytes->data, bytes->n);
}

/* The page differs by the depth of its address only; a tag holds for one address. */
static void reply_with_page(struct req *r, const struct web_asset *page, const char *path)
{
    cleanup_strbuf struct strbuf base = STRBUF_INIT;
    add_common_headers(r);
    req_add_header(r, "Cache-Control", "no-cache");
    if (is_known(r, arena_printf(&r->arena, "\"%s\"", page->tag)))
        return;
    r->reply.content_type = page->content_type;
    web_base_of(path, &base);
    web_page_with_base(&page->plain, strbuf_str(&base), &r->reply.body);
}

static void reply_without_interface(struct req *r)
{
    static const char text[] =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Determined</title></head>\n"
        "<body><h1>Determined</h1>\n<p>This master was built without its web interface. Use the command line, "
        "<code>det</code>, or build the master where npm is installed (meson option <code>web</code>).</p>\n"
        "</body></html>\n";
    add_common_headers(r);
    req_add_header(r, "Cache-Control", "no-cache");
    r->reply.content_type = "text/html; charset=utf-8";
    strbuf_add(&r->reply.body, text, sizeof(text) - 1);
}

int raw_web(struct req *r, struct core *core, struct error *err)
{
    static const char folder[] = "/det/";
    const char *path = http_request_path(r->http);
    if (strncmp(path, folder, sizeof(folder) - 1) != 0) {
        redirect_to_folder(r, "det/"); /* relative, so that a prefix before /det stays */
        return 0;
    }
    path += sizeof(folder) - 1;
    const struct web_asset *page = web_asset_find(PAGE_PATH);
    if (!page) {
        if (strcmp(path, "login") == 0)
            login_page(r);
        else
            reply_without_interface(r);
        return 0;
    }
    const struct web_asset *asset = web_asset_find(path);
    if (asset && asset != page)
        reply_with_asset(r, asset);
    else if (strncmp(path, "assets/", 7) == 0)
        return error_set(err, ERR_NOT_FOUND,
                         "the web interface has no file %.200s; a page of another version of the master may have named "
                         "it, so load the page again",
                         path);
    else
        reply_with_page(r, page, path);
    return 0;
}

int raw_root(struct req *r, struct core *core, struct error *err)
{
    redirect_to_folder(r, "det/");
    return 0;
}
