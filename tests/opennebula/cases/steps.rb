# SPDX-License-Identifier: Apache-2.0
# What OpenNebula does when a step of an action fails: which steps it takes then (of ours pre, post, clean and what kvm-ib
# does), and what is left on the node. Of each action each step that may fail has a case here, in the order of its steps.

# OpenNebula notes a step that failed after those that it takes instead: "clean deploy!" is deploy, which fails, then clean.

# That OpenNebula takes these steps for what the block asks of it. It may note one after the VM has its new state. Some
# releases take a step that others do not.
def takes(vm, wanted, perhaps: nil)
  before = vm.steps.size
  yield
  seen_within(10) { must_have_taken(vm.steps.drop(before) - [perhaps], wanted) }
end

def must_have_taken(steps, wanted)
  must("OpenNebula took #{steps.join(' ')} instead of #{wanted.join(' ')}") { steps == wanted }
end

# --- deploy -----------------------------------------------------------------------------------------------------------

# Deploys a VM on H1 where something fails; it ends in BOOT_FAILURE after these steps.
def fail_at_boot(blue, steps)
  vm = admin.vm(blue)
  yield vm
  takes(vm, steps) { vm.deploy('H1').await(:boot_failure) }
  vm
end

def boots_after_all(vm, blue)
  node('H1').heal
  Suite.front_end.heal
  vm.recover(:retry).await(:running)
  see(vm => [blue.key])
end

check 'deploy: tm_context fails: nothing is called, nothing open' do
  blue = admin.network('blue')
  vm = fail_at_boot(blue, %w[tm_context!]) { Suite.front_end.fail_tm('context') }
  see_open('H1')
  boots_after_all(vm, blue)
end

check 'deploy: pre fails: no clean, nothing open' do
  blue = admin.network('blue')
  vm = fail_at_boot(blue, %w[tm_context pre!]) { node('H1').fail_hook('pre') }
  see_open('H1')
  boots_after_all(vm, blue)
end

check 'deploy: writing vm.xml fails: no clean; the function stays the VM\'s, in no guest' do
  blue = admin.network('blue')
  vm = fail_at_boot(blue, %w[tm_context pre mkdir vm.xml!]) { |one| node('H1').block_file(one, 'vm.xml') }
  must('a guest runs') { node('H1').domains.empty? }
  node('H1').unblock_file(vm, 'vm.xml')
  boots_after_all(vm, blue)
end

check 'deploy: writing vm.xml fails, the VM is given up: all is closed' do
  blue = admin.network('blue')
  vm = fail_at_boot(blue, %w[tm_context pre mkdir vm.xml!]) { |one| node('H1').block_file(one, 'vm.xml') }
  vm.act('terminate-hard').await(:done)
  see_nothing
end

check 'deploy: deploy fails: clean, nothing open' do
  blue = admin.network('blue')
  vm = fail_at_boot(blue, %w[tm_context pre mkdir vm.xml ds.xml clean deploy!]) { node('H1').fault('upstream deploy fail') }
  see_open('H1')
  boots_after_all(vm, blue)
end

check 'deploy: post fails: cancel and clean, nothing open' do
  blue = admin.network('blue')
  vm = fail_at_boot(blue, %w[tm_context pre mkdir vm.xml ds.xml deploy cancel clean post!]) { node('H1').fail_hook('post') }
  see_open('H1')
  boots_after_all(vm, blue)
end

# --- shutdown ---------------------------------------------------------------------------------------------------------

check 'poweroff: shutdown fails: no clean, the VM runs on with its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fault('upstream shutdown fail')
  takes(vm, %w[shutdown!]) { vm.act('poweroff').await(:shutdown_poweroff, :running).await(:running) }
  see(vm => [blue.key])
end

check 'poweroff: clean fails: OpenNebula takes the VM for running until monitoring says otherwise; nothing open' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fail_hook('clean')
  takes(vm, %w[shutdown clean!]) { vm.act('poweroff').await(:poweroff) }
  see_nothing
  node('H1').heal
  vm.act('resume').await(:running)
  see(vm => [blue.key])
