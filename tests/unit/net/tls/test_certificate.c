#include "cmocka_setup.h"

#include <openssl/err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "net/tls/certificate.h"

#define FROM_US INT64_C(1800000000000000)
#define UNTIL_US INT64_C(1800604800000000)

static char dir[64];
static struct authority *authority;

static char *in_dir(const char *name)
{
    return path_join(dir, name);
}

static int make_authority(void **state)
{
    cleanup_error struct error err = ERROR_INIT;
    snprintf(dir, sizeof(dir), "/tmp/test_certificate.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    cleanup_free char *file = in_dir("ca.pem");
    return authority_make(file, "Test", &err) < 0 ? -1 : authority_load(file, &authority, &err);
}

static int remove_dir(void **state)
{
    char command[128];
    authority_free(authority);
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static void expect_error(const struct error *err, const char *part)
{
    if (err->kind != ERR_INVALID || !strstr(error_msg(err), part))
        fail_msg("%s is not in: %s", part, error_msg(err));
    assert_int_equal(ERR_peek_error(), 0); /* nothing is left that would be blamed on the next connection */
}

static void make_certificate(const char *name, char **ret_key, char **ret_certificate)
{
    cleanup_free char *request = NULL;
    cleanup_error struct error err = ERROR_INIT;
    if (certificate_request_make(ret_key, &request, &err) < 0 ||
        authority_sign(authority, request, name, FROM_US, UNTIL_US, ret_certificate, &err) < 0)
        fail_msg("%s", error_msg(&err));
}

static void a_certificate_says_what_the_authority_has_said(void **state)
{
    char long_name[128];
    memset(long_name, 'n', sizeof(long_name) - 1);
    long_name[sizeof(long_name) - 1] = 0;
    const char *const names[] = {"node7", "knoten-ü", long_name};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        char *key, *certificate;
        struct certificate_facts written, read;
        struct stat st;
        cleanup_free char *file = in_dir("agent.pem");
        cleanup_error struct error err = ERROR_INIT;
        make_certificate(names[i], &key, &certificate);
        assert_int_equal(certificate_write(file, key, certificate, &written, &err), 0);
        assert_int_equal(certificate_read(file, &read, &err), 0);
        assert_string_equal(read.name, names[i]);
        assert_int_equal(read.from_us, FROM_US);
        assert_int_equal(read.until_us, UNTIL_US);
        assert_memory_equal(&read, &written, sizeof(read));
        assert_int_equal(stat(file, &st), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
        certificate_free_key(key);
        free(certificate);
    }
}

static void a_certificate_is_not_kept_with_the_key_of_another(void **state)
{
    char *key, *certificate, *other_key, *other;
    struct certificate_facts facts;
    cleanup_free char *file = in_dir("mixed.pem");
    cleanup_error struct error err = ERROR_INIT, garbage = ERROR_INIT;
    make_certificate("a", &key, &certificate);
    make_certificate("a", &other_key, &other);
    assert_int_equal(certificate_write(file, key, other, &facts, &err), -1);
    expect_error(&err, "its key does not belong to its certificate");
    assert_int_equal(certificate_write(file, key, "garbage", &facts, &garbage), -1);
    expect_error(&garbage, "no certificate in PEM form");
    assert_int_equal(access(file, F_OK), -1);
    certificate_free_key(key);
    certificate_free_key(other_key);
    free(certificate);
    free(other);
}

static void what_is_no_request_is_not_signed(void **state)
{
    static const char *const texts[] = {
        "", "garbage", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
        char *certificate = NULL;
        cleanup_error struct error err = ERROR_INIT;
        assert_int_equal(authority_sign(authority, texts[i], "a", FROM_US, UNTIL_US, &certificate, &err), -1);
        expect_error(&err, "not one in PEM form");
        assert_null(certificate);
    }
}

/* Any byte of the request that is changed makes it another request, or none. */
static void a_request_that_was_changed_is_not_signed(void **state)
{
    char *key, *request;
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(certificate_request_make(&key, &request, &err), 0);
    char *body = strchr(request, '\n') + 1, *end = strstr(request, "-----END");
    for (char *at = body; at < end; at++) {
        char *certificate = NULL, was = *at;
        cleanup_error struct error refused = ERROR_INIT;
        if (was == '\n' || was == '=')
            continue;
        *at = was == 'A' ? 'B' : 'A';
        if (authority_sign(authority, request, "a", FROM_US, UNTIL_US, &certificate, &refused) == 0)
            /* bits behind the last byte of the signature mean nothing */
            assert_true(end - at < 6);
        free(certificate);
        *at = was;
    }
    certificate_free_key(key);
    free(request);
}

static void an_authority_is_a_certificate_that_may_sign(void **state)
{
    char *key, *certificate;
    struct certificate_facts facts;
    struct authority *none = NULL;
    cleanup_free char *file = in_dir("agent.pem"), *missing = in_dir("missing.pem");
    cleanup_error struct error err = ERROR_INIT, gone = ERROR_INIT;
    make_certificate("a", &key, &certificate);
    assert_int_equal(certificate_write(file, key, certificate, &facts, &err), 0);
    assert_int_equal(authority_load(file, &none, &err), -1);
    expect_error(&err, "may not sign others");
    assert_int_equal(authority_load(missing, &none, &gone), -1);
    assert_int_equal(gone.kind, ERR_NOT_FOUND);
    assert_null(none);
    certificate_free_key(key);
    free(certificate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_certificate_says_what_the_authority_has_said),
        cmocka_unit_test(a_certificate_is_not_kept_with_the_key_of_another),
        cmocka_unit_test(what_is_no_request_is_not_signed),
        cmocka_unit_test(a_request_that_was_changed_is_not_signed),
        cmocka_unit_test(an_authority_is_a_certificate_that_may_sign),
    };
    return cmocka_run_group_tests(tests, make_authority, remove_dir);
}
