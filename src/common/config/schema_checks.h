/* Checks of single values that a type and a range cannot express, by the names that rows of the key tables use. */
#ifndef DET_COMMON_CONFIG_SCHEMA_CHECKS_H
#define DET_COMMON_CONFIG_SCHEMA_CHECKS_H

#include "common/config/schema.h"

extern const struct schema_check schema_builtin_checks[]; /* ends with a NULL name */

#endif
