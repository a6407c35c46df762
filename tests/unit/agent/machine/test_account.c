#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/config.h"
#include "agent/machine/account.h"
#include "common/base/arena.h"
#include "common/system/files.h"

/* A machine's files, in a directory of the test's own. */
struct fixture {
    char dir[64];
    struct arena arena;
    struct account_files files;
};

static const char *write_file(struct fixture *x, const char *name, const char *text)
{
    const char *path = arena_printf(&x->arena, "%s/%s", x->dir, name);
    if (text)
        assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
    return path;
}

static int set_up(void **state)
{
    static struct fixture x;
    memset(&x, 0, sizeof(x));
    snprintf(x.dir, sizeof(x.dir), "/tmp/account-XXXXXX");
    if (!mkdtemp(x.dir))
        return -1;
    x.files = (struct account_files){
        .passwd = write_file(&x, "passwd",
                             "root:x:0:0:root:/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\n+::::::\n"),
        .group = write_file(&x, "group", "root:x:0:\nann:x:1000:\n"),
        .subuid = write_file(&x, "subuid", "ann:100000:65536\n"),
        .subgid = write_file(&x, "subgid", "ann:100000:65536\n"),
        .uid_map = write_file(&x, "uid_map", "         0          0 4294967295\n")};
    *state = &x;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    tree_remove(x->dir, NULL);
    arena_release(&x->arena);
    return 0;
}

static void assert_refused(struct fixture *x, uint32_t first, uint32_t count, const char *says)
{
    struct account_range range = {first, count};
    struct error err = ERROR_INIT;
    assert_int_equal(account_check_range(&range, &x->files, &err), -1);
    assert_non_null(strstr(error_msg(&err), says));
    error_release(&err);
}

static void assert_taken(struct fixture *x, uint32_t first, uint32_t count)
{
    struct account_range range = {first, count};
    assert_int_equal(account_check_range(&range, &x->files, NULL), 0);
}

static void test_account__a_range_of_its_own_is_taken(void **state)
{
    assert_taken(*state, 2000000, 1000000);
    assert_taken(*state, 1001, 99000 - 1);
    assert_taken(*state, 165536, 10);
}

static void test_account__a_range_that_meets_an_account_group_or_subordinate_ids_is_refused_by_its_line(void **state)
{
    struct fixture *x = *state;
    assert_refused(x, 1000, 10, "ann:x:1000:1000");
    assert_refused(x, 990, 11, "ann:x:1000:1000");
    assert_refused(x, 165535, 10, "ann:100000:65536");
    assert_refused(x, 99999, 2, "ann:100000:65536");
    write_file(x, "passwd", "svc:x:7:2000005::/:/bin/sh\n");
    assert_refused(x, 2000000, 1000000, "svc:x:7:2000005");
    write_file(x, "passwd", "");
    write_file(x, "group", "lab:x:2999999:\n");
    assert_refused(x, 2000000, 1000000, "lab:x:2999999");
    write_file(x, "group", "lab:x:3000000:\n");
    assert_taken(x, 2000000, 1000000);
}

static void test_account__in_a_user_namespace_all_ids_have_to_exist(void **state)
{
    struct fixture *x = *state;
    write_file(x, "uid_map", "0 100000 65536\n");
    assert_refused(x, 2000000, 1000000, "user namespace");
    assert_refused(x, 65000, 1000, "user namespace");
    assert_taken(x, 50000, 1000);
}

/* ---- limits, which the same configuration gives ------------------------------------------------------------------ */

static void test_account__limits_are_the_tasks_the_agents_and_never_more_than_the_most(void **state)
{
    struct agent_config c = {.limit = {.memory_bytes = 100, .processes = 10, .disk_bytes = 0},
                             .limit_max = {.memory_bytes = 200, .disk_bytes = 50}};
    struct task_limits l = agent_config_limits(&c, &(struct task_limits){0});
    assert_int_equal(l.memory_bytes, 100);
    assert_int_equal(l.processes, 10);
    assert_int_equal(l.disk_bytes, 50); /* no limit counts as more than the highest one */
    l = agent_config_limits(&c, &(struct task_limits){.memory_bytes = 1000, .processes = 1000, .disk_bytes = 20});
    assert_int_equal(l.memory_bytes, 200);
    assert_int_equal(l.processes, 1000);
    assert_int_equal(l.disk_bytes, 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_account__a_range_of_its_own_is_taken, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_account__a_range_that_meets_an_account_group_or_subordinate_ids_is_refused_by_its_line, set_up,
            tear_down),
        cmocka_unit_test_setup_teardown(test_account__in_a_user_namespace_all_ids_have_to_exist, set_up, tear_down),
        cmocka_unit_test(test_account__limits_are_the_tasks_the_agents_and_never_more_than_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
