#include "core/searcher/preview.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"
#include "core/searcher/internal.h"

void search_plan_release(struct search_plan *p)
{
    free(p->row);
    free(p->unit);
    *p = (struct search_plan){0};
}

static struct search_plan_row *insert_row(struct search_plan *p, size_t at)
{
    p->row = must_realloc(p->row, (p->n + 1) * sizeof(*p->row));
    memmove(p->row + at + 1, p->row + at, (p->n - at) * sizeof(*p->row));
    p->n++;
    return &p->row[at];
}

void search_plan_add(struct search_plan *p, int64_t trials, int64_t units)
{
    size_t i = 0;
    while (i < p->n && p->row[i].units < units)
        i++;
    if (i < p->n && p->row[i].units == units)
        p->row[i].trials += trials;
    else
        *insert_row(p, i) = (struct search_plan_row){.trials = trials, .units = units};
}

void search_plan_set_whole(struct search_plan *p, int64_t trials)
{
    *insert_row(p, 0) = (struct search_plan_row){.trials = trials, .whole = true};
}

void search_plan_set_unit(struct search_plan *p, const char *unit)
{
    free(p->unit);
    p->unit = must_strdup(unit);
}

void searcher_preview(const struct searcher *s, struct search_plan *ret)
{
    s->type->preview(s->method, ret);
}

/* Reads the configuration and brings it into normal form, as is done when an experiment is created. */
static int read_config(const char *config, size_t n, struct json_object **ret, struct error *err)
{
    cleanup_json struct json_object *parsed = NULL;
    if (expconf_parse(config, n, &parsed, err) < 0 || expconf_check_runnable(parsed, err) < 0)
        return -1;
    if (!json_object_object_get(parsed, "searcher"))
        return error_set(err, ERR_INVALID, "<config>: \"searcher\" must be set");
    expconf_normalize(parsed);
    *ret = expconf_fill(parsed);
    return 0;
}

static int searcher_of(const char *config, size_t n, uint32_t seed, struct strbuf *ret_section, struct searcher **ret,
                       struct error *err)
{
    cleanup_json struct json_object *whole = NULL;
    cleanup_strbuf struct strbuf space = STRBUF_INIT;
    if (read_config(config, n, &whole, err) < 0)
        return -1;
    json_print(json_object_object_get(whole, "searcher"), ret_section);
    json_print(json_object_object_get(whole, "hyperparameters"), &space);
    return searcher_new(ret_section->s, strbuf_str(&space), seed, ret, err);
}

int search_first_seed(const char *config, size_t n, uint32_t experiment_seed, uint32_t *ret, struct error *err)
{
    cleanup_strbuf struct strbuf section = STRBUF_INIT;
    struct searcher_actions actions = SEARCHER_ACTIONS_INIT;
    struct searcher *s;
    if (searcher_of(config, n, experiment_seed, &section, &s, err) < 0)
        return -1;
    int rc = searcher_step(s, &(struct searcher_event){.type = SEARCHER_STARTED}, &actions, err) < 0 ? -1 : 0;
    if (rc == 0 && (actions.n == 0 || actions.item[0].type != SEARCHER_CREATE))
        rc = error_set(err, ERR_PRECONDITION, "the searcher has no trial to begin with");
    if (rc == 0)
        *ret = actions.item[0].trial_seed;
    searcher_actions_release(&actions);
    searcher_free(s);
    return rc;
}

int search_preview(const char *config, size_t n, struct search_plan *ret, struct strbuf *ret_searcher,
                   struct error *err)
{
    cleanup_strbuf struct strbuf section = STRBUF_INIT;
    struct searcher *s;
    if (searcher_of(config, n, /* seed= */ 0, &section, &s, err) < 0)
        return -1;
    *ret = (struct search_plan){0};
    searcher_preview(s, ret);
    strbuf_add(ret_searcher, section.s, section.n);
    searcher_free(s);
    return 0;
}
