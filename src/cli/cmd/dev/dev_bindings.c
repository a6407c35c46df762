/* det dev bindings: lists the functions of the API, and calls one with the arguments of the command line. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/dev/bindings.h"
#include "cli/connection/address.h"
#include "cli/connection/api.h"
#include "cli/suggest.h"
#include "cli/terminal/output.h"
#include "cli/terminal/terminal.h"

int cmd_dev_bindings_list(struct cli *cli, const struct args_dev_bindings_list *args, struct error *err)
{
    struct binding *b;
    size_t n = bindings_list(&cli->arena, args->show_unusable, &b);
    for (size_t i = 0; i < n; i++)
        fprintf(cli->out, "%s\n", binding_signature(&b[i], &cli->arena));
    return 0;
}

/* ---- which binding ----------------------------------------------------------------------------------------------- */

/* Without what is neither letter nor digit, so that "get-experiment" finds get_GetExperiment. */
static const char *letters_of(const char *name, struct arena *a)
{
    char *ret = arena_strdup(a, name), *to = ret;
    for (const char *c = name; *c; c++)
        if (isalnum((unsigned char)*c))
            *to++ = *c;
    *to = '\0';
    return ret;
}

static int pick_from(struct cli *cli, const char *name, struct binding **match, size_t n, const struct binding **ret,
                     struct error *err)
{
    const char *answer;
    char *end;
    for (size_t i = 0; i < n; i++)
        fprintf(cli->err, "%zu: %s\n", i, match[i]->name);
    if (terminal_ask_line(cli, arena_printf(&cli->arena, "Which of these %zu does '%s' mean (a number)? ", n, name),
                          &answer, err) < 0)
        return -1;
    unsigned long i = strtoul(answer, &end, 10);
    if (end == answer || *end || i >= n)
        return error_set(err, ERR_INVALID, "'%s' is none of the numbers 0 to %zu", answer, n - 1);
    *ret = match[i];
    return 0;
}

static int choose(struct cli *cli, const char *name, struct binding **match, size_t n, bool confirmed,
                  const struct binding **ret, struct error *err)
{
    if (n == 0)
        return error_set(err, ERR_USAGE, "no such binding: '%s'; 'det dev bindings list' shows all", name);
    if (n == 1 && confirmed) {
        cli_say(cli, CLI_YELLOW, "Auto picked '%s' for '%s'", match[0]->name, name);
        *ret = match[0];
        return 0;
    }
    if (cli->in_terminal && cli->err_terminal)
        return pick_from(cli, name, match, n, ret, err);
    struct strbuf all = STRBUF_INIT;
    for (size_t i = 0; i < n; i++)
        strbuf_addf(&all, "\n%s", match[i]->name);
    error_set(err, ERR_USAGE, "no binding is called '%s'. Did you mean:%s", name, strbuf_str(&all));
    strbuf_release(&all);
    return -1;
}

/* By its whole name, else by a part of it. */
static int find_binding(struct cli *cli, const struct args_dev_bindings_call *args, const struct binding **ret,
                        struct error *err)
{
    struct binding *b;
    size_t n = bindings_list(&cli->arena, true, &b), match_n = 0;
    struct binding **match = arena_array(&cli->arena, struct binding *, n);
    const char *letters = letters_of(args->name, &cli->arena);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(b[i].name, args->name) == 0) {
            *ret = &b[i];
            return 0;
        }
        if (*letters && (strcasestr(b[i].name, args->name) || strcasestr(letters_of(b[i].name, &cli->arena), letters)))
            match[match_n++] = &b[i];
    }
    return choose(cli, args->name, match, match_n, args->auto_confirm, ret, err);
}

/* ---- its arguments ----------------------------------------------------------------------------------------------- */

/* A call while its arguments are read. */
struct call {
    struct cli *cli;
    const struct binding *binding;
    const struct route *route;
    const char **value; /* by parameter; NULL: not given */
};

static int usage_of(const struct call *c, struct error *err)
{
    return error_set(err, ERR_USAGE, "%s\nUsage: %s", error_msg(err), binding_signature(c->binding, &c->cli->arena));
}

static bool is_named(const char *word)
{
    size_t n = 0;
    while (isalnum((unsigned char)word[n]) || word[n] == '_')
        n++;
    return n > 0 && word[n] == '=';
}

static int find_param(const struct call *c, const char *word, size_t position, size_t *ret, struct error *err)
{
    const struct binding *b = c->binding;
    if (!is_named(word)) {
        *ret = position;
        return position < b->param_n ? 0 : error_set(err, ERR_USAGE, "too many arguments, from '%s' on", word);
    }
    const char *name = arena_strndup(&c->cli->arena, word, strcspn(word, "="));
    struct suggestion near = {.word = name};
    for (size_t i = 0; i < b->param_n; i++) {
        if (strcmp(b->param[i].name, name) == 0) {
            *ret = i;
            return 0;
        }
        suggestion_try(&near, b->param[i].name);
    }
    const char *nearest = suggestion_text(&near, &c->cli->arena);
    return error_set(err, ERR_USAGE, "%s has no parameter '%s'%s%s", b->name, name, *nearest ? "; " : "", nearest);
}

