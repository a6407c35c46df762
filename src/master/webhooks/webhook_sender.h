/* Sends what waits in the queue of webhooks (store/queries/webhooks.sql). The loop finds out what is due, a few threads
 * send, and the writer notes the outcome. A message that nobody takes is tried again after a pause that grows from a
 * second to ten minutes, with jitter, and given up after TRIES_MAX attempts. One that the receiver refuses (4xx), or
 * whose address the master must not connect to, is given up at once. These functions are for the loop only. */
#ifndef DET_MASTER_WEBHOOKS_WEBHOOK_SENDER_H
#define DET_MASTER_WEBHOOKS_WEBHOOK_SENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "common/base/error.h"

struct master;
struct webhook_sender;

/* Begins with what the last master has left. */
int webhook_sender_new(struct master *m, struct webhook_sender **ret, struct error *err);
void webhook_sender_stop(struct webhook_sender *s); /* ends what is on its way; here and below, s may be NULL */
bool webhook_sender_is_idle(const struct webhook_sender *s);
void webhook_sender_free(struct webhook_sender *s);

/* To be called when a message has been committed. */
void webhook_sender_wake(struct webhook_sender *s);

/* Sends the message of the test button, past the queue and once. `done` is called on the loop; err is NULL if the
 * receiver has taken the message. */
int webhook_sender_test(struct webhook_sender *s, const char *url, bool slack,
                        void (*done)(void *ctx, const struct error *err), void *ctx, struct error *err);

struct webhook_stats {
    uint64_t delivered, failed, given_up; /* failed: attempts after which the message is tried again */
};
struct webhook_stats webhook_stats(const struct webhook_sender *s);

/* The pause after this many attempts have failed; random: any number. Pure. */
int64_t webhook_pause_us(int32_t tries, uint32_t random);

#endif
