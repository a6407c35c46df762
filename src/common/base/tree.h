/* Ordered sets: the red-black trees of <sys/tree.h> as libbsd has them. RB_GENERATE_STATIC of libbsd needs a `__unused`
 * that glibc does not have; this one is right. */
#ifndef DET_COMMON_TREE_H
#define DET_COMMON_TREE_H

#include <bsd/sys/tree.h>

#undef RB_GENERATE_STATIC
#define RB_GENERATE_STATIC(name, type, field, cmp) \
    RB_GENERATE_INTERNAL(name, type, field, cmp, __attribute__((unused)) static)

#endif
