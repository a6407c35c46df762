/* det task tree: the tasks above and below a generic task. */
#include <string.h>

#include "cli/connection/api.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"

enum { DEPTH_MAX = 100 }; /* of tasks above and below each other; a tree without a circle is not that deep */

static int fetch(struct cli *cli, const char *id, const struct wire_task **ret, struct error *err)
{
    struct wire_get_task_request in = {.task_id = id};
    struct wire_get_task_response out;
    if (api_call(cli, ROUTE_ID_GET_TASK, &in, &out, err) < 0)
        return -1;
    *ret = out.task;
    return 0;
}

static int find_root(struct cli *cli, const char *id, const struct wire_task **ret, struct error *err)
{
    const struct wire_task *task;
    if (fetch(cli, id, &task, err) < 0)
        return -1;
    for (int i = 0; i < DEPTH_MAX && task->parent_id && *task->parent_id; i++)
        if (fetch(cli, task->parent_id, &task, err) < 0)
            return -1;
    *ret = task;
    return 0;
}

static const char *state_of(const struct wire_task *t)
{
    const char *name = t->has_task_state ? codec_enum_name(&wire_enum_task_generic_task_state, (int32_t)t->task_state)
                                         : NULL;
    return name ? name + strlen("GENERIC_TASK_STATE_") : t->has_end_time ? "ENDED" : "ACTIVE";
}

static struct json_object *document(const struct wire_task *t)
{
    struct json_object *v = json_object_new_object();
    json_object_object_add(v, "id", json_object_new_string(t->task_id));
    json_object_object_add(v, "state", json_object_new_string(state_of(t)));
    json_object_object_add(v, "forkedFrom", t->forked_from ? json_object_new_string(t->forked_from) : NULL);
    json_object_object_add(v, "children", json_object_new_array());
    return v;
}

/* *ret is the task with its children, and theirs. The caller puts it. */
static int gather(struct cli *cli, const struct wire_task *t, int depth, struct json_object **ret, struct error *err)
{
    cleanup_json struct json_object *v = document(t);
    struct json_object *children = json_object_object_get(v, "children"), *below;
    for (size_t i = 0; depth < DEPTH_MAX && i < t->child_ids_n; i++) {
        const struct wire_task *child;
        if (fetch(cli, t->child_ids[i], &child, err) < 0 || gather(cli, child, depth + 1, &below, err) < 0)
            return -1;
        json_object_array_add(children, below);
    }
    *ret = take_ptr(v);
    return 0;
}

/* The task that was named is marked. */
static void print(struct cli *cli, struct json_object *task, const char *named, int depth)
{
    const char *id = json_object_get_string(json_object_object_get(task, "id"));
    struct json_object *children = json_object_object_get(task, "children"),
                       *forked = json_object_object_get(task, "forkedFrom");
    fprintf(cli->out, "%*s%s %s%s%s%s\n", depth * 2, "", id,
            json_object_get_string(json_object_object_get(task, "state")), forked ? ", forked from " : "",
            forked ? json_object_get_string(forked) : "", strcmp(id, named) == 0 && depth > 0 ? " *" : "");
    for (size_t i = 0; i < json_object_array_length(children); i++)
        print(cli, json_object_array_get_idx(children, i), named, depth + 1);
}

int cmd_task_tree(struct cli *cli, const struct args_task_tree *args, struct error *err)
{
    const struct wire_task *root;
    cleanup_json struct json_object *tree = NULL;
    if (find_root(cli, args->task_id, &root, err) < 0 || gather(cli, root, 0, &tree, err) < 0)
        return -1;
    if (cli->format)
        output_json(cli, tree);
    else
        print(cli, tree, args->task_id, 0);
    return 0;
}
