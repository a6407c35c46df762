#include "cmocka_setup.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "common/system/path_access.h"

static char dir[64], deep[96];

enum { STRANGER = 64123 };

static int make_scratch(void **state)
{
    memcpy(dir, "/tmp/test_path_access.XXXXXX", sizeof("/tmp/test_path_access.XXXXXX"));
    if (!mkdtemp(dir))
        return -1;
    snprintf(deep, sizeof(deep), "%s/a/b", dir);
    return 0;
}

static int drop_scratch(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf '%s'", dir);
    return system(command);
}

static enum path_access access_of(const char *path, uid_t uid, gid_t gid, struct path_denial *ret)
{
    static struct arena a; /* what *ret points to lives there */
    struct path_account who = {.uid = uid, .has_gid = gid != (gid_t)-1, .gid = gid};
    return path_access_of(dir, path, &who, &a, ret);
}

static void test_owner_group_and_others__each_have_their_bits(void **state)
{
    static const struct {
        mode_t mode;
        uid_t uid;
        gid_t gid;
        enum path_access expected;
    } cases[] = {
        {0700, 0, STRANGER, PATH_MAY_WRITE}, /* the owner is who runs this test, if that is root */
        {0700, STRANGER, STRANGER, PATH_DENIED},
        {0755, STRANGER, STRANGER, PATH_DENIED},
        {0722, STRANGER, STRANGER, PATH_DENIED}, /* who may not go into it writes nothing */
        {01777, STRANGER, STRANGER, PATH_MAY_WRITE},
        {0775, STRANGER, 0, PATH_MAY_WRITE},
        {0707, STRANGER, 0, PATH_DENIED}, /* the group's bits come before those of others */
        {0577, 0, STRANGER, PATH_DENIED},
        {0775, STRANGER, STRANGER, PATH_UNKNOWN}, /* the account may be of the group besides its own */
        {0775, STRANGER, (gid_t)-1, PATH_UNKNOWN},
        {0755, STRANGER, (gid_t)-1, PATH_DENIED},
    };
    if (getuid() != 0)
        skip();
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct path_denial d;
        chmod(dir, cases[i].mode);
        assert_int_equal(access_of(dir, cases[i].uid, cases[i].gid, &d), cases[i].expected);
        if (cases[i].expected == PATH_DENIED) {
            assert_string_equal(d.where, dir);
            assert_int_equal(d.mode, cases[i].mode);
            assert_false(d.is_missing);
        }
    }
}

static void test_directory_that_is_missing__is_made_in_the_nearest(void **state)
{
    struct path_denial d;
    char a[80];
    snprintf(a, sizeof(a), "%s/a", dir);
    chmod(dir, 0755);
    assert_int_equal(access_of(deep, STRANGER, STRANGER, &d), PATH_DENIED);
    assert_string_equal(d.where, dir);
    assert_true(d.is_missing);
    mkdir(a, 0755);
    chmod(a, 01777);
    assert_int_equal(access_of(deep, STRANGER, STRANGER, &d), PATH_MAY_WRITE);
    mkdir(deep, 0755);
    assert_int_equal(access_of(deep, STRANGER, STRANGER, &d), PATH_DENIED);
    assert_string_equal(d.where, deep);
    chmod(deep, 01777);
    chmod(a, 0700);
    assert_int_equal(access_of(deep, STRANGER, STRANGER, &d), PATH_DENIED);
    assert_string_equal(d.where, a);
    assert_false(d.is_missing);
}

static void test_root_that_is_missing__tells_nothing(void **state)
{
    static struct arena a;
    struct path_account who = {.uid = STRANGER};
    struct path_denial d;
    char none[80];
    snprintf(none, sizeof(none), "%s/none", dir);
    chmod(dir, 0755);
    assert_int_equal(path_access_of(none, none, &who, &a, &d), PATH_UNKNOWN);
}

static void test_access_list__tells_more_than_the_mode(void **state)
{
    /* version 2; user::rwx, user:64123:rwx, group::r-x, mask::rwx, other::r-x */
    static const unsigned char list[] = {2, 0,    0,    0,   1,   0,   7,  0, 255, 255, 255, 255, 2,   0,  7,
                                         0, 0x7b, 0xfa, 0,   0,   4,   0,  5, 0,   255, 255, 255, 255, 16, 0,
                                         7, 0,    255,  255, 255, 255, 32, 0, 5,   0,   255, 255, 255, 255};
    struct path_denial d;
    chmod(dir, 0755);
    if (setxattr(dir, "system.posix_acl_access", list, sizeof(list), 0) < 0)
        skip();
    assert_int_equal(access_of(dir, STRANGER, STRANGER, &d), PATH_UNKNOWN);
    assert_int_equal(removexattr(dir, "system.posix_acl_access"), 0);
}

/* The /tmp of a service with PrivateTmp is not the one of agents. */
static int look_in_private_tmp(void)
{
    char private[160];
    struct path_denial d;
    snprintf(private, sizeof(private), "%s/systemd-private-x", dir);
    if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mkdir(private, 0755) < 0 ||
        mount(private, "/tmp", NULL, MS_BIND, NULL) < 0)
        return 77;
    mkdir("/tmp/storage", 0700);
    static struct arena a;
    struct path_account who = {.uid = STRANGER};
    return path_access_of("/tmp/storage", "/tmp/storage", &who, &a, &d) == PATH_UNKNOWN ? 0 : 1;
}

static void test_private_tmp__is_not_judged_by(void **state)
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(look_in_private_tmp());
    assert_int_equal(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
        skip();
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_owner_group_and_others__each_have_their_bits, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(test_directory_that_is_missing__is_made_in_the_nearest, make_scratch,
                                        drop_scratch),
        cmocka_unit_test_setup_teardown(test_root_that_is_missing__tells_nothing, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(test_access_list__tells_more_than_the_mode, make_scratch, drop_scratch),
        cmocka_unit_test_setup_teardown(test_private_tmp__is_not_judged_by, make_scratch, drop_scratch),
    };
    return cmocka_run_group_tests_name("path_access", tests, NULL, NULL);
}
