#include "cmocka_setup.h"

#include <string.h>

#include "agent/python/python_order.h"
#include "common/base/cleanup.h"

static void test_order__is_read_as_it_was_written(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *extra[] = {"notebook", "tensorboard"};
    struct python_order o = {.settings = {.dir = "/c",
                                          .max_bytes = INT64_C(50) << 30,
                                          .wheels = "/w \"x\"",
                                          .index_url = "",
                                          .lists_dir = "/l",
                                          .only_wheels = true,
                                          .build_memory_bytes = INT64_C(3) << 30,
                                          .change_user = true,
                                          .uid = 4000000000u,
                                          .gid = 7,
                                          .http_proxy = "p",
                                          .https_proxy = "",
                                          .no_proxy = "n"},
                             .interpreter = "/usr/bin/python3",
                             .path = "/bin",
                             .requirements = "a\nb\n",
                             .extra = extra,
                             .extra_n = 2},
                        r;
    python_order_encode(&o, &text);
    assert_null(strchr(text.s, '\n'));
    assert_int_equal(python_order_decode(text.s, text.n, &a, &r, NULL), 0);
    assert_string_equal(r.settings.wheels, o.settings.wheels);
    assert_true(r.settings.build_memory_bytes == INT64_C(3) << 30);
    assert_true(r.settings.max_bytes == o.settings.max_bytes && r.settings.uid == o.settings.uid);
    assert_true(r.settings.only_wheels && r.settings.change_user);
    assert_string_equal(r.requirements, "a\nb\n");
    assert_int_equal(r.extra_n, 2);
    assert_string_equal(r.extra[1], "tensorboard");
}

static void test_place__is_read_as_it_was_written(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    const char *bin[] = {"/c/k/env/bin", "/usr/bin"}, *root[] = {"/c/k"}, *lock[] = {"/c/k.lock"};
    struct python_place p = {.interpreter = "/c/k/env/bin/python3",
                             .environment = "/c/k/env",
                             .bin = bin,
                             .bin_n = 2,
                             .root = root,
                             .root_n = 1,
                             .lock = lock,
                             .lock_n = 1},
                        r;
    python_place_encode(&p, &text);
    assert_int_equal(python_place_decode(text.s, text.n, &a, &r, NULL), 0);
    assert_string_equal(r.interpreter, p.interpreter);
    assert_int_equal(r.bin_n, 2);
    assert_string_equal(r.bin[1], "/usr/bin");
    assert_null(r.lock[1]); /* the list ends with NULL */
}

static void test_damaged_text__is_an_error(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct python_order o;
    struct python_place p;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(python_order_decode("{", 1, &a, &o, &err), -1);
    assert_int_equal(python_place_decode("[]", 2, &a, &p, &err), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order__is_read_as_it_was_written),
        cmocka_unit_test(test_place__is_read_as_it_was_written),
        cmocka_unit_test(test_damaged_text__is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
