#include "master/removal/collection_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/json/json.h"
#include "common/system/log.h"
#include "master/master.h"

#define FILES_DIR "/run/determined/checkpoint_gc"

struct claim {
    struct store_removal_group group;
    struct arena arena;
    char task_id[CORE_TASK_ID_MAX];
    int64_t now_us;
    void (*done)(void *ctx, const struct error *err);
    void *ctx;
};

static void note_task_id(void *ctx, const struct core_effects *effects)
{
    struct claim *k = ctx;
    snprintf(k->task_id, sizeof(k->task_id), "%s", effects->task_id);
}

static int claim_group(struct store *db, void *ctx, struct error *err)
{
    const struct claim *k = ctx;
    return store_removal_group_claim(db, &k->group, k->task_id, k->now_us, err);
}

static void group_claimed(void *ctx, const struct error *err)
{
    struct claim *k = ctx;
    if (!err)
        log_info("checkpoint.task_started", "exp=%d task=%s", k->group.experiment_id, k->task_id);
    k->done(k->ctx, err);
    arena_release(&k->arena);
    free(k);
}

int collection_task_start(struct master *m, const struct store_removal_group *g,
                          void (*done)(void *ctx, const struct error *err), void *ctx, struct error *err)
{
    struct claim *k = must_calloc(1, sizeof(*k));
    *k = (struct claim){.group = *g, .arena = ARENA_INIT, .now_us = clock_now_us(), .done = done, .ctx = ctx};
    if (g->globs)
        k->group.globs = arena_strdup(&k->arena, g->globs);
    const struct core_task_spec spec = {.owner_id = g->owner_id,
                                        .experiment_id = g->experiment_id,
                                        .pool = m->defaults.aux_pool};
    const struct core_event ev = {.type = CORE_TASK_CREATE, .now_us = k->now_us, .task = &spec};
    const struct companion companion = {.stepped = note_task_id, .store = claim_group, .done = group_claimed, .ctx = k};
    if (master_step(m, &ev, &companion, err) == 0)
        return 0;
    arena_release(&k->arena);
    free(k);
    return -1;
}

/* ---- the task's command and files -------------------------------------------------------------------------------- */

static void add_file(struct wire_link_start_task *t, const char *name, const char *content, struct arena *a)
{
    t->files[t->files_n++] = (struct wire_link_task_file){.path = arena_printf(a, FILES_DIR "/%s", name),
                                                          .mode = 0600,
                                                          .content = {.data = (uint8_t *)content,
                                                                      .n = strlen(content)}};
}

static const char *list_of_uuids(const struct store_removal *r, size_t n, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_addc(&text, '[');
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&text, "%s\"%s\"", i ? "," : "", r[i].uuid);
    strbuf_addc(&text, ']');
    return arena_strdup(a, text.s);
}

/* Finds the storage of a checkpoint: its own, otherwise the one in the experiment's configuration. */
static int storage_of(const char *own, const char *experiment_config, const char **ret, struct arena *a,
                      struct error *err)
{
    cleanup_json struct json_object *tree = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct json_object *storage;
    if (own) {
        *ret = own;
        return 0;
    }
    if (json_parse(experiment_config, strlen(experiment_config), &tree, err) < 0)
        return -1;
    if (!json_object_object_get_ex(tree, "checkpoint_storage", &storage))
        return error_set(err, ERR_PRECONDITION, "the experiment is configured without checkpoint_storage");
    json_print(storage, &text);
    *ret = arena_strdup(a, text.s);
    return 0;
}

int collection_task_fill(struct store *db, const char *task_id, int32_t experiment_id, const char *experiment_config,
                         struct wire_link_start_task *t, struct arena *a, struct error *err)
{
    struct store_removal *r;
    struct store_tensorboard_removal b;
    size_t n;
    const char *storage = NULL;
    if (store_removals_of_task(db, task_id, a, &r, &n, err) < 0 ||
        store_tensorboard_removal_of_task(db, task_id, a, &b, err) < 0 ||
        storage_of(n ? r[0].site.storage : NULL, experiment_config, &storage, a, err) < 0)
        return -1;
    bool everything = n == 0 || strcmp(r[0].globs, "[]") == 0;
    add_file(t, "storage_config.json", storage, a);
    add_file(t, "checkpoints_to_delete.json", list_of_uuids(r, n, a), a);
    add_file(t, "checkpoints_globs.json", everything ? "[\"**/*\"]" : r[0].globs, a);
    t->argv = arena_array(a, const char *, 1);
    t->argv_n = 1;
    t->argv[0] =
        arena_printf(a,
                     "cd \"$DET_RUN_DIR/checkpoint_gc\" && exec \"${DET_PYTHON_EXECUTABLE:-python3}\" "
                     "-m determined.exec.gc_checkpoints --experiment-id %d --storage-config storage_config.json "
                     "--delete checkpoints_to_delete.json --globs checkpoints_globs.json%s",
                     experiment_id, b.experiment_id ? " --delete-tensorboards" : "");
    return 0;
}
