/* libarchive, loaded at the first call (common/system/lazy_library.h). Include this header in place of <archive.h> and
 * <archive_entry.h>. */
#ifndef DET_CLI_FILES_ARCHIVE_CALLS_H
#define DET_CLI_FILES_ARCHIVE_CALLS_H

#include <archive.h>
#include <archive_entry.h>

#include "common/base/error.h"
#include "common/system/lazy_library.h"

#define ARCHIVE_FUNCTIONS(X) \
    X(archive_entry_clear) \
    X(archive_entry_filetype) \
    X(archive_entry_free) \
    X(archive_entry_hardlink) \
    X(archive_entry_new) \
    X(archive_entry_pathname) \
    X(archive_entry_set_filetype) \
    X(archive_entry_set_mtime) \
    X(archive_entry_set_pathname) \
    X(archive_entry_set_perm) \
    X(archive_entry_set_size) \
    X(archive_error_string) \
    X(archive_read_data_into_fd) \
    X(archive_read_free) \
    X(archive_read_new) \
    X(archive_read_next_header) \
    X(archive_read_open) \
    X(archive_read_open_fd) \
    X(archive_read_support_format_tar) \
    X(archive_set_error) \
    X(archive_write_add_filter_gzip) \
    X(archive_write_close) \
    X(archive_write_data) \
    X(archive_write_free) \
    X(archive_write_header) \
    X(archive_write_new) \
    X(archive_write_open_fd) \
    X(archive_write_set_format_pax_restricted)

struct archive_calls {
    ARCHIVE_FUNCTIONS(LAZY_MEMBER)
};
const struct archive_calls *archive_calls(void);

#define archive_entry_clear (archive_calls()->archive_entry_clear_)
#define archive_entry_filetype (archive_calls()->archive_entry_filetype_)
#define archive_entry_free (archive_calls()->archive_entry_free_)
#define archive_entry_hardlink (archive_calls()->archive_entry_hardlink_)
#define archive_entry_new (archive_calls()->archive_entry_new_)
#define archive_entry_pathname (archive_calls()->archive_entry_pathname_)
#define archive_entry_set_filetype (archive_calls()->archive_entry_set_filetype_)
#define archive_entry_set_mtime (archive_calls()->archive_entry_set_mtime_)
#define archive_entry_set_pathname (archive_calls()->archive_entry_set_pathname_)
#define archive_entry_set_perm (archive_calls()->archive_entry_set_perm_)
#define archive_entry_set_size (archive_calls()->archive_entry_set_size_)
#define archive_error_string (archive_calls()->archive_error_string_)
#define archive_read_data_into_fd (archive_calls()->archive_read_data_into_fd_)
#define archive_read_free (archive_calls()->archive_read_free_)
#define archive_read_new (archive_calls()->archive_read_new_)
#define archive_read_next_header (archive_calls()->archive_read_next_header_)
#define archive_read_open (archive_calls()->archive_read_open_)
#define archive_read_open_fd (archive_calls()->archive_read_open_fd_)
#define archive_read_support_format_tar (archive_calls()->archive_read_support_format_tar_)
#define archive_set_error (archive_calls()->archive_set_error_)
#define archive_write_add_filter_gzip (archive_calls()->archive_write_add_filter_gzip_)
#define archive_write_close (archive_calls()->archive_write_close_)
#define archive_write_data (archive_calls()->archive_write_data_)
#define archive_write_free (archive_calls()->archive_write_free_)
#define archive_write_header (archive_calls()->archive_write_header_)
#define archive_write_new (archive_calls()->archive_write_new_)
#define archive_write_open_fd (archive_calls()->archive_write_open_fd_)
#define archive_write_set_format_pax_restricted (archive_calls()->archive_write_set_format_pax_restricted_)

#endif
