# SPDX-License-Identifier: Apache-2.0
# The front-end that was given, as this suite's overlays show it: emptied of what it held, with oneib installed into it, run
# by an ordinary user.
require 'fileutils'
require 'open3'

class FrontEnd
  attr_reader :version, :location

  def initialize
    @location = ENV['ONE_LOCATION']
    @pids = {}
  end

  # Where a self-contained one's programs look for its libraries; packages put these where Ruby finds them.
  def ruby
    @location && "#{@location}/lib/ruby"
  end

  def etc
    @location ? "#{@location}/etc" : '/etc/one'
  end

  def var
    @location ? "#{@location}/var" : '/var/lib/one'
  end

  def bin
    @location ? "#{@location}/bin" : '/usr/bin'
  end

  def remotes
    "#{var}/remotes"
  end

  def logs
    @location ? var : '/var/log/one'
  end

  def vm_log(vm)
    File.read("#{@location ? "#{var}/vms/#{vm}/vm.log" : "/var/log/one/#{vm}.log"}").scrub
  end

  def datastores
    "#{var}/datastores"
  end

  # --- before it is started -----------------------------------------------------------------------------------------

  def prepare
    empty
    configure
    @untouched = oned_conf
    install_oneib
    replace_upstream_actions
    replace_probes
    let_steps_fail
    [var, etc, logs].uniq.each { |directory| Suite.system('chown', '-R', "#{Suite::USER}:#{Suite::USER}", directory) }
    @version = Suite.as_oneadmin("#{bin}/oned", '-v')[/OpenNebula ([\d.]+)/, 1]
  end

  # --- its oned.conf -------------------------------------------------------------------------------------------------

  # 6.10 has no placers.
  def placers?
    File.directory?("#{remotes}/scheduler/rank")
  end

  def oned_conf
    File.read("#{etc}/oned.conf")
  end

  # What oned.conf was before oneib was installed.
  attr_reader :untouched

  # As an operator runs it.
  def set_oned_conf(*options)
    Suite.system("#{Suite::PREFIX}/share/oneib/install/oned-conf", *options)
  end

  # Without oneib's SCHED_MAD, as docs/operator-placement.md has it switched off; then with it again.
  def without_placer
    path = "#{etc}/oned.conf"
    text = oned_conf
    File.write(path, text.sub(/^# BEGIN oneib placer.*?^# END oneib placer\n/m, ''))
    restart
    yield
  ensure
    File.write(path, text)
    restart
  end

  # The words with which oned has started its scheduler's driver.
  def scheduler_words
    Dir['/proc/[0-9]*/cmdline'].filter_map do |path|
      words = File.read(path).split("\0")
      words.drop_while { |word| !word.end_with?('one_sched.rb') }.drop(1).join(' ') if words.any? { |word| word.end_with?('one_sched.rb') }
    rescue Errno::ENOENT, Errno::ESRCH
      nil
    end
  end

  # --- what fails ---------------------------------------------------------------------------------------------------

  TM_ACTIONS = %w[context premigrate postmigrate].freeze

  # OpenNebula's transfer manager fails in that action.
  def fail_tm(action)
    File.write("#{Suite::PLACE}/tm-#{action}-fails", '')
  end

  def heal
    FileUtils.rm_f(Dir["#{Suite::PLACE}/tm-*-fails"])
  end

  # --- running ------------------------------------------------------------------------------------------------------

  def start
    # As OpenNebula's own script does: one that was killed has left its lock.
    FileUtils.rm_f(@location ? "#{var}/lock/.lock" : '/var/lock/one/one')
    start_program('oned', "#{bin}/oned", '-f')
    await_oned
    Suite.as_oneadmin("#{bin}/onehem-server", 'start')
    start_program('mm_sched', "#{bin}/mm_sched") if File.exist?("#{bin}/mm_sched")
  end

  def await_oned
    Suite.eventually('oned answers', 180) { Suite.oneadmin.call('system.version') unless ended?('oned') }
    raise "oned has ended: #{File.read("#{Suite::PLACE}/oned.out")}" if ended?('oned')
  end

  # oned and its scheduler. Of one that is killed systemd ends what it has left.
  def kill(signal)
    @pids.each_value { |pid| Process.kill(signal, pid) }
    @pids.each_value { |pid| Process.wait(pid) }
    end_drivers
    @pids.clear
    Suite.as_oneadmin("#{bin}/onehem-server", 'stop')
  end

  def restart
    kill('TERM')
    start
  end

  private

  def end_drivers
    mads = @location ? "#{@location}/lib/mads/" : '/usr/lib/one/mads/'
    Dir['/proc/[0-9]*'].each do |process|
      Process.kill('KILL', File.basename(process).to_i) if File.read("#{process}/cmdline").include?(mads)
    rescue Errno::ENOENT, Errno::ESRCH
      next
    end
    sleep 0.5
  end

  def ended?(name)
    return false unless @pids[name] && Process.wait(@pids[name], Process::WNOHANG)

    true
  rescue Errno::ECHILD
    true
  end

  # Of its database, logs and VMs.
  def empty
    FileUtils.rm_rf(Dir["#{var}/one.db*", "#{var}/.one", "#{var}/vms/*", "#{logs}/*.log*", "#{var}/datastores/*/*",
                        "#{var}/oned.pid", "#{var}/lock/*", "#{var}/run/*"])
    FileUtils.mkdir_p(["#{var}/vms", "#{var}/lock", "#{var}/run", "#{var}/datastores/0", "#{var}/datastores/1"])
    unless @location
      FileUtils.mkdir_p(%w[/var/log/one /run/one /run/lock/one])
      Suite.system('chown', Suite::USER, '/run/one', '/run/lock/one')
    end
  end

  def install_oneib
    scheduler = placers? ? ['--scheduler'] : []
    Suite.system("#{Suite::PROJECT}/install.sh", '--frontend', '--node', *scheduler, '--build', Suite::BUILD, '--prefix', Suite::PREFIX)
    # The virtualization driver, with libvirt's stand-in instead of libvirt.
    FileUtils.cp(Dir["#{Suite::BUILD}/standin/vmm/*"].select { |path| File.file?(path) },
                 "#{Suite::PREFIX}/libexec/oneib/vmm")
    FileUtils.cp(Suite.built_live_standin, Suite.live_standin)
    FileUtils.chmod(0o755, Suite.live_standin)
  end

  # OpenNebula's own KVM actions, on libvirt's stand-in; those that change nothing there only note that they were called.
  def replace_upstream_actions
    kvm = "#{remotes}/vmm/kvm"
    FileUtils.cp(Dir["#{Suite::PROJECT}/tests/unit/vmm/upstream-standin/*"].grep_v(/\.c$/), kvm)
    %w[prereconfigure reconfigure reboot reset].each { |action| FileUtils.cp("#{Suite::HERE}/upstream-standin/note", "#{kvm}/#{action}") }
  end

  # A host that has what no simulated one has; oneib's probe is the one that was installed.
  def replace_probes
    probes = "#{remotes}/im/kvm-probes.d"
    ours = "#{probes}/host/system/oneib_hca.sh"
    Dir["#{probes}/{host,vm}/*/*"].each { |path| FileUtils.rm_rf(path) unless [ours].include?(path) || path.end_with?('date.sh') }
    FileUtils.cp("#{Suite::HERE}/probes/machine", "#{probes}/host/system/machine")
    FileUtils.cp("#{Suite::HERE}/probes/usage", "#{probes}/host/monitor/usage")
    FileUtils.cp("#{Suite::HERE}/probes/state", "#{probes}/vm/status/state")
    Dir["#{probes}/**/*"].each { |path| FileUtils.chmod(0o755, path) if File.file?(path) }
  end

  # Hooks of the network driver and scripts around the transfer manager's actions, which fail when they are told to.
  def let_steps_fail
    %w[pre post clean].each do |action|
      FileUtils.install("#{Suite::HERE}/upstream-standin/hook", "#{remotes}/vnm/infiniband/#{action}.d/fault", mode: 0o755)
    end
    Dir["#{remotes}/tm/{ssh,local}/mkimage"].each { |script| FileUtils.cp("#{Suite::HERE}/upstream-standin/mkimage", script) }
    Dir["#{remotes}/tm/{ssh,local}/{#{TM_ACTIONS.join(',')}}"].each do |script|
      FileUtils.mv(script, "#{script}.upstream")
      FileUtils.install("#{Suite::HERE}/upstream-standin/tm", script, mode: 0o755)
    end
  end

  def configure
    edit('monitord.conf', 'STATE_VM' => 2, 'SYSTEM_HOST' => 10, 'MONITOR_HOST' => 20)
    FileUtils.mkdir_p("#{Suite::HOME}/.one")
    File.write("#{Suite::HOME}/.one/one_auth", "oneadmin:#{Suite::PASSWORD}\n", perm: 0o600)
    Suite.system('chown', '-R', "#{Suite::USER}:#{Suite::USER}", Suite::HOME)
  end

  def edit(file, settings)
    path = "#{etc}/#{file}"
    text = File.read(path)
    settings.each { |name, value| text.gsub!(/^(\s*#{name}\s*=\s*)\w+/, "\\1#{value}") }
    File.write(path, text)
  end

  def start_program(name, *command)
    log = "#{Suite::PLACE}/#{name}.out"
    @pids[name] = Process.spawn(*Suite.oneadmin_command(*command), %i[out err] => [log, 'a'], :in => '/dev/null')
  end
end
