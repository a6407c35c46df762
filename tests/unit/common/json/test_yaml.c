#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"

static void expect_json(const char *yaml, const char *expected)
{
    cleanup_json struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (yaml_parse(yaml, strlen(yaml), &v, NULL, &err) < 0)
        fail_msg("%s: %s", yaml, error_msg(&err));
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    json_print(v, &out);
    assert_string_equal(strbuf_str(&out), expected);
}

static void expect_error(const char *yaml, const char *expected)
{
    struct json_object *v = NULL;
    struct yaml_positions *positions = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (yaml_parse(yaml, strlen(yaml), &v, &positions, &err) == 0)
        fail_msg("accepted: %s", yaml);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_string_equal(error_msg(&err), expected);
}

static void test_yaml__scalars_follow_version_1_1(void **state)
{
    expect_json("[y, Yes, on, TRUE, n, NO, off, false]", "[true,true,true,true,false,false,false,false]");
    expect_json("[yEs, 'yes', \"no\", !!str on]", "[\"yEs\",\"yes\",\"no\",\"on\"]");
    expect_json("[0, -7, +7, 1_000, 0x1f, 0b101, 0o17, 017, 08]", "[0,-7,7,1000,31,5,15,15,\"08\"]");
    expect_json("[9223372036854775807, 18446744073709551615, -9223372036854775808, 18446744073709551616]",
                "[9223372036854775807,18446744073709551615,-9223372036854775808,1.8446744073709552e+19]");
    expect_json("[1.5, .5, 1., 1e-4, 1E3, -1.5e+2, 1_0.5]", "[1.5,0.5,1.0,0.0001,1000.0,-150.0,10.5]");
    expect_json("[1.2.3, 1e, e5, _1, 12:30, 2001-12-14, 1-2, -]",
                "[\"1.2.3\",\"1e\",\"e5\",\"_1\",\"12:30\",\"2001-12-14\",\"1-2\",\"-\"]");
    expect_json("a: ~\nb:\nc: null\nd: ''", "{\"a\":null,\"b\":null,\"c\":null,\"d\":\"\"}");
    expect_json("[!!int '7', !!float '7', !!bool 'yes', !!null '']", "[7,7.0,true,null]");
}

static void test_yaml__keys_are_texts(void **state)
{
    expect_json("n: 1\n2: b\n0x10: c\n~: d\n1.5: e",
                "{\"false\":1,\"2\":\"b\",\"16\":\"c\",\"null\":\"d\",\"1.5\":\"e\"}");
}

static void test_yaml__empty_document_is_null(void **state)
{
    expect_json("", "null");
    expect_json("# nothing\n", "null");
    expect_json("---\n...\n", "null");
}

static void test_yaml__json_is_yaml(void **state)
{
    expect_json("{\"a\": [1, {\"b\": \"\\u00e9\"}], \"c\": 1.0e-3}", "{\"a\":[1,{\"b\":\"\xc3\xa9\"}],\"c\":0.001}");
}

static void test_yaml__aliases_copy_and_merge_keys_give_way(void **state)
{
    expect_json("a: &x [1, 2]\nb: *x", "{\"a\":[1,2],\"b\":[1,2]}");
    expect_json("a: &x {p: 1, q: 2}\nb: {<<: *x, q: 3}", "{\"a\":{\"p\":1,\"q\":2},\"b\":{\"q\":3,\"p\":1}}");
    expect_json("a: &x {p: 1}\nb: &y {p: 2, q: 2}\nc: {<<: [*x, *y]}",
                "{\"a\":{\"p\":1},\"b\":{\"p\":2,\"q\":2},\"c\":{\"p\":1,\"q\":2}}");
    expect_json("a: &x 1\nb: &x 2\nc: *x", "{\"a\":1,\"b\":2,\"c\":2}");
}

