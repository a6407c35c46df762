/* Caches the JSON text of each agent in GET /agents until the agent changes. For two thousand agents the texts have
 * 3 MB, and most agents do not change from one listing to the next. A text never changes, so a worker may read the
 * texts that a listing on the loop holds. Call everything on the loop, except agent_text_make() and
 * agent_text_str(). */
#ifndef DET_API_CLUSTER_AGENT_TEXTS_H
#define DET_API_CLUSTER_AGENT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/codec/codec.h"
#include "gen/wire.h"

/* Identifies a text: the agent's revision (core_agent_view), the end of its certificate, which the core does not know,
 * and which parts of the agent are shown. */
struct agent_text_key {
    uint64_t revision;
    int64_t certificate_us;
    uint64_t without_slots : 1, without_containers : 1;
};

struct agent_text;
struct agent_text *agent_text_make(struct agent_text_key key, const struct wire_agent *agent);
struct codec_text agent_text_str(const struct agent_text *t);
void agent_text_unref(struct agent_text *t); /* NULL is allowed */

struct agent_texts;
struct agent_texts *agent_texts_new(void);
void agent_texts_free(struct agent_texts *all);
/* A new reference to the text; NULL: there is none yet, make it. */
struct agent_text *agent_texts_get(struct agent_texts *all, struct agent_text_key key);
void agent_texts_keep(struct agent_texts *all, struct agent_text *t);
/* Tells the cache that a listing is complete, and how many agents there are. If the cache has more than two texts
 * for each agent, it drops those that this listing did not use. */
void agent_texts_listed(struct agent_texts *all, size_t agent_n);
size_t agent_texts_n(const struct agent_texts *all);

#endif
