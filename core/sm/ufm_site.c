// SPDX-License-Identifier: Apache-2.0
#include "sm/ufm_site.h"
#include <inttypes.h>
#include <string.h>

/* ---- asking ---------------------------------------------------------------------------------- */

static int get(const struct oneib_ufm_link *link, const char *path, struct oneib_ufm_reply *reply,
               struct oneib_error *err)
{
    const struct oneib_ufm_call call = {"GET", path, NULL};
    *reply = (struct oneib_ufm_reply){0};
    if (link->ask(link->context, &call, reply, err) < 0)
        return -1;
    if (reply->status == 200)
        return 0;
    const long status = reply->status;
    oneib_ufm_reply_clear(reply);
    return oneib_fail(
        err, status == 401 || status == 403 ? ONEIB_ERROR_AUTH : ONEIB_ERROR_UNREACHABLE,
        "UFM answers %ld when it is asked for %s%s", status, path,
        status == 401 || status == 403 ? ": name in ufm.secret a user who may read and write P_Keys"
                                       : "");
}

static int read_release(const struct oneib_ufm_link *link, const struct oneib_config *config,
                        struct oneib_ufm_release *release, struct oneib_error *err)
{
    oneib_autoreply struct oneib_ufm_reply reply = {0};
    if (config->ufm.release)
        return oneib_ufm_release_parse(config->ufm.release, release)
                   ? 0
                   : oneib_fail(err, ONEIB_ERROR_CONFIG, "ufm.release: \"%s\" is no release",
                                config->ufm.release);
    if (get(link, "/app/ufm_version", &reply, err) < 0)
        return -1;
    return oneib_ufm_read_release(reply.data, reply.length, release, err);
}

/* The answer has UFM's keys in it. */
static int read_keys(const struct oneib_ufm_link *link, struct oneib_ufm_sm_keys *keys,
                     struct oneib_error *err)
{
    oneib_autoreply struct oneib_ufm_reply reply;
    if (get(link, "/app/smconf", &reply, err) < 0)
        return -1;
    const int status = oneib_ufm_read_sm_keys(reply.data, reply.length, keys, err);
    explicit_bzero(reply.data, reply.length);
    return status;
}

int oneib_ufm_site_read(const struct oneib_ufm_link *link, const struct oneib_config *config,
                        struct oneib_ufm_site *site, struct oneib_error *err)
{
    struct oneib_ufm_release release;
    struct oneib_ufm_sm_keys keys;
    if (read_release(link, config, &release, err) < 0 || read_keys(link, &keys, err) < 0)
        return -1;
    site->release = release;
    site->abilities = oneib_ufm_abilities_of(&release);
    site->keys = keys;
    return 0;
}

void oneib_ufm_site_clear(struct oneib_ufm_site *site)
{
    oneib_ufm_default_clear(&site->management);
    *site = (struct oneib_ufm_site){0};
}

/* ---- judging --------------------------------------------------------------------------------- */

static bool is_meant(const struct oneib_partition *own, oneib_guid guid)
{
    for (size_t i = 0; own && i < own->member_count; i++)
        if (own->members[i].kind == ONEIB_MEMBER_GUID && own->members[i].guid == guid)
            return own->members[i].membership == ONEIB_FULL;
    return false;
}

/* Full members that nobody means; *first: the first one's GUID. */
static size_t count_full(const struct oneib_ufm_site *site, const struct oneib_partition *own,
                         oneib_guid *first)
{
    size_t count = 0;
    for (size_t i = site->management.full; i-- > 0;) {
        if (is_meant(own, site->management.guids[i]))
            continue;
        *first = site->management.guids[i];
        count++;
    }
    return count;
}

/* What a release that has no memberships there says of them counts only when it is bad. */
static bool is_vouched(const struct oneib_ufm_site *site, const struct oneib_config *config)
{
    return site->abilities.default_membership ? site->management.is_known
                                              : config->ufm.default_limited;
}

static void say_default(const struct oneib_ufm_site *site, const struct oneib_config *config,
                        const struct oneib_partition *own, struct oneib_findings *findings,
                        struct oneib_error *closed)
{
    oneib_guid first = 0;
    const size_t full = count_full(site, own, &first);
    if (full > 0) {
        oneib_fail(closed, ONEIB_ERROR_REFUSED,
                   "%zu ports are full members of the default partition (0x7fff) in UFM, port "
                   "0x%016" PRIx64 " for one: each of them reaches every port",
                   full, first);
        oneib_findings_note(findings, ONEIB_FINDING_UFM_DEFAULT_FULL,
                            "%s; no member is added to any partition", closed->text);
        return;
    }
    if (is_vouched(site, config))
        return;
    oneib_fail(closed, ONEIB_ERROR_REFUSED,
               "UFM does not say who is a full member of the default partition (0x7fff)");
    oneib_findings_note(findings, ONEIB_FINDING_UFM_DEFAULT_UNKNOWN,
                        "%s; no member is added to any partition", closed->text);
}

static void say_sa_key(const struct oneib_ufm_site *site, struct oneib_findings *findings,
                       struct oneib_error *closed)
{
    if (!site->keys.sa_key_is_known_to_all)
        return;
    oneib_fail(closed, ONEIB_ERROR_REFUSED,
               "UFM's sa_key is the default one, which every guest knows");
    oneib_findings_note(
        findings, ONEIB_FINDING_UFM_SA_KEY,
        "%s: with it every guest can read all partitions; no member is added to any", closed->text);
}

static void say_m_key(const struct oneib_ufm_site *site, struct oneib_findings *findings)
{
    if (site->keys.m_key_per_port)
        return;
    oneib_findings_note(
        findings, ONEIB_FINDING_UFM_M_KEY,
        "UFM gives all ports one M_Key: root on one host can learn it, and set the P_Keys of all");
}

void oneib_ufm_site_judge(const struct oneib_ufm_site *site, const struct oneib_config *config,
                          const struct oneib_partition *own, struct oneib_findings *findings,
                          struct oneib_error *closed)
{
    *closed = (struct oneib_error){0};
    say_default(site, config, own, findings, closed);
    say_sa_key(site, findings, closed);
    say_m_key(site, findings);
}
