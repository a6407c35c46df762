#include "common/system/lazy_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int lazy_library_load(const char *file, const char *package, const char *const *name, size_t n, void *ret,
                      struct error *err)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, ERR_PRECONDITION, "%s cannot be loaded: %s; install it (Debian: apt install %s)", file,
                         dlerror(), package);
    for (size_t i = 0; i < n; i++) {
        void *function = dlsym(library, name[i]);
        if (!function)
            return error_set(err, ERR_PRECONDITION,
                             "%s on this machine has no function %s; install a newer one (Debian: apt install %s)",
                             file, name[i], package);
        memcpy((char *)ret + i * sizeof(function), &function, sizeof(function));
    }
    return 0; /* the library stays for as long as the program runs */
}

void lazy_library_give_up(const struct error *err)
{
    fprintf(stderr, "%s\n", error_msg(err));
    exit(1);
}
