/* What the commands about experiments share. */
#ifndef DET_CLI_CMD_EXPERIMENT_H
#define DET_CLI_CMD_EXPERIMENT_H

#include "cli/connection/api.h"
#include "cli/terminal/table.h"
#include "common/base/strbuf.h"

bool experiment_is_final(enum wire_experiment_state s);
/* The trial with the lowest id; 0 if there is none yet. */
int experiment_first_trial(struct cli *cli, int32_t experiment_id, int32_t *ret, struct error *err);
/* Waits for the experiment's first trial and prints its log as it grows. Meanwhile `ports` (NULL: none) lead to that
 * trial. */
struct publish;
int experiment_follow(struct cli *cli, int32_t experiment_id, struct publish *ports, struct error *err);
/* experiment_end.c: says after the first trial's log how the experiment ended, or that it goes on with other trials.
 * Sets the exit code: 0 unless the experiment failed. */
void experiment_tell_state(struct cli *cli, const struct wire_experiment *e); /* prints "ended: ERROR: REASON" */
/* For commands that wait for the end: says so if the experiment has not completed (unless `quiet`), and sets the exit
 * status: 0 if it has completed, else 1. */
void experiment_exit_as_it_ended(struct cli *cli, const struct wire_experiment *e, bool quiet);
int experiment_tell_end(struct cli *cli, int32_t experiment_id, struct error *err);
void experiment_warn(struct cli *cli, int32_t experiment_id, const enum wire_launch_warning *warning, size_t n);
/* Prints keys of the configuration that have no effect, and other warnings of the master about it. */
void experiment_warn_of_config(struct cli *cli, const char *const *sentence, size_t n);

/* experiment_test.c: makes of an effective configuration (JSON) one of a very small experiment (YAML). */
int experiment_test_config(const char *effective, struct strbuf *ret, struct error *err);
/* Shows the progress of such an experiment, and its log if it does not succeed. */
int experiment_watch_test(struct cli *cli, int32_t experiment_id, struct error *err);

/* Runs the configuration's entrypoint on this machine, in `directory` (NULL: the current one). det exits with its
 * exit status. test_mode: trains a trial class for one batch. */
int experiment_run_local(struct cli *cli, struct json_object *config, const char *directory, bool test_mode,
                         struct error *err);

struct experiment_list_form {
    bool show_project, archived; /* show these columns, too */
    bool csv, json;
    bool failure;      /* show why the experiment ended in error; set by experiment_list() itself */
    const char *pages; /* "all" or "1" */
    /* Shows only experiments in one of these states (0: all states), without the first `skip`, and at most
     * `most` (0: all). The master filters by stored states: experiments that run or wait are ACTIVE for it. */
    const enum wire_experiment_state *shown;
    size_t shown_n, skip, most;
};
/* Fetches all pages that `in` describes and prints one table or document. */
int experiment_list(struct cli *cli, struct wire_get_experiments_request *in, const struct experiment_list_form *form,
                    struct error *err);

#endif
