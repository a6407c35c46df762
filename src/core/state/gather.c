#include "core/state/gather.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

static struct gather_piece *find_piece(const struct gather_round *round, const char *uuid)
{
    for (size_t i = 0; i < round->n; i++)
        if (strcmp(round->piece[i].uuid, uuid) == 0)
            return &round->piece[i];
    return NULL;
}

static int check_piece(const struct gather *g, const char *uuid, int32_t num_peers, const char *data, struct error *err)
{
    const struct gather_round *open = gather_complete(g) ? NULL : &g->now;
    size_t length = strlen(data), held = open ? open->bytes : 0;
    if (strlen(uuid) == 0 || strlen(uuid) >= CORE_UUID_MAX)
        return error_set(err, ERR_INVALID, "all-gather: \"%.40s\" is not a request uuid", uuid);
    if (num_peers < 1 || num_peers > GATHER_PEERS_MAX)
        return error_set(err, ERR_INVALID, "all-gather: num_peers is %d, allowed is 1 to %d", num_peers,
                         GATHER_PEERS_MAX);
    if (length > GATHER_PIECE_MAX || held + length > GATHER_BYTES_MAX)
        return error_set(err, ERR_TOO_LARGE, "all-gather: more than %d bytes from one peer or %d from all",
                         GATHER_PIECE_MAX, GATHER_BYTES_MAX);
    if ((held + length) * (size_t)num_peers > GATHER_ANSWERS_MAX)
        return error_set(err, ERR_TOO_LARGE,
                         "all-gather: %d peers that get %zu bytes each are more than %d bytes together; "
                         "exchange less, or by way of files",
                         num_peers, held + length, GATHER_ANSWERS_MAX);
    if (open && open->wanted != 0 && open->wanted != (size_t)num_peers)
        return error_set(err, ERR_INVALID, "all-gather: num_peers is %d, the peers before said %zu", num_peers,
                         open->wanted);
    return 0;
}

static struct gather_piece *add_piece(struct gather_round *round, const char *uuid)
{
    if (round->n == round->cap) {
        round->cap = round->cap ? 2 * round->cap : 4;
        round->piece = must_realloc(round->piece, round->cap * sizeof(*round->piece));
    }
    struct gather_piece *p = &round->piece[round->n++];
    *p = (struct gather_piece){0};
    memcpy(p->uuid, uuid, strlen(uuid));
    return p;
}

static void release_round(struct gather_round *round)
{
    for (size_t i = 0; i < round->n; i++)
        free(round->piece[i].data);
    free(round->piece);
    *round = (struct gather_round){0};
}

int gather_join(struct gather *g, const char *uuid, int32_t num_peers, const char *data, struct error *err)
{
    if (gather_result(g, uuid))
        return 0;
    if (check_piece(g, uuid, num_peers, data, err) < 0)
        return -1;
    if (gather_complete(g)) {
        release_round(&g->before);
        g->before = g->now;
        g->now = (struct gather_round){0};
    }
    struct gather_piece *p = find_piece(&g->now, uuid);
    if (!p)
        p = add_piece(&g->now, uuid);
    else
        g->now.bytes -= strlen(p->data);
    free(p->data);
    p->data = must_strdup(data);
    g->now.bytes += strlen(data);
    g->now.wanted = (size_t)num_peers;
    return 0;
}

bool gather_complete(const struct gather *g)
{
    return g->now.wanted > 0 && g->now.n >= g->now.wanted;
}

const struct gather_round *gather_result(const struct gather *g, const char *uuid)
{
    if (gather_complete(g) && find_piece(&g->now, uuid))
        return &g->now;
    return find_piece(&g->before, uuid) ? &g->before : NULL;
}

void gather_release(struct gather *g)
{
    release_round(&g->now);
    release_round(&g->before);
}
