#include "agent/credentials.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/machine/local_address.h"
#include "agent/machine/port_owner.h"
#include "common/base/cleanup.h"
#include "common/base/hex.h"
#include "common/base/strbuf.h"
#include "common/system/files.h"
#include "common/system/log.h"
#include "common/system/random.h"
#include "common/system/sha256_digits.h"

#define KEY_FILE "agent.key"
#define REQUEST_FILE "agent.request"
#define PIN_FILE "master.pin"
#define MASTER_TOKEN_FILE "agent.token" /* in the master's data_dir */

enum { FINGERPRINT_BYTES = 16 };

/* ---- files of one line ------------------------------------------------------------------------------------------- */

static void read_line(const char *path, char ret[CREDENTIAL_MAX + 1])
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    *ret = 0;
    if (file_read(path, CREDENTIAL_MAX, &text, NULL) == 0)
        snprintf(ret, CREDENTIAL_MAX + 1, "%.*s", (int)strcspn(strbuf_str(&text), "\r\n"), strbuf_str(&text));
}

static int write_line(const struct credentials *c, const char *name, const char *text, struct error *err)
{
    cleanup_free char *path = path_join(c->config->data_dir, name);
    return dir_make(c->config->data_dir, 0711, err) < 0 ? -1 : file_write(path, text, strlen(text), 0600, err);
}

static void remove_file(const struct credentials *c, const char *name)
{
    cleanup_free char *path = path_join(c->config->data_dir, name);
    unlink(path);
}

static bool is_own_key(const char *text)
{
    return strlen(text) == OWN_KEY_DIGITS && strspn(text, "0123456789abcdef") == OWN_KEY_DIGITS;
}

void credentials_load(struct credentials *c, const struct agent_config *config)
{
    *c = (struct credentials){.config = config};
    snprintf(c->pins, sizeof(c->pins), "%s", config->pin);
    cleanup_free char *key = path_join(config->data_dir, KEY_FILE),
                      *request = path_join(config->data_dir, REQUEST_FILE);
    read_line(key, c->key);
    read_line(request, c->request);
    /* An agent that was killed may have had no time to remove its file, or to write all of it. */
    if (strcmp(c->key, c->request) == 0 || !is_own_key(c->request))
        c->request[0] = 0;
    c->offered = *c->request != 0;
}

/* ---- the master's own token -------------------------------------------------------------------------------------- */

/* The data directory that a master of this user has unless its configuration says otherwise. */
static char *master_data_dir(void)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (geteuid() == 0)
        return path_join("/var/lib", "determined");
    if (xdg && *xdg == '/')
        return path_join(xdg, "determined");
    return path_join(home && *home ? home : "/", ".local/share/determined");
}

/* Whether the program that listens at the master's port belongs to the owner of the token's file, or to root. Any user
 * may listen at a port while no master does, and would be shown the token. */
static bool is_owner_listening(const struct agent_config *config, const char *path)
{
    const char *localhost[] = {"127.0.0.1", "::1", NULL}, *one[] = {config->master_host, NULL};
    struct stat st;
    uid_t uid;
    bool found = false;
    if (stat(path, &st) < 0)
        return false;
    for (const char **at = strcmp(config->master_host, "localhost") == 0 ? localhost : one; *at; at++) {
        if (!port_owner_find_at(*at, config->master_port, &uid))
            continue;
        if (uid != 0 && uid != st.st_uid)
            return false;
        found = true;
    }
    return found;
}

static bool read_local_token(struct credentials *c)
{
    cleanup_free char *dir = master_data_dir(), *path = path_join(dir, MASTER_TOKEN_FILE);
    if (!local_address_is_own(c->config->master_host) || access(path, R_OK) < 0 || !is_owner_listening(c->config, path))
        return false;
    read_line(path, c->shown);
    if (*c->shown)
        log_info("link.local_token", "file=%s", log_quote(path));
    return *c->shown != 0;
}

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static bool make_request(struct credentials *c)
{
    unsigned char raw[OWN_KEY_DIGITS / 2];
    cleanup_error struct error err = ERROR_INIT;
    if (*c->request)
        return true;
    if (random_bytes(raw, sizeof(raw), NULL) < 0)
        return false;
    char text[2 * sizeof(raw) + 1];
    hex_encode(raw, sizeof(raw), text);
    if (write_line(c, REQUEST_FILE, text, &err) < 0) {
        log_error("link.request_not_saved", "error=%s action=\"make data_dir writable\"", log_quote(error_msg(&err)));
        return false;
    }
    memcpy(c->request, text, sizeof(text));
    return true;
}

static void show(struct credentials *c, enum credential_kind kind, const char *text)
{
    c->kind = kind;
    snprintf(c->shown, sizeof(c->shown), "%s", text);
}

static bool show_token(struct credentials *c)
{
    if (*c->config->token)
        show(c, CREDENTIAL_TOKEN, c->config->token);
    else if (!c->local_refused && read_local_token(c))
        c->kind = CREDENTIAL_LOCAL_TOKEN;
    else
        return false;
    return true;
}

void credentials_choose(struct credentials *c)
{
    if (*c->key) {
        show(c, CREDENTIAL_KEY, c->key);
    } else if (show_token(c)) {
        bool has_request = make_request(c);
        if (has_request && c->offered)
            show(c, CREDENTIAL_OFFERED, c->request);
    } else if (make_request(c)) {
        show(c, CREDENTIAL_REQUEST, c->request);
    } else {
        show(c, CREDENTIAL_NONE, "");
    }
}

