# SPDX-License-Identifier: Apache-2.0
# The placer "ib": OpenNebula's own one_sched, its placer "rank", and what oneib leaves that one.

# By name: the leaf that oneibd says the host is at.
def leaves
  Suite.oneadmin.document('hostpool.info').elements.to_a('HOST').to_h do |host|
    [host.elements['NAME'].text, host.elements['TEMPLATE/IB_SWITCH']&.text]
  end
end

def waiting(network, count)
  (1..count).map { admin.vm(network, more: 'SCHED_REQUIREMENTS = "IB_VFS_FREE > 0"', hold: false) }
end

def has_placers?
  File.directory?("#{Suite.front_end.remotes}/scheduler/rank")
end

# By itself "rank" takes the emptiest hosts, the last ones of them.
check 'VMs of a cluster come to the leaf where it runs' do
  next unless has_placers?

  network = admin.network('near')
  first_host = leaves.keys.min
  first = admin.running(network, on: first_host)
  vms = waiting(network, 3)
  await_each(vms, :running)
  must("they are on #{vms.map(&:host).join(', ')}, and the first is on #{first_host}") do
    vms.all? { |vm| leaves[vm.host] == leaves[first_host] }
  end
  see(**[first, *vms].to_h { |vm| [vm, [network.key]] })
end

check 'VMs of a network that is to be spread come to all leaves' do
  next unless has_placers?

  network = admin.network('apart', 'IB_PLACEMENT = "spread"')
  vms = waiting(network, leaves.values.uniq.size)
  await_each(vms, :running)
  must("they are on #{vms.map(&:host).join(', ')}") { vms.map { |vm| leaves[vm.host] }.uniq.size == vms.size }
  see(**vms.to_h { |vm| [vm, [network.key]] })
end
