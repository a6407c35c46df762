#include "cmocka_setup.h"

#include <math.h>
#include <string.h>

#include "common/codec/codec.h"
#include "common/json/json.h"
#include "gen/wire.h"

static struct arena arena;
static int drop_arena(void **state)
{
    arena_release(&arena);
    return 0;
}

static void *read_ok(const struct codec_message *m, const char *json)
{
    struct error err cleanup_error = ERROR_INIT;
    void *msg = arena_alloc(&arena, m->size);
    if (codec_decode(m, json, strlen(json), &arena, msg, &err) < 0)
        fail_msg("refused %s: %s", json, error_msg(&err));
    return msg;
}

static void assert_refused_n(const struct codec_message *m, const char *json, size_t n, const char *expected)
{
    struct error err cleanup_error = ERROR_INIT;
    void *msg = arena_alloc(&arena, m->size);
    if (codec_decode(m, json, n, &arena, msg, &err) == 0)
        fail_msg("accepted %s", json);
    assert_string_equal(error_msg(&err), expected);
    assert_int_equal(err.kind, ERR_INVALID);
}

static void assert_refused(const struct codec_message *m, const char *json, const char *expected)
{
    assert_refused_n(m, json, strlen(json), expected);
}

static const char *encoded_text(const struct codec_message *m, const void *msg)
{
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    codec_encode(m, msg, &b);
    return arena_strdup(&arena, b.s);
}

/* Reading `in` and writing it again gives `out`. */
static void assert_becomes(const struct codec_message *m, const char *in, const char *out)
{
    assert_string_equal(encoded_text(m, read_ok(m, in)), out);
}

/* --- out --- */

static void test_codec__writes_a_list_of_texts_as_it_would_its_elements(void **state)
{
    struct wire_agent agent[] = {{.id = "a"}, {.id = "b", .version = "1"}};
    struct wire_pagination page = {.total = 2};
    struct wire_get_agents_response response = {.agents = agent, .agents_n = 2, .pagination = &page},
                                    rest = {.pagination = &page};
    struct codec_text text[2];
    for (size_t i = 0; i < 2; i++) {
        text[i].s = encoded_text(&wire_msg_agent, &agent[i]);
        text[i].n = strlen(text[i].s);
    }
    for (response.agents_n = 0; response.agents_n <= 2; response.agents_n++) {
        struct strbuf b cleanup_strbuf = STRBUF_INIT;
        codec_encode_listing(&wire_msg_get_agents_response, &rest, "agents", text, response.agents_n, &b);
        assert_string_equal(b.s, encoded_text(&wire_msg_get_agents_response, &response));
    }
}

/* The observed pairs of the contract. */
static void test_codec__writes_zero_values_as_observed(void **state)
{
    struct wire_user_agent_user_group group = {0};
    struct wire_user user = {.agent_user_group = &group};
    assert_string_equal(encoded_text(&wire_msg_user, &user),
                        "{\"id\":0,\"username\":\"\",\"admin\":false,\"active\":false,\"agentUserGroup\":{},"
                        "\"displayName\":\"\",\"modifiedAt\":null,\"remote\":false}");
    struct wire_get_master_response master = {0};
    assert_string_equal(encoded_text(&wire_msg_get_master_response, &master),
                        "{\"version\":\"\",\"masterId\":\"\",\"clusterId\":\"\",\"clusterName\":\"\","
                        "\"telemetryEnabled\":false,\"ssoProviders\":[],\"externalLoginUri\":\"\","
                        "\"externalLogoutUri\":\"\",\"branding\":\"\",\"rbacEnabled\":false,"
                        "\"product\":\"PRODUCT_UNSPECIFIED\",\"featureSwitches\":[],\"userManagementEnabled\":false,"
                        "\"strictJobQueueControl\":false,\"hasCustomLogo\":false}");
}

static void test_codec__sorts_maps_and_quotes_64_bit_integers(void **state)
{
    struct wire_map_int64 resources[] = {{"b", 5}, {"a", INT64_MIN}};
    struct wire_checkpoint checkpoint = {.resources = resources, .resources_n = 2};
    assert_string_equal(encoded_text(&wire_msg_checkpoint, &checkpoint),
                        "{\"taskId\":\"\",\"uuid\":\"\",\"reportTime\":null,"
                        "\"resources\":{\"a\":\"-9223372036854775808\",\"b\":\"5\"},\"metadata\":null,"
                        "\"state\":\"STATE_UNSPECIFIED\",\"training\":null}");
}

