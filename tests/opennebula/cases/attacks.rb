# SPDX-License-Identifier: Apache-2.0
# An ordinary user, Mallory, wants into the network of another one, Vera, or to cut her off.

# Text that ends the value in which oned stores it, and what comes after it in the document.
def breaking_out(of, elements)
  "x]]></#{of}>#{elements}<#{of}><![CDATA[y"
end

# The same from a document that oned reads again and writes anew, as the answers of vm.info and vn.info are.
def breaking_out_anew(of, elements)
  breaking_out('NOTE', "<DEEP>#{escaped(breaking_out('DEEP', "</#{of}>#{elements}<#{of}>"))}</DEEP>")
end

def escaped(text)
  text.gsub('&', '&amp;').gsub('<', '&lt;').gsub('>', '&gt;')
end

def scene
  parent = admin.pool
  vera = user('vera')
  mallory = user('mallory')
  [vera, vera.reserve(parent, 'hers'), mallory, mallory.reserve(parent, 'his')]
end

# A VM of Mallory's with these elements after its CONTEXT.
def forged_vm(mallory, own, elements, more = '')
  forged = escaped(breaking_out('X', "</CONTEXT>#{elements}<CONTEXT>"))
  id = mallory.client.call('vm.allocate', '<TEMPLATE><NAME>forging</NAME><CPU>0.1</CPU><MEMORY>64</MEMORY>' \
                                          '<DISK><TYPE>fs</TYPE><FORMAT>raw</FORMAT><SIZE>1</SIZE></DISK>' \
                                          "<CONTEXT><NETWORK>YES</NETWORK><X>#{forged}</X></CONTEXT>" \
                                          "<NIC><NETWORK_ID>#{own.id}</NETWORK_ID></NIC>#{more}</TEMPLATE>", true).to_i
  made_vm(VM.new(mallory.client, id))
end

# One with a NIC of the network; mac: its address, a NIC's of Vera's.
def forging_vm(mallory, own, network, more = '', mac: '02:00:0a:40:00:09')
  nic = "<NIC><NETWORK_ID>#{network.id}</NETWORK_ID><NIC_ID>1</NIC_ID><VN_MAD>infiniband</VN_MAD>" \
        "<VLAN_ID>#{network.key & 0x7fff}</VLAN_ID><BRIDGE_TYPE>none</BRIDGE_TYPE><TARGET>one-forged</TARGET>" \
        "<IP>10.64.0.9</IP><MAC>#{mac}</MAC></NIC>"
  vm = forged_vm(mallory, own, nic, more)
  raise "OpenNebula took no forged NIC: #{vm.document}" unless vm.nics.values.any? do |nic_there|
    nic_there.elements['NETWORK_ID']&.text == network.id.to_s
  end

  vm
end

# What a VM reaches, from its first sign on its host until a moment after it has run or failed.
def must_never_reach(vm, host, key)
  for_a_while(15) do
    keys = node(host).reach.fetch(vm.id, [])
    must(format('VM %d of Mallory reaches 0x%04x', vm.id, key)) { !keys.include?(key) }
  end
end

# Vera's VM reaches her network all the time, and Mallory's never does.
def must_change_nothing(hers_vm, key, vm, host)
  for_a_while(15) do
    reach = node(host).reach
    must('Vera\'s VM does not reach her network') { reach[hers_vm.id] == [key] }
    must(format('VM %d of Mallory reaches 0x%04x', vm.id, key)) { !reach.fetch(vm.id, []).include?(key) }
  end
end

# When the map of a function was written last.
def mapped_at(host, address)
  Dir["#{node(host).root}#{Node::ADAPTER}/iov/#{address}/ports/1/pkey_idx/*"].map { |path| File.mtime(path) }
end

check 'a NIC forged in CONTEXT does not bring Mallory into Vera\'s network' do
  vera, hers, mallory, his = scene
  vera.running(hers, on: 'H1')
  vm = forging_vm(mallory, his, hers)
  vm.deploy('H1')
  must_never_reach(vm, 'H1', hers.key)
end

check 'a NIC forged in CONTEXT does not cut Vera\'s VM off on that host' do
  vera, hers, mallory, his = scene
  hers_vm = vera.running(hers, on: 'H1')
  forging_vm(mallory, his, hers).deploy('H1')
  for_a_while(15) { must('Vera\'s VM does not reach her network') { node('H1').reach[hers_vm.id] == [hers.key] } }
end

check 'a NIC forged with the address of Vera\'s lease neither brings Mallory into her network nor cuts her off' do
  vera, hers, mallory, his = scene
  hers_vm = vera.running(hers, on: 'H1')
  vm = forging_vm(mallory, his, hers, mac: hers_vm.nics[0].elements['MAC'].text)
  vm.deploy('H1')
  must_change_nothing(hers_vm, hers.key, vm, 'H1')
end

check 'a PCI NIC forged for the function that Vera\'s VM has does not take it away' do
  vera, hers, mallory, his = scene
  hers_vm = vera.running(hers, on: 'H1')
  address = node('H1').domains[hers_vm.id].first
  pci = "<PCI><TYPE>NIC</TYPE><NETWORK_ID>#{his.id}</NETWORK_ID><NIC_ID>1</NIC_ID><VN_MAD>infiniband</VN_MAD>" \
        "<VLAN_ID>#{his.key & 0x7fff}</VLAN_ID><ADDRESS>#{address.tr('.', ':')}</ADDRESS><PCI_ID>1</PCI_ID>" \
        '<IP>10.64.0.9</IP><MAC>02:00:0a:40:00:09</MAC></PCI>'
  vm = forged_vm(mallory, his, pci)
  raise "OpenNebula took no forged PCI NIC: #{vm.document}" unless vm.document.elements['TEMPLATE/PCI']

  vm.deploy('H1')
  must_change_nothing(hers_vm, hers.key, vm, 'H1')
end

# Two histories: of these documents of a VM the one shows both, the other has what was forged as text.
def forged_history(vm)
  record = "<HISTORY><OID>#{vm.id}</OID><SEQ>0</SEQ><HOSTNAME>H2</HOSTNAME><HID>#{Suite.host_id('H2')}</HID><CID>0</CID>" \
           '<STIME>1</STIME><ETIME>0</ETIME><VM_MAD>kvm-ib</VM_MAD><TM_MAD>ssh</TM_MAD><DS_ID>0</DS_ID>' \
           '<PSTIME>1</PSTIME><PETIME>1</PETIME><RSTIME>1</RSTIME><RETIME>0</RETIME></HISTORY>'
  "<HISTORY_RECORDS>#{record}</HISTORY_RECORDS>"
end

def write_note(vm, text)
  vm.update("<TEMPLATE><NOTE>#{escaped(text)}</NOTE></TEMPLATE>")
end

# Whatever is read and in whichever order: by pools, as the command does, and by itself, as oneibd does.
def must_stay_a_member(vm, network)
  3.times do
    must_refuse('to detach a NIC that is not there') { vm.detach(9) } # oneibd is told, and looks at the VM
    said = Suite.fabric.oneib('verify').last
    raise "it is said of the VM: #{said}" if said.include?("VM #{vm.id}:")

    see(vm => [network.key])
  end
end

check 'a VM with a forged history is a member in every reading, and can be ended' do
  _, _, mallory, his = scene
  stored = "x]]></NOTE></USER_TEMPLATE>%s<USER_TEMPLATE><NOTE><![CDATA[y"
  vm = mallory.running(his, on: 'H1')
  write_note(vm, format(stored, forged_history(vm)))
  must_stay_a_member(vm, his)
  write_note(vm, breaking_out_anew('USER_TEMPLATE', forged_history(vm)))
  must_stay_a_member(vm, his)
  newer = mallory.running(his, on: 'H2') # the newest VM of all is looked at by itself
  said = Suite.fabric.oneib('verify').last
  raise "it is said of the VM: #{said}" if said.include?("VM #{vm.id}:")

  see(vm => [his.key], newer => [his.key])
  vm.act('terminate').await(:done)
  see(newer => [his.key])
end

check 'a history forged into a document brings no key to a host on which the VM is not' do
  _, _, mallory, his = scene
  vm = mallory.running(his, on: 'H1')
  history = "<HISTORY><OID>#{vm.id}</OID><SEQ>0</SEQ><HOSTNAME>H2</HOSTNAME><HID>#{Suite.host_id('H2')}</HID><CID>0</CID>" \
            '<STIME>1</STIME><ETIME>0</ETIME><VM_MAD>kvm-ib</VM_MAD><TM_MAD>ssh</TM_MAD><DS_ID>0</DS_ID>' \
            '<PSTIME>1</PSTIME><PETIME>1</PETIME><RSTIME>1</RSTIME><RETIME>0</RETIME></HISTORY>'
  forged = breaking_out_anew('USER_TEMPLATE', "<HISTORY_RECORDS>#{history}</HISTORY_RECORDS>")
  vm.update("<TEMPLATE><NOTE>#{escaped(forged)}</NOTE></TEMPLATE>")
  must_refuse('to detach a NIC that is not there') { vm.detach(9) } # oneibd is told, and looks at the VM
  raise "OpenNebula took no forged history: #{vm.document}" unless vm.document.to_s.include?('<HOSTNAME>H2')

  for_a_while(15) { must('the port of H2 holds a key') { node('H2').port_keys.empty? } }
  vm.replace('NOTE = "as it was"') # oned could not read it for long
end

check 'a document that calls itself another VM\'s does not bring Mallory into Vera\'s network' do
  vera, hers, mallory, his = scene
  hers_vm = vera.running(hers, on: 'H1')
  mallory.running(his, on: 'H1') # a well-formed one, which brings his own key there
  vm = forging_vm(mallory, his, hers, "<VM><ID>#{hers_vm.id}</ID></VM>")
  vm.deploy('H1')
  must_never_reach(vm, 'H1', hers.key)
end

check 'a function that a failed attach left in the guest does not reach who gets the key next' do
  parent = admin.pool
  vera = user('vera')
  mallory = user('mallory')
  own = mallory.reserve(parent, 'own')
  bait = mallory.reserve(parent, 'bait')
  vm = mallory.running(own, on: 'H1')
  Suite.front_end.fail_tm('context')
  vm.attach(bait).await(:hotplug_nic, :running).await(:running)
  Suite.front_end.heal
  see(vm => [own.key])
  Suite.eventually('the bait is gone', 20) { bait.delete if bait.there? }
  hers = vera.reserve(parent, 'hers')
  hers_vm = vera.running(hers, on: 'H1')
  see(vm => [own.key], hers_vm => [hers.key])
end

check 'a VM that was deleted while its host was cut off does not reach who gets the key next' do
  parent = admin.pool
  vera = user('vera')
  mallory = user('mallory')
  his = mallory.reserve(parent, 'his')
  vm = mallory.running(his, on: 'H1')
  node('H1').cut
  vm.recover(:delete).await(:done)
  seen_within(20) { must('the port keeps the key') { node('H1').port_keys.empty? } }
  sleep 5 # in which OpenNebula tries to cancel it
  node('H1').reconnect
  raise 'the guest has ended' unless node('H1').domains.key?(vm.id)

  Suite.eventually('the network is gone', 20) { his.delete if his.there? }
  hers = vera.reserve(parent, 'hers')
  hers_vm = vera.running(hers, on: 'H1')
  see(hers_vm => [hers.key])
end

check 'Vera\'s key forged into Mallory\'s older reservation does not close her network' do
  parent = admin.pool
  mallory = user('mallory')
  his = mallory.reserve(parent, 'his')
  vera = user('vera')
  hers = vera.reserve(parent, 'hers')
  key = hers.key
  hers_vm = vera.running(hers, on: 'H1')
  forged = breaking_out('NOTE', "<VLAN_ID><![CDATA[#{key & 0x7fff}]]></VLAN_ID>")
  his.update("<TEMPLATE><NOTE>#{escaped(forged)}</NOTE></TEMPLATE>")
  his.update('REMARK = "z"')
  for_a_while(15) { must('Vera\'s VM does not reach her network') { node('H1').reach[hers_vm.id] == [key] } }
end

check 'Vera\'s key forged into Mallory\'s reservation is not opened by update_nic, for no moment' do
  vera, hers, mallory, his = scene
  hers_vm = vera.running(hers, on: 'H1')
  vm = mallory.running(his, on: 'H1')
  function = node('H1').domains[vm.id].first
  before = mapped_at('H1', function)
  forged = breaking_out('NOTE', "<VLAN_ID><![CDATA[#{hers.key & 0x7fff}]]></VLAN_ID>")
  his.update("<TEMPLATE><NOTE>#{escaped(forged)}</NOTE></TEMPLATE>")
  his.update('REMARK = "z"')
  Suite.eventually('update_nic was called', 20) { vm.steps.include?('update_nic') or raise vm.steps.join(' ') }
  must_change_nothing(hers_vm, hers.key, vm, 'H1')
  must('the function of Mallory\'s VM was mapped anew') { mapped_at('H1', function) == before }
  vm.act('poweroff').await(:poweroff) # which shows that a change is seen
  must('the function of Mallory\'s VM was not closed') { mapped_at('H1', function) != before }
end

check 'leases forged into Mallory\'s reservation do not cut Vera off' do
  vera, hers, mallory, his = scene
  hers_vm = vera.running(hers, on: 'H1')
  vm = mallory.running(his, on: 'H1')
  lease = "<LEASE><IP>10.64.0.9</IP><MAC>#{hers_vm.nics[0].elements['MAC'].text}</MAC><VM>#{hers_vm.id}</VM></LEASE>"
  pool = "<AR_POOL><AR><AR_ID>7</AR_ID><TYPE>IP4</TYPE><LEASES>#{lease}</LEASES></AR></AR_POOL>"
  his.update("<TEMPLATE><NOTE>#{escaped(breaking_out_anew('TEMPLATE', pool))}</NOTE></TEMPLATE>")
  raise "OpenNebula took no forged lease: #{his.document}" unless his.document.to_s.include?('<AR_ID>7')

  must_change_nothing(hers_vm, hers.key, vm, 'H1')
  his.replace('NOTE = "as it was"')
end

# A pool on an adapter that H1 has not: whoever is believed to be on another one gets a function there.
ELSEWHERE = 'mlx4_7'
HERE = 'mlx4_0'

# What Mallory does besides asking for it with the reservation.
FORGED_ADAPTERS = {
  'asked for with a reservation' => ->(_) {},
  'written into a reservation' => ->(his) { his.update("PHYDEV = \"#{HERE}\"") },
  'forged into a reservation\'s template' => ->(his) { forge(his, breaking_out('NOTE', "<PHYDEV><![CDATA[#{HERE}]]></PHYDEV>")) },
  'forged beside a reservation\'s template' => ->(his) { forge(his, breaking_out_anew('TEMPLATE', "<PHYDEV>#{HERE}</PHYDEV>")) }
}.freeze

# After the second update oned has read again what it wrote after the first one.
def forge(network, text)
  network.update("<TEMPLATE><NOTE>#{escaped(text)}</NOTE></TEMPLATE>")
  network.update('REMARK = "z"') unless text.include?('DEEP')
  raise "OpenNebula took no forged adapter: #{network.document}" unless adapters_shown(network).include?(HERE)
end

def adapters_shown(network)
  network.document.get_elements('.//PHYDEV').map { |element| element.text.to_s }
end

def reserve_with_adapter(mallory, parent)
  id = mallory.client.call('vn.reserve', parent.id, "NAME = \"#{unique('his')}\"\nSIZE = \"10\"\nPHYDEV = \"#{HERE}\"").to_i
  made_network(Network.new(mallory.client, id)).await_ready
end

FORGED_ADAPTERS.each do |way, forging|
  check "another adapter #{way} brings Mallory no function of it" do
    parent = admin.pool("PHYDEV = \"#{ELSEWHERE}\"")
    mallory = user('mallory')
    his = reserve_with_adapter(mallory, parent)
    begin
      instance_exec(his, &forging)
    rescue Refused
      nil
    end
    puts "    OpenNebula shows PHYDEV #{adapters_shown(his).join(', ')}"
    vm = mallory.vm(his).deploy('H1').await(:boot_failure)
    must_never_reach(vm, 'H1', his.key)
    see_nothing
  end
end

check 'another adapter forged into the own NIC brings Mallory no function of it' do
  parent = admin.pool("PHYDEV = \"#{ELSEWHERE}\"")
  mallory = user('mallory')
  his = mallory.reserve(parent, 'his')
  nic = "<NIC><NETWORK_ID>#{his.id}</NETWORK_ID><NIC_ID>1</NIC_ID><VN_MAD>infiniband</VN_MAD><PHYDEV>#{HERE}</PHYDEV>" \
        "<VLAN_ID>#{his.key & 0x7fff}</VLAN_ID><IP>10.64.0.9</IP><MAC>02:00:0a:40:00:09</MAC></NIC>"
  vm = forged_vm(mallory, his, nic)
  raise "OpenNebula took no forged NIC: #{vm.document}" unless vm.document.to_s.include?(HERE)

  vm.deploy('H1').await(:boot_failure)
  must_never_reach(vm, 'H1', his.key)
  see_nothing
end

check 'static GUIDs forged into a reservation bring no port into it' do
  _, _, mallory, his = scene
  vm = mallory.running(his, on: 'H1')
  port = format('0x%016x', 0x100003 + (2 * 6)) # of H7
  his.update("<TEMPLATE><NOTE>#{escaped(breaking_out('NOTE', "<IB_STATIC_GUIDS><![CDATA[#{port}]]></IB_STATIC_GUIDS>"))}" \
             '</NOTE></TEMPLATE>')
  his.update('REMARK = "z"')
  sleep 5
  see(vm => [his.key])
end

# oned copies BRIDGE from a network's template into the head of its document, before the parent's id, when it updates it. What
# was forged into the template by one update is read as BRIDGE by the next one, and written by it.
def forge_head(network, elements)
  bridge = "]]></BRIDGE>#{elements}<BRIDGE><![CDATA["
  network.update("<TEMPLATE><ANOTE>#{escaped(breaking_out('ANOTE', "<BRIDGE>#{escaped(bridge)}</BRIDGE>"))}</ANOTE></TEMPLATE>")
  %w[x y z].each { |word| network.update("REMARK = \"#{word}\"") }
end

# Which parents OpenNebula shows then.
def forge_parent(network, parent)
  forge_head(network, "<PARENT_NETWORK_ID>#{parent.id}</PARENT_NETWORK_ID>")
  network.document.get_elements('PARENT_NETWORK_ID').map(&:text)
end

check 'a parent forged into a reservation does not bring Mallory into a network that its reservations share' do
  shared = admin.network('shared', 'IB_RESERVATION = "shared"')
  admin.client.call('vn.chmod', shared.id, 1, 1, 0, 1, 1, 0, 0, 0, 0)
  hers = admin.vm(shared).deploy('H1').await(:running)
  mallory = user('mallory')
  pool = admin.pool
  his = mallory.reserve(pool, 'his')
  raise 'OpenNebula took no forged parent' unless forge_parent(his, shared).include?(shared.id.to_s)

  vm = mallory.vm(his).deploy('H2')
  must_never_reach(vm, 'H2', shared.key)
  see_open('H1', hers => [shared.key])
  vm.act('terminate-hard').await(:done)
  forge_parent(his, pool) # else what it has of the pool is never given back
end

check 'who forges away whose reservation the own network is has no adapter of his choice' do
  parent = admin.pool("PHYDEV = \"#{ELSEWHERE}\"")
  mallory = user('mallory')
  his = mallory.reserve(parent, 'his')
  forge_head(his, "<PARENT_NETWORK_ID></PARENT_NETWORK_ID><PHYDEV>#{HERE}</PHYDEV>")
  raise 'OpenNebula kept the parent' unless his.document.get_elements('PARENT_NETWORK_ID').all? { |id| id.text.to_s.empty? }

  vm = mallory.vm(his).deploy('H1').await(:boot_failure)
  must_never_reach(vm, 'H1', his.key)
  see_nothing
  forge_parent(his, parent)
end

# An address range as oned keeps it. It is read from the head: what stands there first counts.
OWN_RANGE = '<AR_POOL><AR><AR_ID>0</AR_ID><TYPE>IP4</TYPE><IP>10.99.0.1</IP><MAC>02:00:0a:63:00:01</MAC><SIZE>10</SIZE>' \
            '<ALLOCATED></ALLOCATED></AR></AR_POOL>'

check 'who gives all addresses back and forges the parent away has no adapter of his choice' do
  parent = admin.pool("PHYDEV = \"#{ELSEWHERE}\"")
  mallory = user('mallory')
  his = mallory.reserve(parent, 'his')
  mallory.client.call('vn.free_ar', his.id, 0)
  forge_head(his, "<PARENT_NETWORK_ID></PARENT_NETWORK_ID><PHYDEV>#{HERE}</PHYDEV>#{OWN_RANGE}")
  raise 'OpenNebula kept the parent' unless his.document.get_elements('PARENT_NETWORK_ID').all? { |id| id.text.to_s.empty? }
  raise "OpenNebula took no range: #{his.document}" unless his.document.to_s.include?('10.99.0.1')

  vm = mallory.vm(his).deploy('H1').await(:boot_failure)
  must_never_reach(vm, 'H1', his.key)
  see_nothing
end

check 'a driver forged into a reservation of an Ethernet network brings Mallory no network' do
  id = admin.client.call('vn.allocate', "NAME = \"#{unique('lan')}\"\nVN_MAD = \"dummy\"\nBRIDGE = \"br0\"\n" \
                                        'AR = [ TYPE = "IP4", IP = "10.64.0.1", SIZE = "100" ]', -1).to_i
  lan = made_network(Network.new(admin.client, id)).await_ready(with_key: false)
  admin.client.call('vn.chmod', id, 1, 1, 0, 1, 1, 0, 1, 0, 0)
  mallory = user('mallory')
  id = mallory.client.call('vn.reserve', lan.id, "NAME = \"#{unique('his')}\"\nSIZE = \"10\"").to_i
  his = made_network(Network.new(mallory.client, id)).await_ready(with_key: false)
  forged = breaking_out('ANOTE', '<VN_MAD>infiniband</VN_MAD>')
  his.update("<TEMPLATE><ANOTE>#{escaped(forged)}</ANOTE></TEMPLATE>")
  his.update('REMARK = "z"')
  raise "OpenNebula took no forged driver: #{his.document}" unless his.document.elements['VN_MAD'].text == 'infiniband'

  mallory.vm(his).deploy('H1').await(:boot_failure)
  must('his network got a key') { his.key.nil? }
  see_nothing
end

check 'who takes the own VM\'s events away does not keep its function open' do
  _, _, mallory, his = scene
  vm = mallory.running(his, on: 'H1')
  vm.update('HOOK_TYPE = "x"')
  vm.act('poweroff').await(:poweroff)
  see_open('H1', within: 5)
end

def free_functions(host)
  Suite.oneadmin.document('host.info', Suite.host_id(host), false).elements['TEMPLATE/IB_VFS_FREE'].text.to_i
end

check 'a VM with many NICs that could not start takes no function from the scheduler' do
  _, _, mallory, his = scene
  mallory.vm(*[his] * 16).deploy('H1').await(:boot_failure)
  seen_within(10) { must("H1 has #{free_functions('H1')} free") { free_functions('H1') == 7 } }
  see_nothing
end

check 'NICs forged into a VM that runs take no function from the scheduler' do
  _, hers, mallory, his = scene
  vm = mallory.running(his, on: 'H1')
  nics = (1..9).map do |i|
    "<NIC><NETWORK_ID>#{hers.id}</NETWORK_ID><NIC_ID>#{i}</NIC_ID><VN_MAD>infiniband</VN_MAD><MAC>02:00:0a:40:07:0#{i}</MAC></NIC>"
  end
  vm.call('vm.updateconf', "<TEMPLATE><CONTEXT><NETWORK>YES</NETWORK><X>#{escaped(breaking_out('X', "</CONTEXT>#{nics.join}<CONTEXT>"))}" \
                           '</X></CONTEXT></TEMPLATE>', 1)
  must_refuse('to detach a NIC that is not there') { vm.detach(99) } # oneibd is told, and looks at the VM
  raise "OpenNebula took no forged NICs: #{vm.document}" unless vm.nics.size == 10

  sleep 5
  must("H1 has #{free_functions('H1')} free") { free_functions('H1') == 6 }
  see(vm => [his.key])
end

check "a group's administrator brings no port into a network that was given to the group" do
  mallory = user('mallory')
  group = Suite.oneadmin.call('group.allocate', unique('climate')).to_i
  Suite.oneadmin.call('user.chgrp', @users.last, group)
  Suite.oneadmin.call('group.addadmin', group, @users.last)
  network = admin.network('climate')
  Suite.oneadmin.call('vn.chown', network.id, -1, group)
  his = Network.new(mallory.client, network.id)
  port = format('0x%016x', 0x100003 + (2 * 6)) # of H7
  his.update("<TEMPLATE><NOTE>#{escaped(breaking_out('NOTE', "<IB_STATIC_GUIDS><![CDATA[#{port}=full]]></IB_STATIC_GUIDS>"))}" \
             '</NOTE></TEMPLATE>')
  his.update('REMARK = "z"')
  raise "OpenNebula took no forged GUIDs: #{his.document}" unless his.document.elements['TEMPLATE/IB_STATIC_GUIDS']

  for_a_while(10) { must('the port of H7 holds a key') { node('H7').port_keys.empty? } }
end
