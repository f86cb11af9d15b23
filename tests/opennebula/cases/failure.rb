# SPDX-License-Identifier: Apache-2.0
# A host that fails: OpenNebula's own hook has it fenced by oneib, and starts its VMs elsewhere.

# The hook with oneib's fence_host.sh beside it, by the guide's own line, and what oneadmin's oneib on the front-end needs to
# know.
def install_fence
  hooks = "#{Suite.front_end.remotes}/hooks/ft"
  line = guide[%r{`(cp /usr/share/.*/fence_host\.sh)`}, 1] or raise 'the guide does not say how the hook is put there'
  line = line.sub('/usr/', "#{Suite::PREFIX}/").sub('~/remotes', Suite.front_end.remotes)
  Suite.as_oneadmin('sh', '-c', line)
  FileUtils.mkdir_p('/etc/oneib')
  File.write('/etc/oneib/oneib.conf', "one: {\n  endpoint = \"http://127.0.0.1:2633/RPC2\";\n" \
                                      "  auth_file = \"#{Suite::HOME}/.one/one_auth\";\n};\n")
  FileUtils.chmod(0o644, '/etc/oneib/oneib.conf')
  hooks
end

# What the operator's guide says of a host that fails.
def guide
  File.read("#{Suite::PROJECT}/docs/operator-failure.md")
end

# As the guide has the hook run again: as OpenNebula calls it when the host is in ERROR, without its wait.
def host_error(hooks, host)
  line = guide[/^`(echo .*host_error\.rb)`/, 1] or raise 'the guide does not say how the hook is run again'
  line = line.sub('HOST', host).sub('~/remotes/hooks/ft', hooks)
  path = "PATH=#{Suite::PREFIX}/bin:#{Suite.front_end.bin}:#{Suite::PATH}"
  output, status = Dir.chdir(Suite::HOME) { Open3.capture2e(*Suite.oneadmin_command('env', path, 'sh', '-c', line)) }
  [status.success?, output + hook_log]
end

def hook_log
  path = "#{Suite.front_end.logs}/host_error.log"
  File.exist?(path) ? File.read(path) : ''
end

def oneib(*words)
  path = "PATH=#{Suite::PREFIX}/bin:#{Suite::PATH}"
  output, status = Dir.chdir(Suite::HOME) { Open3.capture2e(*Suite.oneadmin_command('env', path, 'oneib', *words)) }
  [status.exitstatus, output]
end

def must_do(*words)
  status, output = oneib(*words)
  must("oneib #{words.join(' ')} ended with #{status}: #{output}") { status.zero? }
  output
end

# An SMP to it is answered.
def on_the_fabric?(host)
  node(host).port_keys
  true
rescue RuntimeError
  false
end

# A link that was disabled comes up again, which a switch does by itself.
def bring_up(host)
  Suite.fabric.tell('link', host, 'down')
  Suite.fabric.tell('link', host, 'up')
end

def be_usable(host, usable)
  Suite.oneadmin.call('host.status', Suite.host_id(host), usable ? 0 : 1)
end

# Neither OpenNebula nor oneibd reaches the host, and nothing on it closes what is open.
def cut_off(host)
  node(host).cut
  Suite.fabric.tell('service', host, 'stop', 'KILL')
  be_usable(host, false)
end

def come_back(host)
  node(host).reconnect
  Suite.fabric.tell('service', host, 'start')
end

# OpenNebula cancels what its driver does for the VM and has it clean up, at once, and sometimes the first takes the second
# along: nothing comes of it until it is told again.
def await_resubmitted(vm)
  vm.await(:pending, within: 15)
rescue NotSeen
  vm.recover(:recreate).await(:pending)
end

# GUIDs that functions of two hosts are open with, and the hosts.
def doubled
  open = Suite.fabric.nodes.values.flat_map { |one| one.vfs.select(&:open?).map { |vf| [vf.guid, one.name] } }
  open.group_by(&:first).transform_values { |pairs| pairs.map(&:last).uniq }.select { |_, hosts| hosts.size > 1 }
end

# At no moment of the block two functions with one GUID are open on hosts that are on the fabric. Who is not, is said: the
# fabric answers one at a time.
def never_doubled(off)
  seen = []
  watcher = Thread.new do
    loop do
      doubled.each { |guid, hosts| seen << [guid, hosts] if (hosts - off).size > 1 }
      sleep 0.02
    end
  end
  yield
  must("open twice: #{seen.uniq}") { seen.empty? }
ensure
  watcher.kill.join
end

def let_back(host, *how)
  must_do('unfence', *how, host)
  bring_up(host)
  be_usable(host, true)
  Suite.eventually("#{host} is on the fabric", 20) { on_the_fabric?(host) or raise 'no' }
end

# Whatever has failed, the next case finds the host as it was.
def restore(host)
  come_back(host) if File.exist?("#{Suite::HOSTS}/#{host}/cut")
  let_back(host, '--force') unless on_the_fabric?(host)
end

check 'OpenNebula takes the hook as the guide has it' do
  template = guide[/^cat >host_error\.tmpl <<'END'\n(.*?)^END$/m, 1] or raise 'the guide has no hook'
  File.write("#{Suite::HOME}/host_error.tmpl", template)
  made = Suite.as_oneadmin("#{Suite.front_end.bin}/onehook", 'create', "#{Suite::HOME}/host_error.tmpl")[/ID: (\d+)/, 1]
  must('onehook create names no hook') { made }
  hook = Suite.oneadmin.document('hook.info', made.to_i)
  must("it is #{hook}") { hook.elements['TEMPLATE/COMMAND'].text == 'ft/host_error.rb' && hook.elements['TYPE'].text == 'state' }
