# SPDX-License-Identifier: Apache-2.0
# Cases: what a file of cases/ says with `check`, and how one runs.

# What was to be seen is not there. Anything else that goes wrong in a case is no finding about oneib.
class NotSeen < StandardError
end

class Case
  ALL = []

  attr_reader :file, :name, :defect

  def initialize(file, name, defect, body)
    @file = file
    @name = name
    @defect = defect
    @body = body
  end

  # nil, or why it has failed.
  def run
    @vms = []
    @networks = []
    @users = []
    failure = attempt { instance_eval(&@body) }
    left = clear
    Suite.fabric.renew_slots(@networks.size)
    failure || left
  end

  def made_vm(vm)
    @vms << vm
    vm
  end

  def made_network(network)
    @networks << network
    network
  end

  # What an earlier case left is not in the way.
  def unique(name)
    @names = (@names || 0) + 1
    "#{name}-#{object_id}-#{@names}"
  end

  # --- for bodies ---------------------------------------------------------------------------------------------------

  def admin
    Account.new(Suite.oneadmin, self)
  end

  # An ordinary user of the group users.
  def user(name)
    name = unique(name)
    @users << Suite.oneadmin.call('user.allocate', name, 'password', 'core').to_i
    Account.new(Client.new("#{name}:password"), self)
  end

  def node(name)
    Suite.fabric.nodes.fetch(name)
  end

  def must(what)
    raise NotSeen, what unless yield
  end

  def must_refuse(what, words = nil)
    yield
  rescue Refused => e
    raise NotSeen, "#{what} was refused, but so: #{e.message}" unless words.nil? || e.message.include?(words)
  else
    raise NotSeen, "#{what} was not refused"
  end

  # Whom a VM reaches, soon and to the end of a moment: {VM => P_Keys}. Each is on its host; no other VM reaches anybody,
  # nothing else is open, and no port holds another key.
  def see(within: 20, **reach)
    wanted = reach.group_by { |vm, _| vm.host }.transform_values { |pairs| pairs.to_h { |vm, keys| [vm.id, keys.sort] } }
    seen_within(within) { Suite.fabric.nodes.each_value { |node| compare(node, wanted.fetch(node.name, {})) } }
  end

  def see_nothing(within: 20)
    see(within: within)
  end

  # The same of one host, and of its functions alone: the ports are not looked at.
  def see_open(host, within: 20, **reach)
    seen_within(within) { compare_functions(node(host), reach.to_h { |vm, keys| [vm.id, keys.sort] }) }
  end

  def seen_within(seconds)
    finish = Suite.now + seconds
    begin
      yield
    rescue NotSeen
      raise if Suite.now > finish

      sleep 0.2
      retry
    end
  end

  # The block holds, again and again.
  def for_a_while(seconds)
    finish = Suite.now + seconds
    while Suite.now < finish
      yield
      sleep 0.05
    end
  end

  private

  def attempt
    yield
    nil
  rescue StandardError => e
    e
  end

  def show(keys)
    keys.map { |key| format('0x%04x', key) }.join(' ')
  end

  def compare(node, wanted)
    compare_functions(node, wanted)
    keys = wanted.values.flatten.uniq.sort
    found = node.port_keys
    must("the port of #{node.name} holds [#{show(found)}] instead of [#{show(keys)}]") { found == keys }
  end

  def compare_functions(node, wanted)
    found = node.reach
    none = ->(reach) { reach.reject { |_, keys| keys.empty? } }
    described = found.map { |vm, keys| "#{vm}: [#{show(keys)}]" }.join(', ')
    expected = wanted.map { |vm, keys| "#{vm}: [#{show(keys)}]" }.join(', ')
    must("VMs on #{node.name} reach {#{described}} instead of {#{expected}}") { none.call(found) == none.call(wanted) }
    strays = node.strays
    must("on #{node.name} #{strays.map { |vf| "#{vf.address} (#{show(vf.keys)})" }.join(', ')} is open for nobody") { strays.empty? }
  end

  # Takes away what the case has made, by force where it must be, and goes on where something cannot be. nil, or what was
  # left of it.
  def clear
    nodes = Suite.fabric.nodes.values
    nodes.each(&:heal)
    Suite.front_end.heal
    left = @vms.map { |vm| attempt { remove(vm) } }
    attempt { seen_within(10) { must('domains are left') { nodes.all? { |node| node.domains.empty? } } } }
    left += nodes.map { |node| attempt { node.clear } }
    left += @networks.reverse.map { |network| attempt { remove_network(network) } }
    left += @users.map { |user| attempt { Suite.oneadmin.call('user.delete', user) } }
    left << attempt { see_nothing(within: 30) }
    left.compact.first
  end

  def remove(vm)
    return if vm.state == :done

    vm.recover(:delete)
    vm.await(:done)
  end

  # A VM that has just ended may hold its lease for a moment.
  def remove_network(network)
    Suite.eventually("network #{network.id} is gone", 20) do
      network.delete if network.there?
      raise 'it is there' if network.there?
    end
  end
end

# A case; defect: what it shows today, and which of the issues to come is to mend it.
def check(name, expected_to_fail: nil, &body)
  Case::ALL << Case.new(File.basename(caller_locations(1, 1).first.path, '.rb'), name, expected_to_fail, body)
end
