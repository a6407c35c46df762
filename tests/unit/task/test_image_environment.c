#include "cmocka_setup.h"

#include <string.h>

#include "common/base/cleanup.h"
#include "common/task/taskspec.h"
#include "task/image_environment.h"

/* Everything in one line, for a comparison. */
static const char *joined(char *const *image, char *const *order, struct arena *a)
{
    const char *line = "";
    for (char **entry = image_environment(image, order, a); *entry; entry++)
        line = arena_printf(a, "%s%s%s", line, *line ? " " : "", *entry);
    return line;
}

static void test_image_environment__the_order_counts_before_the_image(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    char *image[] = {"A=image's", "B=image's", "AB=image's", "nothing", NULL};
    char *order[] = {"B=order's", "C=", NULL};
    assert_string_equal(joined(image, order, &a), "B=order's C= A=image's AB=image's");
}

static void test_image_environment__what_the_command_has_put_there_is_not_the_images(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    char *image[] = {"APPTAINER_NAME=x",        "SINGULARITY_BIND=",    "HOME=/root", "PWD=/", "PS1=>",
                     "DETERMINED_CONTAINER=/t", "LD_LIBRARY_PATH=/lib", NULL};
    char *order[] = {"HOME=/run/determined/workdir", NULL};
    assert_string_equal(joined(image, order, &a), "HOME=/run/determined/workdir LD_LIBRARY_PATH=/lib");
}

static void test_image_environment__directories_are_added_to_those_of_the_image(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    char *order[] = {"PATH=/ours/bin:" TASKSPEC_OF_IMAGE, "PYTHONPATH=/ours:" TASKSPEC_OF_IMAGE, NULL};
    char *both[] = {"PATH=/opt/bin", "PYTHONPATH=/opt", NULL};
    char *neither[] = {"X=1", NULL};
    char *empty[] = {"PATH=", "PYTHONPATH=", NULL};
    assert_string_equal(joined(both, order, &a), "PATH=/ours/bin:/opt/bin PYTHONPATH=/ours:/opt");
    assert_string_equal(
        joined(neither, order, &a),
        "PATH=/ours/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/ours X=1");
    assert_string_equal(joined(empty, order, &a),
                        "PATH=/ours/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin PYTHONPATH=/ours");
}

static void test_image_environment__a_variable_of_which_nothing_is_left_is_not_set(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    char *order[] = {"PYTHONPATH=" TASKSPEC_OF_IMAGE, NULL};
    char *with[] = {"PYTHONPATH=/opt", NULL}, *without[] = {NULL};
    assert_string_equal(joined(with, order, &a), "PYTHONPATH=/opt");
    assert_string_equal(joined(without, order, &a), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_image_environment__the_order_counts_before_the_image),
        cmocka_unit_test(test_image_environment__what_the_command_has_put_there_is_not_the_images),
        cmocka_unit_test(test_image_environment__directories_are_added_to_those_of_the_image),
        cmocka_unit_test(test_image_environment__a_variable_of_which_nothing_is_left_is_not_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
