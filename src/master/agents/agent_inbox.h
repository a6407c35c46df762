/* Messages of an agent, decoded off the loop where they are large, and handled in the order in which they came.
 *
 * Small messages are decoded at once. Large ones, which are batches of log lines, are decoded and packed by a worker.
 * Messages that come after such a batch wait until it has been handled: a task's exit must not overtake its last lines.
 *
 * When thousands of agents speak at once, the loop hears them for AGENT_HEARING_US in each of its turns. What else they
 * have said waits for the next turn, so that other work of the loop goes on. */
#ifndef DET_MASTER_AGENTS_AGENT_INBOX_H
#define DET_MASTER_AGENTS_AGENT_INBOX_H

#include "common/base/arena.h"
#include "common/base/error.h"
#include "gen/wire.h"
#include "net/loop/loop.h"
#include "net/loop/pool.h"
#include "store/logs/task_logs.h"

enum { AGENT_HEARING_US = 2000 };

struct agent_inbox;

/* One message. The function that handles it may take over the arena, with the lines in it, and then sets it to
 * ARENA_INIT. */
struct agent_inbox_message {
    struct arena arena;
    struct wire_link_agent_message *message; /* not valid if err is set */
    struct error err;
    struct store_log_batch lines; /* the lines of message->logs; lines.block is empty unless the lines were packed */
};

typedef void agent_hear_fn(void *ctx,
                           struct agent_inbox_message *received); /* called on the loop; it may close the inbox */

struct agent_inboxes; /* the inboxes of all agents, which share the loop's time */
/* Makes the inboxes. now_us() is a clock in microseconds that never goes back: clock_monotonic_us(), or a clock of a
 * test. */
struct agent_inboxes *agent_inboxes_new(struct loop *l, struct pool *workers, int64_t (*now_us)(void));
void agent_inboxes_free(struct agent_inboxes *all); /* all inboxes must be closed, and the loop must not run any more */

struct agent_inbox *agent_inbox_new(struct agent_inboxes *all, const char *agent_id, agent_hear_fn *hear, void *ctx);
void agent_inbox_put(struct agent_inbox *in, const void *data, size_t n);
/* Closes an inbox. No further message is handled, and the inbox is freed as soon as no worker uses a part of it. The
 * agent sends again whatever was not handled, because that was not acknowledged. */
void agent_inbox_close(struct agent_inbox *in);

#endif
