# SPDX-License-Identifier: Apache-2.0
# An ordinary user, Mallory, wants into the network of another one, Vera, or to cut her off.

# Text that ends the value in which oned stores it, and what comes after it in the document.
def breaking_out(of, elements)
  "x]]></#{of}>#{elements}<#{of}><![CDATA[y"
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

# A VM of Mallory's whose CONTEXT holds a NIC of the network.
def forging_vm(mallory, own, network, more = '')
  nic = "<NIC><NETWORK_ID>#{network.id}</NETWORK_ID><NIC_ID>1</NIC_ID><VN_MAD>infiniband</VN_MAD>" \
        "<VLAN_ID>#{network.key & 0x7fff}</VLAN_ID><BRIDGE_TYPE>none</BRIDGE_TYPE><TARGET>one-forged</TARGET>" \
        '<IP>10.64.0.9</IP><MAC>02:00:0a:40:00:09</MAC></NIC>'
  forged = escaped(breaking_out('X', "</CONTEXT>#{nic}<CONTEXT>"))
  id = mallory.client.call('vm.allocate', '<TEMPLATE><NAME>forging</NAME><CPU>0.1</CPU><MEMORY>64</MEMORY>' \
                                          '<DISK><TYPE>fs</TYPE><FORMAT>raw</FORMAT><SIZE>1</SIZE></DISK>' \
                                          "<CONTEXT><NETWORK>YES</NETWORK><X>#{forged}</X></CONTEXT>" \
                                          "<NIC><NETWORK_ID>#{own.id}</NETWORK_ID></NIC>#{more}</TEMPLATE>", true).to_i
  vm = made_vm(VM.new(mallory.client, id))
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

check 'who takes the own VM\'s events away does not keep its function open' do
  _, _, mallory, his = scene
  vm = mallory.running(his, on: 'H1')
  vm.update('HOOK_TYPE = "x"')
  vm.act('poweroff').await(:poweroff)
  see_open('H1', within: 5)
end
