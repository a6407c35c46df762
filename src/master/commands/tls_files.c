#include "master/commands/tls_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/log.h"
#include "net/http/tls.h"
#include "net/loop/loop.h"
#include "net/tls/certificate.h"

/* What differs between two contents of a file. If all is zero, the file does not exist. */
struct stamp {
    dev_t dev;
    ino_t ino;
    off_t size;
    struct timespec modified;
};

struct tls_files {
    char *cert, *key, *client_ca;
    struct stamp cert_stamp, key_stamp; /* as they were at the last look, whether or not the pair could be used */
    struct tls_pair pair;
    struct loop_timer *timer;
    int64_t period_us;
    void (*on_change)(void *ctx, struct ssl_ctx_st *tls, const char *fingerprint);
    void *ctx;
};

/* ---- the self-signed pair ---------------------------------------------------------------------------------------- */

static bool is_any_address(const char *host)
{
    return strcmp(host, "0.0.0.0") == 0 || strcmp(host, "::") == 0;
}

static void add_name(const char **list, size_t *n, const char *name)
{
    for (size_t i = 0; i < *n; i++)
        if (strcmp(list[i], name) == 0)
            return;
    list[(*n)++] = name;
}

static int make_pair(const char *cert, const char *key, const char *bind_host, struct error *err)
{
    char host[256] = "";
    const char *name[5];
    size_t n = 0;
    gethostname(host, sizeof(host) - 1);
    if (*host)
        add_name(name, &n, host);
    if (!is_any_address(bind_host))
        add_name(name, &n, bind_host);
    add_name(name, &n, "localhost");
    add_name(name, &n, "127.0.0.1");
    add_name(name, &n, "::1");
    if (tls_make_self_signed(cert, key, name, n, err) < 0)
        return -1;
    log_info("tls.made", "cert=%s name=%s days=%d", log_quote(cert), log_quote(name[0]), TLS_SELF_SIGNED_DAYS);
    return 0;
}

int tls_files_make_self_signed(const struct config *c, struct error *err)
{
    const char *cert = config_str(c, "security.tls.cert"), *key = config_str(c, "security.tls.key");
    bool has_cert = access(cert, F_OK) == 0, has_key = access(key, F_OK) == 0;
    if (has_cert && has_key)
        return 0;
    if (has_cert)
        return error_set(err, ERR_CONFLICT,
                         "%s is there, but its key %s is not; remove the one or bring back the other", cert, key);
    /* If the program crashes after it has written the key and before it has written the certificate, the key is there
     * alone (tls.h). Such a key has never been used, so a new pair is made. */
    return make_pair(cert, key, config_str(c, "bind_host"), err);
}

/* ---- looking at the files ---------------------------------------------------------------------------------------- */

static struct stamp stamp_of(const char *path)
{
    struct stat st;
    if (stat(path, &st) < 0)
        return (struct stamp){0};
    return (struct stamp){st.st_dev, st.st_ino, st.st_size, st.st_mtim};
}

static bool stamp_equals(const struct stamp *a, const struct stamp *b)
{
    return a->dev == b->dev && a->ino == b->ino && a->size == b->size && a->modified.tv_sec == b->modified.tv_sec &&
           a->modified.tv_nsec == b->modified.tv_nsec;
}

/* Takes size, time and inode of the files. Returns true if they have changed since the last look. */
static bool take_stamps(struct tls_files *t)
{
    struct stamp cert = stamp_of(t->cert), key = stamp_of(t->key);
    bool same = stamp_equals(&cert, &t->cert_stamp) && stamp_equals(&key, &t->key_stamp);
    t->cert_stamp = cert;
    t->key_stamp = key;
    return !same;
}

static void log_pair(const struct tls_files *t, const char *event)
{
    char expires[CLOCK_TEXT_MAX];
    clock_format(t->pair.expires_us, expires);
    log_info(event, "cert=%s expires=%s", log_quote(t->cert), expires);
    if (t->pair.expires_us - clock_now_us() < CERTIFICATE_EXPIRES_SOON_US)
        log_warning("tls.expires", "cert=%s expires=%s action=replace_it", log_quote(t->cert), expires);
}

static int load_pair(const struct tls_files *t, struct tls_pair *ret, struct error *err)
{
    struct tls_pair p;
    if (tls_pair_load(t->cert, t->key, &p, err) < 0)
        return -1;
    if (*t->client_ca && tls_pair_ask_clients(&p, t->client_ca, err) < 0) {
        tls_pair_release(&p);
        return error_wrap(err, "the authority of agents' certificates");
    }
    *ret = p;
    return 0;
}

void tls_files_reload(struct tls_files *t)
{
    struct tls_pair fresh;
    cleanup_error struct error err = ERROR_INIT;
    take_stamps(t);
    if (load_pair(t, &fresh, &err) < 0) {
        log_error("tls.reload_failed", "reason=%s action=keep_the_old", log_quote(error_msg(&err)));
        return;
    }
    t->on_change(t->ctx, fresh.ctx, fresh.fingerprint);
    tls_pair_release(&t->pair);
    t->pair = fresh;
    log_pair(t, "tls.reloaded");
}

static void on_time(void *ctx)
{
    struct tls_files *t = ctx;
    loop_timer_arm(t->timer, t->period_us);
    if (take_stamps(t))
        tls_files_reload(t);
}

/* ---- life -------------------------------------------------------------------------------------------------------- */

int tls_files_new(struct loop *l, const struct tls_files_options *o, struct tls_files **ret, struct error *err)
{
    struct tls_files *t = must_calloc(1, sizeof(*t));
    *t = (struct tls_files){.cert = must_strdup(o->cert),
                            .key = must_strdup(o->key),
                            .client_ca = must_strdup(o->client_ca ? o->client_ca : ""),
                            .period_us = o->period_us,
                            .on_change = o->on_change,
                            .ctx = o->ctx};
    t->timer = loop_timer_new(l, on_time, t);
    take_stamps(t); /* done before the files are read, so that a change in between is found at the next look */
    if (load_pair(t, &t->pair, err) < 0) {
        tls_files_free(t);
        return -1;
    }
    log_pair(t, "tls.loaded");
    loop_timer_arm(t->timer, t->period_us);
    *ret = t;
    return 0;
}

void tls_files_free(struct tls_files *t)
{
    if (!t)
        return;
    loop_timer_free(t->timer);
    tls_pair_release(&t->pair);
    free(t->cert);
    free(t->key);
    free(t->client_ca);
    free(t);
}

struct ssl_ctx_st *tls_files_ctx(const struct tls_files *t)
{
    return t->pair.ctx;
}

const char *tls_files_fingerprint(const struct tls_files *t)
{
    return t->pair.fingerprint;
}

const char *tls_files_pem(const struct tls_files *t)
{
    return t->pair.pem;
}
