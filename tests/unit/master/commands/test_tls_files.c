#include "cmocka_setup.h"

#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "gen/config_tables.h"
#include "master/commands/settings.h"
#include "master/commands/tls_files.h"
#include "net/http/tls.h"
#include "net/loop/loop.h"

static char dir[64], cert[96], key[96];

static int make_dir(void **state)
{
    snprintf(dir, sizeof(dir), "/tmp/test_tls_files.XXXXXX");
    if (!mkdtemp(dir))
        return -1;
    snprintf(cert, sizeof(cert), "%s/tls.crt", dir);
    snprintf(key, sizeof(key), "%s/tls.key", dir);
    return 0;
}

static int remove_dir(void **state)
{
    unlink(cert);
    unlink(key);
    return rmdir(dir);
}

static void make_pair(void)
{
    static const char *const name[] = {"master.test"};
    assert_int_equal(tls_make_self_signed(cert, key, name, 1, NULL), 0);
}

/* ---- a pair that changes ----------------------------------------------------------------------------------------- */

struct watched {
    struct loop *loop;
    struct tls_files *files;
    int changes;
};

static void on_change(void *ctx, struct ssl_ctx_st *tls, const char *fingerprint)
{
    struct watched *w = ctx;
    w->changes++;
    assert_string_not_equal(fingerprint, tls_files_fingerprint(w->files));
    assert_ptr_not_equal(tls, tls_files_ctx(w->files)); /* the old one lives until everybody has the new one */
    loop_stop(w->loop);
}

static void watch_files(struct watched *w, int64_t period_us)
{
    struct tls_files_options o = {.cert = cert, .key = key, .period_us = period_us, .on_change = on_change, .ctx = w};
    memset(w, 0, sizeof(*w));
    assert_int_equal(loop_new(&w->loop, NULL), 0);
    assert_int_equal(tls_files_new(w->loop, &o, &w->files, NULL), 0);
}

static void unwatch_files(struct watched *w)
{
    tls_files_free(w->files);
    loop_free(w->loop);
}

static void test_tls_files__a_changed_pair_is_found(void **state)
{
    struct watched w;
    make_pair();
    watch_files(&w, 2000);
    cleanup_free char *before = strdup(tls_files_pem(w.files));
    make_pair();
    loop_run(w.loop, NULL); /* until on_change */
    assert_int_equal(w.changes, 1);
    assert_string_not_equal(tls_files_pem(w.files), before);
    unwatch_files(&w);
}

static void stop_loop(void *ctx)
{
    loop_stop(((struct watched *)ctx)->loop);
}

static void test_tls_files__unchanged_files_are_not_read(void **state)
{
    struct watched w;
    make_pair();
    watch_files(&w, 1000);
    struct loop_timer *t = loop_timer_new(w.loop, stop_loop, &w);
    loop_timer_arm(t, 50000);
    loop_run(w.loop, NULL);
    assert_int_equal(w.changes, 0);
    loop_timer_free(t);
    unwatch_files(&w);
}

static void test_tls_files__a_broken_pair_keeps_the_old_one(void **state)
{
    struct watched w;
    make_pair();
    watch_files(&w, 60000000);
    struct ssl_ctx_st *before = tls_files_ctx(w.files);
    assert_int_equal(file_write(cert, "nothing", 7, 0600, NULL), 0);
    tls_files_reload(w.files);
    assert_int_equal(unlink(cert), 0);
    tls_files_reload(w.files);
    assert_int_equal(w.changes, 0);
    assert_ptr_equal(tls_files_ctx(w.files), before);
    make_pair();
    tls_files_reload(w.files);
    assert_int_equal(w.changes, 1);
    unwatch_files(&w);
}

/* ---- the self-signed pair ---------------------------------------------------------------------------------------- */

static struct config *load_settings(const char *more)
{
    char text[256], path[96];
    struct config *c;
    cleanup_error struct error err = ERROR_INIT;
    snprintf(path, sizeof(path), "%s/master.yaml", dir);
    snprintf(text, sizeof(text), "{data_dir: %s, security: {tls: {self_signed: true}}%s}\n", dir, more);
    struct config_input in = {.program = "determined-master", .keys = master_config_keys, .default_file = path};
    assert_int_equal(file_write(path, text, strlen(text), 0600, NULL), 0);
    if (master_settings_load(&in, &c, &err) < 0)
        fail_msg("%s", error_msg(&err));
    unlink(path);
    return c;
}

static void test_tls_files__the_first_start_makes_the_pair_and_later_ones_keep_it(void **state)
{
    unlink(cert);
    unlink(key);
    cleanup_config struct config *c = load_settings(", bind_host: 10.1.2.3");
    struct tls_pair first, second;
    char host[256];
    assert_int_equal(tls_files_make_self_signed(c, NULL), 0);
    assert_int_equal(tls_pair_load(cert, key, &first, NULL), 0);
    X509 *x = SSL_CTX_get0_certificate(first.ctx);
    assert_int_equal(gethostname(host, sizeof(host)), 0);
    assert_int_equal(X509_check_host(x, host, 0, 0, NULL), 1);
    assert_int_equal(X509_check_host(x, "localhost", 0, 0, NULL), 1);
    assert_int_equal(X509_check_ip_asc(x, "10.1.2.3", 0), 1);
    assert_int_equal(X509_check_ip_asc(x, "127.0.0.1", 0), 1);
    assert_int_equal(tls_files_make_self_signed(c, NULL), 0);
    assert_int_equal(tls_pair_load(cert, key, &second, NULL), 0);
    assert_string_equal(first.pem, second.pem);
    tls_pair_release(&first);
    tls_pair_release(&second);
}

static void test_tls_files__a_certificate_without_its_key_is_not_written_over(void **state)
{
    cleanup_config struct config *c = load_settings("");
    cleanup_error struct error err = ERROR_INIT;
    make_pair();
    unlink(key);
    assert_int_equal(tls_files_make_self_signed(c, &err), -1);
    assert_non_null(strstr(error_msg(&err), key));
    assert_int_equal(access(cert, F_OK), 0);
    assert_int_not_equal(access(key, F_OK), 0);
}

int main(void)
{
    log_init("test", LOG_ERROR, false);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tls_files__a_changed_pair_is_found),
        cmocka_unit_test(test_tls_files__unchanged_files_are_not_read),
        cmocka_unit_test(test_tls_files__a_broken_pair_keeps_the_old_one),
        cmocka_unit_test(test_tls_files__the_first_start_makes_the_pair_and_later_ones_keep_it),
        cmocka_unit_test(test_tls_files__a_certificate_without_its_key_is_not_written_over),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
