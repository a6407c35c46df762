/* libcurl, loaded at the first call (common/system/lazy_library.h). Include this header in place of <curl/curl.h>. */
#ifndef DET_NET_CLIENT_CURL_CALLS_H
#define DET_NET_CLIENT_CURL_CALLS_H

#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>

#include "common/base/error.h"
#include "common/system/lazy_library.h"

#undef curl_easy_setopt /* the header also has macros of these names */
#undef curl_easy_getinfo
#undef curl_multi_setopt

#define CURL_FUNCTIONS(X) \
    X(curl_easy_cleanup) \
    X(curl_easy_getinfo) \
    X(curl_easy_header) \
    X(curl_easy_init) \
    X(curl_easy_perform) \
    X(curl_easy_reset) \
    X(curl_easy_setopt) \
    X(curl_easy_strerror) \
    X(curl_free) \
    X(curl_global_init) \
    X(curl_multi_add_handle) \
    X(curl_multi_assign) \
    X(curl_multi_cleanup) \
    X(curl_multi_info_read) \
    X(curl_multi_init) \
    X(curl_multi_remove_handle) \
    X(curl_multi_setopt) \
    X(curl_multi_socket_action) \
    X(curl_slist_append) \
    X(curl_slist_free_all) \
    X(curl_url) \
    X(curl_url_cleanup) \
    X(curl_url_get) \
    X(curl_url_set)

struct curl_calls {
    CURL_FUNCTIONS(LAZY_MEMBER)
};
/* Loads libcurl. What follows does so, too, and ends the program if it cannot. */
int curl_calls_load(struct error *err);
const struct curl_calls *curl_calls(void);

#define curl_easy_cleanup (curl_calls()->curl_easy_cleanup_)
#define curl_easy_getinfo (curl_calls()->curl_easy_getinfo_)
#define curl_easy_header (curl_calls()->curl_easy_header_)
#define curl_easy_init (curl_calls()->curl_easy_init_)
#define curl_easy_perform (curl_calls()->curl_easy_perform_)
#define curl_easy_reset (curl_calls()->curl_easy_reset_)
#define curl_easy_setopt (curl_calls()->curl_easy_setopt_)
#define curl_easy_strerror (curl_calls()->curl_easy_strerror_)
#define curl_free (curl_calls()->curl_free_)
#define curl_global_init (curl_calls()->curl_global_init_)
#define curl_multi_add_handle (curl_calls()->curl_multi_add_handle_)
#define curl_multi_assign (curl_calls()->curl_multi_assign_)
#define curl_multi_cleanup (curl_calls()->curl_multi_cleanup_)
#define curl_multi_info_read (curl_calls()->curl_multi_info_read_)
#define curl_multi_init (curl_calls()->curl_multi_init_)
#define curl_multi_remove_handle (curl_calls()->curl_multi_remove_handle_)
#define curl_multi_setopt (curl_calls()->curl_multi_setopt_)
#define curl_multi_socket_action (curl_calls()->curl_multi_socket_action_)
#define curl_slist_append (curl_calls()->curl_slist_append_)
#define curl_slist_free_all (curl_calls()->curl_slist_free_all_)
#define curl_url (curl_calls()->curl_url_)
#define curl_url_cleanup (curl_calls()->curl_url_cleanup_)
#define curl_url_get (curl_calls()->curl_url_get_)
#define curl_url_set (curl_calls()->curl_url_set_)

#endif
