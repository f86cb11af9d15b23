# SPDX-License-Identifier: Apache-2.0
# share/acceptance/run with OpenNebula's own commands. Hosts are the suite's, oneib and the ports are those of its fabric. A
# guest is a stand-in: it shows the functions that its domain has, and reaches whom these are open to.
require 'socket'

# Answers what ask-suite is called for, in a thread, while the block runs.
class Answers
  SOCKET = "#{Suite::PLACE}/answers".freeze
  BIN = "#{Suite::PLACE}/answers-bin".freeze
  GUEST_BIN = "#{Suite::PLACE}/guest-bin".freeze
  SERVER = '10.66.0.1'.freeze # for storage: it answers all members of that network
  TOOLS = %w[ibping ibv_rc_pingpong ping].freeze

  attr_reader :calls

  def initialize
    @calls = []
  end

  def while_answering(guests)
    link(BIN, 'oneib', 'smpquery')
    link(GUEST_BIN, 'sudo')
    guests.each { |address| make_guest(address) }
    server = UNIXServer.new(SOCKET)
    FileUtils.chmod(0o777, SOCKET)
    thread = Thread.new { loop { serve(server.accept) } }
    yield
  ensure
    thread&.kill
    server&.close
    FileUtils.rm_rf([SOCKET, BIN, GUEST_BIN, *guests.map { |address| "#{Suite::HOSTS}/#{address}" }])
  end

  private

  def link(directory, *names)
    FileUtils.mkdir_p(directory)
    names.each { |name| FileUtils.cp("#{Suite::HERE}/ask-suite", "#{directory}/#{name}") }
  end

  # ssh's stand-in finds it as one more host.
  def make_guest(address)
    Suite.write_environment(address, 'SUITE_SOCKET' => SOCKET, 'SUITE_GUEST' => address,
                                     'PATH' => "#{GUEST_BIN}:#{Suite::PATH}")
    File.write("#{Suite::HOSTS}/#{address}/pid", "#{Process.pid}\n")
  end

  def serve(client)
    name, guest, *words = client.gets.chomp.split("\t", -1)
    @calls << [name, *words]
    status, text = answer(name, guest, words)
    client.puts(status, text)
  rescue StandardError => e
    puts "    a stand-in's answer to #{name} #{words&.join(' ')}: #{e.class}: #{e.message}", e.backtrace.first(3)
    client.puts(70)
  ensure
    client.close
  end

  def answer(name, guest, words)
    case name
    when 'oneib' then Suite.fabric.oneib(*words)
    when 'smpquery' then [0, port_table(words[2])]
    else [0, Guest.at(guest).answer(words.drop(words.index('--') + 1))]
    end
  end

  # As smpquery prints it, of the host's port with this GUID.
  def port_table(guid)
    host = Suite.fabric.nodes.each_value.find { |node| node.port_guid == guid.to_i(16) }
    keys = Suite.fabric.tell('port', host.name).map { |key| "0x#{key}" }
    keys.each_slice(8).with_index.map { |row, i| format("%4d: %s\n", i * 8, row.join(' ')) }.join
  end
end

