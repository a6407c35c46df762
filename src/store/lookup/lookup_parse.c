/* Parses the texts of a lookup into its tree. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/base/clock.h"
#include "common/json/json.h"
#include "store/lookup/lookup_internal.h"

enum { DEPTH_MAX = 10, GROUPS_MAX = 50, ARGS_MAX = 90 };

struct parsing {
    enum lookup_kind kind;
    struct arena *a;
    int group_n, arg_n;
    char path[256]; /* the path of the node that is being parsed, such as "filter.filterGroup.children[0]" */
};

static int wrong_filter(const struct parsing *p, struct error *err, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static int wrong_filter(const struct parsing *p, struct error *err, const char *fmt, ...)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    strbuf_vaddf(&text, fmt, ap);
    va_end(ap);
    return error_set(err, ERR_INVALID, "%s: %s", p->path, strbuf_str(&text));
}

/* Finds a member by its key, without regard to case. */
static struct json_object *read_member(struct json_object *o, const char *name)
{
    struct json_object *found = json_object_object_get(o, name);
    if (found)
        return found;
    json_object_object_foreach(o, key, v)
    {
        if (strcasecmp(key, name) == 0)
            return v;
    }
    return NULL;
}

static const char *member_text(struct json_object *o, const char *name)
{
    struct json_object *v = read_member(o, name);
    return json_object_is_type(v, json_type_string) ? json_object_get_string(v) : NULL;
}

/* ---- one condition ----------------------------------------------------------------------------------------------- */

static const char *const operator_names[LOOKUP_OPERATOR_NR] = {[LOOKUP_EQUAL] = "=",
                                                               [LOOKUP_NOT_EQUAL] = "!=",
                                                               [LOOKUP_LESS] = "<",
                                                               [LOOKUP_LESS_EQUAL] = "<=",
                                                               [LOOKUP_GREATER] = ">",
                                                               [LOOKUP_GREATER_EQUAL] = ">=",
                                                               [LOOKUP_CONTAINS] = "contains",
                                                               [LOOKUP_NOT_CONTAINS] = "notContains",
                                                               [LOOKUP_IS_EMPTY] = "isEmpty",
                                                               [LOOKUP_NOT_EMPTY] = "notEmpty"};

static int parse_operator(const struct parsing *p, struct json_object *o, enum lookup_operator *ret, struct error *err)
{
    const char *text = member_text(o, "operator");
    for (int i = 0; text && i < LOOKUP_OPERATOR_NR; i++) {
        if (strcmp(text, operator_names[i]) == 0) {
            *ret = (enum lookup_operator)i;
            return 0;
        }
    }
    return wrong_filter(p, err,
                        "operator is %s%s%s; it must be one of = != < <= > >= contains notContains isEmpty notEmpty",
                        text ? "\"" : "", text ? text : "missing", text ? "\"" : "");
}

#define BIT(op) (1u << (op))
#define EMPTINESS (BIT(LOOKUP_IS_EMPTY) | BIT(LOOKUP_NOT_EMPTY))
#define EQUALITY (BIT(LOOKUP_EQUAL) | BIT(LOOKUP_NOT_EQUAL))
#define ORDER (BIT(LOOKUP_LESS) | BIT(LOOKUP_LESS_EQUAL) | BIT(LOOKUP_GREATER) | BIT(LOOKUP_GREATER_EQUAL))
#define CONTAINING (BIT(LOOKUP_CONTAINS) | BIT(LOOKUP_NOT_CONTAINS))

