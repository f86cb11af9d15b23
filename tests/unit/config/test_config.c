// SPDX-License-Identifier: Apache-2.0
#include "../../skip.h"
#include "../base/scratch.h"
#include "config/config.h"
#include <stdbool.h>

#define PATH in_scratch("oneib.conf")

/* LeakSanitizer asks for it: libconfig 1.5 loses the strings of a file that it finds a syntax error
 * in. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libconfig.so";
}

static int load_text(const char *text, struct oneib_config *config, struct oneib_error *err)
{
    put_text(PATH, text);
    return oneib_config_load(PATH, config, err);
}

static void load_good(const char *text, struct oneib_config *config)
{
    struct oneib_error err = {0};
    if (load_text(text, config, &err) < 0)
        fail_msg("\"%s\" was refused: %s", text, err.text);
}

/* The text is refused, and the error names the file, the line and `part`. */
static void assert_refused(const char *text, int line, const char *part)
{
    struct oneib_config config;
    struct oneib_error err = {0};
    if (load_text(text, &config, &err) == 0)
        fail_msg("\"%s\" was accepted", text);
    char place[PATH_MAX + 16];
    snprintf(place, sizeof place, "%s:%d: ", PATH, line);
    assert_int_equal(err.code, ONEIB_ERROR_CONFIG);
    assert_contains(err.text, place);
    assert_contains(err.text, part);
}

static void assert_strings_equal(char *const *a, char *const *b)
{
    assert_int_equal(a == NULL, b == NULL);
    for (size_t i = 0; a; i++) {
        assert_int_equal(a[i] == NULL, b[i] == NULL);
        if (!a[i])
            return;
        assert_string_equal(a[i], b[i]);
    }
}

