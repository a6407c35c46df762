/* Login names that every program takes as such: no option begins like them, and no shell reads them in another way. */
#ifndef DET_COMMON_SYSTEM_LOGIN_NAME_H
#define DET_COMMON_SYSTEM_LOGIN_NAME_H

#include <stdbool.h>
#include <string.h>

enum { LOGIN_NAME_MAX_BYTES = 32 };

static inline bool login_name_is_plain(const char *s)
{
    static const char first[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
                      rest[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789.-";
    return s && *s && strchr(first, *s) && strlen(s) <= LOGIN_NAME_MAX_BYTES && s[strspn(s, rest)] == '\0';
}

#endif
