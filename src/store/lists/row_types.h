/* Within the store: columns that are a text in the database and something else in a record (`: by NAME` of a row).
 * Each has a reader, which fills its part of the record, and a writer, whose text lives in the arena. Only our own
 * writers make these texts, so the readers can rely on their form. */
#ifndef DET_STORE_LISTS_ROW_TYPES_H
#define DET_STORE_LISTS_ROW_TYPES_H

#include "common/base/arena.h"
#include "store/rows.h"

/* The text is [PORT, …], in the order of core_port_names. */
void allocation_ports_read(const char *text, struct allocation_row *x);
const char *allocation_ports_write(const struct allocation_row *x, struct arena *a);

/* The text is [DEVICE_ID, …]. */
void container_devices_read(const char *text, struct container_row *x);
const char *container_devices_write(const struct container_row *x, struct arena *a);

/* The text is [[DEVICE_ID, DRAINING], …]. */
void disabled_slots_read(const char *text, struct agent_row *x);
void slot_troubles_read(const char *text, struct agent_row *x);
const char *slot_troubles_write(const struct agent_row *x, struct arena *a);
const char *disabled_slots_write(const struct agent_row *x, struct arena *a);

/* The text is [[time, TASK_ID], …]. */
void host_faults_read(const char *text, struct agent_row *x);
const char *host_faults_write(const struct agent_row *x, struct arena *a);

/* The text is "", "cancel_retries" or "exclude_node". */
void log_match_action_read(const char *text, struct store_log_match *x);
const char *log_match_action_write(const struct store_log_match *x, struct arena *a);

#endif
