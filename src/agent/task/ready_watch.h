/* Looks in a task's output for the line that says that the task is ready, such as `Server listening on` of a shell, and
 * for the line that says that it waits for something. A pattern has to match at the beginning of a line. */
#ifndef DET_AGENT_TASK_READY_WATCH_H
#define DET_AGENT_TASK_READY_WATCH_H

#include <stddef.h>

struct ready_watch;

/* Returns NULL if there is nothing to look for: `ready` is NULL or empty, or it is no regular expression. `waiting` may
 * be NULL or empty. */
struct ready_watch *ready_watch_new(const char *ready, const char *waiting);
void ready_watch_free(struct ready_watch *w); /* NULL is allowed */

enum ready_sign { READY_SIGN_NONE, READY_SIGN_WAITS, READY_SIGN_READY };
/* Returns what the line says, each sign once. */
enum ready_sign ready_watch_line(struct ready_watch *w, const char *text, size_t n);

#endif
