/* The rule that names of groups, templates and webhooks have in common. Pure. */
#ifndef DET_API_PIPELINE_NAMES_H
#define DET_API_PIPELINE_NAMES_H

#include "common/base/error.h"

enum { NAME_MAX_BYTES = 255 };

/* The name has 1 to NAME_MAX_BYTES bytes, is not blank, neither begins nor ends with a blank, and has no control
 * characters and none of the characters of `without`. Errors say what has the name by `kind`, such as "group". */
int name_check(const char *kind, const char *name, const char *without, struct error *err);

#endif
