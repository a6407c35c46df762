/* What the commands about experiments share. */
#ifndef DET_CLI_CMD_EXPERIMENT_H
#define DET_CLI_CMD_EXPERIMENT_H

#include "cli/connection/api.h"
#include "cli/terminal/table.h"
#include "common/base/strbuf.h"

bool experiment_is_final(enum wire_experiment_state s);
/* The trial with the lowest id; 0 while there is none. */
int experiment_first_trial(struct cli *cli, int32_t experiment_id, int32_t *ret, struct error *err);
/* Waits for its first trial and shows its logs as they come; meanwhile `ports` (NULL: none) are its. */
struct publish;
int experiment_follow(struct cli *cli, int32_t experiment_id, struct publish *ports, struct error *err);
/* experiment_end.c: after the first trial's log, how the experiment ended, or that it goes on with other trials. Sets the
 * exit code: 0 unless it failed. */
void experiment_tell_state(struct cli *cli, const struct wire_experiment *e); /* "ended: ERROR: why" */
int experiment_tell_end(struct cli *cli, int32_t experiment_id, struct error *err);
void experiment_warn(struct cli *cli, int32_t experiment_id, const enum wire_launch_warning *warning, size_t n);
/* Keys of its configuration that have no effect, and what else the master noticed in it. */
void experiment_warn_of_config(struct cli *cli, const char *const *sentence, size_t n);

/* experiment_test.c: the configuration of a very small experiment, from an effective one (JSON) into YAML. */
int experiment_test_config(const char *effective, struct strbuf *ret, struct error *err);
/* Shows how far it gets, and the log if that is not far enough. */
int experiment_watch_test(struct cli *cli, int32_t experiment_id, struct error *err);

/* Runs the configuration's entrypoint here, in `directory` (NULL: this one); its exit status becomes det's. `test_mode`:
 * one batch of a trial class. */
int experiment_run_local(struct cli *cli, struct json_object *config, const char *directory, bool test_mode, struct error *err);

struct experiment_list_form {
    bool show_project, archived; /* columns beside the usual ones */
    bool csv, json;
    bool failure; /* a column for why it ended in error: set by experiment_list() itself */
    const char *pages; /* all, or 1 */
    /* Of what `in` finds, only experiments that are shown in one of these states (0: in any), from the skip-th on, at most `most`
     * (0: all). The master looks for stored states: what runs and what waits is ACTIVE to it. */
    const enum wire_experiment_state *shown;
    size_t shown_n, skip, most;
};
/* Asks for page after page of `in` and prints one table, or one document. */
int experiment_list(struct cli *cli, struct wire_get_experiments_request *in, const struct experiment_list_form *form,
                    struct error *err);

#endif
