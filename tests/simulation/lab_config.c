// SPDX-License-Identifier: Apache-2.0
#include "base/text.h"
#include "lab_internal.h"

const char *lab_config_path(struct lab *lab, struct oneib_error *err)
{
    return lab_path(lab, "oneib.conf", err);
}

static const char *or_nothing(const char *text)
{
    return text ? text : "";
}

int lab_config_write(struct lab *lab, const struct lab_config *more, struct oneib_error *err)
{
    static const struct lab_config nothing;
    more = more ? more : &nothing;
    oneib_autotext struct oneib_text session = {0}, config = {0};
    oneib_text_printf(&session, "%s\n", lab->session);
    oneib_text_printf(&config,
                      "one: {\n  endpoint = \"%s\";\n  auth_file = \"%s/one_auth\";\n"
                      "  timeout = 10000;\n  %s\n};\n",
                      lab->endpoint, lab->folder, or_nothing(more->one));
    oneib_text_printf(&config,
                      "opensm: {\n  partitions = \"%s/partitions.conf\";\n"
                      "  fragment = \"%s/partitions.fragment\";\n  reload = \"pid_file\";\n"
                      "  pid_file = \"%s/opensm.pid\";\n  %s\n};\n%s\n",
                      lab->folder, lab->folder, lab->folder, or_nothing(more->opensm),
                      or_nothing(more->other));
    if (oneib_text_failed(&session) || oneib_text_failed(&config))
        return oneib_fail_memory(err);
    return lab_write(lab, "one_auth", 0600, session.data, err) < 0 ||
                   lab_write(lab, "oneib.conf", 0600, config.data, err) < 0
               ? -1
               : 0;
}