static void test_codec__leaves_out_only_unset_optional_fields(void **state)
{
    struct wire_user_agent_user_group group = {.has_agent_uid = true};
    assert_string_equal(encoded_text(&wire_msg_user_agent_user_group, &group), "{\"agentUid\":0}");
    struct wire_job_queue_control control = {.job_id = "j", .has_priority = true, .priority = 7};
    assert_string_equal(encoded_text(&wire_msg_job_queue_control, &control), "{\"jobId\":\"j\",\"priority\":7}");
}

static void test_codec__writes_numbers_times_and_unknown_enums(void **state)
{
    struct wire_experiment x = {.has_progress = true,
                                .progress = NAN,
                                .has_start_time = true,
                                .start_time = 1500000,
                                .state = (enum wire_experiment_state)99,
                                .config = "{\"raw\":[1]}",
                                .name = "<&>"};
    const char *out = encoded_text(&wire_msg_experiment, &x);
    assert_non_null(strstr(out, "\"startTime\":\"1970-01-01T00:00:01.500Z\""));
    assert_non_null(strstr(out, "\"progress\":\"NaN\""));
    assert_non_null(strstr(out, "\"state\":99"));
    assert_non_null(strstr(out, "\"config\":{\"raw\":[1]}"));
    assert_non_null(strstr(out, "\"name\":\"\\u003c\\u0026\\u003e\""));
    x.progress = -INFINITY;
    assert_non_null(strstr(encoded_text(&wire_msg_experiment, &x), "\"progress\":\"-Infinity\""));
}

/* --- in --- */

static void test_codec__reads_both_spellings_and_skips_what_it_does_not_know(void **state)
{
    struct wire_report_trial_progress_request *r =
        read_ok(&wire_msg_report_trial_progress_request,
                " {\"progress\" : 0.5, \"is_raw\":true,\"trialId\":9,\"zzz\":{\"a\":[1,{}],\"b\":null},\"\":[]} \n");
    assert_true(r->progress == 0.5 && r->is_raw && r->trial_id == 9);
    r = read_ok(&wire_msg_report_trial_progress_request, "{\"isRaw\":true,\"trial_id\":10}");
    assert_true(r->is_raw && r->trial_id == 10);
}

static void test_codec__an_empty_body_is_an_empty_message(void **state)
{
    static const char *const empty[] = {"", "  \n", "{}", "null", " { } "};
    for (size_t i = 0; i < sizeof(empty) / sizeof(*empty); i++) {
        struct wire_report_trial_progress_request *r = read_ok(&wire_msg_report_trial_progress_request, empty[i]);
        assert_int_equal(r->trial_id, 0);
    }
}

static void test_codec__null_means_unset(void **state)
{
    struct wire_experiment_patch_experiment *p =
        read_ok(&wire_msg_experiment_patch_experiment,
                "{\"id\":null,\"name\":null,\"labels\":[],\"resources\":null,\"notes\":\"\"}");
    assert_int_equal(p->id, 0);
    assert_null(p->name);
    assert_null(p->resources);
    assert_string_equal(p->labels, "[]");
    assert_string_equal(p->notes, "");
    struct wire_get_experiments_request *g = read_ok(&wire_msg_get_experiments_request,
                                                     "{\"archived\":null,\"states\":null}");
    assert_false(g->has_archived);
    assert_int_equal(g->states_n, 0);
    g = read_ok(&wire_msg_get_experiments_request, "{\"archived\":false}");
    assert_true(g->has_archived && !g->archived);
}

static void test_codec__of_a_name_that_comes_twice_the_last_counts(void **state)
{
    struct wire_experiment *x =
        read_ok(&wire_msg_experiment,
                "{\"id\":1,\"labels\":[\"a\",\"b\"],\"progress\":1,\"labels\":[\"c\"],\"id\":2,\"progress\":null}");
    assert_int_equal(x->id, 2);
    assert_int_equal(x->labels_n, 1);
    assert_string_equal(x->labels[0], "c");
    assert_false(x->has_progress);
    struct wire_checkpoint *c = read_ok(&wire_msg_checkpoint, "{\"resources\":{\"b\":1,\"a\":2,\"b\":3}}");
    assert_int_equal(c->resources_n, 2);
    assert_string_equal(c->resources[0].key, "a");
    assert_string_equal(c->resources[1].key, "b");
    assert_int_equal(c->resources[1].value, 3);
}

