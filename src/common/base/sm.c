#include "common/base/sm.h"

#include <assert.h>
#include <string.h>

static sm_trace_fn *trace_fn;
static void *trace_ctx;

void sm_set_trace(sm_trace_fn *fn, void *ctx)
{
    trace_fn = fn;
    trace_ctx = ctx;
}

void sm_init(struct sm *sm, const struct sm_type *type, int64_t id)
{
    int state = 0;
    while (state < type->state_n && !(type->state[state].flags & SM_INITIAL))
        state++;
    sm_restore(sm, type, id, state);
}

void sm_restore(struct sm *sm, const struct sm_type *type, int64_t id, int state)
{
    assert(sm_type_name_of(type, state) != NULL);
    *sm = (struct sm){.type = type, .id = id, .state = state};
}

bool sm_type_allows(const struct sm_type *type, int from, int to)
{
    return sm_type_name_of(type, from) && to >= 0 && to < type->state_n && (type->state[from].allowed & SM_TO(to)) != 0;
}

int sm_check_move(const struct sm_type *type, int64_t id, int from, int to, struct error *err)
{
    bool allowed = sm_type_allows(type, from, to);
    if (trace_fn)
        trace_fn(trace_ctx, type, id, from, to, !allowed);
    if (allowed)
        return 0;
    const char *from_name = sm_type_name_of(type, from), *to_name = sm_type_name_of(type, to);
    return error_set(err, ERR_PRECONDITION, "%s %lld cannot go from %s to %s", type->name, (long long)id,
                     from_name ? from_name : "a state it cannot have", to_name ? to_name : "a state it does not have");
}

int sm_move(struct sm *sm, int to, struct error *err)
{
    if (sm_check_move(sm->type, sm->id, sm->state, to, err) < 0)
        return -1;
    sm->state = to;
    return 0;
}

const char *sm_name(const struct sm *sm)
{
    return sm->type->state[sm->state].name;
}

const char *sm_type_name_of(const struct sm_type *type, int state)
{
    return state >= 0 && state < type->state_n ? type->state[state].name : NULL;
}

int sm_type_state_of(const struct sm_type *type, const char *name, int *ret)
{
    for (int i = 0; i < type->state_n; i++)
        if (type->state[i].name && strcmp(type->state[i].name, name) == 0) {
            *ret = i;
            return 0;
        }
    return -1;
}

static uint64_t reachable_from(const struct sm_type *type, uint64_t set)
{
    uint64_t before;
    do {
        before = set;
        for (int i = 0; i < type->state_n; i++)
            if (set & SM_TO(i))
                set |= type->state[i].allowed;
    } while (set != before);
    return set;
}

static int check_row(const struct sm_type *type, int i, struct error *err)
{
    const struct sm_state *s = &type->state[i];
    uint64_t all = type->state_n == SM_STATES_MAX ? UINT64_MAX : SM_TO(type->state_n) - 1;
    if (!s->name)
        return error_set(err, ERR_INTERNAL, "%s: state %d has no row", type->name, i);
    if ((s->allowed & ~all) != 0)
        return error_set(err, ERR_INTERNAL, "%s: %s leads to a state without a row", type->name, s->name);
    if ((s->flags & SM_FINAL) && s->allowed != 0)
        return error_set(err, ERR_INTERNAL, "%s: %s is final, yet leads on", type->name, s->name);
    if (!(s->flags & SM_FINAL) && s->allowed == 0)
        return error_set(err, ERR_INTERNAL, "%s: %s is not final, yet leads nowhere", type->name, s->name);
    return 0;
}

int sm_type_check(const struct sm_type *type, struct error *err)
{
    uint64_t initial = 0;
    assert(type->state_n <= SM_STATES_MAX);
    for (int i = 0; i < type->state_n; i++) {
        if (check_row(type, i, err) < 0)
            return -1;
        if (type->state[i].flags & SM_INITIAL)
            initial |= SM_TO(i);
    }
    if (__builtin_popcountll(initial) != 1)
        return error_set(err, ERR_INTERNAL, "%s: needs exactly one initial state", type->name);
    uint64_t reached = reachable_from(type, initial);
    for (int i = 0; i < type->state_n; i++)
        if (!(reached & SM_TO(i)))
            return error_set(err, ERR_INTERNAL, "%s: nothing leads to %s", type->name, type->state[i].name);
    return 0;
}
