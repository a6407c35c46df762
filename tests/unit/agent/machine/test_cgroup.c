#include "cmocka_setup.h"

#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/cgroup.h"
#include "common/system/files.h"

/* A tree of plain files: the kernel's would appear by themselves in a new group, so the test makes them beforehand. */
struct fixture {
    char root[64];
    struct arena arena;
    struct cgroup group;
    struct cgroup_home home;
};

static int set_up(void **state)
{
    struct fixture *x = calloc(1, sizeof(*x));
    memcpy(x->root, "/tmp/det-cgroup-XXXXXX", 23);
    assert_non_null(mkdtemp(x->root));
    *state = x;
    return 0;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    return remove(path);
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    nftw(x->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    arena_release(&x->arena);
    free(x);
    return 0;
}

static void put_file(struct fixture *x, const char *name)
{
    char *path = path_join(x->root, name), *parent = path_parent(path);
    assert_int_equal(dir_make(parent, 0755, NULL), 0);
    assert_int_equal(file_write(path, "", 0, 0644, NULL), 0);
    free(path);
    free(parent);
}

static void assert_holds(struct fixture *x, const char *name, const char *want)
{
    struct strbuf b = STRBUF_INIT;
    char *path = path_join(x->root, name);
    assert_int_equal(file_read(path, 4096, &b, NULL), 0);
    assert_string_equal(strbuf_str(&b), want);
    strbuf_release(&b);
    free(path);
}

static const struct cgroup_home *find_home(struct fixture *x, const char *membership)
{
    assert_int_equal(cgroup_find_home(x->root, membership, &x->arena, &x->home, NULL), 0);
    return &x->home;
}

static const char *path_in_root(struct fixture *x, const char *path)
{
    return arena_printf(&x->arena, "%s/%s", x->root, path);
}

static void test_cgroup_home__is_the_root_unless_a_unit_of_ours_was_given_its_part(void **state)
{
    struct fixture *x = *state;
    static const char *const elsewhere[] = {"",
                                            "0::/\n",
                                            "4:memory:/user.slice/session-3.scope\n0::/user.slice/session-3.scope\n",
                                            "4:memory:/system.slice/cron.service\n",
                                            "4:memory:/determined-agent\n",
                                            "4:memory\n",
                                            "4:hugetlb,memoryless:/determined-agent.service"};
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(*elsewhere); i++) {
        assert_false(find_home(x, elsewhere[i])->own);
        assert_string_equal(x->home.base[0], path_in_root(x, "memory"));
    }
}

static void test_cgroup_home__of_v1_is_the_units_part_of_each_tree(void **state)
{
    struct fixture *x = *state;
    const struct cgroup_home *h = find_home(
        x, "9:name=systemd:/system.slice/determined-agent.service\n"
           "8:pids:/system.slice/determined-agent.service\n4:memory:/system.slice/determined-agent@b.service\n"
           "2:cpu,cpuacct:/\n0::/\n");
    assert_true(h->own && !h->v2);
    assert_string_equal(h->base[0], path_in_root(x, "memory/system.slice/determined-agent@b.service"));
    assert_string_equal(h->base[1], path_in_root(x, "cpu"));
    assert_string_equal(h->base[2], path_in_root(x, "pids/system.slice/determined-agent.service"));
}

#define UNIT "system.slice/determined-agent.service"
static void test_cgroup_home__of_v2_is_left_for_a_leaf(void **state)
{
    struct fixture *x = *state;
    static const char *const membership[] = {"0::/" UNIT "\n",
                                             "0::/" UNIT "/agent\n"}; /* as started, and once it has moved */
    put_file(x, "cgroup.controllers");
    put_file(x, UNIT "/agent/cgroup.procs");
    put_file(x, UNIT "/cgroup.subtree_control");
    put_file(x, UNIT "/determined/cgroup.subtree_control");
    put_file(x, UNIT "/determined/c1/pids.max");
    for (size_t i = 0; i < 2; i++) {
        const struct cgroup_home *h = find_home(x, membership[i]);
        assert_true(h->own && h->v2);
        assert_string_equal(h->base[2], path_in_root(x, UNIT));
        assert_holds(x, UNIT "/agent/cgroup.procs", "0");
        assert_int_equal(cgroup_make(h, "c1", &(struct cgroup_limits){.pids = 7}, &x->arena, &x->group, NULL), 0);
        assert_holds(x, UNIT "/determined/c1/pids.max", "7");
        assert_holds(x, UNIT "/cgroup.subtree_control", "+pids");
    }
}

