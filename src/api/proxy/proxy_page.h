/* Small pages that the master shows to a browser in place of a task's: while the task is queued or starts, when it has
 * ended, and when it sends nothing that can be shown. Programs get the same sentence as JSON. */
#ifndef DET_API_PROXY_PROXY_PAGE_H
#define DET_API_PROXY_PROXY_PAGE_H

#include <stdbool.h>

#include "common/base/strbuf.h"

struct proxy_page {
    const char *title;
    const char *text; /* a sentence */
    const char *line; /* the last line of the task's log; NULL: it is not shown */
    int reload_s;     /* the page loads itself again after so many seconds; 0: it does not */
};
void proxy_page(const struct proxy_page *p, struct strbuf *out);
#define PROXY_PAGE_TYPE "text/html; charset=utf-8"
#define PROXY_PAGE_POLICY "default-src 'none'; style-src 'unsafe-inline'"

#endif
