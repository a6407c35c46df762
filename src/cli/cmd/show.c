#include "cli/cmd/show.h"

#include "cli/terminal/output.h"
#include "common/base/clock.h"
#include "gen/experiment_config.h"

int option_time(const char *option, const char *text, int64_t *ret, bool *ret_has, struct error *err)
{
    *ret_has = text != NULL;
    if (text && clock_parse(text, strlen(text), ret) < 0)
        return error_set(err, ERR_USAGE, "%s is \"%s\"; a time has the form 2026-11-21T07:12:01Z (RFC 3339)", option,
                         text);
    return 0;
}

/* ---- hyperparameters and metrics --------------------------------------------------------------------------------- */

static void add_value(struct strbuf *b, struct json_object *v)
{
    struct json_object *text = NULL;
    switch (json_object_get_type(v)) {
    case json_type_double:
        strbuf_addf(b, "%.6g", json_object_get_double(v));
        break;
    case json_type_string:
        strbuf_adds(b, json_object_get_string(v));
        break;
    case json_type_null:
        strbuf_adds(b, "null");
        break;
    default:
        text = json_object_get(v);
        strbuf_adds(b, json_object_to_json_string_ext(text, JSON_C_TO_STRING_PLAIN));
        json_object_put(text);
    }
}

static void add_object(struct strbuf *b, struct json_object *v, const char *prefix)
{
    json_object_object_foreach(v, key, value)
    {
        struct strbuf name = STRBUF_INIT;
        strbuf_addf(&name, "%s%s%s", prefix, *prefix ? "." : "", key);
        if (json_object_is_type(value, json_type_object) && json_object_object_length(value)) {
            add_object(b, value, strbuf_str(&name));
        } else {
            strbuf_addf(b, "%s%s=", b->n ? ", " : "", strbuf_str(&name));
            add_value(b, value);
        }
        strbuf_release(&name);
    }
}

const char *brief_object(struct arena *a, const char *json)
{
    cleanup_json struct json_object *v = NULL;
    struct strbuf b = STRBUF_INIT;
    if (!json || json_parse(json, strlen(json), &v, NULL) < 0 || !json_object_is_type(v, json_type_object))
        return json;
    add_object(&b, v, "");
    const char *ret = arena_strdup(a, strbuf_str(&b));
    strbuf_release(&b);
    return ret;
}

void table_object(struct table *t, const char *json)
{
    const char *brief = brief_object(&t->arena, json);
    table_brief(t, output_dumps_raw(&t->arena, json), brief ? brief : "");
}

/* ---- values as Python prints them -------------------------------------------------------------------------------- */

static void add_python(struct strbuf *b, struct json_object *v, bool quoted)
{
    const char *between = "";
    switch (json_object_get_type(v)) {
    case json_type_null:
        strbuf_adds(b, "None");
        break;
    case json_type_boolean:
        strbuf_adds(b, json_object_get_boolean(v) ? "True" : "False");
        break;
    case json_type_string:
        strbuf_addf(b, quoted ? "'%s'" : "%s", json_object_get_string(v));
        break;
    case json_type_array:
        strbuf_addc(b, '[');
        for (size_t i = 0; i < json_object_array_length(v); i++, between = ", ") {
            strbuf_adds(b, between);
            add_python(b, json_object_array_get_idx(v, i), true);
        }
        strbuf_addc(b, ']');
        break;
    case json_type_object:
        strbuf_addc(b, '{');
        json_object_object_foreach(v, key, value)
        {
            strbuf_addf(b, "%s'%s': ", between, key);
            add_python(b, value, true);
            between = ", ";
        }
        strbuf_addc(b, '}');
        break;
    default:
        strbuf_adds(b, json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN));
    }
}

const char *python_text(struct arena *a, struct json_object *v)
{
    struct strbuf b = STRBUF_INIT;
    if (!v)
        return NULL;
    add_python(&b, v, false);
    const char *ret = arena_strdup(a, strbuf_str(&b));
    strbuf_release(&b);
    return ret;
}

void table_values(struct table *t, struct json_object *object, const char *const *key, const char *absent)
{
    for (; *key; key++) {
        const char *text = python_text(&t->arena, json_object_object_get(object, *key));
        table_text(t, text ? text : absent);
    }
}

/* ---- metrics ----------------------------------------------------------------------------------------------------- */

