# SPDX-License-Identifier: Apache-2.0
# A VM's life, step by step as its owner takes it.

check 'a VM reaches its network from running until it has ended' do
  blue = admin.network('blue')
  vm = admin.vm(blue)
  see_nothing
  vm.deploy('H1').await(:running)
  see(vm => [blue.key])
  vm.act('terminate').await(:done)
  see_nothing
end

check 'a NIC is attached and detached while the VM runs' do
  blue = admin.network('blue')
  green = admin.network('green')
  vm = admin.running(blue, on: 'H1')
  vm.attach(green).await(:running)
  see(vm => [blue.key, green.key])
  vm.detach(1).await(:running)
  see(vm => [blue.key])
end

check 'powered off it reaches nobody, resumed its network again' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H2')
  vm.act('poweroff').await(:poweroff)
  see_nothing
  vm.act('resume').await(:running)
  see(vm => [blue.key])
end

check 'suspended it reaches nobody, resumed its network again' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H2')
  vm.act('suspend').await(:suspended)
  see_nothing
  vm.act('resume').await(:running)
  see(vm => [blue.key])
end

check 'rebooted and reset it keeps its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H2')
  { 'reboot' => 'reboot', 'reboot-hard' => 'reset' }.each do |asked, action|
    vm.act(asked)
    seen_within(10) { must("#{action} was not called") { node('H2').calls.last == action } }
    see(vm => [blue.key])
  end
end

check 'a snapshot is taken and gone back to: the VM keeps its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H2')
  vm.call('vm.snapshotcreate', 'before').await(:running)
  see(vm => [blue.key])
  vm.call('vm.snapshotrevert', 0).await(:running)
  see(vm => [blue.key])
end

check 'a guest that switches itself off reaches nobody; resumed, its network again' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H2')
  node('H2').guest_ends(vm.id)
  vm.await(:poweroff)
  see_nothing
  vm.act('resume').await(:running)
  see(vm => [blue.key])
end

# OpenNebula calls nobody then.
check 'a guest that switched itself off is terminated: nothing is left, its function is another VM\'s' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H2')
  node('H2').guest_ends(vm.id)
  vm.await(:poweroff)
  vm.act('terminate').await(:done)
  see_nothing
  others = (1..7).map { admin.running(blue, on: 'H2') }
  see(**others.to_h { |other| [other, [blue.key]] })
end

check 'deployed anew by recover --recreate it reaches its network again' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H2', more: 'SCHED_REQUIREMENTS = "NAME = nowhere"') # the scheduler leaves it alone
  vm.recover(:recreate).await(:pending, :hold)
  see_nothing
  vm.deploy('H3').await(:running)
  see(vm => [blue.key])
end

check 'two networks do not reach each other, one network is one on all hosts' do
  blue = admin.network('blue')
  green = admin.network('green')
  one = admin.running(blue, on: 'H1')
  two = admin.running(blue, on: 'H5')
  other = admin.running(green, on: 'H1')
  must('two networks have one key') { blue.key != green.key }
  see(one => [blue.key], two => [blue.key], other => [green.key])
end
