# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Members that let each other in: lib/ssh.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/cluster_machine.sh
. "$GUEST_TESTS/cluster_machine.sh"

pair() {
    make_machine "ONEIB_SSH='YES'" "USERNAME='user'"
    start_onegate
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3 1' '7 c 10.20.0.12 3 3'
}

after_a_boot() {
    rm "$root/run/oneib/ssh-done"
}

test_other_members_get_in_from_their_own_addresses_alone() {
    pair
    succeeds cluster_refresh
    block_is home/user/.ssh/authorized_keys "from=\"10.20.0.11\" $(a_key 1) oneib-b"
    block_is etc/ssh/ssh_known_hosts "b,10.20.0.11 $(a_key 1)"
}

test_a_pair_is_made_once_and_published_when_it_is_not() {
    pair
    succeeds cluster_refresh
    key=$(cut -d ' ' -f 1,2 "$root/home/user/.ssh/id_ed25519.pub")
    equal 'what is published' "$(cat "$work/onegate/put")" "ONEIB_SSH_KEY=\"$key\"
ONEIB_HOST_KEY=\"$(a_key 9)\""
    equal 'the mode of the key' "$(stat -c %a "$root/home/user/.ssh/id_ed25519")" 600
    rm "$work/onegate/put"
    sed -i "s|\"NAME\":\"a\",\(.*\)|\"NAME\":\"a\",\1|; 1,/USER_TEMPLATE\":{}/s|\"USER_TEMPLATE\":{}|\"USER_TEMPLATE\":{\"ONEIB_SSH_KEY\":\"$key\",\"ONEIB_HOST_KEY\":\"$(a_key 9)\"}|" \
        "$work/onegate/service"
    succeeds cluster_refresh
    [ ! -f "$work/onegate/put" ] || fail "it was published again"
    equal 'the key' "$(cut -d ' ' -f 1,2 "$root/home/user/.ssh/id_ed25519.pub")" "$key"
}

test_a_pair_that_was_made_for_another_vm_is_made_anew() {
    pair
    succeeds cluster_refresh
    cp "$root/home/user/.ssh/id_ed25519.pub" "$work/before"
    sed -i 's/ oneib-vm-5$/ oneib-vm-4/' "$root/home/user/.ssh/id_ed25519.pub"
    after_a_boot
    succeeds cluster_refresh
    fails cmp "$work/before" "$root/home/user/.ssh/id_ed25519.pub"
    has "$root/home/user/.ssh/id_ed25519.pub" ' oneib-vm-5$'
}

test_a_pair_of_the_users_own_is_used() {
    pair
    mkdir -m 700 "$root/home/user/.ssh"
    ssh-keygen -q -t ed25519 -N '' -C me@home -f "$root/home/user/.ssh/id_ed25519"
    cp "$root/home/user/.ssh/id_ed25519" "$work/before"
    succeeds cluster_refresh
    succeeds cmp "$work/before" "$root/home/user/.ssh/id_ed25519"
    succeeds grep -F "$(cut -d ' ' -f 1,2 "$root/home/user/.ssh/id_ed25519.pub")" "$work/onegate/put"
}

test_keys_of_a_member_that_leaves_are_taken_back() {
    pair
    succeeds cluster_refresh
    service '5 a 10.20.0.10 3 3' '7 c 10.20.0.12 3 3'
    succeeds cluster_refresh
    equal authorized_keys "$(cat "$root/home/user/.ssh/authorized_keys")" ''
    equal ssh_known_hosts "$(cat "$root/etc/ssh/ssh_known_hosts")" ''
}

test_as_long_as_nothing_changes_no_user_is_touched() {
    pair
    succeeds cluster_refresh
    rm "$root/su"
    succeeds cluster_refresh
    [ ! -e "$root/su" ] || fail "su was called"
    service '5 a 10.20.0.10 3 3' '6 b 10.20.0.11 3 3 2'
    succeeds cluster_refresh
    has "$root/su" user
    has "$root/home/user/.ssh/authorized_keys" 'AAAAIKey2'
}

