#include <stdlib.h>

#include "cli/cmd/show.h"
#include "cli/connection/api.h"
#include "cli/terminal/table.h"

static void user_row(struct table *t, const struct wire_user *u, bool show_admin)
{
    const struct wire_user_agent_user_group *g = u->agent_user_group;
    table_int(t, u->id);
    table_text(t, u->username);
    table_text(t, u->display_name ? u->display_name : "");
    if (show_admin)
        table_bool(t, u->admin);
    table_bool(t, u->active);
    table_bool(t, u->remote);
    /* a missing link is printed as a word: an empty cell would shift the columns for scripts that split at blanks */
    if (g && g->has_agent_uid)
        table_int(t, g->agent_uid);
    else
        table_text(t, "N/A");
    if (g && g->has_agent_gid)
        table_int(t, g->agent_gid);
    else
        table_text(t, "N/A");
    table_text(t, g && g->agent_user ? g->agent_user : "N/A");
    table_text(t, g && g->agent_group ? g->agent_group : "N/A");
}

int cmd_user_list(struct cli *cli, const struct args_user_list *args, struct error *err)
{
    cleanup_table struct table t = TABLE_INIT;
    struct wire_get_users_request in = {.active = true, .has_active = !args->all};
    struct wire_get_users_response out;
    struct wire_get_master_response master;
    if (args->json)
        return document_show(cli, ROUTE_ID_GET_USERS, &in, "users", err);
    if (api_call(cli, ROUTE_ID_GET_MASTER, NULL, &master, err) < 0 ||
        api_call(cli, ROUTE_ID_GET_USERS, &in, &out, err) < 0)
        return -1;
    bool show_admin = !master.rbac_enabled; /* with RBAC, rights come from roles instead */
    table_column(&t, "User Id");
    table_column(&t, "Username");
    table_column(&t, "Display Name");
    if (show_admin)
        table_column(&t, "Admin");
    table_columns(&t, (const char *const[]){"Active", "Remote", "Agent Uid", "Agent Gid", "Agent User", "Agent Group",
                                            NULL});
    for (size_t i = 0; i < out.users_n; i++)
        user_row(&t, &out.users[i], show_admin);
    table_show(cli, &t, false);
    return 0;
}
