#include "common/system/lazy_library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int load_one(const struct lazy_library *l, struct error *err)
{
    void *library = dlopen(l->file, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return error_set(err, ERR_PRECONDITION, "%s cannot be loaded: %s; install it (Debian: apt install %s)", l->file,
                         dlerror(), l->package);
    for (size_t i = 0; i < l->n; i++) {
        void *function = dlsym(library, l->name[i]);
        if (!function)
            return error_set(err, ERR_PRECONDITION,
                             "%s on this machine has no function %s; install a newer one (Debian: apt install %s)",
                             l->file, l->name[i], l->package);
        memcpy((char *)l->table + i * sizeof(function), &function, sizeof(function));
    }
    return 0; /* the library stays for as long as the program runs */
}

int lazy_libraries_load(struct lazy_libraries *l, struct error *err)
{
    int rc = 0;
    pthread_mutex_lock(&l->one_at_a_time);
    for (size_t i = 0; !l->loaded && rc == 0 && i < l->n; i++)
        rc = load_one(&l->library[i], err);
    __atomic_store_n(&l->loaded, rc == 0, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&l->one_at_a_time);
    return rc;
}

void lazy_libraries_need(struct lazy_libraries *l)
{
    struct error err = ERROR_INIT;
    if (__atomic_load_n(&l->loaded, __ATOMIC_ACQUIRE) || lazy_libraries_load(l, &err) == 0)
        return;
    fprintf(stderr, "%s\n", error_msg(&err));
    exit(1);
}
