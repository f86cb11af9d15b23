// SPDX-License-Identifier: Apache-2.0
// What docs/user.md says of Sunstone, each as it is done there, judged by OpenNebula's own commands.
import assert from 'node:assert/strict'
import { command, eventually, file, oneib, sunstoneTabs } from './front_end.mjs'
import { Sunstone } from './sunstone.mjs'

const PANEL = { x: 282, width: 918 }
const FORM = { x: 48, width: 1152 }

const list = (value) => (value === undefined ? [] : [value].flat())

const DOCUMENTS = { onevm: 'VirtualMachine', onevnet: 'VirtualNetwork', onetemplate: 'Template' }

function show(program, id) {
  return JSON.parse(command('ruby', `${import.meta.dirname}/document.rb`, DOCUMENTS[program], id))
}

function idOf(program, name) {
  const line = command(program, 'list', '--csv', '-l', 'ID,NAME').split('\n').find((one) => one.endsWith(`,${name}`))
  assert(line, `there is no ${name} in ${program} list`)
  return line.split(',')[0]
}

const vm = (name) => show('onevm', idOf('onevm', name))
const network = (name) => show('onevnet', idOf('onevnet', name))
const isRunning = (one) => one.STATE === '3' && one.LCM_STATE === '3'
const networksOf = (one) => list(one.TEMPLATE.NIC).map((nic) => nic.NETWORK)

function service() {
  return JSON.parse(command('oneflow', 'show', idOf('oneflow', 'ib-cluster'), '-j')).DOCUMENT
}

// 2 is RUNNING.
const stateOf = (one) => one.TEMPLATE.BODY.state
const workersOf = (one) => one.TEMPLATE.BODY.roles.find((role) => role.name === 'worker').nodes

