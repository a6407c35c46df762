/* The question: what does a message of the contract cost to read and to write by the table-driven codec, next to a tree
 * of json-c for the same text? The message: an experiment as GET /experiments/{id} returns it, about 1 KB.
 *
 *     ninja -C build bench/codec && build/bench/codec */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/clock.h"
#include "common/codec/codec.h"
#include "common/json/json.h"
#include "gen/wire.h"

enum { ROUNDS = 100000 };

static const char message[] =
    "{\"id\":41,\"description\":\"digits, constant rate\",\"labels\":[\"digits\",\"constant\"],"
    "\"startTime\":\"2026-01-02T03:04:05.678901Z\",\"endTime\":\"2026-01-02T04:04:05.678901Z\",\"state\":\"STATE_COMPLETED\","
    "\"archived\":false,\"numTrials\":1,\"trialIds\":[41],\"displayName\":\"A Person\",\"userId\":2,\"username\":\"determined\","
    "\"resourcePool\":\"default\",\"searcherType\":\"single\",\"name\":\"digits_pytorch_const\",\"notes\":\"no notes yet\","
    "\"jobId\":\"0b6ef0d5-1111-4222-8333-444444444444\",\"forkedFrom\":null,\"progress\":1,\"projectId\":1,"
    "\"projectName\":\"Uncategorized\",\"workspaceId\":1,\"workspaceName\":\"Uncategorized\",\"parentArchived\":false,"
    "\"config\":{\"name\":\"digits_pytorch_const\",\"hyperparameters\":{\"lr\":{\"type\":\"const\",\"val\":0.1}}},"
    "\"originalConfig\":\"name: digits_pytorch_const\\nentrypoint: model_def:DigitsTrial\\n\",\"projectOwnerId\":1,"
    "\"checkpointSize\":\"183400\",\"checkpointCount\":1,\"bestTrialSearcherMetric\":0.97,\"unmanaged\":false,"
    "\"duration\":3600,\"searcherMetric\":\"validation_accuracy\",\"pachydermIntegration\":null}";
#define MESSAGE_N (sizeof(message) - 1)

static _Noreturn void fail(const struct error *err)
{
    fprintf(stderr, "codec: %s\n", error_msg(err));
    exit(1);
}

static void report_time(const char *what, int64_t start_us)
{
    printf("%-40s %8.3f us\n", what, (double)(clock_monotonic_us() - start_us) / ROUNDS);
}

static void measure_codec(void)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    struct wire_experiment x = {0};
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < ROUNDS; i++) {
        arena_release(&a);
        memset(&x, 0, sizeof(x));
        if (codec_decode(&wire_msg_experiment, message, MESSAGE_N, &a, &x, &err) < 0)
            fail(&err);
    }
    report_time("decode", start);
    start = clock_monotonic_us();
    for (int i = 0; i < ROUNDS; i++) {
        strbuf_reset(&out);
        codec_encode(&wire_msg_experiment, &x, &out);
    }
    report_time("encode", start);
}

static void measure_trees(void)
{
    cleanup_error struct error err = ERROR_INIT;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    struct json_object *tree = NULL;
    int64_t start = clock_monotonic_us();
    for (int i = 0; i < ROUNDS; i++) {
        json_object_put(tree);
        if (json_parse(message, MESSAGE_N, &tree, &err) < 0)
            fail(&err);
    }
    report_time("parse to a tree with json-c", start);
    start = clock_monotonic_us();
    for (int i = 0; i < ROUNDS; i++) {
        strbuf_reset(&out);
        json_print(tree, &out);
    }
    report_time("print a tree with json-c", start);
    json_object_put(tree);
}

int main(void)
{
    measure_codec();
    measure_trees();
    return 0;
}
