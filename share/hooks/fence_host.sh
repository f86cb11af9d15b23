#!/bin/sh
# OpenNebula's remotes/hooks/ft/fence_host.sh, for hosts with InfiniBand: its hook host_error.rb gives it the host's
# document in base64 on standard input, and starts the host's VMs elsewhere only when it ends with 0. It runs as oneadmin on
# the front-end.
#
# The host is cut off from the fabric (oneib fence). That is no power fencing: what runs on the host runs on, with its disks
# and its Ethernet. Put your own power fencing, as OpenNebula's own file shows it, where the last lines say.

if [ -n "$ONE_LOCATION" ]; then
    xpath=$ONE_LOCATION/var/remotes/datastore/xpath.rb
else
    xpath=/var/lib/one/remotes/datastore/xpath.rb
fi

# One that was cut off may name another host.
if ! document=$(base64 -d); then
    echo "standard input is no base64" >&2
    exit 1
fi
name=$(printf '%s\n' "$document" | "$xpath" /HOST/NAME | tr -d '\000')
if [ -z "$name" ]; then
    echo "standard input names no host" >&2
    exit 1
fi

oneib fence -- "$name" || exit 1

# Power fencing comes here: `|| exit 1` behind each of its commands, too.

exit 0
