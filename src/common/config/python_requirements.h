/* The key environment.python: what an interpreter and a requirements text may say. The master checks it when a task is
 * submitted, and an agent checks it again before it makes an environment. */
#ifndef DET_COMMON_CONFIG_PYTHON_REQUIREMENTS_H
#define DET_COMMON_CONFIG_PYTHON_REQUIREMENTS_H

#include "common/base/error.h"
#include "common/base/strbuf.h"

/* ERR_INVALID unless it is an absolute path that can be written in one line. */
int python_interpreter_check(const char *path, struct error *err);
/* ERR_INVALID unless the text names at least one package, and nothing that an agent does not have: neither files of the
 * user's machine nor options of pip that concern more than these packages. */
int python_requirements_check(const char *text, struct error *err);
/* Appends the text without comments, empty lines, and spaces at the ends of lines, so that two texts that mean the same
 * are more often the same. The order of lines is kept. */
void python_requirements_normalize(const char *text, struct strbuf *ret);

#endif
