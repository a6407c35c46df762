/* A pool as its rows say that it is, in the words of the obvious scheduler. */
#ifndef DET_TESTS_SIM_SOAK_VIEW_H
#define DET_TESTS_SIM_SOAK_VIEW_H

#include "soak.h"

struct view {
    struct plain_agent *agent;
    int *index; /* by the agent's index in the world: its index in `agent`, or -1 */
    struct plain_request *request;
    size_t agent_n, request_n;
    bool releasing; /* something is on its way out */
};

void view_look(struct soak *s, int pool, struct arena *arena, struct view *ret);
/* Prints the view, for the case that a check fails. */
void view_print(const struct view *v, const struct core_pool_opts *p);

#endif
