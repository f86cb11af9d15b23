// SPDX-License-Identifier: Apache-2.0
#include "oned_stand_in.h"
#include "opennebula/one_client.h"
#include "recorded.h"
#include <time.h>

#define PASSWORD "open-sesame-17"
#define TIMEOUT_MS 5000

/* A client of a stand-in that answers with `answer`. */
struct fixture {
    struct stand_in server;
    struct oneib_one *one;
};

static struct oneib_one *open_client(char *endpoint, uint32_t timeout_ms)
{
    char session[] = "oneadmin:" PASSWORD;
    struct oneib_credentials credentials = {.endpoint = endpoint, .session = session};
    struct oneib_error err = {0};
    struct oneib_one *one = oneib_one_open(&credentials, timeout_ms, &err);
    assert_non_null(one);
    return one;
}

static struct fixture begin(stand_in_answer answer)
{
    struct fixture fixture;
    assert_int_equal(stand_in_start(&fixture.server, answer), 0);
    fixture.one = open_client(fixture.server.endpoint, TIMEOUT_MS);
    return fixture;
}

static void end(struct fixture *fixture)
{
    oneib_one_close(fixture->one);
    stand_in_stop(&fixture->server);
}

static void assert_error(const struct fixture *fixture, const struct oneib_error *err,
                         enum oneib_error_code code, const char *method, const char *words)
{
    assert_string_equal(oneib_error_code_name(err->code), oneib_error_code_name(code));
    assert_non_null(strstr(err->text, method));
    assert_non_null(strstr(err->text, fixture->server.endpoint));
    if (!strstr(err->text, words))
        fail_msg("\"%s\" is not in: %s", words, err->text);
    assert_null(strstr(err->text, PASSWORD));
}

/* one.vm.info of VM 9999 fails with this code and these words. */
static void vm_fails(stand_in_answer answer, enum oneib_error_code code, const char *words)
{
    struct fixture fixture = begin(answer);
    struct oneib_error err = {0};
    char *xml = NULL;
    size_t length;
    assert_int_equal(oneib_one_vm(fixture.one, 9999, &xml, &length, &err), -1);
    assert_null(xml);
    assert_error(&fixture, &err, code, "one.vm.info", words);
    assert_non_null(strstr(err.text, "VM 9999"));
    end(&fixture);
}

static void send_recorded(int connection, const char *name)
{
    char *body = recorded(name);
    stand_in_http(connection, "200 OK", body);
    free(body);
}

static void answer_bad_session(int connection, const char *request)
{
    (void)request;
    send_recorded(connection, "err-badsession-vn.update.response");
}

static void a_refused_session_is_an_auth_error(void **state)
{
    (void)state;
    vm_fails(answer_bad_session, ONEIB_ERROR_AUTH, "couldn't be authenticated");
}

static void answer_no_permission(int connection, const char *request)
{
    (void)request;
    send_recorded(connection, "err-noperm-vm.info.response");
}

static void a_missing_permission_is_told_with_its_fix(void **state)
{
    (void)state;
    vm_fails(answer_no_permission, ONEIB_ERROR_PERMISSION, "oneadmin");
}

static void answer_no_object(int connection, const char *request)
{
    (void)request;
    send_recorded(connection, "err-noobj-vm.info.response");
}

static void a_vm_that_is_not_there_is_not_found(void **state)
{
    (void)state;
    vm_fails(answer_no_object, ONEIB_ERROR_NOT_FOUND, "Error getting virtual machine [9999]");
}

static void answer_action_error(int connection, const char *request)
{
    (void)request;
    send_recorded(connection, "err-action-vm.action.response");
}

static void any_other_refusal_is_a_protocol_error(void **state)
{
    (void)state;
    vm_fails(answer_action_error, ONEIB_ERROR_PROTOCOL, "code 2048");
}

static void answer_no_method(int connection, const char *request)
{
    (void)request;
    send_recorded(connection, "err-nomethod.response");
}

static void a_fault_is_told_with_its_code(void **state)
{
    (void)state;
    vm_fails(answer_no_method, ONEIB_ERROR_PROTOCOL, "fault -506: Method 'one.vm.nosuch'");
}

