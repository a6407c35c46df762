#include "cmocka_setup.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "net/http/tls.h"

static char dir[64];

static int make_dir(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/test_tls.XXXXXX");
    return mkdtemp(dir) ? 0 : -1;
}

static int remove_dir(void **state)
{
    char command[128];
    snprintf(command, sizeof(command), "rm -rf %s", dir);
    return system(command);
}

static char *in_dir(const char *name)
{
    return path_join(dir, name);
}

static void make_pair(const char *cert, const char *key)
{
    static const char *const name[] = {"master.test", "10.1.2.3", "::1"};
    cleanup_free char *c = in_dir(cert), *k = in_dir(key);
    cleanup_error struct error err = ERROR_INIT;
    if (tls_make_self_signed(c, k, name, 3, &err) < 0)
        fail_msg("%s", error_msg(&err));
}

static void expect_refused(const char *cert, const char *key, const char *file, const char *part)
{
    cleanup_free char *c = in_dir(cert), *k = in_dir(key), *named = in_dir(file);
    cleanup_error struct error err = ERROR_INIT;
    struct tls_pair p;
    assert_int_equal(tls_pair_load(c, k, &p, &err), -1);
    if (!strstr(error_msg(&err), part) || !strstr(error_msg(&err), named))
        fail_msg("%s and %s are not in: %s", part, named, error_msg(&err));
}

static void copy_text(const char *name, struct strbuf *ret)
{
    cleanup_free char *path = in_dir(name);
    strbuf_reset(ret);
    assert_int_equal(file_read(path, 1 << 20, ret, NULL), 0);
}

static void write_text(const char *name, const char *text)
{
    cleanup_free char *path = in_dir(name);
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
}

static mode_t mode_of(const char *name)
{
    cleanup_free char *path = in_dir(name);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 0777;
}

static void load_pair(const char *cert, const char *key, struct tls_pair *ret)
{
    cleanup_free char *c = in_dir(cert), *k = in_dir(key);
    cleanup_error struct error err = ERROR_INIT;
    if (tls_pair_load(c, k, ret, &err) < 0)
        fail_msg("%s", error_msg(&err));
}

static void test_tls_make_self_signed__is_for_its_names_and_days(void **state)
{
    struct tls_pair p;
    make_pair("a.crt", "a.key");
    assert_int_equal(mode_of("a.key"), 0600);
    assert_int_equal(mode_of("a.crt"), 0644);
    load_pair("a.crt", "a.key", &p);
    X509 *x = SSL_CTX_get0_certificate(p.ctx);
    assert_int_equal(X509_check_host(x, "master.test", 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(x, "10.1.2.3", 0), 1);
    assert_int_equal(X509_check_ip_asc(x, "::1", 0), 1);
    assert_int_equal(X509_check_host(x, "other.test", 0, 0, NULL), 0);
    assert_int_equal(X509_check_ca(x), 0);
    int64_t days = (p.expires_us - clock_now_us()) / 86400 / 1000000;
    assert_true(days == 822); /* of 825 in all: the two before it was made are for clocks that are behind */
    tls_pair_release(&p);
}

static void test_tls_make_self_signed__refuses_names_that_are_none(void **state)
{
    static const char *const name[] = {""};
    cleanup_free char *c = in_dir("bad.crt"), *k = in_dir("bad.key");
    cleanup_error struct error err = ERROR_INIT;
    assert_int_equal(tls_make_self_signed(c, k, name, 1, &err), -1);
    assert_int_not_equal(access(k, F_OK), 0);
}

static void test_tls_pair_load__takes_new_protocols_and_ciphers_only(void **state)
{
    struct tls_pair p;
    make_pair("a.crt", "a.key");
    load_pair("a.crt", "a.key", &p);
    assert_int_equal(SSL_CTX_get_min_proto_version(p.ctx), TLS1_2_VERSION);
    STACK_OF(SSL_CIPHER) *list = SSL_CTX_get_ciphers(p.ctx);
    assert_true(sk_SSL_CIPHER_num(list) > 3);
    for (int i = 0; i < sk_SSL_CIPHER_num(list); i++)
        assert_true(SSL_CIPHER_is_aead(sk_SSL_CIPHER_value(list, i)));
    tls_pair_release(&p);
}

static void test_tls_pair_load__names_the_file_that_is_wrong(void **state)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    make_pair("a.crt", "a.key");
    make_pair("b.crt", "b.key");
    write_text("empty", "");
    write_text("words", "no certificate here\n");
    copy_text("a.crt", &text);
    memcpy(strstr(text.s, "\n") + 10, "!!!!", 4);
    write_text("damaged", text.s);

    expect_refused("none", "a.key", "none", "No such file");
    expect_refused("a.crt", "none", "none", "No such file");
    expect_refused("empty", "a.key", "empty", "holds no certificate");
    expect_refused("words", "a.key", "words", "holds no certificate");
    expect_refused("damaged", "a.key", "damaged", "certificate 1 is damaged");
    expect_refused("a.key", "a.key", "a.key", "holds no certificate");
    expect_refused("a.crt", "a.crt", "a.crt", "holds no private key");
    expect_refused("a.crt", "b.key", "b.key", "is not the key of the certificate in");
    assert_int_equal(ERR_peek_error(), 0);
}

