/* What GET /agents says of each agent, as text, kept until the agent changes: of two thousand agents it is 3 MB, and from one look
 * to the next most of them are as they were. A text never changes, so a worker may read those that a listing on the loop holds.
 * Loop only, but for agent_text_make() and agent_text_str(). */
#ifndef DET_API_AGENT_TEXTS_H
#define DET_API_AGENT_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/codec/codec.h"
#include "gen/wire.h"

/* Which one: the agent's revision (core_agent_view) and what of it is shown. */
struct agent_text_key {
    uint64_t revision;
    uint64_t without_slots : 1, without_containers : 1;
};

struct agent_text;
struct agent_text *agent_text_make(struct agent_text_key key, const struct wire_agent *agent);
struct codec_text agent_text_str(const struct agent_text *t);
void agent_text_unref(struct agent_text *t); /* NULL is fine */

struct agent_texts;
struct agent_texts *agent_texts_new(void);
void agent_texts_free(struct agent_texts *all);
/* A reference to it; NULL: it has to be made. */
struct agent_text *agent_texts_get(struct agent_texts *all, struct agent_text_key key);
void agent_texts_keep(struct agent_texts *all, struct agent_text *t);
/* A listing has all that it wants, of so many agents that there are: when more than two texts for each are kept, those go that it
 * had no use for. */
void agent_texts_listed(struct agent_texts *all, size_t agent_n);
size_t agent_texts_n(const struct agent_texts *all);

#endif
