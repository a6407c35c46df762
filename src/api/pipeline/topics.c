#include "api/pipeline/topics.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/hash.h"
#include "common/base/must.h"
#include "net/loop/loop.h"

LIST_HEAD(member_list, topic_member);

struct topic {
    struct member_list members;
    struct member_list waking; /* members that the wake under way has still to visit */
    bool busy;                 /* a wake walks through this topic: don't free it */
    UT_hash_handle hh;
    char name[];
};

struct topics {
    struct topic *by_name;
};

struct topics *topics_new(void)
{
    return must_calloc(1, sizeof(struct topics));
}

static void topic_free_if_empty(struct topics *t, struct topic *p)
{
    if (p->busy || !LIST_EMPTY(&p->members) || !LIST_EMPTY(&p->waking))
        return;
    HASH_DEL(t->by_name, p);
    free(p);
}

void topics_free(struct topics *t)
{
    if (!t)
        return;
    struct topic *p, *next;
    HASH_ITER(hh, t->by_name, p, next) {
        HASH_DEL(t->by_name, p);
        free(p);
    }
    free(t);
}

void topic_join(struct topics *t, const char *name, struct topic_member *m)
{
    loop_assert();
    struct topic *p;
    HASH_FIND_STR(t->by_name, name, p);
    if (!p) {
        p = must_calloc(1, sizeof(*p) + strlen(name) + 1);
        memcpy(p->name, name, strlen(name) + 1);
        HASH_ADD_STR(t->by_name, name, p);
    }
    m->topic = p;
    LIST_INSERT_HEAD(&p->members, m, link);
}

void topic_leave(struct topics *t, struct topic_member *m)
{
    loop_assert();
    struct topic *p = m->topic;
    if (!p)
        return;
    LIST_REMOVE(m, link);
    m->topic = NULL;
    topic_free_if_empty(t, p);
}

void topics_wake(struct topics *t, const char *name)
{
    loop_assert();
    struct topic *p;
    HASH_FIND_STR(t->by_name, name, p);
    if (!p || p->busy)
        return;
    p->busy = true;
    struct topic_member *m;
    while ((m = LIST_FIRST(&p->members))) {
        LIST_REMOVE(m, link);
        LIST_INSERT_HEAD(&p->waking, m, link);
    }
    while ((m = LIST_FIRST(&p->waking))) {
        LIST_REMOVE(m, link);
        LIST_INSERT_HEAD(&p->members, m, link);
        m->wake(m);
    }
    p->busy = false;
    topic_free_if_empty(t, p);
}
