# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# What oned 7.4 writes about a VM, as it was recorded, with the lab's values, and without what nobody here reads. The VM
# is described by: id, machine, options (of its kernel), deploy_id, host (of its last history record), and
# nics, lines of NIC id, VLAN_ID and IP; attached: id of the NIC that an attach or detach is about; disk, an element.
# shellcheck disable=SC2154
folder_of() { # VM
    echo "/var/lib/one//datastores/0/$1"
}

# As OpenNebula makes them: 02:00 and the IP.
mac_of() { # IP
    echo "$1" | awk -F . '{ printf "02:00:%02x:%02x:%02x:%02x\n", $1, $2, $3, $4 }'
}

# Its VMs' UUIDs are random; here they tell the VM.
uuid_of() { # VM
    printf '6f6e6569-6200-4766-8d00-%012d\n' "$1"
}

nic() { # NIC-ID VLAN-ID IP
    attach=''
    [ "$1" != "$attached" ] || attach='<ATTACH><![CDATA[YES]]></ATTACH>'
    cat <<END
<NIC><AR_ID><![CDATA[0]]></AR_ID>$attach<BRIDGE_TYPE><![CDATA[none]]></BRIDGE_TYPE>
<CLUSTER_ID><![CDATA[0]]></CLUSTER_ID><IP><![CDATA[$3]]></IP><MAC><![CDATA[$(mac_of "$3")]]></MAC>
<NAME><![CDATA[NIC$1]]></NAME><NETWORK><![CDATA[hpc$2]]></NETWORK><NETWORK_ID><![CDATA[$2]]></NETWORK_ID>
<NIC_ID><![CDATA[$1]]></NIC_ID><PHYDEV><![CDATA[mlx5_0]]></PHYDEV><SECURITY_GROUPS><![CDATA[0]]></SECURITY_GROUPS>
<TARGET><![CDATA[one-$id-$1]]></TARGET><VLAN_ID><![CDATA[$2]]></VLAN_ID><VN_MAD><![CDATA[infiniband]]></VN_MAD></NIC>
END
}

ethernet_nic() {
    cat <<END
<NIC><AR_ID><![CDATA[0]]></AR_ID><BRIDGE><![CDATA[onebr0]]></BRIDGE><BRIDGE_TYPE><![CDATA[linux]]></BRIDGE_TYPE>
<CLUSTER_ID><![CDATA[0]]></CLUSTER_ID><IP><![CDATA[10.10.0.$id]]></IP><MAC><![CDATA[$(mac_of "10.10.0.$id")]]></MAC>
<NAME><![CDATA[NIC0]]></NAME><NETWORK><![CDATA[ethernet]]></NETWORK><NETWORK_ID><![CDATA[0]]></NETWORK_ID>
<NIC_ID><![CDATA[0]]></NIC_ID><SECURITY_GROUPS><![CDATA[0]]></SECURITY_GROUPS>
<TARGET><![CDATA[one-$id-0]]></TARGET><VN_MAD><![CDATA[dummy]]></VN_MAD></NIC>
END
}

# each_nic FUNCTION: calls it for each of ours.
each_nic() {
    printf '%s\n' "$nics" | while read -r nic_id vlan ip; do
        [ -z "$nic_id" ] || "$1" "$nic_id" "$vlan" "$ip"
    done
}

context='<CONTEXT><DISK_ID><![CDATA[1]]></DISK_ID><NETWORK><![CDATA[YES]]></NETWORK></CONTEXT>'

nic_in_its_template() {
    echo '<TEMPLATE>'
    nic "$@"
    echo '</TEMPLATE>'
}

record() { # ELEMENT VALUE
    echo "<HISTORY_RECORDS><HISTORY><$1>$2</$1></HISTORY></HISTORY_RECORDS>"
}

# For the network driver, which gets it in base64 on one line.
reduced_vm() {
    cat <<END
<VM><ID>$id</ID><DEPLOY_ID>$deploy_id</DEPLOY_ID><TEMPLATE>$context</TEMPLATE><USER_TEMPLATE/>
$(record HOSTNAME "$host")$(record HID "${host#node}")$(record DS_ID 0)$(record VM_MAD '<![CDATA[kvm-ib]]>')
<TEMPLATE>$(ethernet_nic)</TEMPLATE>$(each_nic nic_in_its_template)</VM>
END
}

