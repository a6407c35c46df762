/* determined-master backup FILE, determined-master restore FILE */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/cleanup.h"
#include "common/base/clock.h"
#include "common/base/must.h"
#include "common/system/files.h"
#include "master/commands/admin.h"
#include "master/commands/backup_note.h"
#include "master/commands/commands.h"
#include "master/commands/data_dir.h"
#include "master/commands/settings.h"
#include "store/engine/backup.h"

enum { TOKEN_MAX = 127 };

/* Reads the arguments. The first one is the file; all others are options of the master. */
static int read_arguments(int argc, char *const *argv, const char *verb, struct config **ret, struct error *err)
{
    if (argc < 1 || argv[0][0] == '-')
        return error_set(err, ERR_USAGE, "usage: determined-master %s FILE [--data-dir D] [OPTIONS]", verb);
    struct config_input in = master_config_input(argc - 1, argv + 1);
    if (master_settings_load(&in, ret, err) < 0)
        return -1;
    if (strcmp(config_str(*ret, "db.type"), "sqlite") != 0)
        return error_set(err, ERR_UNIMPLEMENTED,
                         "db.type is %s: use the server's own tools (pg_dump, pg_restore), and keep agent.token and "
                         "agents-ca.pem of the data directory with the dump",
                         config_str(*ret, "db.type"));
    return 0;
}

static int read_token(const struct config *c, struct strbuf *ret, struct error *err)
{
    cleanup_free char *path = path_join(config_str(c, "data_dir"), DATA_DIR_AGENT_TOKEN);
    const char *given = config_str(c, "security.agent_token");
    if (given && *given) {
        strbuf_adds(ret, given);
        return 0;
    }
    if (file_read(path, TOKEN_MAX, ret, err) < 0)
        return -1;
    strbuf_truncate(ret, strcspn(strbuf_str(ret), "\r\n"));
    return 0;
}

/* Makes a backup while no master runs. The lock of the data directory keeps a master from starting meanwhile. */
static int backup_at_rest(const struct config *c, const char *file, struct error *err)
{
    static const atomic_bool never = false;
    cleanup_close int lock = -1;
    cleanup_strbuf struct strbuf token = STRBUF_INIT, note = STRBUF_INIT;
    struct store *reader = NULL;
    if (access(config_str(c, "db.path"), R_OK) < 0)
        return error_errno(err, "there is nothing to back up: %s", config_str(c, "db.path"));
    if (data_dir_lock(config_str(c, "data_dir"), &lock, err) < 0 || read_token(c, &token, err) < 0 ||
        backup_note_make(config_str(c, "data_dir"), strbuf_str(&token), &note, err) < 0 ||
        store_open_reader(config_str(c, "db.path"), &reader, err) < 0)
        return -1;
    cleanup_free char *partial = must_asprintf("%s.partial", file);
    int rc = store_backup(reader, partial, strbuf_str(&note), &never, err);
    store_close(reader);
    cleanup_close int fd = rc < 0 ? -1 : open(partial, O_RDONLY | O_CLOEXEC);
    if (rc == 0)
        rc = fd < 0 ? error_errno(err, "opening %s", partial) : file_write_from(file, fd, 0600, err);
    unlink(partial);
    return rc;
}

int backup_command(int argc, char *const *argv, struct error *err)
{
    cleanup_config struct config *c = NULL;
    if (read_arguments(argc, argv, "backup", &c, err) < 0)
        return -1;
    if (access(argv[0], F_OK) == 0)
        return error_set(err, ERR_CONFLICT, "%s is there already; a backup replaces nothing", argv[0]);
    cleanup_close int fd = -1;
    cleanup_error struct error answer = ERROR_INIT;
    if (admin_call(config_str(c, "data_dir"), "backup", &fd, &answer) == 0)
        return file_write_from(argv[0], fd, 0600, err);
    return error_pass_unless(&answer, ERR_NOT_FOUND, err) ? -1 : backup_at_rest(c, argv[0], err);
}

/* Removes what a killed restore has left. The marker shows that the restore began in an empty directory, so everything
 * in the directory was made by the restore. */
