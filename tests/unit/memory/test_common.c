/* Allocations that fail while messages, JSON and YAML are read and written. */
#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "failing.h"
#include "gen/wire.h"

static void require(bool holds)
{
    if (!holds)
        _Exit(3);
}

/* A page of experiments, each with labels, a document and nested messages. */
static void page_of_experiments(struct strbuf *out)
{
    strbuf_adds(out, "{\"experiments\":[");
    for (int i = 0; i < 200; i++)
        strbuf_addf(
            out,
            "%s{\"id\":%d,\"name\":\"digits \\u00e9 %d\",\"labels\":[\"a\",\"b\",\"c%d\"],\"state\":\"STATE_ACTIVE\","
            "\"startTime\":\"2026-01-02T03:04:05.678901Z\",\"trialIds\":[1,2,3],\"config\":{\"a\": {\"b\": [1, 2, {}]}},"
            "\"username\":\"u\",\"searcherMetric\":\"loss\",\"progress\":0.5}",
            i ? "," : "", i, i, i);
    strbuf_adds(out, "],\"pagination\":{\"offset\":0,\"limit\":200,\"total\":200}}");
}

static void read_and_write_message(void *ctx)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT, again = STRBUF_INIT;
    struct wire_get_experiments_response *msg = arena_new(&a, struct wire_get_experiments_response);
    (void)ctx;
    page_of_experiments(&text);
    require(codec_decode(&wire_msg_get_experiments_response, text.s, text.n, &a, msg, NULL) == 0);
    require(msg->experiments_n == 200 && strcmp(msg->experiments[199].labels[2], "c199") == 0);
    codec_encode(&wire_msg_get_experiments_response, msg, &again);
    require(again.n > text.n);
}

static void read_and_write_json(void *ctx)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, plain = STRBUF_INIT, sorted = STRBUF_INIT;
    struct json_object *tree cleanup_json = NULL;
    (void)ctx;
    page_of_experiments(&text);
    require(json_parse(text.s, text.n, &tree, NULL) == 0);
    json_print(tree, &plain);
    json_print_sorted(tree, 2, &sorted);
    require(plain.n > 0 && sorted.n > plain.n);
}

static const char yaml[] =
    "name: digits\nbase: &base {lr: 0.1, layers: [1, 2, 3], text: \"a\\tb\"}\nmerged: {<<: *base, lr: .inf}\n"
    "again: *base\nlist:\n  - x\n  - {y: 0x1f, z: 1_000}\nblock: |\n  one\n  two\nnothing: ~\nwhen: 2026-01-01\n";

static void read_and_write_yaml(void *ctx)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct json_object *tree cleanup_json = NULL;
    struct yaml_positions *positions;
    struct yaml_mark mark;
    (void)ctx;
    require(yaml_parse(yaml, sizeof(yaml) - 1, &tree, &positions, NULL) == 0);
    require(yaml_position(positions, "list[1].z", &mark) == 0 && mark.line == 7);
    yaml_positions_free(positions);
    yaml_print(tree, &text);
    require(text.n > 0);
}

static void test_codec__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("a page of 200 experiments, decoded and encoded", read_and_write_message, NULL, NULL);
}

static void test_json__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("the same as a tree of json-c", read_and_write_json, NULL, NULL);
}

static void test_yaml__ends_in_one_sentence_when_memory_does(void **state)
{
    (void)state;
    failing_sweep("YAML with anchors and merge keys", read_and_write_yaml, NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codec__ends_in_one_sentence_when_memory_does),
        cmocka_unit_test(test_json__ends_in_one_sentence_when_memory_does),
        cmocka_unit_test(test_yaml__ends_in_one_sentence_when_memory_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
