#include "cli/cmd/checkpoint.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd/show.h"
#include "cli/files/copytree.h"
#include "cli/files/unpack.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"
#include "common/system/files.h"
#include "common/task/checkpoint_place.h"

static const char *text_of(struct json_object *v, const char *key)
{
    struct json_object *s;
    return json_object_is_type(v, json_type_object) && json_object_object_get_ex(v, key, &s) &&
                   json_object_is_type(s, json_type_string)
               ? json_object_get_string(s)
               : NULL;
}

/* The checkpoint_storage of the checkpoint's experiment. It is inside *ret_tree, which the caller puts. */
static int find_storage(const struct wire_checkpoint *c, struct json_object **ret_tree, struct json_object **ret,
                        struct error *err)
{
    const char *json = c->training ? c->training->experiment_config : NULL;
    if (!json || json_parse(json, strlen(json), ret_tree, err) < 0 ||
        !json_object_is_type(*ret_tree, json_type_object) ||
        !json_object_object_get_ex(*ret_tree, "checkpoint_storage", ret) || !text_of(*ret, "type"))
        return error_set(err, ERR_PRECONDITION, "checkpoint %s does not say where it is stored", c->uuid);
    return 0;
}

static bool is_object_store(const char *type)
{
    static const char *const stores[] = {"s3", "gcs", "azure"};
    for (size_t i = 0; i < sizeof(stores) / sizeof(*stores); i++)
        if (strcmp(type, stores[i]) == 0)
            return true;
    return false;
}

static bool file_exists(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0;
}

/* Writes metadata.json beside the files, where the library that loads checkpoints expects it. */
static int write_metadata(struct cli *cli, const struct wire_checkpoint *c, const char *directory, struct error *err)
{
    const char *path = arena_printf(&cli->arena, "%s/metadata.json", directory);
    if (file_exists(path))
        return 0;
    const char *text = output_dumps_raw(&cli->arena, c->metadata ? c->metadata : "{}");
    return file_write(path, text, strlen(text), 0644, err);
}

static int through_master(struct cli *cli, const struct wire_checkpoint *c, const char *to, struct error *err)
{
    char *part = arena_printf(&cli->arena, "%s.XXXXXX", to);
    cleanup_free char *parent = path_parent(part);
    if (dir_make(parent, 0755, err) < 0)
        return -1;
    cleanup_close int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "making a file beside %s", to);
    int rc = api_download(cli, arena_printf(&cli->arena, "/checkpoints/%s", c->uuid), fd, err);
    if (rc == 0 && lseek(fd, 0, SEEK_SET) < 0)
        rc = error_errno(err, "%s", part);
    if (rc == 0)
        rc = unpack_tar(fd, to, err);
    unlink(part);
    return rc;
}

static int from_directory(struct cli *cli, const struct wire_checkpoint *c, struct json_object *storage, const char *to,
                          struct error *err)
{
    const char *place = NULL;
    if (!checkpoint_uuid_is_valid(c->uuid))
        return error_set(err, ERR_INVALID, "\"%s\" is not the UUID of a checkpoint", c->uuid);
    if (checkpoint_place(storage, &cli->arena, &place, err) < 0)
        return -1;
    const char *from = arena_printf(&cli->arena, "%s/%s", place, c->uuid);
    if (!file_exists(from))
        return error_set(err, ERR_NOT_FOUND,
                         "checkpoint %s is in %s, which does not exist on this machine: mount the storage", c->uuid,
                         from);
    return copy_tree(from, to, err);
}

static int download_directly(struct cli *cli, const struct wire_checkpoint *c, const char *to, struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct json_object *storage;
    if (find_storage(c, &tree, &storage, err) < 0)
        return -1;
    const char *type = text_of(storage, "type");
    if (!is_object_store(type))
        return from_directory(cli, c, storage, to, err);
    json_print(storage, &text);
    if (checkpoint_from_store(cli, text.s, c->uuid, to, err) == 0)
        return 0;
    return error_wrap(err, "reading %s by python3", type);
}

/* Whether a download through the master may succeed after this error of a direct one. If this machine cannot write
 * the files, it will not. */
static bool master_may_help(const struct error *why)
{
    return why->kind == ERR_NOT_FOUND || why->kind == ERR_UNIMPLEMENTED || why->kind == ERR_PRECONDITION ||
           why->kind == ERR_DEADLINE;
}

/* Mode auto: from the storage if this machine can reach it, otherwise through the master. */
static int download_checkpoint(struct cli *cli, const struct wire_checkpoint *c, const struct checkpoint_download *how,
                               const char *to, struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    const char *mode = how->mode ? how->mode : "auto";
    if (strcmp(mode, "master") == 0)
        return through_master(cli, c, to, err);
    if (strcmp(mode, "direct") == 0)
        return download_directly(cli, c, to, err);
    if (download_directly(cli, c, to, &why) == 0)
        return 0;
    if (!master_may_help(&why)) {
        error_copy(err, &why);
        return -1;
    }
    if (through_master(cli, c, to, err) == 0)
        return 0;
    return error_wrap(err, "%s; and through the master", error_msg(&why));
}

int checkpoint_download(struct cli *cli, const struct wire_checkpoint *c, const struct checkpoint_download *how,
                        struct error *err)
{
    const char *to = how->output_dir ? how->output_dir : arena_printf(&cli->arena, "checkpoints/%s", c->uuid);
    if (c->state != WIRE_CHECKPOINT_STATE_COMPLETED && c->state != WIRE_CHECKPOINT_STATE_PARTIALLY_DELETED)
        return error_set(err, ERR_PRECONDITION,
                         "Only COMPLETED or PARTIALLY_DELETED checkpoints can be downloaded. Checkpoint state: %s",
                         state_text(&wire_enum_checkpoint_state, (int32_t)c->state));
    if (!file_exists(arena_printf(&cli->arena, "%s/metadata.json", to))) { /* otherwise the checkpoint has brought it */
        if (download_checkpoint(cli, c, how, to, err) < 0 || write_metadata(cli, c, to, err) < 0)
            return error_wrap(err, "downloading checkpoint %s", c->uuid);
    }
    if (how->quiet) {
        fprintf(cli->out, "%s\n", to);
        return 0;
    }
    fprintf(cli->out, "Local checkpoint path:\n%s \n\n", to);
    checkpoint_print(cli, c);
    return 0;
}

int cmd_checkpoint_download(struct cli *cli, const struct args_checkpoint_download *args, struct error *err)
{
    const struct wire_checkpoint *c;
    struct checkpoint_download how = {.output_dir = args->output_dir, .mode = args->mode, .quiet = args->quiet};
    if (checkpoint_fetch(cli, args->uuid, &c, err) < 0)
        return -1;
    return checkpoint_download(cli, c, &how, err);
}
