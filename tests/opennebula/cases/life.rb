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

check 'two networks do not reach each other, one network is one on all hosts' do
  blue = admin.network('blue')
  green = admin.network('green')
  one = admin.running(blue, on: 'H1')
  two = admin.running(blue, on: 'H5')
  other = admin.running(green, on: 'H1')
  must('two networks have one key') { blue.key != green.key }
  see(one => [blue.key], two => [blue.key], other => [green.key])
end
