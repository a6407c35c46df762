/* Groups of users: list, describe, create, rename, delete, add and remove users. */
#include <string.h>

#include "cli/cmd/access/access.h"
#include "cli/cmd/show.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"
#include "common/base/strbuf.h"

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void group_rows(struct table *t, struct json_object *groups)
{
    for (size_t i = 0; i < json_object_array_length(groups); i++) {
        struct json_object *entry = json_object_array_get_idx(groups, i);
        table_values(t, json_object_object_get(entry, "group"), (const char *const[]){"groupId", "name", NULL}, "N/A");
        table_values(t, entry, (const char *const[]){"numMembers", NULL}, "N/A");
    }
}

int cmd_user_group_list(struct cli *cli, const struct args_user_group_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    struct wire_get_groups_request in = {.offset = (int32_t)args->offset, .limit = (int32_t)args->limit};
    if (args->groups_user_belongs_to && user_id_by_name(cli, args->groups_user_belongs_to, &in.user_id, err) < 0)
        return -1;
    if (document_of_pages(cli, ROUTE_ID_GET_GROUPS, &in, &in.offset, "groups", args->pages, &v, err) < 0)
        return -1;
    if (args->json) {
        output_json(cli, v);
        return 0;
    }
    table_columns(&t, (const char *const[]){"Groupid", "Name", "Nummembers", NULL});
    group_rows(&t, json_object_object_get(v, "groups"));
    table_show(cli, &t, args->csv);
    return 0;
}

static void member_rows(struct table *t, struct json_object *users)
{
    for (size_t i = 0; i < json_object_array_length(users); i++)
        table_values(t, json_object_array_get_idx(users, i),
                     (const char *const[]){"id", "username", "displayName", "admin", "active", "agentUserGroup",
                                           "modifiedAt", NULL},
                     "N/A");
}

int cmd_user_group_describe(struct cli *cli, const struct args_user_group_describe *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    struct wire_get_group_request in = {0};
    if (group_id_by_name(cli, args->group_name, &in.group_id, err) < 0 ||
        api_call_document(cli, ROUTE_ID_GET_GROUP, &in, &v, err) < 0)
        return -1;
    struct json_object *group = json_object_object_get(v, "group"), *users = json_object_object_get(group, "users");
    if (args->json) {
        output_json(cli, group);
        return 0;
    }
    if (!args->csv)
        fprintf(cli->out, "group ID %d group name %s with users added\n", in.group_id, args->group_name);
    table_columns(&t, (const char *const[]){"Id", "Username", "Displayname", "Admin", "Active", "Agentusergroup",
                                            "Modifiedat", NULL});
    if (users)
        member_rows(&t, users);
    table_show(cli, &t, args->csv);
    return 0;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

int cmd_user_group_create(struct cli *cli, const struct args_user_group_create *args, struct error *err)
{
    struct ids users;
    struct wire_create_group_response out;
    if (user_ids_by_name(cli, args->add_user, args->add_user_n, &users, err) < 0)
        return -1;
    struct wire_create_group_request in = {.name = args->group_name, .add_users = users.id, .add_users_n = users.n};
    if (api_call(cli, ROUTE_ID_CREATE_GROUP, &in, &out, err) < 0)
        return -1;
    fprintf(cli->out, "user group with name %s and ID %d created\n", out.group->name, out.group->group_id);
    for (size_t i = 0; i < out.group->users_n; i++)
        fprintf(cli->out, "%s%s", i ? ", " : "", out.group->users[i].username);
    if (out.group->users_n)
        fputs(" was added to the group\n", cli->out);
    return 0;
}

int cmd_user_group_delete(struct cli *cli, const struct args_user_group_delete *args, struct error *err)
{
    struct wire_delete_group_request in = {0};
    if (!args->yes && !terminal_ask_yes(cli, "Deleting a group cannot be undone: the group goes, and who belongs to it "
                                             "is forgotten. Delete it?")) {
        fputs("Skipping group deletion.\n", cli->out);
        return 0;
    }
    if (group_id_by_name(cli, args->group_name, &in.group_id, err) < 0 ||
        api_call(cli, ROUTE_ID_DELETE_GROUP, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "user group with name %s and ID %d deleted\n", args->group_name, in.group_id);
    return 0;
}

int cmd_user_group_change_name(struct cli *cli, const struct args_user_group_change_name *args, struct error *err)
{
    struct wire_update_group_request in = {.name = args->new_group_name};
    struct wire_update_group_response out;
    if (group_id_by_name(cli, args->old_group_name, &in.group_id, err) < 0 ||
        api_call(cli, ROUTE_ID_UPDATE_GROUP, &in, &out, err) < 0)
        return -1;
    fprintf(cli->out, "user group with ID %d name changed from %s to %s\n", out.group->group_id, args->old_group_name,
            out.group->name);
    return 0;
}

/* The names between the commas. */
static const char **names_between_commas(struct arena *a, const char *text, size_t *ret_n)
{
    const char **name = arena_array(a, const char *, strlen(text) + 1);
    size_t n = 0;
    while (*text) {
        size_t length = strcspn(text, ",");
        if (length)
            name[n++] = arena_strndup(a, text, length);
        text += length + (text[length] == ',');
    }
    *ret_n = n;
    return name;
}

/* Adds the users to the group, or removes them from it. */
static int change_members(struct cli *cli, const char *group, const char *usernames, bool add, struct error *err)
{
    size_t n;
    const char **name = names_between_commas(&cli->arena, usernames, &n);
    struct ids users;
    struct wire_update_group_request in = {0};
    struct wire_update_group_response out;
    if (n == 0)
        return error_set(err, ERR_INVALID, "Failed to %s: no user is named; name them with commas between them",
                         cli->command->help);
    if (group_id_by_name(cli, group, &in.group_id, err) < 0 || user_ids_by_name(cli, name, n, &users, err) < 0)
        return -1;
    if (add) {
        in.add_users = users.id;
        in.add_users_n = users.n;
    } else {
        in.remove_users = users.id;
        in.remove_users_n = users.n;
    }
    if (api_call(cli, ROUTE_ID_UPDATE_GROUP, &in, &out, err) < 0)
        return -1;
    fprintf(cli->out, "user group with ID %d name %s\n", out.group->group_id, out.group->name);
    for (size_t i = 0; i < users.n; i++)
        fprintf(cli->out, "user %s group with username %s and ID %d\n", add ? "added to" : "removed from the",
                users.name[i], users.id[i]);
    return 0;
}

int cmd_user_group_add_user(struct cli *cli, const struct args_user_group_add_user *args, struct error *err)
{
    return change_members(cli, args->group_name, args->usernames, /* add= */ true, err);
}

int cmd_user_group_remove_user(struct cli *cli, const struct args_user_group_remove_user *args, struct error *err)
{
    return change_members(cli, args->group_name, args->usernames, /* add= */ false, err);
}
