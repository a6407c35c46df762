/* The message of the administrators to all users of the cluster. */
#ifndef DET_API_CLUSTER_CLUSTER_MESSAGE_H
#define DET_API_CLUSTER_CLUSTER_MESSAGE_H

#include "api/pipeline/handler.h"

struct wire_cluster_message;
/* Returns the message that is shown now; NULL: there is none. Call it in a read step. */
int cluster_message_shown(struct req *r, struct store *db, const struct wire_cluster_message **ret, struct error *err);

#endif
