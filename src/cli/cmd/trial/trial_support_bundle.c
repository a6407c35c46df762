/* det trial support-bundle: collects in one archive what somebody needs in order to help with a trial. Everything is
 * collected before the archive is written, so that a failure leaves no file. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/connection/api.h"
#include "cli/connection/logs.h"
#include "cli/files/archive_calls.h"
#include "common/base/cleanup.h"
#include "common/base/must.h"
#include "common/config/schema.h"
#include "core/config/expconf_secrets.h"

enum { PARTS_MAX = 5, PIECE_BYTES = 64 * 1024 };

/* A file of the archive. Its content is kept in a nameless file on disk, since logs may be larger than memory. */
struct part {
    const char *name;
    FILE *content;
};

struct bundle {
    struct cli *cli;
    const char *name; /* name of the archive, without .tar.gz, and of the directory in it */
    time_t made;
    struct part part[PARTS_MAX];
    size_t n;
};

static FILE *add_part(struct bundle *b, const char *name, struct error *err)
{
    FILE *content = tmpfile();
    if (!content)
        error_errno(err, "a temporary file for %s", name);
    else
        b->part[b->n++] = (struct part){.name = name, .content = content};
    return content;
}

static void release_bundle(struct bundle *b)
{
    for (size_t i = 0; i < b->n; i++)
        fclose(b->part[i].content);
    b->n = 0;
}

static int add_document(struct bundle *b, const char *name, struct json_object *v, struct error *err)
{
    FILE *to = add_part(b, name, err);
    if (!to)
        return -1;
    struct strbuf text = STRBUF_INIT;
    json_print_sorted(v, 2, &text);
    strbuf_addc(&text, '\n');
    fwrite(text.s, 1, text.n, to);
    strbuf_release(&text);
    return 0;
}

/* Hides the secrets of the configuration. The owner of an experiment sees them, but the bundle is made to be sent to
 * other people. */
static void hide_secrets_of(struct cli *cli, struct json_object *holder)
{
    cleanup_strbuf struct strbuf text = STRBUF_INIT;
    struct json_object *config, *written, *masked = NULL;
    if (json_object_object_get_ex(holder, "config", &config) && config) {
        json_print(config, &text);
        const char *hidden = expconf_hide_secrets(strbuf_str(&text), SCHEMA_MASKED, &cli->arena);
        if (json_parse(hidden, strlen(hidden), &masked, NULL) == 0)
            json_object_object_add(holder, "config", masked);
    }
    if (json_object_object_get_ex(holder, "originalConfig", &written) &&
        json_object_is_type(written, json_type_string)) {
        const char *hidden = expconf_hide_secrets_yaml(json_object_get_string(written), &cli->arena);
        json_object_object_add(holder, "originalConfig", json_object_new_string(hidden));
    }
}

static void hide_secrets(struct cli *cli, struct json_object *reply)
{
    struct json_object *experiment;
    hide_secrets_of(cli, reply);
    if (json_object_object_get_ex(reply, "experiment", &experiment) && experiment)
        hide_secrets_of(cli, experiment);
}

/* Adds two documents in the form of the released client: the trial, and the reply about the experiment. */
static int add_documents(struct bundle *b, int32_t trial_id, int32_t *ret_experiment_id, struct error *err)
{
    cleanup_json struct json_object *trial = NULL, *experiment = NULL;
    struct json_object *inner, *id;
    struct wire_get_trial_request in = {.trial_id = trial_id};
    if (api_call_document(b->cli, ROUTE_ID_GET_TRIAL, &in, &trial, err) < 0)
        return -1;
    if (!json_object_object_get_ex(trial, "trial", &inner) || !json_object_object_get_ex(inner, "experimentId", &id))
        return error_set(err, ERR_INVALID, "the master's answer about trial %" PRId32 " names no experiment", trial_id);
    *ret_experiment_id = json_object_get_int(id);
    struct wire_get_experiment_request of = {.experiment_id = *ret_experiment_id};
    if (api_call_document(b->cli, ROUTE_ID_GET_EXPERIMENT, &of, &experiment, err) < 0)
        return -1;
    hide_secrets(b->cli, experiment);
    if (add_document(b, "api_trial_call.json", inner, err) < 0)
        return -1;
    return add_document(b, "api_experiment_call.json", experiment, err);
}

static int write_message(struct json_object *record, void *to, struct error *err)
{
    struct json_object *message;
    (void)err;
    if (json_object_object_get_ex(record, "message", &message) && message)
        fwrite(json_object_get_string(message), 1, (size_t)json_object_get_string_len(message), to);
    return 0;
}

static int add_trial_logs(struct bundle *b, int32_t trial_id, struct error *err)
{
    bool dropped;
    struct wire_trial_logs_request in = {.trial_id = trial_id};
    FILE *to = add_part(b, "trial_logs.txt", err);
    return to ? api_stream(b->cli, ROUTE_ID_TRIAL_LOGS, &in, write_message, to, &dropped, err) : -1;
}

static int write_master_record(struct json_object *record, void *to, struct error *err)
{
    (void)err;
    master_log_write(record, to);
    return 0;
}

/* Adds the master's log. Only admins may read it, and some masters have none: without it the bundle is still useful,
 * and *ret_why says what is missing. */
