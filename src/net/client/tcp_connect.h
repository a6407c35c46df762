/* A TCP connection to a host by its name, for a thread that may wait. All addresses of the name are tried: the next one
 * begins when the one before has failed, or has not answered for a fifth of a second, and the first connection that
 * comes about is taken (RFC 8305). So a host whose IPv6 address leads nowhere is still reached at once. */
#ifndef DET_NET_CLIENT_TCP_CONNECT_H
#define DET_NET_CLIENT_TCP_CONNECT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct tcp_connect {
    const char *host; /* a name, or an address without brackets */
    int port;
    int64_t end_us;               /* by clock_monotonic_us(): the last moment */
    const atomic_bool *abandoned; /* as in struct http_fetch; may be NULL */
};

enum tcp_connect_result {
    TCP_CONNECTED,
    TCP_UNRESOLVED, /* the name has no address */
    TCP_FAILED,     /* no address could be connected to: *ret_errno is the last one's reason */
    TCP_LATE,       /* end_us has come */
    TCP_ABANDONED,
};

/* Sets *ret_fd, a socket that does not block, if it returns TCP_CONNECTED. */
enum tcp_connect_result tcp_connect(const struct tcp_connect *c, int *ret_fd, int *ret_errno);

#endif
