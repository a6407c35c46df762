#include "cmocka_setup.h"

#include <string.h>

#include "api/webhooks/webhook_payload.h"
#include "common/base/utf8.h"

static struct store_webhook_subject subject(void)
{
    return (struct store_webhook_subject){.id = 9,
                                          .name = "mnist",
                                          .state = "COMPLETED",
                                          .resource_pool = "gpu",
                                          .start_us = 1000000,
                                          .end_us = 3901000000,
                                          .project_id = 3,
                                          .project_name = "digits",
                                          .workspace_id = 2,
                                          .workspace_name = "vision",
                                          .config = "{\"resources\":{\"slots_per_trial\":4}}"};
}

static void test_default__has_the_keys_of_the_contract_in_their_order(void **state)
{
    const struct store_webhook_subject x = subject();
    const struct webhook_event e = {
        .event_id = "e", .now_us = 5000000, .base_url = "", .experiment = &x, .state = "COMPLETED"};
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    webhook_payload_default(&e, &out);
    assert_string_equal(
        strbuf_str(&out),
        "{\"event_id\":\"e\",\"event_type\":\"EXPERIMENT_STATE_CHANGE\",\"timestamp\":5,\"condition\":{\"state\":\"COMPLETED\"},"
        "\"event_data\":{\"experiment\":{\"id\":9,\"state\":\"COMPLETED\",\"name\":\"mnist\",\"duration\":3900,"
        "\"resource_pool\":\"gpu\",\"slots_per_trial\":4,\"workspace\":\"vision\",\"project\":\"digits\"}}}");
}

static void test_slack__tells_a_completed_experiment(void **state)
{
    const struct store_webhook_subject x = subject();
    const struct webhook_event e = {.event_id = "e",
                                    .now_us = 5000000,
                                    .base_url = "https://d",
                                    .experiment = &x,
                                    .state = "COMPLETED",
                                    .trial_id = 12};
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    webhook_payload_slack(&e, &out);
    static const char *const parts[] = {"\"Your experiment completed successfully 🎉\"",
                                        "\"#13B670\"",
                                        "\"✅ <https://d/det/experiments/9/overview | mnist (#9)>\"",
                                        "\"*Status*: Completed\"",
                                        "\"*Duration*: 1h 5min\"",
                                        "\"*Workspace*: <https://d/det/workspaces/2/projects | vision>\"",
                                        "\"*Project*: <https://d/det/projects/3 | digits>\"",
                                        "\"*Trial ID*: 12\""};
    const char *at = strbuf_str(&out);
    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
        assert_non_null(strstr(at, parts[i]));
}

static void test_slack__keeps_names_from_being_links(void **state)
{
    struct store_webhook_subject x = subject();
    x.name = "<!channel> & <http://x|y>";
    x.workspace_name = "<a>";
    const struct webhook_event e = {
        .event_id = "e", .base_url = "", .experiment = &x, .title = "<b>", .description = "&", .level = "INFO"};
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    webhook_payload_slack(&e, &out);
    assert_null(strchr(strbuf_str(&out), '<'));
    assert_non_null(strstr(strbuf_str(&out), "&lt;!channel&gt; &amp; &lt;http:"));
}

static void test_log__is_cut_between_characters_and_ends_no_quotation(void **state)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT, line = STRBUF_INIT;
    const struct store_webhook_task task = {.id = "7.1", .type = "TRIAL", .trial_id = 12, .experiment_id = 7};
    strbuf_adds(&line, "<``` ");
    for (int i = 0; i < 10000; i++)
        strbuf_adds(&line, "é");
    struct webhook_log_event e = {
        .event_id = "e", .base_url = "", .task = &task, .node_name = "n", .regex = "é", .line = strbuf_str(&line)};
    webhook_payload_log_slack(&e, &out);
    assert_true(out.n < 3500);
    assert_non_null(strstr(strbuf_str(&out), "```&lt;''' é"));
    assert_non_null(strstr(strbuf_str(&out), "é…```"));
    assert_non_null(strstr(strbuf_str(&out), "View full logs at /det/experiments/7/trials/12/logs\""));
    strbuf_reset(&out);
    webhook_payload_log_default(&e, &out);
    assert_int_equal(utf8_check(strbuf_str(&out), out.n), out.n);
    assert_true(out.n < 9000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default__has_the_keys_of_the_contract_in_their_order),
        cmocka_unit_test(test_slack__tells_a_completed_experiment),
        cmocka_unit_test(test_slack__keeps_names_from_being_links),
        cmocka_unit_test(test_log__is_cut_between_characters_and_ends_no_quotation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
