/* Tells the service manager that has started this program how the program is, by systemd's notification protocol: a
 * datagram of `NAME=value` lines to the socket $NOTIFY_SOCKET. Without that variable every call does nothing.
 *
 * Only a timer of the loop reports to the watchdog ($WATCHDOG_USEC). If the loop blocks, the reports stop, and the
 * manager restarts the program. The variables are removed from the environment, since programs that this one starts
 * are not the main process of the service.
 *
 * The protocol is implemented here, since one datagram is no reason to link libsystemd, which brings four other
 * libraries. */
#ifndef DET_NET_LOOP_SERVICE_H
#define DET_NET_LOOP_SERVICE_H

#include "net/loop/loop.h"

struct service;

struct service *service_new(struct loop *l); /* never NULL */
void service_ready(struct service *s);
void service_reloading(struct service *s); /* call service_ready() when it is done */
void service_stopping(struct service *s);
/* Sets the line that `systemctl status` shows; sent only if it has changed. */
void service_status(struct service *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void service_free(struct service *s);

#endif
