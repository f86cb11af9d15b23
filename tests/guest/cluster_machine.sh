# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# A make-believe member of a cluster, for tests of what members know of each other: VM 5, whose host name is myhost.

PATH=$GUEST_TESTS/standins:$PATH
# shellcheck disable=SC2154 # check.sh has set it
ONEIB_LIBRARY=$context/lib
tab=$(printf "\t")
for library in "$ONEIB_LIBRARY"/*.sh; do
    # shellcheck source=/dev/null # all of lib/
    . "$library"
done

# make_machine LINE...: lines of its context.
make_machine() {
    # shellcheck disable=SC2154 # check.sh has set it
    mkdir -p "$root/etc/ssh" "$root/run/oneib/nics" "$root/proc/sys/kernel" "$root/home/user" "$root/root"
    echo myhost >"$root/proc/sys/kernel/hostname"
    up_for 100
    printf 'processor\t: 0\nprocessor\t: 1\n' >"$root/proc/cpuinfo"
    printf '127.0.0.1\tlocalhost\n127.0.1.1\tmyhost.example.org myhost\n::1 ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
    printf 'root:x:0:0::/root:/bin/sh\nuser:x:1000:1000::/home/user:/bin/sh\n' >"$root/etc/passwd"
    printf 'interface=ib0\naddress=10.20.0.10/24\n' >"$root/run/oneib/nics/ib0"
    printf '%s\n' "$(a_key 9) host key" >"$root/etc/ssh/ssh_host_ed25519_key.pub"
    printf '%s\n' "$@" >"$root/run/oneib/context"
}

# up_for SECONDS
up_for() {
    echo "$1.50 0.00" >"$root/proc/uptime"
}

# start_onegate [CERTIFICATE KEY]: a stand-in that answers from $work/onegate, with them over HTTPS; make_machine has been called.
start_onegate() {
    # shellcheck disable=SC2154 # check.sh has set it
    mkdir -p "$work/onegate"
    ruby --disable=gems "$GUEST_TESTS/onegate-standin" "$work/onegate" "$@" &
    onegate=$!
    # The test's own shell ends here, also when it fails.
    trap 'kill "$onegate" 2>/dev/null || true' EXIT
    tries=0
    until [ -s "$work/onegate/port" ]; do
        tries=$((tries + 1))
        [ "$tries" -lt 600 ] || fail "the stand-in for OneGate does not start"
        sleep 0.1
    done
    printf '%s\n' "ONEGATE_ENDPOINT='http${1:+s}://127.0.0.1:$(cat "$work/onegate/port")'" "VMID='5'" >>"$root/run/oneib/context"
    printf 'U2VjcmV0VG9rZW4=\n' >"$root/run/oneib/token"
}

# a_key N: a public key as it is published, another one for each digit.
a_key() {
    printf 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKey%s000000000000000000000000000000000000000\n' "$1"
}

# service MEMBER...: OneGate's document, each member in a role of its own: "ID NAME IP STATE LCM_STATE [SSH_KEY-DIGIT]", where a
# name has no spaces and its JSON escapes.
service() {
    roles=''
    for member; do
        # shellcheck disable=SC2086 # words
        set -- $member
        attributes=''
        [ -z "${6-}" ] || attributes="\"ONEIB_SSH_KEY\":\"$(a_key "$6")\",\"ONEIB_HOST_KEY\":\"$(a_key "$6")\""
        roles="$roles${roles:+,}{\"name\":\"role\",\"nodes\":[{\"deploy_id\":$1,\"running\":true,\"vm_info\":{\"VM\":{\"ID\":\"$1\",
            \"NAME\":\"$2\",\"STATE\":\"$4\",\"LCM_STATE\":\"$5\",\"USER_TEMPLATE\":{$attributes},\"TEMPLATE\":{\"VCPU\":\"4\",\"NIC\":[
            {\"NIC_ID\":\"0\",\"NETWORK_ID\":\"3\",\"VN_MAD\":\"bridge\",\"IP\":\"192.168.0.$1\"},
            {\"NIC_ID\":\"1\",\"NETWORK_ID\":\"7\",\"VN_MAD\":\"infiniband\",\"IP\":\"$3\"}]}}}}]}"
    done
    printf '{"SERVICE":{"name":"mpi","id":"4","roles":[%s]}}\n' "$roles" >"$work/onegate/service"
}

# block_is FILE TEXT: our lines in it.
block_is() {
    equal "the block of $1" "$(sed -n '/^# oneib begin/,/^# oneib end$/p' "$root/$1" | sed -e '1d' -e '$d')" "$2"
}

hostfile_is() {
    equal "the hostfile" "$(grep -v '^#' "$root/etc/oneib/hostfile")" "$1"
}
