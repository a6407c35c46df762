/* What people launch beside experiments: commands, notebooks, shells and TensorBoards.
 *
 * `det` has the same commands for each of the four kinds. What differs is in one table (launched.c), so that list,
 * describe, config, logs, kill, set priority and open are one function each. Answers of the master are handled as JSON
 * trees, because the four messages have most of their fields in common and no type. */
#ifndef DET_CLI_CMD_TASK_LAUNCHED_H
#define DET_CLI_CMD_TASK_LAUNCHED_H

#include "cli/connection/api.h"

struct launched_kind {
    const char
        *noun; /* "notebook": the command's word, the key of an answer with one task, and in the middle of a sentence */
    const char *title; /* "Notebook": at the beginning of a sentence */
    const char *list;  /* "notebooks": the key of an answer with several, and in the middle of a sentence */
    enum route_id launch, get_all, get, kill, set_priority;
    const char *const *column; /* of lists; also the keys of a task in an answer. Ends with NULL. */
    const char *running;       /* "Jupyter Notebook": what is said to run at an address; NULL: no browser shows it */
};

/* The kind that a command is about, by the first word of its path. */
const struct launched_kind *launched_kind_of(const struct cli *cli);

/* Completes ids of which only a unique beginning was given. The results are in the arena. */
int launched_ids(struct cli *cli, const struct launched_kind *k, const char *const *given, size_t n, const char ***ret,
                 struct error *err);
int launched_id(struct cli *cli, const struct launched_kind *k, const char *given, const char **ret, struct error *err);

/* {"notebook": {…}, "config": {…}}. The caller puts *ret. */
int launched_fetch(struct cli *cli, const struct launched_kind *k, const char *id, struct json_object **ret,
                   struct error *err);
/* The tasks of a kind; `query` is "" or begins with a question mark. The caller puts *ret, a list. */
int launched_fetch_all(struct cli *cli, const struct launched_kind *k, const char *query, struct json_object **ret,
                       struct error *err);
/* Calls a route that changes one task; body NULL: none. */
int launched_change(struct cli *cli, enum route_id route, const char *id, const char *body, struct error *err);

/* A text of a task's object; "" if it is missing. Valid as long as the object. */
const char *launched_text(struct json_object *task, const char *key);
/* The state without its prefix: "RUNNING". */
const char *launched_state(struct json_object *task);
bool launched_has_ended(struct json_object *task);

/* Waits until the task is ready, and shows meanwhile what it waits for (ready.c). Fails if it ends before. */
int launched_wait_ready(struct cli *cli, const struct launched_kind *k, const char *id, struct error *err);
/* Waits until something answers at the task's address, prints the address, and opens it in the browser if `browser`
 * (address.c). `task` is its object in an answer. */
int launched_show_address(struct cli *cli, const struct launched_kind *k, struct json_object *task, bool browser,
                          struct error *err);

#endif
