/* cmocka wants four headers before its own, in this order. */
#ifndef DET_TESTS_UNIT_CMOCKA_SETUP_H
#define DET_TESTS_UNIT_CMOCKA_SETUP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