static const struct {
    unsigned operators;
    const char *words;
} allowed[] = {
    [LOOKUP_NUMBER] = {EMPTINESS | EQUALITY | ORDER, "= != < <= > >= isEmpty notEmpty"},
    [LOOKUP_TEXT] = {EMPTINESS | EQUALITY | CONTAINING, "= != contains notContains isEmpty notEmpty"},
    [LOOKUP_TIME] = {EMPTINESS | EQUALITY | ORDER, "= != < <= > >= isEmpty notEmpty"},
    [LOOKUP_STATE] = {EMPTINESS | EQUALITY, "= != isEmpty notEmpty"},
    [LOOKUP_USER] = {EMPTINESS | EQUALITY | CONTAINING, "= != contains notContains isEmpty notEmpty"},
    [LOOKUP_LABELS] = {EMPTINESS | EQUALITY | CONTAINING, "= != contains notContains isEmpty notEmpty"},
    [LOOKUP_TRUTH] = {EMPTINESS | EQUALITY, "= != isEmpty notEmpty"},
    [LOOKUP_HPARAM] = {EMPTINESS | EQUALITY | ORDER | CONTAINING, ""},
    [LOOKUP_METADATA] = {EMPTINESS | EQUALITY | ORDER | CONTAINING, ""},
    [LOOKUP_METRIC] = {EMPTINESS | EQUALITY | ORDER | CONTAINING, ""},
};

static bool number_of(struct json_object *v, double *ret)
{
    if (json_object_is_type(v, json_type_int) || json_object_is_type(v, json_type_double)) {
        *ret = json_object_get_double(v);
        return true;
    }
    if (!json_object_is_type(v, json_type_string) || json_object_get_string_len(v) == 0)
        return false;
    char *end;
    *ret = strtod(json_object_get_string(v), &end);
    return !*end && isfinite(*ret);
}

static int need_number(const struct parsing *p, struct json_object *v, struct lookup_node *n, struct error *err)
{
    if (!number_of(v, &n->number))
        return wrong_filter(p, err, "the value of \"%s\" must be a number, found %s", n->operand.column->name,
                            json_object_to_json_string(v));
    n->has_number = true;
    return 0;
}

/* A day stands for its first moment. */
static int need_time(const struct parsing *p, struct json_object *v, struct lookup_node *n, struct error *err)
{
    const char *text = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
    const char *whole = strlen(text) == strlen("2026-01-31") ? arena_printf(p->a, "%sT00:00:00Z", text) : text;
    int64_t us;
    if (clock_parse(whole, strlen(whole), &us) < 0)
        return wrong_filter(p, err,
                            "the value of \"%s\" must be a time such as \"2026-01-31T12:00:00Z\" or a day such as "
                            "\"2026-01-31\", found %s",
                            n->operand.column->name, json_object_to_json_string(v));
    n->number = (double)us;
    n->has_number = true;
    return 0;
}

static int need_text(const struct parsing *p, struct json_object *v, struct lookup_node *n, struct error *err)
{
    if (!json_object_is_type(v, json_type_string) && !json_object_is_type(v, json_type_int) &&
        !json_object_is_type(v, json_type_double) && !json_object_is_type(v, json_type_boolean))
        return wrong_filter(p, err, "the value of \"%s\" must be a text, found %s", n->operand.column->name,
                            json_object_to_json_string(v));
    n->text = arena_strdup(p->a, json_object_get_string(v));
    return 0;
}

static int need_state(const struct parsing *p, struct json_object *v, struct lookup_node *n, struct error *err)
{
    const char *text = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
    enum run_state state;
    text = strncmp(text, "STATE_", 6) == 0 ? text + 6 : text;
    if (run_state_parse(text, &state) < 0)
        return wrong_filter(p, err,
                            "there is no state %s (states: ACTIVE, PAUSED, STOPPING_CANCELED, STOPPING_KILLED, "
                            "STOPPING_COMPLETED, STOPPING_ERROR, CANCELED, COMPLETED, ERROR, DELETING, DELETE_FAILED)",
                            json_object_to_json_string(v));
    n->text = run_state_name(state);
    return 0;
}

static int need_truth(const struct parsing *p, struct json_object *v, struct lookup_node *n, struct error *err)
{
    const char *text = json_object_is_type(v, json_type_string) ? json_object_get_string(v) : "";
    bool is_true = strcasecmp(text, "true") == 0, is_false = strcasecmp(text, "false") == 0;
    if (json_object_is_type(v, json_type_boolean))
        is_true = json_object_get_boolean(v), is_false = !is_true;
    if (!is_true && !is_false)
        return wrong_filter(p, err, "the value of \"%s\" must be true or false, found %s", n->operand.column->name,
                            json_object_to_json_string(v));
    n->number = is_true;
    n->has_number = true;
    return 0;
}

