/* The actions of people on experiments: one table row for each, for the request about one experiment and for the
 * request about many (bulk).
 *
 * Changes of state are events of the core, made on the loop; all others are changes of the store, made by the
 * writer. A bulk request does the action for each id and answers with one {id, error} for each. A single request
 * turns its error into the reply. Whether the one who asks may do this to the experiment is checked before
 * (access.h). */
#ifndef DET_API_EXPERIMENTS_EXPERIMENT_ACTIONS_H
#define DET_API_EXPERIMENTS_EXPERIMENT_ACTIONS_H

#include "api/pipeline/handler.h"
#include "core/core.h"
#include "store/experiments/experiments.h"

/* Which experiments a bulk request changes if its filter names no states. */
enum action_default { DEFAULT_ANY, DEFAULT_PAUSED, DEFAULT_ACTIVE, DEFAULT_LIVE, DEFAULT_OVER };

/* What an action needs beside the experiment. Only the field that the action uses is set. */
struct action_args {
    int32_t project_id; /* the project to move to */
    int32_t days;       /* days for which logs are kept; -1: for ever */
};

struct experiment_action {
    enum core_event_type event; /* the event of an action that changes the state */
    bool over_is_fine;          /* for a change of state: success, not an error, if the experiment has ended already */
    enum action_default default_states;
    /* Any other change, on the writer's thread. It checks first and writes then: if it fails, nothing has been
     * written. */
    int (*change)(struct req *r, struct store *db, const struct store_experiment_brief *x,
                  const struct action_args *args, struct error *err);
    /* Checks the request as a whole, before anything is changed, on the writer's thread. May be NULL. */
    int (*prepare)(struct req *r, struct store *db, const struct action_args *args, struct error *err);
    /* Called on the loop for each experiment, after its change is committed. May be NULL. */
    int (*changed)(struct req *r, int32_t id, struct error *err);
    /* The last step of the request, on the writer's thread, after all changes. It may use r->state. May be NULL. */
    int (*finish)(struct req *r, struct store *db, const struct action_args *args, struct error *err);
};

extern const struct experiment_action action_activate, action_pause, action_cancel, action_kill, action_archive,
    action_unarchive, action_delete, action_move, action_retain_logs;

/* The result of a change of state for an experiment that the core does not hold, because it has ended or is
 * unmanaged. */
int action_without_core(const struct experiment_action *a, const struct store_experiment_brief *x, struct error *err);

/* Checks the number of days for which logs are kept. ERR_INVALID if it is not allowed. */
int check_retention_days(int32_t days, struct error *err);

#endif
