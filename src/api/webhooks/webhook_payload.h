/* What a message to a webhook says: JSON for programs, or blocks for Slack. Pure: ids and times are given. */
#ifndef DET_API_WEBHOOKS_WEBHOOK_PAYLOAD_H
#define DET_API_WEBHOOKS_WEBHOOK_PAYLOAD_H

#include <stdint.h>

#include "common/base/strbuf.h"
#include "store/rows.h"

struct webhook_event {
    const char *event_id; /* a UUID, the same one in each attempt to deliver the message */
    int64_t now_us;
    const char *base_url; /* where links begin; "": there are none */
    const struct store_webhook_subject *experiment;
    const char *state; /* the state that the experiment has entered; NULL: it is an alert of its code */
    /* of an alert */
    const char *title, *description, *level; /* level: INFO … */
    int32_t trial_id;                        /* 0: the alert names none */
};

/* A line of a task's log in which the pattern of a trigger was found for the first time. */
struct webhook_log_event {
    const char *event_id;
    int64_t now_us;
    const char *base_url;
    const struct store_webhook_task *task;
    const char *node_name; /* the agent on which the line was written; "": it is not known */
    const char *regex, *line;
};

/* An alias of a model stands for another version from now on. */
struct webhook_alias_event {
    const char *event_id;
    int64_t now_us;
    const char *base_url;
    int32_t model_id, workspace_id;
    const char *model_name, *alias, *username;
    int32_t version, version_before; /* 0: the alias stands, or stood, for none */
};

void webhook_payload_default(const struct webhook_event *e, struct strbuf *out);
void webhook_payload_slack(const struct webhook_event *e, struct strbuf *out);
void webhook_payload_log_default(const struct webhook_log_event *e, struct strbuf *out);
void webhook_payload_log_slack(const struct webhook_log_event *e, struct strbuf *out);
void webhook_payload_alias_default(const struct webhook_alias_event *e, struct strbuf *out);
void webhook_payload_alias_slack(const struct webhook_alias_event *e, struct strbuf *out);
/* The message of the test button. */
void webhook_payload_test(bool slack, const char *event_id, int64_t now_us, struct strbuf *out);

#endif
