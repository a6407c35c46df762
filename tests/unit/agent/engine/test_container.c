#include "cmocka_setup.h"

#include "agent/engine/container.h"
#include "common/base/cleanup.h"

static char *const argv[] = {"/program", NULL};

static struct json_object *host_of(struct engine *e, const struct container_order *o, struct json_object **ret_body)
{
    *ret_body = container_describe(e, o);
    return json_object_object_get(*ret_body, "HostConfig");
}

static const char *print(struct json_object *v)
{
    return v ? json_object_to_json_string_ext(v, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE) : "";
}

static struct container_order plain_order(void)
{
    return (struct container_order){.name = "n", .image = "i", .argv = argv, .user = "0:0", .network_mode = "host"};
}

static void test_container__nvidias_gpus_are_asked_for_by_uuid(void **state)
{
    static const char *const gpu[] = {"GPU-a", "GPU-b"};
    struct engine e = {0};
    struct container_order o = plain_order();
    o.gpu = gpu;
    o.gpu_n = 2;
    o.gpu_type = WIRE_DEVICE_TYPE_CUDA;
    cleanup_json struct json_object *body = NULL;
    struct json_object *host = host_of(&e, &o, &body);
    assert_string_equal(print(json_object_object_get(host, "DeviceRequests")),
                        "[{\"Driver\":\"nvidia\",\"DeviceIDs\":[\"GPU-a\",\"GPU-b\"],"
                        "\"Capabilities\":[[\"gpu\",\"compute\",\"utility\"]]}]");
    assert_string_equal(print(json_object_object_get(host, "SecurityOpt")), "[\"no-new-privileges\"]");
}

static void test_container__amds_gpus_are_devices_of_a_group(void **state)
{
    static const char *const gpu[] = {"0x1"};
    struct engine e = {0};
    struct container_order o = plain_order();
    o.gpu = gpu;
    o.gpu_n = 1;
    o.gpu_type = WIRE_DEVICE_TYPE_ROCM;
    cleanup_json struct json_object *body = NULL;
    struct json_object *host = host_of(&e, &o, &body);
    assert_string_equal(print(json_object_object_get(host, "GroupAdd")), "[\"video\"]");
    assert_int_equal(json_object_array_length(json_object_object_get(host, "Devices")), 2);
    assert_string_equal(print(json_object_object_get(host, "SecurityOpt")),
                        "[\"no-new-privileges\",\"seccomp=unconfined\"]");
}

static void test_container__limits_that_an_engine_cannot_set_are_not_asked_for(void **state)
{
    struct engine able = {.limits_memory = true, .limits_processes = true}, unable = {0};
    struct container_order o = plain_order();
    o.memory_bytes = 1000;
    o.cpus = 2.5;
    o.processes = 5;
    o.shm_bytes = 500;
    cleanup_json struct json_object *body = NULL, *other = NULL;
    struct json_object *host = host_of(&able, &o, &body);
    assert_string_equal(print(json_object_object_get(host, "Memory")), "1000");
    assert_string_equal(print(json_object_object_get(host, "NanoCpus")), "2500000000");
    assert_string_equal(print(json_object_object_get(host, "PidsLimit")), "5");
    assert_string_equal(print(json_object_object_get(host, "ShmSize")), "500");
    host = host_of(&unable, &o, &other);
    assert_null(json_object_object_get(host, "Memory"));
    assert_null(json_object_object_get(host, "PidsLimit"));
    assert_string_equal(print(json_object_object_get(host, "ShmSize")), "500");
}

static void test_container__ports_are_published_where_the_network_is_not_the_machines(void **state)
{
    static const int32_t port[] = {80};
    struct engine e = {.remaps = true};
    struct container_order o = plain_order();
    o.port = port;
    o.port_n = 1;
    cleanup_json struct json_object *body = NULL, *other = NULL;
    struct json_object *host = host_of(&e, &o, &body);
    assert_null(json_object_object_get(host, "PortBindings"));
    assert_string_equal(print(json_object_object_get(host, "UsernsMode")), "\"host\"");
    o.network_mode = "bridge";
    host = host_of(&e, &o, &other);
    assert_string_equal(print(json_object_object_get(host, "PortBindings")), "{\"80/tcp\":[{\"HostPort\":\"80\"}]}");
    assert_string_equal(print(json_object_object_get(other, "ExposedPorts")), "{\"80/tcp\":{}}");
}

static void test_container__what_an_engine_says_is_read_by_paths(void **state)
{
    static const char text[] = "{\"State\":{\"Error\":\"no\",\"Dead\":true,\"Pid\":7}}";
    cleanup_json struct json_object *o = NULL;
    assert_int_equal(json_parse(text, sizeof(text) - 1, &o, NULL), 0);
    assert_string_equal(engine_text(o, "State.Error"), "no");
    assert_string_equal(engine_text(o, "State.Pid"), "");
    assert_string_equal(engine_text(o, "State.Error.deeper"), "");
    assert_string_equal(engine_text(NULL, "State"), "");
    assert_true(engine_flag(o, "State.Dead"));
    assert_false(engine_flag(o, "State.Error"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_container__nvidias_gpus_are_asked_for_by_uuid),
        cmocka_unit_test(test_container__amds_gpus_are_devices_of_a_group),
        cmocka_unit_test(test_container__limits_that_an_engine_cannot_set_are_not_asked_for),
        cmocka_unit_test(test_container__ports_are_published_where_the_network_is_not_the_machines),
        cmocka_unit_test(test_container__what_an_engine_says_is_read_by_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
