#include "core/state/gather.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

static struct gather_piece *find_piece(const struct gather *g, const char *uuid)
{
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->piece[i].uuid, uuid) == 0)
            return &g->piece[i];
    return NULL;
}

static int check_piece(const struct gather *g, const char *uuid, int32_t num_peers, const char *data, struct error *err)
{
    size_t length = strlen(data), held = gather_complete(g) ? 0 : g->bytes;
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
    if (!gather_complete(g) && g->wanted != 0 && g->wanted != (size_t)num_peers)
        return error_set(err, ERR_INVALID, "all-gather: num_peers is %d, the peers before said %zu", num_peers,
                         g->wanted);
    return 0;
}

static struct gather_piece *add_piece(struct gather *g, const char *uuid)
{
    if (g->n == g->cap) {
        g->cap = g->cap ? 2 * g->cap : 4;
        g->piece = must_realloc(g->piece, g->cap * sizeof(*g->piece));
    }
    struct gather_piece *p = &g->piece[g->n++];
    *p = (struct gather_piece){0};
    memcpy(p->uuid, uuid, strlen(uuid));
    return p;
}

int gather_join(struct gather *g, const char *uuid, int32_t num_peers, const char *data, struct error *err)
{
    if (gather_complete(g) && gather_knows(g, uuid))
        return 0;
    if (check_piece(g, uuid, num_peers, data, err) < 0)
        return -1;
    if (gather_complete(g))
        gather_release(g);
    struct gather_piece *p = find_piece(g, uuid);
    if (!p)
        p = add_piece(g, uuid);
    else
        g->bytes -= strlen(p->data);
    free(p->data);
    p->data = must_strdup(data);
    g->bytes += strlen(data);
    g->wanted = (size_t)num_peers;
    return 0;
}

bool gather_complete(const struct gather *g)
{
    return g->wanted > 0 && g->n >= g->wanted;
}

bool gather_knows(const struct gather *g, const char *uuid)
{
    return find_piece(g, uuid) != NULL;
}

void gather_release(struct gather *g)
{
    for (size_t i = 0; i < g->n; i++)
        free(g->piece[i].data);
    free(g->piece);
    *g = (struct gather){0};
}
