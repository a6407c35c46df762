#include "net/client/outbound.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/client/http_transfer.h"

enum { REDIRECTS_MAX = 3, RECEIVED_MAX = 64 * 1024, CONNECT_TIMEOUT_S = 5 };

struct exchange {
    const struct outbound_post *post;
    size_t received;
    bool refused, too_big;
    char refused_address[ADDRESS_TEXT_MAX];
    char detail[CURL_ERROR_SIZE];
};

static bool address_of(const struct sockaddr *sa, struct address *ret)
{
    char text[INET6_ADDRSTRLEN];
    const void *at = sa->sa_family == AF_INET    ? (const void *)&((const struct sockaddr_in *)sa)->sin_addr
                     : sa->sa_family == AF_INET6 ? (const void *)&((const struct sockaddr_in6 *)sa)->sin6_addr
                                                 : NULL;
    return at && inet_ntop(sa->sa_family, at, text, sizeof(text)) && address_parse(text, strlen(text), ret) == 0;
}

/* libcurl asks for a socket with the very address that it connects to, once for each address of each host. */
static curl_socket_t open_socket(void *ctx, curlsocktype purpose, struct curl_sockaddr *to)
{
    struct exchange *x = ctx;
    struct address a;
    if (!address_of(&to->addr, &a) || !x->post->may_connect(&a, x->post->ctx)) {
        x->refused = true;
        if (address_of(&to->addr, &a))
            address_text(&a, x->refused_address);
        return CURL_SOCKET_BAD;
    }
    return socket(to->family, to->socktype | SOCK_CLOEXEC, to->protocol);
}

/* Nobody reads the answer: it is only counted. */
static size_t on_received(char *data, size_t size, size_t n, void *ctx)
{
    struct exchange *x = ctx;
    x->received += size * n;
    x->too_big = x->received > RECEIVED_MAX;
    return x->too_big ? 0 : size * n;
}

static int on_progress(void *ctx, curl_off_t down_n, curl_off_t down, curl_off_t up_n, curl_off_t up)
{
    const struct exchange *x = ctx;
    return x->post->abandoned && atomic_load(x->post->abandoned);
}

static void set_options(CURL *easy, struct exchange *x, struct curl_slist *header)
{
    const struct outbound_post *p = x->post;
    curl_easy_setopt(easy, CURLOPT_URL, p->url);
    curl_easy_setopt(easy, CURLOPT_POST, 1l);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)p->body_n);
    curl_easy_setopt(easy, CURLOPT_POSTFIELDS, p->body);
    curl_easy_setopt(easy, CURLOPT_HTTPHEADER, header);
    curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 1l);
    curl_easy_setopt(easy, CURLOPT_MAXREDIRS, (long)REDIRECTS_MAX);
    curl_easy_setopt(easy, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
    curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_easy_setopt(easy, CURLOPT_PROXY, "");
    curl_easy_setopt(easy, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1l);
    curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_TIMEOUT_S);
    curl_easy_setopt(easy, CURLOPT_TIMEOUT, (long)p->timeout_s);
    curl_easy_setopt(easy, CURLOPT_USERAGENT, "determined-c/" DET_VERSION);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, open_socket);
    curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, x);
    curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_received);
    curl_easy_setopt(easy, CURLOPT_WRITEDATA, x);
    curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_received);
    curl_easy_setopt(easy, CURLOPT_HEADERDATA, x);
    curl_easy_setopt(easy, CURLOPT_XFERINFOFUNCTION, on_progress);
    curl_easy_setopt(easy, CURLOPT_XFERINFODATA, x);
    curl_easy_setopt(easy, CURLOPT_NOPROGRESS, 0l);
    curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, x->detail);
}

static int finish(CURL *easy, const struct exchange *x, CURLcode code, int *ret_status, struct error *err)
{
    long status = 0;
    curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
    bool redirects = status >= 300 && status < 400;
    if ((code == CURLE_OK || x->too_big) && status >= 200 &&
        !redirects) { /* what follows an answer is not waited for */
        *ret_status = (int)status;
        return 0;
    }
    if (x->refused) /* no other address of the host has answered */
        return error_set(err, ERR_FORBIDDEN,
                         "the address leads to %s, which is private, loopback, link-local or reserved; an admin may "
                         "allow it by webhooks.allowed_addresses in the master's configuration",
                         *x->refused_address ? x->refused_address : "no Internet address");
    return error_set(err, ERR_UNAVAILABLE, "%s", *x->detail ? x->detail : curl_easy_strerror(code));
}

int outbound_post(const struct outbound_post *p, int *ret_status, struct error *err)
{
    struct exchange x = {.post = p};
    CURL *easy = transfer_new_easy();
    struct curl_slist *header = NULL;
    if (!easy)
        return error_set(err, ERR_NO_MEMORY, "no memory for a request");
    for (const char *const *h = p->header; h && *h; h++)
        header = curl_slist_append(header, *h);
    set_options(easy, &x, header);
    int rc = finish(easy, &x, curl_easy_perform(easy), ret_status, err);
    curl_easy_cleanup(easy);
    curl_slist_free_all(header);
    return rc;
}
