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

check 'a cold migration to a host without a free function leaves the VM saved; tried again when one is free it runs' do
  full = (1..7).map { |i| admin.network("n#{i}") }
  filling = admin.running(*full, on: 'H6')
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.migrate('H6', live: false).await(:boot_migrate_failure)
  must("the log does not say why: #{vm.log}") { vm.log.include?('has no free virtual function') }
  see(filling => full.map(&:key))
  filling.act('terminate').await(:done)
  vm.recover(:retry).await_on('H6', :running)
  must('it was not restored') { vm.steps.last(3).include?('restore') }
  see(vm => [blue.key])
end

# OpenNebula cleans up behind it, on the host where it has just arrived. 6.10 refuses to do it live, and changes nothing.
%w[live cold].each do |kind|
  check "#{kind} migration to another datastore of the same host: the VM keeps its network" do
    blue = admin.network('blue')
    vm = admin.running(blue, on: 'H1')
    driver = Suite.oneadmin.document('datastore.info', 0, false).elements['TM_MAD'].text
    another = Suite.oneadmin.call('datastore.allocate', "NAME=another TYPE=SYSTEM_DS TM_MAD=#{driver}", -1).to_i
    begin
      vm.migrate('H1', live: kind == 'live', datastore: another)
      Suite.eventually('the VM has moved', 90) { vm.datastore == another or raise "it is in datastore #{vm.datastore}" }
    rescue Refused => e
      raise unless e.message.include?('cannot be performed live')
    end
    vm.await_on('H1', :running)
    see(vm => [blue.key])
    vm.act('terminate').await(:done)
    see_nothing
  ensure
    Suite.oneadmin.call('datastore.delete', another) if another
  end
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
