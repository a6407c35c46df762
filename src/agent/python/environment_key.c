#include "agent/python/environment_key.h"

#include <string.h>

#include "common/base/strbuf.h"
#include "common/system/sha256_digits.h"

/* Increased when an environment with the same content has to be made anew. */
#define FORMAT 1

/* Adds a text so that no two lists of texts give the same bytes. */
static void add(struct strbuf *b, const char *text)
{
    strbuf_addf(b, "%zu:", strlen(text));
    strbuf_adds(b, text);
}

void environment_key(const struct environment_content *c, char ret[ENVIRONMENT_KEY_LENGTH + 1])
{
    cleanup_strbuf struct strbuf b = STRBUF_INIT;
    strbuf_addf(&b, "%d;", FORMAT);
    add(&b, c->interpreter);
    add(&b, c->version);
    add(&b, c->tag);
    add(&b, c->machine);
    add(&b, c->base);
    for (size_t i = 0; i < c->list_n; i++)
        add(&b, c->list[i]);
    sha256_digits(b.s, b.n, ENVIRONMENT_KEY_LENGTH / 2, ret);
}
