/* Small things that many commands print or ask for. */
#ifndef DET_CLI_CMD_SHOW_H
#define DET_CLI_CMD_SHOW_H

#include <string.h>

#include "cli/api.h"
#include "cli/table.h"

/* "COMPLETED" of STATE_COMPLETED, and so on: the name without its type. */
static inline const char *state_text(const struct codec_enum *e, int32_t number)
{
    const char *name = codec_enum_name(e, number);
    if (!name)
        return "UNKNOWN";
    return strncmp(name, "STATE_", 6) == 0 ? name + 6 : name;
}

/* --pages all or 1 */
static inline bool is_last_page(const struct wire_pagination *p, const char *pages)
{
    return strcmp(pages, "1") == 0 || !p || p->end_index >= p->total;
}

/* For --json: what the reply has under `key`. */
int document_show(struct cli *cli, enum route_id id, const void *request, const char *key, struct error *err);
/* For --json: the items under `key` of every page. `offset` points into `request`. Caller puts *ret_list. */
int documents_fetch(struct cli *cli, enum route_id id, const void *request, int32_t *offset, const char *key,
                    const char *pages, struct json_object **ret_list, struct error *err);

#endif