typedef int value_fn(const struct call *c, const struct binding_param *p, const char *value, void *ctx,
                     struct error *err);

/* Calls `each` for the value, or for each element of a list that is written as JSON. */
static int each_value(const struct call *c, const struct binding_param *p, const char *value, value_fn *each, void *ctx,
                      struct error *err)
{
    cleanup_json struct json_object *list = NULL;
    if (!p->list || *value != '[')
        return each(c, p, value, ctx, err);
    if (json_parse(value, strlen(value), &list, err) < 0)
        return error_wrap(err, "%s", p->name);
    for (size_t i = 0; i < json_object_array_length(list); i++) {
        const char *text = json_object_get_string(json_object_array_get_idx(list, i));
        if (each(c, p, text ? text : "", ctx, err) < 0)
            return -1;
    }
    return 0;
}

/* By the type of the field, as the master will do it. ctx: the request. */
static int check_value(const struct call *c, const struct binding_param *p, const char *value, void *ctx,
                       struct error *err)
{
    return codec_bind(c->route->request, ctx, p->dotted, value, &c->cli->arena, err);
}

static int take_value(struct call *c, size_t i, const char *value, void *request, struct error *err)
{
    const struct binding_param *p = &c->binding->param[i];
    cleanup_json struct json_object *body = NULL;
    if (c->value[i])
        return error_set(err, ERR_USAGE, "the parameter '%s' is given twice", p->name);
    c->value[i] = value;
    if (!p->body)
        return each_value(c, p, value, check_value, request, err);
    return json_parse(value, strlen(value), &body, err) < 0 ? error_wrap(err, "body") : 0;
}

static int take_arguments(struct call *c, const struct args_dev_bindings_call *args, struct error *err)
{
    void *request = arena_alloc(&c->cli->arena, c->route->request->size ? c->route->request->size : 1);
    for (size_t at = 0; at < args->args_n; at++) {
        const char *word = args->args[at];
        size_t i = 0;
        if (find_param(c, word, at, &i, err) < 0 ||
            take_value(c, i, is_named(word) ? strchr(word, '=') + 1 : word, request, err) < 0)
            return -1;
    }
    for (size_t i = 0; i < c->binding->param_n; i++)
        if (c->binding->param[i].required && !c->value[i])
            return error_set(err, ERR_USAGE, "%s needs the parameter '%s'", c->binding->name,
                             c->binding->param[i].name);
    return 0;
}

/* ---- the call ---------------------------------------------------------------------------------------------------- */

static const char *path_value(const struct call *c, const char *dotted)
{
    for (size_t i = 0; i < c->binding->param_n; i++)
        if (c->binding->param[i].in_path && strcmp(c->binding->param[i].dotted, dotted) == 0)
            return address_escape(c->value[i], &c->cli->arena);
    return "";
}

static int add_query(const struct call *c, const struct binding_param *p, const char *value, void *ctx,
                     struct error *err)
{
    struct strbuf *url = ctx;
    strbuf_addf(url, "%c%s=%s", strchr(url->s, '?') ? '&' : '?', p->dotted, address_escape(value, &c->cli->arena));
    return 0;
}

static int make_url(const struct call *c, struct strbuf *url, struct error *err)
{
    strbuf_adds(url, c->cli->master);
    for (size_t i = 0; i < c->route->segment_n; i++) {
        const struct route_segment *s = &c->route->segment[i];
        strbuf_addf(url, "/%s", s->literal ? s->literal : path_value(c, s->param));
    }
    for (size_t i = 0; i < c->binding->param_n; i++) {
        const struct binding_param *p = &c->binding->param[i];
        if (c->value[i] && !p->in_path && !p->body && each_value(c, p, c->value[i], add_query, url, err) < 0)
            return -1;
    }
    return 0;
}

static const char *body_of(const struct call *c)
{
    for (size_t i = 0; i < c->binding->param_n; i++)
        if (c->binding->param[i].body)
            return c->value[i];
    return NULL;
}

static int print_record(struct json_object *record, void *ctx, struct error *err)
{
    struct cli *cli = ctx;
    output_record(cli, record);
    fflush(cli->out);
    return 0;
}

static int carry_out(const struct call *c, struct error *err)
{
    cleanup_strbuf struct strbuf url = STRBUF_INIT;
    cleanup_json struct json_object *reply = NULL;
    const char *body = body_of(c);
    bool dropped;
    if (make_url(c, &url, err) < 0)
        return -1;
    if (c->route->stream)
        return api_stream_url(c->cli, c->binding->id, url.s, body, print_record, c->cli, &dropped, err);
    if (api_call_url(c->cli, c->binding->id, url.s, body, &reply, err) < 0)
        return -1;
    if (c->route->response->field_n)
        output_json(c->cli, reply);
    return 0;
}

int cmd_dev_bindings_call(struct cli *cli, const struct args_dev_bindings_call *args, struct error *err)
{
    struct call c = {.cli = cli};
    if (find_binding(cli, args, &c.binding, err) < 0)
        return -1;
    c.route = &routes[c.binding->id];
    c.value = arena_array(&cli->arena, const char *, c.binding->param_n + 1);
    return take_arguments(&c, args, err) < 0 ? usage_of(&c, err) : carry_out(&c, err);
}
