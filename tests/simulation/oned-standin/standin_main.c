// SPDX-License-Identifier: Apache-2.0
/* oned-standin: options, start, end. */
#include "base/cleanup.h"
#include "base/number.h"
#include "standin_publisher.h"
#include "standin_server.h"
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>

#define DEFAULT_LIFETIME 3600u

static const char help[] =
    "Usage: oned-standin --session USER:PASSWORD [OPTION]...\n"
    "\n"
    "A stand-in for OpenNebula's oned, for oneib's tests and demo. It is NOT OpenNebula: it runs "
    "no\n"
    "VM and keeps nothing. It answers the few XML-RPC calls that oneib makes with documents "
    "shaped\n"
    "like those of oned 7.4.0, and lets a script move its VMs through their states with the\n"
    "methods standin.*. It listens on 127.0.0.1 only and ends with the process that started it.\n"
    "\n"
    "When it is ready it prints three ports: \"port N\" is oned's, \"control N\" gives the same\n"
    "answers and stays up when the others are down (standin.down), \"events N\" publishes.\n"
    "\n"
    "  --session USER:PASSWORD          the session that may do everything\n"
    "  --limited-session USER:PASSWORD  a user who sees networks, but no host and no VM\n"
    "  --acl-session USER:PASSWORD      a user with the rights that standin.acl gives\n"
    "  --port N                         port to listen on (default 0: any free one)\n"
    "  --port-file FILE                 write the port there\n"
    "  --lifetime SECONDS               end by itself after that long (default 3600)\n"
    "  --ascending                      list pools by ascending id (oned's default is descending)\n"
    "  --lazy-nics                      a network's update reaches its VMs' NICs only with\n"
    "                                   standin.vn.propagate\n"
    "  --true-time                      its clock begins with the machine's, not on a fixed day\n"
    "  --help                           show this text\n";

struct options {
    const char *session, *limited_session, *acl_session, *port_file;
    uint16_t port;
    unsigned lifetime;
    bool ascending, lazy_nics, true_time, help;
};

static bool take_number(const char *string, uint64_t max, uint64_t *value)
{
    if (oneib_parse_decimal(string, max, value))
        return true;
    fprintf(stderr, "oned-standin: not a number from 0 to %llu: %s\n", (unsigned long long)max,
            string);
    return false;
}

static bool take_option(int option, struct options *options)
{
    uint64_t number = 0;
    switch (option) {
    case 's':
        options->session = optarg;
        return true;
    case 'l':
        options->limited_session = optarg;
        return true;
    case 'c':
        options->acl_session = optarg;
        return true;
    case 'p':
        if (!take_number(optarg, UINT16_MAX, &number))
            return false;
        options->port = (uint16_t)number;
        return true;
    case 'f':
        options->port_file = optarg;
        return true;
    case 't':
        if (!take_number(optarg, 86400, &number))
            return false;
        options->lifetime = (unsigned)number;
        return true;
    case 'a':
        options->ascending = true;
        return true;
    case 'z':
        options->lazy_nics = true;
        return true;
    case 'w':
        options->true_time = true;
        return true;
    case 'h':
        options->help = true;
        return true;
    default:
        return false;
    }
}

