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

void webhook_payload_default(const struct webhook_event *e, struct strbuf *out);
void webhook_payload_slack(const struct webhook_event *e, struct strbuf *out);
/* The message of the test button. */
void webhook_payload_test(bool slack, const char *event_id, int64_t now_us, struct strbuf *out);

#endif