static void assert_string_same(const char *a, const char *b)
{
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void assert_same(const struct oneib_config *a, const struct oneib_config *b)
{
    assert_int_equal(a->site, b->site);
    assert_string_same(a->one.endpoint, b->one.endpoint);
    assert_string_same(a->one.auth_file, b->one.auth_file);
    assert_string_same(a->one.vn_mad, b->one.vn_mad);
    assert_int_equal(a->one.timeout_ms, b->one.timeout_ms);
    assert_int_equal(a->one.window, b->one.window);
    assert_int_equal(a->one.writer, b->one.writer);
    assert_int_equal(a->one.acl_user, b->one.acl_user);
    assert_string_same(a->one.events, b->one.events);
    assert_int_equal(a->pkeys.first, b->pkeys.first);
    assert_int_equal(a->pkeys.last, b->pkeys.last);
    assert_int_equal(a->pkeys.resting, b->pkeys.resting);
    assert_int_equal(a->pkeys.owned, b->pkeys.owned);
    assert_int_equal(a->pkeys.per_owner, b->pkeys.per_owner);
    assert_int_equal(a->sm.kind, b->sm.kind);
    assert_string_same(a->ufm.url, b->ufm.url);
    assert_string_same(a->ufm.ca, b->ufm.ca);
    assert_int_equal(a->ufm.auth, b->ufm.auth);
    assert_string_same(a->ufm.secret, b->ufm.secret);
    assert_string_same(a->ufm.certificate, b->ufm.certificate);
    assert_int_equal(a->ufm.timeout_ms, b->ufm.timeout_ms);
    assert_string_same(a->ufm.release, b->ufm.release);
    assert_int_equal(a->ufm.default_limited, b->ufm.default_limited);
    assert_string_same(a->ufm.record, b->ufm.record);
    assert_string_same(a->opensm.partitions, b->opensm.partitions);
    assert_string_same(a->opensm.static_partitions, b->opensm.static_partitions);
    assert_int_equal(a->opensm.method, b->opensm.method);
    assert_string_same(a->opensm.pid_file, b->opensm.pid_file);
    assert_string_same(a->opensm.unit, b->opensm.unit);
    assert_strings_equal(a->opensm.reload_command, b->opensm.reload_command);
    assert_int_equal(a->opensm.apply_timeout_ms, b->opensm.apply_timeout_ms);
    assert_string_same(a->fabric.ca, b->fabric.ca);
    assert_int_equal(a->fabric.port, b->fabric.port);
    assert_int_equal(a->fabric.window, b->fabric.window);
    assert_int_equal(a->fabric.timeout_ms, b->fabric.timeout_ms);
    assert_int_equal(a->fabric.retries, b->fabric.retries);
    assert_string_same(a->fabric.m_key_file, b->fabric.m_key_file);
    assert_string_same(a->opensm.qos_policy, b->opensm.qos_policy);
    assert_int_equal(a->fabric.mtu, b->fabric.mtu);
    assert_int_equal(a->fabric.rate, b->fabric.rate);
    assert_strings_equal(a->default_partition.full_members, b->default_partition.full_members);
    assert_int_equal(a->default_partition.ipoib, b->default_partition.ipoib);
    assert_true(a->removal_hold.share == b->removal_hold.share);
    assert_int_equal(a->removal_hold.minimum, b->removal_hold.minimum);
    assert_strings_equal(a->qos.classes, b->qos.classes);
    assert_string_same(a->qos.default_class, b->qos.default_class);
    assert_int_equal(a->qos.others, b->qos.others);
    assert_int_equal(a->qos.vls, b->qos.vls);
    assert_int_equal(a->qos.entries, b->qos.entries);
    assert_int_equal(a->qos.drop_unused, b->qos.drop_unused);
    assert_int_equal(a->qos.exclusive, b->qos.exclusive);
    assert_int_equal(!a->qos.links_file, !b->qos.links_file);
    if (a->qos.links_file)
        assert_string_equal(a->qos.links_file, b->qos.links_file);
    assert_int_equal(a->daemon.poll_preparing_ms, b->daemon.poll_preparing_ms);
    assert_int_equal(a->daemon.poll_idle_ms, b->daemon.poll_idle_ms);
    assert_int_equal(a->daemon.reread_ms, b->daemon.reread_ms);
    assert_int_equal(a->daemon.verify_ms, b->daemon.verify_ms);
    assert_string_same(a->daemon.metrics, b->daemon.metrics);
    assert_string_same(a->daemon.grants, b->daemon.grants);
    assert_string_same(a->daemon.key, b->daemon.key);
    assert_string_same(a->daemon.control, b->daemon.control);
    assert_string_same(a->daemon.readers, b->daemon.readers);
    assert_int_equal(a->log.level, b->log.level);
    assert_int_equal(a->log.format, b->log.format);
}

/* ---- defaults -------------------------------------------------------------------------------- */

static void the_defaults_are_the_documented_ones(void **state)
{
    (void)state;
    struct oneib_config config;
    oneib_config_defaults(&config);
    assert_int_equal(config.site, 0);
    assert_null(config.one.endpoint);
    assert_null(config.one.auth_file);
    assert_string_equal(config.one.vn_mad, "infiniband");
    assert_int_equal(config.one.timeout_ms, 30000);
    assert_int_equal(config.one.window, 1000);
    assert_true(config.one.writer);
    assert_false(config.one.acl_user);
    assert_string_equal(config.one.events, "tcp://127.0.0.1:2101");
    assert_int_equal(config.pkeys.first, 256);
    assert_int_equal(config.pkeys.last, 32766);
    assert_int_equal(config.pkeys.resting, 16);
    assert_int_equal(config.pkeys.owned, 1024);
    assert_int_equal(config.pkeys.per_owner, 16);
    assert_int_equal(config.sm.kind, ONEIB_SM_OPENSM);
    assert_null(config.ufm.url);
    assert_null(config.ufm.ca);
    assert_int_equal(config.ufm.auth, ONEIB_CONFIG_UFM_TOKEN);
    assert_string_equal(config.ufm.secret, "/etc/oneib/ufm.secret");
    assert_null(config.ufm.certificate);
    assert_int_equal(config.ufm.timeout_ms, 30000);
    assert_null(config.ufm.release);
    assert_false(config.ufm.default_limited);
    assert_string_equal(config.ufm.record, "/var/lib/oneib/ufm-partitions.conf");
    assert_string_equal(config.opensm.partitions, "/etc/opensm/partitions.conf");
    assert_string_equal(config.opensm.static_partitions, "/etc/oneib/static-partitions.conf");
    assert_int_equal(config.opensm.method, ONEIB_RELOAD_SYSTEMD);
    assert_string_equal(config.opensm.pid_file, "/run/opensm.pid");
    assert_string_equal(config.opensm.unit, "opensm*.service");
    assert_null(config.opensm.reload_command);
    assert_int_equal(config.opensm.apply_timeout_ms, 30000);
    assert_null(config.fabric.ca);
    assert_int_equal(config.fabric.port, 0);
    assert_int_equal(config.fabric.window, 16);
    assert_int_equal(config.fabric.timeout_ms, 500);
    assert_int_equal(config.fabric.retries, 3);
    assert_null(config.fabric.m_key_file);
    assert_null(config.opensm.qos_policy);
    assert_int_equal(config.fabric.mtu, 0);
    assert_int_equal(config.fabric.rate, 0);
    assert_null(config.default_partition.full_members);
    assert_false(config.default_partition.ipoib);
    assert_true(config.removal_hold.share == 0.5);
    assert_int_equal(config.removal_hold.minimum, 16);
    assert_null(config.qos.classes);
    assert_null(config.qos.default_class);
    assert_int_equal(config.qos.others, 16);
    assert_int_equal(config.qos.vls, 8);
    assert_int_equal(config.qos.entries, 8);
    assert_false(config.qos.drop_unused);
    assert_null(config.qos.links_file);
    assert_false(config.qos.exclusive);
    assert_int_equal(config.daemon.poll_preparing_ms, 5000);
    assert_int_equal(config.daemon.poll_idle_ms, 15000);
    assert_int_equal(config.daemon.reread_ms, 600000);
    assert_int_equal(config.daemon.verify_ms, 120000);
    assert_string_equal(config.daemon.metrics, "127.0.0.1:9677");
    assert_string_equal(config.daemon.grants, "tcp://*:9678");
    assert_null(config.daemon.address);
    assert_string_equal(config.daemon.key, "/var/lib/oneib/daemon.key");
    assert_string_equal(config.daemon.control, "/run/oneibd/control");
    assert_string_equal(config.daemon.readers, "oneadmin");
    assert_int_equal(config.log.level, ONEIB_LOG_INFO);
    assert_int_equal(config.log.format, ONEIB_LOG_TEXT);
    oneib_config_clear(&config);
}

static void an_empty_file_gives_the_defaults(void **state)
{
    (void)state;
    struct oneib_config defaults, config;
    oneib_config_defaults(&defaults);
    const char *const empty[] = {"", "\n", "# only a comment", "/* a\nb */ // c\n", "one = {};"};
    for (size_t i = 0; i < sizeof empty / sizeof empty[0]; i++) {
        load_good(empty[i], &config);
        assert_same(&config, &defaults);
        oneib_config_clear(&config);
    }
    oneib_config_clear(&defaults);
}

static void the_example_file_says_the_defaults(void **state)
{
    (void)state;
    struct oneib_config defaults, config;
    struct oneib_error err = {0};
    oneib_config_defaults(&defaults);
    if (oneib_config_load(ONEIB_TEST_DATA "/../../share/oneib.conf.example", &config, &err) < 0)
        fail_msg("%s", err.text);
    assert_same(&config, &defaults);
    oneib_config_clear(&config);
    oneib_config_clear(&defaults);
}

static void the_default_file_may_be_absent(void **state)
{
    (void)state;
    if (access(ONEIB_CONFIG_DEFAULT_PATH, F_OK) == 0) {
        skip_because("%s exists on this machine", ONEIB_CONFIG_DEFAULT_PATH);
    }
    struct oneib_config config;
    struct oneib_error err;
    assert_int_equal(oneib_config_load(NULL, &config, &err), 0);
    assert_int_equal(config.one.window, 1000);
    oneib_config_clear(&config);
}

static void a_named_file_must_exist(void **state)
{
    (void)state;
    struct oneib_config config;
    struct oneib_error err;
    assert_int_equal(oneib_config_load(in_scratch("absent"), &config, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_NOT_FOUND);
    assert_contains(err.text, in_scratch("absent"));
}

/* ---- every key ------------------------------------------------------------------------------- */

static const char everything[] =
    "site = 65535;\n"
    "one = {\n"
    "    endpoint = \"https://one.example:2633/RPC2\";\n"
    "    auth_file = \"/var/lib/one/.one/oneib_auth\";\n"
    "    vn_mad = \"ib-2\";\n"
    "    timeout = 100;\n"
    "    window = 100000;\n"
    "    acl_user = true;\n"
    "    events = \"ipc:///run/one/events\";\n"
    "};\n"
    "pkeys : { first = 0x1; last = 0x7ffe }\n"
    "sm = { kind = \"ufm\"; };\n"
    "ufm = {\n"
    "    url = \"https://ufm:8443\"; ca = \"/ca\"; auth = \"certificate\";\n"
    "    secret = \"/key\"; certificate = \"/crt\"; timeout = 1000;\n"
    "    release = \"6.15\"; default_limited = true; record = \"/r\";\n"
    "};\n"
    "opensm = {\n"
    "    partitions = \"/tmp/p\";\n"
    "    static_partitions = \"/tmp/f\";\n"
    "    reload = \"command\";\n"
    "    pid_file = \"/tmp/pid\";\n"
    "    unit = \"opensm@mlx4_0\\\\x2d1.service\";\n"
    "    reload_command = [\"/usr/bin/env\", \"\", \"a b\"];\n"
    "    apply_timeout = 600000;\n"
    "};\n"
    "fabric = {\n"
    "    ca = \"mlx5_1\"; port = 2; window = 256; timeout = 10;\n"
    "    retries = 15; mtu = 4096; rate = 56;\n"
    "};\n"
    "default_partition = {\n"
    "    full_members = [\"0x0002c90300112233\", \"0xF\"];\n"
    "    ipoib = true;\n"
    "};\n"
    "removal_hold = { share = 0.1; minimum = 0; };\n"
    "daemon = {\n"
    "    poll_preparing = 100; poll_idle = 600000;\n"
    "    reread = 86400000; verify = 1000; metrics = \"[::1]:1\";\n"
    "    grants = \"tcp://10.0.0.1:26\"; key = \"/k\";\n"
    "    control = \"/c\"; readers = \"wheel\";\n"
    "};\n"
    "log = { level = \"debug\"; format = \"json\"; };\n";

static void every_key_is_read(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good(everything, &config);
    assert_int_equal(config.site, 65535);
    assert_string_equal(config.one.endpoint, "https://one.example:2633/RPC2");
    assert_string_equal(config.one.auth_file, "/var/lib/one/.one/oneib_auth");
    assert_string_equal(config.one.vn_mad, "ib-2");
    assert_int_equal(config.one.timeout_ms, 100);
    assert_int_equal(config.one.window, 100000);
    assert_true(config.one.acl_user);
    assert_string_equal(config.one.events, "ipc:///run/one/events");
    assert_int_equal(config.pkeys.first, 1);
    assert_int_equal(config.pkeys.last, 32766);
    assert_int_equal(config.sm.kind, ONEIB_SM_UFM);
    assert_string_equal(config.ufm.url, "https://ufm:8443");
    assert_string_equal(config.ufm.ca, "/ca");
    assert_int_equal(config.ufm.auth, ONEIB_CONFIG_UFM_CERTIFICATE);
    assert_string_equal(config.ufm.secret, "/key");
    assert_string_equal(config.ufm.certificate, "/crt");
    assert_int_equal(config.ufm.timeout_ms, 1000);
    assert_string_equal(config.ufm.release, "6.15");
    assert_true(config.ufm.default_limited);
    assert_string_equal(config.ufm.record, "/r");
    assert_string_equal(config.opensm.partitions, "/tmp/p");
    assert_string_equal(config.opensm.static_partitions, "/tmp/f");
    assert_int_equal(config.opensm.method, ONEIB_RELOAD_COMMAND);
    assert_string_equal(config.opensm.pid_file, "/tmp/pid");
    assert_string_equal(config.opensm.unit, "opensm@mlx4_0\\x2d1.service");
    assert_string_equal(config.opensm.reload_command[0], "/usr/bin/env");
    assert_string_equal(config.opensm.reload_command[1], "");
    assert_string_equal(config.opensm.reload_command[2], "a b");
    assert_null(config.opensm.reload_command[3]);
    assert_int_equal(config.opensm.apply_timeout_ms, 600000);
    assert_string_equal(config.fabric.ca, "mlx5_1");
    assert_int_equal(config.fabric.port, 2);
    assert_int_equal(config.fabric.window, 256);
    assert_int_equal(config.fabric.timeout_ms, 10);
    assert_int_equal(config.fabric.retries, 15);
    assert_int_equal(config.fabric.mtu, 4096);
    assert_int_equal(config.fabric.rate, 56);
    assert_string_equal(config.default_partition.full_members[0], "0x0002c90300112233");
    assert_string_equal(config.default_partition.full_members[1], "0xF");
    assert_null(config.default_partition.full_members[2]);
    assert_int_equal(config.default_partition.full_count, 2);
    assert_int_equal(config.default_partition.full_guids[1], 0xf);
    assert_true(config.default_partition.ipoib);
    assert_true(config.removal_hold.share == 0.1);
    assert_int_equal(config.removal_hold.minimum, 0);
    assert_int_equal(config.daemon.poll_preparing_ms, 100);
    assert_int_equal(config.daemon.poll_idle_ms, 600000);
    assert_int_equal(config.daemon.reread_ms, 86400000);
    assert_int_equal(config.daemon.verify_ms, 1000);
    assert_string_equal(config.daemon.metrics, "[::1]:1");
    assert_string_equal(config.daemon.grants, "tcp://10.0.0.1:26");
    assert_string_equal(config.daemon.key, "/k");
    assert_string_equal(config.daemon.control, "/c");
    assert_string_equal(config.daemon.readers, "wheel");
    assert_int_equal(config.log.level, ONEIB_LOG_DEBUG);
    assert_int_equal(config.log.format, ONEIB_LOG_JSON);
    oneib_config_clear(&config);
}

static void clearing_twice_is_harmless(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good(everything, &config);
    oneib_config_clear(&config);
    oneib_config_clear(&config);
    assert_null(config.opensm.reload_command);
    assert_null(config.one.vn_mad);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void unknown_keys_are_named_with_file_and_line(void **state)
{
    (void)state;
    assert_refused("site = 1;\nsight = 2;\n", 2, "sight");
    assert_refused("one = {\n  window = 5;\n  timeot = 5;\n};\n", 3, "one.timeot");
    assert_refused("two = {\n  window = 5;\n};\n", 1, "two");
    assert_refused("timeout = 5;\n", 1, "timeout");
    assert_refused("one = {\n one = { window = 5; };\n};", 2, "one.one");
    assert_refused("log = { level = \"info\";\n file = \"/x\"; };", 2, "level, format");
}

static void a_group_and_a_value_are_not_confused(void **state)
{
    (void)state;
    assert_refused("one = 5;", 1, "one must be a group");
    assert_refused("\none = [1, 2];", 2, "one must be a group");
    assert_refused("one = ( { window = 5; } );", 1, "one must be a group");
    assert_refused("site = { site = 1; };", 1, "site must be a whole number");
    assert_refused("one = { window = { a = 1; }; };", 1, "one.window must be a whole number");
}

static void wrong_types_are_refused(void **state)
{
    (void)state;
    assert_refused("site = \"1\";", 1, "site must be a whole number from 0 to 65535");
    assert_refused("site = 1.0;", 1, "site must be");
    assert_refused("site = true;", 1, "site must be");
    assert_refused("site = [1];", 1, "site must be");
    assert_refused("one = { writer = 1; };", 1, "one.writer must be true or false");
    assert_refused("one = { writer = \"yes\"; };", 1, "one.writer");
    assert_refused("one = {\n\n vn_mad = 5; };", 3, "one.vn_mad must be a string");
    assert_refused("one = { vn_mad = [\"a\"]; };", 1, "one.vn_mad must be a string");
    assert_refused("removal_hold = { share = \"0.5\"; };", 1, "removal_hold.share");
    assert_refused("removal_hold = { share = true; };", 1, "removal_hold.share");
    assert_refused("log = { level = 3; };", 1, "log.level must be one of \"error\"");
    assert_refused("opensm = { reload_command = \"/bin/x\"; };", 1, "opensm.reload_command");
    assert_refused("opensm = { reload_command = ( \"/bin/x\" ); };", 1, "opensm.reload_command");
    assert_refused("opensm = { reload_command = [1, 2]; };", 1, "opensm.reload_command");
}

static void assert_range(const char *group, const char *key, long first, long last)
{
    const struct {
        long value;
        bool good;
    } cases[] = {{first, true}, {last, true}, {first - 1, false}, {last + 1, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[128], name[64];
        struct oneib_config config;
        if (cases[i].value > INT32_MAX)
            continue;
        snprintf(text, sizeof text, group[0] ? "%s = {\n%s = %ld; };" : "%s\n%s = %ld;", group, key,
                 cases[i].value);
        snprintf(name, sizeof name, "%s%s%s must be a whole number from", group,
                 group[0] ? "." : "", key);
        if (cases[i].good) {
            load_good(text, &config);
            oneib_config_clear(&config);
        } else {
            assert_refused(text, 2, name);
        }
    }
}

static void numbers_have_their_documented_ranges(void **state)
{
    (void)state;
    assert_range("", "site", 0, 65535);
    assert_range("one", "timeout", 100, 600000);
    assert_range("one", "window", 1, 100000);
    assert_range("pkeys", "first", 1, 32766);
    assert_range("pkeys", "resting", 1, 32766);
    assert_range("pkeys", "owned", 0, 32766);
    assert_range("pkeys", "per_owner", 0, 32766);
    assert_range("opensm", "apply_timeout", 1000, 600000);
    assert_range("fabric", "port", 0, 255);
    assert_range("fabric", "window", 1, 256);
    assert_range("fabric", "timeout", 10, 60000);
    assert_range("fabric", "retries", 0, 15);
    assert_range("removal_hold", "minimum", 0, INT32_MAX);
    assert_range("daemon", "poll_preparing", 100, 5000);
    assert_range("daemon", "poll_idle", 1000, 600000);
    assert_range("daemon", "reread", 1000, 86400000);
    assert_range("daemon", "verify", 1000, 86400000);
    assert_refused("pkeys = { last = 0; };", 1, "pkeys.last must be");
    assert_refused("pkeys = { last = 32767; };", 1, "pkeys.last must be");
}

static void the_last_pkey_is_not_below_the_first(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good("pkeys = { first = 9; last = 9; };", &config);
    oneib_config_clear(&config);
    assert_refused("pkeys = { first = 9;\n last = 8; };", 2, "pkeys.last must not be less than");
    assert_refused("\npkeys = { last = 255; };", 2, "pkeys.last must not be less than");
}

static void numbers_that_libconfig_would_cut_are_refused(void **state)
{
    (void)state;
    const char *const bad[] = {
        "4294967297",  "99999999999", "0x100000001", "0x80000000", "2147483648",
        "-4294967295", "5L",          "0x5L",        "010",        "99999999999999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "/* \" */\nsite = %s;\n", bad[i]);
        assert_refused(text, 2, bad[i]);
        snprintf(text, sizeof text, "log = {};\n\n\nsite=%s", bad[i]);
        assert_refused(text, 4, bad[i]);
    }
    assert_refused("site = 99999999999one = {};", 1, "99999999999");
    assert_refused("site = 99999999999e = 5;", 1, "99999999999");
}

static void digits_in_strings_comments_and_names_are_no_numbers(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good("# 99999999999 \"\n// 010 /*\n/* 0x100000001\n\" */ one = { auth_file = "
              "\"/010/\\\"/99999999999\\\\\"; };",
              &config);
    assert_string_equal(config.one.auth_file, "/010/\"/99999999999\\");
    oneib_config_clear(&config);
    assert_refused("x99999999999 = 5;", 1, "x99999999999 is not a key");
}

static void mtu_and_rate_are_those_of_infiniband(void **state)
{
    (void)state;
    const int mtus[] = {0, 256, 512, 1024, 2048, 4096};
    const int rates[] = {0,  2,  5,   10,  14,  20,  25,  28,  30,  40,  50,  56,
                         60, 80, 100, 112, 120, 168, 200, 300, 400, 600, 800, 1200};
    for (size_t i = 0; i < sizeof mtus / sizeof mtus[0]; i++)
        for (size_t j = 0; j < sizeof rates / sizeof rates[0]; j++) {
            char text[64];
            struct oneib_config config;
            snprintf(text, sizeof text, "fabric = { mtu = %d; rate = %d; };", mtus[i], rates[j]);
            load_good(text, &config);
            assert_int_equal(config.fabric.mtu, mtus[i]);
            assert_int_equal(config.fabric.rate, rates[j]);
            oneib_config_clear(&config);
        }
    assert_refused("fabric = { mtu = 1500; };", 1, "fabric.mtu must be one of 256,");
    assert_refused("fabric = { mtu = -1; };", 1, "fabric.mtu");
    assert_refused("fabric = { rate = 7; };", 1, "fabric.rate must be one of 2,");
    assert_refused("fabric = { rate = 1201; };", 1, "fabric.rate");
}

static void a_share_is_from_0_to_1(void **state)
{
    (void)state;
    const char *const good[] = {"0", "1", "0.0", "1.0", "0.25", ".5", "1e-3"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        char text[64];
        struct oneib_config config;
        snprintf(text, sizeof text, "removal_hold = { share = %s; };", good[i]);
        load_good(text, &config);
        assert_true(config.removal_hold.share == atof(good[i]));
        oneib_config_clear(&config);
    }
    assert_refused("removal_hold = { share = 2; };", 1, "removal_hold.share must be");
    assert_refused("removal_hold = { share = 1.0001; };", 1, "removal_hold.share must be");
    assert_refused("removal_hold = { share = -0.1; };", 1, "removal_hold.share must be");
    assert_refused("removal_hold = { share = 1e999; };", 1, "removal_hold.share must be");
}

static void choices_are_exact_words(void **state)
{
    (void)state;
    assert_refused("log = { level = \"Info\"; };", 1, "log.level");
    assert_refused("log = { level = \"\"; };", 1, "log.level");
    assert_refused("log = { format = \"xml\"; };", 1,
                   "log.format must be one of \"text\", \"json\"");
    assert_refused("opensm = { reload = \"sighup\"; };", 1, "opensm.reload");
}

static void paths_are_absolute(void **state)
{
    (void)state;
    const char *const keys[] = {"one = { auth_file", "opensm = { partitions",
                                "opensm = { static_partitions", "opensm = { pid_file"};
    const char *const bad[] = {"", "relative", "./x", "~/x", "/", "/etc/"};
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
        for (size_t j = 0; j < sizeof bad / sizeof bad[0]; j++) {
            char text[128];
            snprintf(text, sizeof text, "%s = \"%s\"; };", keys[i], bad[j]);
            assert_refused(text, 1, "must be the absolute path of a file");
        }
}

static void names_and_endpoints_are_checked(void **state)
{
    (void)state;
    assert_refused("one = { vn_mad = \"\"; };", 1, "one.vn_mad must be a name");
    assert_refused("one = { vn_mad = \"a b\"; };", 1, "one.vn_mad");
    assert_refused("opensm = { unit = \"--help\"; };", 1, "opensm.unit");
    assert_refused("fabric = { ca = \"../mlx4_0\"; };", 1, "fabric.ca");
    assert_refused("one = { endpoint = \"one.example\"; };", 1,
                   "one.endpoint must begin with http");
    assert_refused("one = { endpoint = \"http://\"; };", 1, "one.endpoint");
}

static void assert_strings(const char *group, const char *key, const char *const *strings,
                           const char *complaint)
{
    for (; *strings; strings++) {
        char text[256];
        struct oneib_config config;
        snprintf(text, sizeof text, "%s = { %s = \"%s\"; };", group, key, *strings);
        if (complaint) {
            assert_refused(text, 1, complaint);
        } else {
            load_good(text, &config);
            oneib_config_clear(&config);
        }
    }
}

static void the_event_stream_has_an_address_or_is_none(void **state)
{
    (void)state;
    const char *const good[] = {"none", "tcp://10.0.0.1:2101", "tcp://front-end:2101",
                                "ipc:///run/one/events", NULL};
    const char *const bad[] = {
        "", "None", "127.0.0.1:2101", "http://x:2101", "ipc://relative", "udp://x:1", NULL};
    assert_strings("one", "events", good, NULL);
    assert_strings("one", "events", bad, "one.events must begin with tcp:// or ipc:///");
}

static void the_readers_of_the_control_socket_are_a_group(void **state)
{
    (void)state;
    const char *const good[] = {"oneadmin", "domain_users", NULL};
    const char *const bad[] = {"", "a:b", "one admin", "/etc", NULL};
    assert_strings("daemon", "readers", good, NULL);
    assert_strings("daemon", "readers", bad, "daemon.readers must be the name of a group");
}

static void the_control_socket_has_an_absolute_path_or_is_none(void **state)
{
    (void)state;
    const char *const good[] = {"none", "/run/oneibd/control", NULL};
    const char *const bad[] = {"", "control", "None", "./control", NULL};
    assert_strings("daemon", "control", good, NULL);
    assert_strings("daemon", "control", bad, "daemon.control must be an absolute path");
}

static void metrics_have_an_address_with_a_port_or_are_none(void **state)
{
    (void)state;
    const char *const good[] = {"none", "0.0.0.0:9677", "[::1]:65535", "127.0.0.1:1", NULL};
    const char *const bad[] = {"",
                               ":9677",
                               "9677",
                               "127.0.0.1",
                               "127.0.0.1:",
                               "127.0.0.1:0",
                               "127.0.0.1:65536",
                               "127.0.0.1:09677",
                               "127.0.0.1:+1",
                               NULL};
    assert_strings("daemon", "metrics", good, NULL);
    assert_strings("daemon", "metrics", bad, "daemon.metrics must be ADDRESS:PORT");
}

static void nodes_connect_to_an_address_with_a_port(void **state)
{
    (void)state;
    const char *const good[] = {"tcp://*:9678", "tcp://10.0.0.1:1", "tcp://[::1]:65535", NULL};
    const char *const bad[] = {
        "",        "none",      "tcp://none",    "*:2633",      "ipc:///run/x",
        "tcp://*", "tcp://*:0", "tcp://*:65536", "tcp://:9678", NULL};
    assert_strings("daemon", "grants", good, NULL);
    assert_strings("daemon", "grants", bad, "daemon.grants must be tcp://ADDRESS:PORT");
}

static void nodes_are_told_one_address(void **state)
{
    (void)state;
    const char *const good[] = {"tcp://sm1.example.org:9678", "tcp://[::1]:65535", NULL};
    const char *const bad[] = {"", "none", "tcp://*:9678", "sm1:9678", "tcp://sm1", NULL};
    assert_strings("daemon", "address", good, NULL);
    assert_strings("daemon", "address", bad, "daemon.address must be tcp://HOST:PORT");
}

static void the_reload_command_is_a_program_with_arguments(void **state)
{
    (void)state;
    assert_refused("opensm = { reload_command = [\"kill\", \"x\"]; };", 1,
                   "opensm.reload_command must begin with the absolute path of a program");
    assert_refused("opensm = {\n reload = \"command\"; };", 2,
                   "opensm.reload needs opensm.reload_command");
    assert_refused("opensm = { reload = \"command\"; reload_command = []; };", 1,
                   "opensm.reload needs opensm.reload_command");
}

static void ufm_is_asked_over_https_alone_and_has_all_that_it_takes(void **state)
{
    (void)state;
    const char *const bad[] = {"http://ufm",    "https://", "https://ufm/",
                               "https://u@ufm", "ufm",      "https://ufm?x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "ufm = {\nurl = \"%s\"; };", bad[i]);
        assert_refused(text, 2, "ufm.url must be https://HOST or https://HOST:PORT");
    }
    assert_refused("\nsm = { kind = \"ufm\"; };", 2, "sm.kind needs ufm.url");
    assert_refused("sm = { kind = \"ufm\"; };\nufm = { url = \"https://ufm\"; };\n"
                   "one = { writer = false; };",
                   3, "one.writer must be true with sm.kind");
    assert_refused("sm = { kind = \"ufm\"; };\nufm = { url = \"https://ufm\";\n"
                   "auth = \"certificate\"; };",
                   3, "ufm.auth needs ufm.certificate");
    const char *const releases[] = {"", "6", "6.", "6.x", "6.1.2.3", "6.15-2", "v6.15"};
    for (size_t i = 0; i < sizeof releases / sizeof releases[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "ufm = { release = \"%s\"; };", releases[i]);
        assert_refused(text, 1, "ufm.release must be a release of UFM's");
    }
}

/* Locks and fences are beside it: two that write to one subnet manager find each other. */
static void the_state_is_beside_what_the_kind_of_subnet_manager_writes(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good(everything, &config);
    assert_string_equal(oneib_config_state(&config), "/r");
    config.sm.kind = ONEIB_SM_NVIDIA_OPENSM;
    assert_string_equal(oneib_config_state(&config), "/tmp/p");
    oneib_config_clear(&config);
}

static void full_members_are_guids(void **state)
{
    (void)state;
    const char *const bad[] = {"",     "0x0", "0xffffffffffffffff", "0x",   "2c903",
                               "0xzz", "ALL", "0x1=full",           "0x1 ", "0x12345678901234567"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128];
        snprintf(text, sizeof text, "default_partition = {\n full_members = [\"0x1\",\n\"%s\"]; };",
                 bad[i]);
        assert_refused(text, 3, "default_partition.full_members must be a port GUID");
    }
}

static void a_syntax_error_names_file_and_line(void **state)
{
    (void)state;
    assert_refused("site = 1;\none = {\n", 3, "syntax error");
    assert_refused("site = ;\n", 1, "syntax error");
    assert_refused("\n\n= 5", 3, "syntax error");
    assert_refused("one = { };\none = { };", 2, "duplicate setting name");
    assert_refused("site = 1;\nsite = 2;", 2, "duplicate setting name");
}

static void what_would_hide_the_rest_of_the_file_is_refused(void **state)
{
    (void)state;
    assert_refused("site = 1;\n/* no end\n site = 2;\n", 2, "comment");
    assert_refused("\none = { auth_file = \"/x;\n};\n", 2, "string");
    assert_refused("one = { auth_file = \"/x\\x00/y\"; };\n", 1, "NUL");

    struct oneib_config config;
    struct oneib_error err;
    put_file(PATH, "# a\n# b\0\nsite = 5;", 18);
    assert_int_equal(oneib_config_load(PATH, &config, &err), -1);
    assert_contains(err.text, ":2: a NUL byte");
}

static void include_is_refused(void **state)
{
    (void)state;
    char text[PATH_MAX + 64];
    assert_refused("@include \"/\"\n", 1, "@include is not supported");
    assert_refused("site = 1;\n  @include \"/dev/zero\"\n", 2, "@include is not supported");
    assert_refused("site = 1; @include \"x\"\n", 1, "@include is not supported");
    snprintf(text, sizeof text, "one = {\n@include \"%s\"\n};", PATH);
    assert_refused(text, 2, "@include is not supported");

    struct oneib_config config;
    load_good("/* \n@include \"/\"\n*/ # @include\nlog = {};", &config);
    oneib_config_clear(&config);
}

static void deep_nesting_is_an_error_like_others(void **state)
{
    (void)state;
    static char text[900001];
    const char *const pieces[] = {"a={", "(", "[", "a=(", "{"};
    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++) {
        size_t length = strlen(pieces[i]);
        size_t at = (size_t)snprintf(text, sizeof text, "x = ");
        while (at + length < sizeof text)
            at = (size_t)(stpcpy(text + at, pieces[i]) - text);
        struct oneib_config config;
        struct oneib_error err = {0};
        assert_int_equal(load_text(text, &config, &err), -1);
        assert_int_equal(err.code, ONEIB_ERROR_CONFIG);
    }
}

static void a_file_that_is_too_large_or_none_is_refused(void **state)
{
    (void)state;
    struct oneib_config config;
    struct oneib_error err;
    static char blanks[1024 * 1024 + 1];
    memset(blanks, '\n', sizeof blanks);
    put_file(PATH, blanks, sizeof blanks);
    assert_int_equal(oneib_config_load(PATH, &config, &err), -1);
    assert_contains(err.text, "larger than");
    assert_int_equal(oneib_config_load("/", &config, &err), -1);
    assert_contains(err.text, "not a regular file");
}

static uint32_t next_random(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*seed >> 33);
}

/* Whatever is done to a good file, it loads or is refused, and never crashes. */
static void damaged_files_are_loaded_or_refused(void **state)
{
    (void)state;
    uint64_t seed = 1;
    for (int round = 0; round < 3000; round++) {
        char text[sizeof everything];
        memcpy(text, everything, sizeof text);
        size_t length = sizeof text - 1;
        for (uint32_t hits = next_random(&seed) % 4; hits > 0; hits--)
            text[next_random(&seed) % length] =
                "\"\\/*#@{}[]();:=,.-+0x9aL\n\xff"[next_random(&seed) % 26];
        if (next_random(&seed) % 4 == 0)
            length = next_random(&seed) % length;

        struct oneib_config config;
        struct oneib_error err = {0};
        put_file(PATH, text, length);
        if (oneib_config_load(PATH, &config, &err) == 0)
            oneib_config_clear(&config);
        else
            assert_contains(err.text, PATH);
    }
}

/* ---- rendering ------------------------------------------------------------------------------- */

static void assert_renders_to_itself(const struct oneib_config *config)
{
    oneib_autotext struct oneib_text first = {0}, second = {0};
    struct oneib_config again;
    oneib_config_render(config, &first);
    load_good(first.data, &again);
    assert_same(&again, config);
    oneib_config_render(&again, &second);
    assert_string_equal(first.data, second.data);
    oneib_config_clear(&again);
}

static void the_rendered_defaults_load_back(void **state)
{
    (void)state;
    struct oneib_config config;
    oneib_config_defaults(&config);
    assert_renders_to_itself(&config);
    oneib_config_clear(&config);
}

static void the_rendering_names_every_key(void **state)
{
    (void)state;
    struct oneib_config config;
    oneib_autotext struct oneib_text text = {0};
    oneib_config_defaults(&config);
    oneib_config_render(&config, &text);
    const char *const lines[] = {"site = 0;\n",
                                 "\none = {\n    # endpoint is not set\n",
                                 "    vn_mad = \"infiniband\";\n",
                                 "    writer = true;\n    acl_user = false;\n",
                                 "    events = \"tcp://127.0.0.1:2101\";\n",
                                 "    reload = \"systemd\";\n",
                                 "    reload_command = [];\n",
                                 "    share = 0.5;\n",
                                 "\ndaemon = {\n    poll_preparing = 5000;\n",
                                 "    poll_idle = 15000;\n    reread = 600000;\n",
                                 "    verify = 120000;\n    metrics = \"127.0.0.1:9677\";\n",
                                 "    level = \"info\";\n"};
    for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
        assert_contains(text.data, lines[i]);
    oneib_config_clear(&config);
}

static void a_full_configuration_loads_back(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good(everything, &config);
    assert_renders_to_itself(&config);
    oneib_config_clear(&config);
}

/* A string of up to 40 bytes, any but NUL, of all those that need escaping more often than by
 * chance. */
static char *random_string(uint64_t *seed, const char *prefix, const char *suffix)
{
    static const char hard[] = "\"\\\n\t\r\f\x01\x1f\x7f\xff/*#@x0 ";
    char *string = calloc(1, 128);
    assert_non_null(string);
    char *end = stpcpy(string, prefix);
    for (uint32_t length = next_random(seed) % 40; length > 0; length--)
        *end++ = next_random(seed) % 2 ? hard[next_random(seed) % (sizeof hard - 1)]
                                       : (char)(next_random(seed) % 255 + 1);
    strcpy(end, suffix);
    return string;
}

static void replace_string(char **string, char *by)
{
    free(*string);
    *string = by;
}

static char **random_command(uint64_t *seed)
{
    size_t count = next_random(seed) % 4 + 1;
    char **command = calloc(count + 1, sizeof *command);
    assert_non_null(command);
    command[0] = random_string(seed, "/", "p");
    for (size_t i = 1; i < count; i++)
        command[i] = random_string(seed, "", "");
    return command;
}

static void any_configuration_loads_back(void **state)
{
    (void)state;
    uint64_t seed = 2;
    for (int round = 0; round < 500; round++) {
        struct oneib_config config;
        oneib_config_defaults(&config);
        config.site = (uint16_t)next_random(&seed);
        config.one.endpoint = random_string(&seed, "http://h", "");
        config.one.auth_file = random_string(&seed, "/", "f");
        config.one.timeout_ms = 100 + next_random(&seed) % 599901;
        config.one.writer = next_random(&seed) % 2;
        config.one.acl_user = next_random(&seed) % 2;
        config.pkeys.first = (uint16_t)(1 + next_random(&seed) % 1000);
        config.pkeys.last = (uint16_t)(1000 + next_random(&seed) % 1000);
        config.pkeys.resting = (uint32_t)(1 + next_random(&seed) % 1000);
        config.pkeys.owned = next_random(&seed) % 1000;
        config.pkeys.per_owner = next_random(&seed) % 1000;
        replace_string(&config.opensm.partitions, random_string(&seed, "/", "p"));
        config.opensm.method = (enum oneib_reload_method)(next_random(&seed) % 3);
        config.opensm.reload_command = random_command(&seed);
        config.fabric.port = (uint8_t)next_random(&seed);
        config.removal_hold.share = next_random(&seed) / 2147483648.0;
        config.removal_hold.minimum = next_random(&seed) & INT32_MAX;
        replace_string(&config.one.events, random_string(&seed, "tcp://", ""));
        config.daemon.verify_ms = 1000 + next_random(&seed) % 86399001;
        replace_string(&config.daemon.metrics, random_string(&seed, "a", ":7"));
        replace_string(&config.daemon.grants, random_string(&seed, "tcp://a", ":7"));
        replace_string(&config.daemon.key, random_string(&seed, "/", "k"));
        replace_string(&config.daemon.control, random_string(&seed, "/", "c"));
        assert_renders_to_itself(&config);
        oneib_config_clear(&config);
    }
}

static void classes_are_read_and_render_to_themselves(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good("qos = { classes = [\"gold: weight 64, SL 1-2\", \" silver :weight 255,SL 4, 9\"];\n"
              "default_class = \"silver\"; vls = 15; entries = 64; others = 1;\n"
              "drop_unused = true; links_file = \"/l\"; exclusive = true; };",
              &config);
    assert_string_equal(config.qos.links_file, "/l");
    assert_true(config.qos.exclusive);
    assert_string_equal(config.qos.classes[0], "gold: weight 64, SL 1-2");
    assert_string_equal(config.qos.default_class, "silver");
    assert_int_equal(config.qos.vls, 15);
    assert_int_equal(config.qos.entries, 64);
    assert_int_equal(config.qos.others, 1);
    assert_true(config.qos.drop_unused);
    assert_renders_to_itself(&config);
    oneib_config_clear(&config);
}

#define CLASSES(list) "qos = {\nclasses = [" list "];\n};"

static void a_class_that_is_none_is_refused(void **state)
{
    (void)state;
    assert_refused(CLASSES("\"gold: weight 0, SL 1\""), 2, "must have a weight from 1 to 255");
    assert_refused(CLASSES("\"gold: weight 256, SL 1\""), 2, "must have a weight from 1 to 255");
    assert_refused(CLASSES("\"g: weight 99999999999999999999, SL 1\""), 2, "a weight from 1");
    assert_refused(CLASSES("\"gold: weight 1, SL 0\""), 2, "SL 0 is for management");
    assert_refused(CLASSES("\"gold: weight 1, SL 16\""), 2, "SLs from 1 to 15");
    assert_refused(CLASSES("\"gold: weight 1, SL 14-16\""), 2, "SLs from 1 to 15");
    assert_refused(CLASSES("\"gold: weight 1, SL 3-2\""), 2, "the lower SL first");
    assert_refused(CLASSES("\"gold: weight 1, SL 2, 1-3\""), 2, "each SL once");
    const char *const malformed[] = {
        CLASSES("\"\""),
        CLASSES("\"gold\""),
        CLASSES("\"gold:\""),
        CLASSES("\"gold: weight 1\""),
        CLASSES("\"a\\nb: weight 1, SL 1\""),
        CLASSES("\"gold: weight -1, SL 1\""),
        CLASSES("\"gold: weight 1, SL\""),
        CLASSES("\"gold: weight 1, SL 1;\""),
        CLASSES("\"gold: weight 1, SL 1 2\""),
        CLASSES("\"a b: weight 1, SL 1\""),
        CLASSES("\"gold: weight 1, SL 1-\""),
        CLASSES("\"gold: SL 1, weight 1\""),
        CLASSES("\"abcdefghijklmnopqrstuvwxyzabcdef: weight 1, SL 1\"")};
    for (size_t i = 0; i < sizeof malformed / sizeof *malformed; i++)
        assert_refused(malformed[i], 2, "qos.classes must ");
}

static void classes_that_do_not_go_together_are_refused(void **state)
{
    (void)state;
    assert_refused(CLASSES("\"a: weight 1, SL 1\", \"a: weight 1, SL 2\""), 2,
                   "must define class a once");
    assert_refused(CLASSES("\"a: weight 1, SL 1-3\", \"b: weight 1, SL 3\""), 2, "SL 3 is b's");
    assert_refused("qos = {\nclasses = [\"a: weight 1, SL 1\"];\ndefault_class = \"b\"; };", 3,
                   "qos.default_class must be one of qos.classes");
    assert_refused("qos = {\ndefault_class = \"b\"; };", 2, "must be one of qos.classes");
}

static void a_file_of_links_that_nobody_could_use_is_refused(void **state)
{
    (void)state;
    assert_refused("qos = {\nlinks_file = \"/l\"; };", 2,
                   "qos.links_file is of clusters with service levels");
    assert_refused("qos = { classes = [\"a: weight 1, SL 1\"];\nexclusive = true; };", 2,
                   "qos.exclusive needs qos.links_file");
    assert_refused("opensm = { partitions = \"/p\"; };\n"
                   "qos = { classes = [\"a: weight 1, SL 1\"];\nlinks_file = \"/p\"; };",
                   3, "qos.links_file must be a file of its own");
}

static void a_qos_policy_that_nobody_would_read_is_refused(void **state)
{
    (void)state;
    static const char classes[] = "qos = { classes = [\"a: weight 1, SL 1\"]; };";
    char source[512];
    assert_refused("opensm = { qos_policy = \"/p\"; };", 1, "define qos.classes, too");
    snprintf(source, sizeof source, "%s\nopensm = { qos_policy = \"/p\"; partitions = \"/p\"; };",
             classes);
    assert_refused(source, 2, "opensm.qos_policy must be a file of its own");
    snprintf(source, sizeof source,
             "%s\nopensm = { qos_policy = \"/p\"; static_partitions = \"/p\"; };", classes);
    assert_refused(source, 2, "opensm.qos_policy must be a file of its own");
    snprintf(source, sizeof source,
             "%s\nopensm = { qos_policy = \"/p\"; };\nsm = { kind = \"ufm\"; };\n"
             "ufm = { url = \"https://ufm.example.org\"; };\none = { writer = true; };",
             classes);
    assert_refused(source, 2, "opensm.qos_policy is a file of opensm's, and UFM reads none");
}

static void more_sls_than_lanes_or_entries_are_refused(void **state)
{
    (void)state;
    struct oneib_config config;
    load_good(CLASSES("\"a: weight 1, SL 1-7\""), &config);
    oneib_config_clear(&config);
    assert_refused(CLASSES("\"a: weight 1, SL 1-8\""), 2,
                   "have 9 SLs, with SL 0, and each needs a lane of its own: there are 8");
    assert_refused("qos = {\nvls = 2; classes = [\"a: weight 1, SL 1-2\"]; };", 2, "there are 2");
    assert_refused("qos = {\nclasses = [\"a: weight 1, SL 1-4\"];\nentries = 4; };", 3,
                   "qos.entries must be at least 5");
    assert_refused("qos = { vls = 5; };", 1, "qos.vls must be one of 2, 4, 8, 15");
    assert_refused("qos = { vls = 0; };", 1, "qos.vls must be one of 2, 4, 8, 15");
    assert_refused("qos = { entries = 65; };", 1, "qos.entries");
    assert_refused("qos = { others = 0; };", 1, "qos.others");
    assert_refused("qos = { others = 256; };", 1, "qos.others");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_defaults_are_the_documented_ones),
        cmocka_unit_test(an_empty_file_gives_the_defaults),
        cmocka_unit_test(the_example_file_says_the_defaults),
        cmocka_unit_test(the_default_file_may_be_absent),
        cmocka_unit_test(a_named_file_must_exist),
        cmocka_unit_test(every_key_is_read),
        cmocka_unit_test(classes_are_read_and_render_to_themselves),
        cmocka_unit_test(a_class_that_is_none_is_refused),
        cmocka_unit_test(classes_that_do_not_go_together_are_refused),
        cmocka_unit_test(a_file_of_links_that_nobody_could_use_is_refused),
        cmocka_unit_test(a_qos_policy_that_nobody_would_read_is_refused),
        cmocka_unit_test(more_sls_than_lanes_or_entries_are_refused),
        cmocka_unit_test(ufm_is_asked_over_https_alone_and_has_all_that_it_takes),
        cmocka_unit_test(the_state_is_beside_what_the_kind_of_subnet_manager_writes),
        cmocka_unit_test(clearing_twice_is_harmless),
        cmocka_unit_test(unknown_keys_are_named_with_file_and_line),
        cmocka_unit_test(a_group_and_a_value_are_not_confused),
        cmocka_unit_test(wrong_types_are_refused),
        cmocka_unit_test(numbers_have_their_documented_ranges),
        cmocka_unit_test(the_last_pkey_is_not_below_the_first),
        cmocka_unit_test(numbers_that_libconfig_would_cut_are_refused),
        cmocka_unit_test(digits_in_strings_comments_and_names_are_no_numbers),
        cmocka_unit_test(mtu_and_rate_are_those_of_infiniband),
        cmocka_unit_test(a_share_is_from_0_to_1),
        cmocka_unit_test(choices_are_exact_words),
        cmocka_unit_test(paths_are_absolute),
        cmocka_unit_test(names_and_endpoints_are_checked),
        cmocka_unit_test(the_event_stream_has_an_address_or_is_none),
        cmocka_unit_test(metrics_have_an_address_with_a_port_or_are_none),
        cmocka_unit_test(the_control_socket_has_an_absolute_path_or_is_none),
        cmocka_unit_test(the_readers_of_the_control_socket_are_a_group),
        cmocka_unit_test(nodes_connect_to_an_address_with_a_port),
        cmocka_unit_test(nodes_are_told_one_address),
        cmocka_unit_test(the_reload_command_is_a_program_with_arguments),
        cmocka_unit_test(full_members_are_guids),
        cmocka_unit_test(a_syntax_error_names_file_and_line),
        cmocka_unit_test(what_would_hide_the_rest_of_the_file_is_refused),
        cmocka_unit_test(include_is_refused),
        cmocka_unit_test(deep_nesting_is_an_error_like_others),
        cmocka_unit_test(a_file_that_is_too_large_or_none_is_refused),
        cmocka_unit_test(damaged_files_are_loaded_or_refused),
        cmocka_unit_test(the_rendered_defaults_load_back),
        cmocka_unit_test(the_rendering_names_every_key),
        cmocka_unit_test(a_full_configuration_loads_back),
        cmocka_unit_test(any_configuration_loads_back),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
