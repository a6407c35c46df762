/* All-gather: each of n peers of an allocation gives a piece of data and gets those of all.
 *
 * Peers are told apart by the uuid of their request. Whoever gives again under the same uuid replaces the piece while
 * the round is open, and gets the result once the round is complete. A uuid that a complete round does not know opens
 * the next round. Rules: docs/spec/task-environment.md#all-gather. */
#ifndef DET_CORE_STATE_GATHER_H
#define DET_CORE_STATE_GATHER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/base/error.h"
#include "core/records/rows.h"

enum {
    GATHER_PEERS_MAX = 4096,
    GATHER_PIECE_MAX = 1 << 20,
    GATHER_BYTES_MAX = 16 << 20,
    GATHER_ANSWERS_MAX = 48
        << 20 /* bytes of all answers of a round, made in one turn of the loop: each peer gets what all have given */
};

struct gather_piece {
    char uuid[CORE_UUID_MAX];
    char *data;
};

struct gather {
    struct gather_piece *piece;
    size_t n, cap, bytes;
    size_t wanted; /* the number of peers; 0: no round has begun */
};

int gather_join(struct gather *g, const char *uuid, int32_t num_peers, const char *data, struct error *err);
bool gather_complete(const struct gather *g);
bool gather_knows(const struct gather *g, const char *uuid);
void gather_release(struct gather *g);

#endif
