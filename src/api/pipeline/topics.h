/* Lists of sleepers by topic name, for long polls (wait.c) and streams (stream.c). Call all of this on the loop. */
#ifndef DET_API_PIPELINE_TOPICS_H
#define DET_API_PIPELINE_TOPICS_H

#include <stdbool.h>
#include <sys/queue.h>

struct topics;
struct topic;

/* Embedded in the sleeper. wake() may leave the topic, free the sleeper, or join the topic again. */
struct topic_member {
    LIST_ENTRY(topic_member) link;
    struct topic *topic; /* NULL: it is not in any topic */
    void (*wake)(struct topic_member *m);
};

struct topics *topics_new(void);
void topics_free(struct topics *t); /* nobody may sleep any more */
void topic_join(struct topics *t, const char *name, struct topic_member *m);
void topic_leave(struct topics *t, struct topic_member *m); /* does nothing if it is in no topic */
/* Wakes each member once. Members that join meanwhile are not woken. */
void topics_wake(struct topics *t, const char *name);

#endif
