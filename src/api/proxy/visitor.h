/* Who asks for something below /proxy/, and whether the service is theirs to use.
 *
 * Whoever reaches a port of a task can act as the task does, so that only its owner and admins may, whatever
 * security.sharing says; with roles, whoever may change tasks in its workspace, and for a TensorBoard see them. They
 * show a session (Authorization: Bearer, or the cookie `auth`) or the token of that one task
 * (?token=, Authorization: token, or the cookie that ?token= has set). Ports that the configuration declares
 * `unauthenticated` are for everybody. Call these functions on the loop. */
#ifndef DET_API_PROXY_VISITOR_H
#define DET_API_PROXY_VISITOR_H

#include "api/pipeline/handler.h"
#include "api/proxy/task_service.h"

struct visitor {
    bool by_cookie;           /* a cookie is what lets the visitor in: see origin.h */
    bool by_task_token;       /* the task's own token does */
    bool keeps_authorization; /* the Authorization header is meant for the task */
    const char *token;        /* the task's token, if it came in the query; in the arena */
    bool is_owner;            /* who looks at the task's pages is its owner, or holds its token and no other session */
};

/* Finds out who asks, into r->who (PRINCIPAL_NONE: nobody is logged in). */
void visitor_identify(struct req *r);
/* Whether the visitor may use the service. ERR_UNAUTHENTICATED: a login would help; ERR_NOT_FOUND: the service is not
 * theirs; ERR_FORBIDDEN: the page of another origin has sent the request. */
int visitor_check(struct req *r, const struct task_service *s, struct visitor *ret, struct error *err);

#endif