end

# --- save and restore -------------------------------------------------------------------------------------------------

check 'suspend: save fails: no clean, the VM runs on with its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fault('upstream save fail')
  takes(vm, %w[save!]) { vm.act('suspend').await(:save_suspend, :running).await(:running) }
  see(vm => [blue.key])
end

check 'resume: pre fails: suspended again, nothing open' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.act('suspend').await(:suspended)
  node('H1').fail_hook('pre')
  takes(vm, %w[pre!], perhaps: 'tm_context') { vm.act('resume').await(:boot_suspended, :suspended).await(:suspended) }
  see_nothing
  node('H1').heal
  vm.act('resume').await(:running)
  see(vm => [blue.key])
end

check 'resume: restore fails: no clean, suspended again, nothing open' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  vm.act('suspend').await(:suspended)
  node('H1').fault('upstream restore fail')
  takes(vm, %w[pre restore!], perhaps: 'tm_context') { vm.act('resume').await(:boot_suspended, :suspended).await(:suspended) }
  see_nothing
  node('H1').heal
  vm.act('resume').await(:running)
  see(vm => [blue.key])
end

# --- live migration ---------------------------------------------------------------------------------------------------

def fail_to_migrate(vm, steps, perhaps: nil)
  takes(vm, steps, perhaps: perhaps) { vm.migrate('H2', live: true).await_on('H1', :running) }
end

check 'live migration: tm_premigrate fails: the VM stays with its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  Suite.front_end.fail_tm('premigrate')
  fail_to_migrate(vm, %w[tm_premigrate!], perhaps: 'tm_failmigrate')
  see(vm => [blue.key])
end

check 'live migration: pre fails on the destination: the VM stays with its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H2').fail_hook('pre')
  fail_to_migrate(vm, %w[tm_premigrate pre!])
  see(vm => [blue.key])
end

check 'live migration: migrate fails: no clean on the destination; the VM stays with its network, the destination closes' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fault('upstream migrate fail')
  fail_to_migrate(vm, %w[tm_premigrate pre tm_failmigrate migrate!])
  see(vm => [blue.key])
end

check 'live migration: migrate fails: what the destination keeps does not open when the key comes there' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fault('upstream migrate fail')
  vm.migrate('H2', live: true).await_on('H1', :running)
  node('H1').heal
  other = admin.running(blue, on: 'H2')
  see(vm => [blue.key], other => [blue.key])
end

check 'live migration: post fails on the destination: it is noted, the VM has moved and reaches its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H2').fail_hook('post')
  takes(vm, %w[tm_premigrate pre migrate clean post! tm_postmigrate]) { vm.migrate('H2', live: true).await_on('H2', :running) }
  see(vm => [blue.key])
end

check 'live migration: clean fails on the source: it is noted, the VM has moved and the source is closed' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fail_hook('clean')
  takes(vm, %w[tm_premigrate pre migrate clean! post tm_postmigrate]) { vm.migrate('H2', live: true).await_on('H2', :running) }
  see(vm => [blue.key])
end

# --- attach -----------------------------------------------------------------------------------------------------------

# A VM on H1 with one network, to which a NIC in another one cannot be attached; left: functions in the guest afterwards.
def fail_to_attach(steps, left: 1)
  blue = admin.network('blue')
  green = admin.network('green')
  vm = admin.running(blue, on: 'H1')
  yield
  takes(vm, steps) { vm.attach(green).await(:hotplug_nic, :running).await(:running) }
  must('OpenNebula still has the NIC') { vm.nics.size == 1 }
  must("the guest has #{node('H1').domains[vm.id].size} functions") { node('H1').domains[vm.id].size == left }
  see(vm => [blue.key])
  node('H1').heal
  Suite.front_end.heal
  vm.attach(green).await(:running)
  see(vm => [blue.key, green.key])
end

check 'attach: pre fails: the NIC is gone, nothing open' do
  fail_to_attach(%w[pre!]) { node('H1').fail_hook('pre') }
