# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# share/templates/load, against a stand-in for OpenNebula's commands (standins/opennebula).
# shellcheck source=tests/guest/check.sh
. "$GUEST_TESTS/check.sh"

load=$GUEST_TESTS/../../share/templates/load

# A front-end: OpenNebula's commands, an oned.conf, a disk image and an Ethernet network.
front_end() {
    export ONE_STATE="$work/one" ONE_LOCATION="$work/location"
    mkdir -p "$work/bin" "$ONE_STATE"
    for command in onevnet onetemplate oneflow-template oneimage onedatastore oneuser; do
        ln -s "$GUEST_TESTS/standins/opennebula" "$work/bin/$command"
    done
    PATH=$work/bin:$PATH
    restrictions_are "ok    restrictions: tenants cannot set P_Keys or IB_* attributes"
    write "$ONE_LOCATION/etc/oned.conf" <<'CONF'
# VN_MAD_CONF = [ NAME = "commented", BRIDGE_TYPE = "none" ]
ONEGATE_ENDPOINT = "http://frontend:5030"
VM_RESTRICTED_ATTR = "NIC/MAC"
VN_MAD_CONF = [
    NAME = "bridge",
    BRIDGE_TYPE = "linux"
]
VN_MAD_CONF = [ NAME = "infiniband", BRIDGE_TYPE = "none" ]
CONF
    there oneimage 1 guest-image oneadmin
    there onevnet 2 office oneadmin
}

# there COMMAND ID NAME OWNER: an object that was there before.
there() {
    mkdir -p "$ONE_STATE/$1/$2"
    echo "$3" >"$ONE_STATE/$1/$2/name"
    echo "$4" >"$ONE_STATE/$1/$2/owner"
}

restrictions_are() {
    rm -f "$work/bin/oneib"
    printf '#!/bin/sh\necho "%s"\nexit 1\n' "$1" >"$work/bin/oneib"
    chmod +x "$work/bin/oneib"
}

loads() {
    "$GUEST_SHELL_COMMAND" "$load" "$@"
}

