/* What the pages about the use of slots share: times and days that a request names, and CSV (docs/spec/usage.md). */
#ifndef DET_API_CLUSTER_USAGE_H
#define DET_API_CLUSTER_USAGE_H

#include "api/pipeline/stream.h"

/* From from_us up to, but not including, to_us. */
struct usage_span {
    int64_t from_us, to_us;
};

/* Reads the times timestamp_after and timestamp_before of a page that is no RPC route. */
int usage_span_of_query(struct req *r, struct usage_span *ret, struct error *err);
/* Fails if the first time is after the second one. */
int usage_span_check(const struct usage_span *s, struct error *err);

/* Days, or months, from the first to the last, both included. They begin and end at midnight, UTC. */
struct usage_periods {
    bool monthly;
    struct usage_span all; /* the last period may be cut: nothing is asked about the future */
    int64_t next_us;       /* where the next period begins */
};
/* start and end are 2026-11-01, or with `monthly` also 2026-11. */
int usage_periods_read(const char *start, const char *end, bool monthly, int64_t now_us, struct usage_periods *ret,
                       struct error *err);
/* Leaves out the periods that were over at first_us. */
void usage_periods_skip(struct usage_periods *p, int64_t first_us);
/* Takes the next period, and its name: 2026-11-01 or 2026-11. False: there are no more. */
enum { USAGE_PERIOD_NAME_MAX = 40 };
bool usage_periods_next(struct usage_periods *p, struct usage_span *ret, char name[USAGE_PERIOD_NAME_MAX]);

/* Adds one field of a line of CSV. It is in quotes if it needs them, as in the tables of release 0.38.1. */
void usage_add_field(struct strbuf *out, const char *text);
/* Adds a line of fields, which ends with a newline. */
void usage_add_line(struct strbuf *out, const char *const *field, size_t n);
/* `return usage_stream(...)`: answers with CSV, which `fetch` writes batch by batch. */
int usage_stream(struct req *r, stream_fetch_fn *fetch);

#endif
