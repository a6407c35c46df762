#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "cli/terminal/table.h"

static void expect_table(const struct table *t, bool csv, const char *want)
{
    char *text;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    table_print(t, csv, f);
    fclose(f);
    assert_string_equal(text, want);
    free(text);
}

/* The expected texts are what Python's tabulate 0.9 prints for the same cells. */

static void test_table__aligns_numbers_right_and_text_left(void **state)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"ID", "Name", "Active", NULL});
    table_int(&t, 7);
    table_text(&t, "one");
    table_bool(&t, true);
    table_int(&t, 1234);
    table_text(&t, NULL);
    table_bool(&t, false);
    expect_table(&t, false,
                 "   ID | Name   | Active\n"
                 "------+--------+----------\n"
                 "    7 | one    | True\n"
                 " 1234 |        | False\n");
    expect_table(&t, true, "ID,Name,Active\r\n7,one,True\r\n1234,,False\r\n");
}

static void test_table__puts_fractions_on_their_point(void **state)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"Value", "Share", NULL});
    const char *const cell[] = {"0.5", "1.0%", "12", "99.9%", "0.12345678", NULL};
    for (size_t i = 0; i < 5; i++)
        table_text(&t, cell[i]);
    table_text(&t, "");
    expect_table(&t, false,
                 "     Value | Share\n"
                 "-----------+---------\n"
                 "  0.5      | 1.0%\n"
                 " 12        | 99.9%\n"
                 "  0.123457 |\n");
}

static void test_table__breaks_rows_at_newlines(void **state)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"ID", "H-Params", "End", NULL});
    table_int(&t, 1);
    table_text(&t, "{\n    \"lr\": 0.1\n}");
    table_text(&t, "x");
    expect_table(&t, false,
                 "   ID | H-Params      | End\n"
                 "------+---------------+-------\n"
                 "    1 | {             | x\n"
                 "      |     \"lr\": 0.1 |\n"
                 "      | }             |\n");
}

static void test_table__counts_columns_of_wide_characters(void **state)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"N", "X", NULL});
    table_text(&t, "größer");
    table_text(&t, "a");
    table_text(&t, "日本");
    table_text(&t, "b");
    expect_table(&t, false,
                 " N      | X\n"
                 "--------+-----\n"
                 " größer | a\n"
                 " 日本   | b\n");
}

static void test_table__prints_only_titles_without_rows(void **state)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"ID", "Name", NULL});
    expect_table(&t, false, " ID   | Name\n------+--------\n");
}

static void test_table__quotes_csv_where_it_must(void **state)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"a,b", "c", NULL});
    table_text(&t, "say \"x\"");
    table_text(&t, "two\nlines");
    expect_table(&t, true, "\"a,b\",c\r\n\"say \"\"x\"\"\",\"two\nlines\"\r\n");
}

static void test_table__writes_times_in_utc_and_percent(void **state)
{
    cleanup_table struct table t = TABLE_INIT;
    table_columns(&t, (const char *const[]){"T", "P", NULL});
    table_time(&t, true, INT64_C(1795245121123456));
    table_percent(&t, true, 0.1234);
    expect_table(&t, true, "T,P\r\n2026-11-21 07:12:01+0000,12.3%\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table__aligns_numbers_right_and_text_left),
        cmocka_unit_test(test_table__puts_fractions_on_their_point),
        cmocka_unit_test(test_table__breaks_rows_at_newlines),
        cmocka_unit_test(test_table__counts_columns_of_wide_characters),
        cmocka_unit_test(test_table__prints_only_titles_without_rows),
        cmocka_unit_test(test_table__quotes_csv_where_it_must),
        cmocka_unit_test(test_table__writes_times_in_utc_and_percent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
