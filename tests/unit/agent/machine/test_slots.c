#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/machine/slots.h"
#include "common/system/files.h"

static const char two_models[] = "processor\t: 0\nvendor_id\t: GenuineIntel\nmodel name\t: Xeon A\n\n"
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

static struct arena arena = ARENA_INIT;
static struct slots slots;

/* No GPU is visible, so that what the machine has makes no difference. */
static int find_slots(const char *type, int artificial, const char *cpuinfo_file, struct error *err)
{
    struct slots_request q = {.slot_type = type, .artificial = artificial, .visible_gpus = "", .cpuinfo = cpuinfo_file};
    slots = (struct slots){0};
    return slots_find(&q, &arena, &slots, err);
}

static int release_slots(void **state)
{
    slots_release(&slots);
    arena_release(&arena);
    return 0;
}

static void test_slots__all_processors_are_one_slot_named_by_model_and_vendor(void **state)
{
    assert_int_equal(find_slots("auto", 0, cpuinfo, NULL), 0);
    assert_int_equal(slots.n, 1);
    assert_int_equal(slots.device[0].id, 0);
    assert_int_equal(slots.device[0].type, WIRE_DEVICE_TYPE_CPU);
    assert_string_equal(slots.device[0].brand, "Xeon A x 2 cores, Xeon B x 1 cores");
    assert_string_equal(slots.device[0].uuid, "GenuineIntel");
    assert_ptr_equal(slots_device(&slots, 0), &slots.device[0]);
    assert_null(slots_device(&slots, 1));
}

static void test_slots__cores_are_divided_into_slots(void **state)
{
    struct slots_request q = {.slot_type = "cpu", .cpu_slots = 1, .visible_gpus = "", .cpuinfo = cpuinfo};
    slots = (struct slots){0};
    assert_int_equal(slots_find(&q, &arena, &slots, NULL), 0);
    assert_int_equal(slots.n, 1);
    assert_non_null(strstr(slots.device[0].brand, "Xeon A"));
    const char *cores = slots_cores(&slots, (int32_t[]){0}, 1, &arena);
    assert_non_null(cores);
    assert_non_null(strstr(slots.device[0].uuid, cores));
    assert_null(slots_cores(&slots, NULL, 0, &arena));
}

static void test_slots__more_than_there_are_cores_are_refused(void **state)
{
    struct slots_request q = {.slot_type = "cpu", .cpu_slots = 8192, .visible_gpus = "", .cpuinfo = cpuinfo};
    struct error err = ERROR_INIT;
    slots = (struct slots){0};
    assert_int_equal(slots_find(&q, &arena, &slots, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_non_null(strstr(error_msg(&err), "cpu_slots is 8192"));
    error_release(&err);
}

static void test_slots__shares_of_a_gpu_add_up(void **state)
{
    static const struct gpu_maker maker = {.name = "NVIDIA"};
    struct gpu card[] = {{.uuid = "GPU-a", .memory_bytes = 90}, {.uuid = "GPU-b", .memory_bytes = 60}};
    struct wire_link_device device[] = {{.id = 0}, {.id = 1}, {.id = 2}, {.id = 3}, {.id = 4}, {.id = 5}};
    struct slots s = {.maker = &maker, .device = device, .n = 6, .gpu = card, .gpu_n = 2, .per_device = 3};
    struct slots_share *share;
    assert_int_equal(slots_shares(&s, (int32_t[]){4, 0, 2, 99}, 4, &arena, &share), 2);
    assert_string_equal(share[0].gpu->uuid, "GPU-b");
    assert_int_equal(share[0].memory_bytes, 20);
    assert_string_equal(share[1].gpu->uuid, "GPU-a");
    assert_int_equal(share[1].memory_bytes, 60);
    s.maker = NULL;
    assert_int_equal(slots_shares(&s, (int32_t[]){0}, 1, &arena, &share), 0);
    arena_release(&arena);
}

static void test_slots__none_and_artificial(void **state)
{
    assert_int_equal(find_slots("none", 0, cpuinfo, NULL), 0);
    assert_int_equal(slots.n, 0);
    assert_int_equal(find_slots("auto", 3, "/no/such/file", NULL), 0);
    assert_int_equal(slots.n, 3);
    assert_int_equal(slots.device[2].id, 2);
    assert_string_not_equal(slots.device[1].uuid, slots.device[2].uuid);
}

static void test_slots__devices_that_are_not_there_are_an_error(void **state)
{
    static const char *const type[] = {"gpu", "cuda", "rocm", "tpu"};
    for (size_t i = 0; i < 4; i++) {
        struct error err = ERROR_INIT;
        assert_int_equal(find_slots(type[i], 0, cpuinfo, &err), -1);
        assert_non_null(strstr(error_msg(&err), type[i]));
        error_release(&err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_slots__all_processors_are_one_slot_named_by_model_and_vendor, release_slots),
        cmocka_unit_test_teardown(test_slots__cores_are_divided_into_slots, release_slots),
        cmocka_unit_test_teardown(test_slots__more_than_there_are_cores_are_refused, release_slots),
        cmocka_unit_test(test_slots__shares_of_a_gpu_add_up),
        cmocka_unit_test_teardown(test_slots__none_and_artificial, release_slots),
        cmocka_unit_test_teardown(test_slots__devices_that_are_not_there_are_an_error, release_slots),
    };
    return cmocka_run_group_tests(tests, write_cpuinfo, remove_cpuinfo);
}
