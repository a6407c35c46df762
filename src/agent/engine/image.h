/* An image of an engine: it is looked for, and pulled if it is not there or if the order says so. */
#ifndef DET_AGENT_ENGINE_IMAGE_H
#define DET_AGENT_ENGINE_IMAGE_H

#include "agent/engine/engine.h"
#include "common/base/arena.h"

/* What of an image matters for a task. */
struct image_facts {
    char **env;        /* "NAME=value", NULL-terminated */
    char **entrypoint; /* NULL-terminated */
    const char *arch;  /* "amd64"; "" if unknown */
};

struct image_order {
    const char *name;
    bool force_pull;
    const char *registry_auth; /* JSON, a secret; "" for none */
    struct arena *arena;       /* for the facts */
};

struct image_handler {
    struct engine_lines lines; /* progress, a few lines a minute */
    void (*on_done)(void *ctx, const struct image_facts *facts, const struct error *err); /* facts NULL: it failed */
    void *ctx;
};

/* A name that no engine knows, or that cannot be pulled, is ERR_INVALID: the task is wrong, not the machine. If the
 * engine is away or its disk is full, the error is ERR_UNAVAILABLE: another machine may run the task. The strings of
 * the order must live until on_done. */
struct image_fetch;
struct image_fetch *image_fetch_start(struct engine *e, const struct image_order *o, const struct image_handler *h);
void image_fetch_cancel(struct image_fetch *f); /* on_done is not called */

/* Whether a text has the form of an image's name. Names become parts of URLs, so nothing else is let through. */
bool image_name_is_good(const char *name);
/* Splits a name into what the API calls fromImage and tag: "a/b:1" into "a/b" and "1"; without a tag it is "latest". */
void image_name_split(const char *name, struct arena *a, const char **ret_from, const char **ret_tag);

/* A pull's progress, as engines report it: one JSON object for each change of a layer. */
struct pull_progress;
struct pull_progress *pull_progress_new(void);
void pull_progress_free(struct pull_progress *p);
/* Takes one object. Returns the error that the engine reports in it, or NULL; it lives as long as the object. */
const char *pull_progress_take(struct pull_progress *p, struct json_object *o);
/* "3 of 7 layers, 1.2 GiB of 3.4 GiB": what is there by now. */
void pull_progress_describe(const struct pull_progress *p, struct strbuf *out);

#endif
