# SPDX-License-Identifier: Apache-2.0
# Ordinary users: what they help themselves to, and what they are refused.

check 'each reservation of a user is a network of its own' do
  parent = admin.pool
  alice = user('alice')
  bob = user('bob')
  hers = alice.reserve(parent, 'hers')
  his = bob.reserve(parent, 'his')
  must('one key for both') { hers.key && his.key && hers.key != his.key && hers.key != parent.key }
  one = alice.running(hers, on: 'H1')
  two = bob.running(his, on: 'H1')
  see(one => [hers.key], two => [his.key])
end

check 'reservations of a shared network share its key' do
  parent = admin.pool('IB_RESERVATION = "shared"')
  hers = user('alice').reserve(parent, 'hers')
  must('another key than the parent\'s') { hers.key == parent.key }
end

check 'a reservation is given back while another one goes on' do
  parent = admin.pool
  alice = user('alice')
  first = alice.reserve(parent, 'first')
  second = alice.reserve(parent, 'second')
  vm = alice.running(second, on: 'H2')
  first.delete
  see(vm => [second.key])
end

check 'ten reservations at once get ten keys' do
  parent = admin.pool
  accounts = (1..10).map { |i| user("user#{i}") }
  keys = accounts.map { |account| Thread.new { account.reserve(parent, 'at-once').key } }.map(&:value)
  must("keys #{keys.inspect}") { keys.compact.uniq.size == 10 }
end

%w[VLAN_ID IB_CLASS IB_MEMBERSHIP IB_RATE IB_RESERVATION IB_STATIC_GUIDS].each do |attribute|
  check "a user's NIC with #{attribute} is refused" do
    hers = (alice = user('alice')).reserve(admin.pool, 'hers')
    must_refuse('the VM', attribute) { alice.vm(more: "NIC = [ NETWORK_ID = \"#{hers.id}\", #{attribute} = \"5\" ]") }
    vm = alice.vm(hers)
    must_refuse('the attach', attribute) do
      alice.client.call('vm.attachnic', vm.id, "NIC = [ NETWORK_ID = \"#{hers.id}\", #{attribute} = \"5\" ]")
    end
  end

  # Refused, or what it was afterwards: releases differ in which.
  check "a user does not write #{attribute} into the own reservation" do
    hers = user('alice').reserve(admin.pool, 'hers')
    before = [hers.key, hers.document.elements["TEMPLATE/#{attribute}"]&.text]
    begin
      hers.update("#{attribute} = \"77\"")
    rescue Refused
      nil
    end
    must('it is written') { [hers.key, hers.document.elements["TEMPLATE/#{attribute}"]&.text] == before }
  end
end

check 'a user who takes the key off the own reservation gets another one, and nobody is reached meanwhile' do
  alice = user('alice')
  hers = alice.reserve(admin.pool, 'hers')
  vm = alice.running(hers, on: 'H1')
  begin
    hers.replace("VN_MAD = \"infiniband\"\nVLAN_ID = \"\"")
  rescue Refused
    nil
  end
  seen_within(30) do
    must('the network has no key') { hers.key }
    must("the VM reaches #{node('H1').reach[vm.id].inspect}") { node('H1').reach[vm.id] == [hers.key] }
  end
  see(vm => [hers.key])
end

# The form sends the whole network, with the first of its drivers: with VLAN_ID or without, by what its page holds then. oned looks
# whether the user may have that VLAN_ID before it compares restricted attributes.
check 'a user is refused what the form of Sunstone sends for the own reservation, with its key or without' do
  hers = user('alice').reserve(admin.pool, 'hers')
  before = hers.document.elements
  form = "DESCRIPTION = \"mine\"\nVN_MAD = \"bridge\"\nBRIDGE_TYPE = \"linux\"\n"
  must_refuse('the form with the key', 'not authorized to use the requested VLAN_ID') do
    hers.replace("#{form}VLAN_ID = \"#{before['VLAN_ID'].text}\"")
  end
  must_refuse('the form without it', 'Tried to change restricted attribute: VN_MAD') { hers.replace(form) }
  after = hers.document.elements
  must('the network has changed') { %w[VN_MAD VLAN_ID].all? { |name| after[name].text == before[name].text } }
end

check 'a network that the form of Sunstone has made a bridge has its key again after one command' do
  ['', 'VLAN_ID'].each do |name|
    shared = admin.network("shared#{name}")
    key = shared.key
    shared.replace("VN_MAD = \"bridge\"\nBRIDGE_TYPE = \"linux\"\n#{name}#{" = \"#{key & 0x7fff}\"" unless name.empty?}")
    must('the form has made no bridge of it') { shared.document.elements['VN_MAD'].text == 'bridge' }
    shared.update("VN_MAD = \"infiniband\"\nBRIDGE_TYPE = \"none\"")
    seen_within(20) { must("the key is #{shared.key.inspect}, not #{key}") { shared.key == key } }
  end
end

check 'a user sees and uses no reservation of another user' do
  hers = user('alice').reserve(admin.pool, 'hers')
  mallory = user('mallory')
  must_refuse('one.vn.info', 'Not authorized') { mallory.client.call('vn.info', hers.id, false) }
  must_refuse('a VM in it', 'Not authorized') { mallory.vm(hers) }
end
