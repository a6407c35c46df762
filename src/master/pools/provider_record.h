/* Records of the settings with which a pool has launched machines, so that the machines are still found and ended when
 * the settings have changed, or when the pool has no provider any more. There is a record for each region, project, tag
 * or whatever else says where a program finds the pool's machines:
 *
 *     <data_dir>/providers/<pool>.<hash of these settings>.json   {"pool": …, "provider": the provider section}
 *
 * Only the master's user may read a record, since settings may hold secrets. */
#ifndef DET_MASTER_POOLS_PROVIDER_RECORD_H
#define DET_MASTER_POOLS_PROVIDER_RECORD_H

#include "common/base/arena.h"
#include "common/json/json.h"

struct provider_record {
    const char *path, *pool;
};

const char *provider_record_path(const char *data_dir, const char *pool, struct json_object *provider, struct arena *a);
int provider_record_write(const char *path, const char *pool, struct json_object *provider, struct error *err);
/* The provider section, which the caller puts; NULL: the record cannot be read. */
struct json_object *provider_record_read(const char *path, struct error *err);
/* All records of providers of this type. A file that is no record is passed over, with a line in the log. */
int provider_records(const char *data_dir, const char *type, struct arena *a, struct provider_record **ret,
                     size_t *ret_n, struct error *err);

#endif
