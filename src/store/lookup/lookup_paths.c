#include "store/lookup/lookup_paths.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "common/base/number.h"
#include "store/metrics/metric_value.h"

enum lookup_document lookup_path_kind(const char *name)
{
    return (enum lookup_document)name[0];
}

/* A document that is being taken over: the run that it belongs to, and the name of the current path in it. */
struct taking {
    struct lookup_tables *t;
    uint32_t run;
    const char *only;
    struct strbuf *path;
    struct arena *a;
};

static struct lookup_path_column *add_path(struct lookup_tables *t, const char *name)
{
    struct lookup_path_column *p = must_calloc(1, sizeof(*p));
    p->name = must_strdup(name);
    HASH_ADD_KEYPTR(hh, t->paths, p->name, strlen(p->name), p);
    return p;
}

/* Returns the column of the current path; NULL if its value is not wanted. */
static struct column *column_of(const struct taking *x)
{
    struct lookup_path_column *p;
    const char *name = strbuf_str(x->path);
    if (x->only && strcmp(x->only, name) != 0)
        return NULL;
    HASH_FIND_STR(x->t->paths, name, p);
    if (!p && x->t->dropped)
        return NULL;
    return p ? &p->column : &add_path(x->t, name)->column;
}

static void take_value(const struct taking *x, const char *json, size_t n)
{
    struct column *c = n && json[0] != 'n' ? column_of(x) : NULL;
    double number;
    if (!c)
        return;
    if (json[0] == '"') {
        const char *text = metric_text_of(json, n, x->a);
        column_set_text(c, x->run, text, strlen(text));
    } else if ((json[0] == '-' || (json[0] >= '0' && json[0] <= '9')) && number_to_double(json, n, &number) == 0) {
        column_set_number(c, x->run, number);
    } else {
        column_set_text(c, x->run, json, n);
    }
}

static void take_members(const struct taking *x, const char *json)
{
    struct metric_members m = metric_members_of(json);
    while (metric_members_next(&m, x->a)) {
        size_t length = x->path->n;
        strbuf_addf(x->path, "%s%s", length > 1 ? "." : "", m.name);
        if (m.value[0] == '{')
            take_members(x, m.value);
        else
            take_value(x, m.value, m.value_n);
        strbuf_truncate(x->path, length);
    }
}

static void forget_run(struct lookup_tables *t, char kind, uint32_t run)
{
    for (struct lookup_path_column *p = t->paths; p; p = p->hh.next)
        if (p->name[0] == kind)
            column_clear(&p->column, run);
}

void lookup_document(struct lookup_tables *t, enum lookup_document kind, uint32_t run, const char *json,
                     const char *only)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    const struct taking x = {t, run, only, &path, &a};
    if (t->loaded && !only)
        forget_run(t, (char)kind, run);
    strbuf_addc(&path, (char)kind);
    if (json)
        take_members(&x, json);
}

/* ---- summaries --------------------------------------------------------------------------------------------------- */

/* Positions within a stored summary (metric_summary.h). */
enum { PART_TYPE = 0, PART_COUNT = 1, PART_SUM = 2, PART_MIN = 3, PART_MAX = 4, PART_LAST = 5, PARTS };

static void take_part(const struct taking *x, const char *name, const struct metric_members *part)
{
    size_t length = x->path->n;
    strbuf_addf(x->path, ".%s", name);
    take_value(x, part->value, part->value_n);
    strbuf_truncate(x->path, length);
}

static void take_mean(const struct taking *x, const struct metric_members *sum, const struct metric_members *count)
{
    double s, n;
    size_t length = x->path->n;
    strbuf_adds(x->path, ".mean");
    struct column *c = column_of(x);
    strbuf_truncate(x->path, length);
    if (c && sum->value[0] != '"' && number_to_double(sum->value, sum->value_n, &s) == 0 &&
        number_to_double(count->value, count->value_n, &n) == 0 && n != 0)
        column_set_number(c, x->run, s / n);
}

static void take_metric(const struct taking *x, const char *list)
{
    struct metric_members m = metric_members_of(list), part[PARTS];
    size_t n = 0;
    while (n < PARTS && metric_members_next(&m, x->a))
        part[n++] = m;
    if (n < PARTS)
        return;
    take_part(x, "last", &part[PART_LAST]);
    if (strncmp(part[PART_TYPE].value, "\"number\"", 8) != 0)
        return;
    take_part(x, "min", &part[PART_MIN]);
    take_part(x, "max", &part[PART_MAX]);
    take_mean(x, &part[PART_SUM], &part[PART_COUNT]);
}

void lookup_summary(struct lookup_tables *t, uint32_t run, const char *group, const char *json, const char *only)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf path = STRBUF_INIT;
    const struct taking x = {t, run, only, &path, &a};
    struct metric_members m = metric_members_of(json);
    while (metric_members_next(&m, &a)) {
        strbuf_reset(&path);
        strbuf_addf(&path, "%c%s.%s", LOOKUP_SUMMARY, group, m.name);
        take_metric(&x, m.value);
    }
}

void lookup_summary_forget(struct lookup_tables *t, uint32_t run)
{
    forget_run(t, LOOKUP_SUMMARY, run);
}

void lookup_paths_forget(struct lookup_tables *t, uint32_t run)
{
    for (struct lookup_path_column *p = t->paths; p; p = p->hh.next)
        column_clear(&p->column, run);
}

/* ---- the columns of paths ---------------------------------------------------------------------------------------- */

static size_t path_bytes(const struct lookup_path_column *p)
{
    return sizeof(*p) + strlen(p->name) + 1 + column_bytes(&p->column);
}

size_t lookup_paths_bytes(const struct lookup_tables *t)
{
    size_t bytes = 0;
    for (const struct lookup_path_column *p = t->paths; p; p = p->hh.next)
        bytes += path_bytes(p);
    return bytes;
}

static void drop_path_column(struct lookup_tables *t, struct lookup_path_column *p)
{
    HASH_DEL(t->paths, p);
    column_release(&p->column);
    free(p->name);
    free(p);
}

/* Returns, of the columns that the current lookup does not need, the one that was used longest ago. */
static struct lookup_path_column *least_used(const struct lookup_tables *t)
{
    struct lookup_path_column *least = NULL;
    for (struct lookup_path_column *p = t->paths; p; p = p->hh.next)
        if ((p->used == 0 || p->used < t->uses) && (!least || p->used < least->used))
            least = p;
    return least;
}

void lookup_paths_bound(struct lookup_tables *t)
{
    struct lookup_path_column *p;
    size_t bytes = lookup_paths_bytes(t);
    while (bytes > t->bytes_max && (p = least_used(t))) {
        bytes -= path_bytes(p);
        t->dropped = true;
        drop_path_column(t, p);
    }
}

void lookup_paths_release(struct lookup_tables *t)
{
    struct lookup_path_column *p, *next;
    HASH_ITER(hh, t->paths, p, next)
        drop_path_column(t, p);
}

int lookup_tables_path(struct lookup_tables *t, struct store *st, const char *name, struct column **ret,
                       struct error *err)
{
    struct lookup_path_column *p;
    *ret = NULL;
    HASH_FIND_STR(t->paths, name, p);
    if (!p && !t->dropped)
        return 0;
    if (!p) {
        p = add_path(t, name);
        p->used = t->uses;
        if (lookup_documents_again(t, st, name, err) < 0) {
            drop_path_column(t, p);
            return -1;
        }
    }
    p->used = t->uses;
    *ret = &p->column;
    return 0;
}
