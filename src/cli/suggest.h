/* What somebody who mistyped a word may have meant. */
#ifndef DET_CLI_SUGGEST_H
#define DET_CLI_SUGGEST_H

#include <stddef.h>

#include "common/base/arena.h"

struct suggestion {
    const char *word;    /* as it was typed */
    const char *nearest; /* NULL: nothing is near enough */
    size_t distance;
};

void suggestion_try(struct suggestion *s, const char *candidate);
/* "did you mean 'experiment'? ", or "" */
const char *suggestion_text(const struct suggestion *s, struct arena *a);

#endif
