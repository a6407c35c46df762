#include "cli/cmd/user/user.h"

#include <string.h>

#include "cli/terminal/terminal.h"
#include "common/base/utf8.h"

int user_by_name(struct cli *cli, const char *name, const struct wire_user **ret, struct error *err)
{
    struct wire_get_user_by_username_request in = {.username = name};
    struct wire_get_user_by_username_response out;
    if (api_call(cli, ROUTE_ID_GET_USER_BY_USERNAME, &in, &out, err) < 0)
        return -1;
    if (!out.user)
        return error_set(err, ERR_NOT_FOUND, "Failed to %s: could not find user '%s'", cli->command->help, name);
    *ret = out.user;
    return 0;
}

int user_patch(struct cli *cli, const char *name, const struct wire_user_patch_user *patch, struct error *err)
{
    const struct wire_user *user;
    if (user_by_name(cli, name, &user, err) < 0)
        return -1;
    struct wire_patch_user_request in = {.user_id = user->id, .user = patch};
    return api_call(cli, ROUTE_ID_PATCH_USER, &in, NULL, err);
}

int user_ask_new_password(struct cli *cli, const char *prompt, const char **ret, struct error *err)
{
    const char *first, *second;
    if (terminal_ask_password(cli, prompt, &first, err) < 0 ||
        terminal_ask_password(cli, "Confirm password: ", &second, err) < 0)
        return -1;
    if (strcmp(first, second) != 0)
        return error_set(err, ERR_INVALID, "Passwords do not match");
    *ret = first;
    return 0;
}

/* The fewest characters that this master asks for; 0: it does not say. */
static size_t least_length(struct cli *cli)
{
    struct wire_get_master_request in = {0};
    struct wire_get_master_response out;
    if (api_call(cli, ROUTE_ID_GET_MASTER, &in, &out, NULL) < 0 || !out.has_password_min_length ||
        out.password_min_length < 0)
        return 0;
    return (size_t)out.password_min_length;
}

int user_check_new_password(struct cli *cli, const char *password, const char *user, struct error *err)
{
    if (password_check_for(password, user, err) < 0)
        return -1;
    size_t n = utf8_count(password), min = least_length(cli);
    if (n >= min)
        return 0;
    return error_set(err, ERR_INVALID, "the password has %zu characters, this master asks for %zu or more", n, min);
}
