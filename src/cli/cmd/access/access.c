#include "cli/cmd/access/access.h"

#include <string.h>

#include "cli/connection/logins.h"
#include "common/base/strbuf.h"

static const struct wire_user *find_user(const struct wire_get_users_response *all, const char *name)
{
    for (size_t i = 0; i < all->users_n; i++)
        if (strcmp(all->users[i].username, name) == 0)
            return &all->users[i];
    return NULL;
}

static bool is_in(const struct ids *ids, const char *name)
{
    for (size_t i = 0; i < ids->n; i++)
        if (strcmp(ids->name[i], name) == 0)
            return true;
    return false;
}

int user_ids_by_name(struct cli *cli, const char *const *name, size_t n, struct ids *ret, struct error *err)
{
    cleanup_strbuf struct strbuf missing = STRBUF_INIT;
    struct ids found = {.id = arena_array(&cli->arena, int32_t, n + 1),
                        .name = arena_array(&cli->arena, const char *, n + 1)};
    struct wire_get_users_response all = {0};
    if (n > 0 && api_call(cli, ROUTE_ID_GET_USERS, NULL, &all, err) < 0)
        return -1;
    for (size_t i = 0; i < n; i++) {
        const struct wire_user *user = find_user(&all, name[i]);
        if (!user) {
            strbuf_addf(&missing, "%s%s", missing.n ? ", " : "", name[i]);
        } else if (!is_in(&found, name[i])) {
            found.id[found.n] = user->id;
            found.name[found.n++] = name[i];
        }
    }
    if (missing.n)
        return error_set(err, ERR_NOT_FOUND, "Failed to %s: could not find users for usernames %s", cli->command->help,
                         strbuf_str(&missing));
    *ret = found;
    return 0;
}

int user_id_by_name(struct cli *cli, const char *name, int32_t *ret, struct error *err)
{
    struct ids ids;
    if (user_ids_by_name(cli, &name, 1, &ids, err) < 0)
        return -1;
    *ret = ids.id[0];
    return 0;
}

int group_id_by_name(struct cli *cli, const char *name, int32_t *ret, struct error *err)
{
    enum { PAGE = 500 };
    struct wire_get_groups_request in = {.name = name, .limit = PAGE};
    struct wire_get_groups_response out;
    if (api_call(cli, ROUTE_ID_GET_GROUPS, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.groups_n; i++) {
        if (out.groups[i].group && strcmp(out.groups[i].group->name, name) == 0) {
            *ret = out.groups[i].group->group_id;
            return 0;
        }
    }
    return error_set(err, ERR_NOT_FOUND, "Failed to %s: could not find user group name %s", cli->command->help, name);
}

int role_id_by_name(struct cli *cli, const char *name, int32_t *ret, struct error *err)
{
    enum { PAGE = 500 }; /* roles are few */
    struct wire_list_roles_request in = {.limit = PAGE};
    struct wire_list_roles_response out;
    if (api_call(cli, ROUTE_ID_LIST_ROLES, &in, &out, err) < 0)
        return -1;
    for (size_t i = 0; i < out.roles_n; i++) {
        if (strcmp(out.roles[i].name, name) == 0) {
            *ret = out.roles[i].role_id;
            return 0;
        }
    }
    return error_set(err, ERR_NOT_FOUND, "Failed to %s: could not find role name %s", cli->command->help, name);
}

int login_with_token(struct cli *cli, const char *token, struct error *err)
{
    struct logins l;
    struct wire_get_me_response me;
    cleanup_error struct error why = ERROR_INIT;
    const char *directory;
    api_use_token(cli, "", token);
    if (api_call(cli, ROUTE_ID_GET_ME, NULL, &me, &why) < 0) {
        if (why.kind == ERR_UNAUTHENTICATED)
            return error_set(err, ERR_UNAUTHENTICATED,
                             "Failed to %s: the master does not accept this token; it may have expired, or it was "
                             "revoked",
                             cli->command->help);
        error_move(err, &why);
        return -1;
    }
    if (config_directory(&cli->arena, &directory, err) < 0 ||
        logins_load(&l, directory, cli->master, &cli->arena, err) < 0 ||
        logins_set_token(&l, me.user->username, token, err) < 0 || logins_set_active(&l, me.user->username, err) < 0)
        return -1;
    fprintf(cli->out, "Authenticated as %s.\n", me.user->username);
    return 0;
}
