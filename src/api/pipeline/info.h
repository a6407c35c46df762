/* For every file of src/api and for the master: facts that do not change while the program runs. */
#ifndef DET_API_PIPELINE_INFO_H
#define DET_API_PIPELINE_INFO_H

#include <stdint.h>

struct api;
struct config;
struct storage_roots;

/* Every thread may read this. */
struct api_info {
    const char *version, *master_id, *cluster_id, *cluster_name;
    const struct config *config;  /* the effective configuration */
    const char *webhook_base_url; /* where links in messages to webhooks begin; "": they have none */
    /* the directories below which the master may read and remove files of checkpoints */
    const struct storage_roots *storage_roots;
    int64_t epoch;
};

/* Any thread may call this. */
const struct api_info *api_info(const struct api *a);

#endif
