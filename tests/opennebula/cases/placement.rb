# SPDX-License-Identifier: Apache-2.0
# The placer "ib": OpenNebula's own one_sched, its placer "rank", and what oneib leaves that one.

# By name: the leaf that oneibd says the host is at.
def leaves
  Suite.oneadmin.document('hostpool.info').elements.to_a('HOST').to_h do |host|
    [host.elements['NAME'].text, host.elements['TEMPLATE/IB_SWITCH']&.text]
  end
end

def waiting(network, count)
  (1..count).map { admin.vm(network, more: 'SCHED_REQUIREMENTS = "IB_VFS_FREE > 0"', hold: false) }
end

def has_placers?
  Suite.front_end.placers?
end

def said_of_placement
  Suite.fabric.oneib('check').last[/.*OpenNebula's scheduler asks.*/].to_s
end

# --- the settings that install.sh --scheduler writes

check 'oned takes the SCHED_MAD that install.sh has put in front, and oneib check says so' do
  next unless has_placers?

  written = Suite.front_end.oned_conf.scan(/^\s*SCHED_MAD\s*=/).size
  must("oned.conf has #{written} SCHED_MAD") { written == 2 }
  words = Suite.front_end.scheduler_words
  must("one_sched was started with #{words}") { words == ['-t 15 -o one_drs -p ib'] }
  must("oneib check says: #{said_of_placement}") { said_of_placement.include?('the placer "ib"') }
end

check 'what install.sh has written is taken out of oned.conf to the letter, and put in again' do
  next unless has_placers?

  conf = Suite.front_end.oned_conf
  begin
    Suite.front_end.set_oned_conf('--uninstall')
    must('it is not what it was before') { Suite.front_end.oned_conf == Suite.front_end.untouched }
  ensure
    Suite.front_end.set_oned_conf('--scheduler')
  end
  must('the second time it is another') { Suite.front_end.oned_conf == conf }
end

check 'a user may keep the own VM from being moved by OpenNebula\'s DRS, as the template for tuned VMs does' do
  shipped = File.read("#{Suite::PROJECT}/share/templates/node.vm")[/^ONEDRS_BLOCKED = .*/].sub('@DRS_BLOCKED@', 'YES')
  alice = user('alice')
  vm = alice.vm(more: shipped)
  kept = vm.document.elements['USER_TEMPLATE/ONEDRS_BLOCKED']&.text # where one_drs reads it
  must("the VM has #{kept.inspect}") { kept == 'YES' }
end

# --- where VMs come to

# By itself "rank" takes the emptiest hosts, the last ones of them.
check 'VMs of a cluster come to the leaf where it runs' do
  next unless has_placers?

  network = admin.network('near')
  first_host = leaves.keys.min
  first = admin.running(network, on: first_host)
  vms = waiting(network, 3)
  await_each(vms, :running)
  must("they are on #{vms.map(&:host).join(', ')}, and the first is on #{first_host}") do
    vms.all? { |vm| leaves[vm.host] == leaves[first_host] }
  end
  see(**[first, *vms].to_h { |vm| [vm, [network.key]] })
end

check 'VMs of a network that is to be spread come to all leaves' do
  next unless has_placers?

  network = admin.network('apart', 'IB_PLACEMENT = "spread"')
  vms = waiting(network, leaves.values.uniq.size)
  await_each(vms, :running)
  must("they are on #{vms.map(&:host).join(', ')}") { vms.map { |vm| leaves[vm.host] }.uniq.size == vms.size }
  see(**vms.to_h { |vm| [vm, [network.key]] })
end

# --- who waits for what is never there

NO_HOSTS_MEMORY = 1_000_000_000 # MiB

def functions_free
  Suite.oneadmin.document('hostpool.info').elements.to_a('HOST/TEMPLATE/IB_VFS_FREE').sum { |free| free.text.to_i }
end

check 'VMs that no host has memory for keep another user\'s waiting, and not for ever' do
  next unless has_placers?

  pool = admin.pool
  alice = user('alice')
  mallory = user('mallory')
  own = alice.reserve(pool, 'own')
  hers = mallory.reserve(pool, 'hers')
  count = functions_free
  must('no function is free') { count.positive? }
  count.times { mallory.vm(hers, hold: false, memory: NO_HOSTS_MEMORY) }
  began = Suite.now
  vm = alice.vm(own, more: 'SCHED_REQUIREMENTS = "IB_VFS_FREE > 0"', hold: false).await(:running, within: 600)
  puts "    behind #{count} of them alice's VM runs after #{(Suite.now - began).round} s"
  see(vm => [own.key])
end

# --- beside "rank" by itself

CLUSTER_SIZES = [12, 9, 7, 5, 4, 3].freeze # 40 VMs; a leaf of two hosts has room for 14

# The leaves of a cluster's VMs, a cluster a list: all are asked for at once, and taken away again.
def placed_clusters
  clusters = CLUSTER_SIZES.map.with_index { |size, i| [admin.network("cluster#{i}"), size] }
  began = Suite.now
  vms = clusters.map { |network, size| waiting(network, size) }
  await_each(vms.flatten, :running)
  puts "    #{vms.flatten.size} VMs run after #{(Suite.now - began).round} s"
  see(within: 60, **clusters.zip(vms).flat_map { |(network, _), own| own.map { |vm| [vm, [network.key]] } }.to_h)
  at = leaves
  found = vms.map { |own| own.map { |vm| at.fetch(vm.host) } }
  vms.flatten.each { |vm| vm.act('terminate-hard') }
  await_each(vms.flatten, :done)
  found
end

# Leaves are linked by one spine: a switch on the way within a leaf, three between leaves.
def hops(cluster)
  pairs = cluster.combination(2).map { |a, b| a == b ? 1 : 3 }
  pairs.sum.to_f / pairs.size
end

# [leaves a cluster, switches between two of its members], means over the clusters.
def judged(name, clusters)
  each = clusters.map { |cluster| [cluster.uniq.size, hops(cluster)] }
  means = each.transpose.map { |values| values.sum.to_f / values.size }
  puts format('    %-4s leaves %s: %.2f; hops %s: %.2f', name, each.map(&:first).join(' '), means[0],
              each.map { |_, way| format('%.2f', way) }.join(' '), means[1])
  means
end

check '40 VMs of six clusters are on fewer leaves, and fewer switches apart, than with "rank" by itself' do
  next unless has_placers?

  ours = judged('ib', placed_clusters)
  theirs = Suite.front_end.without_placer do
    words = Suite.front_end.scheduler_words
    must("one_sched was started with #{words}") { words.size == 1 && words.first.include?('-p rank') }
    must("oneib check says: #{said_of_placement}") { said_of_placement.include?('the placer "rank"') }
    judged('rank', placed_clusters)
  end
  must("leaves #{ours[0]} to #{theirs[0]}") { ours[0] < theirs[0] }
  must("hops #{ours[1]} to #{theirs[1]}") { ours[1] < theirs[1] }
end
