#include "cmocka_setup.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"

static char dir[64];

static int make_scratch(void **state)
{
    memcpy(dir, "/tmp/test_files.XXXXXX", sizeof("/tmp/test_files.XXXXXX"));
    umask(077);
    return !mkdtemp(dir) ? -1 : 0;
}

static int drop_scratch(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

static int mode_of(const char *path)
{
    struct stat st;
    return stat(path, &st) < 0 ? -1 : (int)(st.st_mode & 07777);
}

static int entries_of(const char *path)
{
    DIR *d = opendir(path);
    int n = 0;
    while (readdir(d))
        n++;
    closedir(d);
    return n - 2;
}

static void test_files__write_replaces_the_file_and_leaves_nothing_beside_it(void **state)
{
    cleanup_free char *path = path_join(dir, "config");
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    assert_int_equal(file_write(path, "one", 3, 0644, NULL), 0);
    assert_int_equal(mode_of(path), 0644);
    assert_int_equal(file_write(path, "two\0!", 5, 0600, NULL), 0);
    assert_int_equal(mode_of(path), 0600);
    assert_int_equal(file_read(path, 5, &b, NULL), 0);
    assert_int_equal(b.n, 5);
    assert_memory_equal(b.s, "two\0!", 5);
    assert_int_equal(entries_of(dir), 1);
}

static void test_files__read_refuses_what_is_longer_than_the_limit(void **state)
{
    cleanup_free char *path = path_join(dir, "config");
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    strbuf_adds(&b, "before");
    assert_int_equal(file_read(path, 4, &b, &err), -1);
    assert_int_equal(err.kind, ERR_TOO_LARGE);
    assert_string_equal(b.s, "before");
}

static void test_files__name_what_is_missing(void **state)
{
    struct error err cleanup_error = ERROR_INIT;
    struct strbuf b cleanup_strbuf = STRBUF_INIT;
    assert_int_equal(file_read("/nowhere/at/all", 10, &b, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
    assert_string_equal(error_msg(&err), "opening /nowhere/at/all: No such file or directory");
    assert_int_equal(file_write("/nowhere/at/all", "", 0, 0600, &err), -1);
    assert_int_equal(err.kind, ERR_NOT_FOUND);
}

static void test_files__dir_make_builds_the_whole_path_with_the_mode(void **state)
{
    cleanup_free char *deep = path_join(dir, "a//b/c/"), *b = path_join(dir, "a/b");
    assert_int_equal(dir_make(deep, 0755, NULL), 0);
    assert_int_equal(mode_of(deep), 0755);
    assert_int_equal(mode_of(b), 0755);
    assert_int_equal(dir_make(deep, 0700, NULL), 0);
    assert_int_equal(mode_of(deep), 0755);
}

static void test_files__dir_make_does_not_pass_through_a_file(void **state)
{
    cleanup_free char *path = path_join(dir, "config/sub");
    struct error err cleanup_error = ERROR_INIT;
    assert_int_equal(dir_make(path, 0755, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_non_null(strstr(error_msg(&err), "is a file, where a directory is expected"));
}

static void assert_parent(const char *path, const char *expected)
{
    cleanup_free char *got = path_parent(path);
    assert_string_equal(got, expected);
}

static void test_files__paths_join_and_split(void **state)
{
    assert_parent("/a/b", "/a");
    assert_parent("/a//b/", "/a");
    assert_parent("/a", "/");
    assert_parent("/", "/");
    assert_parent("a", ".");
    cleanup_free char *joined = path_join("/x/", "y"), *absolute = path_join("/x", "/y"), *bare = path_join("", "y");
    assert_string_equal(joined, "/x/y");
    assert_string_equal(absolute, "/y");
    assert_string_equal(bare, "y");
}

static void test_files__tree_remove_takes_all_below_and_follows_no_link(void **state)
{
    char path[128], kept[128], link[160];
    snprintf(path, sizeof(path), "%s/tree/a/b", dir);
    snprintf(kept, sizeof(kept), "%s/kept", dir);
    assert_int_equal(dir_make(path, 0700, NULL), 0);
    assert_int_equal(dir_make(kept, 0700, NULL), 0);
    snprintf(link, sizeof(link), "%s/file", kept);
    assert_int_equal(file_write(link, "x", 1, 0600, NULL), 0);
    snprintf(link, sizeof(link), "%s/link", path);
    assert_int_equal(symlink(kept, link), 0);
    assert_int_equal(chmod(path, 0), 0); /* the directory's owner may have done that */
    snprintf(path, sizeof(path), "%s/tree", dir);
    assert_int_equal(tree_remove(path, NULL), 0);
    assert_int_equal(mode_of(path), -1);
    assert_int_equal(entries_of(kept), 1);
    assert_int_equal(tree_remove(path, NULL), 0); /* there is none */
    snprintf(link, sizeof(link), "%s/file", kept);
    assert_int_equal(tree_remove(link, NULL), 0);
    assert_int_equal(entries_of(kept), 0);
    assert_int_equal(tree_remove(kept, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files__write_replaces_the_file_and_leaves_nothing_beside_it),
        cmocka_unit_test(test_files__read_refuses_what_is_longer_than_the_limit),
        cmocka_unit_test(test_files__name_what_is_missing),
        cmocka_unit_test(test_files__dir_make_builds_the_whole_path_with_the_mode),
        cmocka_unit_test(test_files__dir_make_does_not_pass_through_a_file),
        cmocka_unit_test(test_files__paths_join_and_split),
        cmocka_unit_test(test_files__tree_remove_takes_all_below_and_follows_no_link),
    };
    return cmocka_run_group_tests(tests, make_scratch, drop_scratch);
}
