#include "agent/machine/port_owner.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/base/cleanup.h"

/* Asks the kernel for one socket (sock_diag(7)): the one that would take a connection to that address. Without the
 * address of a peer, that is the listening one. */
static bool ask(int fd, const char *address, int port)
{
    bool v6 = strchr(address, ':');
    struct {
        struct nlmsghdr head;
        struct inet_diag_req_v2 body;
    } request = {.head = {.nlmsg_len = sizeof(request),
                          .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                          .nlmsg_flags = NLM_F_REQUEST},
                 .body = {.sdiag_family = v6 ? AF_INET6 : AF_INET,
                          .sdiag_protocol = IPPROTO_TCP,
                          .idiag_states = 1u << TCP_LISTEN,
                          .id = {.idiag_sport = htons((uint16_t)port),
                                 .idiag_cookie = {INET_DIAG_NOCOOKIE, INET_DIAG_NOCOOKIE}}}};
    if (inet_pton(v6 ? AF_INET6 : AF_INET, address, request.body.id.idiag_src) != 1)
        return false;
    return send(fd, &request, sizeof(request), 0) == (ssize_t)sizeof(request);
}

bool port_owner_find(int port, uid_t *ret)
{
    return port_owner_find_at("127.0.0.1", port, ret);
}

bool port_owner_find_at(const char *address, int port, uid_t *ret)
{
    union {
        struct nlmsghdr head;
        char bytes[4096];
    } reply;
    struct inet_diag_msg found;
    cleanup_close int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (fd < 0 || !ask(fd, address, port))
        return false;
    ssize_t n = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT); /* the kernel answers within send() */
    if (n < (ssize_t)NLMSG_LENGTH(sizeof(found)) || reply.head.nlmsg_type != SOCK_DIAG_BY_FAMILY)
        return false;
    memcpy(&found, NLMSG_DATA(&reply.head), sizeof(found));
    if (found.idiag_state != TCP_LISTEN)
        return false;
    *ret = found.idiag_uid;
    return true;
}
