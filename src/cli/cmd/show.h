/* Small things that many commands print or ask for. */
#ifndef DET_CLI_CMD_SHOW_H
#define DET_CLI_CMD_SHOW_H

#include <string.h>

#include "cli/connection/api.h"
#include "cli/terminal/table.h"

/* The name of a state without its prefix: "COMPLETED" for STATE_COMPLETED. */
static inline const char *state_text(const struct codec_enum *e, int32_t number)
{
    const char *name = codec_enum_name(e, number);
    if (!name)
        return "UNKNOWN";
    return strncmp(name, "STATE_", 6) == 0 ? name + 6 : name;
}

static inline bool trial_has_ended(enum wire_trial_state s)
{
    return s == WIRE_TRIAL_STATE_COMPLETED || s == WIRE_TRIAL_STATE_CANCELED || s == WIRE_TRIAL_STATE_ERROR;
}

/* Without --pages, --limit is the most results in all; with it, the number of results on a page. */
static inline const char *pages_of(const char *pages, bool has_limit)
{
    return pages ? pages : has_limit ? "1" : "all";
}

/* pages is "all" or "1". */
static inline bool is_last_page(const struct wire_pagination *p, const char *pages)
{
    return strcmp(pages, "1") == 0 || !p || p->end_index >= p->total;
}

/* Reads the time of an option. text NULL: the option is missing. */
int option_time(const char *option, const char *text, int64_t *ret, bool *ret_has, struct error *err);

/* Hyperparameters or metrics in brief: "lr=0.1, net.width=3"; for any JSON object. The result is in the arena. */
const char *brief_object(struct arena *a, const char *json);
/* Adds a cell with such an object: as Python prints it, on a terminal in brief. */
void table_object(struct table *t, const char *json);

/* A value as the released client prints it in tables: True, {'cluster': True}. NULL for null. The result is in the
 * arena. */
const char *python_text(struct arena *a, struct json_object *v);
/* Adds a row with these values of a document's object. `absent` stands for what is missing or null. */
void table_values(struct table *t, struct json_object *object, const char *const *key /* NULL-terminated */,
                  const char *absent);

/* The metric that an experiment's searcher compares; name "": the experiment has none. */
struct searched_metric {
    const char *name;
    bool smaller_is_better;
};
int searched_metric_read(struct arena *a, const struct wire_get_experiment_response *out, struct searched_metric *ret,
                         struct error *err);
int searched_metric_fetch(struct cli *cli, int32_t experiment_id, struct searched_metric *ret, struct error *err);
/* The metric's value in a report (averages); NULL: the report does not have it. The result is in the arena. */
const char *metric_text(struct arena *a, const struct wire_common_metrics *m, const char *name);

/* For --json: prints what the reply has under `key`. */
int document_show(struct cli *cli, enum route_id id, const void *request, const char *key, struct error *err);
/* For --json: collects the items under `key` of every page. `offset` points into `request`. The caller puts
 * *ret_list. */
int documents_fetch(struct cli *cli, enum route_id id, const void *request, int32_t *offset, const char *key,
                    const char *pages, struct json_object **ret_list, struct error *err);

/* As documents_fetch(), but returns the reply of the first page, with the items of all pages under `key`. The caller
 * puts *ret. */
int document_of_pages(struct cli *cli, enum route_id id, const void *request, int32_t *offset, const char *key,
                      const char *pages, struct json_object **ret, struct error *err);

#endif
