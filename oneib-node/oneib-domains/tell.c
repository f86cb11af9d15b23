// SPDX-License-Identifier: Apache-2.0
#include "oneib-node/oneib-domains/tell.h"
#include <errno.h>
#include <sys/socket.h>

int oneib_tell(int socket, const struct oneib_domain_news *news, struct oneib_error *err)
{
    ssize_t sent;
    do
        sent = send(socket, news, sizeof *news, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 ? oneib_fail_errno(err, errno, "telling oneib-node") : 0;
}

int oneib_tell_kind(int socket, enum oneib_domain_news_kind kind, struct oneib_error *err)
{
    const struct oneib_domain_news news = oneib_domain_news_new(kind);
    return oneib_tell(socket, &news, err);
}

int oneib_tell_unknown(int socket, const char *why, struct oneib_error *err)
{
    const struct oneib_domain_news news = oneib_domain_news_unknown(why);
    return oneib_tell(socket, &news, err);
}