static void test_yaml__mistakes_name_line_and_column(void **state)
{
    expect_error("a: 1\nb: 2\na: 3\n", "line 3, column 1: the key \"a\" is already there, at line 1, column 1");
    expect_error("o:\n  p: 1\n  'p': 2\n", "line 3, column 3: the key \"p\" is already there, at line 2, column 3");
    expect_error("a: 1\n--- \nb: 2\n", "line 2, column 1: a second document begins here; only one is allowed");
    expect_error("a:\n\tb: 1\n", "line 2, column 1: a tab cannot indent; use blanks");
    expect_error("a: *nobody", "line 1, column 4: alias *nobody names no anchor above it");
    expect_error("a: &x [*x]", "line 1, column 8: alias *x names no anchor above it");
    expect_error("[a]: 1", "line 1, column 1: a key must be a single value, not a list, mapping or alias");
    expect_error("a: !thing 1", "line 1, column 4: tag !thing does not fit \"1\"");
    expect_error("a: !!int x", "line 1, column 4: tag tag:yaml.org,2002:int does not fit \"x\"");
    expect_error("a: !!set {x}", "line 1, column 4: tag tag:yaml.org,2002:set is not supported");
    expect_error("a: \"x\\0y\"", "line 1, column 4: a text may not contain the NUL character");
    expect_error("<<: 5", "line 1, column 5: << takes a mapping or a list of mappings");
}

static void test_yaml__broken_syntax_names_a_line(void **state)
{
    static const char *const bad[] = {"a: [1, 2",   "a: 'x",   "a: b: c",  "{a: 1",  "- a\nb: 1",
                                      "a: |x\n  y", "%YAML 9", "a\n b: 1", "a: \xff"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        struct json_object *v = NULL;
        cleanup_error struct error err = ERROR_INIT;
        if (yaml_parse(bad[i], strlen(bad[i]), &v, NULL, &err) == 0)
            fail_msg("accepted: %s", bad[i]);
        assert_int_equal(err.kind, ERR_INVALID);
        if (!strstr(error_msg(&err), "line ") && !strstr(error_msg(&err), "byte "))
            fail_msg("no place in: %s", error_msg(&err));
    }
}

static void test_yaml__a_billion_laughs_run_out_of_budget(void **state)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
    for (int i = 1; i < 12; i++) {
        strbuf_addf(&text, "a%d: &a%d [", i, i);
        for (int j = 0; j < 10; j++)
            strbuf_addf(&text, "%s*a%d", j ? ", " : "", i - 1);
        strbuf_adds(&text, "]\n");
    }
    struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(yaml_parse(text.s, text.n, &v, NULL, &err), -1);
    assert_non_null(
        strstr(error_msg(&err), "the document is too large: more than 100000 values, copies by aliases included"));
}

static int parse_text(const struct strbuf *text, struct error *err)
{
    cleanup_json struct json_object *v = NULL;
    return yaml_parse(text->s, text->n, &v, NULL, err);
}

static void test_yaml__copies_of_a_long_text_run_out_of_bytes(void **state)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, "a: &a ");
    for (int i = 0; i < 1 << 20; i++)
        strbuf_addc(&text, 'x');
    strbuf_adds(&text, "\nb:\n");
    for (int i = 0; i < 5000; i++)
        strbuf_adds(&text, "- *a\n");
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(parse_text(&text, &err), -1);
    assert_string_equal(error_msg(&err),
                        "line 9, column 3: the document is too large: more than 8388608 bytes of text, "
                        "copies by aliases included");
}

static void test_yaml__merge_keys_of_long_texts_run_out_of_bytes(void **state)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    strbuf_adds(&text, "a: &a {k: ");
    for (int i = 0; i < 1 << 20; i++)
        strbuf_addc(&text, 'x');
    strbuf_adds(&text, "}\nb:\n");
    for (int i = 0; i < 5000; i++)
        strbuf_adds(&text, "- {<<: *a}\n");
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(parse_text(&text, &err), -1);
    assert_non_null(strstr(error_msg(&err), "more than 8388608 bytes of text"));
}