bool credentials_are_token(const struct credentials *c)
{
    return c->kind == CREDENTIAL_TOKEN || c->kind == CREDENTIAL_LOCAL_TOKEN;
}

const char *credentials_offer(struct credentials *c)
{
    if (!credentials_are_token(c) || !*c->request)
        return NULL;
    c->offered = true;
    return c->request;
}

/* ---- what becomes of them ---------------------------------------------------------------------------------------- */

void credentials_refused(struct credentials *c, bool is_unknown, const char *why)
{
    if (c->kind == CREDENTIAL_OFFERED && is_unknown)
        c->offered = false;
    else if (credentials_are_token(c))
        c->offered = *c->request != 0; /* the token may be used up by the agent's own hello */
    if (!is_unknown)
        return;
    if (c->kind == CREDENTIAL_LOCAL_TOKEN) {
        c->local_refused = true;
        log_warning("link.local_token_refused", "meaning=\"the master at this address is not the one that keeps its "
                                                "data on this machine\" action=\"asking to be accepted\"");
    }
    if (c->kind != CREDENTIAL_KEY)
        return;
    /* The file stays: another start tries the key again, should the refusal have been a mistake. */
    log_warning("link.key_refused", "reason=%s action=%s", log_quote(why),
                *c->config->token ? "\"joining again with the agents' token\"" : "\"asking to be accepted again\"");
    c->key[0] = 0;
}

static void save_key(struct credentials *c, const char *key)
{
    cleanup_error struct error err = ERROR_INIT;
    if (write_line(c, KEY_FILE, key, &err) < 0) {
        log_warning("link.key_not_saved", "error=%s action=\"it is saved at the next connection\"",
                    log_quote(error_msg(&err)));
        return;
    }
    snprintf(c->key, sizeof(c->key), "%s", key);
    log_info("link.key", "file=%s/" KEY_FILE " meaning=\"this agent no longer needs a token\"",
             log_quote(c->config->data_dir));
}

static void take_key(struct credentials *c, const char *key)
{
    save_key(c, key);
    if (!*c->key)
        return;
    c->request[0] = 0;
    c->offered = false;
    remove_file(c, REQUEST_FILE);
}

void credentials_accepted(struct credentials *c)
{
    if (*c->request && (c->kind == CREDENTIAL_REQUEST || c->kind == CREDENTIAL_OFFERED))
        take_key(c, c->request);
}

void credentials_take_key(struct credentials *c, const char *key)
{
    if (key && *key && strlen(key) <= CREDENTIAL_MAX && !strpbrk(key, "\r\n"))
        take_key(c, key);
}

/* ---- the master's certificate ------------------------------------------------------------------------------------ */

static void save_pins(const struct credentials *c)
{
    cleanup_error struct error err = ERROR_INIT;
    if (write_line(c, PIN_FILE, c->pins, &err) < 0)
        log_warning("link.pin_not_saved", "error=%s", log_quote(error_msg(&err)));
}

void credentials_take_certificate(struct credentials *c, const char *pem, const char *name, const char *fingerprint)
{
    cleanup_error struct error err = ERROR_INIT;
    if (*c->config->pinned_name && strcmp(c->pins, fingerprint) == 0)
        return; /* the master shows the certificate of the last connection */
    if (dir_make(c->config->data_dir, 0711, &err) < 0 ||
        file_write(c->config->tls_cert, pem, strlen(pem), 0644, &err) < 0)
        log_error("link.certificate_not_saved", "error=%s consequence=\"tasks cannot be fetched from the master\"",
                  log_quote(error_msg(&err)));
    snprintf(c->config->pinned_name, PINNED_NAME_MAX, "%s", name);
    snprintf(c->pins, sizeof(c->pins), "%s", fingerprint);
    save_pins(c);
    log_info("link.pinned", "sha256=%s name=%s", fingerprint, log_quote(name));
}

void credentials_add_pin(struct credentials *c, const char *fingerprint)
{
    size_t n = strlen(c->pins);
    if (n == 0 || n + PIN_DIGITS >= sizeof(c->pins) || !fingerprint || strlen(fingerprint) != PIN_DIGITS ||
        strspn(fingerprint, "0123456789abcdef") != PIN_DIGITS || strstr(c->pins, fingerprint))
        return;
    memcpy(c->pins + n, fingerprint, PIN_DIGITS + 1);
    save_pins(c);
    log_info("link.pin_added", "sha256=%s meaning=\"the master has another certificate\"", fingerprint);
}

void credentials_fingerprint(const struct credentials *c, char ret[FINGERPRINT_TEXT])
{
    char digits[2 * FINGERPRINT_BYTES + 1];
    sha256_digits(c->shown, strlen(c->shown), FINGERPRINT_BYTES, digits);
    snprintf(ret, FINGERPRINT_TEXT, "%.4s-%.4s-%.4s-%.4s-%.4s-%.4s-%.4s-%.4s", digits, digits + 4, digits + 8,
             digits + 12, digits + 16, digits + 20, digits + 24, digits + 28);
}

void credentials_split_token(const char *token, struct arena *a, const char **ret_secret, const char **ret_pin)
{
    const char *dot = strrchr(token, '.');
    bool pinned = dot && strlen(dot + 1) == PIN_DIGITS && strspn(dot + 1, "0123456789abcdef") == PIN_DIGITS;
    *ret_secret = pinned ? arena_strndup(a, token, (size_t)(dot - token)) : token;
    *ret_pin = pinned ? arena_strdup(a, dot + 1) : "";
}
