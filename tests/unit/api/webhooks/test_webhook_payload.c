#include "cmocka_setup.h"

#include <string.h>

#include "api/webhooks/webhook_payload.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_default__has_the_keys_of_the_contract_in_their_order),
        cmocka_unit_test(test_slack__tells_a_completed_experiment),
        cmocka_unit_test(test_slack__keeps_names_from_being_links),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