ensure
  Suite.oneadmin.call('hook.delete', made.to_i) if made
end

check 'a host cut off with its VMs running is fenced, its VMs work elsewhere, and it comes back' do
  hooks = install_fence
  network = admin.network('ours')
  vm = admin.running(network, on: 'H1')
  neighbour = admin.running(network, on: 'H2')
  old = vm.host
  off = []
  never_doubled(off) do
    cut_off('H1')
    must('the guest has ended') { node('H1').domains.key?(vm.id) }
    done, said = host_error(hooks, 'H1')
    must("the hook failed: #{said}") { done && said.include?('Fencing success') && said.include?('is fenced') }
    must('H1 is on the fabric') { !on_the_fabric?('H1') }
    off << 'H1'
    await_resubmitted(vm)
    vm.deploy('H3').await(:running)
    must("it is on #{vm.host}") { vm.host == 'H3' && old == 'H1' }
    see_open('H3', within: 20, vm => [network.key])
    see_open('H2', neighbour => [network.key])
    seen_within(20) do
      keys = node('H3').port_keys
      must("the port of H3 holds #{keys} and not #{network.key}") { keys == [network.key] }
    end
    must('H1 is not open as it was left') { node('H1').vfs.any?(&:open?) }

    # The old host is back, its guest runs on: closed at once, and still off the fabric.
    come_back('H1')
    seen_within(30) { must('H1 has something open') { node('H1').vfs.none?(&:open?) } }
    must('H1 is on the fabric') { !on_the_fabric?('H1') }
    node('H1').guest_ends(vm.id) # as an operator ends what is left there
    off.clear
    let_back('H1')
    see_open('H3', vm => [network.key])
  end
  later = admin.running(network, on: 'H1')
  see(vm => [network.key], neighbour => [network.key], later => [network.key])
ensure
  restore('H1')
end

check 'a host that cannot be fenced keeps its VMs: the hook starts none elsewhere' do
  hooks = install_fence
  network = admin.network('ours')
  vm = admin.running(network, on: 'H1')
  Suite.fabric.tell('oneibd', 'stop', 'TERM')
  stopped = true
  done, said = host_error(hooks, 'H1')
  must("the hook succeeded: #{said}") { !done && said.include?('Fencing error') }
  must('the VM was moved') { vm.state == :running && vm.host == 'H1' }
  must('H1 is off the fabric') { on_the_fabric?('H1') }
ensure
  Suite.fabric.tell('oneibd', 'start') if stopped
  Suite.eventually('H1 is fenced', 30) { on_the_fabric?('H1') and raise 'no' } if stopped # as oneadmin had asked for
  restore('H1')
end

# A document like the ledger, which any user can make.
def forged_ledger(host, guid)
  "NAME = \"oneib\"\nVERSION = \"1\"\nSERIAL = \"99\"\nNEXT = \"0x0100\"\n" \
    "FENCE = [ HOST = \"#{Suite.host_id(host)}\", WISH = \"closed\", ASKED = \"1\", SINCE = \"1\" ]\n" \
    "FENCED_PORT = [ HOST = \"#{Suite.host_id(host)}\", GUID = \"#{guid}\", SWITCH = \"0x0000000000000000\", PORT = \"0\", " \
    "STATE = \"asked\", ANSWER = \"0\", SINCE = \"1\" ]\n"
end

def ledger_id
  pool = Suite.oneadmin.document('documentpool.info', -2, -1, -1, 6231)
  pool.elements.to_a('DOCUMENT').find { |one| one.elements['UID'].text == '0' }.elements['ID'].text.to_i
end

check 'a user neither has a host fenced nor lets one back' do
  mallory = user('mallory')
  network = admin.network('ours')
  vm = admin.running(network, on: 'H1')
  host = Suite.oneadmin.document('host.info', Suite.host_id('H1'), false)
  guid = host.elements['TEMPLATE/IB_HCA/PORT_GUID'].text
  forged = forged_ledger('H1', guid)

  mallory.client.call('document.allocate', forged, 6231)
  own = mallory.vm(mallory.reserve(admin.pool, 'his'))
  own.update(forged.sub(/^NAME.*\n/, ''))
  must_refuse('to write the ledger') { mallory.client.call('document.update', ledger_id, forged, 0) }
  must_refuse('to write a host') { mallory.client.call('host.update', Suite.host_id('H1'), forged, 1) }
  for_a_while(10) { must('the port of H1 has lost its key') { node('H1').port_keys == [network.key] } }
  see_open('H1', vm => [network.key])

  install_fence
  must_do('fence', 'H1')
  lifting = forged.sub('closed', 'forced')
  mallory.client.call('document.allocate', lifting, 6231)
  own.update(lifting.sub(/^NAME.*\n/, ''))
  must_refuse('to write the ledger') { mallory.client.call('document.update', ledger_id, lifting, 0) }
  for_a_while(10) { must('H1 is on the fabric') { !on_the_fabric?('H1') } }
ensure
  restore('H1')
end