static void answer_html(int connection, const char *request)
{
    (void)request;
    stand_in_http(connection, "200 OK", "<!DOCTYPE html><html><body><p>Welcome<br></body></html>");
}

static void a_web_page_is_not_xml_rpc(void **state)
{
    (void)state;
    vm_fails(answer_html, ONEIB_ERROR_PROTOCOL, "is the endpoint right?");
}

static void answer_xhtml(int connection, const char *request)
{
    (void)request;
    stand_in_http(connection, "200 OK", "<html><body><p>Welcome</p></body></html>");
}

static void a_well_formed_web_page_is_not_xml_rpc(void **state)
{
    (void)state;
    vm_fails(answer_xhtml, ONEIB_ERROR_PROTOCOL, "is the endpoint right?");
}

static void answer_bomb(int connection, const char *request)
{
    (void)request;
    stand_in_http(connection, "200 OK",
                  "<?xml version=\"1.0\"?><!DOCTYPE b [<!ENTITY a \"aaaaaaaaaa\">"
                  "<!ENTITY c \"&a;&a;&a;&a;&a;&a;&a;&a;&a;\">]><methodResponse>&c;"
                  "</methodResponse>");
}

static void an_answer_that_declares_entities_is_refused(void **state)
{
    (void)state;
    vm_fails(answer_bomb, ONEIB_ERROR_PROTOCOL, "document type");
}

static void answer_truncated_xml(int connection, const char *request)
{
    (void)request;
    char *body = recorded("vmpool.infoextended.response");
    body[strlen(body) / 2] = '\0';
    stand_in_http(connection, "200 OK", body);
    free(body);
}

static void truncated_xml_is_a_protocol_error(void **state)
{
    (void)state;
    vm_fails(answer_truncated_xml, ONEIB_ERROR_PROTOCOL, "cut off");
}

static void answer_half_a_body(int connection, const char *request)
{
    (void)request;
    static const char half[] = "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n<?xml";
    stand_in_write(connection, half, strlen(half));
}

static void a_body_that_ends_too_early_is_a_protocol_error(void **state)
{
    (void)state;
    vm_fails(answer_half_a_body, ONEIB_ERROR_PROTOCOL, "cut off");
}

static void answer_other_xml_rpc(int connection, const char *request)
{
    (void)request;
    stand_in_http(connection, "200 OK",
                  "<?xml version=\"1.0\"?><methodResponse><params><param><value><string>hello"
                  "</string></value></param></params></methodResponse>");
}

static void another_xml_rpc_service_is_not_oned(void **state)
{
    (void)state;
    vm_fails(answer_other_xml_rpc, ONEIB_ERROR_PROTOCOL, "not oned's");
}

static void answer_number_for_document(int connection, const char *request)
{
    (void)request;
    send_recorded(connection, "ok-vn.update.response");
}

static void a_number_in_place_of_a_document_is_not_oneds(void **state)
{
    (void)state;
    vm_fails(answer_number_for_document, ONEIB_ERROR_PROTOCOL, "not oned's");
}

static void answer_500(int connection, const char *request)
{
    (void)request;
    stand_in_http(connection, "500 Internal Server Error", "oops");
}

static void http_500_is_a_protocol_error(void **state)
{
    (void)state;
    vm_fails(answer_500, ONEIB_ERROR_PROTOCOL, "HTTP code 500");
}

static void answer_503(int connection, const char *request)
{
    (void)request;
    stand_in_http(connection, "503 Service Unavailable", "later");
}

static void a_proxy_without_oned_behind_it_is_unreachable(void **state)
{
    (void)state;
    vm_fails(answer_503, ONEIB_ERROR_UNREACHABLE, "HTTP code 503; is oned running there");
}

static void answer_nothing(int connection, const char *request)
{
    (void)connection;
    (void)request;
}

static void a_closed_connection_is_unreachable(void **state)
{
    (void)state;
    vm_fails(answer_nothing, ONEIB_ERROR_UNREACHABLE, "is one.endpoint right?");
}

static void answer_no_http(int connection, const char *request)
{
    (void)request;
    static const char ssh[] = "SSH-2.0-OpenSSH_9.2\r\n";
    stand_in_write(connection, ssh, strlen(ssh));
}

