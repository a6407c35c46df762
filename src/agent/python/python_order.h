/* What a task wants of Python, and what it got: the words between the agent and the process that makes environments
 * (environment_program.h). */
#ifndef DET_AGENT_PYTHON_PYTHON_ORDER_H
#define DET_AGENT_PYTHON_PYTHON_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

/* What the agent's configuration says about environments (python_environments). Texts are "" if unset. */
struct python_settings {
    const char *dir;    /* directory of the environments */
    int64_t max_bytes;  /* size of all environments together; 0: no limit */
    const char *wheels; /* directory of wheels that takes the place of an index */
    const char *index_url;
    const char *lists_dir; /* directory of the pinned lists */
    bool only_wheels;
    int32_t build_timeout_s;    /* for all programs together that make one environment */
    int64_t build_memory_bytes; /* what all these programs may take together; 0: no limit */
    /* The account that makes environments. false: it is the agent's own, because the agent is not root. */
    bool change_user;
    uint32_t uid, gid;
    const char *http_proxy, *https_proxy, *no_proxy;
};

struct python_order {
    struct python_settings settings;
    const char *interpreter;  /* absolute path of an interpreter or an environment; "": the first python3 on `path` */
    const char *path;         /* the task's PATH */
    const char *requirements; /* as python_requirements_normalize() writes it; "": none */
    const char **extra;       /* names of pinned lists */
    size_t extra_n;
};

/* The Python that the task runs with. */
struct python_place {
    const char *interpreter; /* absolute path */
    const char *environment; /* directory of the virtual environment that the interpreter belongs to; "": none */
    const char **bin;        /* directories for the task's PATH, the first one first */
    size_t bin_n;
    const char **root; /* directories that the task must see, and may only read */
    size_t root_n;
    const char **lock; /* files that are locked as long as the task runs, so that no environment of it is removed */
    size_t lock_n;
};

/* The text is one line of JSON. */
void python_order_encode(const struct python_order *o, struct strbuf *ret);
/* Strings and arrays live in the arena. */
int python_order_decode(const char *text, size_t n, struct arena *a, struct python_order *ret, struct error *err);
void python_place_encode(const struct python_place *p, struct strbuf *ret);
int python_place_decode(const char *text, size_t n, struct arena *a, struct python_place *ret, struct error *err);

#endif
