# SPDX-License-Identifier: Apache-2.0
# oned and oneibd end in the middle.

def without_oneibd(signal)
  Suite.fabric.tell('oneibd', 'stop', signal)
  yield
ensure
  Suite.fabric.tell('oneibd', 'start')
end

%w[TERM KILL].each do |signal|
  check "oned ended by SIG#{signal}: what is in force stays, and the next change is followed when it is back" do
    blue = admin.network('blue')
    vm = admin.running(blue, on: 'H1')
    key = blue.key
    Suite.front_end.kill(signal)
    for_a_while(5) do
      must('the VM does not reach its network') { node('H1').reach[vm.id] == [key] }
      must('the port does not hold the key') { node('H1').port_keys == [key] }
    end
    Suite.front_end.start
    see(vm => [blue.key])
    vm.act('poweroff').await(:poweroff)
    see_nothing
  end

  check "oneibd ended by SIG#{signal}: a VM that ends is closed at once, its key leaves the port when oneibd is back" do
    blue = admin.network('blue')
    vm = admin.running(blue, on: 'H1')
    without_oneibd(signal) do
      vm.act('poweroff').await(:poweroff)
      see_open('H1')
      must('the key has left the port') { node('H1').port_keys == [blue.key] }
    end
    see_nothing
  end
end

check 'without oneibd a VM does not start and nothing is open; with it, it starts when it is tried again' do
  blue = admin.network('blue')
  vm = admin.vm(blue)
  without_oneibd('TERM') do
    vm.deploy('H1').await(:boot_failure)
    see_open('H1')
  end
  vm.recover(:retry).await(:running)
  see(vm => [blue.key])
end

# OpenNebula waits for the answer of a driver that is gone, until somebody says how it went.
{ failure: 'failed', success: 'worked' }.each do |operation, word|
  check "oned killed while a NIC is attached, which is then said to have #{word}: the VM reaches nothing else than it has" do
    blue = admin.network('blue')
    green = admin.network('green')
    vm = admin.running(blue, on: 'H1')
    vm.attach(green)
    Suite.front_end.kill('KILL')
    Suite.front_end.start
    vm.recover(operation) if vm.await(:hotplug_nic, :running).state == :hotplug_nic
    vm.await(:running)
    keys = { blue.id => blue.key, green.id => green.key }
    seen_within(30) do
      has = vm.nics.values.map { |nic| keys.fetch(nic.elements['NETWORK_ID'].text.to_i) }
      reached = node('H1').reach[vm.id]
      must("it reaches #{reached.inspect} and has #{has.inspect}") { reached.include?(blue.key) && (reached - has).empty? }
    end
  end
end