static void test_yaml__a_document_without_aliases_has_the_same_limits(void **state)
{
    cleanup_strbuf struct strbuf many = STRBUF_INIT, names = STRBUF_INIT, whole = STRBUF_INIT;
    cleanup_error struct error err = ERROR_INIT, long_names = ERROR_INIT, too_long = ERROR_INIT;
    strbuf_adds(&many, "a: [");
    for (int i = 0; i < 100000; i++)
        strbuf_adds(&many, "1,");
    strbuf_adds(&many, "1]");
    assert_int_equal(parse_text(&many, &err), -1);
    assert_non_null(strstr(error_msg(&err), "line 1, column "));
    assert_non_null(strstr(error_msg(&err), "more than 100000 values"));
    for (int i = 0; i < 3; i++)
        strbuf_addf(&names, "%*s%0900d:\n", i, "", i);
    strbuf_adds(&names, "    x: 1\n");
    assert_int_equal(parse_text(&names, &long_names), -1);
    assert_string_equal(error_msg(&long_names),
                        "line 3, column 3: the names that lead here have more than 2048 bytes together");
    for (int i = 0; i < 8 * 1024 * 1024 + 1; i++)
        strbuf_addc(&whole, ' ');
    assert_int_equal(parse_text(&whole, &too_long), -1);
    assert_int_equal(too_long.kind, ERR_TOO_LARGE);
    assert_string_equal(error_msg(&too_long), "the text has 8388609 bytes; at most 8388608 bytes of YAML are read");
}

static void test_yaml__depth_is_limited_with_and_without_aliases(void **state)
{
    cleanup_strbuf struct strbuf deep = STRBUF_INIT;
    for (int i = 0; i < 101; i++)
        strbuf_addc(&deep, '[');
    for (int i = 0; i < 101; i++)
        strbuf_addc(&deep, ']');
    expect_error(deep.s, "line 1, column 101: nested deeper than 100 levels");
    cleanup_strbuf struct strbuf chain = STRBUF_INIT;
    strbuf_adds(&chain, "a0: &a0 [1]\n");
    for (int i = 1; i < 110; i++)
        strbuf_addf(&chain, "a%d: &a%d [*a%d]\n", i, i, i - 1);
    struct json_object *v = NULL;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(yaml_parse(chain.s, chain.n, &v, NULL, &err), -1);
    assert_non_null(strstr(error_msg(&err), "nested deeper than 100 levels"));
}

static void expect_marks(const struct yaml_positions *p, const char *path, int key_line, int key_column, int line,
                         int column)
{
    struct yaml_mark key, value;
    assert_int_equal(yaml_key_position(p, path, &key), 0);
    assert_int_equal(yaml_position(p, path, &value), 0);
    assert_int_equal(key.line, key_line);
    assert_int_equal(key.column, key_column);
    assert_int_equal(value.line, line);
    assert_int_equal(value.column, column);
}

static void test_yaml__positions_of_keys_and_values(void **state)
{
    const char *text = "a:\n  b: [1, {c: 2}]\nd:\n  - e\n  - f: 3\n";
    cleanup_json struct json_object *v = NULL;
    struct yaml_positions *p = NULL;
    assert_int_equal(yaml_parse(text, strlen(text), &v, &p, NULL), 0);
    expect_marks(p, "", 1, 1, 1, 1);
    expect_marks(p, "a", 1, 1, 2, 3);
    expect_marks(p, "a.b", 2, 3, 2, 6);
    expect_marks(p, "a.b[1].c", 2, 11, 2, 14);
    expect_marks(p, "d[0]", 4, 5, 4, 5);
    expect_marks(p, "d[1].f", 5, 5, 5, 8);
    struct yaml_mark mark;
    assert_int_equal(yaml_position(p, "nothing", &mark), -1);
    yaml_positions_free(p);
}

