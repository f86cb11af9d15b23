// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/internet.h"
#include <endian.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined __aarch64__
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#elif defined __powerpc64__ && __BYTE_ORDER == __LITTLE_ENDIAN
#define ARCHITECTURE AUDIT_ARCH_PPC64LE
#elif defined __s390x__
#define ARCHITECTURE AUDIT_ARCH_S390X
#elif defined __riscv && __riscv_xlen == 64
#define ARCHITECTURE AUDIT_ARCH_RISCV64
#else
#error "say which architecture system calls are of: AUDIT_ARCH_* in linux/audit.h"
#endif

/* x86-64 has its system calls a second time, from this number on: none are used. */
#define SECOND_NUMBERS 0x40000000u

#define LOW_HALF (__BYTE_ORDER == __BIG_ENDIAN ? 4 : 0)
#define FAMILY (offsetof(struct seccomp_data, args) + LOW_HALF)

#define LOAD(place) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (place))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define FAIL(error) ANSWER(SECCOMP_RET_ERRNO | (error))
/* The next instruction if it is so, else the one behind it. */
#define IF(test, value) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 0, 1)
#define UNLESS(test, value) BPF_JUMP(BPF_JMP | (test) | BPF_K, (value), 1, 0)

static const struct sock_filter rules[] = {
    LOAD(offsetof(struct seccomp_data, arch)),
    UNLESS(BPF_JEQ, ARCHITECTURE),
    FAIL(EPERM),
    LOAD(offsetof(struct seccomp_data, nr)),
    IF(BPF_JGE, SECOND_NUMBERS),
    FAIL(EPERM),
    /* It can make sockets by itself. */
    IF(BPF_JEQ, __NR_io_uring_setup),
    FAIL(EPERM),
#ifdef __NR_socketcall
    IF(BPF_JEQ, __NR_socketcall),
    FAIL(EPERM),
#endif
    UNLESS(BPF_JEQ, __NR_socket),
    ANSWER(SECCOMP_RET_ALLOW),
    LOAD(FAMILY),
    IF(BPF_JEQ, AF_UNIX),
    ANSWER(SECCOMP_RET_ALLOW),
    IF(BPF_JEQ, AF_NETLINK),
    ANSWER(SECCOMP_RET_ALLOW),
    FAIL(EAFNOSUPPORT),
};

int oneib_forbid_internet(struct oneib_error *err)
{
    /* The kernel only reads them, through a pointer that has no const. */
    struct sock_filter copy[sizeof rules / sizeof *rules];
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        copy[i] = rules[i];
    const struct sock_fprog program = {.len = sizeof rules / sizeof *rules, .filter = copy};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
        return oneib_fail_errno(err, errno, "giving up sockets of the internet");
    return 0;
}
