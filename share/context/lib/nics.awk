# SPDX-License-Identifier: Apache-2.0
# Which NIC each IPoIB interface is. Input, one fact a line, every word checked before:
#
#   vmid XXXXXXXX                     the VM's id as it stands in a GUID, if the context has it
#   nic NAME IPV4 PCI MAC IPV6        a NIC of the context; what it does not have is -; IPV6 is yes or -
#   mac MAC                           an Ethernet interface of this machine
#   dummy INDEX IPV4 NAME             a dummy interface, the lowest index first
#   ipoib NAME GUID PCI PORT          an IPoIB interface
#
# Output, a line for each IPoIB interface: NAME GUID NIC INDEX IPV4 RULE. RULE tells how it was found: guid, pci, order; port
# (another port of an adapter whose InfiniBand NIC is at one of its ports) or - when it was not. IPV4 is the dummy interface's.

$1 == "vmid" { vmid = $2 }
$1 == "mac" { ethernet[tolower($2)] = 1 }
$1 == "nic" {
    nics[++nic_count] = $2
    ip[$2] = $3
    pci[$2] = with_domain(tolower($4))
    mac[$2] = tolower($5)
    ipv6[$2] = $6 == "yes"
}
$1 == "dummy" {
    dummy_index[++dummies] = $2
    dummy_ip[dummies] = $3
}
$1 == "ipoib" {
    name[++count] = $2
    guid[count] = $3
    place[count] = tolower($4)
    port[count] = $5
}

END {
    choose_ports()
    by_guid()
    by_pci_address()
    take_dummies_of_named()
    by_order()
    for (i = 1; i <= count; i++)
        print name[i], guid[i], said(nic[i]), said(index_of[i]), said(address[i]), said(rule[i])
}

function said(text) { return text == "" ? "-" : text }

function with_domain(text) { return text ~ /^[0-9a-f]+:[0-9a-f]+\.[0-7]$/ ? "0000:" text : text }

function is_ours(i) { return substr(guid[i], 1, 2) == "02" && (vmid == "" || substr(guid[i], 7, 8) == vmid) }

# An adapter with two ports is two interfaces at one PCI address, and oneib closes all ports but the one of the NIC. That one
# has a GUID of ours; without any, it is taken for the first.
function choose_ports(    i, j) {
    for (i = 1; i <= count; i++) {
        if (place[i] == "-")
            continue
        j = chosen[place[i]]
        if (!j || is_ours(i) > is_ours(j) || (is_ours(i) == is_ours(j) && port[i] + 0 < port[j] + 0))
            chosen[place[i]] = i
    }
    for (i = 1; i <= count; i++)
        if (place[i] != "-" && chosen[place[i]] != i)
            rule[i] = "port"
}

function give(i, which, how) {
    nic[i] = which
    rule[i] = how
    given[which] = 1
}

# oneib gives a VF the GUID of its NIC, whatever address the guest has for it.
function by_guid(    i, which) {
    for (i = 1; i <= count; i++) {
        if (!is_ours(i))
            continue
        which = "ETH" byte(substr(guid[i], 15, 2))
        if ((which in ip) && !given[which] && (ip[which] != "-" || ipv6[which] || mac[which] != "-"))
            give(i, which, "guid")
    }
}

function byte(hex) {
    return (index("0123456789abcdef", substr(hex, 1, 1)) - 1) * 16 + index("0123456789abcdef", substr(hex, 2, 1)) - 1
}

function by_pci_address(    i, n) {
    for (n = 1; n <= nic_count; n++)
        for (i = 1; i <= count; i++)
            if (pci[nics[n]] != "-" && place[i] == pci[nics[n]] && rule[i] == "" && !given[nics[n]])
                give(i, nics[n], "pci")
}

# Two networks may have given this VM the same address: each interface takes one dummy.
function take_dummies_of_named(    i, d, wanted) {
    for (i = 1; i <= count; i++) {
        if (nic[i] == "")
            continue
        wanted = ip[nic[i]] == "-" ? "0.0.0.0" : ip[nic[i]]
        for (d = 1; d <= dummies; d++)
            if (!taken[d] && dummy_ip[d] == wanted) {
                take(i, d)
                break
            }
    }
}

function take(i, d) {
    taken[d] = 1
    index_of[i] = dummy_index[d]
    address[i] = dummy_ip[d]
}

function by_order(    i, d) {
    d = 1
    while ((i = highest_left()) != 0) {
        while (d <= dummies && taken[d])
            d++
        if (d > dummies)
            return
        rule[i] = "order"
        take(i, d)
        without_ipv4 += address[i] == "0.0.0.0"
    }
    for (i = 1; i <= count; i++)
        if (rule[i] == "order")
            nic_by_address(i)
}

function highest_left(    i, best) {
    for (i = 1; i <= count; i++)
        if (rule[i] == "" && (!best || is_higher(place[i], place[best])))
            best = i
    return best + 0
}

# "-" is below every PCI address.
function is_higher(one, other) { return one "" > other "" }

# The one NIC with the dummy interface's address; for a dummy interface without an IPv4 address the one NIC with IPv6 alone, when
# there is one such interface. A NIC whose MAC an Ethernet interface has is that interface's.
function nic_by_address(i,    n, which, found) {
    if (address[i] == "0.0.0.0" && without_ipv4 > 1)
        return
    for (n = 1; n <= nic_count; n++) {
        which = nics[n]
        if (given[which] || (mac[which] in ethernet))
            continue
        if (address[i] == "0.0.0.0" ? ip[which] == "-" && ipv6[which] : ip[which] == address[i]) {
            if (found != "")
                return
            found = which
        }
    }
    if (found != "")
        give(i, found, "order")
}
