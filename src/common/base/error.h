/* Errors: a kind, and a sentence for the person who has to do something about it.
 *
 * A function that can fail returns 0 or -1 and takes `struct error *err` last. On success *err is untouched; on failure
 * it holds a kind and a message that names the thing, the value, what is allowed and what to do next. Libraries return
 * errors, programs log them, once. One table gives each kind its HTTP status, RPC code and exit code, so no handler
 * ever picks a status number (contract: api.json conventions.status_map).
 *
 *     if (x < 1)
 *         return error_set(err, ERR_INVALID, "slots_per_trial is %d, allowed is 1 or more", x);
 *     if (file_read(path, &buf, err) < 0)
 *         return error_wrap(err, "reading the master's configuration");
 */
#ifndef DET_COMMON_BASE_ERROR_H
#define DET_COMMON_BASE_ERROR_H

#include <stdbool.h>

/* Every HTTP status that a kind can have, with its reason phrase. A kind of ERROR_KINDS whose status has no row here
 * does not compile. */
#define ERROR_HTTP_STATUSES(X) \
    X(400, "Bad Request") \
    X(401, "Unauthorized") \
    X(403, "Forbidden") \
    X(404, "Not Found") \
    X(408, "Request Timeout") \
    X(409, "Conflict") \
    X(413, "Request Entity Too Large") \
    X(429, "Too Many Requests") \
    X(500, "Internal Server Error") \
    X(501, "Not Implemented") \
    X(502, "Bad Gateway") \
    X(503, "Service Unavailable") \
    X(504, "Gateway Timeout")

/* kind, HTTP status, RPC code, RPC name, exit code of `det` */
#define ERROR_KINDS(X) \
    X(CANCELED, 408, 1, "Canceled", 1) \
    X(INTERNAL, 500, 13, "Internal", 1) \
    X(INVALID, 400, 3, "InvalidArgument", 1) \
    X(BAD_GATEWAY, 502, 14, "Unavailable", 1) \
    X(DEADLINE, 504, 4, "DeadlineExceeded", 1) \
    X(NOT_FOUND, 404, 5, "NotFound", 1) \
    X(CONFLICT, 409, 6, "AlreadyExists", 1) \
    X(FORBIDDEN, 403, 7, "PermissionDenied", 1) \
    X(PRECONDITION, 400, 9, "FailedPrecondition", 1) \
    X(ABORTED, 409, 10, "Aborted", 1) \
    X(OUT_OF_RANGE, 400, 11, "OutOfRange", 1) \
    X(UNIMPLEMENTED, 501, 12, "Unimplemented", 1) \
    X(TOO_LARGE, 413, 8, "ResourceExhausted", 1) \
    X(TOO_MANY, 429, 8, "ResourceExhausted", 1) \
    X(UNAVAILABLE, 503, 14, "Unavailable", 1) \
    X(UNAUTHENTICATED, 401, 16, "Unauthenticated", 1) \
    X(USAGE, 400, 3, "InvalidArgument", 2) \
    X(IO, 500, 13, "Internal", 1) \
    X(NO_MEMORY, 503, 14, "Unavailable", 1)

enum error_kind {
    ERR_NONE = 0,
#define X(kind, http, rpc, name, exit) ERR_##kind,
    ERROR_KINDS(X)
#undef X
        ERR_NR,
};

/* What kind of constraint of the database refused a row. Only an ERR_CONFLICT of src/store has one. */
enum error_constraint {
    CONSTRAINT_NONE,
    CONSTRAINT_FOREIGN_KEY, /* a row that this one names does not exist; the constraint has no name, since SQLite knows
                               none */
    CONSTRAINT_PRIMARY_KEY, /* the name is the table: "projects" */
    CONSTRAINT_UNIQUE,      /* the name is the table and its columns: "projects.key", "projects.workspace_id_name" */
    CONSTRAINT_OTHER,       /* NOT NULL, CHECK and the like, without a name */
};
enum { ERROR_CONSTRAINT_NAME_MAX = 64 };

struct error {
    enum error_kind kind;
    enum error_constraint constraint;
    char constraint_name[ERROR_CONSTRAINT_NAME_MAX]; /* "" if there is none; a longer one is cut */
    char *msg;                                       /* heap; NULL while kind is ERR_NONE */
};

#define ERROR_INIT {0}

/* Set *err, or add context to it. Both always return -1, so that `return error_set(...)` is the usual form. err may be
 * NULL if the caller does not need the error. */
int error_set(struct error *err, enum error_kind kind, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* the message becomes "context: message" */
int error_wrap(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As error_set with ERR_IO and ": strerror(errno)" appended; ENOENT gives ERR_NOT_FOUND, ENOMEM ERR_NO_MEMORY. */
int error_errno(struct error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* As error_set with ERR_CONFLICT, for a row that a constraint refused; name is "" where the kind has none. */
int error_set_constraint(struct error *err, enum error_constraint constraint, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Whether the error is the refusal of a constraint of this kind, and of this name unless it is NULL. err may be NULL.
 */
bool error_is_constraint(const struct error *err, enum error_constraint constraint, const char *name);
void error_move(struct error *to, struct error *from); /* releases what `to` held before; `from` is clear afterwards */
/* Moves the error of a call to *err and returns true, unless it is of this kind, which is no failure here. False, too,
 * if *why is clear: the call has succeeded. */
bool error_pass_unless(struct error *why, enum error_kind kind, struct error *err);
/* Copies an error. If `from` is NULL or ERR_NONE, `to` is clear. */
void error_copy(struct error *to, const struct error *from);
void error_release(struct error *err); /* afterwards *err is ERR_NONE */

const char *error_msg(const struct error *err); /* never NULL */
int error_http_status(enum error_kind kind);
const char *error_http_text(enum error_kind kind); /* "Not Found" */
int error_rpc_code(enum error_kind kind);
const char *error_rpc_name(enum error_kind kind);
int error_exit_code(enum error_kind kind);

#define cleanup_error __attribute__((cleanup(error_release)))

#endif