static void test_codec__numbers_may_be_quoted_and_integral_in_any_form(void **state)
{
    struct wire_experiment *x = read_ok(
        &wire_msg_experiment,
        "{\"id\":\"7\",\"numTrials\":1.0,\"user_id\":12e2,\"projectId\":-0,\"checkpointSize\":9223372036854775807,"
        "\"progress\":\"0.25\"}");
    assert_int_equal(x->id, 7);
    assert_int_equal(x->num_trials, 1);
    assert_int_equal(x->user_id, 1200);
    assert_int_equal(x->project_id, 0);
    assert_true(x->checkpoint_size == INT64_MAX);
    assert_true(x->progress == 0.25);
    struct wire_report_trial_progress_request *r = read_ok(&wire_msg_report_trial_progress_request,
                                                           "{\"progress\":\"Nan\"}");
    assert_true(isnan(r->progress));
    r = read_ok(&wire_msg_report_trial_progress_request, "{\"progress\":\"-Infinity\"}");
    assert_true(isinf(r->progress) && r->progress < 0);
}

static void test_codec__enums_by_name_or_number(void **state)
{
    struct wire_get_experiments_request *g =
        read_ok(&wire_msg_get_experiments_request,
                "{\"states\":[\"STATE_ACTIVE\",2,\"STATE_ERROR\"],\"orderBy\":\"ORDER_BY_DESC\"}");
    assert_int_equal(g->states_n, 3);
    assert_int_equal(g->states[0], WIRE_EXPERIMENT_STATE_ACTIVE);
    assert_int_equal(g->states[1], WIRE_EXPERIMENT_STATE_PAUSED);
    assert_int_equal(g->order_by, WIRE_ORDER_BY_DESC);
    assert_refused(&wire_msg_get_experiments_request, "{\"states\":[\"STATE_ACTIVE\",\"ACTIVE\"]}",
                   "states[1]: \"ACTIVE\" is not a valid experiment.v1.State");
    assert_refused(&wire_msg_get_experiments_request, "{\"states\":[4711]}", "states[0]: expected a name, found 4711");
}

static void test_codec__strings_are_unescaped(void **state)
{
    struct wire_experiment *x = read_ok(
        &wire_msg_experiment,
        "{\"na\\u006de\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fc\\u20ac\\ud83d\\ude00 gr\xc3\xbcn\",\"notes\":\"\\u0000|\\ud800|\\udc00\\ud800\\u0041\"}");
    assert_string_equal(x->name, "\"\\/\b\f\n\r\t\xc3\xbc\xe2\x82\xac\xf0\x9f\x98\x80 gr\xc3\xbcn");
    assert_string_equal(x->notes, "\xef\xbf\xbd|\xef\xbf\xbd|\xef\xbf\xbd\xef\xbf\xbd"
                                  "A");
}

static void test_codec__texts_of_logs_keep_u0000(void **state)
{
    struct wire_task_log *l = read_ok(&wire_msg_task_log, "{\"taskId\":\"a\\u0000b\",\"log\":\"a\\u0000b\\u0000\"}");
    assert_string_equal(l->task_id, "a\xef\xbf\xbd"
                                    "b");
    assert_string_equal(l->log, "a\xc0\x80"
                                "b\xc0\x80");
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    codec_encode(&wire_msg_task_log, l, &out);
    assert_non_null(strstr(out.s, "\"log\":\"a\\u0000b\\u0000\""));
    assert_refused(&wire_msg_task_log, "{\"log\":\"a\xc0\x80\"}",
                   "log: not valid JSON: line 1, column 10: expected UTF-8, found a byte that is not UTF-8");
}

