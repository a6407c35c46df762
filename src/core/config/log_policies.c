#include "core/config/log_policies.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/utf8.h"

enum { MATCH_LIMIT = 20000, DEPTH_LIMIT = 1000, HEAP_LIMIT_KIB = 1024 };

struct compiled {
    struct log_policy policy;
    pcre2_code *code;
    pcre2_match_data *match;
};

struct log_policies {
    struct compiled *item;
    size_t n;
    pcre2_match_context *limits;
};

/* Compiles a pattern. A ".*" at its beginning is left out: the same lines match without it, and matching is faster. */
static pcre2_code *compile(const char *pattern, struct error *err)
{
    int code;
    PCRE2_SIZE offset;
    const char *start = strncmp(pattern, ".*", 2) == 0 && pattern[2] && !strchr("?+", pattern[2]) ? pattern + 2
                                                                                                  : pattern;
    pcre2_code *re = pcre2_compile((PCRE2_SPTR)start, PCRE2_ZERO_TERMINATED,
                                   PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, &code, &offset, NULL);
    if (!re) {
        char text[128];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof(text));
        error_set(err, ERR_INVALID, "\"%s\" is no regular expression: %s at character %zu", pattern, text,
                  (size_t)offset + (size_t)(start - pattern) + 1);
    }
    return re;
}

int log_policy_check_pattern(const char *pattern, struct error *err)
{
    pcre2_code *re = compile(pattern, err);
    pcre2_code_free(re);
    return re ? 0 : -1;
}

static enum log_policy_action action_of(const char *text)
{
    if (text && strcmp(text, "cancel_retries") == 0)
        return LOG_POLICY_CANCEL_RETRIES;
    return text && strcmp(text, "exclude_node") == 0 ? LOG_POLICY_EXCLUDE_NODE : LOG_POLICY_NONE;
}

static char *copy(const char *text)
{
    return text ? must_strdup(text) : NULL;
}

static void add(struct log_policies *p, const struct exp_log_policy *v)
{
    pcre2_code *re = v->pattern ? compile(v->pattern, NULL) : NULL;
    if (!re)
        return;
    pcre2_jit_compile(re, PCRE2_JIT_COMPLETE); /* if this fails, PCRE2 interprets the pattern */
    struct compiled *c = &p->item[p->n++];
    *c = (struct compiled){.policy = {.name = copy(v->name),
                                      .pattern = copy(v->pattern),
                                      .action = action_of(v->action)},
                           .code = re,
                           .match = must(pcre2_match_data_create(1, NULL))};
}

struct log_policies *log_policies_new(const struct exp_log_policy *list, size_t n)
{
    struct log_policies *p = must_calloc(1, sizeof(*p));
    p->item = must_calloc(n + 1, sizeof(*p->item));
    p->limits = must(pcre2_match_context_create(NULL));
    pcre2_set_match_limit(p->limits, MATCH_LIMIT);
    pcre2_set_depth_limit(p->limits, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->limits, HEAP_LIMIT_KIB);
    for (size_t i = 0; i < n; i++)
        add(p, &list[i]);
    return p;
}

void log_policies_free(struct log_policies *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->n; i++) {
        free((char *)p->item[i].policy.name);
        free((char *)p->item[i].policy.pattern);
        pcre2_match_data_free(p->item[i].match);
        pcre2_code_free(p->item[i].code);
    }
    pcre2_match_context_free(p->limits);
    free(p->item);
    free(p);
}

size_t log_policies_n(const struct log_policies *p)
{
    return p->n;
}
struct log_policy *log_policies_get(struct log_policies *p, size_t i)
{
    return &p->item[i].policy;
}

bool log_policies_scan(struct log_policies *p, const char *text, size_t n)
{
    bool found = false;
    cleanup_free char *with_zeros = p->n ? utf8_with_zeros(text, n, &n) : NULL;
    const char *shown = with_zeros ? with_zeros : text;
    for (size_t i = 0; i < p->n; i++) {
        struct compiled *c = &p->item[i];
        if (c->policy.matched || c->policy.gave_up)
            continue;
        int rc = pcre2_match(c->code, (PCRE2_SPTR)shown, n, 0, 0, c->match, p->limits);
        c->policy.matched = rc >= 0;
        c->policy.gave_up = rc < 0 && rc != PCRE2_ERROR_NOMATCH;
        found |= c->policy.matched;
    }
    return found;
}
