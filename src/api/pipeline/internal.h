/* What the files of src/api share and no other layer sees. */
#ifndef DET_API_PIPELINE_INTERNAL_H
#define DET_API_PIPELINE_INTERNAL_H

#include "api/api.h"
#include "api/pipeline/handler.h"

struct agent_texts;
struct byte_streams;
struct continuing;
struct deleted_places;
struct device_logins;
struct directory;
struct joining;
struct live;
struct log_feeds;
struct login_limits;
struct password_lane;
struct permissions;
struct proxies;
struct proxy;
struct reporting;
struct sso;
struct topics;
struct updates;

struct api {
    struct loop *loop;
    struct api_services services;
    struct api_info info;
    struct api_defaults defaults;
    struct live *live; /* what only steps on the loop are given; request_run.h */
    struct identities *identities;
    struct permissions *permissions;
    struct password_lane *password_lane, *directory_lane;
    struct directory *directory; /* the directory that checks passwords */
    struct login_limits *login_limits;
    struct proxies *proxies;
    char *accounts_failure;                  /* why nobody can log in; NULL: everything is well */
    struct log_feeds *log_feeds;             /* of the logs that are followed */
    struct agent_texts *agent_texts;         /* of the agents that were listed */
    struct joining *joining;                 /* how agents join: tokens, and agents that wait */
    struct cluster_message *cluster_message; /* of the admins to all users */
    struct api_log_stats log_stats;
    struct deleted_places *deleted_places;
    struct continuing *continuing;       /* experiments that requests are about to continue */
    struct reporting *reporting;         /* checkpoints that requests are about to report, by UUID */
    struct byte_streams *streams;        /* connections of clients to ports of tasks */
    struct proxy *proxy;                 /* what requests to /proxy/ share */
    struct device_logins *device_logins; /* of machines without a browser, that wait to be allowed */
    struct sso *sso;                     /* the provider at which people log in */
    bool sharing_open;       /* security.sharing is open: everybody who is logged in may change everything */
    bool by_roles;           /* security.authz.type is rbac: roles say who may do what */
    struct updates *updates; /* the subscribers of /stream */
    struct req *running;     /* the request whose step is running on the loop; NULL: none is */
    int next_turn_n;         /* number of requests that go on in the loop's next turn */
    struct topics *topics;   /* streams and long polls that wait for something to happen, by topic */
};

/* A step on the loop: tells the master that checkpoints are marked for removal, or that an experiment is due for
 * collection. */
int notify_removals_due(struct req *r, struct core *core, struct error *err);

#endif