# Whoever connects to this machine is told that somebody stands in between, until its new key is known.
test_a_host_key_that_is_made_anew_is_published() {
    pair
    succeeds cluster_refresh
    rm "$work/onegate/put"
    printf '%s comment\n' "$(a_key 8)" >"$root/etc/ssh/ssh_host_ed25519_key.pub"
    succeeds cluster_refresh
    has "$work/onegate/put" 'ONEIB_HOST_KEY="ssh-ed25519 .*Key8'
}

test_what_has_failed_is_tried_again() {
    pair
    mkdir -p "$root/home/user/.ssh/authorized_keys"
    fails cluster_refresh
    rmdir "$root/home/user/.ssh/authorized_keys"
    succeeds cluster_refresh
    has "$root/home/user/.ssh/authorized_keys" oneib-b
}

test_without_the_option_all_is_taken_back() {
    pair
    mkdir -m 700 "$root/home/user/.ssh"
    printf 'ssh-rsa AAAA mine' >"$root/home/user/.ssh/authorized_keys"
    printf '@revoked * ssh-rsa AAAA\n' >"$root/etc/ssh/ssh_known_hosts"
    succeeds cluster_refresh
    has "$root/home/user/.ssh/authorized_keys" oneib-b
    sed -i "s/ONEIB_SSH='YES'/ONEIB_SSH='NO'/" "$root/run/oneib/context"
    succeeds cluster_refresh
    equal authorized_keys "$(cat "$root/home/user/.ssh/authorized_keys")" 'ssh-rsa AAAA mine'
    equal ssh_known_hosts "$(cat "$root/etc/ssh/ssh_known_hosts")" '@revoked * ssh-rsa AAAA'
}

# Whether OneGate answers, or the other files can be written, is none of its business.
test_what_was_let_in_is_taken_back_though_nobody_answers() {
    pair
    succeeds cluster_refresh
    sed -i "s/ONEIB_SSH='YES'/ONEIB_SSH='NO'/; s/127.0.0.1:[0-9]*/127.0.0.1:1/" "$root/run/oneib/context"
    fails cluster_refresh --if-changed
    equal authorized_keys "$(cat "$root/home/user/.ssh/authorized_keys")" ''
    equal ssh_known_hosts "$(cat "$root/etc/ssh/ssh_known_hosts")" ''
    fails test -e "$root/etc/oneib/ssh-user"
}

test_what_was_let_in_is_taken_back_though_the_marks_in_hosts_are_lost() {
    pair
    succeeds cluster_refresh
    sed -i '/^# oneib end/d' "$root/etc/hosts"
    sed -i "s/ONEIB_SSH='YES'/ONEIB_SSH='NO'/" "$root/run/oneib/context"
    fails cluster_refresh
    equal authorized_keys "$(cat "$root/home/user/.ssh/authorized_keys")" ''
}

test_without_the_option_no_user_is_touched() {
    pair
    sed -i "s/ONEIB_SSH='YES'/ONEIB_SSH='NO'/" "$root/run/oneib/context"
    succeeds cluster_refresh
    [ ! -e "$root/su" ] || fail "su was called"
    [ ! -e "$root/etc/ssh/ssh_known_hosts" ] || fail "there are known hosts"
    [ ! -e "$work/onegate/put" ] || fail "something was published"
}

test_another_user_gets_what_the_first_loses() {
    pair
    succeeds cluster_refresh
    sed -i "s/USERNAME='user'/USERNAME='user'\nONEIB_SSH_USER='root'/" "$root/run/oneib/context"
    succeeds cluster_refresh
    has "$root/root/.ssh/authorized_keys" oneib-b
    has_not "$root/home/user/.ssh/authorized_keys" oneib
}