/* A second certificate that is cut off would otherwise be a shorter chain, noticed by some clients only. */
static void test_tls_pair_load__refuses_half_a_chain(void **state)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, more = STRBUF_INIT;
    make_pair("a.crt", "a.key");
    make_pair("b.crt", "b.key");
    copy_text("a.crt", &text);
    copy_text("b.crt", &more);
    strbuf_add(&text, more.s, more.n / 2);
    write_text("half", text.s);
    expect_refused("half", "a.key", "half", "certificate 2 is damaged");
}

static void test_tls_pair_load__does_not_ask_for_a_passphrase(void **state)
{
    make_pair("a.crt", "a.key");
    cleanup_free char *key = in_dir("a.key"), *locked = in_dir("locked.key");
    FILE *in = fopen(key, "r"), *out = fopen(locked, "w");
    EVP_PKEY *pkey = PEM_read_PrivateKey(in, NULL, NULL, NULL);
    assert_int_equal(PEM_write_PrivateKey(out, pkey, EVP_aes_128_cbc(), (const unsigned char *)"secret", 6, NULL, NULL),
                     1);
    EVP_PKEY_free(pkey);
    fclose(in);
    fclose(out);
    expect_refused("a.crt", "locked.key", "locked.key", "asks for a passphrase");
}

/* The text goes to every task: of a file that holds the key as well, only the certificates. */
static void test_tls_pair_load__its_text_holds_the_chain_and_never_the_key(void **state)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT, more = STRBUF_INIT;
    struct tls_pair p;
    make_pair("a.crt", "a.key");
    make_pair("b.crt", "b.key");
    const char *const file[] = {"a.crt", "a.key", "b.crt"};
    for (size_t i = 0; i < 3; i++) {
        copy_text(file[i], &more);
        strbuf_add(&text, more.s, more.n);
    }
    write_text("all.pem", text.s);
    load_pair("all.pem", "all.pem", &p);
    assert_null(strstr(p.pem, "PRIVATE"));
    copy_text("a.crt", &text);
    copy_text("b.crt", &more);
    strbuf_add(&text, more.s, more.n);
    assert_string_equal(p.pem, text.s);
    tls_pair_release(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_make_self_signed__is_for_its_names_and_days),
        cmocka_unit_test(test_tls_make_self_signed__refuses_names_that_are_none),
        cmocka_unit_test(test_tls_pair_load__takes_new_protocols_and_ciphers_only),
        cmocka_unit_test(test_tls_pair_load__names_the_file_that_is_wrong),
        cmocka_unit_test(test_tls_pair_load__refuses_half_a_chain),
        cmocka_unit_test(test_tls_pair_load__does_not_ask_for_a_passphrase),
        cmocka_unit_test(test_tls_pair_load__its_text_holds_the_chain_and_never_the_key),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
