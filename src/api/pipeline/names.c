#include "api/pipeline/names.h"

#include <string.h>

#include "common/base/utf8.h"

int name_check(const char *kind, const char *name, const char *without, struct error *err)
{
    size_t n = name ? strlen(name) : 0;
    if (n == 0 || n > NAME_MAX_BYTES || !name[strspn(name, " ")])
        return error_set(err, ERR_INVALID, "the name of a %s has 1 to %d bytes and is not blank, this one has %zu",
                         kind, NAME_MAX_BYTES, n);
    if (name[0] == ' ' || name[n - 1] == ' ')
        return error_set(err, ERR_INVALID, "the name of a %s neither begins nor ends with a blank", kind);
    const char *bad = text_find_control(name);
    if (bad)
        return error_set(err, ERR_INVALID, "the name of a %s has no control characters; byte %zu is 0x%02x", kind,
                         (size_t)(bad - name) + 1, (unsigned char)*bad);
    bad = strpbrk(name, without);
    if (bad)
        return error_set(err, ERR_INVALID, "the name of a %s has no '%c'", kind, *bad);
    return 0;
}
