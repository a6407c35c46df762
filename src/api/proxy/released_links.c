/* GET /det/interactive/TASK/… and GET /det/wait/KIND/TASK: what "det notebook start" and "det tensorboard start" of
 * release 0.38.1 print and open. There they were pages of the web interface that waited for the task. Here the proxy's
 * own page waits, so the browser is sent to the task. Such a link carries the task's address, and for a notebook the
 * token that opens it: "serviceAddr=/proxy/TASK/?token=TOKEN" in its query, or in the quoted address at its end. */
#include <string.h>

#include "api/pipeline/raw.h"
#include "api/pipeline/raw_handlers.h"
#include "net/http/http.h"

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-";

/* Redirects to the task, and nowhere else, whatever the link says. */
static int redirect_to_task(struct req *r, const char *task, const char *service, struct error *err)
{
    if (strspn(task, letters) != strlen(task))
        return error_set(err, ERR_NOT_FOUND, "'%.80s' is no id of a task", task);
    const char *before = arena_printf(&r->arena, "/proxy/%s/?token=", task), *token = NULL;
    if (service && strncmp(service, before, strlen(before)) == 0)
        token = service + strlen(before);
    size_t n = token ? strspn(token, letters) : 0;
    req_redirect(r, 303,
                 n ? arena_printf(&r->arena, "%s%.*s", before, (int)n, token)
                   : arena_printf(&r->arena, "/proxy/%s/", task));
    return 0;
}

int raw_interactive_link(struct req *r, struct core *core, struct error *err)
{
    static const char key[] = "serviceAddr=";
    const char *path = http_request_path(r->http), *last = strrchr(path, '/') + 1;
    cleanup_strbuf struct strbuf address = STRBUF_INIT;
    if (http_percent_decode(last, strlen(last), /* plus_is_blank= */ true, &address) < 0)
        return error_set(err, ERR_INVALID, "the address of the page ends in a broken percent code");
    const char *service = strstr(strbuf_str(&address), key);
    return redirect_to_task(r, req_raw_param(r, 0), service ? service + strlen(key) : NULL, err);
}

int raw_wait_link(struct req *r, struct core *core, struct error *err)
{
    const char *service;
    if (req_query_param(r, "serviceAddr", &service, err) < 0)
        return -1;
    return redirect_to_task(r, req_raw_param(r, 1), service, err);
}
