/* A program that is asked by lines: one JSON object a line on its standard input, one JSON object a line as the answer
 * on its standard output. It is started at the first question, and again after it has ended or failed to answer in
 * time. What it writes to its standard error goes to the master's log, line by line.
 *
 *     we:     {"id": 1, "do": "open", …}      it:  {"id": 1}
 *     we:     {"id": 2, "do": "list"}         it:  {"id": 2, "instances": [ … ]}
 *     we:     {"id": 3, "do": "launch", …}    it:  {"id": 3, "error": "the quota of the project is used up"}
 *
 * The functions block, so they are for a thread that may. */
#ifndef DET_MASTER_POOLS_LINE_PROGRAM_H
#define DET_MASTER_POOLS_LINE_PROGRAM_H

#include <stdatomic.h>

#include "common/base/error.h"
#include "common/json/json.h"

struct line_program;

struct line_program_opts {
    const char *name;            /* what the log calls it */
    char *const *argv;           /* the program and its arguments; a name without a slash is searched for in PATH */
    const char *variable;        /* one more variable of its environment, NAME=VALUE; NULL: none */
    struct json_object *opening; /* the first question after each start */
    int64_t timeout_us;          /* for one answer */
    const atomic_bool *stopping; /* if it becomes true, the program is not waited for any longer; may be NULL */
};

/* What *o points at has to live longer than the result. */
struct line_program *line_program_new(const struct line_program_opts *o);
void line_program_free(struct line_program *p); /* ends the program */

/* Asks the question, and returns the answer, which the caller puts. An answer with the member `error` is a failure with
 * that text. */
int line_program_ask(struct line_program *p, struct json_object *question, struct json_object **ret, struct error *err);

#endif
