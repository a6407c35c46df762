/* The frame of every simulation test: a fresh cluster for each. */
#ifndef DET_TESTS_SIM_SIM_MAIN_H
#define DET_TESTS_SIM_SIM_MAIN_H

#include "cmocka_setup.h"
#include "sim.h"

static struct sim the_sim;

static inline int set_up(void **state)
{
    sim_init(&the_sim, 1);
    *state = &the_sim;
    return 0;
}

static inline int tear_down(void **state)
{
    sim_release(*state);
    return 0;
}

/* The lines of a story in which experiment `number`, whose only trial has the same number, completes. */
#define COMPLETES(at, number) \
    "[" at "] trial " number " > COMPLETED, restarts 0\n" \
    "[" at "] exp " number " > ACTIVE -> STOPPING_COMPLETED\n" \
    "[" at "] exp " number " > STOPPING_COMPLETED -> COMPLETED\n"

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
