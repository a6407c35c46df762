#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/files/override.h"

static void expect_override(const char *config, const char *key_value, const char *want)
{
    cleanup_json struct json_object *v = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    assert_int_equal(json_parse(config, strlen(config), &v, NULL), 0);
    assert_int_equal(override_apply(v, key_value, NULL), 0);
    json_print(v, &text);
    assert_string_equal(strbuf_str(&text), want);
}

static void test_override__sets_scalars_lists_and_objects(void **state)
{
    expect_override("{}", "name=x", "{\"name\":\"x\"}");
    expect_override("{}", "resources.slots_per_trial=2", "{\"resources\":{\"slots_per_trial\":2}}");
    expect_override("{\"a\":{\"b\":1,\"c\":2}}", "a.b=true", "{\"a\":{\"b\":true,\"c\":2}}");
    expect_override("{\"a\":null}", "a.b=1", "{\"a\":{\"b\":1}}");
    expect_override("{}", "labels=a,b,3", "{\"labels\":[\"a\",\"b\",3]}");
    expect_override("{}", "a=[1, {b: c}]", "{\"a\":[1,{\"b\":\"c\"}]}");
    expect_override("{\"a\":{\"b\":1}}", "a={c: 2}", "{\"a\":{\"b\":1,\"c\":2}}");
    expect_override("{}", "bind_mounts={host_path: /a, container_path: /b}",
                    "{\"bind_mounts\":[{\"host_path\":\"/a\",\"container_path\":\"/b\"}]}");
    expect_override("{}", "entrypoint=python3 train.py --x=1", "{\"entrypoint\":\"python3 train.py --x=1\"}");
}

static void test_override__wants_a_key_and_a_value(void **state)
{
    cleanup_json struct json_object *v = json_object_new_object();
    assert_int_equal(override_apply(v, "nonsense", NULL), -1);
    assert_int_equal(override_apply(v, "=1", NULL), -1);
    assert_int_equal(override_apply(v, "a=[1,", NULL), -1);
    assert_int_equal(json_object_object_length(v), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_override__sets_scalars_lists_and_objects),
        cmocka_unit_test(test_override__wants_a_key_and_a_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
