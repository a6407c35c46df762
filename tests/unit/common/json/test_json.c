#include "cmocka_setup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"

static void expect_printed(const char *text, const char *expected)
{
    cleanup_json struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (json_parse(text, strlen(text), &v, &err) < 0)
        fail_msg("%s: %s", text, error_msg(&err));
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    json_print(v, &out);
    assert_string_equal(strbuf_str(&out), expected);
}

static void test_json__prints_what_it_read(void **state)
{
    static const char *const same[] = {
        "null",
        "true",
        "7",
        "-7",
        "1.50",
        "1e5",
        "\"a/b\"",
        "[]",
        "{}",
        "{\"b\":1,\"a\":[1,2,{\"c\":null}]}",
        "9223372036854775807",
        "18446744073709551615",
        "0",
        "-0.0",
    };
    for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++)
        expect_printed(same[i], same[i]);
    expect_printed(" { \"a\" :\t1 ,\r\n\"b\" : [ ] } ", "{\"a\":1,\"b\":[]}");
    expect_printed("\"\\u00e9\\ud83d\\ude00\"", "\"\xc3\xa9\xf0\x9f\x98\x80\"");
}

static void test_json__refuses_what_is_not_json_and_says_where(void **state)
{
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "line 1, column 1: expected a value, found the end"},
        {"{\"a\": 1,}", "line 1, column 9: expected a name in quotes, found }"},
        {"{'a': 1}", "line 1, column 2: expected a name in quotes, found 'a'"},
        {"[1\n, NaN]", "[1]: line 2, column 3: expected a value, found NaN"},
        {"{\"a\":{\"b\":[-Infinity]}}", "a.b[0]: line 1, column 12: expected a value, found -Infinity"},
        {"01", "line 1, column 1: expected a value, found 01"},
        {"1.", "line 1, column 1: expected a value, found 1."},
        {".5", "line 1, column 1: expected a value, found .5"},
        {"1e", "line 1, column 1: expected a value, found 1e"},
        {"+1", "line 1, column 1: expected a value, found +1"},
        {"[1 2]", "line 1, column 4: expected ',' or ']', found 2"},
        {"{\"a\" 1}", "line 1, column 6: expected ':', found 1"},
        {"{\"a\":1", "line 1, column 7: expected ',' or '}', found the end"},
        {"\"\xc3\xa9\tx\"", "line 1, column 3: expected no control character in a string, found  x\""},
        {"\"\\x\"", "line 1, column 3: expected an escape: one of \" \\ / b f n r t u, found x\""},
        {"\"\\u12g4\"", "line 1, column 6: expected four hexadecimal digits, found g4\""},
        {"\"abc", "line 1, column 5: expected the closing quote of a string, found the end"},
        {"/* c */ 1", "line 1, column 1: expected a value, found /*"},
        {"1 // c", "line 1, column 3: expected the end, found //"},
        {"nul", "line 1, column 1: expected a value, found nul"},
        {"\"\xff\"", "line 1, column 2: expected UTF-8, found a byte that is not UTF-8"},
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct json_object *v = NULL;
        cleanup_error struct error err = ERROR_INIT;
        if (json_parse(bad[i].text, strlen(bad[i].text), &v, &err) == 0)
            fail_msg("accepted: %s", bad[i].text);
        assert_int_equal(err.kind, ERR_INVALID);
        assert_string_equal(error_msg(&err), bad[i].message);
    }
}

static void test_json__refuses_the_101st_level(void **state)
{
    char text[203];
    memset(text, '[', 101);
    memset(text + 101, ']', 101);
    struct json_object *v = NULL;
    assert_int_equal(json_parse(text + 1, 200, &v, NULL), 0);
    json_object_put(v);
    assert_int_equal(json_parse(text, 202, &v, NULL), -1);
}

static void test_json__doubles_read_back_the_same_and_look_like_pythons(void **state)
{
    static const struct {
        double d;
        const char *text;
    } cases[] = {
        {0.1, "0.1"},
        {1, "1.0"},
        {-2.5, "-2.5"},
        {1e-4, "0.0001"},
        {1e-5, "1e-05"},
        {123456789.125, "123456789.125"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1.5e300, "1.5e+300"},
        {5e-324, "5e-324"},
        {0.1 + 0.2, "0.30000000000000004"},
        {0, "0.0"},
        {-0.0, "-0.0"},
        {INFINITY, "Infinity"},
        {-INFINITY, "-Infinity"},
        {NAN, "NaN"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[JSON_DOUBLE_MAX];
        json_format_double(cases[i].d, text);
        assert_string_equal(text, cases[i].text);
    }
}

static void test_json__sorted_print_is_that_of_python(void **state)
{
    const char *text =
        "{\"b\":[1,{\"y\":0.1,\"x\":[]}],\"a\":{},\"\\u00e9\":\"t\\u00e4b\\t\\u007f\\ud83d\\ude00\",\"B\":[null,true]}";
    cleanup_json struct json_object *v = NULL;
    assert_int_equal(json_parse(text, strlen(text), &v, NULL), 0);
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    json_print_sorted(v, 2, &out);
    assert_string_equal(strbuf_str(&out),
                        "{\n  \"B\": [\n    null,\n    true\n  ],\n  \"a\": {},\n  \"b\": [\n    1,\n    {\n"
                        "      \"x\": [],\n      \"y\": 0.1\n    }\n  ],\n"
                        "  \"\\u00e9\": \"t\\u00e4b\\t\\u007f\\ud83d\\ude00\"\n}");
}

static void test_json__texts_are_copied_and_what_is_no_text_is_empty(void **state)
{
    const char *text = "{\"one\":\"a\",\"number\":1,\"many\":[\"b\",null,2,\"c\"]}";
    cleanup_arena struct arena a = ARENA_INIT;
    struct json_object *v = NULL;
    size_t n = 0, none = 9;
    assert_int_equal(json_parse(text, strlen(text), &v, NULL), 0);
    const char *one = json_get_text(v, "one", &a), **many = json_get_texts(v, "many", &a, &n);
    assert_string_equal(json_get_text(v, "number", &a), "");
    assert_string_equal(json_get_text(v, "missing", &a), "");
    json_get_texts(v, "one", &a, &none);
    json_object_put(v);
    assert_string_equal(one, "a");
    assert_int_equal(n, 4);
    assert_string_equal(many[0], "b");
    assert_string_equal(many[1], "");
    assert_string_equal(many[2], "");
    assert_string_equal(many[3], "c");
    assert_null(many[4]);
    assert_int_equal(none, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_json__prints_what_it_read),
        cmocka_unit_test(test_json__refuses_what_is_not_json_and_says_where),
        cmocka_unit_test(test_json__refuses_the_101st_level),
        cmocka_unit_test(test_json__doubles_read_back_the_same_and_look_like_pythons),
        cmocka_unit_test(test_json__sorted_print_is_that_of_python),
        cmocka_unit_test(test_json__texts_are_copied_and_what_is_no_text_is_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
