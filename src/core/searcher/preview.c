#include "core/searcher/preview.h"

#include <stdlib.h>
#include <string.h>

#include "core/searcher/books.h"

void search_plan_release(struct search_plan *p)
{
    free(p->row);
    free(p->unit);
    *p = (struct search_plan){0};
}

static struct search_plan_row *insert(struct search_plan *p, size_t at)
{
    p->row = realloc(p->row, (p->n + 1) * sizeof *p->row);
    if (p->row == NULL)
        abort();
    memmove(p->row + at + 1, p->row + at, (p->n - at) * sizeof *p->row);
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
        *insert(p, i) = (struct search_plan_row){.trials = trials, .units = units};
}

void search_plan_set_whole(struct search_plan *p, int64_t trials)
{
    *insert(p, 0) = (struct search_plan_row){.trials = trials, .whole = true};
}

void search_plan_set_unit(struct search_plan *p, const char *unit)
{
    free(p->unit);
    if ((p->unit = strdup(unit)) == NULL)
        abort();
}

void searcher_preview(const struct searcher *s, struct search_plan *ret)
{
    s->type->preview(s->method, ret);
}

/* Normal form, which a preview shares with an experiment that is created. */
static int read_config(const char *config, size_t n, struct json_object **ret, struct error *err)
{
    cleanup_json struct json_object *parsed = NULL;
    if (expconf_parse(config, n, &parsed, err) < 0 || expconf_check_runnable(parsed, err) < 0)
        return -1;
    if (json_object_object_get(parsed, "searcher") == NULL)
        return error_set(err, ERR_INVALID, "<config>: \"searcher\" must be set");
    expconf_normalize(parsed);
    *ret = expconf_fill(parsed);
    return 0;
}

int search_preview(const char *config, size_t n, struct search_plan *ret, struct strbuf *ret_searcher,
                   struct error *err)
{
    cleanup_json struct json_object *whole = NULL;
    cleanup_strbuf struct strbuf section = STRBUF_INIT, space = STRBUF_INIT;
    struct searcher *s;
    if (read_config(config, n, &whole, err) < 0)
        return -1;
    json_print(json_object_object_get(whole, "searcher"), &section);
    json_print(json_object_object_get(whole, "hyperparameters"), &space);
    if (searcher_new(section.s, space.s, /* seed= */ 0, &s, err) < 0)
        return -1;
    *ret = (struct search_plan){0};
    searcher_preview(s, ret);
    strbuf_add(ret_searcher, section.s, section.n);
    searcher_free(s);
    return 0;
}
