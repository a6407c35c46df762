#include "api/cluster/agent_texts.h"
#include "common/base/must.h"
#include "net/loop/loop.h"

#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct agent_text {
    struct agent_text_key key;
    int refs;      /* the cache's own reference included */
    uint64_t used; /* number of the listing that used it last */
    struct strbuf text;
    UT_hash_handle hh;
};

struct agent_texts {
    struct agent_text *text;
    uint64_t listing;
};

static struct agent_text_key padded_key(struct agent_text_key key)
{
    struct agent_text_key clean;
    memset(&clean, 0, sizeof(clean)); /* the hash is computed over all bytes, so that padding must be zero */
    clean.revision = key.revision;
    clean.certificate_us = key.certificate_us;
    clean.without_slots = key.without_slots;
    clean.without_containers = key.without_containers;
    return clean;
}

struct agent_text *agent_text_make(struct agent_text_key key, const struct wire_agent *agent)
{
    struct agent_text *t = must_calloc(1, sizeof(*t));
    t->key = padded_key(key);
    t->refs = 1;
    codec_encode(&wire_msg_agent, agent, &t->text);
    return t;
}

struct codec_text agent_text_str(const struct agent_text *t)
{
    return (struct codec_text){t->text.s, t->text.n};
}

void agent_text_unref(struct agent_text *t)
{
    if (!t || --t->refs > 0)
        return;
    strbuf_release(&t->text);
    free(t);
}

struct agent_texts *agent_texts_new(void)
{
    struct agent_texts *all = must_calloc(1, sizeof(*all));
    return all;
}

static void forget_text(struct agent_texts *all, struct agent_text *t)
{
    HASH_DEL(all->text, t);
    agent_text_unref(t);
}

void agent_texts_free(struct agent_texts *all)
{
    struct agent_text *t, *next;
    if (!all)
        return;
    HASH_ITER(hh, all->text, t, next)
        forget_text(all, t);
    free(all);
}

static struct agent_text *find_text(struct agent_texts *all, struct agent_text_key key)
{
    struct agent_text *t;
    key = padded_key(key);
    HASH_FIND(hh, all->text, &key, sizeof(key), t);
    return t;
}

struct agent_text *agent_texts_get(struct agent_texts *all, struct agent_text_key key)
{
    struct agent_text *t = find_text(all, key);
    if (!t)
        return NULL;
    t->used = all->listing;
    t->refs++;
    return t;
}

void agent_texts_keep(struct agent_texts *all, struct agent_text *t)
{
    loop_assert();
    if (find_text(all, t->key))
        return; /* another listing has made it meanwhile */
    t->used = all->listing;
    t->refs++;
    HASH_ADD(hh, all->text, key, sizeof(t->key), t);
}

void agent_texts_listed(struct agent_texts *all, size_t agent_n)
{
    loop_assert();
    struct agent_text *t, *next;
    if (agent_texts_n(all) > 2 * agent_n)
        HASH_ITER(hh, all->text, t, next)
            if (t->used != all->listing)
                forget_text(all, t);
    all->listing++;
}

size_t agent_texts_n(const struct agent_texts *all)
{
    return HASH_COUNT(all->text);
}
