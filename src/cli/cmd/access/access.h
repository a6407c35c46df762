/* What the commands about who may do what share: users, groups and roles by their
 * names, and logins with tokens. */
#ifndef DET_CLI_CMD_ACCESS_ACCESS_H
#define DET_CLI_CMD_ACCESS_ACCESS_H

#include "cli/connection/api.h"

struct ids {
    int32_t *id;
    const char **name;
    size_t n;
};

/* The ids of these users, each of them once; ERR_NOT_FOUND names all that do not exist. */
int user_ids_by_name(struct cli *cli, const char *const *name, size_t n, struct ids *ret, struct error *err);
int user_id_by_name(struct cli *cli, const char *name, int32_t *ret, struct error *err);
int group_id_by_name(struct cli *cli, const char *name, int32_t *ret, struct error *err);
int role_id_by_name(struct cli *cli, const char *name, int32_t *ret, struct error *err);

/* Keeps the token as the login of the user whom the master knows by it, and says who that is. */
int login_with_token(struct cli *cli, const char *token, struct error *err);
/* `det auth login --device`: shows a code, and waits until it is confirmed elsewhere. */
int login_on_another_device(struct cli *cli, struct error *err);

#endif
