#define PCRE2_CODE_UNIT_WIDTH 8

#include "store/log_regex.h"

#include <ctype.h>
#include <pcre2.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/strbuf.h"
#include "store/log_find.h"

enum {
    REGEX_MATCH_LIMIT = 100000,
    REGEX_DEPTH_LIMIT = 1000,
    REGEX_HEAP_LIMIT_KIB = 4096,
};

struct log_regex {
    char *pattern;
    struct arena arena;
    const char *literal;
    size_t literal_n;
    pcre2_code *code;
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

/* ---- what must be there ---- */

struct scan {
    const char *p;
    struct strbuf run, best;
    int depth;  /* of groups */
    bool give_up;
};

static void end_run(struct scan *s)
{
    if (s->run.n > s->best.n) {
        strbuf_reset(&s->best);
        strbuf_add(&s->best, s->run.s, s->run.n);
    }
    strbuf_reset(&s->run);
}

/* The last character may be missing: it goes, with all its bytes. */
static void drop_last(struct scan *s)
{
    size_t n = s->run.n;
    while (n > 0 && ((unsigned char)s->run.s[n - 1] & 0xc0) == 0x80)
        n--;
    strbuf_truncate(&s->run, n > 0 ? n - 1 : 0);
    end_run(s);
}

/* "{2}", "{2,}", "{,3}": how long it is, 0 if it is no repetition but a brace. */
static size_t repetition(const char *p)
{
    size_t n = 1 + strspn(p + 1, "0123456789, ");
    return p[n] == '}' && n > 1 ? n + 1 : 0;
}

/* From '[' to behind its ']', which may be the first character within. */
static const char *skip_class(const char *p)
{
    p += p[1] == '^' ? 2 : 1;
    if (*p == ']')
        p++;
    for (; *p && *p != ']'; p++) {
        if (*p == '\\' && p[1])
            p++;
        else if (*p == '[' && p[1] && strchr(":.=", p[1]) && strstr(p + 2, ":]"))
            p = strstr(p + 2, ":]") + 1;
    }
    return *p ? p + 1 : p;
}

/* Behind a backslash. Letters and digits mean something, and may go on in ways that are not followed here. */
static void take_escape(struct scan *s)
{
    char c = *s->p;
    if (c && !isalnum((unsigned char)c)) {
        if (s->depth == 0)
            strbuf_addc(&s->run, c);
    } else if (c && strchr("dDwWsSbBAzZntrefahHvVRX", c)) {
        end_run(s);
    } else {
        s->give_up = true;
    }
    s->p += c != '\0';
}

static void take_group_end(struct scan *s, char c)
{
    end_run(s);
    s->depth += c == '(' ? 1 : -1;
    s->give_up |= s->depth < 0 || (c == '(' && (*s->p == '?' || *s->p == '*')); /* options, conditions, verbs */
}

static void take_next(struct scan *s)
{
    char c = *s->p++;
    if (c == '\\') {
        take_escape(s);
    } else if (c == '[') {
        end_run(s);
        s->p = skip_class(s->p - 1);
    } else if (c == '(' || c == ')') {
        take_group_end(s, c);
    } else if (c == '|') {
        s->give_up |= s->depth == 0;
    } else if (c == '*' || c == '?') {
        drop_last(s);
    } else if (c == '{') {
        size_t n = repetition(s->p - 1);
        drop_last(s);
        s->p += n ? n - 1 : 0;
    } else if (strchr(".^$+", c)) {
        end_run(s);
    } else if (s->depth == 0) {
        strbuf_addc(&s->run, c);
    }
}

const char *log_regex_literal(const char *pattern, struct arena *a)
{
    struct scan s = {.p = pattern};
    while (*s.p && !s.give_up)
        take_next(&s);
    end_run(&s);
    const char *literal = s.give_up || s.depth != 0 ? "" : arena_strdup(a, strbuf_str(&s.best));
    strbuf_release(&s.run);
    strbuf_release(&s.best);
    return literal;
}

/* ---- matching ---- */

static int compile(struct log_regex *r, struct error *err)
{
    int code;
    size_t offset;
    r->code = pcre2_compile((PCRE2_SPTR)r->pattern, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_MATCH_INVALID_UTF, &code,
                            &offset, NULL);
    if (!r->code) {
        char text[160];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof(text));
        return error_set(err, ERR_INVALID, "search \"%s\": %s at character %zu", r->pattern, text, offset + 1);
    }
    r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
    r->limits = pcre2_match_context_create(NULL);
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE); /* failing that, it is interpreted */
    pcre2_set_match_limit(r->limits, REGEX_MATCH_LIMIT);
    pcre2_set_depth_limit(r->limits, REGEX_DEPTH_LIMIT);
    pcre2_set_heap_limit(r->limits, REGEX_HEAP_LIMIT_KIB);
    return 0;
}

int log_regex_new(const char *pattern, struct log_regex **ret, struct error *err)
{
    struct log_regex *r = calloc(1, sizeof(*r));
    r->pattern = arena_strdup(&r->arena, pattern);
    if (compile(r, err) < 0) {
        log_regex_free(r);
        return -1;
    }
    r->literal = log_regex_literal(pattern, &r->arena);
    r->literal_n = strlen(r->literal);
    *ret = r;
    return 0;
}

void log_regex_free(struct log_regex *r)
{
    if (!r)
        return;
    pcre2_match_context_free(r->limits);
    pcre2_match_data_free(r->match);
    pcre2_code_free(r->code);
    arena_release(&r->arena);
    free(r);
}

int log_regex_matches(const struct log_regex *r, const char *text, size_t n, int64_t id, struct error *err)
{
    if (r->literal_n && !log_find(text, n, r->literal, r->literal_n))
        return 0;
    int rc = pcre2_match(r->code, (PCRE2_SPTR)text, n, 0, 0, r->match, r->limits);
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
        return rc >= 0;
    char why[160];
    pcre2_get_error_message(rc, (PCRE2_UCHAR *)why, sizeof(why));
    return error_set(err, ERR_INVALID, "search \"%s\" takes too long on line %lld (%s): write it with fewer"
                     " repetitions within repetitions", r->pattern, (long long)id, why);
}
