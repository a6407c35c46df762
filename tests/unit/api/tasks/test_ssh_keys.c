/* Key pairs of shells: OpenSSH itself reads them. */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/tasks/ssh_keys.h"
#include "common/base/cleanup.h"

#define KEYGEN "/usr/bin/ssh-keygen"

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
    assert_int_equal(chmod(path, 0600), 0);
}

static void read_command(const char *command, char *ret, size_t size)
{
    FILE *f = popen(command, "r");
    assert_non_null(f);
    ret[fread(ret, 1, size - 1, f)] = '\0';
    assert_int_equal(pclose(f), 0);
}

/* OpenSSH derives the public key from the private one, and tells its size and type. */
static void expect_pair(const char *type, int rsa_bits, const char *size_and_type)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct ssh_keys keys;
    char dir[] = "/tmp/ssh-keys-XXXXXX", derived[4096], facts[4096];
    if (ssh_keys_new(&(struct ssh_keys_request){.type = type, .rsa_bits = rsa_bits}, &a, &keys, &err) < 0)
        fail_msg("%s", error_msg(&err));
    assert_non_null(mkdtemp(dir));
    const char *file = arena_printf(&a, "%s/key", dir);
    write_file(file, keys.private_key);
    read_command(arena_printf(&a, KEYGEN " -y -P '' -f %s", file), derived, sizeof(derived));
    assert_string_equal(derived, keys.public_key);
    read_command(arena_printf(&a, KEYGEN " -l -f %s", file), facts, sizeof(facts));
    assert_true(strncmp(facts, size_and_type, strcspn(size_and_type, " ")) == 0);
    assert_non_null(strstr(facts, strchr(size_and_type, ' ') + 1));
    unlink(file);
    rmdir(dir);
}

static void test_ssh_keys__openssh_reads_every_type(void **state)
{
    if (access(KEYGEN, X_OK) != 0)
        skip(); /* this machine has no OpenSSH */
    expect_pair("ED25519", 0, "256 (ED25519)");
    expect_pair("ECDSA", 0, "256 (ECDSA)");
    expect_pair("RSA", 2048, "2048 (RSA)");
    for (int i = 0; i < 20; i++) /* numbers with and without a leading zero byte */
        expect_pair("ECDSA", 0, "256 (ECDSA)");
}

static void test_ssh_keys__differ_and_unknown_types_are_refused(void **state)
{
    cleanup_arena struct arena a = ARENA_INIT;
    cleanup_error struct error err = ERROR_INIT;
    struct ssh_keys one, other;
    assert_int_equal(ssh_keys_new(&(struct ssh_keys_request){.type = "ED25519", .rsa_bits = 0}, &a, &one, NULL), 0);
    assert_int_equal(ssh_keys_new(&(struct ssh_keys_request){.type = "ED25519", .rsa_bits = 0}, &a, &other, NULL), 0);
    assert_string_not_equal(one.public_key, other.public_key);
    assert_string_not_equal(one.private_key, other.private_key);
    assert_int_equal(ssh_keys_new(&(struct ssh_keys_request){.type = "DSA", .rsa_bits = 0}, &a, &one, &err), -1);
    assert_string_equal(error_msg(&err), "security.ssh.key_type: there is no type \"DSA\" of SSH keys");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ssh_keys__openssh_reads_every_type),
        cmocka_unit_test(test_ssh_keys__differ_and_unknown_types_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