static void test_codec__bytes_and_times(void **state)
{
    struct wire_util_file *f = read_ok(&wire_msg_util_file,
                                       "{\"path\":\"a\",\"content\":\"aGk\\/Pw==\",\"mtime\":\"5\"}");
    assert_int_equal(f->content.n, 4);
    assert_memory_equal(f->content.data, "hi??", 4);
    f = read_ok(&wire_msg_util_file, "{\"content\":\"\"}");
    assert_int_equal(f->content.n, 0);
    assert_refused(&wire_msg_util_file, "{\"content\":\"a b=\"}",
                   "content: expected a string of base64, found \"a b=\"");
    struct wire_experiment *x = read_ok(&wire_msg_experiment, "{\"startTime\":\"1970-01-01T01:00:00.000001+01:00\"}");
    assert_true(x->has_start_time && x->start_time == 1);
    assert_refused(&wire_msg_experiment, "{\"startTime\":\"yesterday\"}",
                   "startTime: expected a time such as 2026-11-21T07:12:01.5Z, found \"yesterday\"");
}

static void test_codec__raw_json_is_checked_and_kept_on_one_line(void **state)
{
    struct wire_experiment *x =
        read_ok(&wire_msg_experiment,
                "{\"config\": {\n \"a b\" : [ 1 , \" x\\\" \\\\\" ] ,\t\"c\" : null } ,\"hyperparameters\":{}}");
    assert_string_equal(x->config, "{\"a b\":[1,\" x\\\" \\\\\"],\"c\":null}");
    assert_string_equal(x->hyperparameters, "{}");
    assert_refused(&wire_msg_experiment, "{\"config\":[1]}", "config: expected an object, found a list");
    assert_refused(&wire_msg_experiment, "{\"config\":{\"a\":[1,tru]}}",
                   "config.a[1]: not valid JSON: line 1, column 19: expected a value, found tru");
    assert_refused(&wire_msg_experiment_patch_experiment, "{\"labels\":{}}",
                   "labels: expected a list, found an object");
}

static void test_codec__errors_name_the_path_and_what_was_found(void **state)
{
    const struct codec_message *m = &wire_msg_create_experiment_request, *e = &wire_msg_get_experiment_response;
    assert_refused(e, "{\"experiment\":{\"labels\":[\"a\",\"b\",7]}}",
                   "experiment.labels[2]: expected a string, found 7");
    assert_refused(e, "{\"experiment\":[]}", "experiment: expected an object, found a list");
    assert_refused(e, "{\"experiment\":{\"labels\":{}}}", "experiment.labels: expected a list, found an object");
    assert_refused(e, "{\"experiment\":{\"labels\":[null]}}", "experiment.labels[0]: expected a string, found null");
    assert_refused(e, "{\"experiment\":{\"archived\":\"true\"}}",
                   "experiment.archived: expected true or false, found \"true\"");
    assert_refused(e, "{\"experiment\":{\"archived\":1}}", "experiment.archived: expected true or false, found 1");
    assert_refused(e, "{\"experiment\":{\"id\":3000000000}}",
                   "experiment.id: expected a 32-bit integer, found 3000000000");
    assert_refused(e, "{\"experiment\":{\"id\":1.5}}", "experiment.id: expected a 32-bit integer, found 1.5");
    assert_refused(e, "{\"experiment\":{\"id\":\" 1\"}}", "experiment.id: expected a 32-bit integer, found \" 1\"");
    assert_refused(e, "{\"experiment\":{\"id\":\"\"}}", "experiment.id: expected a 32-bit integer, found \"\"");
    assert_refused(e, "{\"experiment\":{\"id\":{}}}", "experiment.id: expected a 32-bit integer, found an object");
    assert_refused(e, "{\"experiment\":{\"progress\":1e999}}", "experiment.progress: expected a number, found 1e999");
    assert_refused(e, "{\"experiment\":{\"name\":true}}", "experiment.name: expected a string, found true");
    assert_refused(m, "[]", "expected an object, found a list");
    assert_refused(m, "7", "expected an object, found 7");
    assert_refused(&wire_msg_checkpoint, "{\"resources\":{\"a\":\"x\"}}",
                   "resources.a: expected a 64-bit integer, found \"x\"");
    assert_refused(&wire_msg_checkpoint, "{\"resources\":[]}", "resources: expected an object, found a list");
    assert_refused(&wire_msg_get_model_versions_response, "{\"modelVersions\":[{},3]}",
                   "modelVersions[1]: expected an object, found 3");
}