# What deploy finds in vm.xml.
full_vm() {
    cat <<END
<VM><ID>$id</ID><UID>0</UID><GID>0</GID><UNAME>oneadmin</UNAME><GNAME>oneadmin</GNAME><NAME>lab-$id</NAME>
<LAST_POLL>0</LAST_POLL><STATE>3</STATE><LCM_STATE>3</LCM_STATE><DEPLOY_ID>$deploy_id</DEPLOY_ID><MONITORING/>
<TEMPLATE>$context<CPU><![CDATA[0.1]]></CPU><MEMORY><![CDATA[128]]></MEMORY>$(ethernet_nic)
$(each_nic nic)<OS><MACHINE><![CDATA[$machine]]></MACHINE></OS><VMID><![CDATA[$id]]></VMID></TEMPLATE><USER_TEMPLATE/>
<HISTORY_RECORDS><HISTORY><OID>$id</OID><SEQ>0</SEQ><HOSTNAME>$host</HOSTNAME><HID>${host#node}</HID>
<VM_MAD><![CDATA[kvm-ib]]></VM_MAD><TM_MAD><![CDATA[ssh]]></TM_MAD><DS_ID>0</DS_ID></HISTORY></HISTORY_RECORDS></VM>
END
}

datastore() {
    cat <<END
<DATASTORE><ID>0</ID><NAME>system</NAME><TM_MAD><![CDATA[ssh]]></TM_MAD>
<BASE_PATH><![CDATA[/var/lib/one//datastores/0]]></BASE_PATH><TEMPLATE><SHARED><![CDATA[YES]]></SHARED></TEMPLATE></DATASTORE>
END
}

# action_data HOST [DESTINATION]: for all actions of the virtualization driver but deploy.
action_data() {
    cat <<END
<VMM_DRIVER_ACTION_DATA><HOST>$1</HOST><MIGR_HOST>${2-}</MIGR_HOST><DEPLOY_ID>$deploy_id</DEPLOY_ID>
<LOCAL_DEPLOYMENT_FILE/><REMOTE_DEPLOYMENT_FILE/><CHECKPOINT_FILE>$(folder_of "$id")/checkpoint</CHECKPOINT_FILE>
<TM_COMMAND/><TM_COMMAND_ROLLBACK/><DISK_TARGET_PATH>$(folder_of "$id")</DISK_TARGET_PATH>
$(full_vm)$(datastore)</VMM_DRIVER_ACTION_DATA>
END
}

interface() { # NIC-ID VLAN-ID IP
    cat <<END
		<interface type='ethernet'>
			<mac address='$(mac_of "$3")'/>
			<target dev='one-$id-$1'/>
			<model type='virtio'/>
		</interface>
END
}

controllers() {
    echo "		<controller index='0' type='pci' model='pcie-root'/>"
    for port in $(seq 16); do
        echo "		<controller type='pci' index='$port' model='pcie-root-port'/>"
    done
    echo "		<controller type='pci' index='17' model='pcie-to-pci-bridge'/>"
}

# Standard input of deploy. Its console is what RAW would add.
domain() {
    cat <<END
<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>
	<name>one-$id</name>
	<title>lab-$id</title>
	<uuid>$(uuid_of "$id")</uuid>
	<vcpu><![CDATA[1]]></vcpu>
	<cputune>
		<shares>103</shares>
	</cputune>
	<memory>131072</memory>
	<os>
		<type arch='x86_64' machine='$machine'>hvm</type>
		<kernel><![CDATA[/lab/guest/vmlinuz]]></kernel>
		<initrd><![CDATA[/lab/guest/initrd]]></initrd>
		<cmdline><![CDATA[console=ttyS0 rdinit=/init quiet no_timer_check $options]]></cmdline>
	</os>
	<cpu mode='host-passthrough'/>
	<devices>
$disk
		<controller type='scsi' index='0' model='virtio-scsi'>
			<driver queues='1'/>
		</controller>
		<interface type='bridge'>
			<source bridge='onebr0'/>
			<mac address='$(mac_of "10.10.0.$id")'/>
			<target dev='one-$id-0'/>
			<model type='virtio'/>
		</interface>
$(each_nic interface)
$([ "$machine" != q35 ] || controllers)
	</devices>
	<features>
		<acpi/>
	</features>
	<devices>
		<channel type='unix'>
			<source mode='bind'/><target type='virtio' name='org.qemu.guest_agent.0'/>
		</channel>
		<serial type='file'><source path='/var/lib/one/one-$id.console'/></serial>
	</devices>
	<metadata>
		<one:vm xmlns:one="http://opennebula.org/xmlns/libvirt/1.0">
			<one:system_datastore><![CDATA[$(folder_of "$id")]]></one:system_datastore>
			<one:name><![CDATA[lab-$id]]></one:name>
		</one:vm>
	</metadata>
</domain>
END
}
