// SPDX-License-Identifier: Apache-2.0
/* A test that needs what this machine does not have says so: tests/count.awk takes a skip without a
 * reason for a failure. Include it after cmocka.h. */
#ifndef ONEIB_TEST_SKIP_H
#define ONEIB_TEST_SKIP_H

/* What a program returns that skips all of its tests, with the reason on its last line. */
#define SKIPPED 77

/* Ends the test; takes what printf() takes, a reason without a newline. */
#define skip_because(...)                                                                          \
    do {                                                                                           \
        print_message(__VA_ARGS__);                                                                \
        print_message("\n");                                                                       \
        skip();                                                                                    \
    } while (0)

/* Whether this build has AddressSanitizer, which does more than the program itself. */
#if defined __has_feature
#if __has_feature(address_sanitizer)
#define IS_SANITIZED true
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED false
#endif

#endif