static void test_codec__errors_of_syntax_name_line_and_column(void **state)
{
    const struct codec_message *m = &wire_msg_experiment;
    assert_refused(m, "{bad", "not valid JSON: line 1, column 2: expected a name in quotes, found bad");
    assert_refused(m, "{\n  \"id\": 1,\n  \"x\" 2}", "not valid JSON: line 3, column 7: expected ':', found 2");
    assert_refused(m, "{\"id\":1,}", "not valid JSON: line 1, column 9: expected a name in quotes, found }");
    assert_refused(m, "{\"labels\":[\"a\",]}",
                   "labels[1]: not valid JSON: line 1, column 16: expected a value, found ]");
    assert_refused(m, "{\"labels\":[\"a\" \"b\"]}",
                   "labels: not valid JSON: line 1, column 16: expected ',' or ']', found \"b\"");
    assert_refused(m, "{\"id\":1} x", "not valid JSON: line 1, column 10: expected the end, found x");
    assert_refused(m, "{\"id\":01}", "id: not valid JSON: line 1, column 7: expected a value, found 01");
    assert_refused(m, "{\"id\":+1}", "id: not valid JSON: line 1, column 7: expected a value, found +1");
    assert_refused(m, "{\"id\":'1'}", "id: not valid JSON: line 1, column 7: expected a value, found '1'");
    assert_refused(m, "{\"id\":NaN}", "id: not valid JSON: line 1, column 7: expected a value, found NaN");
    assert_refused(m, "{\"name\":\"a",
                   "name: not valid JSON: line 1, column 11: expected the closing quote of a string, found the end");
    assert_refused(m, "{\"name\":\"a\nb\"}",
                   "name: not valid JSON: line 1, column 11: expected no control character in a string, found  b\"");
    assert_refused(
        m, "{\"name\":\"\\x\"}",
        "name: not valid JSON: line 1, column 11: expected an escape: one of \" \\ / b f n r t u, found x\"");
    assert_refused(m, "{\"name\":\"\\u12g4\"}",
                   "name: not valid JSON: line 1, column 14: expected four hexadecimal digits, found g4\"");
    assert_refused(m, "{\"name\":\"a\xff\"}",
                   "name: not valid JSON: line 1, column 11: expected UTF-8, found a byte that is not UTF-8");
    assert_refused(m, "{\"archived\":truth}",
                   "archived: not valid JSON: line 1, column 13: expected a value, found truth");
}

static void test_codec__a_nul_byte_is_no_end_of_the_text(void **state)
{
    assert_refused_n(&wire_msg_experiment, "{}\0", 3, "not valid JSON: line 1, column 3: expected the end, found  ");
    assert_refused_n(&wire_msg_experiment, "\0{}", 3, "not valid JSON: line 1, column 1: expected an object, found  {");
}

static void fill_with(char *p, const char *piece, int times)
{
    for (int i = 0; i < times; i++, p += strlen(piece))
        memcpy(p, piece, strlen(piece));
}

static void test_codec__nesting_ends_at_100_levels(void **state)
{
    char json[300] = "{\"unknown\":";
    size_t n = strlen(json);
    fill_with(json + n, "[", 99);
    fill_with(json + n + 99, "]", 99);
    fill_with(json + n + 198, "}", 1);
    json[n + 199] = '\0';
    read_ok(&wire_msg_experiment, json);
    fill_with(json + n, "[", 100);
    struct error err cleanup_error = ERROR_INIT;
    struct wire_experiment x = {0};
    assert_int_equal(codec_decode(&wire_msg_experiment, json, strlen(json), &arena, &x, &err), -1);
    assert_non_null(strstr(error_msg(&err), "nested deeper than 100 levels"));
}

static void test_codec__memory_stays_in_proportion_to_the_text(void **state)
{
    enum { ELEMENTS = 200000 };
    struct arena a cleanup_arena = ARENA_INIT;
    struct strbuf json cleanup_strbuf = STRBUF_INIT;
    strbuf_adds(&json, "{\"experiments\":[{}");
    for (int i = 0; i < ELEMENTS; i++)
        strbuf_adds(&json, ",{}");
    strbuf_adds(&json, "]}");
    struct error err cleanup_error = ERROR_INIT;
    struct wire_get_experiments_response r = {0};
    assert_int_equal(codec_decode(&wire_msg_get_experiments_response, json.s, json.n, &a, &r, &err), -1);
    assert_int_equal(err.kind, ERR_TOO_LARGE);
    assert_true(a.total <= 32 * json.n + (1 << 20));
}

