#include "cmocka_setup.h"

#include <string.h>
#include <unistd.h>

#include "agent/machine/powers.h"
#include "common/base/cleanup.h"

static void test_powers__each_that_is_lacking_has_a_cause_and_each_that_is_had_has_none(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct power p[POWER_NR];
    struct cgroup_home nowhere;
    cgroup_find_home("/no/such/tree", "", &a, &nowhere, NULL);
    struct powers_request q = {.cgroups = &nowhere,
                               .root = geteuid() == 0,
                               .mount_namespaces = true,
                               .pid_namespaces = true};
    powers_try(&q, &a, p);
    for (enum power_name i = 0; i < POWER_NR; i++) {
        assert_true(*p[i].name && *p[i].gives);
        assert_int_equal(p[i].had, !*p[i].cause);
    }
    assert_true(p[POWER_NO_NEW_PRIVS].had);
    assert_false(p[POWER_MEMORY_LIMIT].had);
    assert_non_null(strstr(p[POWER_MEMORY_LIMIT].cause, "/no/such/tree/memory"));
    assert_non_null(strstr(p[POWER_CPUSET].cause, "cpuset"));
}

static void test_powers__what_the_configuration_forbids_is_told_as_such(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct power p[POWER_NR];
    struct cgroup_home nowhere;
    cgroup_find_home("/no/such/tree", "", &a, &nowhere, NULL);
    powers_try(&(struct powers_request){.cgroups = &nowhere, .root = true}, &a, p);
    assert_string_equal(p[POWER_MOUNT_NAMESPACE].cause, "mount_namespaces is false in the agent's configuration");
    assert_non_null(strstr(p[POWER_PID_NAMESPACE].cause, "mount namespace"));
    powers_try(&(struct powers_request){.cgroups = &nowhere, .root = false, .mount_namespaces = true}, &a, p);
    assert_non_null(strstr(p[POWER_USER].cause, "not root"));
    assert_non_null(strstr(p[POWER_PID_NAMESPACE].cause, "not root"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_powers__each_that_is_lacking_has_a_cause_and_each_that_is_had_has_none),
        cmocka_unit_test(test_powers__what_the_configuration_forbids_is_told_as_such),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
