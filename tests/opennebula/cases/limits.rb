# SPDX-License-Identifier: Apache-2.0
# Names and numbers at their limits.

['quote " and \' and \\', '$(touch /tmp/x) `id` ; | &', '<b>&amp;]]>', "Größe 日本 \u202e", 'n' * 128].each_with_index do |name, i|
  check "a network whose name is odd (#{i + 1}) is a network" do
    text = "#{name}#{i}"[0, 128]
    id = Suite.oneadmin.call('vn.allocate', "<TEMPLATE><NAME>#{text.gsub('&', '&amp;').gsub('<', '&lt;').gsub('>', '&gt;')}" \
                                            '</NAME><VN_MAD>infiniband</VN_MAD><AR><TYPE>IP4</TYPE><IP>10.64.0.1</IP>' \
                                            '<SIZE>10</SIZE></AR></TEMPLATE>', -1).to_i
    network = made_network(Network.new(Suite.oneadmin, id)).await_ready
    vm = admin.running(network, on: 'H1')
    see(vm => [network.key])
  rescue Refused => e
    must("it is refused so: #{e.message}") { e.message.include?('NAME') }
  end
end

['2044', '4092', '65535', '0', '-1', 'large', '99999999999'].each do |mtu|
  check "an MTU of #{mtu} keeps nobody from the network" do
    network = admin.network('mtu', "MTU = \"#{mtu}\"")
    vm = admin.running(network, on: 'H1')
    see(vm => [network.key])
  rescue Refused => e
    must("it is refused so: #{e.message}") { e.message.include?('MTU') }
  end
end

check 'a VM has as many NICs as its host has functions' do
  networks = (1..7).map { |i| admin.network("n#{i}") }
  vm = admin.running(*networks, on: 'H1')
  see(vm => networks.map(&:key))
end

[8, 64].each do |count|
  check "a VM with #{count} NICs is refused by a host with 7 functions, with the reason; nothing is open" do
    network = admin.network('many')
    vm = admin.vm(*[network] * count).deploy('H1').await(:boot_failure, within: 60)
    reason = vm.document.elements['USER_TEMPLATE/ERROR'].text
    must("the reason is: #{reason}") { reason.include?('infiniband') && reason.include?('virtual function') }
    see_open('H1')
  end
end

check 'a network on an adapter that hosts have works' do
  network = admin.network('adapter', 'PHYDEV = "mlx4_0"')
  vm = admin.running(network, on: 'H1')
  see(vm => [network.key])
end

['mlx4_7', 'mlx4_0:2', 'nonsense', '../../etc', '$(id)'].each do |adapter|
  check "a network on the adapter #{adapter} starts no VM, with the reason; nothing is open" do
    network = admin.network('adapter', "PHYDEV = \"#{adapter}\"")
    vm = admin.vm(network).deploy('H1').await(:boot_failure)
    log = vm.log
    must('the log does not name who says why') { log.include?('\'oneib show\'') }
    said = Suite.fabric.oneib('show', network.id).last
    must("oneib show says: #{said}") { said.match?(/VM #{vm.id}\b|^\s*#{vm.id}\b/) && said.include?('PHYDEV') }
    see_nothing
  end
end

check 'a user\'s NIC names no adapter that the network does not' do
  network = admin.pool('PHYDEV = "mlx4_0"')
  alice = user('alice')
  vm = alice.vm(more: "NIC = [ NETWORK_ID = \"#{network.id}\", PHYDEV = \"mlx4_7\" ]")
  must("it says #{vm.nics[0].elements['PHYDEV'].text}") { vm.nics[0].elements['PHYDEV'].text == 'mlx4_0' }
rescue Refused
  nil
end

check 'an operator changes the key while a VM runs: it follows, and nobody else' do
  blue = admin.network('blue')
  green = admin.network('green')
  vm = admin.running(blue, on: 'H1')
  other = admin.running(green, on: 'H1')
  blue.update('VLAN_ID = "1234"')
  seen_within(10) { must('the key is another') { blue.key == 0x84d2 } }
  see(vm => [0x84d2], other => [green.key])
end

check 'a key that another network has is not given to a second one, and who has it is said' do
  blue = admin.network('blue', 'VLAN_ID = "1235"')
  vm = admin.running(blue, on: 'H1')
  second = admin.network('second', 'VLAN_ID = "1235"')
  admin.vm(second).deploy('H1').await(:boot_failure)
  see(vm => [0x84d3])
  said = Suite.fabric.oneib('plan').last
  must("oneib plan says: #{said}") { said.match?(/network #{second.id}\b.*network #{blue.id}\b.*\[pkey-conflict\]$/) }
end
