/* All-gather: each of n peers of an allocation gives a piece of data and gets those of all.
 *
 * Peers are told apart by the uuid of their request. Whoever gives again under the same uuid replaces the piece while
 * the round is open, and gets the result once the round is complete. A uuid that a complete round does not know opens
 * the next round. The result of the round before is kept until then: a peer that has lost its answer asks again under
 * the same uuid, perhaps after another peer has opened the next round. It cannot be further behind, since no round is
 * complete without it. Rules: docs/spec/task-environment.md#all-gather. */
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

struct gather_round {
    struct gather_piece *piece;
    size_t n, cap, bytes;
    size_t wanted; /* the number of peers; 0: the round has not begun */
};

struct gather {
    struct gather_round now;    /* open or complete */
    struct gather_round before; /* complete, or not begun */
};

int gather_join(struct gather *g, const char *uuid, int32_t num_peers, const char *data, struct error *err);
bool gather_complete(const struct gather *g);
/* The complete round in which a request has given a piece; NULL: its round is open, or it has given none. */
const struct gather_round *gather_result(const struct gather *g, const char *uuid);
void gather_release(struct gather *g);

#endif
