/* A shared library that the program loads when it first needs it. libcurl and libarchive bring fifty other libraries
 * with them, whose loading takes several times as long as what `det --help` does itself.
 *
 * A table of functions, made of a list X(NAME) by LAZY_MEMBER(), is filled by lazy_library_load(). A header of the
 * library's caller then defines each NAME as the table's entry, so that calls look as always and are checked by the
 * compiler. */
#ifndef DET_COMMON_SYSTEM_LAZY_LIBRARY_H
#define DET_COMMON_SYSTEM_LAZY_LIBRARY_H

#include <stddef.h>

#include "common/base/error.h"

/* Loads the library `file`, and finds the functions with these names. `ret` is a table of n pointers to functions.
 * ERR_PRECONDITION names the package of Debian that has it. */
int lazy_library_load(const char *file, const char *package, const char *const *name, size_t n, void *ret,
                      struct error *err);
/* Ends the program with the error, which is that of lazy_library_load(): the call in question cannot fail otherwise. */
void lazy_library_give_up(const struct error *err) __attribute__((noreturn));

/* Lines of a list of functions: a table's members, and their names. */
#define LAZY_MEMBER(name) __typeof__(name) *name##_;
#define LAZY_NAME(name) #name,

#endif
