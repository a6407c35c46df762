/* Small things that many commands print or ask for. */
#ifndef DET_CLI_CMD_SHOW_H
#define DET_CLI_CMD_SHOW_H

#include <string.h>

#include "cli/connection/api.h"
#include "cli/terminal/table.h"

/* "COMPLETED" of STATE_COMPLETED, and so on: the name without its type. */
static inline const char *state_text(const struct codec_enum *e, int32_t number)
{
    const char *name = codec_enum_name(e, number);
    if (!name)
        return "UNKNOWN";
    return strncmp(name, "STATE_", 6) == 0 ? name + 6 : name;
}

/* --limit without --pages is how many results there are at most; with it, how many there are on a page. */
static inline const char *pages_of(const char *pages, bool has_limit) { return pages ? pages : has_limit ? "1" : "all"; }

/* --pages all or 1 */
static inline bool is_last_page(const struct wire_pagination *p, const char *pages)
{
    return strcmp(pages, "1") == 0 || !p || p->end_index >= p->total;
}

/* Hyperparameters and metrics as people write them: "lr=0.1, net.width=3"; of any JSON object. Lives in the arena. */
const char *brief_object(struct arena *a, const char *json);
/* A cell of such an object: Python's dump of it, on a terminal the brief form. */
void table_object(struct table *t, const char *json);

/* What an experiment's searcher looks at; "" for an experiment that names none. */
struct searched_metric {
    const char *name;
    bool smaller_is_better;
};
int searched_metric_fetch(struct cli *cli, int32_t experiment_id, struct searched_metric *ret, struct error *err);
/* The metric's value in a report (averages); NULL: the report has none. Lives in the arena. */
const char *metric_text(struct arena *a, const struct wire_common_metrics *m, const char *name);

/* For --json: what the reply has under `key`. */
int document_show(struct cli *cli, enum route_id id, const void *request, const char *key, struct error *err);
/* For --json: the items under `key` of every page. `offset` points into `request`. Caller puts *ret_list. */
int documents_fetch(struct cli *cli, enum route_id id, const void *request, int32_t *offset, const char *key,
                    const char *pages, struct json_object **ret_list, struct error *err);

#endif
