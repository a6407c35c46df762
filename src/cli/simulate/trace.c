#include "cli/simulate/trace.h"

#include <csv.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/system/files.h"
#include "gen/config_numbers.h"

enum { TRACE_BYTES_MAX = 1 << 28, TRIALS_MAX = 100000, SLOTS_MAX = 1 << 20 };

enum column {
    SUBMIT,
    SLOTS,
    DURATION,
    PRIORITY,
    WEIGHT,
    POOL,
    NAME,
    MAX_SLOTS,
    SEARCHER,
    TRIALS,
    CONCURRENT,
    COLUMN_NR
};

static const char *const names[COLUMN_NR] = {"submit", "slots",     "duration", "priority", "weight",           "pool",
                                             "name",   "max_slots", "searcher", "trials",   "concurrent_trials"};
static const char *const searchers[] = {"single", "random", "adaptive_asha", NULL};

struct reader {
    const char *path;
    struct arena *arena;
    struct error *err;
    enum column column[64]; /* by place in the row */
    size_t column_n, place, row, cap;
    bool failed, empty; /* empty: the row has no field with text so far */
    int last_end;       /* the character that ended the row before this one */
    struct sim_job job;
    bool given[COLUMN_NR];
    struct sim_trace *ret;
};

static int bad_field(struct reader *r, const char *column, const char *text, const char *wanted)
{
    r->failed = true;
    return error_set(r->err, ERR_INVALID, "%s: row %zu, column %s: \"%.60s\" is not %s", r->path, r->row, column, text,
                     wanted);
}

