/* Configurations without their secrets. */
#include "cmocka_setup.h"

#include <string.h>

#include "core/config/expconf_secrets.h"

static void expect_hidden(const char *json, const char *shown, const char *wanted)
{
    cleanup_arena struct arena a = ARENA_INIT;
    assert_string_equal(expconf_hide_secrets(json, shown, &a), wanted);
}

static void test_hide_secrets__puts_stars_or_null_in_the_place_of_each(void **state)
{
    static const char whole[] =
        "{\"checkpoint_storage\":{\"type\":\"s3\",\"bucket\":\"b\",\"access_key\":\"A\",\"secret_key\":\"\"},"
        "\"environment\":{\"registry_auth\":{\"username\":\"u\",\"password\":\"P\"}},"
        "\"data\":{\"secrets\":{\"a\":[1,\"x\",null],\"b\":{\"c\":true}},\"url\":\"here\"}}";
    expect_hidden(
        whole, "********",
        "{\"checkpoint_storage\":{\"type\":\"s3\",\"bucket\":\"b\",\"access_key\":\"********\",\"secret_key\":\"\"},"
        "\"environment\":{\"registry_auth\":{\"username\":\"u\",\"password\":\"********\"}},"
        "\"data\":{\"secrets\":{\"a\":[\"********\",\"********\",null],\"b\":{\"c\":\"********\"}},\"url\":\"here\"}}");
    expect_hidden("{\"checkpoint_storage\":{\"access_key\":\"A\",\"bucket\":\"b\"}}", NULL,
                  "{\"checkpoint_storage\":{\"access_key\":null,\"bucket\":\"b\"}}");
}

/* Documents that are not complete: the kind is given by another document, or is wrong. */
static void test_hide_secrets__of_a_kind_that_has_no_such_member(void **state)
{
    expect_hidden("{\"checkpoint_storage\":{\"type\":\"shared_fs\",\"access_key\":\"A\"}}", "*",
                  "{\"checkpoint_storage\":{\"type\":\"shared_fs\",\"access_key\":\"*\"}}");
}

static void test_hide_secrets__gives_the_text_itself_where_there_is_none(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    static const char *const none[] = {
        "{}",
        "{\"checkpoint_storage\":{\"type\":\"s3\",\"access_key\":null,\"secret_key\":null}}",
        "{\"hyperparameters\":{\"token_n\":5,\"my_access_key\":\"shown\"}}",
        "{\"log_policies\":[{\"pattern\":\"a\\\\d:\\\"b\"}]}",
    };
    for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
        assert_ptr_equal(expconf_hide_secrets(none[i], "*", &a), none[i]);
    assert_null(expconf_hide_secrets(NULL, "*", &a));
    assert_null(expconf_hide_secrets_yaml(NULL, &a));
}

/* A value is no secret because of its name alone. In other places such a member is shown. */
static void test_hide_secrets__elsewhere_the_same_names_mean_nothing(void **state)
{
    static const char json[] = "{\"hyperparameters\":{\"token\":\"shown\",\"password\":{\"val\":\"shown\"}}}";
    expect_hidden(json, "*", json);
}

static void test_hide_secrets__in_yaml_however_the_name_is_spelled(void **state)
{
    static const char *const spelled[] = {
        "checkpoint_storage:\n  access_key: XYZ\n",      "checkpoint_storage: {'access_key' :  XYZ}",
        "checkpoint_storage: {\"acc\\x65ss_key\": XYZ}", "checkpoint_storage:\n  ? access_key\n  : XYZ\n",
        "checkpoint_storage: {access_key: null-XYZ}",    "data:\n  secrets: [XYZ]\n",
    };
    cleanup_arena struct arena a = ARENA_INIT;
    for (size_t i = 0; i < sizeof(spelled) / sizeof(*spelled); i++) {
        const char *shown = expconf_hide_secrets_yaml(spelled[i], &a);
        assert_null(strstr(shown, "XYZ"));
        assert_non_null(strstr(shown, "********"));
    }
    /* the text cannot be parsed, so it may hold any secret */
    assert_string_equal(expconf_hide_secrets_yaml("access_key: [", &a), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hide_secrets__puts_stars_or_null_in_the_place_of_each),
        cmocka_unit_test(test_hide_secrets__of_a_kind_that_has_no_such_member),
        cmocka_unit_test(test_hide_secrets__gives_the_text_itself_where_there_is_none),
        cmocka_unit_test(test_hide_secrets__elsewhere_the_same_names_mean_nothing),
        cmocka_unit_test(test_hide_secrets__in_yaml_however_the_name_is_spelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
