/* Hash tables: uthash, made not to leave the program when memory runs out.
 *
 * After HASH_ADD… ask HASH_ADDED(item): false means that the item is not in the table and there is no memory for it. */
#ifndef DET_COMMON_HASH_H
#define DET_COMMON_HASH_H

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#define HASH_ADDED(item) ((item)->hh.tbl != NULL)

#endif
