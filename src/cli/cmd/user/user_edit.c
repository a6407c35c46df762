#include "cli/cmd/user/user.h"
#include "common/base/strbuf.h"

static void changed_words(struct strbuf *fields, const char *name)
{
    strbuf_addf(fields, "%s%s", fields->n ? ", " : "", name);
}

int cmd_user_edit(struct cli *cli, const struct args_user_edit *args, struct error *err)
{
    cleanup_strbuf struct strbuf fields = STRBUF_INIT;
    struct wire_user_patch_user patch = {
        .display_name = args->display_name,
        .remote = args->remote,
        .has_remote = args->has_remote,
        .active = args->activate,
        .has_active = args->has_activate,
        .username = args->username,
        .admin = args->admin,
        .has_admin = args->has_admin,
    };
    if (args->display_name)
        changed_words(&fields, "Display Name");
    if (args->has_remote)
        changed_words(&fields, "Remote");
    if (args->has_activate)
        changed_words(&fields, "Active");
    if (args->username)
        changed_words(&fields, "Username");
    if (args->has_admin)
        changed_words(&fields, "Admin");
    if (!fields.n)
        return error_set(err, ERR_INVALID, "Nothing to change: see 'det user edit --help'");
    if (user_patch(cli, args->target_user, &patch, err) < 0)
        return -1;
    fprintf(cli->out, "Changes made to the following fields: %s\n", fields.s);
    return 0;
}

int cmd_user_rename(struct cli *cli, const struct args_user_rename *args, struct error *err)
{
    return user_patch(cli, args->target_user, &(struct wire_user_patch_user){.username = args->new_username}, err);
}

int cmd_user_activate(struct cli *cli, const struct args_user_activate *args, struct error *err)
{
    return user_patch(cli, args->username, &(struct wire_user_patch_user){.active = true, .has_active = true}, err);
}

int cmd_user_deactivate(struct cli *cli, const struct args_user_deactivate *args, struct error *err)
{
    return user_patch(cli, args->username, &(struct wire_user_patch_user){.active = false, .has_active = true}, err);
}

int cmd_user_link_with_agent_user(struct cli *cli, const struct args_user_link_with_agent_user *args, struct error *err)
{
    const struct wire_user_agent_user_group account = {
        .agent_uid = (int32_t)args->agent_uid,
        .has_agent_uid = true,
        .agent_user = args->agent_user,
        .agent_gid = (int32_t)args->agent_gid,
        .has_agent_gid = true,
        .agent_group = args->agent_group,
    };
    return user_patch(cli, args->det_username, &(struct wire_user_patch_user){.agent_user_group = &account}, err);
}
