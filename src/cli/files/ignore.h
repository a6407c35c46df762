/* Decides which files of a context are left out: `.detignore` has the syntax of gitignore(5), and agrees with `git
 * check-ignore` for every pattern. Whatever the file says, *.pyc, __pycache__ and .git are left out; nothing else is
 * left out by default.
 *
 * Walk a tree from the top and do not enter ignored directories: a pattern cannot include a file of an ignored
 * directory again. */
#ifndef DET_CLI_FILES_IGNORE_H
#define DET_CLI_FILES_IGNORE_H

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

void ignore_add_file(struct ignore *ig, const char *text, size_t n); /* text is the content of a .detignore */
/* `path` is relative to the directory of the .detignore, without a slash at either end. */
bool ignore_matches(const struct ignore *ig, const char *path, bool is_directory);
bool ignore_always(const char *name); /* decides by the last component of the path alone */
void ignore_release(struct ignore *ig);

#endif