# What stands in for a VM's guest: its functions are those of its domain.
class Guest
  def self.all
    Suite.oneadmin.document('vmpool.infoextended', -2, -1, -1, -1, '').elements.to_a('VM').map { |vm| new(vm) }
  end

  def self.at(address)
    all.find { |guest| guest.addresses.include?(address) } or raise "no VM has the address #{address}"
  end

  def initialize(document)
    @id = document.elements['ID'].text.to_i
    @host = document.elements.to_a('HISTORY_RECORDS/HISTORY').last&.elements&.[]('HOSTNAME')&.text
    @nics = document.elements.to_a('TEMPLATE/NIC')
  end

  def addresses
    @nics.map { |nic| nic.elements['IP'].text }
  end

  def answer(words)
    case words[0]
    when 'look' then look(words[1])
    when /^serve-/ then ''
    when 'ibping' then told(reached?(words[1], self.class.all.find { |other| other.guid?(words[3]) }))
    when 'rc' then told(reached?(words[1], self.class.at(words[4])))
    when 'ping' then told(words[2] == Answers::SERVER || reached?(words[1], self.class.at(words[2]), words[2]))
    end
  end

  def guid?(guid)
    functions.any? { |vf| vf.guid == guid.to_i(16) }
  end

  # Of the NIC with this address, or of the first one.
  def key_of(address)
    nics = infiniband.select { |nic| address.nil? || nic.elements['IP'].text == address }
    key = nics.first.elements['VLAN_ID'].text.to_i
    functions.flat_map(&:keys).find { |open| open & 0x7fff == key }
  end

  private

  def infiniband
    @nics.select { |nic| nic.elements['VN_MAD'].text == 'infiniband' }
  end

  def node
    Suite.fabric.nodes.fetch(@host)
  end

  def functions
    own = node.domains.fetch(@id, [])
    node.vfs.select { |vf| own.include?(vf.address) }
  end

  # An interface is called after its key, so that what is tried over it is tried with that one.
  def look(address)
    key = key_of(address) or raise "VM #{@id} has nothing open for #{address}"
    vf = functions.find { |one| one.keys.include?(key) }
    lid = node.name.delete('^0-9')
    format("net ib%<key>x\ndevice mlx4_0\nport 1\nguid 0x%<guid>016x\nlid #{lid}\nstate ACTIVE\ndriver mlx4_core\n" \
           "key 0:0x%<key>04x\nkey 1:0x7fff\n#{Answers::TOOLS.map { |tool| "tool #{tool}\n" }.join}", key: key, guid: vf.guid)
  end

  # Both have the key, one of them as a full member.
  def reached?(place, other, address = nil)
    own = place.start_with?('ib') ? place.delete_prefix('ib').to_i(16) : key_of(nil)
    theirs = other&.key_of(address)
    own && theirs && own & 0x7fff == theirs & 0x7fff && (own | theirs) & 0x8000 != 0
  end

  def told(reached)
    reached ? "arrived\n" : "silent\n"
  end
end

# The Ethernet network by which guests are reached.
def access_network(addresses)
  id = Suite.oneadmin.call('vn.allocate', "NAME = \"#{unique('access')}\"\nVN_MAD = \"dummy\"\nBRIDGE = \"br0\"\n" \
                                          "AR = [ TYPE = \"IP4\", IP = \"#{addresses.first}\", SIZE = \"#{addresses.size}\" ]", -1)
  made_network(Network.new(Suite.oneadmin, id.to_i)).await_ready(with_key: false)
end

# With questions, as the template has that share/templates/load makes.
def machine_template
  questions = File.read("#{Suite::PROJECT}/share/templates/node.vm")[/^USER_INPUTS = \[.*?\]/m].sub(/^ *IB_HPC = .*\n/, '')
  Suite.oneadmin.call('template.allocate', "NAME = \"#{unique('machine')}\"\nCPU = \"0.1\"\nMEMORY = \"64\"\n" \
                                           "DISK = [ TYPE = \"fs\", FORMAT = \"raw\", SIZE = \"1\" ]\n" \
                                           "CONTEXT = [ NETWORK = \"YES\" ]\n#{questions}").to_i
end

# What the host's own programs find in sysfs is the adapter that oneib is shown.
def with_adapters_in_sysfs(hosts)
  enter = hosts.map { |name| [node(name), ['nsenter', '--mount', '--target', File.read("#{Suite::HOSTS}/#{name}/pid").strip]] }
  enter.each { |host, command| Suite.system(*command, 'mount', '--bind', "#{host.root}/sys", '/sys') }
  yield
ensure
  enter&.each { |_, command| Suite.system(*command, 'umount', '/sys') }
end

def accept(answers, *words)
  path = "PATH=#{Answers::BIN}:#{Suite::PREFIX}/bin:#{Suite.front_end.bin}:#{Suite::PATH}"
  command = Suite.oneadmin_command('env', path, "SUITE_SOCKET=#{Answers::SOCKET}",
                                   "#{Suite::PREFIX}/share/oneib/acceptance/run", *words.map(&:to_s))
  report, said, status = Dir.chdir(Suite::HOME) { Open3.capture3(*command) }
  File.write("#{Suite::PLACE}/acceptance-report.out", report)
  File.write("#{Suite::PLACE}/acceptance-said.out", said)
  [status.exitstatus, report, said]
end

def vms_left
  Suite.oneadmin.document('vmpool.info', -2, -1, -1, -1).elements.to_a('VM/NAME').map(&:text).grep(/acceptance/)
end

check 'share/acceptance/run shows on two hosts that clusters work and stay apart, and ends its VMs' do
  addresses = (1..8).map { |i| "10.67.0.#{i}" }
  pool = admin.pool
  first, second = %w[first second].map { |name| admin.reserve(pool, name) }
  storage = admin.network('storage', 'IB_MEMBERSHIP = "limited"', range: '10.66.1.0')
  access = access_network(addresses)
  template = machine_template
  answers = Answers.new
  status, report, said = answers.while_answering(addresses) do
    with_adapters_in_sysfs(%w[H1 H6]) do
      accept(answers, '--template', template, '--access', access.id, '--clusters', "#{first.id},#{second.id}",
             '--storage', Answers::SERVER, '--storage-network', storage.id, 'H1', 'H6')
    end
  end
  must("it ended with #{status}: #{report}#{said}") { status.zero? && report.lines.last == "ok\n" }
  must("rows across: #{report}") { report.scan(/^ok .* [ab][12] not to [ab][12]/).size == 28 }
  must("the migration: #{report}") { report.match?(/^ok +migrated +H1 has let go of a1/) }
  must("VMs are left: #{vms_left}") { vms_left.empty? }
  see_nothing
ensure
  Suite.oneadmin.call('template.delete', template, false) if template
end