static void another_protocol_is_an_error(void **state)
{
    struct fixture fixture = begin(answer_no_http);
    struct oneib_error err = {0};
    char *version = NULL;
    (void)state;
    assert_int_equal(oneib_one_system_version(fixture.one, &version, &err), -1);
    assert_true(err.code == ONEIB_ERROR_PROTOCOL || err.code == ONEIB_ERROR_UNREACHABLE);
    end(&fixture);
}

static void nobody_listening_is_unreachable(void **state)
{
    struct fixture fixture;
    struct oneib_error err = {0};
    char *xml = NULL;
    size_t length;
    (void)state;
    int listener = stand_in_listen(&fixture.server);
    assert_true(listener >= 0);
    close(listener);
    fixture.one = open_client(fixture.server.endpoint, TIMEOUT_MS);
    assert_int_equal(oneib_one_host_pool(fixture.one, &xml, &length, &err), -1);
    assert_error(&fixture, &err, ONEIB_ERROR_UNREACHABLE, "one.hostpool.info", "cannot reach oned");
    oneib_one_close(fixture.one);
}

static void answer_never(int connection, const char *request)
{
    (void)connection;
    (void)request;
    sleep(60);
}

static void silence_is_a_timeout(void **state)
{
    struct fixture fixture;
    struct oneib_error err = {0};
    char *xml = NULL;
    size_t length;
    (void)state;
    assert_int_equal(stand_in_start(&fixture.server, answer_never), 0);
    fixture.one = open_client(fixture.server.endpoint, 300);
    time_t before = time(NULL);
    assert_int_equal(oneib_one_network_window(fixture.one, 0, -1, &xml, &length, &err), -1);
    assert_true(time(NULL) - before < 30);
    assert_error(&fixture, &err, ONEIB_ERROR_TIMEOUT, "one.vnpool.info", "300 ms");
    end(&fixture);
}

static void answer_with_the_password(int connection, const char *request)
{
    (void)request;
    stand_in_refuse(connection, 2048, "you sent oneadmin:" PASSWORD);
}

static void a_text_that_repeats_the_password_is_withheld(void **state)
{
    (void)state;
    vm_fails(answer_with_the_password, ONEIB_ERROR_PROTOCOL, "withheld");
}

static void answer_with_a_forged_line(int connection, const char *request)
{
    (void)request;
    stand_in_refuse(connection, 2048, "no\nERROR all is lost");
}

static void a_line_end_in_oneds_text_is_escaped(void **state)
{
    (void)state;
    vm_fails(answer_with_a_forged_line, ONEIB_ERROR_PROTOCOL, "no\\x0aERROR");
}

static void answer_pool(int connection, const char *request)
{
    if (strstr(request, "<methodName>one.vmpool.infoextended</methodName>"))
        send_recorded(connection, "vmpool.infoextended.response");
    else
        stand_in_http(connection, "404 Not Found", "");
}

static void a_window_returns_the_document_that_oned_sent(void **state)
{
    struct fixture fixture = begin(answer_pool);
    struct oneib_error err = {0};
    char *xml = NULL, *expected = recorded("vmpool.infoextended.doc");
    size_t length = 0;
    (void)state;
    assert_int_equal(oneib_one_vm_window(fixture.one, 0, -1, &xml, &length, &err), 0);
    assert_int_equal(length, strlen(xml));
    assert_string_equal(xml, expected);
    free(xml);
    free(expected);
    end(&fixture);
}

static void answer_with_request(int connection, const char *request)
{
    stand_in_document(connection, request);
}

/* What was sent, with its line ends taken out. */
static char *sent(struct fixture *fixture, int outcome, char *xml)
{
    assert_int_equal(outcome, 0);
    char *to = xml;
    for (const char *from = xml; *from; from++)
        if (*from != '\r' && *from != '\n')
            *to++ = *from;
    *to = '\0';
    (void)fixture;
    return xml;
}

