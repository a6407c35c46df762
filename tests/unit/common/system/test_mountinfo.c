#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>

#include "common/system/mountinfo.h"

static void test_mountinfo__gives_device_root_and_place_of_each_line(void **state)
{
    const char *text = "20 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
                       "21 20 0:45 /part\\040one /mnt/with\\040blank rw - tmpfs tmpfs rw\n"
                       "22 20 8:2 / /last";
    struct mountinfo_line m;
    assert_true(mountinfo_next(&text, &m));
    assert_string_equal(m.device, "8:1");
    assert_string_equal(m.root, "/");
    assert_string_equal(m.at, "/");
    assert_true(mountinfo_next(&text, &m));
    assert_string_equal(m.device, "0:45");
    assert_string_equal(m.root, "/part\\040one");
    assert_string_equal(m.at, "/mnt/with\\040blank");
    assert_true(mountinfo_next(&text, &m));
    assert_string_equal(m.at, "/last");
    assert_false(mountinfo_next(&text, &m));
}

/* Each is followed by a good line, which is read as such. */
static void test_mountinfo__a_line_of_another_form_is_empty(void **state)
{
    char longer[PATH_MAX + 64], path[PATH_MAX + 1], device[64];
    memset(path, 'p', PATH_MAX);
    path[PATH_MAX] = 0;
    memset(device, '1', sizeof(device) - 1);
    device[sizeof(device) - 1] = 0;
    snprintf(longer, sizeof(longer), "20 1 8:1 / /%s", path);
    char other[128];
    snprintf(other, sizeof(other), "20 1 %s / /", device);
    const char *const bad[] = {"", " ", "20", "20 1 8:1 /", "20 1 8:1 / ", "what is no line", longer, other};
    for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
        char whole[PATH_MAX + 128];
        struct mountinfo_line m;
        snprintf(whole, sizeof(whole), "%s\n21 20 8:2 /root /at rw", bad[i]);
        const char *text = whole;
        assert_true(mountinfo_next(&text, &m));
        assert_string_equal(m.device, "");
        assert_string_equal(m.root, "");
        assert_string_equal(m.at, "");
        assert_true(mountinfo_next(&text, &m));
        assert_string_equal(m.at, "/at");
        assert_false(mountinfo_next(&text, &m));
    }
}

static void test_mountinfo__writes_a_path_as_the_kernel_does(void **state)
{
    struct arena a = ARENA_INIT;
    assert_string_equal(mountinfo_path("/plain/path", &a), "/plain/path");
    assert_string_equal(mountinfo_path("/a b\tc\nd\\e#f", &a), "/a\\040b\\011c\\012d\\134e\\043f");
    arena_release(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mountinfo__gives_device_root_and_place_of_each_line),
        cmocka_unit_test(test_mountinfo__a_line_of_another_form_is_empty),
        cmocka_unit_test(test_mountinfo__writes_a_path_as_the_kernel_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
