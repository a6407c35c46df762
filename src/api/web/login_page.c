/* A page on which somebody logs in, for masters without the web interface. Browsers that ask for a task's page without
 * a session are sent to GET /det/login (src/api/proxy), and back again. The page's script sends the same request as
 * every other client, so that all limits of logins hold. */
#include "api/web/login_page.h"

#include "api/pipeline/handler.h"

/* The way back is compared as an address, not as text: "//host", "/\host" and "/<tab>/host" lead elsewhere, too. */
static const char page[] =
    "<!doctype html>\n"
    "<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\n"
    "<title>Log in</title>\n"
    "<style>:root{color-scheme:light dark}body{font:16px/1.5 sans-serif;max-width:22rem;margin:10vh auto;padding:0 1rem}"
    "label{display:block;margin:.7rem 0}input,button{font:inherit;width:100%;box-sizing:border-box;padding:.4rem}</style>\n"
    "</head><body><h1>Log in</h1>\n"
    "<form id=\"form\"><label>User <input id=\"user\" autocomplete=\"username\" required autofocus></label>\n"
    "<label>Password <input id=\"password\" type=\"password\" autocomplete=\"current-password\" required></label>\n"
    "<button>Log in</button></form>\n"
    "<p id=\"said\" role=\"alert\"></p>\n"
    "<noscript><p>This page needs JavaScript.</p></noscript>\n"
    "<script>\n"
    "const part = id => document.getElementById(id);\n"
    "part('form').addEventListener('submit', async event => {\n"
    "  event.preventDefault();\n"
    "  const body = {username: part('user').value, password: part('password').value, isHashed: false};\n"
    "  try {\n"
    "    const reply = await fetch('../api/v1/auth/login', {method: 'POST', headers: {'Content-Type': 'application/json'},\n"
    "                                                     body: JSON.stringify(body)});\n"
    "    if (!reply.ok) throw new Error((await reply.json()).error.error);\n"
    "    const to = new URLSearchParams(location.search).get('redirect') || '/';\n"
    "    const url = new URL(to, location.href);\n"
    "    location.replace(url.origin === location.origin ? url.href : '/');\n"
    "  } catch (e) {\n"
    "    part('said').textContent = 'Not logged in: ' + e.message;\n"
    "  }\n"
    "});\n"
    "</script></body></html>\n";

void login_page(struct req *r)
{
    r->reply.content_type = "text/html; charset=utf-8";
    req_add_header(r, "Cache-Control", "no-store");
    req_add_header(r, "Content-Security-Policy",
                   "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
                   "base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    strbuf_add(&r->reply.body, page, sizeof(page) - 1);
}
