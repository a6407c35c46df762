#include "agent/task/ready_watch.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include "common/base/must.h"
#include "common/system/log.h"

enum {
    STEPS_MAX = 100000,         /* of one match; a line for which this is not enough does not match */
    LINE_MAX_BYTES = 16 * 1024, /* what is looked at of a line */
};

struct ready_watch {
    pcre2_code *ready, *waiting; /* NULL: not looked for, or not any more */
    pcre2_match_data *match;
    pcre2_match_context *limits;
};

static pcre2_code *compile(const char *pattern)
{
    int code = 0;
    size_t at = 0;
    if (!pattern || !*pattern)
        return NULL;
    pcre2_code *compiled = pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED, PCRE2_ANCHORED, &code, &at, NULL);
    if (!compiled)
        log_error("task.ready_pattern", "pattern=%s position=%zu", log_quote(pattern), at);
    return compiled;
}

struct ready_watch *ready_watch_new(const char *ready, const char *waiting)
{
    pcre2_code *code = compile(ready);
    if (!code)
        return NULL;
    struct ready_watch *w = must_calloc(1, sizeof(*w));
    w->ready = code;
    w->waiting = compile(waiting);
    w->match = pcre2_match_data_create(1, NULL);
    w->limits = pcre2_match_context_create(NULL);
    if (!w->match || !w->limits)
        abort();
    pcre2_set_match_limit(w->limits, STEPS_MAX);
    return w;
}

void ready_watch_free(struct ready_watch *w)
{
    if (!w)
        return;
    pcre2_code_free(w->ready);
    pcre2_code_free(w->waiting);
    pcre2_match_data_free(w->match);
    pcre2_match_context_free(w->limits);
    free(w);
}

/* Returns whether the pattern matches, and forgets the pattern if it does. */
static int matches(struct ready_watch *w, pcre2_code **code, const char *text, size_t n)
{
    if (!*code || pcre2_match(*code, (PCRE2_SPTR)text, n, 0, 0, w->match, w->limits) < 0)
        return 0;
    pcre2_code_free(*code);
    *code = NULL;
    return 1;
}

enum ready_sign ready_watch_line(struct ready_watch *w, const char *text, size_t n)
{
    size_t looked_at = n < LINE_MAX_BYTES ? n : LINE_MAX_BYTES;
    if (matches(w, &w->ready, text, looked_at))
        return READY_SIGN_READY;
    return w->ready && matches(w, &w->waiting, text, looked_at) ? READY_SIGN_WAITS : READY_SIGN_NONE;
}
