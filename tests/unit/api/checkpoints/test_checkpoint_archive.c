/* Tests archives of directories that change while they are read, and the paths of storages. */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/checkpoints/checkpoint_archive.h"
#include "api/checkpoints/storage_roots.h"
#include "common/task/checkpoint_place.h"

static int make_directory(char path[64])
{
    snprintf(path, 64, "/tmp/test-archive-XXXXXX");
    assert_non_null(mkdtemp(path));
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(dir >= 0);
    return dir;
}

static void write_file(int dir, const char *name)
{
    int fd = openat(dir, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_int_equal(write(fd, "12345", 5), 5);
    close(fd);
}

static void remove_path(int dir, const char *path)
{
    unlinkat(dir, "a", 0);
    unlinkat(dir, "b", 0);
    unlinkat(dir, "pipe", 0);
    assert_int_equal(rmdir(path), 0);
    close(dir);
}

static int read_all(struct checkpoint_archive *a, struct error *err)
{
    cleanup_strbuf struct strbuf out = STRBUF_INIT;
    bool end = false;
    int rc = 0;
    while (rc == 0 && !end)
        rc = checkpoint_archive_read(a, 1 << 20, &out, &end, err);
    return rc;
}

/* Lists "a" as a file of 5 bytes, then calls `replace`, which puts something else in its place. */
static void check_replaced(void (*replace)(int dir))
{
    char path[64];
    struct checkpoint_archive *a;
    cleanup_error struct error err = ERROR_INIT;
    int dir = make_directory(path);
    write_file(dir, "a");
    write_file(dir, "b");
    assert_int_equal(checkpoint_archive_new(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ARCHIVE_AS_TAR, &a, &err),
                     0);
    assert_int_equal(unlinkat(dir, "a", 0), 0);
    replace(dir);
    assert_int_equal(read_all(a, &err), -1);
    assert_int_equal(err.kind, ERR_PRECONDITION);
    checkpoint_archive_free(a);
    remove_path(dir, path);
}

static void put_pipe(int dir)
{
    assert_int_equal(mkfifoat(dir, "a", 0600), 0);
}
static void put_link(int dir)
{
    assert_int_equal(symlinkat("/etc/passwd", dir, "a"), 0);
}
static void put_link_beside(int dir)
{
    assert_int_equal(symlinkat("b", dir, "a"), 0);
}

static void test_archive__does_not_wait_for_a_pipe_that_has_taken_a_files_place(void **state)
{
    check_replaced(put_pipe);
}

static void test_archive__does_not_follow_a_link_that_has_taken_a_files_place(void **state)
{
    check_replaced(put_link);
    check_replaced(put_link_beside);
}

static void test_archive__leaves_out_what_is_no_file(void **state)
{
    char path[64];
    struct checkpoint_archive *a;
    cleanup_error struct error err = ERROR_INIT;
    uint64_t with, without;
    int dir = make_directory(path);
    write_file(dir, "b");
    assert_int_equal(checkpoint_archive_new(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ARCHIVE_AS_TAR, &a, &err),
                     0);
    assert_int_equal(checkpoint_archive_length(a, &without, &err), 0);
    checkpoint_archive_free(a);
    put_link(dir);
    assert_int_equal(mkfifoat(dir, "pipe", 0600), 0);
    assert_int_equal(checkpoint_archive_new(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC), ARCHIVE_AS_TAR, &a, &err),
                     0);
    assert_int_equal(checkpoint_archive_length(a, &with, &err), 0);
    assert_int_equal(with, without);
    assert_int_equal(read_all(a, &err), 0);
    checkpoint_archive_free(a);
    remove_path(dir, path);
}

static void test_storage_path__is_normal_or_none(void **state)
{
    static const char *const paths[][2] = {
        {"/", "/"},
        {"//", "/"},
        {"/.", "/"},
        {"/a", "/a"},
        {"/a/", "/a"},
        {"//a/./b//c/.", "/a/b/c"},
        {"/a/.../b", "/a/.../b"},
        {"/..a", "/..a"},
        {"", NULL},
        {"a", NULL},
        {"./a", NULL},
        {"/..", NULL},
        {"/a/../b", NULL},
        {"/a/..", NULL},
    };
    cleanup_arena struct arena a = ARENA_INIT;
    for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
        const char *normal = storage_path_normal(paths[i][0], &a);
        if (paths[i][1])
            assert_string_equal(normal, paths[i][1]);
        else
            assert_null(normal);
    }
}

static void test_uuid__has_its_form(void **state)
{
    assert_true(checkpoint_uuid_is_valid("0a1b2c3d-1111-4222-8333-444455556666"));
    static const char *const not[] = {"",
                                      "0a1b2c3d-1111-4222-8333-44445555666",
                                      "0a1b2c3d-1111-4222-8333-4444555566667",
                                      "0a1b2c3d-1111-4222-8333-44445555666/",
                                      "------------------------------------",
                                      "0a1b2c3d011110422208333044445555666g",
                                      "../../../../../../../../../../../etc"};
    for (size_t i = 0; i < sizeof(not) / sizeof(*not); i++)
        assert_false(checkpoint_uuid_is_valid(not[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_archive__does_not_wait_for_a_pipe_that_has_taken_a_files_place),
        cmocka_unit_test(test_archive__does_not_follow_a_link_that_has_taken_a_files_place),
        cmocka_unit_test(test_archive__leaves_out_what_is_no_file),
        cmocka_unit_test(test_storage_path__is_normal_or_none),
        cmocka_unit_test(test_uuid__has_its_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
