/* What a scalar of YAML 1.1 means. */
#ifndef DET_COMMON_JSON_YAML_SCALAR_H
#define DET_COMMON_JSON_YAML_SCALAR_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>

/* `plain`: unquoted and without a tag, so that its form decides. `tag`: an explicit one, or NULL. *ret is NULL for
 * null. -1: the tag is unknown, or the text is not of that type. */
int yaml_scalar_resolve(const char *s, size_t n, bool plain, const char *tag, struct json_object **ret);
/* Whether a plain scalar would be read as something else than this text, so that it must be quoted when written. */
bool yaml_scalar_is_text(const char *s, size_t n);

#endif