static int add_master_logs(struct bundle *b, const char **ret_why, struct error *err)
{
    cleanup_error struct error why = ERROR_INIT;
    struct wire_master_logs_request in = {.limit = INT32_MAX}; /* a request without any parameter is never refused */
    bool dropped;
    *ret_why = NULL;
    FILE *to = add_part(b, "master_logs.txt", err);
    if (!to)
        return -1;
    if (api_stream(b->cli, ROUTE_ID_MASTER_LOGS, &in, write_master_record, to, &dropped, &why) == 0)
        return 0;
    if (why.kind != ERR_UNIMPLEMENTED && why.kind != ERR_FORBIDDEN) {
        error_move(err, &why);
        return -1;
    }
    fclose(b->part[--b->n].content);
    *ret_why = why.kind == ERR_FORBIDDEN ? "this user may not read them" : "this master does not serve them";
    return 0;
}

static int add_readme(struct bundle *b, int32_t trial_id, int32_t experiment_id, const char *why_no_master_logs,
                      struct error *err)
{
    FILE *to = add_part(b, "README.txt", err);
    if (!to)
        return -1;
    fprintf(to, "Trial %" PRId32 " of experiment %" PRId32 ", master %s, gathered by det %s.\n\n", trial_id,
            experiment_id, b->cli->master, DET_VERSION);
    for (size_t i = 0; i + 1 < b->n; i++)
        fprintf(to, "%s\n", b->part[i].name);
    if (why_no_master_logs)
        fprintf(to,
                "\nLeft out: the master's logs, because %s. Its administrator finds them where its service logs to.\n",
                why_no_master_logs);
    return 0;
}

static int gather_parts(struct bundle *b, int32_t trial_id, const char **ret_why_no_master_logs, struct error *err)
{
    int32_t experiment_id = 0;
    if (add_documents(b, trial_id, &experiment_id, err) < 0 || add_trial_logs(b, trial_id, err) < 0 ||
        add_master_logs(b, ret_why_no_master_logs, err) < 0 ||
        add_readme(b, trial_id, experiment_id, *ret_why_no_master_logs, err) < 0)
        return -1;
    for (size_t i = 0; i < b->n; i++) {
        if (fflush(b->part[i].content) != 0 || ferror(b->part[i].content))
            return error_errno(err, "keeping %s in a temporary file", b->part[i].name);
        rewind(b->part[i].content);
    }
    return 0;
}

static int pack_part(const struct bundle *b, const struct part *p, struct archive *tar, struct archive_entry *entry,
                     struct error *err)
{
    static char piece[PIECE_BYTES];
    struct stat st;
    if (fstat(fileno(p->content), &st) < 0)
        return error_errno(err, "%s", p->name);
    archive_entry_clear(entry);
    archive_entry_set_pathname(entry, arena_printf(&b->cli->arena, "%s/%s", b->name, p->name));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_mtime(entry, b->made, 0);
    archive_entry_set_size(entry, st.st_size);
    if (archive_write_header(tar, entry) != ARCHIVE_OK)
        return error_set(err, ERR_IO, "%s", archive_error_string(tar));
    for (size_t got; (got = fread(piece, 1, sizeof(piece), p->content)) > 0;)
        if (archive_write_data(tar, piece, got) != (la_ssize_t)got)
            return error_set(err, ERR_IO, "%s", archive_error_string(tar));
    return ferror(p->content) ? error_errno(err, "reading back %s", p->name) : 0;
}

static int pack_parts(const struct bundle *b, int fd, struct error *err)
{
    struct archive *tar = must(archive_write_new());
    struct archive_entry *entry = must(archive_entry_new());
    int rc = 0;
    archive_write_add_filter_gzip(tar);
    archive_write_set_format_pax_restricted(tar);
    if (archive_write_open_fd(tar, fd) != ARCHIVE_OK)
        rc = error_set(err, ERR_IO, "%s", archive_error_string(tar));
    for (size_t i = 0; rc == 0 && i < b->n; i++)
        rc = pack_part(b, &b->part[i], tar, entry, err);
    if (rc == 0 && archive_write_close(tar) != ARCHIVE_OK)
        rc = error_set(err, ERR_IO, "%s", archive_error_string(tar));
    archive_entry_free(entry);
    archive_write_free(tar);
    return rc;
}

/* Logs and configurations may be confidential, so that only the owner of the file may read it. */
static int write_archive(const struct bundle *b, int dir, struct error *err)
{
    const char *name = arena_printf(&b->cli->arena, "%s.tar.gz", b->name);
    cleanup_close int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return error_errno(err, "%s", name);
    int rc = pack_parts(b, fd, err);
    if (rc < 0)
        unlinkat(dir, name, 0);
    return rc;
}

int cmd_trial_support_bundle(struct cli *cli, const struct args_trial_support_bundle *args, struct error *err)
{
    struct bundle b = {.cli = cli, .made = time(NULL)};
    const char *dir = args->output_dir ? args->output_dir : ".", *why_no_master_logs = NULL;
    char moment[32];
    struct tm local;
    cleanup_close int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir_fd < 0)
        return error_errno(err, "the directory to write to, %s", dir);
    strftime(moment, sizeof(moment), "%Y%m%dT%H%M%S", localtime_r(&b.made, &local));
    b.name = arena_printf(&cli->arena, "det-bundle-trial-%" PRId64 "-%s", args->trial_id, moment);
    int rc = gather_parts(&b, (int32_t)args->trial_id, &why_no_master_logs, err);
    if (rc == 0)
        rc = write_archive(&b, dir_fd, err);
    release_bundle(&b);
    if (rc < 0)
        return -1;
    if (why_no_master_logs)
        cli_say(cli, CLI_YELLOW, "The master's logs are not in the bundle: %s.", why_no_master_logs);
    cleanup_free char *whole = realpath(dir, NULL);
    fprintf(cli->out, "bundle path: %s/%s.tar.gz\n", args->output_dir ? dir : whole ? whole : ".", b.name);
    return 0;
}
