/* Internal to the HTTP client (http_client.c): one exchange through libcurl, blocking or not, from the options of a
 * fetch to its reply or its error. */
#ifndef DET_NET_CLIENT_HTTP_TRANSFER_H
#define DET_NET_CLIENT_HTTP_TRANSFER_H

#include "net/client/curl_calls.h"
#include "net/client/http_client.h"

struct transfer {
    CURL *easy;
    /* of the pointers in it only on_data, on_upload, abandoned and ctx are used after transfer_prepare() */
    struct http_fetch options;
    struct curl_slist *header, *connect_to;
    /* "http://host:port" or the path of the socket, for error messages: without the path and without secrets */
    char *place;
    bool unix_socket;
    const char *proxy; /* the proxy that the environment names and this exchange uses; NULL: none */
    char detail[CURL_ERROR_SIZE];
    struct http_fetch_reply reply;
    bool stopped; /* on_data has stopped the transfer, or nobody wants the answer any more */
    bool too_big;
};

CURL *transfer_new_easy(void);
/* Returns -1 if the options are invalid. The transfer must be released in either case. */
int transfer_prepare(struct transfer *t, const struct http_fetch *f, bool copy_body, struct error *err);
/* Called when libcurl has ended the transfer. Sets t->reply, or *err to the reason why there is none. */
int transfer_finish(struct transfer *t, CURLcode code, struct error *err);
void transfer_release(struct transfer *t); /* releases everything except t->easy */

#endif
