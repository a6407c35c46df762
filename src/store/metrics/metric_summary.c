#include "store/metrics/metric_summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/base/hash.h"
#include "common/base/must.h"
#include "common/json/json.h"

struct node {
    struct metric_summary_entry e; /* the texts in it belong to the node */
    char *name, *last;
    UT_hash_handle hh;
};

struct metric_summary {
    struct node *nodes; /* in the order in which the names were added */
};

static const char *const type_name[METRIC_TYPE_NR] = {"number", "string", "date", "boolean", "object", "array", "null"};

struct metric_summary *metric_summary_new(void)
{
    struct metric_summary *s = must_calloc(1, sizeof(*s));
    return s;
}

void metric_summary_free(struct metric_summary *s)
{
    struct node *node, *next;
    if (!s)
        return;
    HASH_ITER(hh, s->nodes, node, next) {
        HASH_DEL(s->nodes, node);
        free(node->name);
        free(node->last);
        free(node);
    }
    free(s);
}

/* ---- types ------------------------------------------------------------------------------------------------------- */

static enum metric_type type_of_text(const char *json)
{
    int64_t us;
    switch (json[0]) {
    case '"':
        return clock_parse(json + 1, strlen(json) - 2, &us) == 0 ? METRIC_TYPE_DATE : METRIC_TYPE_STRING;
    case '{':
        return METRIC_TYPE_OBJECT;
    case '[':
        return METRIC_TYPE_ARRAY;
    case 't':
    case 'f':
        return METRIC_TYPE_BOOLEAN;
    case 'n':
        return METRIC_TYPE_NULL;
    default:
        return METRIC_TYPE_NUMBER; /* the number is larger than any double */
    }
}

static enum metric_type type_of(const struct metric_value *v)
{
    return v->kind == METRIC_JSON ? type_of_text(v->json) : METRIC_TYPE_NUMBER;
}

/* ---- adding ------------------------------------------------------------------------------------------------------ */

static void set_last(struct node *node, const struct metric_value *v, int64_t step)
{
    char *text = v->kind == METRIC_JSON ? must_strdup(v->json) : NULL;
    free(node->last);
    node->last = text;
    node->e.last = *v;
    if (text)
        node->e.last.json = text;
    node->e.last_step = step;
}

static void add_node(struct metric_summary *s, const struct metric_summary_entry *e)
{
    struct node *node = must_calloc(1, sizeof(*node));
    node->name = must_strdup(e->name);
    node->e = *e;
    node->e.name = node->name;
    set_last(node, &e->last, e->last_step);
    HASH_ADD_KEYPTR(hh, s->nodes, node->name, strlen(node->name), node);
}

/* NaN becomes the least or the greatest value only if nothing else was reported, which is what fmin and fmax do. */
static void merge_entry(struct metric_summary *s, const struct metric_summary_entry *e)
{
    struct node *node;
    HASH_FIND_STR(s->nodes, e->name, node);
    if (!node) {
        add_node(s, e);
        return;
    }
    if (node->e.type != e->type)
        node->e.type = METRIC_TYPE_STRING;
    node->e.count += e->count;
    node->e.sum += e->sum;
    node->e.min = fmin(node->e.min, e->min);
    node->e.max = fmax(node->e.max, e->max);
    if (e->last_step >= node->e.last_step)
        set_last(node, &e->last, e->last_step);
}

