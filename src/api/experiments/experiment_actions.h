/* What people do to experiments: one table row each, for the single request and for the bulk one alike.
 *
 * State changes are events of the core, made on the loop; all others are changes of the store, made by the writer. A
 * bulk request is the single one for each id, with one {id, error} back for each; a single one turns its error into the
 * reply. Whether the one who asks may do so to the experiment is judged before (access.h). */
#ifndef DET_API_EXPERIMENT_ACTIONS_H
#define DET_API_EXPERIMENT_ACTIONS_H

#include "api/pipeline/handler.h"
#include "core/core.h"
#include "store/experiments/experiments.h"

/* What a bulk request takes by a filter that names no states. */
enum action_default { DEFAULT_ANY, DEFAULT_PAUSED, DEFAULT_ACTIVE, DEFAULT_LIVE, DEFAULT_OVER };

/* What an action needs beside the experiment; only the one that the action looks at is set. */
struct action_args {
    int32_t project_id; /* to move to */
    int32_t days;       /* to keep logs; -1: for ever */
};

struct experiment_action {
    enum core_event_type event; /* of a state change */
    bool over_is_fine;          /* a state change of what has ended already is no error */
    enum action_default default_states;
    /* Any other change; on the writer's thread. Judges first, then writes: on failure nothing has been written. */
    int (*change)(struct req *r, struct store *db, const struct store_experiment_brief *x, const struct action_args *args,
                  struct error *err);
    /* Of the request as a whole, before anything is changed; on the writer's thread. May be NULL. */
    int (*prepare)(struct req *r, struct store *db, const struct action_args *args, struct error *err);
    /* Once the change of this one is committed; on the loop. May be NULL. */
    int (*changed)(struct req *r, int32_t id, struct error *err);
};

extern const struct experiment_action action_activate, action_pause, action_cancel, action_kill, action_archive,
    action_unarchive, action_delete, action_move, action_retain_logs;

/* What a state change says to an experiment that the core does not look after, because it has ended or is unmanaged. */
int action_without_core(const struct experiment_action *a, const struct store_experiment_brief *x, struct error *err);

/* For how many days logs are kept: ERR_INVALID if that is no number of days. */
int check_retention_days(int32_t days, struct error *err);

#endif
