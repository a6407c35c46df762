/* Whose an object is. What an object is called here is api/access.h's business: a row of the table there names the query. */
#ifndef DET_STORE_OWNERS_H
#define DET_STORE_OWNERS_H

#include "store/rows.h"

enum store_owned {
    STORE_OWNED_EXPERIMENT, STORE_OWNED_TRIAL, STORE_OWNED_TASK, STORE_OWNED_ALLOCATION, STORE_OWNED_CHECKPOINT,
    STORE_OWNED_WORKSPACE, STORE_OWNED_PROJECT, STORE_OWNED_TEMPLATE,
};

/* By its number, or by its text if `text` is not NULL. 1, 0 (there is no such object) or -1. */
int store_owner_get(struct store *st, enum store_owned what, int32_t number, const char *text, struct arena *a,
                    struct store_owner *ret, struct error *err);

#endif