static void test_cgroup_home__is_the_root_when_the_leaf_cannot_be_entered(void **state)
{
    struct fixture *x = *state;
    struct error err = ERROR_INIT;
    put_file(x, "cgroup.controllers");
    assert_int_equal(cgroup_find_home(x->root, "0::/" UNIT "\n", &x->arena, &x->home, &err), -1);
    assert_non_null(strstr(error_msg(&err), UNIT "/agent"));
    assert_false(x->home.own);
    assert_string_equal(x->home.base[0], x->root);
    error_release(&err);
}

static void test_cgroup__v1_has_a_group_in_each_controllers_tree(void **state)
{
    struct fixture *x = *state;
    put_file(x, "memory/determined/c1/memory.limit_in_bytes");
    put_file(x, "cpu/determined/c1/cpu.cfs_quota_us");
    put_file(x, "cpu/determined/c1/cpu.cfs_period_us");
    put_file(x, "pids/determined/c1/pids.max");
    struct cgroup_limits l = {.memory_bytes = 1 << 20, .cpus = 2.5, .pids = 100};
    assert_int_equal(cgroup_make(find_home(x, ""), "c1", &l, &x->arena, &x->group, NULL), 0);
    assert_holds(x, "memory/determined/c1/memory.limit_in_bytes", "1048576");
    assert_holds(x, "cpu/determined/c1/cpu.cfs_quota_us", "250000");
    assert_holds(x, "cpu/determined/c1/cpu.cfs_period_us", "100000");
    assert_holds(x, "pids/determined/c1/pids.max", "100");
    assert_non_null(strstr(x->group.procs[0], "/memory/determined/c1/tasks"));
    assert_non_null(strstr(x->group.procs[2], "/pids/determined/c1/tasks"));
    assert_null(x->group.procs[3]);
    assert_non_null(strstr(x->group.oom_file, "/memory/determined/c1/memory.oom_control"));
    assert_non_null(strstr(x->group.pids_file, "/pids/determined/c1/pids.events"));
}

static void put_text(struct fixture *x, const char *name, const char *text)
{
    put_file(x, name);
    assert_int_equal(file_write(path_in_root(x, name), text, strlen(text), 0644, NULL), 0);
}

/* v1 takes no process into a group without memory nodes, and gives no group more than the one above it has. */
static void test_cgroup__v1_gives_cores_and_the_memory_nodes_of_the_home(void **state)
{
    struct fixture *x = *state;
    put_text(x, "cpuset/cpuset.cpus", "0-7\n");
    put_text(x, "cpuset/cpuset.mems", "0-1\n");
    put_file(x, "cpuset/determined/cpuset.cpus");
    put_file(x, "cpuset/determined/cpuset.mems");
    put_file(x, "cpuset/determined/c1/cpuset.cpus");
    put_file(x, "cpuset/determined/c1/cpuset.mems");
    struct cgroup_limits l = {.cpuset = "2-3,6"};
    assert_true(cgroup_wanted(&l));
    assert_int_equal(cgroup_make(find_home(x, ""), "c1", &l, &x->arena, &x->group, NULL), 0);
    assert_string_equal(cgroup_cpus(&x->home, &x->arena), "0-7");
    assert_holds(x, "cpuset/determined/cpuset.cpus", "0-7");
    assert_holds(x, "cpuset/determined/cpuset.mems", "0-1");
    assert_holds(x, "cpuset/determined/c1/cpuset.cpus", "2-3,6");
    assert_holds(x, "cpuset/determined/c1/cpuset.mems", "0-1");
    assert_non_null(strstr(x->group.procs[0], "/cpuset/determined/c1/tasks"));
}

static void test_cgroup__v2_gives_cores(void **state)
{
    struct fixture *x = *state;
    put_file(x, "cgroup.controllers");
    put_file(x, "cgroup.subtree_control");
    put_text(x, "cpuset.cpus.effective", "0-3\n");
    put_file(x, "determined/cgroup.subtree_control");
    put_file(x, "determined/c1/cpuset.cpus");
    struct cgroup_limits l = {.cpuset = "1"};
    assert_int_equal(cgroup_make(find_home(x, ""), "c1", &l, &x->arena, &x->group, NULL), 0);
    assert_string_equal(cgroup_cpus(&x->home, &x->arena), "0-3");
    assert_holds(x, "determined/c1/cpuset.cpus", "1");
    assert_holds(x, "determined/cgroup.subtree_control", "+cpuset");
}

