# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Talking to OneGate. What it answers is untrusted: so is whoever answers in its place where the endpoint is http. An answer has
# a bounded size and time, is JSON as a whole or nothing, and redirections are not followed. The token is in no argument of a
# command, where other users could read it, and in no message.

# OpenNebula tells 3 to 8 kB of each VM, so some 1000 of them.
onegate_longest=8388608

# onegate_service DIRECTORY: writes DIRECTORY/service, OneGate's document of this VM's service in the lines of json.awk. Status 2: this
# VM is in no service; 1: there is no such document now, and that has been said.
onegate_service() {
    onegate_document "$1" '/service?extended=true' service
}

# onegate_outline DIRECTORY: the same without what oned knows of each VM, DIRECTORY/outline.
onegate_outline() {
    onegate_document "$1" /service outline
}

# onegate_document DIRECTORY PATH FILE
onegate_document() (
    code=$(onegate_call "$1" GET "$2") || exit 1
    case $code in
    200) ;;
    400)
        # OneGate says so in words alone: its other refusals have the same code.
        grep -q '^Empty or invalid SERVICE_ID' "$1/answer" && exit 2
        say "OneGate: knows of no service of this VM now: see the service in OneFlow"
        exit 1
        ;;
    *)
        onegate_has_refused "$code"
        exit 1
        ;;
    esac
    json_lines "$1/answer" >"$1/$3" || {
        rm -f "$1/$3"
        say "OneGate: its answer is no JSON document: see what answers at ONEGATE_ENDPOINT"
        exit 1
    }
)

# onegate_publish DIRECTORY: the lines NAME="value" of standard input become attributes of this VM. Status 1: not, which has been
# said.
onegate_publish() (
    cat >"$1/attributes" || exit 1
    code=$(onegate_call "$1" PUT /vm "$1/attributes") || exit 1
    [ "$code" = 200 ] && exit
    onegate_has_refused "$code"
    exit 1
)

# onegate_host: prints the host of the endpoint.
onegate_host() (
    endpoint=$(given ONEGATE_ENDPOINT) || exit 1
    host=${endpoint#*://}
    host=${host%%/*}
    printf '%s\n' "${host%:*}"
)

# json_lines FILE: prints the lines of json.awk of a document.
json_lines() {
    # A NUL would end the input of some awks; as another control character it is refused.
    tr '\000' '\001' <"$1" | LC_ALL=C awk -f "${ONEIB_LIBRARY:-/usr/lib/oneib/guest}/json.awk"
}

onegate_has_refused() {
    case $1 in
    401) say "OneGate: does not accept this VM's token (401): boot the VM again with TOKEN=YES in its context" ;;
    403) say "OneGate: does not allow this (403): see permissions and restricted_attrs in onegate-server.conf" ;;
    *) say "OneGate: has answered $1: see its log" ;;
    esac
}

# onegate_call DIRECTORY METHOD PATH [BODY]: prints the code of the answer, which is in DIRECTORY/answer. Status 1: none has come, and
# that has been said.
onegate_call() (
    request=$(onegate_request "$2" "$3" "${4-}") || exit 1
    {
        status=0
        printf '%s\n' "$request" | curl -q --config - || status=$?
        printf ' %s\n' "$status"
    } 2>"$1/complaint" | head -c "$onegate_longest" >"$1/reply"
    [ "$(wc -c <"$1/reply")" -lt "$onegate_longest" ] || {
        say "OneGate: its answer is longer than $onegate_longest bytes: see what answers at ONEGATE_ENDPOINT"
        exit 1
    }
    last=$(tail -n 1 "$1/reply" | tr -d '\000')
    case $last in
    [1-5][0-9][0-9]' 0') ;;
    *)
        say "OneGate: no answer: $(head -n 1 "$1/complaint")"
        exit 1
        ;;
    esac
    sed '$d' "$1/reply" >"$1/answer" && printf '%s\n' "${last% 0}"
)

# onegate_request METHOD PATH BODY: prints a configuration of curl.
onegate_request() (
    endpoint=$(onegate_endpoint) || exit 1
    vmid=$(this_vm)
    is_number "$vmid" 0 4294967295 || {
        say "VMID: '$vmid' of the context is no VM id"
        exit 1
    }
    token=$(onegate_token) || exit 1
    printf 'url = "%s%s"\nrequest = "%s"\n' "$endpoint" "$2" "$1"
    printf 'header = "X-ONEGATE-TOKEN: %s"\nheader = "X-ONEGATE-VMID: %s"\n' "$token" "$vmid"
    # As text: a web server would take a form apart.
    [ -z "$3" ] || printf 'header = "Content-Type: text/plain"\ndata-binary = "@%s"\n' "$3"
    printf '%s\n' 'silent' 'show-error' 'globoff' 'proto = "=http,https"' 'max-redirs = 0' 'noproxy = "*"' \
        'connect-timeout = 10' 'max-time = 30' 'write-out = "\n%{http_code}"'
    if authority=$(setting ONEGATE_CA); then
        case $authority in
        *[!./_ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-]* | [!/]* | '')
            say "ONEGATE_CA: '$authority' is no path of a file"
            exit 1
            ;;
        esac
        printf 'cacert = "%s"\n' "${ONEIB_ROOT-}$authority"
    fi
)

onegate_endpoint() (
    endpoint=$(given ONEGATE_ENDPOINT) || endpoint=''
    case $endpoint in
    *[!]._~/:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789[-]*) ;;
    http://?* | https://?*)
        printf '%s\n' "${endpoint%/}"
        exit
        ;;
    esac
    say "ONEGATE_ENDPOINT: '$endpoint' is no http or https address"
    exit 1
)

onegate_token() (
    file=${ONEIB_ROOT-}/run/oneib/token
    [ -s "$file" ] || {
        say "OneGate: the context has an endpoint and no token: set TOKEN = YES in CONTEXT of the VM's template"
        exit 1
    }
    token=$(tr -d ' \t\r\n' <"$file" | tr -d '\000' | head -c 4096)
    case $token in
    '' | *[!+/=ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789]*)
        say "token.txt of the context: has characters that no token of OneGate has"
        exit 1
        ;;
    esac
    printf '%s\n' "$token"
)
