#include "agent/engine/image.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/base64.h"
#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/task/command_cause.h"

enum {
    INSPECT_TIMEOUT_S = 60,
    NAME_MAX_BYTES = 512,
    LINE_MAX_BYTES = 64 * 1024, /* of one object in the reply to a pull */
    TELL_EVERY_US = 5000000,
    LISTED_MAX = 1024, /* variables or words of an image */
};

struct image_fetch {
    struct engine *engine;
    struct image_order order;
    struct image_handler handler;
    struct engine_call *call;
    struct pull_progress *progress; /* while the image is pulled */
    struct strbuf line;             /* the beginning of an object in the reply to a pull */
    struct error failed;            /* what the engine has reported in that reply */
    int64_t began_us, told_us;
    bool pulled;
};

/* ---- names ------------------------------------------------------------------------------------------------------- */

bool image_name_is_good(const char *name)
{
    size_t n = strlen(name);
    bool letters = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/:@-") == n;
    return n > 0 && n <= NAME_MAX_BYTES && letters && !strstr(name, "..") && !strstr(name, "//") &&
           !strstr(name, "/.") && name[0] != '.' && name[0] != '/' && name[0] != '-' && name[n - 1] != '/';
}

void image_name_split(const char *name, struct arena *a, const char **ret_from, const char **ret_tag)
{
    const char *at = strchr(name, '@'), *slash = strrchr(name, '/'), *colon = strrchr(slash ? slash : name, ':');
    const char *cut = at ? at : colon;
    *ret_from = cut ? arena_strndup(a, name, (size_t)(cut - name)) : name;
    *ret_tag = cut ? cut + 1 : "latest";
}

/* ---- talking to whoever waits ------------------------------------------------------------------------------------ */

static void fetch_free(struct image_fetch *f)
{
    pull_progress_free(f->progress);
    strbuf_release(&f->line);
    error_release(&f->failed);
    free(f);
}

static void end(struct image_fetch *f, const struct image_facts *facts, const struct error *err)
{
    f->handler.on_done(f->handler.ctx, facts, err);
    fetch_free(f);
}

/* ---- what the image is ------------------------------------------------------------------------------------------- */

static char **texts_of(struct json_object *list, struct arena *a)
{
    size_t n = json_object_is_type(list, json_type_array) ? json_object_array_length(list) : 0, kept = 0;
    char **ret = arena_array(a, char *, (n < LISTED_MAX ? n : LISTED_MAX) + 1);
    for (size_t i = 0; i < n && kept < LISTED_MAX; i++) {
        struct json_object *v = json_object_array_get_idx(list, i);
        if (json_object_is_type(v, json_type_string))
            ret[kept++] = arena_strdup(a, json_object_get_string(v));
    }
    return ret;
}

static void pull(struct image_fetch *f);

static void on_inspected(void *ctx, struct json_object *body, const struct error *err)
{
    struct image_fetch *f = ctx;
    f->call = NULL;
    if (err && err->kind == ERR_NOT_FOUND && !f->pulled) {
        pull(f);
        return;
    }
    if (err) {
        end(f, NULL, err);
        return;
    }
    struct json_object *config = json_object_object_get(body, "Config");
    if (!json_object_is_type(config, json_type_object)) {
        cleanup_error struct error e = ERROR_INIT;
        error_set(&e, ERR_BAD_GATEWAY, "%s describes the image %s in a form that this agent does not know",
                  f->engine->name, f->order.name);
        end(f, NULL, &e);
        return;
    }
    struct image_facts facts = {.env = texts_of(json_object_object_get(config, "Env"), f->order.arena),
                                .entrypoint = texts_of(json_object_object_get(config, "Entrypoint"), f->order.arena),
                                .arch = arena_strdup(f->order.arena, engine_text(body, "Architecture"))};
    end(f, &facts, NULL);
}

static void inspect(struct image_fetch *f)
{
    const char *path = arena_printf(f->order.arena, "/images/%s/json", f->order.name);
    struct engine_request q = {.method = "GET", .path = path, .timeout_s = INSPECT_TIMEOUT_S};
    f->call = engine_ask(f->engine, &q, on_inspected, f);
}

/* ---- pulling it -------------------------------------------------------------------------------------------------- */

