#include "cmocka_setup.h"

#include <string.h>

#include "agent/engine/image.h"

static void test_image__only_names_of_images_are_let_through(void **state)
{
    static const char *const good[] = {"busybox", "a/b:1", "reg.example:5000/team/img_x:2.3-gpu", "a@sha256:0123",
                                       "A/b"};
    static const char *const bad[] = {
        "", "../containers/json", "a/../b", "a b", "a?b", "a/./b", "/a", "a//b", "-a", "a/", "ä", "a%2e"};
    for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
        assert_true(image_name_is_good(good[i]));
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
        assert_false(image_name_is_good(bad[i]));
}

static void test_image__a_port_is_no_tag(void **state)
{
    static const struct {
        const char *name, *from, *tag;
    } row[] = {
        {"busybox", "busybox", "latest"},
        {"a/b:1", "a/b", "1"},
        {"reg:5000/a", "reg:5000/a", "latest"},
        {"reg:5000/a:2", "reg:5000/a", "2"},
        {"reg:5000/a@sha256:01", "reg:5000/a", "sha256:01"},
        {"a:2@sha256:01", "a:2", "sha256:01"},
    };
    struct arena a = ARENA_INIT;
    for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
        const char *from, *tag;
        image_name_split(row[i].name, &a, &from, &tag);
        assert_string_equal(from, row[i].from);
        assert_string_equal(tag, row[i].tag);
    }
    arena_release(&a);
}

static const char *take(struct pull_progress *p, const char *json)
{
    static char said[256];
    struct json_object *o = NULL;
    assert_int_equal(json_parse(json, strlen(json), &o, NULL), 0);
    const char *reason = pull_progress_take(p, o);
    snprintf(said, sizeof(said), "%s", reason ? reason : "");
    json_object_put(o);
    return said;
}

static void test_image__a_pull_is_described_by_its_layers(void **state)
{
    struct pull_progress *p = pull_progress_new();
    struct strbuf text = STRBUF_INIT;
    pull_progress_describe(p, &text);
    assert_int_equal(text.n, 0);
    assert_string_equal(take(p, "{\"status\":\"Pulling from a/b\",\"id\":\"latest\"}"), "");
    assert_string_equal(take(p, "{\"status\":\"Already exists\",\"progressDetail\":{},\"id\":\"aa\"}"), "");
    assert_string_equal(
        take(p,
             "{\"status\":\"Downloading\",\"progressDetail\":{\"current\":1048576,\"total\":3145728},\"id\":\"bb\"}"),
        "");
    pull_progress_describe(p, &text);
    assert_string_equal(text.s, "1 of 2 layers are there, 1.0 MiB of 3.0 MiB");
    strbuf_reset(&text);
    take(p, "{\"status\":\"Pull complete\",\"progressDetail\":{},\"id\":\"bb\"}");
    pull_progress_describe(p, &text);
    assert_string_equal(text.s, "2 of 2 layers are there, 3.0 MiB of 3.0 MiB");
    strbuf_release(&text);
    pull_progress_free(p);
}

static void test_image__whatever_an_engine_reports_is_borne(void **state)
{
    struct pull_progress *p = pull_progress_new();
    assert_string_equal(take(p, "{\"errorDetail\":{\"message\":\"no space\"},\"error\":\"x\"}"), "no space");
    assert_string_equal(take(p, "{\"error\":\"denied\"}"), "denied");
    assert_string_equal(take(p, "[1]"), "it answers with something that is no object");
    assert_string_equal(take(p, "{\"id\":7,\"status\":[],\"progressDetail\":3,\"error\":5}"), "");
    assert_string_equal(
        take(p, "{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":{\"current\":-5,\"total\":\"many\"}}"),
        "");
    assert_string_equal(take(p, "{\"status\":\"Downloading\",\"id\":\"a\",\"progressDetail\":7}"), "");
    for (int i = 0; i < 2000; i++) {
        char json[128];
        snprintf(json, sizeof(json), "{\"status\":\"Waiting\",\"progressDetail\":{},\"id\":\"%d\"}", i);
        assert_string_equal(take(p, json), "");
    }
    pull_progress_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image__only_names_of_images_are_let_through),
        cmocka_unit_test(test_image__a_port_is_no_tag),
        cmocka_unit_test(test_image__a_pull_is_described_by_its_layers),
        cmocka_unit_test(test_image__whatever_an_engine_reports_is_borne),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
