/* Checks of sections that experiments and task_container_defaults share, and of those that only experiments have, by
 * the names that the key tables use. */
#ifndef DET_CORE_CONFIG_EXPCONF_CHECKS_H
#define DET_CORE_CONFIG_EXPCONF_CHECKS_H

#include "common/config/schema.h"

extern const struct schema_check expconf_checks[]; /* the last entry has a NULL name */

#endif
