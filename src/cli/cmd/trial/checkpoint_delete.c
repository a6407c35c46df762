/* Deletes checkpoints, or some of their files. */
#include <string.h>

#include "cli/cmd/checkpoint.h"
#include "cli/terminal/terminal.h"

/* Replaces a unique beginning by the whole UUID, because routes that delete accept no other form. */
static int whole_uuid(struct cli *cli, const char **uuid, struct error *err)
{
    enum { UUID_N = 36, BEGINNING_MIN = 4 };
    const struct wire_checkpoint *c;
    size_t n = strlen(*uuid);
    if (n < BEGINNING_MIN || n >= UUID_N)
        return 0;
    if (checkpoint_fetch(cli, *uuid, &c, err) < 0)
        return -1;
    *uuid = c->uuid;
    return 0;
}

/* Splits "a,b,c"; empty pieces are left out. */
static int split_uuids(struct cli *cli, const char *text, const char ***ret, size_t *ret_n, struct error *err)
{
    const char **uuid = arena_array(&cli->arena, const char *, strlen(text) / 2 + 1);
    size_t count = 0;
    for (const char *p = text; *p;) {
        size_t n = strcspn(p, ",");
        if (n)
            uuid[count++] = arena_strndup(&cli->arena, p, n);
        p += n + (p[n] == ',');
    }
    if (count == 0)
        return error_set(err, ERR_USAGE, "name at least one checkpoint; several are separated by commas");
    for (size_t i = 0; i < count; i++)
        if (whole_uuid(cli, &uuid[i], err) < 0)
            return -1;
    *ret = uuid;
    *ret_n = count;
    return 0;
}

int cmd_checkpoint_delete(struct cli *cli, const struct args_checkpoint_delete *args, struct error *err)
{
    struct wire_delete_checkpoints_request in = {0};
    if (split_uuids(cli, args->checkpoints_uuids, &in.checkpoint_uuids, &in.checkpoint_uuids_n, err) < 0)
        return -1;
    if (!args->yes && !terminal_ask_yes(cli, "Deleting checkpoints removes all their files from the checkpoint storage "
                                             "for ever.\nDelete them?")) {
        fputs("Stopping deletion of checkpoints.\n", cli->out);
        return 0;
    }
    if (api_call(cli, ROUTE_ID_DELETE_CHECKPOINTS, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Deletion of checkpoints %s is in progress\n", args->checkpoints_uuids);
    return 0;
}

int cmd_checkpoint_rm(struct cli *cli, const struct args_checkpoint_rm *args, struct error *err)
{
    struct wire_checkpoints_remove_files_request in = {.checkpoint_globs = args->glob,
                                                       .checkpoint_globs_n = args->glob_n};
    if (split_uuids(cli, args->checkpoints_uuids, &in.checkpoint_uuids, &in.checkpoint_uuids_n, err) < 0)
        return -1;
    if (!args->yes && !terminal_ask_yes(cli, "Files of these checkpoints that match a pattern are removed from the "
                                             "checkpoint storage for ever.\nRemove them?")) {
        fputs("Stopping removal of files from checkpoints.\n", cli->out);
        return 0;
    }
    if (api_call(cli, ROUTE_ID_CHECKPOINTS_REMOVE_FILES, &in, NULL, err) < 0)
        return -1;
    fprintf(cli->out, "Removal of files from checkpoints %s is in progress.\n", args->checkpoints_uuids);
    return 0;
}
