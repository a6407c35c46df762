/* A made-up provider of machines for the simulated cluster: it carries out the orders of an elastic pool, some time
 * later, and lists what there is. What it has launched runs on while the master is down. */
#ifndef DET_TESTS_SIM_MACHINES_H
#define DET_TESTS_SIM_MACHINES_H

#include "sim.h"

enum { TURN_MS = 500, BOOT_MS = 2000, LIST_MS = 5000 };

void machines_order(struct sim *sim, const struct core_effect *order);
void machines_run(struct sim *sim);         /* what is due */
void machines_master_down(struct sim *sim); /* an order that had not been begun is lost */
void machines_master_up(struct sim *sim);
int machines_n(const struct sim *sim); /* that run, or have stopped by themselves */
void machine_stops(struct sim *sim, const char *id);
void machine_hangs(struct sim *sim, const char *id); /* its agent goes away, it stays in the list */

#endif
