/* Within the HTTP client (http_client.c): one exchange of libcurl's, blocking or not, from the options of a fetch to what is
 * said of how it ended. */
#ifndef DET_NET_HTTP_TRANSFER_H
#define DET_NET_HTTP_TRANSFER_H

#include <curl/curl.h>

#include "net/client/http_client.h"

struct transfer {
    CURL *easy;
    struct http_fetch options; /* of its pointers only on_data, on_upload and ctx are used after transfer_prepare() */
    struct curl_slist *header, *connect_to;
    char *place; /* "http://host:port", for sentences: without path and secrets */
    const char *proxy; /* of the environment, if it is used; NULL: none */
    char detail[CURL_ERROR_SIZE];
    struct http_fetch_reply reply;
    bool stopped; /* by on_data, or nobody wants the answer any more */
    bool too_big;
};

CURL *transfer_new_easy(void);
/* -1: the options can't be; to be released all the same. */
int transfer_prepare(struct transfer *t, const struct http_fetch *f, bool copy_body, struct error *err);
/* Once libcurl is done with it: t->reply, or why there is none. */
int transfer_finish(struct transfer *t, CURLcode code, struct error *err);
void transfer_release(struct transfer *t); /* but for t->easy */

#endif