# Sunstone asks for it in a box of several lines.
test_a_line_end_behind_the_users_name_is_no_part_of_it() {
    pair
    sed -i "s/USERNAME='user'/USERNAME='user\n'/" "$root/run/oneib/context"
    succeeds cluster_refresh
    has "$root/home/user/.ssh/authorized_keys" oneib-b
}

test_lines_of_the_user_are_kept() {
    pair
    mkdir -m 700 "$root/home/user/.ssh"
    printf 'ssh-rsa AAAA mine\r\n\n# x' >"$root/home/user/.ssh/authorized_keys"
    cp "$root/home/user/.ssh/authorized_keys" "$work/before"
    chmod 0640 "$root/home/user/.ssh/authorized_keys"
    succeeds cluster_refresh
    succeeds cluster_refresh
    sed '/^# oneib begin/,/^# oneib end$/d' "$root/home/user/.ssh/authorized_keys" >"$work/after"
    succeeds cmp "$work/before" "$work/after"
    equal 'the mode' "$(stat -c %a "$root/home/user/.ssh/authorized_keys")" 640
    equal 'files beside it' "$(find "$root/home/user/.ssh" -name 'authorized_keys.*')" ''
}

test_a_file_that_cannot_be_read_is_left_alone() {
    pair
    mkdir -p "$root/home/user/.ssh/authorized_keys"
    fails cluster_refresh
    says 'authorized_keys: cannot be read by its user' cluster_refresh
    rmdir "$root/home/user/.ssh/authorized_keys"
    head -c 1048577 /dev/zero | tr '\0' '\n' >"$root/home/user/.ssh/authorized_keys"
    fails cluster_refresh
    equal 'its size' "$(wc -c <"$root/home/user/.ssh/authorized_keys" | tr -d ' ')" 1048577
    printf '# oneib end\n' >"$root/home/user/.ssh/authorized_keys"
    fails cluster_refresh
    equal 'the file' "$(cat "$root/home/user/.ssh/authorized_keys")" '# oneib end'
}

test_what_is_no_key_is_not_used() {
    key=$(a_key 1)
    succeeds is_ssh_key "$key"
    for bad in '' "$key " " $key" "${key%?}" "${key}0" "ssh-rsa ${key#* }" "${key%?}=" "${key%?}\"" "$(printf '%s\n%s' "${key%??}" x)" \
        'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIz00000000000000000000000000000000000000000000' \
        'ssh-ed25519 BAAAC3NzaC1lZDI1NTE5AAAAIKey1000000000000000000000000000000000000000' \
        "from=\"*\" $key" 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKey1 0000000000000000000000000000000000000000'; do
        fails is_ssh_key "$bad"
    done
}

test_a_hostile_key_is_left_out_with_a_message() {
    pair
    sed -i "s|$(a_key 1)|ssh-ed25519 AAAA\\\\n* $(a_key 2)|g" "$work/onegate/service"
    succeeds cluster_refresh
    [ ! -e "$root/home/user/.ssh/authorized_keys" ] || fail "it was let in"
    after_a_boot
    says 'member b: ONEIB_SSH_KEY is no ed25519 key; it is not used' cluster_refresh
    after_a_boot
    says 'member b: ONEIB_HOST_KEY is no ed25519 key; it is not used' cluster_refresh
}

test_a_user_that_is_none_is_refused() {
    for user in nobody-here '-c' '../root' 'user; id' '*' 'use.' "$(printf 'user\nroot')"; do
        make_machine "ONEIB_SSH='YES'" "ONEIB_SSH_USER='$user'"
        fails cluster_refresh
        says 'ONEIB_SSH_USER: .* is no user of this machine' cluster_refresh
        [ ! -e "$root/su" ] || fail "su was called for '$user'"
    done
}

test_without_a_host_key_the_rest_is_done() {
    pair
    rm "$root/etc/ssh/ssh_host_ed25519_key.pub"
    fails cluster_refresh
    says 'ssh_host_ed25519_key.pub: is no ed25519 host key: make it' cluster_refresh
    has "$root/home/user/.ssh/authorized_keys" oneib-b
}

run_tests