/* Positions would cost more than everything else; a mistake further down is named without its line. */
static void test_yaml__positions_are_kept_of_the_first_values_only(void **state)
{
    enum { MANY = 30000 };
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    cleanup_json struct json_object *v = NULL;
    struct yaml_positions *positions = NULL;
    struct yaml_mark mark;
    char last[32];
    for (int i = 0; i < MANY; i++)
        strbuf_addf(&text, "k%d: 1\n", i);
    assert_int_equal(yaml_parse(text.s, text.n, &v, &positions, NULL), 0);
    assert_int_equal(json_object_object_length(v), MANY);
    assert_int_equal(yaml_position(positions, "k9999", &mark), 0);
    assert_int_equal(mark.line, 10000);
    snprintf(last, sizeof(last), "k%d", MANY - 1);
    assert_int_equal(yaml_position(positions, last, &mark), -1);
    yaml_positions_free(positions);
    strbuf_addf(&text, "%s: 2\n", last);
    expect_error(strbuf_str(&text), "line 30001, column 1: the key \"k29999\" is already there");
}

static void add_description(void *ctx, const struct yaml_word *word)
{
    yaml_word_describe(word, ctx);
    strbuf_addc(ctx, '\n');
}

static void test_yaml__words_that_are_read_as_truth_values_are_remembered(void **state)
{
    const char *text = "n: 1\na:\n  - Off\n  - true\n  - \"no\"\n  - False\nb: {y: x, z: YES}\n";
    cleanup_json struct json_object *v = NULL;
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    struct yaml_positions *p = NULL;
    assert_int_equal(yaml_parse(text, strlen(text), &v, &p, NULL), 0);
    yaml_each_word(p, add_description, &out);
    yaml_positions_free(p);
    assert_string_equal(
        strbuf_str(&out),
        "the key n (line 1) is read as \"false\", as YAML 1.1 has it; write \"n\" in quotes to keep the name\n"
        "a[0]: Off (line 3) is read as false, as YAML 1.1 has it; write false, or \"Off\" in quotes if the text is meant\n"
        "b: the key y (line 7) is read as \"true\", as YAML 1.1 has it; write \"y\" in quotes to keep the name\n"
        "b.z: YES (line 7) is read as true, as YAML 1.1 has it; write true, or \"YES\" in quotes if the text is meant\n");
}

static void test_yaml__only_the_first_of_many_such_words_are_remembered(void **state)
{
    cleanup_json struct json_object *v = NULL;
    cleanup_strbuf struct strbuf text = STRBUF_INIT, out = STRBUF_INIT;
    struct yaml_positions *p = NULL;
    for (int i = 0; i < 100; i++)
        strbuf_adds(&text, "- on\n");
    assert_int_equal(yaml_parse(text.s, text.n, &v, &p, NULL), 0);
    yaml_each_word(p, add_description, &out);
    yaml_positions_free(p);
    size_t n = 0;
    for (const char *s = strbuf_str(&out); (s = strchr(s, '\n')); s++)
        n++;
    assert_int_equal(n, 20);
}

static void test_yaml__prints_block_style_that_reads_back_the_same(void **state)
{
    const char *json =
        "{\"b\":[1,[2,3],{\"x\":\"yes\",\"w\":null}],\"a\":{},\"c\":[],\"d\":{\"e\":\"a: b\",\"f\":\"line\\nbreak\","
        "\"g\":\"it's: so\",\"h\":\"- x\",\"i\":\"0x10\",\"j\":\"\",\"k\":\"plain text\",\"l\":1e-05,\"n\":\" x\"}}";
    const char *expected =
        "a: {}\nb:\n- 1\n- - 2\n  - 3\n- w: null\n  x: 'yes'\nc: []\nd:\n  e: 'a: b'\n  f: \"line\\nbreak\"\n"
        "  g: 'it''s: so'\n  h: '- x'\n  i: '0x10'\n  j: ''\n  k: plain text\n  l: 1e-05\n  'n': ' x'\n";
    cleanup_json struct json_object *v = NULL, *again = NULL;
    assert_int_equal(json_parse(json, strlen(json), &v, NULL), 0);
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    yaml_print(v, &out);
    assert_string_equal(strbuf_str(&out), expected);
    assert_int_equal(yaml_parse(out.s, out.n, &again, NULL, NULL), 0);
    assert_true(json_object_equal(v, again));
}

