# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# For scenarios that follow VMs through OpenNebula's actions. It comes after scenario.sh.
# shellcheck disable=SC2034,SC2154 # used there, assigned there
pf=/sys/bus/pci/devices/0000:01:00.0

# What guests have as their Nth InfiniBand interface: where on pc and on q35, and on q35 where the guest finds it, as
# its bridge to PCI takes a bus number more.
slot_of() { # INDEX
    printf '0000:00:%02x.0' $((31 - $1))
}

port_of() { # INDEX
    printf '0000:%02x:00.0' $((16 - $1))
}

behind_port() { # INDEX
    printf '0000:%02x:00.0' $((17 - $1))
}

# Scenarios run side by side: each has a file for what was said.
one() { # VM OPERATION...: as 'call', which tells what it did only when it fails
    if ! "$LAB/call" "$@" >"$ONEIB_LAB_RUN/said-$$" 2>&1; then
        cat "$ONEIB_LAB_RUN/said-$$"
        return 1
    fi
}

# fails VM OPERATION...: it must fail; what was said is in $said.
fails() {
    ! "$LAB/call" "$@" >"$ONEIB_LAB_RUN/said-$$" 2>&1 || fail "'$*' should have failed"
    said=$(cat "$ONEIB_LAB_RUN/said-$$")
}

# succeeds VM OPERATION...: for what is said in spite of it.
succeeds() {
    one "$@"
    said=$(cat "$ONEIB_LAB_RUN/said-$$")
}

# vm_is N VM: on node N it has what standard input says, as inside/vm tells it; nothing when that is empty.
vm_is() {
    on "$1" "$inside/vm-is $2"
}

# has_nic NIC VF KEY DUMMY-MAC ADDRESS [ADDRESS-IN-GUEST]: the lines for a NIC that is as it should be.
has_nic() {
    reserved "$1" "$2" "$3" set
    printf '%s\n' "guid $1 $2" "vf $1 $2 $5" "sees ${6-$5}"
    has_dummy "$1" "$4"
}

reserved() { # NIC VF KEY set|deferred
    echo "record $1 $2 $3 open $4"
}

has_dummy() { # NIC MAC
    printf '%s\n' "dummy $1 $2 down" "sees $2 down"
}

# before ACTION COMMANDS: for all of this case; 'call' does them in front of that action, as vmm/kvm-ib/save, or in front of
# each where it is '*'.
before() {
    ONEIB_LAB_BEFORE="case \$action in $1) $2 ;; esac"
    export ONEIB_LAB_BEFORE
}

# The guest must tell all of it again for what follows.
forget_console() { # N VM
    on "$1" "truncate -s 0 /var/lib/one/one-$2.console"
}

guest_told() { # N VM PATTERN
    console_gets "$1" "one-$2" "$3"
}

guid_of() { # VM NIC, of guests whose image has oneib's guest side: they tell of interfaces by GUID
    printf '020000%08x%02x' "$1" "$2"
}

# vm_has N VM NIC ADDRESS...: its interface of that NIC is switched on and has these addresses, and no others.
vm_has() {
    n=$1 vm=$2 nic=$3
    shift 3
    guest_told "$n" "$vm" "ib $(guid_of "$vm" "$nic") [^ ]* up 2044 $* @"
}

vm_lacks() { # N VM NIC
    guest_told "$1" "$2" "ib $(guid_of "$2" "$3") gone"
}

# Since its console was forgotten.
vm_has_lost_only() { # N VM ADDRESS...
    n=$1 vm=$2
    shift 2
    lost=$(on "$n" "sed -n 's/^guest: lost [^ ]* \([^ ]*\) .*/\1/p' /var/lib/one/one-$vm.console | sort -u")
    is "$(printf '%s\n' "$@")" "$lost" "addresses that VM $vm has lost"
}

# change_table N EXPRESSION: what sed makes of the table, for a service that begins with it and knows the domains.
change_table() {
    on "$1" <<END
systemctl -q stop oneib-node.service
touch /run/oneib/vfs
sed -i '$2' /run/oneib/vfs
systemctl start oneib-node.service
$inside/wait-for 240 sh -c '! oneib hca 2>&1 | grep -q libvirt-unreachable'
END
}

# What a deployment or a migration may still be at work on is left alone for two minutes.
two_minutes_pass() { # N
    change_table "$1" 's/since=[0-9]*/since=99999999999/'
}

# scrap N VM...: nothing is left of them there, whatever an earlier case has done, and the node's service runs.
scrap() {
    node=$1
    shift
    pattern=$(echo "$*" | sed 's/ /\\|/g')
    on "$node" <<END
domains=\$(virsh -q list --all --name)
for vm in $*; do
    ! printf '%s\\n' "\$domains" | grep -q -x one-\$vm || virsh -q destroy one-\$vm || true
    rm -rf /var/lib/one/datastores/0/\$vm
done >/dev/null 2>&1
END
    change_table "$node" "/ vm=\($pattern\) /d"
    on "$node" 'oneib hca --repair' >/dev/null 2>&1
}

# Nodes without anything of these VMs, or of what an earlier scenario has set there, with $vfs VFs, four if not set.
begin_with() { # NODES VM...
    nodes=$1
    shift
    for n in $nodes; do
        scrap "$n" "$@"
        on "$n" "rm -f /etc/oneib/oneib.conf && $inside/opennebula ${vfs-4}"
    done
}
