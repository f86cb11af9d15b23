// SPDX-License-Identifier: Apache-2.0
#include "command/json.h"
#include "base/cleanup.h"
#include "command/output.h"
#include "ib/dummy_mac.h"

json_t *oneib_json_text(const char *string)
{
    if (!string)
        return json_null();
    json_t *value = json_string(string);
    if (value)
        return value;

    oneib_autotext struct oneib_text escaped = {0};
    oneib_append_untrusted(&escaped, string, 0);
    return json_string(escaped.data);
}

json_t *oneib_json_guid(oneib_guid guid)
{
    char text[ONEIB_GUID_TEXT_SIZE];
    oneib_guid_format(guid, text);
    return json_string(text);
}

json_t *oneib_json_known_guid(oneib_guid guid)
{
    return guid ? oneib_json_guid(guid) : json_null();
}

json_t *oneib_json_key(oneib_pkey key)
{
    return key ? json_string(oneib_pkey_shown(key).text) : json_null();
}

json_t *oneib_json_raw_key(uint16_t raw)
{
    if (raw == 0)
        return json_null();
    return json_pack("{s:o, s:s}", "pkey", oneib_json_key(oneib_pkey_base(raw)), "membership",
                     oneib_membership_name(oneib_pkey_is_full(raw) ? ONEIB_FULL : ONEIB_LIMITED));
}

json_t *oneib_json_ipv4(uint32_t ipv4)
{
    char text[ONEIB_IPV4_TEXT_SIZE];
    oneib_ipv4_format(ipv4, text);
    return ipv4 ? json_string(text) : json_null();
}

void oneib_json_append(json_t **array, json_t *item)
{
    if (*array && item && json_array_append_new(*array, item) == 0)
        return;
    if (!*array)
        json_decref(item);
    json_decref(*array);
    *array = NULL;
}

static const char *subject_name(enum oneib_subject subject)
{
    static const char *const names[] = {
        [ONEIB_SUBJECT_VM] = "vm",
        [ONEIB_SUBJECT_NETWORK] = "network",
        [ONEIB_SUBJECT_HOST] = "host",
        [ONEIB_SUBJECT_NONE] = "none",
    };
    return names[subject];
}

static json_t *about_json(const struct oneib_finding *finding)
{
    json_t *about = json_array();
    if (finding->subject != ONEIB_SUBJECT_NONE)
        oneib_json_append(&about, json_pack("{s:I}", subject_name(finding->subject),
                                            (json_int_t)finding->subject_id));
    for (size_t i = 0; i < finding->mention_count; i++)
        oneib_json_append(&about, json_pack("{s:I}", subject_name(finding->mentions[i].subject),
                                            (json_int_t)finding->mentions[i].id));
    return about;
}

json_t *oneib_json_findings(const struct oneib_findings *findings)
{
    json_t *array = json_array();
    for (size_t i = 0; i < findings->count; i++) {
        const struct oneib_finding *finding = &findings->items[i];
        oneib_json_append(&array,
                          json_pack("{s:s, s:s, s:o, s:o, s:o}", "severity",
                                    oneib_severity_name(finding->severity), "code", finding->code,
                                    "text", oneib_json_text(finding->text), "fix",
                                    oneib_json_text(finding->fix), "about", about_json(finding)));
    }
    return array;
}

static int append_bytes(const char *bytes, size_t length, void *text)
{
    oneib_text_append_bytes(text, bytes, length);
    return 0;
}

int oneib_json_render(json_t *document, struct oneib_text *text, struct oneib_error *err)
{
    /* ASCII alone: a name that would steer a terminal cannot, even through jq. */
    const size_t style =
        JSON_INDENT(2) | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12);
    const int status = document ? json_dump_callback(document, append_bytes, text, style) : -1;
    json_decref(document);
    if (status < 0)
        return oneib_fail(err, ONEIB_ERROR_INPUT, "cannot encode the output as JSON");
    oneib_text_append(text, "\n");
    return 0;
}
