#include "store/changes/changes.h"

#include "store/row_io.h"

enum { VERIFIED_AT_ONCE = 1000 };

static int verify_page(struct store *st, struct change_chain *chain, size_t *ret_n, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct change_record *c;
    if (store_changes_after(st, chain->seq, 0, 0, "", "", VERIFIED_AT_ONCE, &a, &c, ret_n, err) < 0)
        return -1;
    for (size_t i = 0; i < *ret_n; i++)
        if (change_chain_add(chain, &c[i], err) < 0)
            return -1;
    return 0;
}

static int verify(struct store *st, struct arena *a, struct store_change_head *ret_head, struct error *err)
{
    struct change_chain chain;
    size_t n;
    if (store_change_head(st, a, ret_head, err) < 0)
        return -1;
    change_chain_begin(&chain, ret_head->base_seq, ret_head->base_hash);
    do {
        if (verify_page(st, &chain, &n, err) < 0)
            return -1;
    } while (n > 0);
    return change_chain_end(&chain, ret_head->seq, ret_head->hash, err);
}

/* The head and the records are read within one transaction, since records may be added meanwhile. */
int store_changes_verify(struct store *st, struct arena *a, struct store_change_head *ret_head, struct error *err)
{
    if (store_begin_read(st, err) < 0)
        return -1;
    int rc = verify(st, a, ret_head, err);
    store_rollback(st);
    return rc;
}

int store_changes_trim(struct store *st, int64_t before_us, int64_t limit, int64_t *ret_n, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct change_record last;
    *ret_n = 0;
    int found = get_changes_last_older(st, ARGS_CHANGES_LAST_OLDER(before_us, limit), &a, &last, err);
    if (found <= 0)
        return found;
    if (query_exec(st, Q_CHANGES_DELETE_UP_TO, ARGS_CHANGES_DELETE_UP_TO(last.seq), ret_n, err) < 0)
        return -1;
    return query_exec(st, Q_CHANGE_HEAD_SET_BASE, ARGS_CHANGE_HEAD_SET_BASE(last.seq, last.hash), NULL, err);
}
