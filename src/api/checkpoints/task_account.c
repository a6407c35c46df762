#include "api/checkpoints/task_account.h"

#include <string.h>

#include "api/checkpoints/storage_roots.h"
#include "common/json/json.h"
#include "common/system/path_access.h"
#include "common/task/checkpoint_place.h"

struct store_agent_user_group task_account_of(const struct store_agent_user_group *link,
                                              const struct store_workspace_agent *place,
                                              const struct store_agent_user_group *otherwise)
{
    struct store_agent_user_group x = link->set ? *link : *otherwise;
    x.user = place->user ? place->user : x.user;
    x.uid = place->has_uid ? place->uid : x.uid;
    x.group = place->group ? place->group : x.group;
    x.gid = place->has_gid ? place->gid : x.gid;
    x.set = true;
    return x;
}

/* The path that must exist. A task sees a shared_fs through a mount of host_path, which must therefore exist; it sees a
 * directory without a mount. */
static const char *root_of(struct json_object *storage, const char *place, struct arena *a)
{
    struct json_object *host_path;
    if (!json_object_object_get_ex(storage, "host_path", &host_path))
        return place;
    return storage_path_normal(json_object_get_string(host_path), a);
}

static const char *account_words(const struct store_workspace_agent *who, struct arena *a)
{
    return who->user && *who->user ? arena_printf(a, "%s (uid %d)", who->user, (int)who->uid)
                                   : arena_printf(a, "uid %d", (int)who->uid);
}

static int refuse(const struct store_workspace_agent *who, const char *place, const struct path_denial *d,
                  struct arena *a, struct error *err)
{
    const char *action = strcmp(d->where, place) == 0 ? "may not write to the checkpoint directory"
                         : d->is_missing              ? "may not make the checkpoint directory"
                                                      : "may not go to the checkpoint directory";
    const char *whose = strcmp(d->where, place) == 0 ? "it" : d->where;
    return error_set(
        err, ERR_INVALID,
        "the account that tasks run as, %s, %s %s: on the master's machine %s belongs to uid %u and gid "
        "%u and has mode %04o; let the account write there (chown %d %s, or chmod 1777 %s for all), or name another place "
        "in checkpoint_storage",
        account_words(who, a), action, place, whose, (unsigned)d->owner, (unsigned)d->group, (unsigned)d->mode,
        (int)who->uid, d->where, d->where);
}

int task_account_check_storage(struct json_object *storage, const struct store_workspace_agent *who, struct arena *a,
                               struct error *err)
{
    cleanup_error struct error ignored = ERROR_INIT;
    const char *place;
    struct path_denial denial;
    if (!who->has_uid || who->uid == 0 || checkpoint_place(storage, a, &place, &ignored) < 0)
        return 0;
    place = storage_path_normal(place, a);
    const char *root = place ? root_of(storage, place, a) : NULL;
    struct path_account account = {.uid = (uid_t)who->uid, .has_gid = who->has_gid, .gid = (gid_t)who->gid};
    if (!root || path_access_of(root, place, &account, a, &denial) != PATH_DENIED)
        return 0;
    return refuse(who, place, &denial, a, err);
}
