/* For every file of src/api and for the master: what does not change while the program runs. */
#ifndef DET_API_INFO_H
#define DET_API_INFO_H

#include <stdint.h>

struct api;
struct config;
struct storage_roots;

/* What every thread may read. */
struct api_info {
    const char *version, *master_id, *cluster_id, *cluster_name;
    const struct config *config; /* effective configuration */
    const struct storage_roots *storage_roots; /* where the master may read and remove files of checkpoints */
    int64_t epoch;
};

/* Any thread: does not change while the program runs. */
const struct api_info *api_info(const struct api *a);

#endif
