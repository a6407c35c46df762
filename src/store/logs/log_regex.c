#define PCRE2_CODE_UNIT_WIDTH 8

#include "store/logs/log_regex.h"

#include <pcre2.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/base/utf8.h"
#include "store/logs/log_find.h"
#include "store/logs/log_pattern.h"

enum {
    REGEX_MATCH_LIMIT = 100000,
    REGEX_DEPTH_LIMIT = 1000,
    REGEX_HEAP_LIMIT_KIB = 4096,
};

struct log_regex {
    char *pattern;
    struct arena arena;
    struct log_pattern shown;
    pcre2_code *code, *of_lines; /* of_lines is for many lines joined as one text; it may be NULL */
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static pcre2_code *compile_as(const char *pattern, uint32_t options, int *ret_code, size_t *ret_offset)
{
    pcre2_code *code = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                                     PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | options, ret_code, ret_offset, NULL);
    if (code)
        pcre2_jit_compile(code, PCRE2_JIT_COMPLETE); /* if this fails, PCRE2 interprets the pattern */
    return code;
}

static int compile_regex(struct log_regex *r, struct error *err)
{
    int code;
    size_t offset;
    r->code = compile_as(r->pattern, 0, &code, &offset);
    if (!r->code) {
        char text[160];
        pcre2_get_error_message(code, (PCRE2_UCHAR *)text, sizeof(text));
        return error_set(err, ERR_INVALID, "search \"%s\": %s at character %zu", r->pattern, text, offset + 1);
    }
    r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
    r->limits = pcre2_match_context_create(NULL);
    pcre2_set_match_limit(r->limits, REGEX_MATCH_LIMIT);
    pcre2_set_depth_limit(r->limits, REGEX_DEPTH_LIMIT);
    pcre2_set_heap_limit(r->limits, REGEX_HEAP_LIMIT_KIB);
    return 0;
}

int log_regex_new(const char *pattern, struct log_regex **ret, struct error *err)
{
    struct log_regex *r = must_calloc(1, sizeof(*r));
    r->pattern = arena_strdup(&r->arena, pattern);
    if (compile_regex(r, err) < 0) {
        log_regex_free(r);
        return -1;
    }
    r->shown = log_pattern_read(pattern, &r->arena);
    if (r->shown.within_lines)
        r->of_lines = compile_as(pattern, PCRE2_MULTILINE, &(int){0}, &(size_t){0});
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
    pcre2_code_free(r->of_lines);
    arena_release(&r->arena);
    free(r);
}

struct store_texts log_regex_needs(const struct log_regex *r)
{
    return r->shown.needs;
}

static int match_regex(const struct log_regex *r, const pcre2_code *code, const char *text, size_t n)
{
    cleanup_free char *with_zeros = utf8_with_zeros(text, n, &n);
    return pcre2_match(code, (PCRE2_SPTR)(with_zeros ? with_zeros : text), n, 0, 0, r->match, r->limits);
}

bool log_regex_may_match(const struct log_regex *r, const char *lines, size_t n)
{
    return log_find_any(lines, n, r->shown.needs) &&
           (!r->of_lines || match_regex(r, r->of_lines, lines, n) != PCRE2_ERROR_NOMATCH);
}

int log_regex_matches(const struct log_regex *r, const char *text, size_t n, int64_t id, struct error *err)
{
    if (!log_find_any(text, n, r->shown.needs))
        return 0;
    int rc = match_regex(r, r->code, text, n);
    if (rc >= 0 || rc == PCRE2_ERROR_NOMATCH)
        return rc >= 0;
    char why[160];
    pcre2_get_error_message(rc, (PCRE2_UCHAR *)why, sizeof(why));
    return error_set(err, ERR_INVALID,
                     "search \"%s\" takes too long on line %lld (%s): write it with fewer"
                     " repetitions within repetitions",
                     r->pattern, (long long)id, why);
}
