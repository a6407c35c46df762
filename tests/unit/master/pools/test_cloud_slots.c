#include "cmocka_setup.h"

#include <string.h>

#include "master/pools/cloud_slots.h"

static int slots(int (*of)(struct json_object *), const char *text)
{
    cleanup_error struct error err = ERROR_INIT;
    cleanup_json struct json_object *config = NULL;
    if (json_parse(text, strlen(text), &config, &err) < 0)
        fail_msg("%s: %s", text, error_msg(&err));
    return of(config);
}

static int slots_of_type(const char *type)
{
    cleanup_arena struct arena a = ARENA_INIT;
    return slots(aws_slots, arena_printf(&a, "{\"instance_type\": \"%s\"}", type));
}

static void test_aws_slots__are_the_gpus_of_the_instance_type(void **state)
{
    assert_int_equal(slots(aws_slots, "{}"), 8); /* g4dn.metal */
    assert_int_equal(slots_of_type("g4dn.xlarge"), 1);
    assert_int_equal(slots_of_type("g4dn.12xlarge"), 4);
    assert_int_equal(slots_of_type("g5.16xlarge"), 1);
    assert_int_equal(slots_of_type("g5.48xlarge"), 8);
    assert_int_equal(slots_of_type("p2.16xlarge"), 16);
    assert_int_equal(slots_of_type("p3.8xlarge"), 4);
    assert_int_equal(slots_of_type("p4d.24xlarge"), 8);
}

static void test_aws_slots__of_machines_without_gpus_are_none_or_one(void **state)
{
    assert_int_equal(slots_of_type("m5.large"), 0);
    assert_int_equal(slots_of_type("c6gd.4xlarge"), 0);
    assert_int_equal(slots(aws_slots, "{\"instance_type\": \"m5.large\", \"cpu_slots_allowed\": true}"), 1);
    assert_int_equal(slots(aws_slots, "{\"instance_type\": \"g4dn.xlarge\", \"cpu_slots_allowed\": true}"), 1);
}

static void test_aws_slots__of_unknown_types_have_to_be_given(void **state)
{
    assert_int_equal(slots_of_type("g99.metal"), -1);
    assert_int_equal(slots_of_type("inf1.xlarge"), -1);
    assert_int_equal(slots_of_type("trn1.32xlarge"), -1);
    assert_int_equal(slots_of_type("nonsense"), -1);
    assert_int_equal(slots_of_type(""), -1);
    assert_int_equal(slots(aws_slots, "{\"instance_type\": \"g99.metal\", \"instance_slots\": 6}"), 6);
}

static void test_gcp_slots__are_the_gpus_of_the_machine(void **state)
{
    assert_int_equal(slots(gcp_slots, "{}"), 4);
    assert_int_equal(slots(gcp_slots, "{\"instance_type\": {\"gpu_num\": 2}}"), 2);
    assert_int_equal(slots(gcp_slots, "{\"instance_type\": {\"gpu_num\": 0}}"), 0);
    assert_int_equal(slots(gcp_slots, "{\"instance_type\": {\"gpu_num\": 0}, \"cpu_slots_allowed\": true}"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aws_slots__are_the_gpus_of_the_instance_type),
        cmocka_unit_test(test_aws_slots__of_machines_without_gpus_are_none_or_one),
        cmocka_unit_test(test_aws_slots__of_unknown_types_have_to_be_given),
        cmocka_unit_test(test_gcp_slots__are_the_gpus_of_the_machine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