static void test_codec__one_field_may_be_the_whole_document(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    struct wire_set_user_password_request r = {.user_id = 3};
    const struct codec_message *m = &wire_msg_set_user_password_request;
    const struct codec_field *f = codec_field_by_name(m, "password", 8);
    assert_int_equal(codec_decode_field(m, f, "\"pw\" ", 5, &arena, &r, &err), 0);
    assert_string_equal(r.password, "pw");
    assert_int_equal(r.user_id, 3);
    assert_int_equal(codec_decode_field(m, f, "", 0, &arena, &r, &err), 0);
    assert_int_equal(codec_decode_field(m, f, "7", 1, &arena, &r, &err), -1);
    assert_string_equal(error_msg(&err), "password: expected a string, found 7");
}

static void test_codec__field_masks_are_ordinary_messages(void **state)
{
    struct wire_patch_master_config_request *r = read_ok(&wire_msg_patch_master_config_request,
                                                         "{\"fieldMask\":{\"paths\":[\"log\"]}}");
    assert_string_equal(r->field_mask->paths[0], "log");
    assert_refused(&wire_msg_patch_master_config_request, "{\"fieldMask\":\"log.level\"}",
                   "fieldMask: expected an object, found \"log.level\"");
}

static void test_codec__what_it_wrote_it_reads_and_writes_again(void **state)
{
    assert_becomes(&wire_msg_job_queue_control, "{\"weight\":0.1,\"jobId\":\"x\"}", "{\"jobId\":\"x\",\"weight\":0.1}");
    assert_becomes(
        &wire_msg_checkpoint,
        "{\"state\":2,\"metadata\":{\"z\":1,\"a\":[]},\"resources\":{\"b\":\"1\",\"a\":\"2\"},\"uuid\":\"u\",\"taskId\":\"t\","
        "\"reportTime\":\"2026-01-02T03:04:05.670Z\"}",
        "{\"taskId\":\"t\",\"uuid\":\"u\",\"reportTime\":\"2026-01-02T03:04:05.670Z\","
        "\"resources\":{\"a\":\"2\",\"b\":\"1\"},\"metadata\":{\"z\":1,\"a\":[]},\"state\":\"STATE_COMPLETED\","
        "\"training\":null}");
}

static void test_codec__every_message_of_the_contract_survives_empty(void **state)
{
    for (size_t i = 0; i < WIRE_MESSAGES_N; i++) {
        const struct codec_message *m = wire_messages[i];
        struct json_object *tree cleanup_json = NULL;
        const char *json = encoded_text(m, arena_alloc(&arena, m->size));
        assert_int_equal(json_parse(json, strlen(json), &tree, NULL), 0);
        assert_becomes(m, json, json);
    }
}

/* --- path and query --- */

static void bind_ok(const struct codec_message *m, void *msg, const char *name, const char *value)
{
    struct error err cleanup_error = ERROR_INIT;
    if (codec_bind(m, msg, name, value, &arena, &err) < 0)
        fail_msg("%s=%s: %s", name, value, error_msg(&err));
}

static void assert_bind_refused(const struct codec_message *m, const char *name, const char *value,
                                const char *expected)
{
    struct error err cleanup_error = ERROR_INIT;
    void *msg = arena_alloc(&arena, m->size);
    if (codec_bind(m, msg, name, value, &arena, &err) == 0)
        fail_msg("accepted %s=%s", name, value);
    assert_string_equal(error_msg(&err), expected);
    assert_int_equal(err.kind, ERR_INVALID);
}