static int clear_unfinished(const char *dir, const char *db_path, const char *marker, struct error *err)
{
    const char *slash = strrchr(db_path, '/'), *db_name = slash ? slash + 1 : db_path;
    if (access(marker, F_OK) < 0 || access(db_path, F_OK) == 0)
        return 0;
    fprintf(stderr, "determined-master: an earlier restore into %s did not end; it is begun anew\n", dir);
    DIR *d = opendir(dir);
    if (!d)
        return error_errno(err, "%s", dir);
    for (const struct dirent *e; (e = readdir(d));)
        if (strncmp(e->d_name, db_name, strlen(db_name)) == 0 ||
            strncmp(e->d_name, DATA_DIR_AGENT_TOKEN, strlen(DATA_DIR_AGENT_TOKEN)) == 0 ||
            strncmp(e->d_name, DATA_DIR_AGENTS_CA, strlen(DATA_DIR_AGENTS_CA)) == 0)
            unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    return unlink(marker) < 0 ? error_errno(err, "%s", marker) : 0;
}

/* Fails unless the directory holds nothing but the lock, which this process holds. */
static int expect_empty(const char *dir, struct error *err)
{
    DIR *d = opendir(dir);
    if (!d)
        return error_errno(err, "%s", dir);
    int rc = 0;
    for (const struct dirent *e = readdir(d); e && rc == 0; e = readdir(d)) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && strcmp(e->d_name, "lock") != 0)
            rc = error_set(err, ERR_CONFLICT,
                           "%s is not empty (%s): a backup is brought back into an empty directory, --data-dir"
                           " chooses another",
                           dir, e->d_name);
    }
    closedir(d);
    return rc;
}

static int restore_store(const struct config *c, const char *file, const char *partial, struct error *err)
{
    cleanup_arena struct arena a = ARENA_INIT;
    const char *note = NULL;
    cleanup_close int fd = open(file, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return error_errno(err, "opening %s", file);
    /* The epoch is set to the time in seconds. It normally counts starts of a master, so the time is a higher number,
     * and it grows from one restore to the next. */
    if (file_write_from(partial, fd, 0600, err) < 0 ||
        store_revive(partial, clock_now_us() / 1000000, &a, &note, err) < 0)
        return error_wrap(err, "restoring %s", file);
    if (backup_note_restore(config_str(c, "data_dir"), note, err) < 0)
        return -1;
    if (rename(partial, config_str(c, "db.path")) < 0)
        return error_errno(err, "%s", config_str(c, "db.path"));
    cleanup_free char *parent = path_parent(config_str(c, "db.path"));
    cleanup_close int dir_fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 || fsync(dir_fd) < 0 ? error_errno(err, "%s", parent)
                                           : 0; /* makes sure that the new name is still there after a power loss */
}

/* Carries out `restore`. Until the last step, which is a rename, there is no store in the directory, and the marker
 * keeps a master from making an empty one there. */
int restore_command(int argc, char *const *argv, struct error *err)
{
    cleanup_config struct config *c = NULL;
    cleanup_close int lock = -1;
    cleanup_free char *partial = NULL, *marker = NULL;
    if (read_arguments(argc, argv, "restore", &c, err) < 0 || data_dir_lock(config_str(c, "data_dir"), &lock, err) < 0)
        return -1;
    const char *dir = config_str(c, "data_dir"), *db = config_str(c, "db.path");
    marker = path_join(dir, DATA_DIR_RESTORING);
    if (clear_unfinished(dir, db, marker, err) < 0 || expect_empty(dir, err) < 0)
        return -1;
    if (access(db, F_OK) == 0)
        return error_set(err, ERR_CONFLICT, "%s is there already; --db-path chooses another", db);
    cleanup_close int marked = open(marker, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (marked < 0)
        return error_errno(err, "%s", marker);
    partial = must_asprintf("%s.partial", db);
    int rc = restore_store(c, argv[0], partial, err);
    if (rc < 0)
        store_file_remove(partial);
    unlink(marker);
    return rc;
}
