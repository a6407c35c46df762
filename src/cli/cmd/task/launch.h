/* Launches commands, notebooks, shells and TensorBoards: makes the configuration of files and options, reads the
 * context, sends both, and says what came of it. */
#ifndef DET_CLI_CMD_TASK_LAUNCH_H
#define DET_CLI_CMD_TASK_LAUNCH_H

#include "cli/cmd/task/launched.h"

struct launch {
    const struct launched_kind *kind;
    /* the options that all these commands have */
    const char *config_file, *context, *template, *workspace_name;
    const char *const *config, *const *volume, *const *include;
    size_t config_n, volume_n, include_n;
    bool detach;
    /* what only some have */
    const char *const *entrypoint; /* of a command, unless its configuration has one */
    size_t entrypoint_n;
    const char *const *experiment_id, *const *trial_id; /* what a TensorBoard shows */
    size_t experiment_id_n, trial_id_n;
    bool preview; /* asks for a notebook's configuration only */
};

#define LAUNCH_OPTIONS(args) \
    .config_file = (args)->config_file, .context = (args)->context, .template = (args)->template, \
    .workspace_name = (args)->workspace_name, .config = (args)->config, .config_n = (args)->config_n, \
    .volume = (args)->volume, .volume_n = (args)->volume_n, .include = (args)->include, \
    .include_n = (args)->include_n, .detach = (args)->detach

/* Launches the task and prints "Launched notebook (id: …, name: …).", or with `detach` its id alone. *ret_answer is
 * {"notebook": {…}, "config": {…}}, and *ret_id is in the arena. The caller puts *ret_answer. */
int launch_task(struct cli *cli, const struct launch *l, struct json_object **ret_answer, const char **ret_id,
                struct error *err);

/* Prints the warnings of an answer about something that was launched: keys of the configuration without effect, slots
 * that nothing can give now. */
void launch_warn(struct cli *cli, const char *noun, struct json_object *answer);

#endif
