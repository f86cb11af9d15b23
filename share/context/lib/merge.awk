# SPDX-License-Identifier: Apache-2.0
# What is known after a context that was cut off. Input: part=was and what was known before, then part=said and what it says; both
# NAME='value', a line each, as context.awk writes them. What it says counts, and what it does not say stays. But of a NIC that has
# another MAC than before nothing stays: it is another NIC.
{
    name = substr($0, 1, index($0, "=") - 1)
    nic = name ~ /^(ETH|PCI)[0-9]+_/ ? substr(name, 1, index(name, "_")) : ""
}
part == "was" {
    was[name] = $0
    nic_of[name] = nic
}
part == "said" {
    if (nic != "" && name == nic "MAC" && (name in was) && was[name] != $0)
        is_another[nic]
    said[name] = $0
}
!(name in seen) {
    seen[name]
    order[++names] = name
}
END {
    for (i = 1; i <= names; i++) {
        name = order[i]
        if (name in said)
            print said[name]
        else if (!(nic_of[name] in is_another))
            print was[name]
    }
}
