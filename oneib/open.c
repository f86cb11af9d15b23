// SPDX-License-Identifier: Apache-2.0
#include "oneib/open.h"
#include "base/log.h"
#include "sync/lock.h"

int oneib_session_configure(const struct oneib_run *run, struct oneib_session *session,
                            struct oneib_error *err)
{
    *session = (struct oneib_session){.lock = -1};
    if (oneib_config_load(run->values[ONEIB_OPTION_CONFIG], &session->config, err) < 0)
        return -1;
    oneib_log_setup(session->config.log.level, session->config.log.format);
    return 0;
}

int oneib_session_open_sm(struct oneib_session *session, struct oneib_error *err)
{
    session->sm = oneib_sm_open(&session->config, err);
    return session->sm ? 0 : -1;
}

int oneib_session_begin(const struct oneib_run *run, struct oneib_session *session,
                        struct oneib_error *err)
{
    if (oneib_session_configure(run, session, err) < 0)
        return -1;
    if (oneib_session_open_sm(session, err) == 0)
        return 0;
    oneib_config_clear(&session->config);
    return -1;
}

int oneib_session_open_one(struct oneib_session *session, struct oneib_error *err)
{
    oneib_credentials_use_own(&session->config);
    if (oneib_credentials_find(&session->config, &session->credentials, err) < 0)
        return -1;
    session->one = oneib_one_open(&session->credentials, session->config.one.timeout_ms, err);
    return session->one ? 0 : -1;
}

int oneib_session_open_fabric(struct oneib_session *session, struct oneib_error *err)
{
    const struct oneib_fabric_options options = oneib_fabric_options_of(&session->config);
    session->fabric = oneib_fabric_open(&options, err);
    return session->fabric ? 0 : -1;
}

int oneib_session_lock(struct oneib_session *session, struct oneib_error *err)
{
    return oneib_sync_lock(oneib_config_state(&session->config),
                           session->config.opensm.apply_timeout_ms, &session->lock, err);
}

void oneib_session_unlock(struct oneib_session *session)
{
    if (session->lock >= 0)
        oneib_sync_unlock(session->lock);
    session->lock = -1;
}

void oneib_session_end(struct oneib_session *session)
{
    oneib_session_unlock(session);
    oneib_fabric_close(session->fabric);
    oneib_sm_close(session->sm);
    oneib_one_close(session->one);
    oneib_credentials_clear(&session->credentials);
    oneib_config_clear(&session->config);
    *session = (struct oneib_session){.lock = -1};
}