static void a_window_asks_for_all_users_and_all_states_but_done(void **state)
{
    struct fixture fixture = begin(answer_with_request);
    struct oneib_error err = {0};
    char *xml = NULL;
    size_t length;
    (void)state;
    int outcome = oneib_one_vm_window(fixture.one, 1000, 1999, &xml, &length, &err);
    sent(&fixture, outcome, xml);
    assert_non_null(strstr(xml, "<methodName>one.vmpool.infoextended</methodName>"));
    assert_non_null(strstr(xml,
                           "<param><value><string>oneadmin:" PASSWORD "</string></value></param>"
                           "<param><value><i4>-2</i4></value></param>"
                           "<param><value><i4>1000</i4></value></param>"
                           "<param><value><i4>1999</i4></value></param>"
                           "<param><value><i4>-1</i4></value></param></params>"));
    free(xml);
    end(&fixture);
}

static void all_networks_are_asked_for_without_pages(void **state)
{
    struct fixture fixture = begin(answer_with_request);
    struct oneib_error err = {0};
    char *xml = NULL;
    size_t length;
    (void)state;
    int outcome = oneib_one_network_window(fixture.one, 0, -1, &xml, &length, &err);
    sent(&fixture, outcome, xml);
    assert_non_null(strstr(xml, "<methodName>one.vnpool.info</methodName>"));
    assert_non_null(strstr(xml, "<param><value><i4>-2</i4></value></param>"
                                "<param><value><i4>0</i4></value></param>"
                                "<param><value><i4>-1</i4></value></param></params>"));
    free(xml);
    end(&fixture);
}

