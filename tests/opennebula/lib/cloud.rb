# SPDX-License-Identifier: Apache-2.0
# What a case makes in OpenNebula, and takes away again.

STATES = { 1 => :pending, 2 => :hold, 3 => :active, 4 => :stopped, 5 => :suspended, 6 => :done, 8 => :poweroff,
           9 => :undeployed, 10 => :cloning, 11 => :cloning_failure }.freeze
LCM_STATES = { 0 => :lcm_init, 1 => :prolog, 2 => :boot, 3 => :running, 4 => :migrate, 6 => :save_suspend,
               11 => :epilog, 12 => :shutdown, 16 => :unknown, 17 => :hotplug, 18 => :shutdown_poweroff,
               21 => :boot_suspended, 25 => :hotplug_nic, 36 => :boot_failure, 37 => :boot_migrate_failure,
               39 => :prolog_failure, 40 => :epilog_failure, 48 => :boot_stopped_failure,
               47 => :boot_undeploy_failure }.freeze

class VM
  attr_reader :id

  def initialize(client, id)
    @client = client
    @id = id
  end

  def document
    Suite.oneadmin.document('vm.info', id, false)
  end

  # :running, :poweroff, ...: what `onevm list` would show; the number where it has no name here.
  def state
    text = document
    state = STATES.fetch(text.elements['STATE'].text.to_i)
    lcm = text.elements['LCM_STATE'].text.to_i
    state == :active ? LCM_STATES.fetch(lcm, lcm) : state
  end

  def host
    document.elements.to_a('HISTORY_RECORDS/HISTORY').last.elements['HOSTNAME'].text
  end

  def datastore
    document.elements.to_a('HISTORY_RECORDS/HISTORY').last.elements['DS_ID'].text.to_i
  end

  # Of its NICs and PCI NICs, by number.
  def nics
    found = document.elements.to_a('TEMPLATE/NIC') + document.elements.to_a('TEMPLATE/PCI')
    found.to_h { |nic| [nic.elements['NIC_ID'].text.to_i, nic] }
  end

  def deploy(host)
    Suite.oneadmin.call('vm.deploy', id, Suite.host_id(host), false, -1, '')
    self
  end

  def migrate(host, live:, datastore: -1)
    Suite.oneadmin.call('vm.migrate', id, Suite.host_id(host), live, false, datastore, 0)
    self
  end

  def act(action)
    @client.call('vm.action', action, id)
    self
  end

  def call(method, *arguments)
    @client.call(method, id, *arguments)
    self
  end

  def attach(network)
    @client.call('vm.attachnic', id, "NIC = [ NETWORK_ID = \"#{network.id}\" ]")
    self
  end

  def detach(nic)
    @client.call('vm.detachnic', id, nic)
    self
  end

  def update(template)
    @client.call('vm.update', id, template, 1)
    self
  end

  def replace(template)
    @client.call('vm.update', id, template, 0)
    self
  end

  def recover(operation)
    Suite.oneadmin.call('vm.recover', id, { failure: 0, success: 1, retry: 2, delete: 3, recreate: 4 }.fetch(operation))
    self
  end

  def await(*states, within: 90)
    Suite.eventually("VM #{id} is #{states.join(' or ')}", within) do
      now = state
      states.include?(now) or raise "it is #{now}#{why}"
    end
    self
  end

  def await_on(host, *states, within: 90)
    Suite.eventually("VM #{id} is #{states.join(' or ')} on #{host}", within) do
      await(*states, within: 0)
      self.host == host or raise "it is on #{self.host}"
    end
    self
  end

  def log
    Suite.front_end.vm_log(id)
  end

  # The steps that OpenNebula's driver has taken, as its log names them: "pre", "deploy", "post!" (one that failed).
  def steps
    log.scan(/(Successfully|Failed to) execute (?:virtualization|network|transfer manager) driver operation: (.+)\.$/)
       .map { |how, step| short_name(step) + (how == 'Successfully' ? '' : '!') }
  end

  private

  # Of "/bin/mkdir -p" and "/bin/cat - >DIRECTORY/vm.xml", too.
  def short_name(step)
    step[%r{/(\w+\.xml)$}, 1] || step[%r{^/bin/(\w+)}, 1] || step
  end

  def why
    error = document.elements['USER_TEMPLATE/ERROR']
    error ? ": #{error.text}" : ''
  end
end

class Network
  attr_reader :id

  def initialize(client, id)
    @client = client
    @id = id
  end

  def document
    Suite.oneadmin.document('vn.info', id, false)
  end

  # As a full member holds it.
  def key
    text = document.elements['VLAN_ID']&.text.to_s
    text.empty? ? nil : text.to_i | 0x8000
  end

  def state
    { 0 => :init, 1 => :ready, 2 => :locked, 3 => :locked, 4 => :done, 5 => :error, 6 => :failure }
      .fetch(document.elements['STATE'].text.to_i)
  end

  # oneibd gives the key when oned says that the network is ready. Before that, oned has none of its address ranges.
  def await_ready(with_key: true)
    Suite.eventually("network #{id} is ready#{', with a key' if with_key}", 20) do
      (state == :ready && (key || !with_key)) or raise "it is #{state}"
    end
    self
  end

  def update(template)
    @client.call('vn.update', id, template, 1)
    self
  end

  def replace(template)
    @client.call('vn.update', id, template, 0)
    self
  end

  def delete
    Suite.oneadmin.call('vn.delete', id)
  end

  def there?
    state != :done
  rescue Refused
    false
  end
end

# A user of the group `users`, or oneadmin. What is made here is taken away at the case's end.
class Account
  attr_reader :client

  def initialize(client, case_)
    @client = client
    @case = case_
  end

  def network(name, more = '', range: '10.64.0.1')
    id = client.call('vn.allocate', "NAME = \"#{@case.unique(name)}\"\nVN_MAD = \"infiniband\"\n#{more}\n" \
                                    "AR = [ TYPE = \"IP4\", IP = \"#{range}\", SIZE = \"1000\" ]", -1).to_i
    @case.made_network(Network.new(client, id)).await_ready
  end

  # A network from which every user reserves, and in which every user's VMs may be.
  def pool(more = '')
    shared = network('pool', more)
    client.call('vn.chmod', shared.id, 1, 1, 0, 1, 1, 0, 1, 0, 0)
    shared
  end

  def reserve(parent, name, size = 100)
    id = client.call('vn.reserve', parent.id, "NAME = \"#{@case.unique(name)}\"\nSIZE = \"#{size}\"").to_i
    @case.made_network(Network.new(client, id)).await_ready
  end

  # On hold: the scheduler leaves it alone.
  def vm(*networks, more: '', hold: true, memory: 64)
    nics = networks.map { |network| "NIC = [ NETWORK_ID = \"#{network.id}\" ]" }.join("\n")
    id = client.call('vm.allocate', "NAME = \"case\"\nCPU = \"0.1\"\nMEMORY = \"#{memory}\"\n" \
                                    "DISK = [ TYPE = \"fs\", FORMAT = \"raw\", SIZE = \"1\" ]\n" \
                                    "CONTEXT = [ NETWORK = \"YES\" ]\n#{nics}\n#{more}", hold).to_i
    @case.made_vm(VM.new(client, id))
  end

  # Monitoring may find it running before its last step is noted.
  def running(*networks, on:, more: '')
    vm = vm(*networks, more: more).deploy(on).await(:running)
    Suite.eventually("post of VM #{vm.id} is noted", 10) { vm.steps.include?('post') or raise 'it is not' }
    vm
  end
end
