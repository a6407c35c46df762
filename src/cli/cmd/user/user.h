/* What the commands about users share. */
#ifndef DET_CLI_CMD_USER_USER_H
#define DET_CLI_CMD_USER_USER_H

#include "cli/connection/api.h"

int user_by_name(struct cli *cli, const char *name, const struct wire_user **ret, struct error *err);
int user_patch(struct cli *cli, const char *name, const struct wire_user_patch_user *patch, struct error *err);
/* Asks twice and checks that both answers are the same. */
int user_ask_new_password(struct cli *cli, const char *prompt, const char **ret, struct error *err);
/* Whether it may become the user's password: password_check_for(), and not shorter than this master asks for. */
int user_check_new_password(struct cli *cli, const char *password, const char *user, struct error *err);

#endif