static void a_window_beyond_oneds_ids_is_refused(void **state)
{
    struct fixture fixture = begin(answer_with_request);
    struct oneib_error err = {0};
    char *xml = NULL;
    size_t length;
    (void)state;
    assert_int_equal(oneib_one_vm_window(fixture.one, 0, INT64_C(1) << 32, &xml, &length, &err),
                     -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    end(&fixture);
}

/* 3,000 copies of a recorded VM: about 36 MB on the wire. */
static void answer_large(int connection, const char *request)
{
    struct oneib_text pool = {0};
    char *vm = recorded("vm.info-1-running.doc");
    (void)request;
    oneib_text_append(&pool, "<VM_POOL>");
    for (int i = 0; i < 3000; i++)
        oneib_text_append(&pool, vm);
    oneib_text_append(&pool, "</VM_POOL>");
    stand_in_document(connection, pool.data);
    oneib_text_clear(&pool);
    free(vm);
}

static void an_answer_of_25_megabytes_arrives_whole(void **state)
{
    struct fixture fixture;
    struct oneib_error err = {0};
    char *xml = NULL, *vm = recorded("vm.info-1-running.doc");
    size_t length = 0;
    (void)state;
    assert_int_equal(stand_in_start(&fixture.server, answer_large), 0);
    fixture.one = open_client(fixture.server.endpoint, 100000);
    assert_int_equal(oneib_one_vm_window(fixture.one, 0, 2999, &xml, &length, &err), 0);
    assert_int_equal(length, strlen(vm) * 3000 + strlen("<VM_POOL></VM_POOL>"));
    free(xml);
    free(vm);
    end(&fixture);
}

/* A network that keeps what it is given, as oned does. */
static void answer_update_kept(int connection, const char *request)
{
    if (strstr(request, "one.vn.update"))
        send_recorded(connection,
                      strstr(request, "VLAN_ID=&quot;5&quot;") || strstr(request, "VLAN_ID=\"5\"")
                          ? "ok-vn.update.response"
                          : "err-action-vm.action.response");
    else {
        char *network = recorded("vn.info-2.doc");
        stand_in_document(connection, network);
        free(network);
    }
}

static void a_key_that_was_kept_is_set(void **state)
{
    struct fixture fixture = begin(answer_update_kept);
    struct oneib_error err = {0};
    (void)state;
    assert_int_equal(oneib_one_set_pkey(fixture.one, 2, 5, &err), 0);
    end(&fixture);
}

static void a_key_that_oned_refuses_is_an_error(void **state)
{
    struct fixture fixture = begin(answer_update_kept);
    struct oneib_error err = {0};
    (void)state;
    assert_int_equal(oneib_one_set_pkey(fixture.one, 2, 6, &err), -1);
    assert_error(&fixture, &err, ONEIB_ERROR_PROTOCOL, "one.vn.update", "network 2");
    end(&fixture);
}

/* Accepts everything and changes nothing, as oned does with restricted attributes. */
static void answer_update_ignored(int connection, const char *request)
{
    if (strstr(request, "one.vn.update"))
        send_recorded(connection, "ok-vn.update.response");
    else {
        char *network = recorded("vn.info-1.doc");
        stand_in_document(connection, network);
        free(network);
    }
}

static void a_key_that_oned_put_back_is_an_error(void **state)
{
    struct fixture fixture = begin(answer_update_ignored);
    struct oneib_error err = {0};
    (void)state;
    assert_int_equal(oneib_one_set_pkey(fixture.one, 1, 256, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_PROTOCOL);
    assert_non_null(strstr(err.text, "network 1"));
    assert_non_null(strstr(err.text, "did not keep"));
    end(&fixture);
}

static void the_default_partitions_key_is_never_sent(void **state)
{
    struct fixture fixture = begin(answer_update_kept);
    struct oneib_error err = {0};
    (void)state;
    assert_int_equal(oneib_one_set_pkey(fixture.one, 2, 0x7fff, &err), -1);
    assert_int_equal(err.code, ONEIB_ERROR_INPUT);
    assert_int_equal(oneib_one_set_pkey(fixture.one, 2, 0, &err), -1);
    end(&fixture);
}

static void two_clients_live_side_by_side(void **state)
{
    struct fixture fixture = begin(answer_pool);
    struct oneib_one *other = open_client(fixture.server.endpoint, TIMEOUT_MS);
    struct oneib_error err = {0};
    char *xml = NULL;
    size_t length;
    (void)state;
    oneib_one_close(other);
    assert_int_equal(oneib_one_vm_window(fixture.one, 0, -1, &xml, &length, &err), 0);
    free(xml);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_refused_session_is_an_auth_error),
        cmocka_unit_test(a_missing_permission_is_told_with_its_fix),
        cmocka_unit_test(a_vm_that_is_not_there_is_not_found),
        cmocka_unit_test(any_other_refusal_is_a_protocol_error),
        cmocka_unit_test(a_fault_is_told_with_its_code),
        cmocka_unit_test(a_web_page_is_not_xml_rpc),
        cmocka_unit_test(a_well_formed_web_page_is_not_xml_rpc),
        cmocka_unit_test(an_answer_that_declares_entities_is_refused),
        cmocka_unit_test(truncated_xml_is_a_protocol_error),
        cmocka_unit_test(a_body_that_ends_too_early_is_a_protocol_error),
        cmocka_unit_test(another_xml_rpc_service_is_not_oned),
        cmocka_unit_test(a_number_in_place_of_a_document_is_not_oneds),
        cmocka_unit_test(http_500_is_a_protocol_error),
        cmocka_unit_test(a_proxy_without_oned_behind_it_is_unreachable),
        cmocka_unit_test(a_closed_connection_is_unreachable),
        cmocka_unit_test(another_protocol_is_an_error),
        cmocka_unit_test(nobody_listening_is_unreachable),
        cmocka_unit_test(silence_is_a_timeout),
        cmocka_unit_test(a_text_that_repeats_the_password_is_withheld),
        cmocka_unit_test(a_line_end_in_oneds_text_is_escaped),
        cmocka_unit_test(a_window_returns_the_document_that_oned_sent),
        cmocka_unit_test(a_window_asks_for_all_users_and_all_states_but_done),
        cmocka_unit_test(all_networks_are_asked_for_without_pages),
        cmocka_unit_test(a_window_beyond_oneds_ids_is_refused),
        cmocka_unit_test(an_answer_of_25_megabytes_arrives_whole),
        cmocka_unit_test(a_key_that_was_kept_is_set),
        cmocka_unit_test(a_key_that_oned_refuses_is_an_error),
        cmocka_unit_test(a_key_that_oned_put_back_is_an_error),
        cmocka_unit_test(the_default_partitions_key_is_never_sent),
        cmocka_unit_test(two_clients_live_side_by_side),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
