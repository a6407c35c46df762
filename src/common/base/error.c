#include "common/base/error.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/must.h"

#define X(status, text) static const char http_text_##status[] = text;
ERROR_HTTP_STATUSES(X)
#undef X

static const struct {
    const char *text;
    int http, rpc, exit;
    const char *http_text, *rpc_name;
} kinds[ERR_NR] = {[ERR_NONE] = {"no error", 200, 0, 0, "OK", "OK"},
#define X(kind, http, rpc, name, exit) [ERR_##kind] = {#kind, http, rpc, exit, http_text_##http, name},
                   ERROR_KINDS(X)
#undef X
};

/* Replaces the error; takes msg over. */
static int set_message(struct error *err, enum error_kind kind, char *msg)
{
    free(err->msg);
    *err = (struct error){.kind = kind, .msg = msg};
    return -1;
}

/* As set_message(), but a refusal of a constraint stays one. Takes msg over. */
static int set_msg(struct error *err, char *msg)
{
    free(err->msg);
    err->msg = msg;
    return -1;
}

__attribute__((format(printf, 1, 0))) static char *format(const char *fmt, va_list ap)
{
    char *msg;
    return must(vasprintf(&msg, fmt, ap) < 0 ? NULL : msg);
}

/* Returns "a: b". Frees a. */
static char *join_messages(char *a, const char *b)
{
    char *msg = must_asprintf("%s: %s", a, b);
    free(a);
    return msg;
}

int error_set(struct error *err, enum error_kind kind, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    char *msg = format(fmt, ap);
    va_end(ap);
    return set_message(err, kind, msg);
}

int error_wrap(struct error *err, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    char *context = format(fmt, ap);
    va_end(ap);
    if (err->kind == ERR_NONE)
        err->kind = ERR_INTERNAL;
    return set_msg(err, join_messages(context, error_msg(err)));
}

int error_set_constraint(struct error *err, enum error_constraint constraint, const char *name, const char *fmt, ...)
{
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    set_message(err, ERR_CONFLICT, format(fmt, ap));
    va_end(ap);
    err->constraint = constraint;
    snprintf(err->constraint_name, sizeof(err->constraint_name), "%s", name);
    return -1;
}

bool error_is_constraint(const struct error *err, enum error_constraint constraint, const char *name)
{
    return err && err->kind == ERR_CONFLICT && err->constraint == constraint &&
           (!name || strcmp(err->constraint_name, name) == 0);
}

int error_errno(struct error *err, const char *fmt, ...)
{
    int number = errno;
    if (!err)
        return -1;
    va_list ap;
    va_start(ap, fmt);
    char *context = format(fmt, ap);
    va_end(ap);
    enum error_kind kind = number == ENOENT ? ERR_NOT_FOUND : number == ENOMEM ? ERR_NO_MEMORY : ERR_IO;
    char text[128];
    set_message(err, kind, join_messages(context, strerror_r(number, text, sizeof(text))));
    errno = number;
    return -1;
}

void error_move(struct error *to, struct error *from)
{
    if (to == from)
        return;
    if (!to) {
        error_release(from);
        return;
    }
    free(to->msg);
    *to = *from;
    *from = (struct error)ERROR_INIT;
}

bool error_pass_unless(struct error *why, enum error_kind kind, struct error *err)
{
    if (why->kind == ERR_NONE || why->kind == kind)
        return false;
    error_move(err, why);
    return true;
}

void error_copy(struct error *to, const struct error *from)
{
    if (to == from || !to)
        return;
    error_release(to);
    if (!from || from->kind == ERR_NONE)
        return;
    *to = *from;
    to->msg = from->msg ? must_strdup(from->msg) : NULL;
}

void error_release(struct error *err)
{
    free(err->msg);
    *err = (struct error)ERROR_INIT;
}

const char *error_msg(const struct error *err)
{
    return err->msg ? err->msg : kinds[err->kind].text;
}

int error_http_status(enum error_kind kind)
{
    return kinds[kind].http;
}

const char *error_http_text(enum error_kind kind)
{
    return kinds[kind].http_text;
}

int error_rpc_code(enum error_kind kind)
{
    return kinds[kind].rpc;
}

const char *error_rpc_name(enum error_kind kind)
{
    return kinds[kind].rpc_name;
}

int error_exit_code(enum error_kind kind)
{
    return kinds[kind].exit;
}
