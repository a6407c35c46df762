/* Ordered sets: the red-black trees of libbsd's <sys/tree.h>. libbsd's RB_GENERATE_STATIC needs an attribute `__unused`
 * that glibc does not have; this definition works. */
#ifndef DET_COMMON_BASE_TREE_H
#define DET_COMMON_BASE_TREE_H

#include <bsd/sys/tree.h>

#undef RB_GENERATE_STATIC
#define RB_GENERATE_STATIC(name, type, field, cmp) \
    RB_GENERATE_INTERNAL(name, type, field, cmp, __attribute__((unused)) static)

#endif
