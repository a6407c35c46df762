/* The message of the administrators to all users of the cluster. */
#ifndef DET_API_CLUSTER_CLUSTER_MESSAGE_H
#define DET_API_CLUSTER_CLUSTER_MESSAGE_H

#include "api/pipeline/handler.h"

/* The message as it is in the store. It is kept in memory, since every page and every client asks for it. Loop only. */
struct cluster_message;
struct wire_cluster_message;

struct cluster_message *cluster_message_new(void);
void cluster_message_free(struct cluster_message *m);
int cluster_message_load(struct cluster_message *m, struct store *db, struct error *err);

/* Returns the message that is shown now, in the arena of the request; NULL: there is none. */
const struct wire_cluster_message *cluster_message_shown(struct req *r);

#endif
