#include "cmocka_setup.h"

#include <string.h>

#include "agent/engine/apptainer.h"
#include "common/base/cleanup.h"

static char *const argv[] = {"/program", "word", NULL};

static struct container_order plain_order(void)
{
    return (struct container_order){.image = "/images/a.sif", .argv = argv, .network_mode = "host"};
}

/* The words after the options that every container has, up to the image. */
static const char *options_of(const struct container_order *o, struct arena *a)
{
    cleanup_strbuf struct strbuf line = STRBUF_INIT;
    char **words = apptainer_exec_words("apptainer", o, false, "/tasks/1", a);
    bool on = false;
    for (; *words && strcmp(*words, o->image) != 0; words++) {
        if (on)
            strbuf_addf(&line, "%s%s", line.n ? " " : "", *words);
        on = on || strcmp(*words, "--writable-tmpfs") == 0;
    }
    return arena_strdup(a, strbuf_str(&line));
}

static void test_apptainer__a_container_has_nothing_of_the_agents_environment(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    struct container_order o = plain_order();
    static const char *const expected[] = {"apptainer",
                                           "--quiet",
                                           "exec",
                                           "--userns",
                                           "--cleanenv",
                                           "--no-home",
                                           "--no-mount",
                                           "tmp,cwd",
                                           "--pid",
                                           "--no-init",
                                           "--ipc",
                                           "--pwd",
                                           "/",
                                           "--writable-tmpfs",
                                           "--env",
                                           "DETERMINED_CONTAINER=/tasks/1",
                                           "/images/a.sif",
                                           "/program",
                                           "word"};
    char **words = apptainer_exec_words("apptainer", &o, true, "/tasks/1", &a);
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_string_equal(words[i], expected[i]);
    assert_null(words[sizeof(expected) / sizeof(expected[0])]);
}

static void test_apptainer__mounts_come_in_the_order_of_their_targets(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    static const struct container_mount mount[] = {{.source = "/x",
                                                    .target = "/run/determined/data",
                                                    .read_only = true},
                                                   {.source = "/y", .target = "/run/determined"}};
    struct container_order o = plain_order();
    o.mount = mount;
    o.mount_n = 2;
    assert_string_equal(options_of(&o, &a), "--bind /y:/run/determined --bind /x:/run/determined/data:ro "
                                            "--env DETERMINED_CONTAINER=/tasks/1");
}

static void test_apptainer__gpus_networks_and_capabilities_are_options(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    static const char *const gpu[] = {"GPU-a"}, *const capability[] = {"SYS_PTRACE", "CAP_NET_RAW"};
    static const int32_t port[] = {8080};
    struct container_order o = plain_order();
    o.gpu = gpu;
    o.gpu_n = 1;
    o.gpu_type = WIRE_DEVICE_TYPE_CUDA;
    o.network_mode = "bridge";
    o.port = port;
    o.port_n = 1;
    o.add_capability = capability;
    o.add_capability_n = 2;
    assert_string_equal(options_of(&o, &a),
                        "--nv --net --network bridge --network-args portmap=8080:8080/tcp --add-caps CAP_SYS_PTRACE "
                        "--add-caps CAP_NET_RAW --env DETERMINED_CONTAINER=/tasks/1");
    o.gpu_type = WIRE_DEVICE_TYPE_ROCM;
    o.network_mode = "none";
    o.add_capability_n = 0;
    assert_string_equal(options_of(&o, &a), "--rocm --net --network none --env DETERMINED_CONTAINER=/tasks/1");
    o.gpu_n = 0;
    o.network_mode = "host";
    assert_string_equal(options_of(&o, &a), "--env DETERMINED_CONTAINER=/tasks/1");
}

static void assert_refused(const struct container_order *o, const char *words)
{
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(apptainer_check(o, &err), -1);
    assert_int_equal(err.kind, ERR_INVALID);
    assert_non_null(strstr(error_msg(&err), words));
}

static void test_apptainer__what_its_command_line_cannot_say_is_refused(void **state)
{
    static const struct container_mount comma[] = {{.source = "/a,b", .target = "/x"}};
    static const struct wire_link_task_device other[] = {
        {.host_path = "/dev/a", .container_path = "/dev/b", .mode = "rw"}};
    static const struct wire_link_task_device same[] = {
        {.host_path = "/dev/a", .container_path = "/dev/a", .mode = "rw"}};
    struct container_order o = plain_order();
    o.mount = comma;
    o.mount_n = 1;
    assert_refused(&o, "/a,b");
    o = plain_order();
    o.device = other;
    o.device_n = 1;
    assert_refused(&o, "/dev/a cannot be /dev/b");
    o.device = same;
    assert_int_equal(apptainer_check(&o, NULL), 0);
}

static void test_apptainer__images_are_files_references_or_names_of_docker(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct apptainer_image i;
    assert_int_equal(apptainer_image_read("/dev/null", "/images", &a, &i, &err), 0);
    assert_string_equal(i.path, "/dev/null");
    assert_null(i.reference);
    assert_int_equal(apptainer_image_read("debian:12", "/images", &a, &i, &err), 0);
    assert_string_equal(i.reference, "docker://debian:12");
    assert_string_equal(i.path, "/images/docker%3A%2F%2Fdebian%3A12.sif");
    assert_int_equal(apptainer_image_read("oras://ghcr.io/a/b:1", "/images", &a, &i, &err), 0);
    assert_string_equal(i.reference, "oras://ghcr.io/a/b:1");
    assert_int_equal(apptainer_image_read("/no/such.sif", "/images", &a, &i, &err), -1);
    assert_non_null(strstr(error_msg(&err), "/no/such.sif does not exist"));
}

static void test_apptainer__bad_images_are_refused(void **state)
{
    static const char *const bad[] = {"",           "a b", "--debug", "docker://", "docker://../x", "http://host/x.sif",
                                      "a.sif/../b", "x\ny"};
    cleanup_arena struct arena a = ARENA_INIT;
    struct apptainer_image i;
    for (size_t n = 0; n < sizeof(bad) / sizeof(bad[0]); n++)
        assert_int_equal(apptainer_image_read(bad[n], "/images", &a, &i, NULL), -1);
    char *name = arena_alloc(&a, 302);
    memset(name, 'a', 301);
    name[301] = 0;
    assert_int_equal(apptainer_image_read(name, "/images", &a, &i, NULL), -1);
}

static void test_apptainer__credentials_are_variables_of_the_program(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *v[2];
    assert_int_equal(apptainer_credentials("singularity", "{\"username\": \"u\", \"password\": \"p w\"}", &a, v), 2);
    assert_string_equal(v[0], "SINGULARITY_DOCKER_USERNAME=u");
    assert_string_equal(v[1], "SINGULARITY_DOCKER_PASSWORD=p w");
    assert_int_equal(apptainer_credentials("apptainer", "", &a, v), 0);
    assert_int_equal(apptainer_credentials("apptainer", "{", &a, v), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apptainer__a_container_has_nothing_of_the_agents_environment),
        cmocka_unit_test(test_apptainer__mounts_come_in_the_order_of_their_targets),
        cmocka_unit_test(test_apptainer__gpus_networks_and_capabilities_are_options),
        cmocka_unit_test(test_apptainer__what_its_command_line_cannot_say_is_refused),
        cmocka_unit_test(test_apptainer__images_are_files_references_or_names_of_docker),
        cmocka_unit_test(test_apptainer__bad_images_are_refused),
        cmocka_unit_test(test_apptainer__credentials_are_variables_of_the_program),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