static void test_cgroup__v1_leaves_out_what_is_not_asked_for(void **state)
{
    struct fixture *x = *state;
    put_file(x, "pids/determined/c1/pids.max");
    struct cgroup_limits l = {.pids = 7};
    assert_int_equal(cgroup_make(find_home(x, ""), "c1", &l, &x->arena, &x->group, NULL), 0);
    assert_non_null(x->group.procs[0]);
    assert_null(x->group.procs[1]);
    assert_string_equal(x->group.oom_file, "");
}

static void test_cgroup__v2_has_one_group_and_switches_controllers_on_above_it(void **state)
{
    struct fixture *x = *state;
    put_file(x, "cgroup.controllers");
    put_file(x, "cgroup.subtree_control");
    put_file(x, "determined/cgroup.subtree_control");
    put_file(x, "determined/c1/memory.max");
    put_file(x, "determined/c1/cpu.max");
    put_file(x, "determined/c1/pids.max");
    struct cgroup_limits l = {.memory_bytes = 1 << 20, .cpus = 0.5, .pids = 100};
    assert_int_equal(cgroup_make(find_home(x, ""), "c1", &l, &x->arena, &x->group, NULL), 0);
    assert_holds(x, "determined/c1/memory.max", "1048576");
    assert_holds(x, "determined/c1/cpu.max", "50000 100000");
    assert_holds(x, "determined/c1/pids.max", "100");
    assert_holds(x, "cgroup.subtree_control", "+pids"); /* a plain file keeps the last write */
    assert_holds(x, "determined/cgroup.subtree_control", "+pids");
    assert_non_null(strstr(x->group.procs[0], "/determined/c1/cgroup.procs"));
    assert_null(x->group.procs[1]);
    assert_non_null(strstr(x->group.oom_file, "/determined/c1/memory.events"));
}

static void test_cgroup__says_which_limit_is_not_to_be_had_and_keeps_the_others(void **state)
{
    struct fixture *x = *state;
    put_file(x, "pids/determined/c1/pids.max");
    struct cgroup_limits l = {.memory_bytes = 1 << 20, .pids = 7};
    struct error err = ERROR_INIT;
    assert_int_equal(cgroup_make(find_home(x, ""), "c1", &l, &x->arena, &x->group, &err), -1);
    assert_non_null(strstr(error_msg(&err), "memory"));
    assert_non_null(strstr(x->group.procs[0], "/pids/"));
    assert_null(x->group.procs[1]);
    error_release(&err);
}

static void test_cgroup__is_removed_from_every_tree(void **state)
{
    struct fixture *x = *state;
    static const char *const dir[] = {"determined/c1", "memory/determined/c1", "cpu/determined/c1",
                                      "pids/determined/c1"};
    for (size_t i = 0; i < 4; i++) {
        char *path = path_join(x->root, dir[i]);
        assert_int_equal(dir_make(path, 0755, NULL), 0);
        free(path);
    }
    cgroup_remove(find_home(x, ""), "c1");
    for (size_t i = 0; i < 4; i++) {
        char *path = path_join(x->root, dir[i]);
        assert_int_equal(access(path, F_OK), -1);
        free(path);
    }
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_cgroup_home__is_the_root_unless_a_unit_of_ours_was_given_its_part),
        TEST(test_cgroup_home__of_v1_is_the_units_part_of_each_tree),
        TEST(test_cgroup_home__of_v2_is_left_for_a_leaf),
        TEST(test_cgroup_home__is_the_root_when_the_leaf_cannot_be_entered),
        TEST(test_cgroup__v1_has_a_group_in_each_controllers_tree),
        TEST(test_cgroup__v1_gives_cores_and_the_memory_nodes_of_the_home),
        TEST(test_cgroup__v2_gives_cores),
        TEST(test_cgroup__v1_leaves_out_what_is_not_asked_for),
        TEST(test_cgroup__v2_has_one_group_and_switches_controllers_on_above_it),
        TEST(test_cgroup__says_which_limit_is_not_to_be_had_and_keeps_the_others),
        TEST(test_cgroup__is_removed_from_every_tree),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
