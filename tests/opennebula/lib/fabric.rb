# SPDX-License-Identifier: Apache-2.0
# The simulated fabric and its nodes, and what this suite itself reads there: the ports by SMPs, the virtual functions and
# the domains from the nodes' files. oneib's own word (verify, its table) is asked only where a case is about it.
require 'fileutils'
require 'rexml/document'

CLOSED = 0x7fff

class Fabric
  attr_reader :nodes

  def initialize(program, endpoint, events, auth_file)
    @pipe = IO.popen([program, endpoint, events, auth_file], 'r+')
    answer
    @nodes = tell('roots').to_h { |line| line.split.then { |name, root| [name, Node.new(self, name, root)] } }
  end

  # The lines of the answer.
  def tell(*words)
    @pipe.puts words.join(' ')
    @pipe.flush
    answer
  end

  def oneib(*words)
    lines = tell('oneib', *words)
    status = lines.pop.delete_prefix('status ').to_i
    [status, lines.join("\n")]
  end

  def log(name)
    tell('log', name)
  end

  # opensm gives a new key the slot of a port's table after the highest that it has used there. After 62 keys one lands in
  # the last slot, which has to stay empty, and a VM does not start (docs/operator-daily.md). A new opensm begins with the
  # tables as they are. networks: as many as a case has made.
  def renew_slots(networks)
    @networks = (@networks || 0) + networks
    return if @networks < 40

    tell('opensm', 'restart')
    @networks = 0
  end

  def close
    @pipe.close
  end

  private

  def answer
    lines = []
    while (line = @pipe.gets&.chomp)
      return lines if line == 'ok'
      raise line.delete_prefix('error ') if line.start_with?('error ')

      lines << line
    end
    raise "the fabric has ended: #{lines.join(' ')}"
  end
end

# A virtual function: its address, and the P_Keys that its map gives it, the closed default key left out.
VF = Struct.new(:address, :keys, :guid) do
  def open?
    !keys.empty?
  end
end

class Node
  attr_reader :name, :root

  STANDIN = '/var/lib/live-standin'.freeze
  ADAPTER = '/sys/class/infiniband/mlx4_0'.freeze

  def initialize(fabric, name, root)
    @fabric = fabric
    @name = name
    @root = root
  end

  # The P_Keys of the port on the fabric, without the default one.
  def port_keys
    @fabric.tell('port', name).map { |line| line.to_i(16) }.reject { |key| key & 0x7fff == 0x7fff }.sort
  end

  def port_guid
    gid = File.read("#{root}#{ADAPTER}/ports/1/gids/0").strip
    gid.split(':').last(4).join.to_i(16)
  end

  def vfs
    table = read_table
    functions.each_with_index.map { |address, index| VF.new(address, mapped_keys(address, table), guid(index + 1)) }
  end

  # {VM id => addresses of the host's functions in its domain}
  def domains
    documents = Dir["#{root}#{STANDIN}/one-*.xml"].to_h { |path| [path[/one-(\d+)\.xml$/, 1].to_i, domain_at(path)] }
    documents.compact.transform_values do |document|
      document.get_elements('//hostdev/source/address').map { |element| address_of(element) }
    end
  end

  # nil: it has ended meanwhile. One that is being written is read again.
  def domain_at(path)
    tries = 0
    begin
      REXML::Document.new(File.read(path))
    rescue Errno::ENOENT
      nil
    rescue REXML::ParseException
      (tries += 1) < 100 ? retry : raise
    end
  end

  # What a domain gets is what its functions are open for: {VM id => keys}.
  def reach
    keys = vfs.to_h { |vf| [vf.address, vf.keys] }
    domains.transform_values { |addresses| addresses.flat_map { |address| keys.fetch(address) }.sort }
  end

  # Functions that are open and in nobody's domain.
  def strays
    taken = domains.values.flatten
    vfs.select { |vf| vf.open? && !taken.include?(vf.address) }
  end

  def fault(text)
    File.write("#{root}#{STANDIN}/faults", "#{text}\n", mode: 'a')
  end

  # oneib's network driver fails there in that action, by an operator's hook.
  def fail_hook(action)
    File.write("#{root}#{STANDIN}/hook-#{action}", '')
  end

  # Upstream actions, and pre, post and clean of the network driver, in the order of their calls.
  def calls
    File.readlines("#{root}#{STANDIN}/log").filter_map { |line| line[/^(?:upstream|hook) (\w+)/, 1] }
  end

  # What OpenNebula writes beside a VM's deployment file cannot be written.
  def block_file(vm, name)
    run("mkdir -p #{Suite.front_end.datastores}/0/#{vm.id}/#{name}")
  end

  def unblock_file(vm, name)
    run("rmdir #{Suite.front_end.datastores}/0/#{vm.id}/#{name}")
  end

  # What no VM of OpenNebula's is any more, ends here by force.
  def clear
    File.delete("#{Suite::HOSTS}/#{name}/cut") if File.exist?("#{Suite::HOSTS}/#{name}/cut")
    domains.each_key { |vm| end_by_force(vm) }
    @fabric.tell('forget', name)
  end

  def heal
    FileUtils.rm_f(Dir["#{root}#{STANDIN}/{faults,hook-*}"])
  end

  # The guest switches itself off: OpenNebula learns it from its monitoring.
  def guest_ends(vm)
    run("#{Suite.live_standin} stop one-#{vm}")
  end

  # What a command prints that oneadmin runs there.
  def run(command)
    Suite.as_oneadmin('ssh', name, command)
  end

  def cut
    File.write("#{Suite::HOSTS}/#{name}/cut", '')
  end

  def reconnect
    File.delete("#{Suite::HOSTS}/#{name}/cut")
  end

  private

  # OpenNebula may end it at the same moment.
  def end_by_force(vm)
    guest_ends(vm)
  rescue StandardError
    raise if domains.key?(vm)
  end

  def functions
    Dir.children("#{root}#{ADAPTER}/iov").grep(/^\h{4}:\h\h:\h\h\.\h$/).sort.drop(has_physical? ? 1 : 0)
  end

  # mlx4 lists the physical function beside its virtual ones.
  def has_physical?
    File.exist?("#{root}#{ADAPTER}/iov/0000:81:00.0")
  end

  def read_table
    Dir["#{root}#{ADAPTER}/ports/1/pkeys/*"].to_h { |path| [File.basename(path), File.read(path).to_i(16)] }
  end

  def mapped_keys(address, table)
    maps = Dir["#{root}#{ADAPTER}/iov/#{address}/ports/1/pkey_idx/*"].map { |path| File.read(path).strip }.uniq
    maps.map { |index| table.fetch(index, 0) }.reject { |key| [0, CLOSED].include?(key) }.uniq
  end

  def guid(number)
    File.read("#{root}#{ADAPTER}/iov/ports/1/admin_guids/#{number}").to_i(16)
  end

  def address_of(element)
    parts = %w[domain bus slot function].map { |name| element.attributes[name].to_i(16) }
    format('%04x:%02x:%02x.%x', *parts)
  end
end
