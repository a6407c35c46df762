/* Small pages without script that the master shows to a browser where there is nothing else to show: in place of a
 * task's page while the task does not answer, when a login has failed, and to ask for a consent. Programs get the same
 * sentence as JSON. All texts are inert: no markup in them counts. */
#ifndef DET_API_PIPELINE_PLAIN_PAGE_H
#define DET_API_PIPELINE_PLAIN_PAGE_H

#include <stdbool.h>

#include "common/base/strbuf.h"

struct http_request;

/* A form without fields: what it says is in its address. */
struct plain_button {
    const char *action, *text;
};

struct plain_page {
    const char *title;
    const char *text;              /* a sentence */
    const char *line;              /* the last line of the task's log; NULL: it is not shown */
    const char *link, *link_text;  /* where to go from here; NULL: nowhere */
    struct plain_button button[2]; /* side by side; without a text: there is none */
    int reload_s;                  /* the page loads itself again after so many seconds; 0: it does not */
};
void plain_page(const struct plain_page *p, struct strbuf *out);
#define PLAIN_PAGE_TYPE "text/html; charset=utf-8"
#define PLAIN_PAGE_POLICY "default-src 'none'; style-src 'unsafe-inline'"

/* Whether the client shows pages: a browser that a person has sent here. On the loop only. */
bool plain_page_is_wanted(const struct http_request *http);

#endif