end

check 'attach: attach_nic fails: no clean, the NIC is gone, nothing open' do
  fail_to_attach(%w[pre attach_nic!]) { node('H1').fault('attach-fails ua-oneib-1') }
end

check 'attach: post fails: detach_nic and no clean, the NIC is gone, nothing open' do
  fail_to_attach(%w[pre attach_nic detach_nic post!]) { node('H1').fail_hook('post') }
end

check 'attach: prereconfigure fails: detach_nic and no clean, the NIC is gone, nothing open' do
  fail_to_attach(%w[pre attach_nic post detach_nic prereconfigure!]) { node('H1').fault('upstream prereconfigure fail') }
end

# The function that stays is closed as long as its network's key is not on that port: attacks.rb brings it back.
check 'attach: tm_context fails: neither detach_nic nor clean; the function stays in the guest, closed' do
  fail_to_attach(%w[pre attach_nic post prereconfigure tm_context!], left: 2) { Suite.front_end.fail_tm('context') }
end

check 'attach: reconfigure fails: neither detach_nic nor clean; the function stays in the guest, closed' do
  steps = %w[pre attach_nic post prereconfigure tm_context reconfigure!]
  fail_to_attach(steps, left: 2) { node('H1').fault('upstream reconfigure fail') }
end

# --- detach -----------------------------------------------------------------------------------------------------------

# Detaches the second NIC, which fails.
def fail_to_detach(steps)
  blue = admin.network('blue')
  green = admin.network('green')
  vm = admin.running(blue, green, on: 'H1')
  yield
  takes(vm, steps) { vm.detach(1).await(:hotplug_nic, :running).await(:running) }
  [vm, blue, green]
end

check 'detach: detach_nic fails: no clean, the VM keeps the NIC and its network' do
  vm, blue, green = fail_to_detach(%w[detach_nic!]) { node('H1').fault('rejects ua-oneib-1') }
  must('OpenNebula has dropped the NIC') { vm.nics.size == 2 }
  see(vm => [blue.key, green.key])
end

check 'detach: clean fails: OpenNebula keeps the NIC, the guest does not; closed; detached again it is gone' do
  vm, blue, = fail_to_detach(%w[detach_nic clean!]) { node('H1').fail_hook('clean') }
  must('OpenNebula has dropped the NIC') { vm.nics.size == 2 }
  see_open('H1', vm => [blue.key])
  node('H1').heal
  vm.detach(1).await(:running)
  must('OpenNebula keeps the NIC') { vm.nics.size == 1 }
  see(vm => [blue.key])
end

check 'detach: reconfigure fails: OpenNebula keeps the NIC, the guest does not; closed; detached again it is gone' do
  steps = %w[detach_nic clean prereconfigure tm_context reconfigure!]
  vm, blue, = fail_to_detach(steps) { node('H1').fault('upstream reconfigure fail') }
  must('OpenNebula has dropped the NIC') { vm.nics.size == 2 }
  see_open('H1', vm => [blue.key])
  node('H1').heal
  vm.detach(1).await(:running)
  must('OpenNebula keeps the NIC') { vm.nics.size == 1 }
  see(vm => [blue.key])
end

# --- terminate --------------------------------------------------------------------------------------------------------

check 'terminate: shutdown fails: no clean, the VM runs on with its network' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fault('upstream shutdown fail')
  takes(vm, %w[shutdown!]) { vm.act('terminate').await(:shutdown, :running).await(:running) }
  see(vm => [blue.key])
end

check 'recover --delete: cancel fails: clean is called all the same; the guest that runs on reaches nobody' do
  blue = admin.network('blue')
  vm = admin.running(blue, on: 'H1')
  node('H1').fault('upstream cancel fail')
  vm.recover(:delete).await(:done)
  seen_within(20) { must_have_taken(node('H1').calls.last(2), %w[cancel clean]) } # it writes no log of a VM that has ended
  must('the guest has ended') { node('H1').domains.key?(vm.id) }
  see_open('H1')
end