/* The observed request of the contract. */
static void test_codec__binds_a_query_as_observed(void **state)
{
    static const char *const query[][2] = {
        {"limit", "0x10"},          {"offset", "-1"},
        {"states", "STATE_ACTIVE"}, {"states", "2"},
        {"labels", "a,b"},          {"labels", "c"},
        {"archived", "true"},       {"unknown", "3"},
        {"sort_by", "SORT_BY_ID"},  {"experimentIdFilter.incl", "3"},
        {"no.such", "1"},           {"showTrialData", "T"},
        {"userIds", "1"},           {"userIds", "2"},
        {"userIds", "3"},           {"userIds", "4"},
        {"userIds", "5"},
    };
    const struct codec_message *m = &wire_msg_get_experiments_request;
    struct wire_get_experiments_request r = {0};
    for (size_t i = 0; i < sizeof(query) / sizeof(*query); i++)
        bind_ok(m, &r, query[i][0], query[i][1]);
    assert_int_equal(r.limit, 16);
    assert_int_equal(r.offset, -1);
    assert_int_equal(r.states_n, 2);
    assert_int_equal(r.states[1], WIRE_EXPERIMENT_STATE_PAUSED);
    assert_int_equal(r.labels_n, 2);
    assert_string_equal(r.labels[0], "a,b");
    assert_true(r.has_archived && r.archived);
    assert_int_equal(r.sort_by, WIRE_GET_EXPERIMENTS_REQUEST_SORT_BY_ID);
    assert_int_equal(r.experiment_id_filter->incl_n, 1);
    assert_int_equal(r.experiment_id_filter->incl[0], 3);
    assert_true(r.show_trial_data);
    assert_int_equal(r.user_ids_n, 5);
    assert_int_equal(r.user_ids[4], 5);
}

static void test_codec__bind_refuses_bad_values_by_name(void **state)
{
    const struct codec_message *m = &wire_msg_get_experiments_request;
    assert_bind_refused(m, "states", "ACTIVE", "states: \"ACTIVE\" is not a valid experiment.v1.State");
    assert_bind_refused(m, "limit", "abc", "limit: expected a 32-bit integer, found \"abc\"");
    assert_bind_refused(m, "limit", "", "limit: expected a 32-bit integer, found \"\"");
    assert_bind_refused(m, "limit", "1.0", "limit: expected a 32-bit integer, found \"1.0\"");
    assert_bind_refused(m, "limit", "3000000000", "limit: expected a 32-bit integer, found \"3000000000\"");
    assert_bind_refused(m, "archived", "1", "archived: expected true or false, found \"1\"");
    assert_bind_refused(m, "showTrialData", "yes", "showTrialData: expected true or false, found \"yes\"");
    assert_bind_refused(m, "experimentIdFilter.incl", "x",
                        "experimentIdFilter.incl: expected a 32-bit integer, found \"x\"");
    assert_bind_refused(m, "experimentIdFilter", "x", "experimentIdFilter: cannot be given in a query");
    assert_bind_refused(m, "name", "\xff", "name: not valid UTF-8");
    assert_bind_refused(&wire_msg_checkpoint, "resources", "x", "resources: cannot be given in a query");
    assert_bind_refused(&wire_msg_checkpoint, "metadata", "{}", "metadata: cannot be given in a query");
}

static void test_codec__bind_reads_the_other_types(void **state)
{
    struct wire_report_trial_progress_request r = {0};
    bind_ok(&wire_msg_report_trial_progress_request, &r, "progress", "-2.5e-1");
    assert_true(r.progress == -0.25);
    bind_ok(&wire_msg_report_trial_progress_request, &r, "progress", "NaN");
    assert_true(isnan(r.progress));
    struct wire_experiment x = {0};
    bind_ok(&wire_msg_experiment, &x, "start_time", "1970-01-01T00:00:01Z");
    bind_ok(&wire_msg_experiment, &x, "checkpointSize", "-0b101");
    bind_ok(&wire_msg_experiment, &x, "forkedFrom", "010");
    assert_true(x.has_start_time && x.start_time == 1000000);
    assert_true(x.checkpoint_size == -5);
    assert_true(x.has_forked_from && x.forked_from == 8);
}

