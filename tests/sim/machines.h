/* A made-up provider of machines for the simulated cluster: it carries out the orders of an elastic pool, some time
 * later, and lists what there is. What it has launched runs on while the master is down. */
#ifndef DET_TESTS_SIM_MACHINES_H
#define DET_TESTS_SIM_MACHINES_H

#include "sim.h"

enum { TURN_MS = 500, BOOT_MS = 2000, LIST_MS = 5000 };

void machines_order(struct sim *sim, const struct core_effect *order);
void machines_run(struct sim *sim);         /* carries out what is due */
void machines_master_down(struct sim *sim); /* the master has gone down: an order that was not begun is lost */
void machines_master_up(struct sim *sim);
int machines_n(const struct sim *sim); /* the number of machines that run or have stopped by themselves */
void machine_stops(struct sim *sim, const char *id);
void machine_is_taken_back(struct sim *sim, const char *id); /* the provider gives notice; the machine still runs */
/* The machine's agent goes away, and the machine stays in the provider's list. */
void machine_hangs(struct sim *sim, const char *id);

#endif