static void missing_column(struct reader *r, const char *column)
{
    r->failed = true;
    error_set(r->err, ERR_INVALID,
              "%s: row 1, column %s is missing: the first row names the columns, of which submit, slots and "
              "duration are needed",
              r->path, column);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static bool read_number(const char *text, double min, double max, double *ret)
{
    char *end;
    errno = 0;
    *ret = strtod(text, &end);
    return end != text && *end == '\0' && errno == 0 && isfinite(*ret) && *ret >= min && *ret <= max;
}

static void take_int(struct reader *r, enum column c, const char *text, int min, int max, const char *wanted, int *ret)
{
    double v;
    if (!read_number(text, min, max, &v) || v != floor(v))
        bad_field(r, names[c], text, wanted);
    else
        *ret = (int)v;
}

static void take_priority(struct reader *r, const char *text, int *ret)
{
    double v;
    if (read_number(text, SCHED_PRIORITY_MIN, SCHED_PRIORITY_MAX, &v) && v == floor(v))
        *ret = (int)v;
    else
        bad_field(r, names[PRIORITY], text,
                  arena_printf(r->arena, "a priority from %d (first) to %d", SCHED_PRIORITY_MIN, SCHED_PRIORITY_MAX));
}

static void take_seconds(struct reader *r, enum column c, const char *text, double min, int64_t *ret)
{
    double v;
    if (!read_number(text, min, 1e10, &v))
        bad_field(r, names[c], text, min > 0 ? "a number of seconds above 0" : "a number of seconds, 0 or more");
    else
        *ret = (int64_t)(v * 1e6);
}

static void take_searcher(struct reader *r, const char *text)
{
    for (size_t i = 0; searchers[i]; i++)
        if (strcmp(text, searchers[i]) == 0) {
            r->job.searcher = searchers[i];
            return;
        }
    bad_field(r, names[SEARCHER], text, "single, random or adaptive_asha");
}

static void take_field(struct reader *r, enum column c, const char *text)
{
    r->given[c] = text[0] != '\0';
    if (!r->given[c])
        return;
    switch (c) {
    case SUBMIT:
        take_seconds(r, c, text, 0, &r->job.submit_us);
        return;
    case DURATION:
        take_seconds(r, c, text, 1e-6, &r->job.duration_us);
        return;
    case SLOTS:
        take_int(r, c, text, 0, SLOTS_MAX, "a whole number, 0 or more", &r->job.slots);
        return;
    case PRIORITY:
        take_priority(r, text, &r->job.priority);
        return;
    case MAX_SLOTS:
        take_int(r, c, text, 0, SLOTS_MAX, "a whole number, 0 or more", &r->job.max_slots);
        return;
    case TRIALS:
        take_int(r, c, text, 1, TRIALS_MAX, "a whole number, 1 or more", &r->job.trials);
        return;
    case CONCURRENT:
        take_int(r, c, text, 1, TRIALS_MAX, "a whole number, 1 or more", &r->job.concurrent);
        return;
    case WEIGHT:
        if (!read_number(text, 1e-9, 1e9, &r->job.weight))
            bad_field(r, names[c], text, "a weight above 0");
        return;
    case POOL:
        r->job.pool = arena_strdup(r->arena, text);
        return;
    case NAME:
        r->job.name = arena_strdup(r->arena, text);
        return;
    case SEARCHER:
        take_searcher(r, text);
        return;
    case COLUMN_NR:
        return;
    }
}

static void take_title(struct reader *r, const char *text)
{
    for (size_t c = 0; c < COLUMN_NR; c++) {
        if (strcmp(names[c], text) != 0)
            continue;
        for (size_t i = 0; i < r->column_n; i++)
            if (r->column[i] == (enum column)c) {
                bad_field(r, text, text, "allowed twice");
                return;
            }
        r->column[r->column_n++] = (enum column)c;
        return;
    }
    bad_field(r, text, text,
              "a column: there are submit, slots, duration, priority, weight, pool, name, max_slots, searcher, trials "
              "and concurrent_trials");
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

static void on_field(void *text, size_t n, void *arg)
{
    struct reader *r = arg;
    const char *s = text ? arena_strndup(r->arena, text, n) : "";
    r->empty = r->empty && s[0] == '\0';
    r->place++;
    if (r->failed)
        return;
    if (strlen(s) != n)
        bad_field(r, r->row > 1 && r->place <= r->column_n ? names[r->column[r->place - 1]] : "1", s,
                  "text: it holds a NUL");
    else if (r->row == 1 && r->place > COLUMN_NR)
        bad_field(r, s, s, "allowed: there are too many columns");
    else if (r->row == 1)
        take_title(r, s);
    else if (r->place <= r->column_n)
        take_field(r, r->column[r->place - 1], s);
    else if (s[0] != '\0')
        bad_field(r, "(none)", s, "in a column that has a title");
}

static void need_columns(struct reader *r, enum column c)
{
    if (!r->failed && !r->given[c])
        bad_field(r, names[c], "", "given, and must be");
}

static void begin_row(struct reader *r)
{
    r->row++;
    r->place = 0;
    r->empty = true;
    r->job = (struct sim_job){.priority = SCHED_PRIORITY_DEFAULT,
                              .weight = EXP_RESOURCES_WEIGHT_DEFAULT,
                              .max_slots = -1,
                              .pool = "",
                              .name = "",
                              .searcher = "single",
                              .row = r->row};
    memset(r->given, 0, sizeof(r->given));
}

static void keep_job(struct reader *r)
{
    struct sim_trace *t = r->ret;
    if (r->job.trials == 0)
        r->job.trials = strcmp(r->job.searcher, "single") == 0 ? 1 : 16;
    if (r->job.concurrent == 0)
        r->job.concurrent = r->job.trials < EXP_SEARCHER_MAX_CONCURRENT_TRIALS_DEFAULT
                                ? r->job.trials
                                : EXP_SEARCHER_MAX_CONCURRENT_TRIALS_DEFAULT;
    if (strcmp(r->job.searcher, "single") == 0 && r->job.trials > 1) {
        bad_field(r, names[TRIALS], "more than 1", "what a single trial has; say searcher random or adaptive_asha");
        return;
    }
    if (t->n == r->cap) {
        r->cap = r->cap ? 2 * r->cap : 256;
        struct sim_job *more = arena_array(r->arena, struct sim_job, r->cap);
        if (t->n > 0)
            memcpy(more, t->job, t->n * sizeof(*more));
        t->job = more;
    }
    t->job[t->n++] = r->job;
}

static void on_row(int end, void *arg)
{
    struct reader *r = arg;
    bool second_half = end == '\n' && r->last_end == '\r' && r->place == 0; /* the second character of CRLF */
    r->last_end = end;
    if (r->failed || second_half)
        return;
    if (r->row == 1) {
        for (size_t i = 0; i < r->column_n; i++)
            r->given[r->column[i]] = true;
        for (enum column c = SUBMIT; c <= DURATION; c++)
            if (!r->failed && !r->given[c])
                missing_column(r, names[c]);
    } else if (!r->empty) {
        for (enum column c = SUBMIT; c <= DURATION; c++)
            need_columns(r, c);
        if (!r->failed)
            keep_job(r);
    }
    begin_row(r);
}

static int by_submission(const void *pa, const void *pb)
{
    const struct sim_job *a = pa, *b = pb;
    if (a->submit_us != b->submit_us)
        return a->submit_us < b->submit_us ? -1 : 1;
    return a->row < b->row ? -1 : a->row > b->row;
}

int sim_trace_read(const char *path, struct arena *a, struct sim_trace *ret, struct error *err)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct reader r = {.path = path, .arena = a, .err = err, .ret = ret};
    struct csv_parser csv;
    *ret = (struct sim_trace){0};
    if (file_read(path, TRACE_BYTES_MAX, &text, err) < 0)
        return -1;
    if (csv_init(&csv, CSV_STRICT | CSV_STRICT_FINI | CSV_APPEND_NULL | CSV_REPALL_NL) != 0)
        return error_set(err, ERR_INTERNAL, "out of memory for a CSV reader");
    begin_row(&r);
    const char *s = strbuf_str(&text);
    size_t skip = text.n >= 3 && memcmp(s, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    bool whole = csv_parse(&csv, s + skip, text.n - skip, on_field, on_row, &r) == text.n - skip &&
                 csv_fini(&csv, on_field, on_row, &r) == 0;
    if (!whole && !r.failed) {
        r.failed = true;
        error_set(err, ERR_INVALID, "%s: row %zu, column %zu: %s", path, r.row, r.place + 1,
                  csv_strerror(csv_error(&csv)));
    }
    csv_free(&csv);
    if (r.failed)
        return -1;
    if (ret->n == 0)
        return error_set(err, ERR_INVALID, "%s: there are no jobs in it; each row after the first is a job", path);
    qsort(ret->job, ret->n, sizeof(*ret->job), by_submission);
    return 0;
}
