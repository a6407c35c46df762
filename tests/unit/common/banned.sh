#!/bin/sh
# Calls that common/base/banned.h bans must not compile, though they are well-formed: banned.sh HEADER COMPILER…
set -u
header=$1
shift

# try CALL INCLUDED COMPILER…
try() {
    call=$1 included=$2
    shift 2
    "$@" -std=gnu17 -D_GNU_SOURCE -Wall -Werror -Wno-deprecated-declarations -include "$included" -fsyntax-only -x c - \
        >/dev/null 2>&1 <<END
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
void f(char *a, char *b);
void f(char *a, char *b) { (void)a; (void)b; $call; }
END
}

for call in 'strcpy(a, b)' 'strncpy(a, b, 1)' 'strcat(a, b)' 'sprintf(a, "%s", b)' '(void)strtok(a, b)' '(void)atoi(a)' \
    '(void)atof(a)' '(void)rand()' '(void)gmtime(NULL)' '(void)ctime(NULL)' '(void)mktemp(a)'; do
    if ! try "$call" /usr/include/stdlib.h "$@"; then
        echo "$call is no call at all"
        exit 1
    fi
    if try "$call" "$header" "$@"; then
        echo "$call compiles"
        exit 1
    fi
done
