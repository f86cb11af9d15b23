# SPDX-License-Identifier: Apache-2.0
# From host to host.

check 'live migration: the source is closed, the destination open' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.migrate('H6', live: true).await_on('H6', :running)
  see(vm => [blue.key])
end

check 'cold migration: the source is closed, the destination open' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.migrate('H6', live: false).await_on('H6', :running)
  see(vm => [blue.key])
end

check 'migrated while it is powered off it starts on the other host' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.act('poweroff').await(:poweroff)
  vm.migrate('H3', live: false).await_on('H3', :poweroff)
  see_nothing
  vm.act('resume').await_on('H3', :running)
  see(vm => [blue.key])
end

check 'stopped it leaves its host, and is deployed on another one' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.act('stop').await(:stopped)
  see_nothing
  vm.act('resume').await(:pending)
  vm.deploy('H4').await(:running)
  see(vm => [blue.key])
end

check 'undeployed it leaves its host, and is deployed on another one' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.act('undeploy').await(:undeployed)
  see_nothing
  vm.act('resume').await(:pending)
  vm.deploy('H4').await(:running)
  see(vm => [blue.key])
end

check 'a VM with two networks takes both along, beside others that stay' do
  blue = admin.network('blue')
  green = admin.network('green')
  vm = admin.running(blue, green, on: 'H1')
  stays = admin.running(green, on: 'H1')
  vm.migrate('H2', live: true).await_on('H2', :running)
  see(vm => [blue.key, green.key], stays => [green.key])
end
