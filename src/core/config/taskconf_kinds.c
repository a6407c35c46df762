/* The table of what is fixed for each kind of task. */
#include "core/config/taskconf.h"

static const char *const notebook_program[] = {"python3", "-m", "determined.exec.notebook", NULL};
static const char *const shell_program[] = {"/run/determined/shell-entrypoint.sh", NULL};
static const char *const tensorboard_program[] = {"python3", "-m", "determined.exec.tensorboard", NULL};

const struct taskconf_kind taskconf_kinds[TASK_KIND_NR] = {
    [TASK_KIND_COMMAND] = {.label = "Command", .runs_entrypoint = true},
    [TASK_KIND_NOTEBOOK] = {.label = "JupyterLab", .has_service = true, .program = notebook_program},
    [TASK_KIND_SHELL] = {.label = "Shell", .has_service = true, .program = shell_program},
    [TASK_KIND_TENSORBOARD] = {.label = "TensorBoard", .has_service = true, .program = tensorboard_program},
    [TASK_KIND_GENERIC] = {.label = "Generic Task", .runs_entrypoint = true},
};
