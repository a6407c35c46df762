/* Tests what is read of a message to /stream, which objects it wants, and which known ones it lacks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/updates/update_filter.h"
#include "common/base/cleanup.h"

static int read_text(const char *text, struct arena *a, struct update_request *ret, struct error *err)
{
    return update_request_read(text, strlen(text), a, ret, err);
}

static void missing(const char *known, const int32_t *id, size_t n, const char *expected)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct update_request r;
    const char *text = arena_printf(&a, "{\"known\": {\"projects\": \"%s\"}}", known);
    assert_int_equal(read_text(text, &a, &r, &err), 0);
    update_spec_missing(&r.kind[UPDATE_PROJECT], id, n, &out);
    assert_string_equal(strbuf_str(&out), expected);
}

static void test_missing__is_what_is_known_and_not_there(void **state)
{
    missing("", (int32_t[]){1}, 1, "");
    missing("1-5", NULL, 0, "1-5");
    missing("1-5", (int32_t[]){1, 2, 3, 4, 5}, 5, "");
    missing("1-5", (int32_t[]){3}, 1, "1-2,4-5");
    missing("1-5", (int32_t[]){1, 5}, 2, "2-4");
    missing("1-5,7,9-2147483647", (int32_t[]){2, 4, 7, 10, 2147483647}, 5, "1,3,5,9,11-2147483646");
    missing("3", (int32_t[]){1, 2, 4}, 3, "3");
}

static void test_wants__by_any_of_the_lists(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct update_request r;
    assert_int_equal(
        read_text(
            "{\"sync_id\": \"x\\\"y\", \"known\": {\"models\": \"2,4-6\"}, \"subscribe\": {\"models\": {\"model_ids\": [9, 3],"
            " \"workspace_ids\": [5], \"user_ids\": null, \"since\": 7}}}",
            &a, &r, &err),
        0);
    const struct update_spec *s = &r.kind[UPDATE_MODEL];
    assert_string_equal(r.sync_id, "\"x\\\"y\"");
    assert_int_equal(s->since, 7);
    assert_true(update_spec_wants(s, &(struct update_ids){{3, 1, 0, 1}}));
    assert_true(update_spec_wants(s, &(struct update_ids){{4, 5, 0, 1}}));
    assert_false(update_spec_wants(s, &(struct update_ids){{5, 9, 3, 9}}));
    assert_false(update_spec_wants(&r.kind[UPDATE_PROJECT], &(struct update_ids){{3, 5, 0, 1}}));
    for (int32_t id = 1; id <= 7; id++)
        assert_int_equal(update_spec_knows(s, id), id == 2 || (id >= 4 && id <= 6));
}

static void test_read__refuses_what_it_cannot_mean(void **state)
{
    static const char *const bad[] = {
        "",
        "7",
        "{\"known\": []}",
        "{\"subscribe\": []}",
        "{\"known\": {\"projects\": \"-3\"}}",
        "{\"known\": {\"projects\": \"3-\"}}",
        "{\"known\": {\"projects\": \"1,,2\"}}",
        "{\"known\": {\"projects\": \"1-3,3\"}}",
        "{\"known\": {\"projects\": \"2147483648\"}}",
        "{\"known\": {\"projects\": 7.5}}",
        "{\"subscribe\": {\"projects\": {\"project_ids\": 7}}}",
        "{\"subscribe\": {\"projects\": {\"project_ids\": [4294967297]}}}",
        "{\"subscribe\": {\"projects\": {\"project_ids\": [null]}}}",
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        cleanup_arena struct arena a = ARENA_INIT;
        cleanup_error struct error err = ERROR_INIT;
        struct update_request r;
        if (read_text(bad[i], &a, &r, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.kind, ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_missing__is_what_is_known_and_not_there),
        cmocka_unit_test(test_wants__by_any_of_the_lists),
        cmocka_unit_test(test_read__refuses_what_it_cannot_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
