#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/python/build_limits.h"
#include "common/base/cleanup.h"
#include "common/system/files.h"

/* A tree of plain files, since the kernel's own is not everybody's to write. */
struct fixture {
    char root[64];
    struct arena arena;
    struct python_settings settings;
    const char *group; /* directory of the build's group */
};

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof(*x));
    struct stat st;
    memcpy(x->root, "/tmp/det-builds-XXXXXX", 23);
    assert_non_null(mkdtemp(x->root));
    assert_int_equal(stat(x->root, &st), 0);
    x->settings = (struct python_settings){.dir = x->root, .build_memory_bytes = 1 << 20};
    x->group = arena_printf(&x->arena, "%s/memory/determined/python-%llx-%llx", x->root, (unsigned long long)st.st_dev,
                            (unsigned long long)st.st_ino);
    *state = x;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    tree_remove(x->root, NULL);
    arena_release(&x->arena);
    free(x);
    return 0;
}

/* The kernel's files appear by themselves in a new group; here they are there beforehand. */
static void put(struct fixture *x, const char *name, const char *text)
{
    assert_int_equal(dir_make(x->group, 0755, NULL), 0);
    assert_int_equal(file_write(arena_printf(&x->arena, "%s/%s", x->group, name), text, strlen(text), 0644, NULL), 0);
}

static void test_build_limits__a_build_has_a_group_with_its_memory_until_it_ends(void **state)
{
    struct fixture *x = *state;
    struct build_limits l;
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    put(x, "memory.limit_in_bytes", "");
    assert_int_equal(build_limits_open(&x->settings, x->root, "", &x->arena, &l, NULL), 0);
    assert_int_equal(file_read(arena_printf(&x->arena, "%s/memory.limit_in_bytes", x->group), 64, &text, NULL), 0);
    assert_string_equal(text.s, "1048576");
    assert_string_equal(build_limits_procs(&l)[0], arena_printf(&x->arena, "%s/tasks", x->group));
    assert_null(build_limits_procs(&l)[1]);
    unlink(arena_printf(&x->arena, "%s/memory.limit_in_bytes", x->group));
    build_limits_close(&l);
    assert_int_equal(access(x->group, F_OK), -1);
    assert_null(build_limits_procs(&l));
}

static void test_build_limits__are_exceeded_once_the_kernel_has_killed(void **state)
{
    struct fixture *x = *state;
    struct build_limits l;
    put(x, "memory.limit_in_bytes", "");
    assert_int_equal(build_limits_open(&x->settings, x->root, "", &x->arena, &l, NULL), 0);
    assert_false(build_limits_exceeded(&l));
    put(x, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n");
    assert_false(build_limits_exceeded(&l));
    put(x, "memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
    assert_true(build_limits_exceeded(&l));
}

static void test_build_limits__a_limit_of_zero_is_none(void **state)
{
    struct fixture *x = *state;
    struct build_limits l;
    x->settings.build_memory_bytes = 0;
    assert_int_equal(build_limits_open(&x->settings, x->root, "", &x->arena, &l, NULL), 0);
    assert_null(build_limits_procs(&l));
    assert_false(build_limits_exceeded(&l));
    build_limits_close(&l);
}

static void test_build_limits__a_machine_without_the_controller_says_so(void **state)
{
    struct fixture *x = *state;
    struct build_limits l;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(build_limits_open(&x->settings, x->root, "", &x->arena, &l, &err), -1);
    assert_non_null(strstr(error_msg(&err), "memory"));
    assert_null(build_limits_procs(&l));
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_build_limits__a_build_has_a_group_with_its_memory_until_it_ends),
        TEST(test_build_limits__are_exceeded_once_the_kernel_has_killed),
        TEST(test_build_limits__a_limit_of_zero_is_none),
        TEST(test_build_limits__a_machine_without_the_controller_says_so),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
