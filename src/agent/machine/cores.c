#include "agent/machine/cores.h"

#include <sched.h>
#include <stdlib.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"

#define CORES_MAX 8192

int cores_read(struct arena *a, struct cores *ret, struct error *err)
{
    size_t size = CPU_ALLOC_SIZE(CORES_MAX);
    cpu_set_t *set = arena_alloc(a, size);
    struct cores c = {.id = arena_array(a, int, CORES_MAX)};
    CPU_ZERO_S(size, set);
    if (sched_getaffinity(0, size, set) < 0)
        return error_errno(err, "cannot find out which cores this process may run on");
    for (int i = 0; i < CORES_MAX; i++)
        if (CPU_ISSET_S((size_t)i, size, set))
            c.id[c.n++] = i;
    *ret = c;
    return 0;
}

int cores_divide(const struct cores *all, size_t n, struct cores *ret, struct error *err)
{
    if (n > all->n)
        return error_set(err, ERR_INVALID,
                         "cpu_slots is %zu, but the agent may use %zu core%s of this machine; set it to at most that",
                         n, all->n, all->n == 1 ? "" : "s");
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        ret[i] = (struct cores){.id = all->id + at, .n = all->n / n + (i < all->n % n)};
        at += ret[i].n;
    }
    return 0;
}

static int compare(const void *a, const void *b)
{
    return *(const int *)a - *(const int *)b;
}

const char *cores_text(const struct cores *slot, size_t n, struct arena *a)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    size_t total = 0, got = 0;
    for (size_t i = 0; i < n; i++)
        total += slot[i].n;
    int *id = arena_array(a, int, total + 1);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < slot[i].n; k++)
            id[got++] = slot[i].id[k];
    qsort(id, total, sizeof(*id), compare);
    for (size_t i = 0, last; i < total; i = last + 1) {
        for (last = i; last + 1 < total && id[last + 1] <= id[last] + 1;)
            last++;
        strbuf_addf(&text, i ? ",%d" : "%d", id[i]);
        if (id[last] > id[i])
            strbuf_addf(&text, "-%d", id[last]);
    }
    return arena_strdup(a, strbuf_str(&text));
}