export const steps = [
  ['the stock view of users has no service templates, and oneib check says so', async (world) => {
    world.sunstone = await Sunstone.login(world.browser, 'alice')
    const menu = await world.sunstone.menu()
    assert(menu.includes('VM Templates') && !menu.includes('Service Templates'), menu.join(', '))
    assert.match(oneib('check'), /warn +sunstone: users have no service templates/)
  }],

  ['sunstone-tabs gives them service templates when the page is loaded anew', async ({ sunstone }) => {
    sunstoneTabs()
    await sunstone.open('dashboard')
    const menu = await sunstone.menu()
    assert(menu.includes('Service Templates'), menu.join(', '))
    assert.match(oneib('check'), /ok +sunstone: users have service templates in the view "user"/)
  }],

  ['a user reserves a network of their own', async ({ sunstone }) => {
    await sunstone.panel('virtual-network', 'ib-pool')
    await sunstone.picture('sunstone-pool', { ...PANEL, y: 50, height: 330 })
    await sunstone.press('action-vnet-reserve_dialog')
    await sunstone.fill('reserve-vnet-SIZE', '16')
    await sunstone.fill('reserve-vnet-NAME', 'my-cluster')
    await sunstone.pictureOfDialog('sunstone-reserve')
    await sunstone.press('dg-accept-button')
    await eventually('there is the reservation, with a P_Key of its own', 30, () => {
      const [mine, pool] = [network('my-cluster'), network('ib-pool')]
      return mine.UNAME === 'alice' && mine.VN_MAD === 'infiniband' && mine.VLAN_ID && mine.VLAN_ID !== pool.VLAN_ID
    })
  }],

  ['a user instantiates a machine, with a NIC in that network', async ({ sunstone }) => {
    await sunstone.panel('vm-template', 'ib-node')
    await sunstone.press('action-instantiate_dialog')
    await sunstone.fill('information-name', 'my-node')
    await sunstone.fill('capacity-VCPU', '4')
    await sunstone.next()
    await sunstone.fill('user-inputs-USERNAME', 'mpi\n')
    await sunstone.fill('user-inputs-ONEIB_MEMBERS', 'node1=10.64.0.1*4\nnode2=10.64.0.2*4 ]]>')
    await sunstone.next()
    await sunstone.press('tab-network')
    await sunstone.press('vm-template-networking-attach-nic')
    await sunstone.chooseNetwork('my-cluster', () => sunstone.pictureOfDialog('sunstone-attach'))
    await sunstone.text('NIC1: my-cluster').waitFor()
    await sunstone.next()
    assert.match(await sunstone.complaint(), /error transforming the vm to xml/i)
  }],

  ['what is typed into texts arrives as data', async ({ sunstone }) => {
    await sunstone.press('stepper-back-button')
    await sunstone.fill('user-inputs-ONEIB_MEMBERS', 'node1=10.64.0.1*4\nnode2=10.64.0.2*4 "x" \\ \'q\' ; touch y')
    await sunstone.next()
    await sunstone.marked('tab-network').waitFor()
    await sunstone.next()
    const machine = await eventually('the machine runs', 120, () => isRunning(vm('my-node')) && vm('my-node'))
    assert.deepEqual(networksOf(machine), ['office', 'my-cluster'])
    assert.equal(machine.UNAME, 'alice')
    assert.equal(machine.TEMPLATE.VCPU, '4')
    const { CONTEXT: context } = machine.TEMPLATE
    assert.equal(context.ONEIB_MEMBERS, 'node1=10.64.0.1*4\nnode2=10.64.0.2*4 "x" \\ \'q\' ; touch y')
    assert.equal(context.USERNAME.trimEnd(), 'mpi')
    assert.equal(context.ONEIB_SSH, 'YES')
    assert.match(context.ETH1_IP, /^10\.64\./)
    assert.equal(context.ETH1_MTU, '2044')
    assert.equal(context.SSH_PUBLIC_KEY, 'ssh-ed25519 AAAA alice@home')
  }],

  ['a user starts the service in that network', async ({ sunstone }) => {
    await sunstone.panel('service-template', 'ib-cluster')
    await sunstone.picture('sunstone-service', { ...PANEL, y: 50, height: 260 })
    await sunstone.page.locator('.toggle-group-container').last().locator('[role=button]').first().click()
    await sunstone.marked('general-NAME').waitFor()
    await sunstone.next()
    await sunstone.text('Cluster').click()
    await sunstone.marked('networks-networks-type').getByRole('button', { name: 'Existing' }).click()
    await sunstone.picture('sunstone-networks', { ...FORM, y: 80, height: 470 })
    const row = sunstone.page.locator('[data-cy^="vnets-"]').filter({ hasText: 'my-cluster' })
    await row.scrollIntoViewIfNeeded()
    await row.click()
    await sunstone.picture('sunstone-existing', { ...FORM, y: 330, height: 470 })
    await sunstone.next()
    await sunstone.marked('user-inputs-USERNAME').waitFor()
    await sunstone.next()
    await sunstone.text('head - others').waitFor()
    await sunstone.next()
    await sunstone.text('Add action').waitFor()
    await sunstone.next()
    await eventually('the service runs', 240, () => stateOf(service()) === 2)
    const machines = service().TEMPLATE.BODY.roles.flatMap((role) => role.nodes.map((node) => show('onevm', String(node.deploy_id))))
    assert.equal(machines.length, 3)
    for (const machine of machines) {
      assert.deepEqual(networksOf(machine), ['office', 'my-cluster'])
      assert.equal(machine.TEMPLATE.CONTEXT.USERNAME, 'mpi')
      assert.equal(machine.TEMPLATE.CONTEXT.IPOIB_MODE, 'datagram')
    }
  }],

  ['a user gives the service another worker', async ({ sunstone }) => {
    await sunstone.panel('service', 'ib-cluster')
    await sunstone.press('tab-roles')
    await sunstone.text('worker').click()
    await sunstone.page.getByTitle('Manage').click()
    await sunstone.text('Scale').waitFor()
    await sunstone.picture('sunstone-roles', { ...PANEL, y: 50 })
    await sunstone.text('Scale').click()
    await sunstone.fill('form-dg-cardinality', '3')
    await sunstone.press('dg-accept-button')
    await eventually('there are three workers', 120, () => workersOf(service()).length === 3)
  }],

  ['a user attaches a NIC to a machine that runs', async ({ sunstone }) => {
    await sunstone.panel('vm', 'my-node')
    await sunstone.press('tab-network')
    await sunstone.button('Attach NIC').click()
    await sunstone.chooseNetwork('ib-storage')
    await eventually('the machine has the NIC', 60, () => {
      const machine = vm('my-node')
      return isRunning(machine) && networksOf(machine).includes('ib-storage')
    })
    await sunstone.panel('vm', 'my-node')
    await sunstone.press('tab-network')
    await sunstone.text('ib-storage').waitFor()
    await sunstone.picture('sunstone-vm', { ...PANEL, y: 50, height: 640 })
  }],

  ['a user clones the template of machines', async ({ sunstone }) => {
    await sunstone.panel('vm-template', 'ib-node')
    await sunstone.page.getByRole('button', { name: 'More' }).click()
    await sunstone.text('Clone').click()
    await sunstone.fill('form-dg-name', 'my-template')
    await sunstone.press('dg-accept-button')
    await eventually('there is the copy', 30, () => show('onetemplate', idOf('onetemplate', 'my-template')).UNAME === 'alice')
  }],

  // oned checks whether the user may have the VLAN_ID that is sent before it compares restricted attributes (RequestManager,
  // 7.4.0). So its answer depends on whether the form sent VLAN_ID; both were seen.
  ['a user is refused to update an InfiniBand network', async ({ sunstone }) => {
    await sunstone.panel('virtual-network', 'my-cluster')
    await sunstone.press('action-vnet-update_dialog')
    await sunstone.fill('general-information-DESCRIPTION', 'mine')
    await sunstone.next()
    await sunstone.marked('configuration-VN_MAD').waitFor()
    const before = network('my-cluster')
    await sunstone.next()
    assert.match(await sunstone.complaint(), /not authorized|restricted attribute/i)
    const after = network('my-cluster')
    assert.equal(after.VN_MAD, 'infiniband')
    assert(after.VLAN_ID && after.VLAN_ID === before.VLAN_ID, `${before.VLAN_ID} was, ${after.VLAN_ID} is`)
  }],

  ['oneadmin sees the hosts\' free virtual functions', async (world) => {
    world.user = world.sunstone
    world.sunstone = await Sunstone.login(world.browser, 'oneadmin')
    await world.sunstone.panel('host', 'node1')
    for (const words of ['IB_VFS_FREE', 'IB_SWITCH']) await world.sunstone.text(words).waitFor()
  }],

  // Of the two ways to end the form the one keeps the driver. Neither keeps the MTU.
  ['Update and Save, as oneadmin, keeps the driver and loses the MTU', async ({ sunstone }) => {
    await sunstone.panel('virtual-network', 'ib-storage')
    await sunstone.press('action-vnet-update_dialog')
    await sunstone.fill('general-information-DESCRIPTION', 'for everybody')
    await sunstone.button('Save').click()
    const after = await eventually('it is written', 30, () =>
      network('ib-storage').TEMPLATE.DESCRIPTION === 'for everybody' && network('ib-storage'))
    assert.equal(after.VN_MAD, 'infiniband')
    assert.equal(after.TEMPLATE.MTU, undefined)
  }],

  ['Update and Finish, as oneadmin, makes a bridge of it', async (world) => {
    const { sunstone } = world
    world.sharedKey = network('ib-shared').VLAN_ID
    await sunstone.panel('virtual-network', 'ib-shared')
    await sunstone.press('action-vnet-update_dialog')
    await sunstone.fill('general-information-DESCRIPTION', 'for everybody')
    await sunstone.next()
    await sunstone.marked('configuration-VN_MAD').waitFor()
    await sunstone.picture('sunstone-update', { ...FORM, y: 80 })
    await sunstone.next()
    const after = await eventually('it is written', 30, () =>
      network('ib-shared').TEMPLATE.DESCRIPTION === 'for everybody' && network('ib-shared'))
    assert.equal(after.VN_MAD, 'bridge')
    assert.equal(after.TEMPLATE.MTU, undefined)
    await sunstone.close()
  }],

  // Where the form has sent no VLAN_ID there is none any more; oneibd, which does not run here, writes it again from the ledger.
  ['one command makes it an InfiniBand network again, with no other P_Key', async (world) => {
    command('onevnet', 'update', 'ib-shared', file('VN_MAD="infiniband"\nBRIDGE_TYPE="none"\n'), '--append')
    const after = network('ib-shared')
    assert.equal(after.VN_MAD, 'infiniband')
    assert.equal(after.TEMPLATE.BRIDGE_TYPE, 'none')
    assert(!after.VLAN_ID || after.VLAN_ID === world.sharedKey, `${world.sharedKey} was, ${after.VLAN_ID} is`)
  }],

  ['a user deletes service, machine and network', async (world) => {
    const sunstone = (world.sunstone = world.user)
    await eventually('the service has rested', 180, () => stateOf(service()) === 2)
    await sunstone.panel('service', 'ib-cluster')
    await sunstone.button('Delete').click()
    await sunstone.press('dg-accept-button')
    await sunstone.panel('vm', 'my-node')
    await sunstone.button('Delete').click()
    await sunstone.text('Terminate').click()
    await sunstone.press('dg-accept-button')
    await eventually('no machine is left', 120, () => command('onevm', 'list', '--no-header', '-l', 'ID').trim() === '')
    await sunstone.panel('virtual-network', 'my-cluster')
    await sunstone.press('action-vnet-delete')
    await sunstone.press('dg-accept-button')
    await eventually('the reservation is gone', 30, () => !command('onevnet', 'list').includes('my-cluster'))
  }],
]
