/* Shared libraries that the program loads when it first needs them. libcurl and libarchive bring fifty other libraries
 * with them, whose loading takes several times as long as what `det --help` does itself.
 *
 * A table of functions, made of a list X(NAME) by LAZY_MEMBER(), is filled from a library:
 *
 *     static struct curl_calls table;
 *     static const struct lazy_library library[] = {LAZY_LIBRARY("libcurl.so.4", "libcurl4", CURL_FUNCTIONS, table)};
 *     static struct lazy_libraries libraries = LAZY_LIBRARIES(library);
 *
 * A header of the library's caller then defines each NAME as the table's entry, so that calls look as always and are
 * checked by the compiler. */
#ifndef DET_COMMON_SYSTEM_LAZY_LIBRARY_H
#define DET_COMMON_SYSTEM_LAZY_LIBRARY_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/base/error.h"

struct lazy_library {
    const char *file, *package; /* the package of Debian that has the file */
    const char *const *name;    /* of its functions */
    size_t n;
    void *table; /* of n pointers to functions */
};

struct lazy_libraries {
    const struct lazy_library *library;
    size_t n;
    bool loaded;
    pthread_mutex_t one_at_a_time;
};

/* Loads the libraries, unless they are loaded; threads may come at the same time. ERR_PRECONDITION names the package
 * that is missing. */
int lazy_libraries_load(struct lazy_libraries *l, struct error *err);
/* Loads them, too, and ends the program if that fails: the call in question cannot fail otherwise. */
void lazy_libraries_need(struct lazy_libraries *l);

/* Lines of a list of functions: a table's members, and their names. */
#define LAZY_MEMBER(name) __typeof__(name) *name##_;
#define LAZY_NAME(name) #name,

#define LAZY_LIBRARY(so_file, debian_package, functions, calls) \
    {.file = (so_file), \
     .package = (debian_package), \
     .name = (const char *const[]){functions(LAZY_NAME)}, \
     .n = sizeof(calls) / sizeof(void (*)(void)), \
     .table = &(calls)}
#define LAZY_LIBRARIES(all) \
    {.library = (all), .n = sizeof(all) / sizeof((all)[0]), .one_at_a_time = PTHREAD_MUTEX_INITIALIZER}

#endif
