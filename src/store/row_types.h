/* Within the store: columns that are a text in the database and something else in a record (`: by NAME` of a row). Each has a
 * reader, which fills its part of the record, and a writer, whose text lives in the arena. The texts are our own, so that
 * their shape is known. */
#ifndef DET_STORE_ROW_TYPES_H
#define DET_STORE_ROW_TYPES_H

#include "core/rows.h"
#include "common/arena.h"

/* [PORT, …], in the order of core_port_names */
void allocation_ports_read(const char *text, struct allocation_row *x);
const char *allocation_ports_write(const struct allocation_row *x, struct arena *a);

/* [DEVICE_ID, …] */
void container_devices_read(const char *text, struct container_row *x);
const char *container_devices_write(const struct container_row *x, struct arena *a);

/* [[DEVICE_ID, DRAINING], …] */
void disabled_slots_read(const char *text, struct agent_row *x);
const char *disabled_slots_write(const struct agent_row *x, struct arena *a);

#endif