int searched_metric_read(struct arena *a, const struct wire_get_experiment_response *out, struct searched_metric *ret,
                         struct error *err)
{
    cleanup_json struct json_object *config = NULL;
    struct json_object *section;
    struct exp_searcher searcher;
    const char *text = out->config ? out->config : out->experiment->config ? out->experiment->config : "{}";
    *ret = (struct searched_metric){.name = "", .smaller_is_better = exp_searcher_defaults.smaller_is_better};
    if (json_parse(text, strlen(text), &config, err) < 0)
        return -1;
    if (!json_object_is_type(config, json_type_object) || !json_object_object_get_ex(config, "searcher", &section))
        return 0;
    exp_searcher_read(section, a, &searcher);
    if (searcher.metric)
        ret->name = arena_strdup(a, searcher.metric);
    ret->smaller_is_better = searcher.smaller_is_better;
    return 0;
}

int searched_metric_fetch(struct cli *cli, int32_t experiment_id, struct searched_metric *ret, struct error *err)
{
    struct wire_get_experiment_request in = {.experiment_id = experiment_id};
    struct wire_get_experiment_response out;
    if (api_call(cli, ROUTE_ID_GET_EXPERIMENT, &in, &out, err) < 0)
        return -1;
    return searched_metric_read(&cli->arena, &out, ret, err);
}

const char *metric_text(struct arena *a, const struct wire_common_metrics *m, const char *name)
{
    cleanup_json struct json_object *averages = NULL;
    const char *text = m ? m->avg_metrics : NULL;
    struct json_object *v;
    struct strbuf b = STRBUF_INIT;
    if (!text || json_parse(text, strlen(text), &averages, NULL) < 0 ||
        !json_object_is_type(averages, json_type_object) || !json_object_object_get_ex(averages, name, &v) || !v)
        return NULL;
    add_value(&b, v);
    const char *ret = arena_strdup(a, strbuf_str(&b));
    strbuf_release(&b);
    return ret;
}

/* ---- documents --------------------------------------------------------------------------------------------------- */

int document_show(struct cli *cli, enum route_id id, const void *request, const char *key, struct error *err)
{
    cleanup_json struct json_object *document = NULL;
    if (api_call_document(cli, id, request, &document, err) < 0)
        return -1;
    output_json(cli, json_object_object_get(document, key));
    return 0;
}

static bool document_is_last(struct json_object *document, const char *pages, int32_t *ret_next)
{
    struct json_object *p, *end, *total;
    if (!json_object_object_get_ex(document, "pagination", &p) || !json_object_object_get_ex(p, "endIndex", &end) ||
        !json_object_object_get_ex(p, "total", &total))
        return true;
    *ret_next = json_object_get_int(end);
    return strcmp(pages, "1") == 0 || json_object_get_int(end) >= json_object_get_int(total);
}

int documents_fetch(struct cli *cli, enum route_id id, const void *request, int32_t *offset, const char *key,
                    const char *pages, struct json_object **ret_list, struct error *err)
{
    struct json_object *list = json_object_new_array();
    for (bool last = false; !last;) {
        cleanup_json struct json_object *document = NULL;
        struct json_object *items;
        if (api_call_document(cli, id, request, &document, err) < 0) {
            json_object_put(list);
            return -1;
        }
        size_t n = json_object_object_get_ex(document, key, &items) && items ? json_object_array_length(items) : 0;
        for (size_t i = 0; i < n; i++)
            json_object_array_add(list, json_object_get(json_object_array_get_idx(items, i)));
        last = document_is_last(document, pages, offset) || n == 0;
    }
    *ret_list = list;
    return 0;
}

int document_of_pages(struct cli *cli, enum route_id id, const void *request, int32_t *offset, const char *key,
                      const char *pages, struct json_object **ret, struct error *err)
{
    cleanup_json struct json_object *first = NULL;
    struct json_object *list = NULL;
    if (api_call_document(cli, id, request, &first, err) < 0)
        return -1;
    bool last = document_is_last(first, pages, offset) || !json_object_object_get_ex(first, key, &list) || !list;
    if (!last) {
        struct json_object *more;
        if (documents_fetch(cli, id, request, offset, key, pages, &more, err) < 0)
            return -1;
        for (size_t i = 0; i < json_object_array_length(more); i++)
            json_object_array_add(list, json_object_get(json_object_array_get_idx(more, i)));
        json_object_put(more);
    }
    *ret = json_object_get(first);
    return 0;
}