# body NAME: what was sent to OpenNebula when the object of that name was made.
body() {
    for object in "$ONE_STATE"/*/*; do
        if [ -d "$object" ] && [ "$(cat "$object/name")" = "$1" ]; then echo "$object/body"; fi
    done
}

nothing_is_made() {
    if [ -e "$ONE_STATE/calls" ]; then has_not "$ONE_STATE/calls" ' (create|update|chmod|delete) '; fi
}

refuses() {
    pattern=$1
    shift
    if loads "$@" >"$work/output" 2>"$work/errors"; then fail "load $* did not fail: $(cat "$work/output")"; fi
    has "$work/errors" "^load: .*$pattern"
}

test_everything_is_made_and_named() {
    front_end
    prints 'created network ib-pool (id 10)
created network ib-shared (id 11)
created network ib-storage (id 12)
created VM template ib-node (id 13)
created service template ib-cluster (id 14)' loads --image guest-image
    for id in onevnet/10 onevnet/11 onevnet/12 onetemplate/13 oneflow-template/14; do
        equal "rights of $id" "$(cat "$ONE_STATE/$id/rights")" 604
    done
}

test_what_is_there_is_left_as_it_is() {
    front_end
    loads --image guest-image >/dev/null 2>&1
    rm "$ONE_STATE/calls"
    prints 'left as it is: network ib-pool (id 10)
left as it is: network ib-shared (id 11)
left as it is: network ib-storage (id 12)
left as it is: VM template ib-node (id 13)
left as it is: service template ib-cluster (id 14)' loads
    nothing_is_made
}

test_what_is_missing_is_made_beside_what_is_there() {
    front_end
    there onevnet 5 ib-pool oneadmin
    prints 'left as it is: network ib-pool (id 5)
created network ib-shared (id 10)' loads pool shared
}

test_update_brings_everything_up_to_date() {
    front_end
    loads --image guest-image >/dev/null 2>&1
    prints 'updated network ib-pool (id 10)
updated network ib-shared (id 11)
updated network ib-storage (id 12)
updated VM template ib-node (id 13)
updated service template ib-cluster (id 14)' loads --update --image guest-image --mtu 4092
    has "$ONE_STATE/onevnet/10/appended" '^GUEST_MTU = "4092"$'
    has "$ONE_STATE/oneflow-template/14/body" '"template|"vm_template": 13'
}

test_an_update_leaves_a_networks_name_driver_and_addresses() {
    front_end
    loads pool >/dev/null
    loads --update --pool-range 10.99.0.1/16+10 pool >/dev/null
    has_not "$ONE_STATE/onevnet/10/appended" '^(NAME|VN_MAD|AR) ='
}

test_a_dry_run_shows_templates_and_makes_nothing() {
    front_end
    loads --dry-run --image guest-image >"$work/output"
    has "$work/output" '^would create network ib-pool$'
    has "$work/output" '^would create service template ib-cluster$'
    has "$work/output" '^    AR = \[ TYPE = "IP4", IP = "10.64.0.1", SIZE = "65534" \]$'
    nothing_is_made
    there onevnet 5 ib-pool oneadmin
    loads --dry-run --update pool >"$work/output"
    has "$work/output" '^would update network ib-pool \(id 5\)$'
    nothing_is_made
}

test_names_begin_with_the_prefix() {
    front_end
    prints 'created network hpc.test-pool (id 10)' loads --prefix hpc.test pool
}

test_networks_are_infiniband_and_have_no_bridge_and_no_key() {
    front_end
    loads pool shared storage >/dev/null 2>&1
    for name in ib-pool ib-shared ib-storage; do
        has "$(body "$name")" '^VN_MAD = "infiniband"$'
        has_not "$(body "$name")" '^(BRIDGE|VLAN_ID|PHYDEV|IB_CLASS|#)|@'
        # The partition's, and the guests'.
        has "$(body "$name")" '^MTU = "2044"$'
        has "$(body "$name")" '^GUEST_MTU = "2044"$'
    done
}

test_networks_are_of_the_class_that_is_named() {
    front_end
    loads --class gold pool shared storage >/dev/null 2>&1
    for name in ib-pool ib-shared ib-storage; do has "$(body "$name")" '^IB_CLASS = "gold"$'; done
}

test_members_of_storage_are_limited_and_its_servers_full() {
    front_end
    loads --servers 0x0002c90300aabbcc,0x0002c90300AABBCD storage >/dev/null
    has "$(body ib-storage)" '^IB_MEMBERSHIP = "limited"$'
    has "$(body ib-storage)" '^IB_RESERVATION = "shared"$'
    has "$(body ib-storage)" '^IB_STATIC_GUIDS = "0x0002c90300aabbcc=full, 0x0002c90300AABBCD=full"$'
}

test_storage_without_servers_is_said() {
    front_end
    says '^load: nobody is in ib-storage before you name its servers' loads storage
    has_not "$(body ib-storage)" 'IB_STATIC_GUIDS'
}

test_reservations_from_the_pool_get_partitions_of_their_own() {
    front_end
    loads pool >/dev/null
    has_not "$(body ib-pool)" 'IB_RESERVATION|limited'
}

test_a_range_gives_mask_first_address_and_size() {
    front_end
    loads --pool-range 10.1.2.130/25+125 --phydev mlx5_1:2 pool >/dev/null
    has "$(body ib-pool)" '^NETWORK_MASK = "255.255.255.128"$'
    has "$(body ib-pool)" 'IP = "10.1.2.130", SIZE = "125" '
    has "$(body ib-pool)" '^PHYDEV = "mlx5_1:2"$'
}

test_a_range_outside_its_network_is_refused() {
    front_end
    refuses 'only 125 addresses from 10.1.2.130' --pool-range 10.1.2.130/25+126 pool
    refuses 'address of the network itself' --pool-range 10.1.2.128/25+10 pool
    refuses 'is not FIRST/PREFIX\+COUNT' --pool-range 10.1.2.0/24 pool
    refuses 'not an IPv4 address' --storage-range 10.1.2.256/24+1
    refuses 'not an IPv4 address' --shared-range 10.1.2/24+1
    refuses 'prefix has to be' --pool-range 10.1.2.1/31+1
    refuses 'no number of addresses' --pool-range 10.1.2.1/24+0
    nothing_is_made
}

test_what_is_no_name_never_reaches_a_template() {
    front_end
    refuses 'is not HCA' --phydev 'mlx5_0", BRIDGE = "br0'
    refuses 'is no name of a class' --class 'gold", VLAN_ID = "7'
    refuses 'can be given; give its id' --image 'x" ]'
    refuses 'can be given; give its id' --access '--help'
    refuses 'not a port GUID' --servers 0x0002c90300aabbcc=full
    refuses 'letters, digits' --prefix 7
    refuses 'letters, digits' --prefix 'a b'
    refuses 'driver' --vn-mad 'x"y'
    refuses 'is not from 68' --mtu 1e9
    refuses 'three digits' --rights 0604
    nothing_is_made
}

test_an_unknown_word_is_refused() {
    front_end
    refuses 'unknown object pools' pools
    refuses 'unknown option' --poool x
    refuses 'lacks its value' --image
}

test_the_machine_has_its_image_and_the_network_for_logging_in() {
    front_end
    loads --image guest-image --access office node >/dev/null
    has "$(body ib-node)" '^DISK = \[ IMAGE_ID = "1" \]$'
    has "$(body ib-node)" '^NIC = \[ NETWORK_ID = "2" \]$'
    has "$(body ib-node)" '^SCHED_REQUIREMENTS = "IB_VFS_FREE > 0"$'
    # oned fills these in when the VM is made.
    # shellcheck disable=SC2016
    has "$(body ib-node)" '^  IPOIB_MODE = "\$IPOIB_MODE",$'
    # shellcheck disable=SC2016
    has "$(body ib-node)" '^  SSH_PUBLIC_KEY = "\$USER\[SSH_PUBLIC_KEY\]",$'
}

test_the_machine_needs_an_image_that_many_can_use() {
    front_end
    refuses 'which disk image is ib-node to have' node
    refuses "there is no image 'nosuch'" --image nosuch node
    echo 1 >"$ONE_STATE/oneimage/1/persistent"
    refuses 'is persistent' --image guest-image node
    nothing_is_made
    rm "$ONE_STATE/oneimage/1/persistent"
    echo 0 >"$ONE_STATE/oneimage/1/other_u"
    says 'users may not use image guest-image yet' loads --image guest-image node
}

test_the_machine_lies_in_the_datastore() {
    front_end
    there onedatastore 4 'fast store' oneadmin
    loads --image 1 --datastore 4 node >/dev/null
    has "$(body ib-node)" '^SCHED_DS_REQUIREMENTS = "NAME = \\"fast store\\""$'
}

test_without_onegate_nobody_waits_for_it() {
    front_end
    sed -i 's/^ONEGATE_ENDPOINT/# &/' "$ONE_LOCATION/etc/oned.conf"
    loads --image guest-image node cluster >/dev/null
    has_not "$(body ib-node)" 'TOKEN|REPORT_READY'
    has "$(body ib-cluster)" '"ready_status_gate": false,'
}

test_with_onegate_the_service_waits_for_its_machines() {
    front_end
    loads --image guest-image node cluster >/dev/null
    has "$(body ib-node)" '^  TOKEN = "YES",$'
    has "$(body ib-node)" '^  REPORT_READY = "YES",$'
    has "$(body ib-cluster)" '"ready_status_gate": true,'
}

test_whether_there_is_onegate_has_to_be_known() {
    front_end
    rm "$ONE_LOCATION/etc/oned.conf"
    refuses 'say --onegate yes or no' --image guest-image node
    succeeds loads --image guest-image --onegate no node
}

test_users_choose_hpc_only_where_they_may() {
    front_end
    loads --image guest-image node cluster >/dev/null
    has "$(body ib-node)" '^  IB_HPC = "M\|list\|'
    has "$(body ib-node)" '^INPUTS_ORDER = "USERNAME,ONEIB_SSH,IB_HPC,IPOIB_MODE,ONEIB_MEMBERS"$'
    # shellcheck disable=SC2016
    has "$(body ib-cluster)" 'nIB_HPC = ."\$IB_HPC'
    echo 'VM_RESTRICTED_ATTR="ib_hpc" # not for everybody' >>"$ONE_LOCATION/etc/oned.conf"
    refuses 'users may not choose IB_HPC' --image guest-image --prefix b node
    loads --image guest-image --prefix b --hpc yes node cluster >/dev/null
    has "$(body b-node)" '^IB_HPC = "yes"$'
    has_not "$(body b-node)" 'IB_HPC = "M\|'
    has "$(body b-node)" '^INPUTS_ORDER = "USERNAME,ONEIB_SSH,IPOIB_MODE,ONEIB_MEMBERS"$'
    has_not "$(body b-cluster)" 'IB_HPC'
    loads --image guest-image --prefix c --hpc no node >/dev/null
    has_not "$(body c-node)" 'IB_HPC'
}

test_machines_that_may_be_tuned_are_none_of_drs() {
    front_end
    loads --image guest-image node >/dev/null
    has "$(body ib-node)" '^ONEDRS_BLOCKED = "YES"$'
    loads --image guest-image --prefix b --hpc yes node >/dev/null
    has "$(body b-node)" '^ONEDRS_BLOCKED = "YES"$'
    loads --image guest-image --prefix c --hpc no node >/dev/null
    has_not "$(body c-node)" ONEDRS
}

# What each asks by the names CPU, VCPU and MEMORY cannot be instantiated in Sunstone: of a machine oned restricts these
# questions (and Sunstone sends the template back without those that have no default in a list), of a service Sunstone asks
# none of them, while OneFlow wants an answer to each question that there is.
test_nobody_is_asked_what_sunstone_and_oned_refuse() {
    front_end
    loads --image guest-image node cluster >/dev/null
    has_not "$(body ib-node)" '(CPU|VCPU|MEMORY) = "[MO]\|'
    has_not "$(body ib-node)" '^INPUTS_ORDER = ".*(CPU|MEMORY)'
    has_not "$(body ib-cluster)" 'CPU|MEMORY'
}

# questions NAME: of this template or service, a line each: NAME|M or O|kind|text|choices|default.
questions() {
    awk '
        /USER_INPUTS = \[|"custom_attrs"/ { inside = 1; next }
        inside && match($0, /[MO]\|[a-z]+\|.*\|/) {
            name = substr($0, 1, RSTART - 1)
            gsub(/[ ":=]/, "", name)
            question = substr($0, RSTART)
            sub(/"[^"]*$/, "", question)
            print name "|" question
        }
        /\]$|}/ { inside = 0 }' "$(body "$1")"
}

# What Sunstone has fields for, and what OneFlow wants: an answer to each question, which Sunstone gives where there is a
# default.
test_each_question_has_a_kind_and_a_default_that_sunstone_takes() {
    front_end
    loads --image guest-image node cluster >/dev/null
    questions ib-node >"$work/of-node"
    questions ib-cluster >"$work/of-cluster"
    equal 'questions of the machine' "$(wc -l <"$work/of-node" | tr -d ' ')" 5
    equal 'questions of the service' "$(wc -l <"$work/of-cluster" | tr -d ' ')" 4
    has_not "$work/of-cluster" '^[^|]*\|O\|'
    cat "$work/of-node" "$work/of-cluster" | while IFS='|' read -r name wanted kind text choices default; do
        [ -n "$text" ] || fail "$name asks nothing"
        [ "$wanted" = O ] || [ -n "$default" ] || fail "$name has no default"
        case $kind in
        text) ;;
        boolean) case $default in YES | NO) ;; *) fail "$name is neither YES nor NO: $default" ;; esac ;;
        list) case ",$choices," in *",$default,"*) ;; *) fail "$name: $default is none of $choices" ;; esac ;;
        *) fail "$name is of the kind $kind" ;;
        esac
    done
}

test_each_question_of_the_service_is_answered_in_its_roles() {
    front_end
    loads --image guest-image node cluster >/dev/null
    questions=$(awk '/"custom_attrs"/ { inside = 1; next } /}/ { inside = 0 } inside { split($0, part, "\""); printf "%s ", part[2] }' \
        "$(body ib-cluster)")
    equal questions "$questions" 'USERNAME ONEIB_SSH IB_HPC IPOIB_MODE '
    for question in $questions; do
        has "$(body ib-cluster)" "n$question = .\"\\\$$question"
    done
}

test_a_machine_has_two_cores_unless_the_operator_says_otherwise() {
    front_end
    loads --image guest-image node >/dev/null
    has "$(body ib-node)" '^VCPU = "2"$'
    has "$(body ib-node)" '^MEMORY = "4096"$'
    loads --image guest-image --prefix b --size 16:65536 node >/dev/null
    has "$(body b-node)" '^CPU = "16"$'
    has "$(body b-node)" '^VCPU = "16"$'
    has "$(body b-node)" '^MEMORY = "65536"$'
}

test_each_size_has_a_machine_and_a_cluster() {
    front_end
    prints 'created VM template ib-node-small (id 10)
created service template ib-cluster-small (id 11)
created VM template ib-node-large (id 12)
created service template ib-cluster-large (id 13)' \
        loads --image guest-image --size small=2:4096 --size large=16:65536 node cluster
    has "$(body ib-node-large)" '^VCPU = "16"$'
    has "$(body ib-cluster-small)" '"vm_template": 10,$'
    has "$(body ib-cluster-large)" '"vm_template": 12,$'
}

test_a_size_that_is_missing_is_made_beside_the_others() {
    front_end
    loads --image guest-image --size small=2:4096 node >/dev/null
    refuses 'which disk image' --size small=2:4096 --size large=16:65536 node
    prints 'left as it is: VM template ib-node-small (id 10)
created VM template ib-node-large (id 11)' loads --image guest-image --size small=2:4096 --size large=16:65536 node
}

test_a_size_that_is_none_is_refused() {
    front_end
    refuses 'is not \[NAME=\]CORES:MIB' --size 16
    refuses 'no number of cores' --size 0:4096
    refuses 'no number of cores' --size 2.5:4096
    refuses 'no number of MiB' --size 2:4G
    refuses 'is not a name' --size 1=2:4096
    refuses 'is not \[NAME=\]CORES:MIB' --size 'a" ]=2:4096'
    refuses 'is not \[NAME=\]CORES:MIB' --size 'a=2:4096 b=4:4096'
    refuses 'a name of its own' --size a=2:4096 --size a=4:4096
    refuses 'a name of its own' --size 2:4096 --size 4:4096
    nothing_is_made
}

test_the_service_is_in_the_form_of_6_10_that_7_reads_too() {
    front_end
    loads --image guest-image --access office node cluster >/dev/null
    has "$(body ib-cluster)" '^      "vm_template": 10,$'
    has "$(body ib-cluster)" '^    "Access": "M\|network\|[^|:]*\|\|id:2",$'
    has "$(body ib-cluster)" '^    "Cluster": "M\|network\|[^|:]*\|\|"$'
    # Sunstone of 6.10 drops all NICs of a role unless each of them is called NIC… and names a network of the service.
    # shellcheck disable=SC2016
    has "$(body ib-cluster)" '"vm_template_contents": "NIC = \[ NAME = \\"_NIC0\\", NETWORK_ID = \\"\$Access\\" \]\\nNIC = \[ NAME = \\"_NIC1\\", NETWORK_ID = \\"\$Cluster\\" \]\\nIB_HPC'
    has_not "$(body ib-cluster)" 'Storage|_NIC2'
}

test_the_cluster_comes_before_the_storage_in_each_machine() {
    front_end
    loads --image guest-image --servers 0x0002c90300aabbcc --storage-nic storage node cluster >/dev/null
    # shellcheck disable=SC2016
    has "$(body ib-cluster)" '_NIC1.", NETWORK_ID = ."\$Cluster." \].nNIC = \[ NAME = ."_NIC2.", NETWORK_ID = ."\$Storage.'
    has "$(body ib-cluster)" '"Storage": "M\|network\|[^|:]*\|\|id:10"'
    has "$(body ib-node)" '^SCHED_REQUIREMENTS = "IB_VFS_FREE > 1"$'
}

test_the_service_is_json() {
    front_end
    for options in '' --storage-nic '--onegate no --hpc no'; do
        rm -rf "$ONE_STATE/onevnet" "$ONE_STATE/onetemplate" "$ONE_STATE/oneflow-template"
        # shellcheck disable=SC2086 # words
        loads --image guest-image $options >/dev/null 2>&1
        is_json "$(body ib-cluster)"
    done
}

# Brackets and quotes alone: what a line that was left out would break.
is_json() {
    awk '
        { text = text $0 "\n" }
        END {
            gsub(/\\./, "", text)
            gsub(/"[^"\n]*"/, "s", text)
            gsub(/[ \n]/, "", text)
            gsub(/true|false|[0-9]+/, "s", text)
            do {
                before = text
                gsub(/\{(s:s(,s:s)*)?\}|\[(s(,s)*)?\]/, "s", text)
            } while (text != before)
            if (text != "s") { print "not JSON: " text; exit 1 }
        }' "$1" >"$work/judgement" || fail "$(cat "$work/judgement")"
}

test_the_service_needs_the_machine() {
    front_end
    refuses 'ib-cluster needs the VM template ib-node' cluster
    refuses 'needs the network ib-storage' --image guest-image --storage-nic node cluster
}

test_networks_lie_in_the_named_cluster() {
    front_end
    loads --in-cluster 'infiniband hosts' pool >/dev/null
    equal cluster "$(cat "$ONE_STATE/onevnet/10/cluster")" 'infiniband hosts'
}

test_a_driver_that_oned_does_not_know_is_refused() {
    front_end
    refuses 'no VN_MAD_CONF for commented' --vn-mad commented pool
    nothing_is_made
}

test_without_restrictions_nothing_is_made() {
    front_end
    restrictions_are 'warn  restrictions: 3 attributes by which tenants could choose whom they share a partition with are not restricted'
    refuses 'lets users choose P_Keys' pool
    nothing_is_made
}

test_what_cannot_be_checked_is_said() {
    front_end
    restrictions_are 'fail  credentials: no session'
    says 'could not ask oned: whether P_Keys are restricted is not checked' loads pool
    rm "$ONE_LOCATION/etc/oned.conf"
    says 'oned.conf cannot be read here: whether oned knows the driver infiniband is not checked' loads shared
}

test_a_user_who_is_no_administrator_is_refused() {
    front_end
    export ONE_USER=alice ONE_GROUPS='1 100'
    refuses 'alice is not in the group oneadmin' pool
    nothing_is_made
}

test_an_objects_name_is_looked_for_among_ones_own() {
    front_end
    there onevnet 5 ib-pool alice
    there oneflow-template 6 ib-cluster alice
    there onetemplate 7 ib-node oneadmin
    prints 'created network ib-pool (id 10)
created service template ib-cluster (id 11)' loads pool cluster
}

test_two_objects_of_one_name_are_refused() {
    front_end
    there onevnet 5 ib-pool oneadmin
    there onevnet 6 ib-pool oneadmin
    refuses 'there are several networks ib-pool' pool
    nothing_is_made
}

test_what_was_made_before_an_error_is_said() {
    front_end
    export ONE_FAILS='onetemplate create*'
    refuses "'onetemplate create .*told to fail" --image guest-image
    has "$work/errors" '^  network ib-pool \(id 10\)$'
    has "$work/errors" '^  network ib-storage \(id 12\)$'
    has_not "$ONE_STATE/calls" 'oneflow-template create'
}

test_a_network_that_its_driver_refused_is_an_error() {
    front_end
    export ONE_NET_STATE=5 ONE_NET_ERROR='pkeys are exhausted'
    refuses "ib-pool \(id 10\) is in state ERROR: pkeys are exhausted .*onevnet recover --retry 10" pool
    has "$work/errors" '^  network ib-pool \(id 10\)$'
}

test_a_network_without_a_key_is_said() {
    front_end
    export ONE_NET_KEY=
    says '^load: network ib-pool has no P_Key yet' loads pool
}

test_oneflow_that_does_not_answer_is_said_before_anything_is_made() {
    front_end
    export ONE_FAILS='oneflow-template *'
    refuses 'OneFlow does not answer: .*opennebula-flow.*load pool shared storage node' --image guest-image
    nothing_is_made
    prints 'created network ib-pool (id 10)
created VM template ib-node (id 11)' loads --image guest-image pool node
}

test_two_machines_of_one_name_are_refused_before_anything_is_made() {
    front_end
    there onetemplate 5 ib-node oneadmin
    there onetemplate 6 ib-node oneadmin
    refuses 'there are several VM templates ib-node' --image guest-image
    nothing_is_made
}

test_that_users_do_not_see_service_templates_in_sunstone_is_said_with_the_command() {
    front_end
    views=$ONE_LOCATION/etc/fireedge/sunstone/views
    for view in groupadmin/service groupadmin/service-template user/service; do
        echo 'actions:' | write "$views/$view-tab.yaml"
    done
    loads --image guest-image >/dev/null 2>"$work/errors"
    has "$work/errors" "^load: users see no service templates .*/share/install/sunstone-tabs' would$"
    has "$work/errors" "^  write $views/user/service-template-tab.yaml, a copy"
    [ ! -e "$views/user/service-template-tab.yaml" ] || fail "load has written it"
    says '^load: users see no service templates' loads --dry-run --image guest-image cluster
    loads pool node >/dev/null 2>"$work/errors"
    has_not "$work/errors" 'Sunstone'
    succeeds "$GUEST_TESTS/../../share/install/sunstone-tabs"
    loads cluster >/dev/null 2>"$work/errors"
    has_not "$work/errors" 'Sunstone'
}

# With no other directory in PATH: this machine may have OpenNebula.
test_opennebulas_commands_have_to_be_there() {
    front_end
    rm "$work/bin/oneflow-template"
    for command in "$GUEST_SHELL_COMMAND" awk cat dirname grep mktemp rm sed tr wc; do
        ln -s "$(command -v "$command")" "$work/bin/$command"
    done
    PATH=$work/bin
    refuses 'there is no oneflow-template' --image guest-image
    nothing_is_made
}

# load under the shell that is tested, and not the one of its first line.
case $GUEST_SHELL in
busybox) GUEST_SHELL_COMMAND='sh' ;;
*) GUEST_SHELL_COMMAND=$GUEST_SHELL ;;
esac
run_tests
