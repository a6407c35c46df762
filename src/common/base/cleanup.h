/* Scoped cleanup for locals: `cleanup_free char *path = …;`, `cleanup_close int fd = -1;`. */
#ifndef DET_COMMON_BASE_CLEANUP_H
#define DET_COMMON_BASE_CLEANUP_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void cleanup_free_p(void *p)
{
    free(*(void **)p);
}
static inline void cleanup_close_p(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
static inline void cleanup_fclose_p(FILE **f)
{
    if (*f)
        fclose(*f);
}

/* Marked unused, because clang does not count the cleanup as a use. */
#define cleanup_free __attribute__((cleanup(cleanup_free_p), unused))
#define cleanup_close __attribute__((cleanup(cleanup_close_p)))
#define cleanup_fclose __attribute__((cleanup(cleanup_fclose_p)))

/* Returns the pointer or descriptor, and clears the variable, so that the cleanup does nothing. */
#define take_ptr(p) \
    ({ \
        __typeof__(p) _t = (p); \
        (p) = NULL; \
        _t; \
    })
#define take_fd(fd) \
    ({ \
        int _t = (fd); \
        (fd) = -1; \
        _t; \
    })

#endif
