/* Identifiers that the core makes up: version 4 UUIDs from its seeded generator. Not secrets. */
#ifndef DET_CORE_STATE_IDS_H
#define DET_CORE_STATE_IDS_H

#include <stddef.h>

#include "core/state/objects.h"

void new_uuid(struct core *c, char ret[CORE_UUID_MAX]);
uint32_t new_random(struct core *c); /* a number from the same generator, where no secret depends on it */
/* Copies a text into a field of a row. The caller must have checked that the text fits. */
void set_text(char *field, size_t size, const char *text);
#define SET_TEXT(field, text) set_text((field), sizeof(field), (text))

#endif
