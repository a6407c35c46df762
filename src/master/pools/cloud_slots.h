/* How many slots a machine of a cloud has, from the pool's provider section: the GPUs of its kind. A pool has to know
 * it before there is a machine. */
#ifndef DET_MASTER_POOLS_CLOUD_SLOTS_H
#define DET_MASTER_POOLS_CLOUD_SLOTS_H

#include "common/json/json.h"

int aws_slots(struct json_object *config); /* -1: the instance type is not known, and instance_slots is not set */
int gcp_slots(struct json_object *config);

#endif
