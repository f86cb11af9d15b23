# SPDX-License-Identifier: Apache-2.0
# Of OneGate's document of a service (in the lines of json.awk) the members of this VM's cluster, in the service's order: a line
# with tabs between
#
#   WHO       "self", or the VM's id
#   RUNS      1 or 0
#   SLOTS     its VCPUs
#   ADDRESS   in the cluster's network, as it is written there: IPv4, else IPv6
#   NAME      letters, digits and hyphens in lower case, beginning with a letter; no other member has it
#   SSH_KEY   what it has published; "-" without
#   HOST_KEY
#
#   awk -v vmid=N -f members.awk part=names NAMES part=service SERVICE
#
# NAMES are names that a member does not get as they are, a line each; "NAME own" only the others do not. Exit 3: this VM has no
# InfiniBand NIC; 4: it is not in the document.

BEGIN { FS = "\t" }

part == "names" {
    split($0, word, " ")
    taken[word[1]] = word[2] == "own" ? "own" : "always"
    next
}

# /SERVICE/roles/[R]/nodes/[N]/vm_info/VM/...
match($1, /^\/SERVICE\/roles\/\[[0-9]+\]\/nodes\/\[[0-9]+\]\/vm_info\/VM\//) {
    node = substr($1, 1, RLENGTH)
    if (!(node in is_node)) {
        is_node[node] = 1
        nodes[++count] = node
    }
    attribute = substr($1, RLENGTH + 1)
    if (attribute ~ /^TEMPLATE\/(NIC|PCI)\//)
        see_nic(node, attribute)
    value[node, attribute] = $2
}

END {
    for (i = 1; i <= count; i++)
        if (value[nodes[i], "ID"] == vmid)
            self = nodes[i]
    if (self == "")
        exit 4
    if (first_nic(self, "") == "")
        exit 3
    network = value[self, first_nic(self, "") "/NETWORK_ID"]
    for (i = 1; i <= count; i++)
        if (is_member(nodes[i])) {
            member[++members] = nodes[i]
            name[nodes[i]] = host_name(value[nodes[i], "NAME"])
        }
    tell_apart()
    for (i = 1; i <= members; i++)
        print_member(member[i])
}

# A VM with one NIC has NIC/KEY, one with several NIC/[N]/KEY.
function see_nic(node, attribute,    nic) {
    nic = attribute
    sub(/\/[^\/]*$/, "", nic)
    if (nic !~ /^TEMPLATE\/(NIC|PCI)(\/\[[0-9]+\])?$/ || (node, nic) in is_nic)
        return
    is_nic[node, nic] = 1
    nic_of[node, ++nics[node]] = nic
}

function is_infiniband(node, nic) {
    return value[node, nic "/VN_MAD"] == "infiniband" && value[node, nic "/NETWORK_ID"] ~ /^[0-9]+$/
}

# first_nic(NODE, NETWORK): its InfiniBand NIC with the lowest number, in this network, or in any when that is "".
function first_nic(node, network,    i, nic, id, least, first) {
    first = ""
    for (i = 1; i <= nics[node]; i++) {
        nic = nic_of[node, i]
        id = value[node, nic "/NIC_ID"]
        if (is_infiniband(node, nic) && id ~ /^[0-9]+$/ && (first == "" || id + 0 < least) &&
            (network == "" || value[node, nic "/NETWORK_ID"] == network)) {
            least = id + 0
            first = nic
        }
    }
    return first
}

# State 6 is DONE: its addresses may be another's by now.
function is_member(node) {
    return value[node, "ID"] ~ /^[0-9]+$/ && length(value[node, "ID"]) <= 10 && value[node, "STATE"] != "6" &&
        address_in(node, network) != ""
}

function address_in(node, network,    nic, address) {
    nic = first_nic(node, network)
    address = value[node, nic "/IP"]
    if (address == "")
        address = value[node, nic "/IP6_GLOBAL"]
    if (address == "")
        address = value[node, nic "/IP6"]
    if (address == "")
        address = value[node, nic "/IP6_ULA"]
    return address ~ /^[0-9A-Fa-f.:]+$/ ? address : ""
}

# Room is left for a hyphen and an id: a label of a host name has 63 characters. A name that begins with a digit could be read
# as an address (inet_aton takes 2130706433 for 127.0.0.1).
function host_name(text) {
    sub(/_\(service_[0-9]+\)$/, "", text)
    text = tolower(text)
    gsub(/[^a-z0-9]+/, "-", text)
    sub(/^-/, "", text)
    if (text !~ /^[a-z]/)
        text = "vm-" text
    text = substr(text, 1, 52)
    sub(/-$/, "", text)
    return text
}

# Everybody whose name is taken, or somebody else's too, gets its id behind it, and that may be a third one's name. Names with
# an id differ by it, so this ends.
function tell_apart(    i, again, holders) {
    do {
        again = 0
        split("", holders)
        for (i = 1; i <= members; i++)
            holders[name[member[i]]]++
        for (i = 1; i <= members; i++)
            if (!(member[i] in numbered) && (holders[name[member[i]]] > 1 || is_taken(member[i]))) {
                numbered[member[i]] = 1
                name[member[i]] = name[member[i]] "-" value[member[i], "ID"]
                again = 1
            }
    } while (again)
}

function is_taken(node) {
    if (!(name[node] in taken) || name[node] ~ /^(localhost|ip6-)/)
        return name[node] ~ /^(localhost|ip6-)/
    return node != self || taken[name[node]] != "own"
}

# ACTIVE, and a state of it in which the guest runs: RUNNING, MIGRATE, HOTPLUG and its kinds, DISK_SNAPSHOT, DISK_RESIZE,
# HOTPLUG_RESIZE, BACKUP (OpenNebula's VirtualMachine.h). A state that this list does not know is none.
function runs(node) {
    return value[node, "STATE"] == "3" && value[node, "LCM_STATE"] ~ /^(3|4|17|24|25|26|57|59|62|66|69)$/
}

function slots(node,    vcpus) {
    vcpus = value[node, "TEMPLATE/VCPU"]
    return vcpus ~ /^[1-9][0-9]?[0-9]?[0-9]?$/ ? vcpus : 1
}

function published(node, attribute,    text) {
    text = value[node, "USER_TEMPLATE/" attribute]
    return text == "" ? "-" : text
}

function print_member(node) {
    printf "%s\t%d\t%d\t%s\t%s\t%s\t%s\n", (node == self ? "self" : value[node, "ID"]), (node == self || runs(node)),
        slots(node), address_in(node, network), name[node], published(node, "ONEIB_SSH_KEY"), published(node, "ONEIB_HOST_KEY")
}
