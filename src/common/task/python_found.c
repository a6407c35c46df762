#include "common/task/python_found.h"

#include <string.h>

#include "common/base/bytes.h"

#define PACKAGE_MIN 10 /* two lengths and NULs */

void python_found_encode(const struct python_found *f, struct strbuf *out)
{
    bytes_string(out, f->executable, strlen(f->executable));
    bytes_string(out, f->version, strlen(f->version));
    bytes_u32(out, (uint32_t)f->package_n);
    for (size_t i = 0; i < f->package_n; i++) {
        bytes_string(out, f->package[i].name, strlen(f->package[i].name));
        bytes_string(out, f->package[i].version, strlen(f->package[i].version));
    }
}

int python_found_decode(const void *data, size_t n, struct arena *a, struct python_found *ret)
{
    struct cursor c = cursor_of(data, n);
    struct python_found f = {.executable = arena_strdup(a, cursor_string(&c, NULL))};
    f.version = arena_strdup(a, cursor_string(&c, NULL));
    f.package_n = cursor_count(&c, PACKAGE_MIN);
    f.package = arena_array(a, struct python_package, f.package_n + 1);
    for (size_t i = 0; i < f.package_n; i++) {
        f.package[i].name = arena_strdup(a, cursor_string(&c, NULL));
        f.package[i].version = arena_strdup(a, cursor_string(&c, NULL));
    }
    if (!cursor_done(&c))
        return -1;
    *ret = f;
    return 0;
}
