# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What is asked of OneGate, and when: lib/changes.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/cluster_machine.sh
. "$GUEST_TESTS/cluster_machine.sh"

a='5 a 10.20.0.10 3 3'
b='6 b 10.20.0.11 3 3'

# a_cluster: of two members, which this VM knows.
a_cluster() {
    make_machine "$@"
    start_onegate
    service "$a" "$b"
    succeeds cluster_refresh
    forget_requests
}

# only_ask: nothing is written, which these tests are not about, and takes most of the time.
only_ask() {
    cluster_write() {
        : >"$1/others"
        find_members "$1"
    }
}

forget_requests() {
    : >"$work/onegate/requests"
}

# asked OUTLINES SERVICES: how often each was asked for since the last forget_requests.
asked() {
    equal 'the outline was asked for' "$(grep -c 'GET /service HTTP' "$work/onegate/requests")" "$1"
    equal 'all was asked for' "$(grep -c 'GET /service?extended=true HTTP' "$work/onegate/requests")" "$2"
    forget_requests
}

# intervals FIRST LAST: calls like the timer's from FIRST to LAST, one in two minutes: more of them would show no more.
intervals() {
    now=$1
    while [ "$now" -le "$2" ]; do
        up_for "$now"
        succeeds cluster_refresh --if-changed
        now=$((now + 120))
    done
}

test_in_ten_minutes_without_changes_all_is_asked_for_once() {
    only_ask
    a_cluster
    intervals 130 699
    asked 5 0
    intervals 700 700
    asked 1 1
    intervals 730 750
    asked 1 0
}

test_the_first_look_is_at_all() {
    make_machine
    start_onegate
    service "$a" "$b"
    intervals 20 20
    asked 1 1
    hostfile_is 'a slots=4
b slots=4'
    equal 'its mode' "$(stat -c %a "$root/run/oneib/cluster-seen")" 600
}

test_without_the_option_all_is_asked_for() {
    only_ask
    a_cluster
    succeeds cluster_refresh
    succeeds cluster_refresh
    asked 0 2
}

test_a_member_that_comes_or_goes_is_seen_at_once() {
    a_cluster
    service "$a" "$b" '7 c 10.20.0.12 3 3'
    intervals 130 250
    asked 2 1
    hostfile_is 'a slots=4
b slots=4
c slots=4'
    service "$a"
    intervals 280 400
    asked 2 1
    hostfile_is 'a slots=4'
}

test_the_state_of_a_role_is_seen_at_once() {
    a_cluster
    service "$a" '6 b 10.20.0.11 8 0'
    sed -i 's/"name":"role"/"name":"role","state":4/' "$work/onegate/service"
    intervals 130 250
    asked 2 1
    hostfile_is 'a slots=4'
}

# OneFlow does not tell of it.
test_a_suspended_member_is_seen_within_ten_minutes() {
    a_cluster
    service "$a" '6 b 10.20.0.11 5 0'
    intervals 130 699
    hostfile_is 'a slots=4
b slots=4'
    intervals 700 700
    hostfile_is 'a slots=4'
}

test_keys_that_are_missing_are_asked_for_at_each_interval_for_ten_minutes() {
    only_ask
    a_cluster "ONEIB_SSH='YES'" "ONEIB_SSH_USER='user'"
    intervals 130 699
    asked 5 5
    intervals 730 1209
    asked 4 0
    intervals 1210 1210
    asked 1 1
    service "$a" "$b" '7 c 10.20.0.12 3 3'
    intervals 1300 1420
    asked 2 2
    service "$a" '6 b 10.20.0.11 3 3 1' '7 c 10.20.0.12 3 3 2'
    intervals 1450 1570
    asked 2 1
}

test_a_vm_without_an_address_is_asked_for_again() {
    a_cluster
    service "$a" "$b" '7 c - 3 3'
    intervals 130 250
    asked 2 2
    service "$a" "$b" '7 c 10.20.0.12 3 3'
    intervals 280 400
    asked 2 1
    hostfile_is 'a slots=4
b slots=4
c slots=4'
}

test_files_that_are_gone_or_changed_are_written_again() {
    a_cluster
    cp "$root/etc/hosts" "$work/hosts"
    rm "$root/etc/hosts"
    intervals 130 250
    asked 2 1
    block_is etc/hosts "10.20.0.10 myhost a
10.20.0.11 b"
    cp "$work/hosts" "$root/etc/hosts"
    echo '127.0.1.1 myhost' >>"$root/etc/hosts"
    intervals 280 400
    asked 2 1
    has "$root/etc/hosts" '^#oneib 127.0.1.1 myhost'
    rm "$root/etc/oneib/hostfile"
    intervals 430 550
    asked 2 1
    hostfile_is 'a slots=4
b slots=4'
}

test_another_context_is_seen_at_once() {
    only_ask
    a_cluster
    echo "ONEIB_MEMBERS='x=10.20.0.44'" >>"$root/run/oneib/context"
    intervals 130 250
    asked 2 1
}

test_without_an_answer_it_is_said_and_files_stay() {
    a_cluster
    cp "$root/etc/hosts" "$work/before"
    echo 500 >"$work/onegate/code"
    fails cluster_refresh --if-changed
    has "$work/output" 'OneGate: has answered 500'
    asked 1 0
    succeeds cmp "$work/before" "$root/etc/hosts"
    rm "$work/onegate/code"
    intervals 130 130
    asked 1 0
}

test_a_service_that_is_too_long_is_not_asked_for_for_ever() {
    only_ask
    a_cluster
    service "$a" "$b" '7 c 10.20.0.12 3 3'
    # So that the outline fits and the whole does not.
    onegate_longest=1000
    up_for 130
    fails cluster_refresh --if-changed
    up_for 160
    fails cluster_refresh --if-changed
    asked 2 2
    up_for 760
    fails cluster_refresh --if-changed
    forget_requests
    intervals 790 1350
    asked 5 0
}

test_a_copied_disk_does_not_keep_the_members_of_another_vm() {
    a_cluster
    sed -i "s/^VMID=.*/VMID='77'/" "$root/run/oneib/context"
    echo 500 >"$work/onegate/code"
    fails cluster_refresh --if-changed
    hostfile_is 'myhost slots=2'
}

test_a_vm_in_no_service_asks_once_each_time() {
    only_ask
    make_machine
    start_onegate
    echo 'Empty or invalid SERVICE_ID' >"$work/onegate/service"
    echo 400 >"$work/onegate/code"
    succeeds cluster_refresh
    forget_requests
    intervals 130 250
    asked 2 0
    rm "$work/onegate/code"
    service "$a" "$b"
    intervals 280 400
    asked 2 1
}

test_a_vm_without_onegate_does_nothing_between_changes() {
    make_machine "ONEIB_MEMBERS='x=10.20.0.44'"
    succeeds cluster_refresh
    ls -i "$root/run/oneib/cluster-seen" >"$work/before"
    intervals 130 250
    equal 'the note' "$(ls -i "$root/run/oneib/cluster-seen")" "$(cat "$work/before")"
}

test_a_note_that_is_none_is_not_believed() {
    only_ask
    a_cluster
    for line in '' 'x y z' '99999999 5 no' '5 99999999 no' '-1 5 no' '5 5 maybe'; do
        { echo "$line" && tail -n +2 "$root/run/oneib/cluster-seen"; } >"$work/note"
        cp "$work/note" "$root/run/oneib/cluster-seen"
        intervals 130 130
        asked 1 1
    done
}

run_tests
