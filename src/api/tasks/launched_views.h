/* What users see of the tasks that they have launched. */
#ifndef DET_API_TASKS_LAUNCHED_VIEWS_H
#define DET_API_TASKS_LAUNCHED_VIEWS_H

#include "api/pipeline/handler.h"
#include "store/functions.h"

/* What the messages of the kinds have in common. */
struct launched_view {
    enum wire_task_state state;
    const struct wire_container *container; /* NULL: it has none */
    const char *exit_status;                /* "" until the task has ended */
    const char *service_address;            /* with the token if the one who asks may see it */
    const char *private_key, *public_key; /* of a shell; the private one only if the one who asks may open the shell */
};

/* Reads a task. ERR_NOT_FOUND if there is none of this kind with this id. */
int launched_find(struct req *r, struct store *db, enum task_kind kind, const char *id, struct store_launched_task *ret,
                  struct error *err);
/* Everything in *ret is in the request's arena. */
void launched_view(const struct req *r, const struct store_launched_task *t, struct launched_view *ret);
/* The configuration with the priority as it is now, and without secrets if the one who asks may not see them. */
const char *launched_config(struct req *r, const struct store_launched_task *t);

const struct wire_command *command_to_wire(struct req *r, const struct store_launched_task *t);
const struct wire_notebook *notebook_to_wire(struct req *r, const struct store_launched_task *t);
const struct wire_shell *shell_to_wire(struct req *r, const struct store_launched_task *t);
const struct wire_tensorboard *tensorboard_to_wire(struct req *r, const struct store_launched_task *t);

#endif
