/* Who waits for what: lists of sleepers by topic name, for long polls (wait.c) and streams (stream.c). Loop only. */
#ifndef DET_API_TOPICS_H
#define DET_API_TOPICS_H

#include <stdbool.h>
#include <sys/queue.h>

struct topics;
struct topic;

/* Embedded in the sleeper. wake() may leave, free the sleeper, or join again. */
struct topic_member {
    LIST_ENTRY(topic_member) link;
    struct topic *topic; /* NULL: not a member */
    void (*wake)(struct topic_member *m);
};

struct topics *topics_new(void);
void topics_free(struct topics *t); /* nobody may sleep any more */
void topic_join(struct topics *t, const char *name, struct topic_member *m);
void topic_leave(struct topics *t, struct topic_member *m); /* fine if it is no member */
/* Each member of now once; those that join meanwhile are not woken. */
void topics_wake(struct topics *t, const char *name);

#endif
