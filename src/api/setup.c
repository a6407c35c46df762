/* Makes and frees the API. The master calls this once. */
#include <stdlib.h>
#include <string.h>

#include "api/accounts/directory.h"
#include "api/accounts/login_limits.h"
#include "api/accounts/password_lane.h"
#include "api/cluster/agent_texts.h"
#include "api/cluster/cluster_message.h"
#include "api/cluster/joining.h"
#include "api/logs/log_feed.h"
#include "api/pipeline/deleted_places.h"
#include "api/pipeline/identity.h"
#include "api/pipeline/internal.h"
#include "api/pipeline/request_run.h"
#include "api/pipeline/topics.h"
#include "api/proxy/proxy.h"
#include "api/rights/origin.h"
#include "api/rights/permissions.h"
#include "api/sso/device_logins.h"
#include "api/sso/sso.h"
#include "api/updates/updates.h"
#include "common/base/must.h"
#include "common/config/config.h"
#include "net/streams/byte_stream.h"

static bool is_by_roles(const struct api_info *info)
{
    const char *type = info->config ? config_str(info->config, "security.authz.type") : NULL;
    return type && strcmp(type, "rbac") == 0;
}

/* Roles take the place of security.sharing. */
static bool is_sharing_open(const struct api_info *info)
{
    const char *sharing = info->config ? config_str(info->config, "security.sharing") : NULL;
    return sharing && strcmp(sharing, "open") == 0;
}

int api_new(struct loop *l, const struct api_services *s, const struct api_info *info,
            const struct api_defaults *defaults, struct core *core, struct api **ret, struct error *err)
{
    struct api *a = must_calloc(1, sizeof(*a));
    *a = (struct api){.loop = l,
                      .services = *s,
                      .info = *info,
                      .defaults = *defaults,
                      .identities = identities_new(),
                      .deleted_places = deleted_places_new(),
                      .permissions = permissions_new(),
                      .topics = topics_new(),
                      .log_feeds = log_feeds_new(),
                      .agent_texts = agent_texts_new(),
                      .joining = joining_new(),
                      .cluster_message = cluster_message_new(),
                      .streams = byte_streams_new(l),
                      .proxy = proxy_new(l, core, info->config),
                      .device_logins = device_logins_new(),
                      .sso = sso_new(info->config),
                      .by_roles = is_by_roles(info),
                      .sharing_open = is_sharing_open(info) && !is_by_roles(info)};
    a->live = must_calloc(1, sizeof(*a->live));
    a->password_lane = password_lane_new(/* threads= */ 1);
    a->directory_lane = password_lane_new(DIRECTORY_THREADS);
    a->directory = directory_new(info->config);
    a->login_limits = login_limits_new();
    a->proxies = proxies_new(info->config);
    a->live->core = core;
    a->updates = updates_new(a);
    *ret = a;
    return 0;
}

void api_free(struct api *a)
{
    if (!a)
        return;
    updates_free(a->updates);
    proxy_free(a->proxy);
    byte_streams_free(a->streams);
    sso_free(a->sso);
    device_logins_free(a->device_logins);
    password_lane_free(a->password_lane);
    password_lane_free(a->directory_lane);
    directory_free(a->directory);
    login_limits_free(a->login_limits);
    proxies_free(a->proxies);
    free(a->live);
    free(a->accounts_failure);
    identities_free(a->identities);
    deleted_places_free(a->deleted_places);
    permissions_free(a->permissions);
    topics_free(a->topics);
    log_feeds_free(a->log_feeds);
    agent_texts_free(a->agent_texts);
    joining_free(a->joining);
    cluster_message_free(a->cluster_message);
    free(a);
}

void api_accounts_ready(struct api *a, const char *failure)
{
    a->accounts_failure = failure ? must_strdup(failure) : NULL;
    password_lane_open(a->password_lane);
    password_lane_open(a->directory_lane);
}

int api_passwords_waiting(const struct api *a)
{
    return password_lane_waiting(a->password_lane) + password_lane_waiting(a->directory_lane);
}

struct proxy_stats api_proxy_stats(const struct api *a)
{
    return proxy_stats(a->proxy);
}
