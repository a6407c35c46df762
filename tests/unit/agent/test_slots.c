#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/slots.h"
#include "common/files.h"

static const char two_models[] =
    "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon A\n\n"
    "processor\t: 1\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon B\n\n"
    "processor\t: 2\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon A\n";

static char cpuinfo[64];

static int write_cpuinfo(void **state)
{
    memcpy(cpuinfo, "/tmp/det-cpuinfo-XXXXXX", 24);
    int fd = mkstemp(cpuinfo);
    close(fd);
    return file_write(cpuinfo, two_models, sizeof(two_models) - 1, 0600, NULL);
}

static int remove_cpuinfo(void **state)
{
    return unlink(cpuinfo);
}

static void test_slots__all_processors_are_one_slot_named_by_model_and_vendor(void **state)
{
    struct arena a = ARENA_INIT;
    struct wire_link_device *d;
    size_t n;
    assert_int_equal(slots_find("auto", 0, cpuinfo, &a, &d, &n, NULL), 0);
    assert_int_equal(n, 1);
    assert_int_equal(d[0].id, 0);
    assert_int_equal(d[0].type, WIRE_DEVICE_TYPE_CPU);
    assert_string_equal(d[0].brand, "Xeon A x 2 cores, Xeon B x 1 cores");
    assert_string_equal(d[0].uuid, "GenuineIntel");
    arena_release(&a);
}

static void test_slots__none_and_artificial(void **state)
{
    struct arena a = ARENA_INIT;
    struct wire_link_device *d;
    size_t n;
    assert_int_equal(slots_find("none", 0, cpuinfo, &a, &d, &n, NULL), 0);
    assert_int_equal(n, 0);
    assert_int_equal(slots_find("auto", 3, "/no/such/file", &a, &d, &n, NULL), 0);
    assert_int_equal(n, 3);
    assert_int_equal(d[2].id, 2);
    assert_string_not_equal(d[1].uuid, d[2].uuid);
    arena_release(&a);
}

static void test_slots__devices_that_are_not_there_are_an_error(void **state)
{
    static const char *const type[] = {"gpu", "cuda", "rocm", "tpu"};
    for (size_t i = 0; i < 4; i++) {
        struct arena a = ARENA_INIT;
        struct wire_link_device *d;
        size_t n;
        struct error err = ERROR_INIT;
        assert_int_equal(slots_find(type[i], 0, cpuinfo, &a, &d, &n, &err), -1);
        assert_non_null(strstr(error_msg(&err), type[i]));
        error_release(&err);
        arena_release(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_slots__all_processors_are_one_slot_named_by_model_and_vendor),
        cmocka_unit_test(test_slots__none_and_artificial),
        cmocka_unit_test(test_slots__devices_that_are_not_there_are_an_error),
    };
    return cmocka_run_group_tests(tests, write_cpuinfo, remove_cpuinfo);
}