/* Reads a number or a text, in the form in which it was written. If a text looks like a number, the type that the
 * filter names for the column decides. */
static int need_number_or_text(const struct parsing *p, struct json_object *o, struct json_object *v,
                               struct lookup_node *n, struct error *err)
{
    const char *type = member_text(o, "type");
    bool is_text = json_object_is_type(v, json_type_string) && !(type && strcmp(type, "COLUMN_TYPE_NUMBER") == 0);
    if (BIT(n->op) & ORDER)
        return need_number(p, v, n, err);
    if ((BIT(n->op) & CONTAINING) || is_text || json_object_is_type(v, json_type_boolean))
        return need_text(p, v, n, err);
    return need_number(p, v, n, err);
}

static int parse_value(const struct parsing *p, struct json_object *o, struct lookup_node *n, struct error *err)
{
    struct json_object *v = read_member(o, "value");
    switch (n->operand.column->type) {
    case LOOKUP_NUMBER:
        return need_number(p, v, n, err);
    case LOOKUP_TIME:
        return need_time(p, v, n, err);
    case LOOKUP_STATE:
        return need_state(p, v, n, err);
    case LOOKUP_TRUTH:
        return need_truth(p, v, n, err);
    case LOOKUP_USER:
        return (BIT(n->op) & EQUALITY) && json_object_is_type(v, json_type_int) ? need_number(p, v, n, err)
                                                                                : need_text(p, v, n, err);
    case LOOKUP_TEXT:
    case LOOKUP_LABELS:
        return need_text(p, v, n, err);
    case LOOKUP_HPARAM:
    case LOOKUP_METADATA:
    case LOOKUP_METRIC:
        break;
    }
    return need_number_or_text(p, o, v, n, err);
}

