/* Finds the owner of an object. The table in api/pipeline/access.h says which query finds the owner of which kind of
 * object. */
#ifndef DET_STORE_ACCOUNTS_OWNERS_H
#define DET_STORE_ACCOUNTS_OWNERS_H

#include "store/rows.h"

enum store_owned {
    STORE_OWNED_EXPERIMENT,
    STORE_OWNED_TRIAL,
    STORE_OWNED_TASK,
    STORE_OWNED_ALLOCATION,
    STORE_OWNED_CHECKPOINT,
    STORE_OWNED_WORKSPACE,
    STORE_OWNED_PROJECT,
    STORE_OWNED_TEMPLATE,
    STORE_OWNED_MODEL, /* by name, or by its number in digits */
    STORE_OWNED_WEBHOOK,
};

/* Finds the owner of the object with this number, or with this text if `text` is not NULL. Returns 1, 0 if there is
 * no such object, or -1. */
int store_owner_get(struct store *st, enum store_owned what, int32_t number, const char *text, struct arena *a,
                    struct store_owner *ret, struct error *err);

#endif
