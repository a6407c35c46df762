/* What machine this is: the parts that come from files; the others are whatever the machine says. */
#include "cmocka_setup.h"

#include <string.h>
#include <unistd.h>

#include "agent/machine/host_facts.h"
#include "common/system/files.h"

#define OS_RELEASE "/tmp/det-test-os-release"
#define CPUINFO "/tmp/det-test-cpuinfo"

static struct arena arena = ARENA_INIT;

static int release_arena(void **state)
{
    unlink(OS_RELEASE);
    unlink(CPUINFO);
    arena_release(&arena);
    return 0;
}

static struct wire_host_environment read_facts(const char *os_release, const char *cpuinfo)
{
    struct wire_host_environment host;
    file_write(OS_RELEASE, os_release, strlen(os_release), 0600, NULL);
    file_write(CPUINFO, cpuinfo, strlen(cpuinfo), 0600, NULL);
    host_facts_read(&(struct host_facts_places){.os_release = OS_RELEASE, .cpuinfo = CPUINFO}, "node1", &arena, &host);
    return host;
}

static void test_host_facts__name_system_and_processors(void **state)
{
    struct wire_host_environment host =
        read_facts("NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\nID=debian\n",
                   "model name\t: Xeon A\n\nmodel name\t: Xeon A\n");
    assert_string_equal(host.os, "Debian GNU/Linux 12 (bookworm)");
    assert_string_equal(host.processor, "Xeon A x 2 cores");
    assert_string_equal(host.hostname, "node1");
    assert_true(host.processors > 0 && host.memory_bytes > 1 << 20);
    assert_true(strlen(host.kernel) > 0 && strlen(host.architecture) > 0);
    assert_string_equal(read_facts("PRETTY_NAME=Alpine\n", "").os, "Alpine");
}

static void test_host_facts__that_cannot_be_found_out_are_empty(void **state)
{
    struct wire_host_environment host = read_facts("ID=other", "processor\t: 0\n");
    assert_string_equal(host.os, "");
    assert_string_equal(host.processor, "unknown processor");
    host_facts_read(&(struct host_facts_places){.os_release = "/none", .cpuinfo = "/none"}, "node1", &arena, &host);
    assert_string_equal(host.os, "");
    assert_string_equal(host.processor, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_host_facts__name_system_and_processors, release_arena),
        cmocka_unit_test_teardown(test_host_facts__that_cannot_be_found_out_are_empty, release_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
