#include "cmocka_setup.h"

#include <string.h>

#include "common/codec/route.h"
#include "gen/routes.h"
#include "gen/wire.h"

static struct arena arena;
static int drop_arena(void **state)
{
    arena_release(&arena);
    return 0;
}

static const char *found_route(const char *method, const char *path)
{
    struct route_match m;
    return route_find(routes, ROUTES_N, method, path, strlen(path), &arena, &m) < 0 ? "none" : m.route->rpc;
}

static void test_route__finds_each_route_of_the_contract_by_its_own_path(void **state)
{
    for (size_t i = 0; i < ROUTES_N; i++) {
        struct strbuf path cleanup_strbuf = STRBUF_INIT;
        for (size_t k = 0; k < routes[i].segment_n; k++)
            strbuf_addf(&path, "/%s", routes[i].segment[k].literal ? routes[i].segment[k].literal : "x~");
        assert_string_equal(found_route(routes[i].method, path.s), routes[i].rpc);
    }
}

static void test_route__literals_come_before_parameters(void **state)
{
    assert_string_equal(found_route("GET", "/api/v1/users/setting"), "GetUserSetting");
    assert_string_equal(found_route("GET", "/api/v1/users/7"), "GetUser");
    assert_string_equal(found_route("GET", "/api/v1/users/7/by-username"), "GetUserByUsername");
}

static void test_route__unknown_paths_and_wrong_methods_find_none(void **state)
{
    static const char *const paths[] = {"/api/v1/nope",
                                        "/",
                                        "",
                                        "api/v1/me",
                                        "//api/v1/me",
                                        "/api/v1",
                                        "/api/v1/me/x",
                                        "/api/v1//me",
                                        "/api/v1/agents/a:b",
                                        "/api/v1/agents/a%3Ab",
                                        "/api/v1/agents/a%2Fb",
                                        "/api/v1/agents/%zz",
                                        "/api/v1/agents/%4",
                                        "/api/v1/agents/%00",
                                        "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t"};
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
        assert_string_equal(found_route("GET", paths[i]), "none");
    assert_string_equal(found_route("DELETE", "/api/v1/agents"), "none");
    assert_string_equal(found_route("get", "/api/v1/agents"), "none");
}

static void test_route__a_trailing_slash_does_not_count(void **state)
{
    assert_string_equal(found_route("GET", "/api/v1/agents/"), "GetAgents");
    assert_string_equal(found_route("GET", "/api/v1/agents//"), "GetAgent");
}

static void test_route__a_colon_only_matters_in_the_last_segment(void **state)
{
    assert_string_equal(found_route("GET", "/api/v1/users/a:b/by-username"), "GetUserByUsername");
}

static const struct route_match *match_route(const char *method, const char *path)
{
    struct route_match *m = arena_new(&arena, struct route_match);
    assert_int_equal(route_find(routes, ROUTES_N, method, path, strlen(path), &arena, m), 0);
    return m;
}

static void test_route__parameters_come_decoded(void **state)
{
    const struct route_match *m = match_route("GET", "/api/v1/agents/a%20b+c/slots/%c3%bc");
    assert_int_equal(m->param_n, 2);
    assert_string_equal(m->param[0].name, "agentId");
    assert_string_equal(m->param[0].value, "a b+c");
    assert_string_equal(m->param[1].value, "\xc3\xbc");
}

static int bind_request(const struct route_match *m, const char *query, const char *body, void *ret, struct error *err)
{
    return route_bind(m, query, body, strlen(body), &arena, ret, err);
}

static void test_route__path_parameters_win_over_the_body(void **state)
{
    struct wire_report_trial_progress_request r = {0};
    assert_int_equal(bind_request(match_route("POST", "/api/v1/trials/5/progress"), "trialId=7",
                                  "{\"progress\":0.5,\"trialId\":9}", &r, NULL),
                     0);
    assert_int_equal(r.trial_id, 5);
    assert_true(r.progress == 0.5);
}

/* Observed: PATCH /api/v1/experiments/7 with {"id":3,…} is about experiment 7. */
static void test_route__a_body_may_be_one_field(void **state)
{
    struct wire_patch_experiment_request r = {0};
    assert_int_equal(bind_request(match_route("PATCH", "/api/v1/experiments/7"), NULL,
                                  "{\"id\":3,\"name\":\"x\",\"labels\":[\"a\"]}", &r, NULL),
                     0);
    assert_int_equal(r.experiment->id, 7);
    assert_string_equal(r.experiment->name, "x");
    struct wire_set_user_password_request p = {0};
    assert_int_equal(bind_request(match_route("POST", "/api/v1/users/3/password"), NULL, "\"pw\"", &p, NULL), 0);
    assert_int_equal(p.user_id, 3);
    assert_string_equal(p.password, "pw");
}

static void test_route__queries_are_decoded_and_bound(void **state)
{
    struct wire_get_experiments_request r = {0};
    assert_int_equal(bind_request(match_route("GET", "/api/v1/experiments"),
                                  "name=a%26b+c&&limit=5&labels=x%3Dy&labels=&pretty", "", &r, NULL),
                     0);
    assert_string_equal(r.name, "a&b c");
    assert_int_equal(r.limit, 5);
    assert_int_equal(r.labels_n, 2);
    assert_string_equal(r.labels[0], "x=y");
}

static void test_route__errors_name_the_parameter(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    struct wire_get_experiments_request r = {0};
    assert_int_equal(bind_request(match_route("GET", "/api/v1/experiments"), "limit=5&offset=%4", "", &r, &err), -1);
    assert_string_equal(error_msg(&err), "the query has a broken % escape in \"offset=%4\"");
    struct wire_get_experiment_request e = {0};
    assert_int_equal(bind_request(match_route("GET", "/api/v1/experiments/abc"), NULL, "", &e, &err), -1);
    assert_string_equal(error_msg(&err), "experimentId: expected a 32-bit integer, found \"abc\"");
    assert_int_equal(err.kind, ERR_INVALID);
}

static void test_route__a_get_ignores_its_body(void **state)
{
    struct wire_get_experiment_request e = {0};
    assert_int_equal(bind_request(match_route("GET", "/api/v1/experiments/4"), NULL, "{garbage", &e, NULL), 0);
    assert_int_equal(e.experiment_id, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_route__finds_each_route_of_the_contract_by_its_own_path),
        cmocka_unit_test(test_route__literals_come_before_parameters),
        cmocka_unit_test(test_route__unknown_paths_and_wrong_methods_find_none),
        cmocka_unit_test(test_route__a_trailing_slash_does_not_count),
        cmocka_unit_test(test_route__a_colon_only_matters_in_the_last_segment),
        cmocka_unit_test(test_route__parameters_come_decoded),
        cmocka_unit_test(test_route__path_parameters_win_over_the_body),
        cmocka_unit_test(test_route__a_body_may_be_one_field),
        cmocka_unit_test(test_route__queries_are_decoded_and_bound),
        cmocka_unit_test(test_route__errors_name_the_parameter),
        cmocka_unit_test(test_route__a_get_ignores_its_body),
    };
    return cmocka_run_group_tests(tests, NULL, drop_arena);
}
