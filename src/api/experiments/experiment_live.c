#include "api/experiments/experiment_live.h"

#include "api/pipeline/convert.h"
#include "api/pipeline/internal.h"
#include "core/core.h"
#include "store/experiments/experiments.h"

/* Limits of what one turn of the loop looks at. For an experiment that waits, all its trials are looked at. */
enum { EXPERIMENTS_AT_A_TIME = 256, TRIALS_AT_A_TIME = 20000 };

struct active {
    struct wire_experiment **experiment;
    size_t n, at;
};

/* A step without work: the reply is encoded on the thread where the last step ran, which should be a worker. */
static int on_a_worker(struct req *r, struct error *err)
{
    return 0;
}

static int ask_core(struct req *r, struct core *core, struct error *err)
{
    struct active *a = r->state;
    int trials = 0;
    for (size_t i = 0; i < EXPERIMENTS_AT_A_TIME && trials < TRIALS_AT_A_TIME && a->at < a->n; i++) {
        struct wire_experiment *w = a->experiment[a->at++];
        struct core_experiment_view view;
        if (!core_experiment(core, w->id, &view)) /* the experiment has ended meanwhile */
            continue;
        w->state = experiment_state_to_wire("ACTIVE", view.display);
        trials += view.trial_n;
    }
    return a->at < a->n ? req_then_loop(r, ask_core) : req_then_work(r, on_a_worker);
}

void experiment_shorten(struct store_experiment *x, bool brief)
{
    if (x->notes && *x->notes)
        x->notes = "omitted";
    if (brief) {
        x->config = "{}";
        x->original_config = "";
    }
}

int experiments_show_live(struct req *r, struct wire_experiment **experiment, size_t n)
{
    struct active *a = arena_new(&r->arena, struct active);
    a->experiment = arena_array(&r->arena, struct wire_experiment *, n + 1);
    for (size_t i = 0; i < n; i++)
        if (experiment[i]->state == WIRE_EXPERIMENT_STATE_ACTIVE)
            a->experiment[a->n++] = experiment[i];
    r->state = a;
    return a->n ? req_then_loop(r, ask_core) : 0;
}
