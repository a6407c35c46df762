#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "cli/terminal/formats.h"

static void expect_csv(const struct table *t, const char *want)
{
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    table_print_csv(t, /* titles= */ true, f);
    fclose(f);
    assert_string_equal(text, want);
    free(text);
}

static void expect_document_as_csv(const char *json, const char *want)
{
    cleanup_table struct table t = TABLE_INIT;
    cleanup_json struct json_object *v = NULL;
    assert_int_equal(json_parse(json, strlen(json), &v, NULL), 0);
    table_of_document(v, &t);
    expect_csv(&t, want);
}

static void test_formats__a_list_has_the_names_of_all_its_items(void **state)
{
    expect_document_as_csv("[{\"b\":1,\"a\":\"x,y\"},{\"c\":[1,{\"d\":null}],\"a\":null,\"b\":true}]",
                           "a,b,c\r\n\"x,y\",1,\r\n,true,\"[1,{\"\"d\"\":null}]\"\r\n");
}

static void test_formats__an_object_around_a_list_stands_for_the_list(void **state)
{
    expect_document_as_csv("{\"jobs\":[{\"id\":1},{\"id\":2}],\"pagination\":{\"total\":2}}", "id\r\n1\r\n2\r\n");
    expect_document_as_csv("{\"a\":[1],\"b\":[2]}", "a,b\r\n[1],[2]\r\n");
}

static void test_formats__odd_documents_are_tables_too(void **state)
{
    expect_document_as_csv("{\"a\":1}", "a\r\n1\r\n");
    expect_document_as_csv("[1,\"two\"]", "value\r\n1\r\ntwo\r\n");
    expect_document_as_csv("[]", "value\r\n");
    expect_document_as_csv("null", "value\r\n\r\n");
    expect_document_as_csv("{}", "value\r\n{}\r\n");
}

static void test_formats__a_table_of_csv_becomes_a_document(void **state)
{
    static const char csv[] = "id,name\r\n1,\"a \"\"b\"\"\"\r\n2,\r\n";
    cleanup_table struct table t = TABLE_INIT;
    assert_int_equal(table_of_csv(csv, strlen(csv), &t, NULL), 0);
    cleanup_json struct json_object *v = document_of_table(&t);
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    json_print(v, &text);
    assert_string_equal(strbuf_str(&text), "[{\"id\":\"1\",\"name\":\"a \\\"b\\\"\"},{\"id\":\"2\",\"name\":\"\"}]");
}

static void test_formats__uneven_csv_is_refused(void **state)
{
    static const char *const bad[] = {"", "a,b\r\n1\r\n", "a\r\n1,2\r\n", "a,b\r\n\"1,2\r\n"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        cleanup_table struct table t = TABLE_INIT;
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(table_of_csv(bad[i], strlen(bad[i]), &t, &err), -1);
        assert_int_equal(err.kind, ERR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_formats__a_list_has_the_names_of_all_its_items),
        cmocka_unit_test(test_formats__an_object_around_a_list_stands_for_the_list),
        cmocka_unit_test(test_formats__odd_documents_are_tables_too),
        cmocka_unit_test(test_formats__a_table_of_csv_becomes_a_document),
        cmocka_unit_test(test_formats__uneven_csv_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
