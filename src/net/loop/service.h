/* How this program is, told to the service manager that has started it: systemd's notification protocol, a datagram of
 * `NAME=value` lines to the socket $NOTIFY_SOCKET. Without that variable every call does nothing.
 *
 * The watchdog ($WATCHDOG_USEC) is fed by a timer of the loop, and by nothing else: a loop that no longer turns starves
 * it, and the manager starts the program again. The variables are taken out of the environment, since what this program
 * starts is no part of the service's main process.
 *
 * Our own, since one datagram is no reason to link a library (libsystemd) that brings four others. */
#ifndef DET_NET_SERVICE_H
#define DET_NET_SERVICE_H

#include "net/loop/loop.h"

struct service;

struct service *service_new(struct loop *l); /* never NULL */
void service_ready(struct service *s);
void service_reloading(struct service *s); /* service_ready() follows */
void service_stopping(struct service *s);
/* One line for people (systemctl status); sent only when it has changed. */
void service_status(struct service *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void service_free(struct service *s);

#endif
