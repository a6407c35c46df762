#include "agent/machine/dynlib.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* Whether the loader's message says that the file does not exist; the loader gives messages and no codes. */
static bool is_missing(const char *sentence, const char *file)
{
    return strncmp(sentence, file, strlen(file)) == 0 && strstr(sentence, "No such file or directory");
}

int dynlib_open(const char *name, const char *file, const struct dynlib_function *function, void **ret,
                struct error *err)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        if (is_missing(why, file))
            return error_set(err, ERR_NOT_FOUND, "this machine has no %s (%s)", name, file);
        return error_set(err, ERR_PRECONDITION, "%s cannot be loaded: %s", name, why);
    }
    for (; function->name; function++) {
        *function->to = dlsym(library, function->name);
        if (!*function->to && !function->optional) {
            dlclose(library);
            return error_set(err, ERR_PRECONDITION, "%s (%s) has no function %s: the driver is too old for this agent",
                             name, file, function->name);
        }
    }
    *ret = library;
    return 0;
}

void dynlib_close(void *library)
{
    if (library)
        dlclose(library);
}
