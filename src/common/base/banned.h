/* C library functions that cannot be used safely, turned into compile errors. The build includes this header into each
 * of our sources, before anything else; the system's declarations come first so that the macros do not hit them. */
#ifndef DET_COMMON_BASE_BANNED_H
#define DET_COMMON_BASE_BANNED_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BANNED(function) det_##function##_is_banned_see_common_banned_h()

/* Copies without a bound. Use struct strbuf, an arena, or memcpy with a checked length. */
#undef strcpy
#define strcpy(...) BANNED(strcpy)
#undef strcat
#define strcat(...) BANNED(strcat)
#undef strncpy
#define strncpy(...) BANNED(strncpy)
#undef strncat
#define strncat(...) BANNED(strncat)
#undef sprintf
#define sprintf(...) BANNED(sprintf)
#undef vsprintf
#define vsprintf(...) BANNED(vsprintf)

/* Shared static buffers, or the local time zone. Use common/base/clock.h. */
#undef gmtime
#define gmtime(...) BANNED(gmtime)
#undef localtime
#define localtime(...) BANNED(localtime)
#undef ctime
#define ctime(...) BANNED(ctime)
#undef asctime
#define asctime(...) BANNED(asctime)
#undef strtok
#define strtok(...) BANNED(strtok)

/* Hides errors. Use strtol with its end pointer and errno. */
#undef atoi
#define atoi(...) BANNED(atoi)
#undef atol
#define atol(...) BANNED(atol)
#undef atoll
#define atoll(...) BANNED(atoll)
#undef atof
#define atof(...) BANNED(atof)

/* Differs between machines. Use common/base/rng.h in the domain, getrandom(2) for secrets. */
#undef rand
#define rand(...) BANNED(rand)
#undef srand
#define srand(...) BANNED(srand)

/* Another process may create the file first. Use mkostemp. */
#undef mktemp
#define mktemp(...) BANNED(mktemp)
#undef tmpnam
#define tmpnam(...) BANNED(tmpnam)

#endif
