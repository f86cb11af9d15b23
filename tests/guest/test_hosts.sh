# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# The files that name members, and our block in files of others: lib/hosts.sh.
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"
# shellcheck source=tests/guest/cluster_machine.sh
. "$GUEST_TESTS/cluster_machine.sh"

ours="# oneib begin: the cluster's members, kept by oneib-guest
10.20.0.10 myhost
# oneib end"

# hosts_become TEXT SHALL: /etc/hosts, after a refresh of this VM alone; both in printf's form.
hosts_become() {
    printf '%b' "$1" >"$root/etc/hosts"
    succeeds cluster_refresh
    printf '%s\n%b' "$ours" "$2" >"$work/shall"
    cmp -s "$work/shall" "$root/etc/hosts" || fail "/etc/hosts is '$(cat "$root/etc/hosts")', not '$(cat "$work/shall")'"
}

test_lines_of_others_are_kept_byte_for_byte() {
    make_machine
    for text in '' '\n' '127.0.0.1 localhost' '127.0.0.1\tlocalhost\n' '# x\r\n127.0.0.1 localhost\r\n' ' \t \n\n\n' 'a\\tb\0377\n%s &\n'; do
        hosts_become "$text" "$text"
        cp "$root/etc/hosts" "$work/before"
        succeeds cluster_refresh
        succeeds cmp "$work/before" "$root/etc/hosts"
    done
}

test_an_old_block_is_replaced_wherever_it_is() {
    make_machine
    old="# oneib begin: the cluster's members, kept by oneib-guest\n10.9.9.9 other\n# oneib end"
    hosts_become "127.0.0.1 localhost\n$old\n192.0.2.1 x\n" '127.0.0.1 localhost\n192.0.2.1 x\n'
    hosts_become "127.0.0.1 localhost\n$old" '127.0.0.1 localhost\n'
}

test_a_file_with_broken_marks_is_left_alone() {
    make_machine
    begin="# oneib begin: the cluster's members, kept by oneib-guest"
    for text in "$begin\n10.9.9.9 x\n" '# oneib end\n' "# oneib end\n$begin\n" "$begin\n$begin\n# oneib end\n" \
        "$begin\r\n10.9.9.9 x\r\n# oneib end\r\n" "$begin\n# oneib end\n$begin\n# oneib end\n" "$begin\n# oneib end \n" "x $begin\n# oneib end\n"; do
        printf '%b' "$text" >"$root/etc/hosts"
        cp "$root/etc/hosts" "$work/before"
        fails cluster_refresh
        succeeds cmp "$work/before" "$root/etc/hosts"
        says '/etc/hosts: its lines .* are not as oneib-guest makes them: remove them' cluster_refresh
    done
}

test_a_file_with_a_nul_is_left_alone() {
    make_machine
    printf '127.0.0.1 localhost\n\0\n' >"$root/etc/hosts"
    cp "$root/etc/hosts" "$work/before"
    fails cluster_refresh
    succeeds cmp "$work/before" "$root/etc/hosts"
}

test_this_machines_name_is_not_on_a_loopback_address() {
    make_machine
    hosts_become '127.0.1.1\tmyhost\n127.0.0.1 localhost\n' '#oneib 127.0.1.1\tmyhost\n127.0.0.1 localhost\n'
    hosts_become '127.0.0.1 MyHost  # one-contextd\n192.0.2.5 myhost2\n' '#oneib 127.0.0.1 MyHost  # one-contextd\n192.0.2.5 myhost2\n'
    hosts_become '# 127.0.1.1 myhost\n' '# 127.0.1.1 myhost\n'
}

test_its_full_name_stays_the_first() {
    make_machine
    ours="# oneib begin: the cluster's members, kept by oneib-guest
10.20.0.10 myhost.example.org myhost
# oneib end"
    hosts_become '127.0.1.1 myhost.example.org myhost\n' '#oneib 127.0.1.1 myhost.example.org myhost\n'
}

test_what_shares_a_line_with_its_name_keeps_the_address() {
    make_machine
    ours="# oneib begin: the cluster's members, kept by oneib-guest
127.0.0.1 localhost.localdomain localhost
10.20.0.10 myhost
# oneib end"
    hosts_become '127.0.0.1 myhost localhost.localdomain localhost\n' '#oneib 127.0.0.1 myhost localhost.localdomain localhost\n'
}

test_without_infiniband_all_is_as_it_was() {
    make_machine
    cp "$root/etc/hosts" "$work/before"
    succeeds cluster_refresh
    fails cmp "$work/before" "$root/etc/hosts"
    rm "$root/run/oneib/nics/ib0"
    succeeds cluster_refresh
    succeeds cmp "$work/before" "$root/etc/hosts"
}

test_a_machine_that_is_called_localhost_keeps_its_loopback_address() {
    make_machine "VMID='5'"
    echo localhost >"$root/proc/sys/kernel/hostname"
    ours="# oneib begin: the cluster's members, kept by oneib-guest
10.20.0.10 vm-5
# oneib end"
    hosts_become '127.0.0.1 localhost\n' '127.0.0.1 localhost\n'
}

test_mode_and_link_of_the_file_are_kept() {
    make_machine
    mv "$root/etc/hosts" "$root/etc/hosts.real"
    chmod 0640 "$root/etc/hosts.real"
    ln -s hosts.real "$root/etc/hosts"
    succeeds cluster_refresh
    [ -L "$root/etc/hosts" ] || fail "the link is gone"
    equal mode "$(stat -c %a "$root/etc/hosts.real")" 640
    has "$root/etc/hosts.real" '^10.20.0.10 '
}

run_tests