static void test_yaml__quotes_what_other_readers_take_for_a_time(void **state)
{
    cleanup_json struct json_object *v = NULL;
    const char *json =
        "[\"2026-11-21T07:12:00Z\",\"2026-11-21\",\"2026-1-2 07:12:00\",\"2026-11-21-run\",\"2026-11\",\"10.0-1-1\"]";
    assert_int_equal(json_parse(json, strlen(json), &v, NULL), 0);
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    yaml_print(v, &out);
    assert_string_equal(strbuf_str(&out),
                        "- '2026-11-21T07:12:00Z'\n- '2026-11-21'\n- '2026-1-2 07:12:00'\n- 2026-11-21-run\n"
                        "- 2026-11\n- 10.0-1-1\n");
}

static void test_yaml__escapes_what_yaml_does_not_take_as_it_is(void **state)
{
    const char *json =
        "[\"^N:\\u0080 \",\"\\u0085\",\"\\u2028\",\"\\ufeffx\",\"\\uffff\",\"\\u007f\",\"a\\n\\t\\\"\\\\<\\u00e9\",\"\\u00a0\"]";
    const char *expected =
        "- \"^N:\\u0080 \"\n- \"\\u0085\"\n- \"\\u2028\"\n- \"\\ufeffx\"\n- \"\\uffff\"\n- \"\\u007f\"\n"
        "- \"a\\n\\t\\\"\\\\<\u00e9\"\n- '\u00a0'\n";
    cleanup_json struct json_object *v = NULL, *again = NULL;
    assert_int_equal(json_parse(json, strlen(json), &v, NULL), 0);
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    yaml_print(v, &out);
    assert_string_equal(strbuf_str(&out), expected);
    assert_int_equal(yaml_parse(out.s, out.n, &again, NULL, NULL), 0);
    assert_true(json_object_equal(v, again));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_yaml__scalars_follow_version_1_1),
        cmocka_unit_test(test_yaml__keys_are_texts),
        cmocka_unit_test(test_yaml__empty_document_is_null),
        cmocka_unit_test(test_yaml__json_is_yaml),
        cmocka_unit_test(test_yaml__aliases_copy_and_merge_keys_give_way),
        cmocka_unit_test(test_yaml__mistakes_name_line_and_column),
        cmocka_unit_test(test_yaml__broken_syntax_names_a_line),
        cmocka_unit_test(test_yaml__a_billion_laughs_run_out_of_budget),
        cmocka_unit_test(test_yaml__copies_of_a_long_text_run_out_of_bytes),
        cmocka_unit_test(test_yaml__merge_keys_of_long_texts_run_out_of_bytes),
        cmocka_unit_test(test_yaml__a_document_without_aliases_has_the_same_limits),
        cmocka_unit_test(test_yaml__depth_is_limited_with_and_without_aliases),
        cmocka_unit_test(test_yaml__positions_of_keys_and_values),
        cmocka_unit_test(test_yaml__positions_are_kept_of_the_first_values_only),
        cmocka_unit_test(test_yaml__words_that_are_read_as_truth_values_are_remembered),
        cmocka_unit_test(test_yaml__only_the_first_of_many_such_words_are_remembered),
        cmocka_unit_test(test_yaml__prints_block_style_that_reads_back_the_same),
        cmocka_unit_test(test_yaml__escapes_what_yaml_does_not_take_as_it_is),
        cmocka_unit_test(test_yaml__quotes_what_other_readers_take_for_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
