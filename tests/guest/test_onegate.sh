# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Talking to OneGate: lib/onegate.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/cluster_machine.sh
. "$GUEST_TESTS/cluster_machine.sh"

test_it_is_asked_as_onegate_wants_to_be_asked() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3'
    succeeds onegate_service "$work"
    equal 'the request' "$(cat "$work/onegate/requests")" 'GET /service?extended=true HTTP/1.1 token=U2VjcmV0VG9rZW4= vmid=5'
    has "$work/service" "^/SERVICE/roles/\[0\]/nodes/\[0\]/vm_info/VM/NAME${tab}a$"
}

test_attributes_are_put_as_they_are() {
    make_machine
    start_onegate
    publish() {
        printf 'ONEIB_SSH_KEY="%s"\n' "$(a_key 1)" | onegate_publish "$work"
    }
    succeeds publish
    equal 'the body' "$(cat "$work/onegate/put")" "ONEIB_SSH_KEY=\"$(a_key 1)\""
    equal 'the request' "$(cat "$work/onegate/requests")" 'PUT /vm HTTP/1.1 token=U2VjcmV0VG9rZW4= vmid=5'
    echo 403 >"$work/onegate/code"
    fails publish
    says 'does not allow this' publish
}

# A stand-in for curl notes its arguments and its environment, and is curl.
test_the_token_is_in_no_argument_and_no_message() {
    make_machine
    start_onegate
    service '5 a 10.20.0.10 3 3'
    mkdir "$work/bin"
    printf '#!/bin/sh\ntr "\\0" "\\n" </proc/$$/cmdline >>%s/seen\ntr "\\0" "\\n" </proc/$PPID/cmdline >>%s/seen\nenv >>%s/seen\nexec %s "$@"\n' \
        "$work" "$work" "$work" "$(command -v curl)" >"$work/bin/curl"
    chmod +x "$work/bin/curl"
    PATH=$work/bin:$PATH
    for code in 200 401 500; do
        echo "$code" >"$work/onegate/code"
        onegate_service "$work" >>"$work/said" 2>&1 || true
    done
    has "$work/onegate/requests" 'token=U2VjcmV0VG9rZW4='
    has "$work/seen" curl
    has_not "$work/seen" U2VjcmV0
    has_not "$work/said" U2VjcmV0
}

test_a_redirection_is_not_followed() {
    make_machine
    start_onegate
    printf 'HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:%s/elsewhere\r\nContent-Length: 0\r\nConnection: close\r\n\r\n' \
        "$(cat "$work/onegate/port")" >"$work/onegate/raw"
    fails onegate_service "$work"
    equal 'how often it was asked' "$(grep -c . "$work/onegate/requests")" 1
}

test_an_answer_without_an_end_is_cut_off() {
    make_machine
    start_onegate
    # The same with 8 MiB takes its time.
    onegate_longest=200000
    : >"$work/onegate/flood"
    fails onegate_service "$work"
    says 'is longer than 200000 bytes' onegate_service "$work"
    [ "$(wc -c <"$work/reply")" -le 200000 ] || fail "more was kept"
}

test_half_an_answer_is_none() {
    make_machine
    start_onegate
    printf 'HTTP/1.1 200 x\r\nContent-Length: 1000\r\n\r\n{"SERVICE":{}}' >"$work/onegate/raw"
    fails onegate_service "$work"
    says 'OneGate: no answer' onegate_service "$work"
    printf 'SSH-2.0-OpenSSH_9.2\r\n' >"$work/onegate/raw"
    fails onegate_service "$work"
    : >"$work/onegate/raw"
    fails onegate_service "$work"
}

test_a_body_that_ends_like_a_code_is_no_code() {
    make_machine
    start_onegate
    echo 500 >"$work/onegate/code"
    printf '{"SERVICE":{"id":"4"}}\n200 0\n' >"$work/onegate/service"
    fails onegate_service "$work"
    echo 200 >"$work/onegate/code"
    fails onegate_service "$work"
}

test_a_nul_in_an_answer_is_refused() {
    make_machine
    start_onegate
    printf '{"SERVICE":{"id":"4\0"}}' >"$work/onegate/service"
    fails onegate_service "$work"
    says 'is no JSON document' onegate_service "$work"
}

test_only_http_and_https_are_spoken() {
    for endpoint in 'file:///etc/passwd' 'ftp://127.0.0.1/' 'http://' 'http://user:secret@127.0.0.1/' '-o/tmp/x' 'http://127.0.0.1/"x' \
        'http://127.0.0.1/ --proxy' 'http://127.0.0.1/\n' 'http://127.0.0.1/#' 'gopher://x' ''; do
        make_machine "ONEGATE_ENDPOINT='$endpoint'" "VMID='5'"
        echo U2VjcmV0 >"$root/run/oneib/token"
        fails onegate_service "$work"
        says 'ONEGATE_ENDPOINT: .* is no http or https address' onegate_service "$work"
    done
}

test_a_token_with_other_characters_is_not_sent() {
    make_machine
    start_onegate
    printf 'abc"\nurl = "file:///etc/passwd"\n' >"$root/run/oneib/token"
    fails onegate_service "$work"
    printf 'abc\\' >"$root/run/oneib/token"
    fails onegate_service "$work"
    : >"$root/run/oneib/token"
    fails onegate_service "$work"
    [ ! -f "$work/onegate/requests" ] || fail "OneGate was asked"
}

test_https_is_verified() {
    make_machine
    mkdir -p "$root/etc/oneib"
    openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
        -keyout "$work/key" -out "$root/etc/oneib/ca.pem" 2>/dev/null
    start_onegate "$root/etc/oneib/ca.pem" "$work/key"
    service '5 a 10.20.0.10 3 3'
    fails onegate_service "$work"
    says 'OneGate: no answer: .*certificate' onegate_service "$work"
    [ ! -f "$work/onegate/requests" ] || fail "a stranger was told the token"
    echo ONEGATE_CA=/etc/oneib/ca.pem >"$root/etc/oneib/guest.conf"
    succeeds onegate_service "$work"
}

run_tests
