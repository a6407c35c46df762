/* Groups of users, for the files that show them. */
#ifndef DET_API_ACCOUNTS_GROUPS_H
#define DET_API_ACCOUNTS_GROUPS_H

#include "api/pipeline/handler.h"

/* Reads a group with its members. ERR_NOT_FOUND if there is none. */
int group_read(struct req *r, struct store *db, int32_t id, const struct wire_group_details **ret, struct error *err);

#endif
