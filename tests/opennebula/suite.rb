# SPDX-License-Identifier: Apache-2.0
# Started by ./run, as root, in namespaces of its own.
require 'digest'
require_relative 'lib/client'
require_relative 'lib/fabric'
require_relative 'lib/front_end'
require_relative 'lib/cloud'
require_relative 'lib/case'

module Suite
  HERE = __dir__
  PROJECT = File.expand_path('../..', __dir__)
  PLACE = '/mnt'.freeze
  HOSTS = "#{PLACE}/hosts".freeze
  HOME = "#{PLACE}/home".freeze
  BUILD = ENV.fetch('ONEIB_SUITE_BUILD', '')
  PREFIX = ENV.fetch('ONEIB_SUITE_PREFIX', '')
  USER = '65534'.freeze # who is oneadmin on the front-end and on the hosts, as on the lab's nodes
  PASSWORD = 'suite'.freeze
  PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'.freeze

  FILES = %w[life migration steps tenants attacks limits killed failure mass placement acceptance].freeze # in the order in which they run

  module_function

  def oneadmin
    @oneadmin ||= Client.new("oneadmin:#{PASSWORD}")
  end

  def front_end
    @front_end ||= FrontEnd.new
  end

  def fabric
    @fabric ||= Fabric.new("#{BUILD}/tests/opennebula/opennebula-fabric", 'http://127.0.0.1:2633/RPC2',
                           'tcp://127.0.0.1:2101', "#{HOME}/.one/one_auth")
  end

  def host_id(name)
    @host_ids.fetch(name)
  end

  def built_live_standin
    Dir["#{BUILD}/tests/unit/**/live-standin"].first or raise 'live-standin is not built'
  end

  def live_standin
    "#{PREFIX}/libexec/oneib/live-standin"
  end

  def now
    Process.clock_gettime(Process::CLOCK_MONOTONIC)
  end

  # Tries until the block raises nothing.
  def eventually(what, seconds)
    finish = now + seconds
    begin
      yield
    rescue StandardError => e
      raise NotSeen.new("not within #{seconds} s: #{what}; #{e.message}"), cause: nil if now > finish

      sleep 0.2
      retry
    end
  end

  def system(*command)
    output, status = Open3.capture2e(*command)
    raise "#{command.join(' ')}: #{output}" unless status.success?

    output
  end

  # Of oneadmin's programs, on the front-end and on the hosts.
  def environment
    { 'PATH' => "#{front_end.bin}:#{PATH}", 'HOME' => HOME, 'ONE_AUTH' => "#{HOME}/.one/one_auth", 'LANG' => 'C.UTF-8',
      'ONE_LOCATION' => front_end.location, 'RUBYLIB' => front_end.ruby }.compact
  end

  def oneadmin_command(*command)
    ['setpriv', "--reuid=#{USER}", "--regid=#{USER}", '--clear-groups', 'env', '-i',
     *environment.map { |name, value| "#{name}=#{value}" }, *command]
  end

  def as_oneadmin(*command)
    Dir.chdir(HOME) { system(*oneadmin_command(*command)) }
  end

  # --- hosts --------------------------------------------------------------------------------------------------------

  # Of each host its own: where OpenNebula puts its remotes and what it knows of the host, the files of its monitoring
  # client (those of another OpenNebula on this machine belong to another user, and that client would not start), and the
  # datastores.
  def private_directories
    { '/tmp' => 'tmp', '/var/tmp/one' => 'remotes', '/var/tmp/one_db' => 'probes', front_end.datastores => 'datastores' }
  end

  def make_host(node, others)
    directory = "#{HOSTS}/#{node.name}"
    standin = "#{node.root}#{Node::STANDIN}"
    FileUtils.mkdir_p(["#{standin}/peers", *private_directories.values.map { |name| "#{directory}/#{name}" }])
    others.each { |other| File.symlink(other.root, "#{standin}/peers/#{other.name}") unless other == node }
    FileUtils.mkdir_p(private_directories.keys)
    File.write("#{standin}/node.xml", "<node/>\n") # what libvirt's test driver reads, until its stand-in writes it
    system('chown', '-R', "#{USER}:#{USER}", standin, *private_directories.values.map { |name| "#{directory}/#{name}" })
    write_environment(node.name, 'ONEIB_NODE_ROOT' => node.root, 'LIVE_STANDIN' => live_standin)
    enter_host(node.name, directory)
  end

  def write_environment(name, more = {})
    FileUtils.mkdir_p("#{HOSTS}/#{name}")
    File.write("#{HOSTS}/#{name}/environment", environment.merge(more).map { |key, value| "#{key}=#{value}\n" }.join)
  end

  # Hosts reach the front-end, too.
  def make_front_end_host
    write_environment('frontend')
    File.write("#{HOSTS}/frontend/pid", "#{Process.pid}\n")
  end

  def enter_host(name, directory)
    File.write("#{directory}/machine-id", "#{Digest::MD5.hexdigest(name)}\n") # OpenNebula tells hosts apart by it
    places = private_directories.merge('/etc/machine-id' => 'machine-id')
    mounts = places.map { |place, own| "mount --bind #{directory}/#{own} #{place}" }.join(' && ')
    pid = Process.spawn('unshare', '--mount', '--uts', 'sh', '-c',
                        "hostname #{name} && #{mounts} && echo $$ > #{directory}/pid && exec sleep infinity")
    eventually("host #{name} is there", 10) { File.empty?("#{directory}/pid") and raise 'no' }
    @host_processes = (@host_processes || []) << pid
  end

  # What the monitoring clients of another OpenNebula have left on this machine, as another user.
  def leave_foreign_files
    fabric.nodes.size.times { |host| File.write("/tmp/one-monitord-#{host}.error", '') }
  end

  def make_hosts
    nodes = fabric.nodes.values
    leave_foreign_files
    File.write('/etc/machine-id', "#{Digest::MD5.hexdigest('frontend')}\n")
    nodes.each { |node| make_host(node, nodes) }
    make_front_end_host
    names = ['frontend', *nodes.map(&:name)]
    File.write('/etc/hosts', "127.0.0.1 localhost\n#{names.map.with_index(1) { |name, i| "127.0.1.#{i} #{name}\n" }.join}")
  end

  def add_hosts
    @host_ids = fabric.nodes.keys.to_h { |name| [name, oneadmin.call('host.allocate', name, 'kvm', 'kvm-ib', -1).to_i] }
    eventually('all hosts are monitored, with their adapters', 180) do
      @host_ids.each_value do |id|
        host = oneadmin.document('host.info', id, false)
        state = host.elements['STATE'].text
        raise "host #{id} is in state #{state}: #{host.elements['TEMPLATE/ERROR']&.text}" unless state == '2'
        %w[IB_HCA IB_NODE_KEY].each { |name| raise "host #{id} has no #{name}" unless host.elements["TEMPLATE/#{name}"] }
      end
    end
  end

  # As install.sh tells operators: hosts learn from the remotes by which oneibd they live.
  def announce_oneibd
    lines = nil
    eventually('oneibd is in the ledger', 20) do
      status, lines = fabric.oneib('daemons')
      raise lines unless status.zero?
    end
    File.write("#{front_end.remotes}/etc/oneib/daemons", "#{lines}\n")
  end

  # By their keys: oneadmin's SSH reads /run/oneib/node-key, which is below each node's own root here.
  def accept_hosts
    fabric.nodes.each do |name, node|
      status, said = fabric.oneib('host', 'accept', '--key', File.read("#{node.root}/run/oneib/node-key").strip, name)
      raise said unless status.zero?
    end
  end

  def await_nodes
    eventually('all hosts are heard by oneibd', 60) do
      @host_ids.each_value do |id|
        free = oneadmin.document('host.info', id, false).elements['TEMPLATE/IB_VFS_FREE']&.text
        raise "host #{id} has IB_VFS_FREE #{free.inspect}" unless free.to_i.positive?
      end
    end
  end

  # --- all of it ----------------------------------------------------------------------------------------------------

  def set_up
    FileUtils.mkdir_p([HOSTS, HOME])
    front_end.prepare
    make_hosts
    front_end.start
    fabric.tell('oneibd', 'start')
    announce_oneibd
    add_hosts
    accept_hosts
    await_nodes
    puts "OpenNebula #{front_end.version}, #{fabric.nodes.size} hosts"
  end

  def load_cases(words)
    FILES.each { |name| require "#{HERE}/cases/#{name}" }
    return Case::ALL if words.empty?

    Case::ALL.select { |one| words.any? { |word| one.file == word || one.name.include?(word) } }
  end

  # :passed, :known or :failed
  def judge(one)
    failure = one.run
    if one.defect.nil?
      return :passed unless failure
    elsif failure.is_a?(NotSeen)
      puts "    known: #{one.defect}", "    seen: #{failure.message}"
      return :known
    elsif failure.nil?
      puts "    mended: take the mark \"expected to fail\" away (#{one.defect})"
      return :failed
    end
    puts "    #{failure.class}: #{failure.message}"
    puts failure.backtrace.grep(%r{cases/|lib/}).first(6).map { |line| "        #{line}" } unless failure.is_a?(NotSeen)
    :failed
  end

  def run_cases(cases)
    cases.map do |one|
      title = "#{one.file}: #{one.name}"
      puts "[ RUN      ] #{title}"
      began = now
      verdict = judge(one)
      puts "    #{(now - began).round(1)} s"
      puts "#{verdict == :failed ? '[  FAILED  ]' : '[       OK ]'} #{title}"
      verdict
    end
  end

  # For whoever looks into a failure.
  def save_logs
    logs = "#{PLACE}/logs/#{front_end.version}"
    FileUtils.rm_rf(logs)
    FileUtils.mkdir_p(logs)
    files = Dir["#{front_end.logs}/*.log", "#{front_end.etc}/*.conf", "#{PLACE}/*.out", "#{PLACE}/lab/*/*.log"]
    files.each { |path| FileUtils.cp(path, logs) }
    FileUtils.cp_r("#{front_end.var}/vms", logs) if Dir.exist?("#{front_end.var}/vms")
    puts "Logs are in #{BUILD}/opennebula-logs/#{front_end.version}"
  end

  def main(words)
    $stdout.sync = true
    keep = words.delete('--keep')
    cases = load_cases(words - ['--list'])
    return cases.each { |one| puts "#{one.file}: #{one.name}#{one.defect && ' (expected to fail)'}" } if words.include?('--list')
    abort 'no such case' if cases.empty?

    begin
      set_up
      verdicts = run_cases(cases)
    ensure
      save_logs
    end
    puts "#{verdicts.count(:passed)} passed, #{verdicts.count(:known)} failed as expected, #{verdicts.count(:failed)} failed"
    $stdin.gets if keep
    exit(verdicts.include?(:failed) ? 1 : 0)
  end
end

Suite.main(ARGV.dup)