static int parse_field(struct parsing *p, struct json_object *o, struct lookup_node *n, struct error *err)
{
    const char *name = member_text(o, "columnName");
    if (!name || !*name)
        return wrong_filter(p, err, "columnName is missing");
    if (lookup_operand_parse(p->kind, name, member_text(o, "location"), p->a, &n->operand, err) < 0)
        return error_wrap(err, "%s", p->path);
    const struct lookup_column *column = n->operand.column;
    if (column->only_sort)
        return wrong_filter(p, err, "\"%s\" is for sorting only", name);
    if (parse_operator(p, o, &n->op, err) < 0)
        return -1;
    if (!(allowed[column->type].operators & BIT(n->op)))
        return wrong_filter(p, err, "\"%s\" cannot be compared with %s; allowed are %s", name, operator_names[n->op],
                            allowed[column->type].words);
    p->arg_n += column->type >= LOOKUP_HPARAM ? 4 : 2;
    if (p->arg_n > ARGS_MAX)
        return wrong_filter(p, err, "the filter has too many conditions; some %d are allowed", ARGS_MAX / 4);
    return BIT(n->op) & EMPTINESS ? 0 : parse_value(p, o, n, err);
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static int parse_node(struct parsing *p, struct json_object *o, int depth, struct lookup_node *ret, struct error *err);

static int parse_children(struct parsing *p, struct json_object *list, int depth, struct lookup_node *n,
                          struct error *err)
{
    size_t length = strlen(p->path), count = list ? json_object_array_length(list) : 0;
    n->child = arena_array(p->a, struct lookup_node, count + 1);
    n->child_n = count;
    for (size_t i = 0; i < count; i++) {
        snprintf(p->path + length, sizeof(p->path) - length, ".children[%zu]", i);
        if (parse_node(p, json_object_array_get_idx(list, i), depth + 1, &n->child[i], err) < 0)
            return -1;
    }
    p->path[length] = '\0';
    return 0;
}

static int parse_group(struct parsing *p, struct json_object *o, int depth, struct lookup_node *n, struct error *err)
{
    const char *conjunction = member_text(o, "conjunction");
    struct json_object *children = read_member(o, "children");
    if (depth > DEPTH_MAX)
        return wrong_filter(p, err, "groups may lie %d deep at most", DEPTH_MAX);
    if (++p->group_n > GROUPS_MAX)
        return wrong_filter(p, err, "the filter has more than %d groups", GROUPS_MAX);
    if (!conjunction || (strcmp(conjunction, "and") != 0 && strcmp(conjunction, "or") != 0))
        return wrong_filter(p, err, "conjunction must be \"and\" or \"or\"");
    if (children && !json_object_is_type(children, json_type_array))
        return wrong_filter(p, err, "children must be a list");
    n->is_group = true;
    n->any = strcmp(conjunction, "or") == 0;
    return parse_children(p, children, depth, n, err);
}

static int parse_node(struct parsing *p, struct json_object *o, int depth, struct lookup_node *ret, struct error *err)
{
    *ret = (struct lookup_node){0};
    if (!json_object_is_type(o, json_type_object))
        return wrong_filter(p, err, "an object is expected");
    const char *kind = member_text(o, "kind");
    if (kind && strcmp(kind, "group") == 0)
        return parse_group(p, o, depth, ret, err);
    if (kind && strcmp(kind, "field") == 0)
        return parse_field(p, o, ret, err);
    return wrong_filter(p, err, "kind must be \"group\" or \"field\"");
}

static int parse_filter(struct parsing *p, const char *text, struct lookup *s, struct error *err)
{
    cleanup_json struct json_object *root = NULL;
    if (json_parse(text, strlen(text), &root, err) < 0)
        return error_wrap(err, "filter is no JSON");
    if (!json_object_is_type(root, json_type_object))
        return error_set(err, ERR_INVALID, "filter must be an object with filterGroup and showArchived");
    struct json_object *group = read_member(root, "filterGroup");
    s->has_filter = true;
    s->show_archived = json_object_get_boolean(read_member(root, "showArchived"));
    if (!group)
        return 0;
    snprintf(p->path, sizeof(p->path), "filter.filterGroup");
    return parse_node(p, group, 1, &s->root, err);
}

/* ---- sorts ------------------------------------------------------------------------------------------------------- */

static int parse_sort(const struct parsing *p, char *one, struct lookup *s, bool *ret_id, struct error *err)
{
    char *direction = strrchr(one, '=');
    if (!direction)
        return error_set(err, ERR_INVALID, "sort: \"%s\" is not of the form COLUMN=asc or COLUMN=desc", one);
    *direction++ = '\0';
    bool ascending = strcmp(direction, "asc") == 0;
    if (!ascending && strcmp(direction, "desc") != 0)
        return error_set(err, ERR_INVALID, "sort: the direction of \"%s\" is \"%s\", it must be asc or desc", one,
                         direction);
    if (s->sort_n == LOOKUP_SORTS_MAX)
        return error_set(err, ERR_INVALID, "sort: at most %d columns are allowed", LOOKUP_SORTS_MAX);
    struct lookup_sort *sort = &s->sort[s->sort_n];
    if (lookup_operand_parse(p->kind, one, NULL, p->a, &sort->operand, err) < 0)
        return error_wrap(err, "sort");
    sort->descending = !ascending;
    s->sort_n++;
    *ret_id |= strcmp(one, "id") == 0;
    return 0;
}

static int parse_sorts(struct parsing *p, const char *text, struct lookup *s, struct error *err)
{
    bool has_id = false;
    char *rest = arena_strdup(p->a, text);
    for (char *one; (one = strsep(&rest, ","));)
        if (*one && parse_sort(p, one, s, &has_id, err) < 0)
            return -1;
    if (!has_id)
        s->sort[s->sort_n++].operand.column = lookup_column_find(p->kind, "id", NULL);
    return 0;
}

int lookup_parse(enum lookup_kind kind, const char *filter, const char *sort, int64_t now_us, struct arena *a,
                 struct lookup **ret, struct error *err)
{
    struct parsing p = {.kind = kind, .a = a};
    struct lookup *s = arena_new(a, struct lookup);
    *s = (struct lookup){.kind = kind, .root = {.is_group = true}, .show_archived = true, .now_us = now_us};
    if ((filter && *filter && parse_filter(&p, filter, s, err) < 0) || parse_sorts(&p, sort ? sort : "", s, err) < 0)
        return -1;
    *ret = s;
    return 0;
}
