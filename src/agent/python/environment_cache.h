/* The directory of environments, which tasks, agents and users share.
 *
 *   <dir>/builder.lock     locked while an environment is made: one at a time
 *   <dir>/<key>.lock       locked shared by each task that uses the environment, alone by whoever makes or removes it
 *   <dir>/<key>/env/       the environment
 *   <dir>/<key>/work/      of the programs that make it; removed afterwards
 *   <dir>/<key>/complete   the environment counts once this file is there; it holds the size
 *
 * The kernel releases a lock when its holder ends, however it ends. So whatever lies there without `complete` and
 * without a lock is left of a build that did not end well, and is removed. An environment is made where it stays,
 * because its scripts hold its path. The time of the file <key>.lock is that of its last use. */
#ifndef DET_AGENT_PYTHON_ENVIRONMENT_CACHE_H
#define DET_AGENT_PYTHON_ENVIRONMENT_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/python/environment_key.h"
#include "common/base/arena.h"
#include "common/base/error.h"

/* ---- which ones to remove: pure ---- */

struct cached_environment {
    char key[ENVIRONMENT_KEY_LENGTH + 1];
    int64_t bytes, used_us; /* size, and time of the last use */
    bool in_use;            /* by a task that runs */
    bool remove;            /* set by environment_cache_choose() */
};

/* Marks the least recently used environments that nobody uses, until the rest and `needed` bytes fit into `max_bytes`
 * (0: no limit). Returns false, and marks none, if they do not fit even then. */
bool environment_cache_choose(struct cached_environment *e, size_t n, int64_t needed, int64_t max_bytes);

/* ---- the directory ---- */

/* Paths of an environment, in the arena. */
struct environment_paths {
    const char *key, *dir, *environment, *work, *complete, *lock;
};
void environment_paths(const char *cache, const char *key, struct arena *a, struct environment_paths *ret);

bool environment_is_complete(const struct environment_paths *p);
/* Opens the lock file and returns its descriptor. */
int environment_lock_open(const char *path, struct error *err);
/* Sets the time of the last use. */
void environment_touch(int lock_fd);
/* Makes the environment count. */
int environment_complete(const struct environment_paths *p, int64_t bytes, struct error *err);
/* Removes an environment, whose lock the caller holds alone; a crash in the middle leaves nothing that counts. */
int environment_remove(const struct environment_paths *p, struct error *err);
/* Removes what builds have left that did not end well, and environments until `needed` bytes fit beside the others.
 * `except` is the key of the environment that is being made. ERR_TOO_LARGE if there is no room. */
int environment_make_room(const char *cache, const char *except, int64_t needed, int64_t max_bytes, struct error *err);

#endif
