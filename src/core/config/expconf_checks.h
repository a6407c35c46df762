/* Checks of sections that experiments and task_container_defaults share, and of those that only experiments have.
 * The key tables refer to the checks by these names. */
#ifndef DET_CORE_CONFIG_EXPCONF_CHECKS_H
#define DET_CORE_CONFIG_EXPCONF_CHECKS_H

#include "common/config/schema.h"

extern const struct schema_check expconf_checks[]; /* the list ends with an entry whose name is NULL */

#endif
