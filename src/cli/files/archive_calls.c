#include "cli/files/archive_calls.h"

static struct archive_calls table;
static const struct lazy_library library[] = {
    LAZY_LIBRARY("libarchive.so.13", "libarchive13", ARCHIVE_FUNCTIONS, table)};
static struct lazy_libraries libraries = LAZY_LIBRARIES(library);

const struct archive_calls *archive_calls(void)
{
    lazy_libraries_need(&libraries);
    return &table;
}
