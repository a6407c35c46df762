#include "api/pipeline/deleted_places.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

struct place {
    int32_t workspace_id, project_id; /* one of them is 0 */
    int64_t entered_us;
};

struct deleted_places {
    struct place *place; /* in the order of entering */
    size_t n, room;
};

struct deleted_places *deleted_places_new(void)
{
    return must_calloc(1, sizeof(struct deleted_places));
}

void deleted_places_free(struct deleted_places *d)
{
    if (!d)
        return;
    free(d->place);
    free(d);
}

static void take_out(struct deleted_places *d, size_t begin, size_t n)
{
    memmove(&d->place[begin], &d->place[begin + n], (d->n - begin - n) * sizeof(*d->place));
    d->n -= n;
}

static void forget_old(struct deleted_places *d, int64_t now_us)
{
    size_t old = 0;
    while (old < d->n && d->place[old].entered_us < now_us - DELETED_PLACES_KEPT_US)
        old++;
    if (old > 0)
        take_out(d, 0, old);
}

void deleted_places_add(struct deleted_places *d, int32_t workspace_id, int32_t project_id, int64_t now_us)
{
    forget_old(d, now_us);
    if (d->n == d->room) {
        d->room = d->room ? 2 * d->room : 16;
        d->place = must_realloc(d->place, d->room * sizeof(*d->place));
    }
    d->place[d->n++] = (struct place){.workspace_id = workspace_id, .project_id = project_id, .entered_us = now_us};
}

void deleted_places_remove(struct deleted_places *d, int32_t workspace_id, int32_t project_id)
{
    for (size_t i = d->n; i-- > 0;)
        if (d->place[i].workspace_id == workspace_id && d->place[i].project_id == project_id) {
            take_out(d, i, 1);
            return;
        }
}

int deleted_places_check(const struct deleted_places *d, int32_t workspace_id, int32_t project_id, struct error *err)
{
    for (size_t i = 0; i < d->n; i++) {
        const struct place *p = &d->place[i];
        if (p->project_id && p->project_id == project_id)
            return error_set(err, ERR_PRECONDITION, "project %d is being deleted; choose another project", project_id);
        if (p->workspace_id && p->workspace_id == workspace_id)
            return error_set(err, ERR_PRECONDITION, "workspace %d is being deleted; choose another workspace",
                             workspace_id);
    }
    return 0;
}
