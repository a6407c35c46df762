/* Which files of a context are left out: `.detignore`, in the syntax of gitignore(5), and agreeing with
 * `git check-ignore` for every pattern. Whatever the file says, *.pyc, __pycache__ and .git are left out, and nothing
 * else is left out unasked.
 *
 * Walk a tree from the top and do not enter what is ignored: a pattern cannot bring back a file of an ignored
 * directory. */
#ifndef DET_CLI_IGNORE_H
#define DET_CLI_IGNORE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/base/arena.h"

struct ignore_pattern;
struct ignore {
    struct arena arena;
    struct ignore_pattern *pattern;
    size_t n, cap;
};

#define IGNORE_INIT {0}

void ignore_add_file(struct ignore *ig, const char *text, size_t n); /* the content of a .detignore */
/* `path` is relative to the directory of the .detignore, without a slash at either end. */
bool ignore_matches(const struct ignore *ig, const char *path, bool is_directory);
bool ignore_always(const char *name); /* by the last component alone */
void ignore_release(struct ignore *ig);

#endif
