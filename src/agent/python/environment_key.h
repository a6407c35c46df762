/* The name of an environment: a hash of everything that decides what is in it. Two tasks that want the same get the
 * same environment. A hash that nobody can find a second content for is needed, because tasks of different users share
 * environments. */
#ifndef DET_AGENT_PYTHON_ENVIRONMENT_KEY_H
#define DET_AGENT_PYTHON_ENVIRONMENT_KEY_H

#include <stddef.h>

#define ENVIRONMENT_KEY_LENGTH 40

/* What an environment is made of. */
struct environment_content {
    const char *interpreter; /* absolute path of the interpreter that it is made with */
    const char *version;     /* of that interpreter: "3.11.2" */
    const char *tag;         /* of its binary interface: "cpython-311" */
    const char *machine;     /* "x86_64" */
    const char *base;        /* directory of the environment or installation below it; "": none */
    const char *const *list; /* requirements, one text each */
    size_t list_n;
};

void environment_key(const struct environment_content *c, char ret[ENVIRONMENT_KEY_LENGTH + 1]);

#endif
