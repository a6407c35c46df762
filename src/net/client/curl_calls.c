#include "net/client/curl_calls.h"

static struct curl_calls table;
static const struct lazy_library library[] = {LAZY_LIBRARY("libcurl.so.4", "libcurl4", CURL_FUNCTIONS, table)};
static struct lazy_libraries libraries = LAZY_LIBRARIES(library);

int curl_calls_load(struct error *err)
{
    return lazy_libraries_load(&libraries, err);
}

const struct curl_calls *curl_calls(void)
{
    lazy_libraries_need(&libraries);
    return &table;
}