void metric_summary_add(struct metric_summary *s, const char *name, const struct metric_value *v, int64_t step)
{
    double x = 0;
    metric_value_number(v, &x);
    merge_entry(
        s,
        &(struct metric_summary_entry){
            .name = name, .type = type_of(v), .count = 1, .sum = x, .min = x, .max = x, .last = *v, .last_step = step});
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static void add_number(struct strbuf *out, double v)
{
    struct metric_value number = {.kind = METRIC_DOUBLE, .number = v};
    if (isnan(v))
        number.kind = METRIC_NAN;
    else if (isinf(v))
        number.kind = v > 0 ? METRIC_INFINITY : METRIC_MINUS_INFINITY;
    metric_value_print(&number, out);
}

static void print_entry(const struct metric_summary_entry *e, struct strbuf *out)
{
    strbuf_addf(out, "[\"%s\",%lld,", type_name[e->type], (long long)e->count);
    add_number(out, e->sum);
    strbuf_addc(out, ',');
    add_number(out, e->min);
    strbuf_addc(out, ',');
    add_number(out, e->max);
    strbuf_addc(out, ',');
    metric_value_print(&e->last, out);
    strbuf_addf(out, ",%lld]", (long long)e->last_step);
}

static void show_entry(const struct metric_summary_entry *e, struct strbuf *out)
{
    strbuf_addf(out, "{\"count\":%lld", (long long)e->count);
    if (e->type == METRIC_TYPE_NUMBER) {
        strbuf_adds(out, ",\"sum\":");
        add_number(out, e->sum);
        strbuf_adds(out, ",\"min\":");
        add_number(out, e->min);
        strbuf_adds(out, ",\"max\":");
        add_number(out, e->max);
        strbuf_adds(out, ",\"mean\":");
        add_number(out, e->sum / (double)e->count);
    }
    strbuf_adds(out, ",\"last\":");
    metric_value_print(&e->last, out);
    strbuf_addf(out, ",\"type\":\"%s\"}", type_name[e->type]);
}

static void print_each(const struct metric_summary *s, struct strbuf *out,
                       void (*print)(const struct metric_summary_entry *e, struct strbuf *out))
{
    strbuf_addc(out, '{');
    for (const struct node *node = s->nodes; node; node = node->hh.next) {
        if (node != s->nodes)
            strbuf_addc(out, ',');
        strbuf_add_json(out, node->name, strlen(node->name));
        strbuf_addc(out, ':');
        print(&node->e, out);
    }
    strbuf_addc(out, '}');
}

void metric_summary_print(const struct metric_summary *s, struct strbuf *out)
{
    print_each(s, out, print_entry);
}

void metric_summary_show(const struct metric_summary *s, struct strbuf *out)
{
    print_each(s, out, show_entry);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Splits a list into its items, and returns how many there are, up to max. */
static size_t split_list(const char *json, struct arena *a, struct metric_value *ret, size_t max)
{
    struct metric_members m = metric_members_of(json);
    size_t n = 0;
    while (n < max && metric_members_next(&m, a))
        ret[n++] = metric_value_of(m.value, m.value_n, a);
    return n;
}

static int damaged(const char *name, struct error *err)
{
    return error_set(err, ERR_IO, "the summary of metric \"%s\" is damaged in the database", name);
}

static bool type_of_name(const struct metric_value *v, enum metric_type *ret)
{
    for (int t = 0; v->kind == METRIC_JSON && t < METRIC_TYPE_NR; t++) {
        size_t n = strlen(type_name[t]);
        if (v->json[0] == '"' && strncmp(v->json + 1, type_name[t], n) == 0 && v->json[n + 1] == '"') {
            *ret = (enum metric_type)t;
            return true;
        }
    }
    return false;
}

static int read_entry(const char *name, const char *json, struct arena *a, struct metric_summary_entry *ret,
                      struct error *err)
{
    enum { TYPE, COUNT, SUM, MIN, MAX, LAST, LAST_STEP, PARTS };
    struct metric_value part[PARTS];
    struct metric_summary_entry e = {.name = name};
    if (split_list(json, a, part, PARTS) != PARTS || !type_of_name(&part[TYPE], &e.type) ||
        part[COUNT].kind != METRIC_INT || part[LAST_STEP].kind != METRIC_INT ||
        !metric_value_number(&part[SUM], &e.sum) || !metric_value_number(&part[MIN], &e.min) ||
        !metric_value_number(&part[MAX], &e.max))
        return damaged(name, err);
    e.count = part[COUNT].integer;
    e.last = part[LAST];
    e.last_step = part[LAST_STEP].integer;
    *ret = e;
    return 0;
}

int metric_summary_read(struct metric_summary *s, const char *json, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct metric_members m = metric_members_of(json);
    while (metric_members_next(&m, &a)) {
        struct metric_summary_entry e;
        const char *text = arena_strndup(&a, m.value, m.value_n);
        if (read_entry(m.name, text, &a, &e, err) < 0)
            return -1;
        merge_entry(s, &e);
    }
    return 0;
}