static bool take_options(int argc, char **argv, struct options *options)
{
    static const struct option known[] = {
        {"session", required_argument, NULL, 's'},
        {"limited-session", required_argument, NULL, 'l'},
        {"acl-session", required_argument, NULL, 'c'},
        {"port", required_argument, NULL, 'p'},
        {"port-file", required_argument, NULL, 'f'},
        {"lifetime", required_argument, NULL, 't'},
        {"ascending", no_argument, NULL, 'a'},
        {"lazy-nics", no_argument, NULL, 'z'},
        {"true-time", no_argument, NULL, 'w'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int option;
    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (!take_option(option, options))
            return false;
    if (options->help)
        return true;
    if (optind != argc || !options->session) {
        fprintf(stderr, "oned-standin: --session and nothing but options is wanted; see --help\n");
        return false;
    }
    return true;
}

/* Signals become readable here; threads started later inherit the mask and are never interrupted.
 */
static int open_stop_fd(struct oneib_error *err)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGALRM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    signal(SIGPIPE, SIG_IGN);
    int fd = signalfd(-1, &set, SFD_CLOEXEC);
    return fd >= 0 ? fd : oneib_fail_errno(err, errno, "watching for signals");
}

/* Of oned's port alone: whoever asks for a file knows nothing of the others. */
static int write_port_file(const char *path, uint16_t port, struct oneib_error *err)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return oneib_fail_errno(err, errno, "writing %s", path);
    fprintf(file, "%u\n", port);
    return fclose(file) == 0 ? 0 : oneib_fail_errno(err, errno, "writing %s", path);
}

/* The ports of standin_server.h, and the publisher's. */
enum { EVENTS = STANDIN_PORTS, PORTS };

static int announce(const struct options *options, const uint16_t ports[PORTS],
                    struct oneib_error *err)
{
    printf("port %u\ncontrol %u\nevents %u\n", ports[STANDIN_ONED], ports[STANDIN_CONTROL],
           ports[EVENTS]);
    if (fflush(stdout) != 0)
        return oneib_fail_errno(err, errno, "printing the ports");
    return options->port_file ? write_port_file(options->port_file, ports[STANDIN_ONED], err) : 0;
}

/* Listens before it announces: whoever reads the ports may call at once. */
static int serve(struct standin *standin, const struct options *options,
                 const uint16_t ports[PORTS], int stop_fd, struct oneib_error *err)
{
    standin->state.publisher = standin_publisher_open(ports[EVENTS], err);
    if (!standin->state.publisher)
        return -1;
    int listeners[STANDIN_PORTS];
    for (unsigned i = 0; i < STANDIN_PORTS; i++)
        if ((listeners[i] = standin_listen(ports[i], err)) < 0)
            return -1;
    alarm(options->lifetime);
    if (announce(options, ports, err) < 0)
        return -1;
    return standin_serve(standin, ports, listeners, stop_fd, err);
}

static int run_on(const struct options *options, const uint16_t ports[PORTS], int stop_fd,
                  struct oneib_error *err)
{
    struct standin standin = {.lock = PTHREAD_MUTEX_INITIALIZER,
                              .session = options->session,
                              .limited_session = options->limited_session,
                              .acl_session = options->acl_session};
    standin.state.ascending = options->ascending;
    standin.state.lazy_nics = options->lazy_nics;
    int result = standin_state_init(&standin.state, err);
    if (options->true_time)
        standin.state.now = (int64_t)time(NULL);
    if (result == 0)
        result = serve(&standin, options, ports, stop_fd, err);
    standin_publisher_close(standin.state.publisher);
    standin_state_clear(&standin.state);
    return result;
}

/* The ports stay reserved to the end, by descriptors that the end of the process closes. */
static int run(const struct options *options, struct oneib_error *err)
{
    uint16_t ports[PORTS] = {[STANDIN_ONED] = options->port};
    oneib_autoclose int stop_fd = open_stop_fd(err);
    if (stop_fd < 0)
        return -1;
    for (unsigned i = 0; i < PORTS; i++)
        if (standin_reserve_port(&ports[i], err) < 0)
            return -1;
    return run_on(options, ports, stop_fd, err);
}

int main(int argc, char **argv)
{
    struct options options = {.lifetime = DEFAULT_LIFETIME};
    if (!take_options(argc, argv, &options))
        return 2;
    if (options.help) {
        fputs(help, stdout);
        return 0;
    }
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    struct oneib_error err = {0};
    if (run(&options, &err) == 0)
        return 0;
    fprintf(stderr, "oned-standin: %s\n", err.text);
    return 3;
}
