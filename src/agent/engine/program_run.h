/* A program that an engine consists of, run on the loop: Apptainer has no service to ask, only commands. All functions
 * are called on the loop's thread, and all callbacks arrive there, never from within program_run_start(). */
#ifndef DET_AGENT_ENGINE_PROGRAM_RUN_H
#define DET_AGENT_ENGINE_PROGRAM_RUN_H

#include "common/base/error.h"
#include "common/base/strbuf.h"
#include "net/loop/loop.h"

struct program_order {
    char *const *argv; /* argv[0] is searched for in PATH */
    char *const *env;
};

struct program_handler {
    /* One line of its standard error output, without its newline. */
    void (*on_line)(void *ctx, const char *line, size_t n);
    /* The program has ended, with this status of waitpid(). `output` is its standard output, which is cut off at 1 MiB.
     * The run is gone after this call. */
    void (*on_end)(void *ctx, int status, const struct strbuf *output);
    void *ctx;
};

struct program_run;
/* Starts a program, in a session of its own. Returns NULL and sets *err if it cannot be started. */
struct program_run *program_run_start(struct loop *l, const struct program_order *o, const struct program_handler *h,
                                      struct error *err);
/* Kills the program with all of its session's first process group. on_end is not called. */
void program_run_cancel(struct program_run *r);
/* Lets the program run on by itself; on_end is not called. */
void program_run_leave(struct program_run *r);

#endif
