#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/system/files.h"
#include "task/diskuse.h"

#define BLOCK 65536
#define STEPS_MAX 1000000

struct fixture {
    char dir[64];
    struct diskuse use;
};

static int set_up(void **state)
{
    static struct fixture x;
    memset(&x, 0, sizeof(x));
    snprintf(x.dir, sizeof(x.dir), "/tmp/diskuse-XXXXXX");
    if (!mkdtemp(x.dir))
        return -1;
    x.use = (struct diskuse){.top = open(x.dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), .skip = "supervisor"};
    *state = &x;
    return x.use.top < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    struct fixture *x = *state;
    diskuse_release(&x->use);
    close(x->use.top);
    char command[100];
    snprintf(command, sizeof(command), "rm -rf %s", x->dir);
    return system(command);
}

static void fill_directory(int at, const char *name)
{
    static const char zero[BLOCK];
    int fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, zero, BLOCK), BLOCK);
    close(fd);
}

static uint64_t measure_directory(struct fixture *x, size_t entries)
{
    uint64_t bytes = 0;
    for (int i = 0; i < STEPS_MAX; i++)
        if (diskuse_step(&x->use, entries, &bytes))
            return bytes;
    fail_msg("no end of the measurement");
    return 0;
}

static void assert_about(uint64_t bytes, uint64_t blocks)
{
    assert_in_range(bytes, blocks * BLOCK, blocks * BLOCK + BLOCK);
}

static void test_diskuse__counts_files_at_all_depths_however_small_the_steps(void **state)
{
    struct fixture *x = *state;
    int top = x->use.top;
    fill_directory(top, "a");
    mkdirat(top, "d", 0700);
    mkdirat(top, "d/e", 0700);
    fill_directory(top, "d/b");
    fill_directory(top, "d/e/c");
    fill_directory(top, "z");
    for (size_t entries = 1; entries < 20; entries++)
        assert_about(measure_directory(x, entries), 4);
}

static void test_diskuse__leaves_out_the_supervisors_part_of_the_top_only(void **state)
{
    struct fixture *x = *state;
    mkdirat(x->use.top, "supervisor", 0700);
    fill_directory(x->use.top, "supervisor/a");
    mkdirat(x->use.top, "run", 0700);
    mkdirat(x->use.top, "run/supervisor", 0700);
    fill_directory(x->use.top, "run/supervisor/b");
    assert_about(measure_directory(x, 100), 1);
}

static void test_diskuse__follows_no_link_and_opens_no_file(void **state)
{
    struct fixture *x = *state;
    assert_int_equal(symlinkat("/usr", x->use.top, "link"), 0);
    assert_int_equal(mkfifoat(x->use.top, "fifo", 0600), 0);
    fill_directory(x->use.top, "a");
    assert_int_equal(linkat(x->use.top, "a", x->use.top, "b", 0), 0); /* counts once */
    assert_about(measure_directory(x, 100), 1);
}

static void test_diskuse__a_file_with_a_hole_counts_as_what_it_takes(void **state)
{
    struct fixture *x = *state;
    int fd = openat(x->use.top, "hole", O_WRONLY | O_CREAT, 0600);
    assert_int_equal(ftruncate(fd, 1L << 40), 0);
    close(fd);
    assert_about(measure_directory(x, 100), 0);
}

static void test_diskuse__a_depth_beyond_all_descriptors_is_measured(void **state)
{
    struct fixture *x = *state;
    int at = dup(x->use.top);
    for (int i = 0; i < 1500; i++) {
        assert_int_equal(mkdirat(at, "d", 0700), 0);
        int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
        assert_true(next >= 0);
        close(at);
        at = next;
    }
    fill_directory(at, "bottom");
    close(at);
    uint64_t bytes = measure_directory(x, 100);
    assert_true(bytes >= BLOCK);
}

static void test_diskuse__a_directory_that_is_moved_meanwhile_ends_the_measurement_not_the_walk_elsewhere(void **state)
{
    struct fixture *x = *state;
    uint64_t bytes = 0;
    int top = x->use.top;
    mkdirat(top, "a", 0700);
    mkdirat(top, "a/b", 0700);
    for (int i = 0; i < 50; i++) {
        char name[16];
        snprintf(name, sizeof(name), "a/b/%d", i);
        fill_directory(top, name);
    }
    mkdirat(top, "other", 0700);
    assert_false(diskuse_step(&x->use, 30, &bytes)); /* the measurement is within a/b or above */
    assert_int_equal(renameat(top, "a/b", top, "other/b"), 0);
    assert_about(measure_directory(x, 30), 50); /* a new measurement, from the top */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_diskuse__counts_files_at_all_depths_however_small_the_steps, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_diskuse__leaves_out_the_supervisors_part_of_the_top_only, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_diskuse__follows_no_link_and_opens_no_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_diskuse__a_file_with_a_hole_counts_as_what_it_takes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_diskuse__a_depth_beyond_all_descriptors_is_measured, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_diskuse__a_directory_that_is_moved_meanwhile_ends_the_measurement_not_the_walk_elsewhere, set_up,
            tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
