/* det trial compare-environments: how the environment of one trial differs from that of another. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/trial/environment.h"
#include "cli/terminal/output.h"
#include "common/base/cleanup.h"

enum { FACTS = 16 };

struct fact {
    const char *name, *value; /* value is NULL or "" if it is not known */
};

struct facts {
    struct fact *fact;
    size_t n;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct fact *)a)->name, ((const struct fact *)b)->name);
}

static void add_fact(struct facts *f, const char *name, const char *value)
{
    f->fact[f->n++] = (struct fact){name, value};
}

static void add_host(struct facts *f, const struct wire_host_environment *host, struct arena *a)
{
    add_fact(f, "host", host->hostname);
    add_fact(f, "image", host->image);
    add_fact(f, "system", host->os);
    add_fact(f, "kernel", host->kernel);
    add_fact(f, "architecture", host->architecture);
    add_fact(f, "processor", host->processor);
    add_fact(f, "memory", arena_printf(a, "%" PRId64 " MiB", host->memory_bytes >> 20));
    add_fact(f, "driver", host->driver);
    add_fact(f, "devices", environment_devices(a, host));
}

static void add_python(struct facts *f, const struct wire_python_environment *python, struct arena *a)
{
    add_fact(f, "interpreter", python->executable);
    add_fact(f, "python", python->version);
    for (size_t i = 0; i < python->packages_n; i++)
        add_fact(f, arena_printf(a, "package %s", python->packages[i].key), python->packages[i].value);
}

/* The first container of the last run for which machine and Python are known, else of the last run. */
static const struct wire_allocation_environment *choose_record(const struct wire_get_trial_environments_response *e)
{
    const struct wire_allocation_environment *best = NULL;
    for (size_t i = 0; i < e->environments_n; i++) {
        const struct wire_allocation_environment *x = &e->environments[i];
        bool more = !best || (x->python && !best->python), as_much = best && !x->python == !best->python;
        if (more || (as_much && x->trial_run_id > best->trial_run_id))
            best = x;
    }
    return best;
}

static int facts_of(struct cli *cli, int64_t trial_id, struct facts *ret, struct error *err)
{
    struct wire_get_trial_environments_response e;
    if (environments_fetch(cli, (int32_t)trial_id, &e, err) < 0)
        return -1;
    const struct wire_allocation_environment *x = choose_record(&e);
    if (!x)
        return error_set(err, ERR_NOT_FOUND,
                         "the environment of trial %" PRId64 " is not recorded: no agent has started it yet", trial_id);
    struct arena *a = &cli->arena;
    *ret = (struct facts){.fact = arena_array(a, struct fact, FACTS + (x->python ? x->python->packages_n : 0))};
    if (x->host)
        add_host(ret, x->host, a);
    if (x->python)
        add_python(ret, x->python, a);
    qsort(ret->fact, ret->n, sizeof(*ret->fact), by_name);
    return 0;
}

typedef void pair_fn(void *ctx, const char *name, const char *first, const char *second);

/* Walks through both sorted lists and calls `pair` for each difference; returns the number of pairs. */
static size_t each_difference(const struct facts *a, const struct facts *b, pair_fn *pair, void *ctx)
{
    size_t found = 0;
    for (size_t i = 0, j = 0; i < a->n || j < b->n;) {
        int order = i == a->n ? 1 : j == b->n ? -1 : strcmp(a->fact[i].name, b->fact[j].name);
        const struct fact *first = order <= 0 ? &a->fact[i++] : NULL, *second = order >= 0 ? &b->fact[j++] : NULL;
        const char *x = first && first->value ? first->value : "", *y = second && second->value ? second->value : "";
        if (strcmp(x, y) == 0)
            continue;
        found++;
        pair(ctx, first ? first->name : second->name, x, y);
    }
    return found;
}

static void to_row(void *ctx, const char *name, const char *first, const char *second)
{
    struct table *t = ctx;
    table_text(t, name);
    table_text(t, first);
    table_text(t, second);
}

static struct json_object *text_or_null(const char *text)
{
    return *text ? json_object_new_string(text) : NULL;
}

static void to_document(void *ctx, const char *name, const char *first, const char *second)
{
    struct json_object *both = json_object_new_array();
    json_object_array_add(both, text_or_null(first));
    json_object_array_add(both, text_or_null(second));
    json_object_object_add(ctx, name, both);
}

int cmd_trial_compare_environments(struct cli *cli, const struct args_trial_compare_environments *args,
                                   struct error *err)
{
    struct facts a, b;
    if (facts_of(cli, args->trial_id, &a, err) < 0 || facts_of(cli, args->other_trial_id, &b, err) < 0)
        return -1;
    if (args->json) {
        cleanup_json struct json_object *differences = json_object_new_object();
        each_difference(&a, &b, to_document, differences);
        output_json(cli, differences);
        return 0;
    }
    cleanup_table struct table t = TABLE_INIT;
    table_column(&t, "Difference");
    table_column(&t, arena_printf(&cli->arena, "Trial %" PRId64, args->trial_id));
    table_column(&t, arena_printf(&cli->arena, "Trial %" PRId64, args->other_trial_id));
    if (each_difference(&a, &b, to_row, &t) || args->csv)
        table_show(cli, &t, args->csv);
    else
        fputs("Both ran in the same environment.\n", cli->out);
    return 0;
}