static void take_object(struct image_fetch *f)
{
    cleanup_json struct json_object *o = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (f->line.n == 0 || f->failed.kind)
        return;
    if (json_parse(f->line.s, f->line.n, &o, &err) < 0) {
        error_set(&f->failed, ERR_BAD_GATEWAY, "%s reports on the pull in what is not JSON: %s", f->engine->name,
                  error_msg(&err));
        return;
    }
    const char *reason = pull_progress_take(f->progress, o);
    if (reason)
        error_set(&f->failed, ERR_INVALID, "%s says: %.500s", f->engine->name, reason);
}

static void tell_progress(struct image_fetch *f)
{
    int64_t now_us = clock_monotonic_us();
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (now_us - f->told_us < TELL_EVERY_US)
        return;
    f->told_us = now_us;
    pull_progress_describe(f->progress, &text);
    if (text.n)
        engine_tell(&f->handler.lines, "Pulling image %s: %s", f->order.name, text.s);
}

static int on_progress(const void *data, size_t n, void *ctx)
{
    struct image_fetch *f = ctx;
    const char *s = data;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\n' || s[i] == '\r') {
            take_object(f);
            strbuf_reset(&f->line);
        } else if (f->line.n < LINE_MAX_BYTES) {
            strbuf_addc(&f->line, s[i]);
        }
    }
    tell_progress(f);
    return 0;
}

static void on_pulled(void *ctx, struct json_object *body, const struct error *err)
{
    struct image_fetch *f = ctx;
    cleanup_error struct error why = ERROR_INIT;
    (void)body;
    f->call = NULL;
    take_object(f);
    if (!err && !f->failed.kind) {
        f->pulled = true;
        engine_tell(&f->handler.lines, "Image %s is pulled, after %.0f s", f->order.name,
                    (double)(clock_monotonic_us() - f->began_us) / 1e6);
        inspect(f);
        return;
    }
    const struct error *cause = err ? err : &f->failed;
    if (cause_is_disk_full(error_msg(cause))) {
        error_set(&why, ERR_UNAVAILABLE,
                  "the image %s cannot be pulled: %s; make room on this machine where %s keeps its images",
                  f->order.name, error_msg(cause), f->engine->name);
        end(f, NULL, &why);
        return;
    }
    bool lacks_proxy = f->engine->wants_proxy && !f->engine->has_proxy;
    /* Who names an image that is not there has made a mistake, whatever an engine calls that. An engine that went away
     * is no mistake of the task. */
    error_set(
        &why, cause->kind == ERR_UNAVAILABLE ? ERR_UNAVAILABLE : ERR_INVALID,
        "the image %s cannot be pulled: %s; check environment.image, environment.registry_auth and the way to the "
        "registry%s",
        f->order.name, error_msg(cause),
        lacks_proxy
            ? arena_printf(f->order.arena,
                           " (this agent has a proxy, and %s, which pulls, has none: set HTTPS_PROXY for its service)",
                           f->engine->name)
            : "");
    end(f, NULL, &why);
}

/* The header that carries the credentials: JSON in the alphabet of base64 for URLs. */
static char *auth_header(const char *json)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    if (!*json)
        return NULL;
    base64_encode(json, strlen(json), &text);
    for (size_t i = 0; i < text.n; i++)
        text.s[i] = (char)(text.s[i] == '+' ? '-' : text.s[i] == '/' ? '_' : text.s[i]);
    return must_asprintf("X-Registry-Auth: %s", strbuf_str(&text));
}

static void pull(struct image_fetch *f)
{
    const char *from, *tag;
    cleanup_free char *header = auth_header(f->order.registry_auth);
    image_name_split(f->order.name, f->order.arena, &from, &tag);
    const char *path = arena_printf(f->order.arena, "/images/create?fromImage=%s&tag=%s", from, tag);
    f->progress = pull_progress_new();
    f->began_us = f->told_us = clock_monotonic_us();
    engine_tell(&f->handler.lines, "Pulling image %s with %s", f->order.name, f->engine->name);
    struct engine_request q = {.method = "POST", .path = path, .header = header, .on_data = on_progress, .data_ctx = f};
    f->call = engine_ask(f->engine, &q, on_pulled, f);
}

/* ---- the beginning ----------------------------------------------------------------------------------------------- */

struct image_fetch *image_fetch_start(struct engine *e, const struct image_order *o, const struct image_handler *h)
{
    struct image_fetch *f = must_calloc(1, sizeof(*f));
    *f = (struct image_fetch){.engine = e, .order = *o, .handler = *h};
    if (o->force_pull)
        pull(f);
    else
        inspect(f);
    return f;
}

void image_fetch_cancel(struct image_fetch *f)
{
    if (!f)
        return;
    engine_call_cancel(f->call);
    fetch_free(f);
}
