/* Handlers of the rows in raw_routes[]. Each fills r->reply, or answers by itself. */
#ifndef DET_API_PIPELINE_RAW_HANDLERS_H
#define DET_API_PIPELINE_RAW_HANDLERS_H

#include "api/pipeline/handler.h"

int raw_root(struct req *r, struct core *core, struct error *err);
int raw_info(struct req *r, struct core *core, struct error *err);
int raw_health(struct req *r, struct core *core, struct error *err);
int raw_openapi(struct req *r, struct core *core, struct error *err);
int raw_openapi_page(struct req *r, struct core *core, struct error *err);
int raw_stream(struct req *r, struct core *core, struct error *err);
int raw_agents(struct req *r, struct core *core, struct error *err);
int raw_logo(struct req *r, struct error *err);
int raw_web(struct req *r, struct core *core, struct error *err);
int raw_metrics(struct req *r, struct core *core, struct error *err);
int raw_task_logs(struct req *r, struct error *err);
int raw_model_definition(struct req *r, struct store *db, struct error *err);
int raw_model_file(struct req *r, struct store *db, struct error *err);
int raw_checkpoint(struct req *r, struct core *core, struct error *err);
int raw_preview_gc(struct req *r, struct store *db, struct error *err);
int raw_interactive_link(struct req *r, struct core *core, struct error *err);
int raw_wait_link(struct req *r, struct core *core, struct error *err);
int raw_oidc_login(struct req *r, struct core *core, struct error *err);
int raw_oidc_callback(struct req *r, struct core *core, struct error *err);
int raw_scim_users(struct req *r, struct core *core, struct error *err);
int raw_scim_user(struct req *r, struct core *core, struct error *err);
int raw_scim_post_user(struct req *r, struct core *core, struct error *err);
int raw_scim_put_user(struct req *r, struct core *core, struct error *err);
int raw_scim_patch_user(struct req *r, struct core *core, struct error *err);
int raw_scim_groups(struct req *r, struct core *core, struct error *err);
int raw_oauth_authorize(struct req *r, struct core *core, struct error *err);
int raw_oauth_answer(struct req *r, struct store *db, struct error *err);
int raw_oauth_token(struct req *r, struct core *core, struct error *err);
int raw_oauth_clients(struct req *r, struct store *db, struct error *err);
int raw_oauth_post_client(struct req *r, struct store *db, struct error *err);
int raw_oauth_delete_client(struct req *r, struct store *db, struct error *err);
int raw_proxy(struct req *r, struct core *core, struct error *err);
int raw_tasks(struct req *r, struct core *core, struct error *err);
int raw_usage_raw(struct req *r, struct core *core, struct error *err);
int raw_usage_allocations(struct req *r, struct core *core, struct error *err);
int raw_usage_aggregated(struct req *r, struct core *core, struct error *err);
int raw_usage_summary(struct req *r, struct core *core, struct error *err);
int raw_prom_state(struct req *r, struct store *db, struct error *err);
int raw_prom_targets(struct req *r, struct core *core, struct error *err);
int raw_users_me(struct req *r, struct core *core, struct error *err);

#endif
