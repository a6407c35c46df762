/* What a client of /stream asks for: objects of three kinds by ids, and which of them it knows already. Pure. */
#ifndef DET_API_UPDATES_UPDATE_FILTER_H
#define DET_API_UPDATES_UPDATE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/base/strbuf.h"

enum update_kind { UPDATE_PROJECT, UPDATE_MODEL, UPDATE_VERSION, UPDATE_KINDS };

/* The ids by which objects are asked for; an object is wanted if one of the lists has its id. */
enum update_by { UPDATE_BY_ID, UPDATE_BY_WORKSPACE, UPDATE_BY_MODEL, UPDATE_BY_USER, UPDATE_BYS };
/* What an object is asked for by: its ids, in the order of enum update_by; 0: it has none. */
struct update_ids {
    int32_t id[UPDATE_BYS];
};

struct update_list {
    int32_t *id; /* ascending */
    size_t n;
};
struct update_range {
    int32_t first, last;
};
struct update_spec {
    struct update_list by[UPDATE_BYS];
    int64_t since;
    struct update_range *known; /* ascending, without overlaps */
    size_t known_n;
};
struct update_request {
    const char *sync_id; /* as JSON */
    struct update_spec kind[UPDATE_KINDS];
};

/* Reads a message {"sync_id":…, "known":{…}, "subscribe":{…}}. Everything is in the arena. */
int update_request_read(const char *text, size_t n, struct arena *a, struct update_request *ret, struct error *err);

bool update_spec_wants(const struct update_spec *s, const struct update_ids *ids);
bool update_spec_knows(const struct update_spec *s, int32_t id);
/* Appends the ids that are known and are not among `id`, which is ascending, as ranges: "1,3-7". */
void update_spec_missing(const struct update_spec *s, const int32_t *id, size_t n, struct strbuf *out);

#endif