static void test_codec__lists_of_a_message_have_a_length(void **state)
{
    cleanup_error struct error scalars = ERROR_INIT, inner = ERROR_INIT, messages = ERROR_INIT;
    struct wire_kill_experiments_request *k = read_ok(&wire_msg_kill_experiments_request,
                                                      "{\"experimentIds\":[1,2,3]}");
    assert_int_equal(codec_check_lists(&wire_msg_kill_experiments_request, k, 3, 0, NULL), 0);
    assert_int_equal(codec_check_lists(&wire_msg_kill_experiments_request, k, 2, 9, &scalars), -1);
    assert_string_equal(error_msg(&scalars), "experimentIds: 3 elements, at most 2 are allowed in one request");
    k = read_ok(&wire_msg_kill_experiments_request, "{\"filters\":{\"excludedExperimentIds\":[1,2,3]}}");
    assert_int_equal(codec_check_lists(&wire_msg_kill_experiments_request, k, 2, 9, &inner), -1);
    assert_string_equal(error_msg(&inner), "excludedExperimentIds: 3 elements, at most 2 are allowed in one request");
    struct wire_create_experiment_request *c = read_ok(&wire_msg_create_experiment_request,
                                                       "{\"modelDefinition\":[{},{}]}");
    assert_int_equal(codec_check_lists(&wire_msg_create_experiment_request, c, 0, 2, NULL), 0);
    assert_int_equal(codec_check_lists(&wire_msg_create_experiment_request, c, 9, 1, &messages), -1);
}

static void test_codec__stops_where_the_arena_says(void **state)
{
    cleanup_arena struct arena a = {.decoded_max = 4096};
    cleanup_error struct error err = ERROR_INIT;
    struct wire_create_experiment_request in = {0};
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, "{\"modelDefinition\":[{}");
    for (int i = 0; i < 1000; i++)
        strbuf_adds(&text, ",{}");
    strbuf_adds(&text, "]}");
    assert_int_equal(codec_decode(&wire_msg_create_experiment_request, text.s, text.n, &a, &in, &err), -1);
    assert_int_equal(err.kind, ERR_TOO_LARGE);
    assert_true(a.total <= 4096);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_codec__writes_zero_values_as_observed),
        cmocka_unit_test(test_codec__sorts_maps_and_quotes_64_bit_integers),
        cmocka_unit_test(test_codec__leaves_out_only_unset_optional_fields),
        cmocka_unit_test(test_codec__writes_numbers_times_and_unknown_enums),
        cmocka_unit_test(test_codec__reads_both_spellings_and_skips_what_it_does_not_know),
        cmocka_unit_test(test_codec__an_empty_body_is_an_empty_message),
        cmocka_unit_test(test_codec__null_means_unset),
        cmocka_unit_test(test_codec__of_a_name_that_comes_twice_the_last_counts),
        cmocka_unit_test(test_codec__numbers_may_be_quoted_and_integral_in_any_form),
        cmocka_unit_test(test_codec__enums_by_name_or_number),
        cmocka_unit_test(test_codec__strings_are_unescaped),
        cmocka_unit_test(test_codec__texts_of_logs_keep_u0000),
        cmocka_unit_test(test_codec__bytes_and_times),
        cmocka_unit_test(test_codec__raw_json_is_checked_and_kept_on_one_line),
        cmocka_unit_test(test_codec__errors_name_the_path_and_what_was_found),
        cmocka_unit_test(test_codec__errors_of_syntax_name_line_and_column),
        cmocka_unit_test(test_codec__a_nul_byte_is_no_end_of_the_text),
        cmocka_unit_test(test_codec__nesting_ends_at_100_levels),
        cmocka_unit_test(test_codec__memory_stays_in_proportion_to_the_text),
        cmocka_unit_test(test_codec__one_field_may_be_the_whole_document),
        cmocka_unit_test(test_codec__field_masks_are_ordinary_messages),
        cmocka_unit_test(test_codec__what_it_wrote_it_reads_and_writes_again),
        cmocka_unit_test(test_codec__every_message_of_the_contract_survives_empty),
        cmocka_unit_test(test_codec__binds_a_query_as_observed),
        cmocka_unit_test(test_codec__writes_a_list_of_texts_as_it_would_its_elements),
        cmocka_unit_test(test_codec__bind_refuses_bad_values_by_name),
        cmocka_unit_test(test_codec__lists_of_a_message_have_a_length),
        cmocka_unit_test(test_codec__stops_where_the_arena_says),
        cmocka_unit_test(test_codec__bind_reads_the_other_types),
    };
    return cmocka_run_group_tests(tests, NULL, drop_arena);
}
