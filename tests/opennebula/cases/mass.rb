# SPDX-License-Identifier: Apache-2.0
# As many VMs at once as there are functions (8 hosts with 7), and more.

MASS = 56
HOST_NAMES = (1..8).map { |i| "H#{i}" }.freeze

def start_at_once(count, networks)
  vms = (0...count).map { |i| admin.vm(networks[i % networks.size]) }
  vms.each_with_index { |vm, i| vm.deploy(HOST_NAMES[i % 8]) }
  vms
end

def await_each(vms, *states)
  Suite.eventually("#{vms.size} VMs are #{states.join(' or ')}", 600) do
    left = vms.map(&:state).reject { |state| states.include?(state) }
    next if left.empty?

    sleep 1 # asking costs oned, which has enough to do
    raise "others: #{left.tally}"
  end
end

check '56 VMs of four networks start on 56 functions at once, and end at once' do
  networks = (1..4).map { |i| admin.network("mass#{i}") }
  vms = start_at_once(MASS, networks)
  await_each(vms, :running)
  see(within: 30, **vms.each_with_index.to_h { |vm, i| [vm, [networks[i % 4].key]] })
  vms.each { |vm| vm.act('terminate-hard') }
  await_each(vms, :done)
  see_nothing
end

check 'of 60 VMs on 56 functions 56 run, 4 are refused with the reason, and start when others have ended' do
  network = admin.network('mass')
  vms = start_at_once(60, [network])
  await_each(vms, :running, :boot_failure)
  running, refused = vms.partition { |vm| vm.state == :running }
  must("#{running.size} run") { running.size == MASS }
  refused.each do |vm|
    reason = vm.document.elements['USER_TEMPLATE/ERROR'].text
    must("the reason is: #{reason}") { reason.include?('virtual function') }
  end
  see(within: 30, **running.to_h { |vm| [vm, [network.key]] })
  hosts = refused.map(&:host)
  ending = hosts.map { |host| running.find { |vm| vm.host == host } }
  ending.each { |vm| vm.act('terminate-hard') }
  await_each(ending, :done)
  refused.each { |vm| vm.recover(:retry) }
  await_each(refused, :running)
  see(within: 30, **(vms - ending).to_h { |vm| [vm, [network.key]] })
end

check 'the scheduler places VMs by the functions that hosts have left' do
  network = admin.network('scheduled')
  vms = (1..3).map { admin.vm(network, more: 'SCHED_REQUIREMENTS = "IB_VFS_FREE > 0"', hold: false) }
  await_each(vms, :running)
  see(**vms.to_h { |vm| [vm, [network.key]] })
end
